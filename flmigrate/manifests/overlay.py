"""What users measured on their own cards: a TOML file that goes over the shipped facts.

[[result]]
chip = "ascend"              # a configuration, or a chip for all of its configurations
op = "aten::cos"             # an overload; without one, all overloads of the name
status = "wrong"             # ok, wrong, slow or raises
date = 2026-11-30
note = "off by 2e-2 in bfloat16 on our cards"
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from flmigrate.manifests.model import Manifest, ManifestError, Measured
from flmigrate.stored import read_toml

STATUSES = ("ok", "wrong", "slow", "raises")
_KEYS = frozenset({"chip", "op", "status", "date", "note"})

Result = tuple[str, Measured]
"""A chip or configuration, and what was measured there."""


def read_overlay(path: Path) -> tuple[Result, ...]:
    """The results in a file. Raises ``ManifestError`` with file and line of what is wrong."""
    text, data = read_toml(path, ManifestError)
    lines = [at for at, line in enumerate(text.splitlines(), 1) if line.strip() == "[[result]]"]
    unknown = set(data) - {"result"}
    if unknown:
        raise ManifestError(f'{path}: unknown key "{sorted(unknown)[0]}"; only [[result]] is known')
    results = data.get("result", [])
    if not isinstance(results, list):
        raise ManifestError(f"{path}: write [[result]], with two brackets, for each result")
    found = []
    for at, result in enumerate(results):
        where = f"{path}:{lines[at]}" if at < len(lines) else str(path)
        found.append(_checked(result, where))
    return tuple(found)


def _checked(result: Any, where: str) -> Result:
    for key in result:
        if key not in _KEYS:
            raise ManifestError(f'{where}: unknown key "{key}"')
    for key in ("chip", "op", "status"):
        if not isinstance(result.get(key), str):
            raise ManifestError(f'{where}: "{key}" is missing or no string')
    if result["status"] not in STATUSES:
        raise ManifestError(
            f'{where}: status "{result["status"]}" is none of {", ".join(STATUSES)}'
        )
    date = result.get("date")
    if not isinstance(date, datetime.date):
        raise ManifestError(f'{where}: "date" is missing or no date (write 2026-11-30)')
    note = result.get("note", "")
    if not isinstance(note, str):
        raise ManifestError(f'{where}: "note" must be a string')
    op = result["op"].removeprefix("aten::")
    return result["chip"], Measured(op, result["status"], date.isoformat(), note)


def overlaid(manifest: Manifest, results: Iterable[Result]) -> Manifest:
    """The manifest with the results that are about it; the last one for an operator counts."""
    measured = dict(manifest.measured)
    for chip, result in results:
        if chip not in (manifest.name, manifest.chip):
            continue
        if "." in result.op:
            measured[result.op] = result
        else:
            same = (op for op in manifest.routes if op.partition(".")[0] == result.op)
            measured.update(dict.fromkeys((result.op, *same), result))
    return replace(manifest, measured=measured)
