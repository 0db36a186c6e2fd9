"""``python -m flmigrate``."""

from __future__ import annotations

from flmigrate.cli import main

main()
