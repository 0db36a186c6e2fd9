"""What ``flmigrate chip show`` and ``chip diff`` print."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from flmigrate.manifests.compare import changes, summary
from flmigrate.manifests.profile import LEVELS, Profile

_WIDTH = 96


def show_lines(found: Profile) -> Iterator[str]:
    """The profile of a chip, in the order in which a porting engineer asks."""
    manifest = found.manifest
    yield f"{manifest.name}: {manifest.title}"
    until = f", until {manifest.until}" if manifest.until else ""
    yield f"Torch-FL {manifest.since or '-'} and later{until}, operators of torch {manifest.torch}"
    yield ""
    width = max(len(kind) for kind in (*found.classes, "operators"))
    yield f"{'operators':{width}}  native  on the CPU  blocked  composite"
    for kind, levels in found.classes.items():
        native, cpu, blocked, composite = (levels[level] for level in LEVELS)
        yield f"{kind:{width}}  {native:6}  {cpu:10}  {blocked:7}  {composite:9}"
    yield ""
    for feature, text in found.features.items():
        yield f"{feature}: {text}"
    yield ""
    if not found.dtypes:
        yield "types: nothing known against any"
    for dtype, about in found.dtypes.items():
        yield f"{dtype}: {', '.join(hazard.id for hazard in about)}"
    yield ""
    yield f"hazards: {len(found.hazards)}"
    for hazard in found.hazards:
        text = f"{hazard.rule} {hazard.id} ({hazard.severity}, {hazard.evidence}): {hazard.what}"
        yield from textwrap.wrap(text, _WIDTH, initial_indent="  ", subsequent_indent="    ")
    yield ""
    yield f"measured: {len(found.measured)}"
    for result in found.measured:
        note = f": {result.note}" if result.note else ""
        yield f"  aten::{result.op} {result.status} on {result.date}{note}"


def diff_lines(before: Profile, after: Profile) -> Iterator[str]:
    """What is another on one chip than on the other; alike parts are left out."""
    yield f"{before.manifest.name} -> {after.manifest.name}"
    kinds = sorted(before.classes.keys() | after.classes.keys())
    differing = [kind for kind in kinds if before.classes.get(kind) != after.classes.get(kind)]
    if differing:
        width = max(len(kind) for kind in differing)
        yield f"{'operators':{width}}  {'native':>12}  {'on the CPU':>12}  {'blocked':>12}"
        for kind in differing:
            old, new = before.classes.get(kind, {}), after.classes.get(kind, {})
            cells = (f"{old.get(n, 0)} -> {new.get(n, 0)}" for n in ("native", "cpu", "blocked"))
            yield f"{kind:{width}}  " + "  ".join(f"{cell:>12}" for cell in cells)
    found = changes(before.manifest, after.manifest)
    if found:
        yield f"routes: {len(found)} differ"
        for line in summary(found):
            yield f"  {line}"
    for feature in before.features:
        if before.features[feature] != after.features.get(feature):
            yield f"{feature}: {before.features[feature]} -> {after.features.get(feature)}"
    for one, other in ((before, after), (after, before)):
        ids = {hazard.id for hazard in other.hazards}
        mine = [hazard for hazard in one.hazards if hazard.id not in ids]
        if mine:
            yield f"hazards only on {one.manifest.name}: {len(mine)}"
            for hazard in mine:
                yield f"  {hazard.rule} {hazard.id}"
    known, found_later = set(before.measured), set(after.measured)
    for one, results in ((before, known - found_later), (after, found_later - known)):
        for result in sorted(results, key=lambda r: r.op):
            yield f"measured on {one.manifest.name}: aten::{result.op} {result.status}"
