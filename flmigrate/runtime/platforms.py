"""What Torch-FL needs on each chip, as ``platforms.toml`` has it. Needs no torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import tomli


@dataclass(frozen=True, slots=True)
class Platform:
    """One chip; ``platforms.toml`` says what each field means. Paths are below the root."""

    name: str
    title: str
    nodes: tuple[str, ...] = ()
    variable: str = ""
    home: str = ""
    library: str = ""
    versions: tuple[str, ...] = ()
    driver: tuple[str, ...] = ()
    measured: str = ""
    first: str = ""
    plugins: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Setting:
    """An environment variable that matters.

    It is warned of where its value is ``warn`` (``*``: any), except on the chips in ``unless``.
    ``file`` says that the value has to be a file's path.
    """

    name: str
    what: str
    warn: str = ""
    advice: str = ""
    command: str = ""
    unless: tuple[str, ...] = ()
    file: bool = False


@dataclass(frozen=True, slots=True)
class Requirements:
    """The version matrix. ``torch`` is the one minor version that Torch-FL is built for."""

    python: tuple[int, ...]
    torch: tuple[int, ...]
    platforms: Mapping[str, Platform]
    settings: tuple[Setting, ...]

    @property
    def plugins(self) -> frozenset[str]:
        """The vendors' plugins that claim the device key which Torch-FL needs."""
        return frozenset(p for platform in self.platforms.values() for p in platform.plugins)


@cache
def requirements() -> Requirements:
    """Read the table of the package."""
    data = tomli.loads(Path(__file__).with_name("platforms.toml").read_text(encoding="utf-8"))
    platforms = {
        name: Platform(name, **{key: _frozen(value) for key, value in entry.items()})
        for name, entry in data["platform"].items()
    }
    settings = tuple(
        Setting(**{key: _frozen(value) for key, value in entry.items()})
        for entry in data["setting"]
    )
    python = tuple(int(part) for part in data["python"].split("."))
    return Requirements(python, tuple(data["torch"]), platforms, settings)


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
