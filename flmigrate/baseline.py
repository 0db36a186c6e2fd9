"""Known findings: a project's old vendor code, accepted until somebody removes it.

A baseline is a JSON file that lists places by file. A place is accepted as often as it is
listed. What is looked for in turn is the same place in the same definition, the same text
elsewhere in the file, and the same text in a file that is gone: so nothing that is moved,
renamed or formatted comes back as new.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from flmigrate.checking import Check, counts
from flmigrate.files import write_atomic
from flmigrate.findings import Finding, Result
from flmigrate.fingerprints import Place, places_of

_Key = tuple[str, Place]  # a file's name, and a place in it
_VERSION = 1
_KEYS = {"code": str, "scope": str, "text": str, "count": int}


class BaselineError(ValueError):
    """A baseline that cannot be read, written or understood; the message names the file."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """Accepted places with their numbers; file names are relative to the baseline's folder."""

    path: Path
    places: Counter[_Key]


@dataclass(frozen=True, slots=True)
class Judged:
    """A check without what the baseline accepts, and the listed places that are not found."""

    check: Check
    fixed: Counter[_Key]


def baseline_of(check: Check, path: Path) -> Baseline:
    """A baseline that accepts every finding of a check that counts."""
    found: Counter[_Key] = Counter()
    for result in check.results:
        kept = [finding for finding in result.left if counts(finding)]
        name = _name(path, result.path)
        found.update((name, place) for place in places_of(result.before, kept))
    return Baseline(path, found)


def judge(
    check: Check,
    baseline: Baseline,
    enabled: Callable[[Path], Callable[[str], bool]],
    is_new: Callable[[Result, Finding], bool] = lambda result, finding: False,
) -> Judged:
    """Take out of a check what a baseline accepts.

    ``enabled`` says for a file which codes were looked for, ``is_new`` what is known to be
    new: it is accepted last. Listed places count as fixed where their file was looked at or
    is gone.
    """
    accepted = _Accepted(baseline)
    found = [
        _Found(number, _name(baseline.path, result.path), place, finding)
        for number, result in enumerate(check.results)
        for finding, place in _located(result)
    ]
    found.sort(key=lambda item: is_new(check.results[item.number], item.finding))
    for known in (accepted.here, accepted.in_file, accepted.in_gone_files):
        found = [item for item in found if not accepted.take(known(item))]
    unknown = {(item.number, id(item.finding)) for item in found}
    results = tuple(
        result._replace(left=tuple(f for f in result.left if _stays(number, f, unknown)))
        for number, result in enumerate(check.results)
    )
    seen = {_name(baseline.path, result.path): Path(result.path) for result in check.results}
    fixed: Counter[_Key] = Counter()
    for (name, place), count in accepted.left.items():
        if count > 0 and (name in seen or name in accepted.gone):
            if enabled(seen.get(name, baseline.path.parent / name))(place.code):
                fixed[name, place] = count
    return Judged(Check(check.migration._replace(results=results)), fixed)


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    number: int
    name: str
    place: Place
    finding: Finding


class _Accepted:
    """The places of a baseline, as they are used up, and three ways to find one."""

    def __init__(self, baseline: Baseline) -> None:
        self.left = Counter(baseline.places)
        folder = baseline.path.parent
        self.gone = {
            name for name in {name for name, _ in self.left} if not (folder / name).exists()
        }
        self._by_text: dict[tuple[str, str, str], list[_Key]] = {}
        for name, place in self.left:
            file = "" if name in self.gone else name
            self._by_text.setdefault((file, place.code, place.text), []).append((name, place))

    def here(self, item: _Found) -> Sequence[_Key]:
        """The same place in the same definition of the same file."""
        return ((item.name, item.place),)

    def in_file(self, item: _Found) -> Sequence[_Key]:
        """The same text anywhere in the file."""
        return self._by_text.get((item.name, item.place.code, item.place.text), ())

    def in_gone_files(self, item: _Found) -> Sequence[_Key]:
        """The same text in a file that is no longer there."""
        return self._by_text.get(("", item.place.code, item.place.text), ())

    def take(self, keys: Sequence[_Key]) -> bool:
        """Use up one of some places, if any is left."""
        key = next((key for key in keys if self.left[key] > 0), None)
        if key is not None:
            self.left[key] -= 1
        return key is not None


def _located(result: Result) -> Iterator[tuple[Finding, Place]]:
    kept = [finding for finding in result.left if counts(finding)]
    return zip(kept, places_of(result.before, kept), strict=True)


def _stays(number: int, finding: Finding, unknown: Collection[tuple[int, int]]) -> bool:
    return not counts(finding) or (number, id(finding)) in unknown


def _name(baseline: Path, path: str) -> str:
    """How a baseline names a file."""
    folder = os.path.realpath(baseline.parent)
    return os.path.relpath(os.path.realpath(path), folder).replace(os.sep, "/")


# --- the file ------------------------------------------------------------------------------


def read_baseline(path: Path) -> Baseline:
    """The baseline in a file. Raises ``BaselineError``."""
    try:
        data = json.loads(path.read_bytes())
    except OSError as error:
        raise BaselineError(f"{path}: {error.strerror}") from None
    except json.JSONDecodeError as error:
        raise BaselineError(f"{path}:{error.lineno}: not JSON: {error.msg}") from None
    except UnicodeDecodeError:
        raise BaselineError(f"{path}: not UTF-8") from None
    if not isinstance(data, dict) or data.get("version") != _VERSION:
        raise BaselineError(f'{path}: not a baseline: "version" is not {_VERSION}')
    files = data.get("files")
    if not isinstance(files, dict):
        raise BaselineError(f'{path}: "files" must be an object')
    places: Counter[_Key] = Counter()
    for name, entries in files.items():
        for entry in entries if isinstance(entries, list) else [entries]:
            if not _is_entry(entry):
                raise BaselineError(f'{path}: "{name}": not a place: {json.dumps(entry)[:80]}')
            key = name, Place(entry["code"], entry["scope"], entry["text"])
            places[key] += entry["count"]
    return Baseline(path, places)


def _is_entry(entry: Any) -> bool:
    if not isinstance(entry, dict) or entry.keys() != _KEYS.keys():
        return False
    return all(type(entry[key]) is kind for key, kind in _KEYS.items())


def write_baseline(baseline: Baseline) -> None:
    """Write a baseline to its file, sorted, one place per line. Raises ``BaselineError``."""
    files: dict[str, list[str]] = {}
    for (name, place), count in sorted(baseline.places.items()):
        if count > 0:
            entry = {"code": place.code, "scope": place.scope, "text": place.text, "count": count}
            files.setdefault(name, []).append(f"   {json.dumps(entry)}")
    listed = ",\n".join(
        f"  {json.dumps(name)}: [\n{_lines(entries)}\n  ]" for name, entries in files.items()
    )
    body = f"{{\n{listed}\n }}" if listed else "{}"
    text = f'{{\n "version": {_VERSION},\n "files": {body}\n}}\n'
    try:
        write_atomic(baseline.path, text.encode("ascii"))
    except OSError as error:
        raise BaselineError(f"{baseline.path}: {error.strerror}") from None


def _lines(entries: Sequence[str]) -> str:
    return ",\n".join(entries)


def without(baseline: Baseline, fixed: Counter[_Key]) -> Baseline:
    """The baseline less the places that are fixed."""
    return replace(baseline, places=baseline.places - fixed)
