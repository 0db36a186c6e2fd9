"""``flmigrate rules``."""

from __future__ import annotations

from typing import Any

from flmigrate.commands.terminal import say
from flmigrate.rules import RULES


def run(paths: tuple[str, ...], options: dict[str, Any]) -> bool:
    """List the rules."""
    for code, name in RULES.items():
        say(f"{code}  {name}", err=False)
    return True
