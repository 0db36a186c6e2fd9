"""Empty, as in Torch-FL."""
