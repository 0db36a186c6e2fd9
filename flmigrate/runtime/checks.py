"""One thing that ``flmigrate doctor`` looked at. Needs no torch."""

from __future__ import annotations

from dataclasses import dataclass

AUTOLOAD = "TORCH_DEVICE_BACKEND_AUTOLOAD"
"""Torch's own variable: 0 keeps it from loading the plugins of vendors by itself."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at: its state, what was found, what to do, and the command.

    ``state`` is ok, info, warning or error.
    """

    name: str
    state: str
    found: str
    advice: str = ""
    command: str = ""
