"""What runs code, and what tells of runs; imported by the commands only.

Most modules need torch (the extra ``runtime``). Those that read what a run left behind do not:
``run_report``, ``run_text``, ``logs``, ``traces``, ``doctor``, ``platforms``.
"""
