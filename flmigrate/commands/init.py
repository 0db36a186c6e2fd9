"""``flmigrate init``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from flmigrate import __version__
from flmigrate.commands.terminal import say
from flmigrate.config import ConfigError, load_config
from flmigrate.proposal import Proposal, propose, write_hook, write_settings
from flmigrate.runner import vocabulary_for

_SHOWN = 5  # names of entry points


def run(paths: tuple[str, ...], options: dict[str, Any]) -> bool:
    """Show what was found and proposed; write what the user agrees to."""
    root = Path(paths[0]) if paths else Path()
    if not root.is_dir():
        raise ConfigError(f"{root}: not a folder")
    there = load_config(root).path
    if there is not None:
        raise ConfigError(f"{there}: has settings already")
    proposal = propose(root, vocabulary_for("fl"))
    _show(proposal)
    if _agreed(f"Write these to {proposal.configuration}?", options):
        _write(lambda: write_settings(proposal), proposal.configuration)
    if _agreed("Add the check to the pre-commit hooks?", options):
        path = root / ".pre-commit-config.yaml"
        if _write(lambda: write_hook(root, __version__), path) is None:
            say(f"{path}: names flmigrate, or has no list of repositories: left as it is", err=True)
    return True


def _show(proposal: Proposal) -> None:
    say(f"{proposal.files} Python files", err=False)
    for name, count in proposal.vendors:
        say(f"  {name}: named in {count}", err=False)
    if proposal.packages:
        say(f"packages: {', '.join(proposal.packages)}", err=False)
    if proposal.entry_points:
        more = len(proposal.entry_points) - _SHOWN
        tail = f" and {more} more" if more > 0 else ""
        say(f"entry points: {', '.join(proposal.entry_points[:_SHOWN])}{tail}", err=False)
    say(f"\n{proposal.text}", err=False)


def _agreed(question: str, options: dict[str, Any]) -> bool:
    return bool(options["yes"]) or click.confirm(question, default=False)


def _write(write: Any, path: Path) -> Any:
    try:
        return write()
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: not UTF-8") from None
