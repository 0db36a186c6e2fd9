"""What a command needs beyond flmigrate itself."""

from __future__ import annotations

import importlib.util

import click


def needs_torch(command: str) -> None:
    """Raise ``click.UsageError`` (exit code 2) where torch is not installed."""
    if importlib.util.find_spec("torch") is None:
        message = f"`flmigrate {command}` needs torch; pip install 'flmigrate[runtime]'"
        raise click.UsageError(message)
