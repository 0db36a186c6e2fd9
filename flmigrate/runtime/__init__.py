"""What runs code: it needs torch (the extra ``runtime``) and is imported by nothing else."""
