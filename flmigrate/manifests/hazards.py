"""Hazards: known wrong, racy, limited or misleading behaviour of a chip, beyond the route."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import tomli

from flmigrate.manifests.files import DATA
from flmigrate.manifests.model import ROUTES, Manifest, ManifestError
from flmigrate.manifests.store import CHIPS, names

SCHEMA = 1
SEVERITIES = ("error", "warning", "info")
EVIDENCE = ("measured", "read", "computed", "reported")

_TEXTS = "id rule severity when becomes what advice since until flaggems evidence source".split()
_LISTS = "chips ops apis dtypes routes".split()
_REQUIRED = ("id", "rule", "severity", "chips", "what", "evidence", "source")


@dataclass(frozen=True, slots=True)
class Hazard:
    """One hazard; ``data/hazards.toml`` says what each field means.

    ``chips`` are configurations. ``when`` narrows it to calls of a kind that a rule recognises.
    ``becomes`` is the route of these calls where it is not the operator's own.
    """

    id: str
    rule: str
    severity: str
    what: str
    evidence: str
    source: str
    chips: frozenset[str]
    advice: str = ""
    when: str = ""
    becomes: str = ""
    since: str = ""
    until: str = ""
    flaggems: str = ""
    ops: frozenset[str] = frozenset()
    apis: frozenset[str] = frozenset()
    dtypes: frozenset[str] = frozenset()
    routes: frozenset[str] = frozenset()

    def concerns(self, manifest: Manifest) -> bool:
        """Whether it is about the configuration; one that is imported counts by its chip."""
        return manifest.name in self.chips or (
            manifest.name not in names() and manifest.chip in self.chips
        )

    def covers(self, op: str) -> bool:
        """Whether it is about the overload."""
        return op in self.ops or op.partition(".")[0] in self.ops


@dataclass(frozen=True, slots=True)
class Hazards:
    """All hazards, and how far compilation, distribution and profiling work on each chip."""

    torch_fl: str
    all: tuple[Hazard, ...]
    status: Mapping[str, Mapping[str, str]]

    def of(self, rule: str) -> tuple[Hazard, ...]:
        """The hazards that a rule reports."""
        return tuple(hazard for hazard in self.all if hazard.rule == rule)


@cache
def load_hazards(path: Path = DATA / "hazards.toml") -> Hazards:
    """Read the hazards. Raises ``ManifestError`` with the file and the hazard at fault."""
    try:
        data = tomli.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomli.TOMLDecodeError) as error:
        raise ManifestError(f"{path}: {error}") from None
    if data.get("schema") != SCHEMA:
        raise ManifestError(
            f"{path}: schema is {data.get('schema')!r}; this version reads {SCHEMA}"
        )
    hazards = tuple(_hazard(path, at, entry) for at, entry in enumerate(data.get("hazard", ())))
    ids = [hazard.id for hazard in hazards]
    twice = {i for i in ids if ids.count(i) > 1}
    if twice:
        raise ManifestError(f"{path}: hazard {sorted(twice)[0]} is there twice")
    return Hazards(data.get("torch_fl", ""), hazards, data.get("status", {}))


def _hazard(path: Path, at: int, entry: dict[str, Any]) -> Hazard:
    where = f"{path}: hazard {entry.get('id', at + 1)}"
    for key in _REQUIRED:
        if not entry.get(key):
            raise ManifestError(f'{where}: "{key}" is missing')
    values: dict[str, Any] = {}
    for key, value in entry.items():
        if key in _TEXTS and isinstance(value, str):
            values[key] = value
        elif key in _LISTS and isinstance(value, list) and all(isinstance(v, str) for v in value):
            values[key] = frozenset(value)
        else:
            raise ManifestError(f'{where}: "{key}" is no key of a hazard, or of the wrong type')
    if values["severity"] not in SEVERITIES or values["evidence"] not in EVIDENCE:
        raise ManifestError(f"{where}: unknown severity or evidence")
    if values.get("becomes", "composite") not in ROUTES:
        raise ManifestError(f'{where}: becomes: unknown route "{values["becomes"]}"')
    values["chips"] = _configurations(where, entry["chips"])
    return Hazard(**values)


def _configurations(where: str, chips: list[str]) -> frozenset[str]:
    """``all`` is every configuration, a chip all of its own."""
    found: set[str] = set()
    for chip in chips:
        if chip == "all":
            found.update(names())
        elif chip in CHIPS:
            found.update(n for n in names() if n.partition("+")[0].partition("_")[0] == chip)
        elif chip in names():
            found.add(chip)
        else:
            raise ManifestError(f'{where}: unknown chip "{chip}"')
    return frozenset(found)
