"""What ``flmigrate manifest`` prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flmigrate.manifests.compare import changes, summary
from flmigrate.manifests.hazards import load_hazards
from flmigrate.manifests.model import BLOCKED, NATIVE, ON_CPU, Manifest


def list_lines(manifests: Sequence[Manifest]) -> Iterator[str]:
    """One line per configuration: how many operators run where."""
    width = max(len(m.name) for m in manifests)
    yield f"{'configuration':{width}}  native  on the CPU  blocked  composite  Torch-FL  torch"
    for m in manifests:
        native, cpu, blocked, composite = _levels(m)
        yield (
            f"{m.name:{width}}  {native:6}  {cpu:10}  {blocked:7}  {composite:9}  "
            f"{m.since or '-':8}  {m.torch}"
        )


def _levels(manifest: Manifest) -> tuple[int, int, int, int]:
    counts = manifest.counts()
    sums = [sum(counts.get(kind, 0) for kind in kinds) for kinds in (NATIVE, ON_CPU, BLOCKED)]
    return sums[0], sums[1], sums[2], counts.get("composite", 0)


def show_lines(manifest: Manifest) -> Iterator[str]:
    """All facts of a configuration but its single operators."""
    yield f"{manifest.name}: {manifest.title}"
    yield f"  chip      {manifest.chip}"
    yield f"  build     {manifest.build}"
    yield f"  Torch-FL  {manifest.since or '-'} and later{_until(manifest)}"
    yield f"  torch     {manifest.torch}"
    yield f"  source    {manifest.source}"
    yield "  routes"
    for kind, count in sorted(manifest.counts().items(), key=lambda item: -item[1]):
        yield f"    {kind:13} {count}"
    hazards = load_hazards()
    for topic, chips in hazards.status.items():
        if manifest.chip in chips:
            yield f"  {topic:9} {chips[manifest.chip]}"
    concerned = [hazard for hazard in hazards.all if hazard.concerns(manifest)]
    yield f"  hazards   {len(concerned)}"
    for hazard in concerned:
        yield f"    {hazard.rule} {hazard.id} ({hazard.evidence})"
    for result in sorted(set(manifest.measured.values()), key=lambda r: r.op):
        note = f": {result.note}" if result.note else ""
        yield f"  measured  aten::{result.op} {result.status} on {result.date}{note}"


def _until(manifest: Manifest) -> str:
    return f", until {manifest.until}" if manifest.until else ""


def op_lines(manifest: Manifest, op: str) -> Iterator[str]:
    """The routes of an overload, or of all overloads of a name; nothing for an unknown one."""
    name = op.removeprefix("aten::")
    for known in sorted(manifest.routes):
        if known == name or known.partition(".")[0] == name:
            route = manifest.route(known)
            assert route is not None
            via = f" by way of aten::{route.via}" if route.via else ""
            yield f"aten::{known}  {route.kind}{via}"


def diff_lines(before: Manifest, after: Manifest, *, ops: bool) -> Iterator[str]:
    """How two configurations differ; with ``ops`` operator by operator."""
    found = changes(before, after)
    yield f"{before.name} -> {after.name}: {len(found)} operators differ"
    for line in summary(found):
        yield f"  {line}"
    if ops:
        for change in found:
            yield f"aten::{change.op}  {change.before or '-'} -> {change.after or '-'}"
