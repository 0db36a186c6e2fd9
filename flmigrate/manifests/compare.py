"""How two manifests differ: operators whose route changes, and those that only one knows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flmigrate.manifests.model import Manifest


@dataclass(frozen=True, slots=True)
class Change:
    """One operator's routes in two manifests; empty where a manifest does not know it."""

    op: str
    before: str
    after: str


def changes(before: Manifest, after: Manifest) -> list[Change]:
    """The operators whose route differs, in the order of their names."""
    found = []
    for op in sorted(before.routes.keys() | after.routes.keys()):
        old, new = before.routes.get(op, ""), after.routes.get(op, "")
        if old != new:
            found.append(Change(op, old, new))
    return found


def summary(found: list[Change]) -> Iterator[str]:
    """``64 boxed -> flaggems`` for each pair of routes, the most frequent first."""
    counts: dict[tuple[str, str], int] = {}
    for change in found:
        pair = change.before.partition("@")[0] or "-", change.after.partition("@")[0] or "-"
        counts[pair] = counts.get(pair, 0) + 1
    for (old, new), count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        yield f"{count} {old} -> {new}"
