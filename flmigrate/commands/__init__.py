"""What the commands do: one module per command, with ``run(paths, options)``."""
