"""Which manifests there are, and the ones that a chip's name stands for."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from flmigrate.manifests.files import DATA, read_manifest
from flmigrate.manifests.model import Manifest, ManifestError

ALL = "all"
"""Stands for the default configuration of every chip."""

WITHOUT_FACTS = frozenset({"kunlunxin"})
"""Chips that Torch-FL knows and no shipped manifest describes."""

CHIPS = ("cuda", "ppu", "dcu", "metax", "ascend", "gcu", "musa", "bpu", "tsingmicro")
"""The chips, by the name of their default configuration."""


@cache
def names() -> tuple[str, ...]:
    """The shipped configurations: the chips' default ones first."""
    found = {p.stem for p in DATA.glob("*.json") if not p.stem.startswith(("torch", "opmap"))}
    return (*CHIPS, *sorted(found - set(CHIPS)))


def check_chips(chips: Iterable[str], root: Path | None = None) -> tuple[str, ...]:
    """The configurations that names, ``all`` and paths of manifest files stand for.

    A path ends in ``.json`` and is relative to ``root``. Raises ``ManifestError`` for a name
    that is none.
    """
    found: list[str] = []
    for chip in chips:
        if chip == ALL:
            found += CHIPS
        elif chip.endswith(".json"):
            path = (root or Path()) / chip
            if not path.is_file():
                raise ManifestError(f"chip: no such file: {path}")
            found.append(str(path.absolute()))
        elif chip in WITHOUT_FACTS:
            raise ManifestError(
                f'chip: no manifest of "{chip}" is shipped; '
                "make one with `flmigrate manifest import` and name its file"
            )
        elif chip in names():
            found.append(chip)
        else:
            close = difflib.get_close_matches(chip, [*names(), ALL], n=1)
            hint = f'did you mean "{close[0]}"?' if close else f"known: {', '.join(CHIPS)}, all"
            raise ManifestError(f'chip: unknown chip "{chip}"; {hint}')
    return tuple(dict.fromkeys(found))


@cache
def load(chip: str) -> Manifest:
    """The manifest of a configuration, by its name or its file's path.

    Raises ``ManifestError`` for one that is not there or cannot be used.
    """
    if chip.endswith(".json"):
        return read_manifest(Path(chip))
    if chip not in names():
        check_chips([chip])
    return read_manifest(DATA / f"{chip}.json")


def load_all(chips: Sequence[str], overlays: Sequence[str] = ()) -> tuple[Manifest, ...]:
    """The manifests of several configurations, with the user's measured results in place."""
    manifests = tuple(load(chip) for chip in chips)
    if not overlays:
        return manifests
    from flmigrate.manifests.overlay import overlaid, read_overlay  # TOML, for those who have one

    results = [result for path in overlays for result in read_overlay(Path(path))]
    return tuple(overlaid(manifest, results) for manifest in manifests)
