"""What moved between two stored runs: operators, fallbacks, numerics, time. Needs no torch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flmigrate.runtime.compare_report import CaseReport
from flmigrate.runtime.regress_runs import Outcome, StoredRun

_BAD = {"ok": 0, "skipped": 0, "off": 1, "raises": 2}
_SCORE = 8.0
"""A score up to this is rounding, whatever it was before."""

_TIMES = 4.0
"""A score that is this many times the old one has moved."""

_SHORT = 0.02
"""Seconds below which times say nothing."""


@dataclass(frozen=True, slots=True)
class Move:
    """One difference: ``kind`` is status, numerics, fallback, operators, time or models;
    ``direction`` worse, better or other; ``where`` the model and its case."""

    kind: str
    direction: str
    where: str
    text: str


def moves(before: StoredRun, after: StoredRun, *, slower: float = 1.5) -> list[Move]:
    """All differences, the worse ones first. ``slower`` is the ratio of times that is worse."""
    old = {outcome.name: outcome for outcome in before.outcomes}
    new = {outcome.name: outcome for outcome in after.outcomes}
    found = [Move("models", "other", name, "is new") for name in new if name not in old]
    found += [Move("models", "other", name, "is gone") for name in old if name not in new]
    for name in new:
        if name in old:
            found += _of_model(old[name], new[name], slower)
    order = ("worse", "better", "other")
    return sorted(found, key=lambda move: order.index(move.direction))


def _of_model(old: Outcome, new: Outcome, slower: float) -> Iterator[Move]:
    name = new.name
    if new.report is None or old.report is None:
        if new.report is None and (old.report is not None or old.problem != new.problem):
            direction = "worse" if old.report is not None else "other"
            yield Move("status", direction, name, new.problem)
        elif new.report is not None:
            yield Move("status", "better", name, f"runs again; it was: {old.problem}")
        return
    yield from _fallbacks(old, new)
    known = {(c.batch, c.dtype, c.mode): c for c in old.report.cases}
    for case in new.report.cases:
        before = known.get((case.batch, case.dtype, case.mode))
        where = f"{name}, batch {case.batch}, {case.dtype}, {case.mode}"
        if before is None:
            yield Move("models", "other", where, "is new")
        else:
            yield from _of_case(where, before, case, slower)


def _fallbacks(old: Outcome, new: Outcome) -> Iterator[Move]:
    before, after = dict(old.fallbacks), dict(new.fallbacks)
    for op in sorted(after.keys() - before.keys()):
        text = f"aten::{op} runs on the CPU now, {after[op]} calls"
        yield Move("fallback", "worse", new.name, text)
    for op in sorted(before.keys() - after.keys()):
        yield Move("fallback", "better", new.name, f"aten::{op} no longer runs on the CPU")
    for op in sorted(after.keys() & before.keys()):
        if after[op] != before[op]:
            direction = "worse" if after[op] > before[op] else "better"
            text = f"aten::{op} runs on the CPU {before[op]} -> {after[op]} times"
            yield Move("fallback", direction, new.name, text)


def _of_case(where: str, old: CaseReport, new: CaseReport, slower: float) -> Iterator[Move]:
    if old.status != new.status:
        change = _BAD[new.status] - _BAD[old.status]
        direction = "worse" if change > 0 else "better" if change < 0 else "other"
        detail = new.note or (f"first at {new.first}" if new.first else "")
        text = f"{old.status} -> {new.status}{': ' + detail if detail else ''}"
        yield Move("status", direction, where, text)
    if not old.rows or not new.rows:
        return
    yield from _numerics(where, old, new)
    before, after = {op.op for op in old.operators}, {op.op for op in new.operators}
    if before != after:
        added = ", ".join(f"+{op}" for op in sorted(after - before))
        gone = ", ".join(f"-{op}" for op in sorted(before - after))
        yield Move("operators", "other", where, ", ".join(part for part in (added, gone) if part))
    if min(old.seconds, new.seconds) > 0 and max(old.seconds, new.seconds) >= _SHORT:
        ratio = new.seconds / old.seconds
        if ratio >= slower or ratio <= 1 / slower:
            direction = "worse" if ratio > 1 else "better"
            text = f"{old.seconds:.3f} s -> {new.seconds:.3f} s"
            yield Move("time", direction, where, text)


def _numerics(where: str, old: CaseReport, new: CaseReport) -> Iterator[Move]:
    """The layer whose score moved most, each way: the others follow from it."""
    before = _scores(old)
    after = _scores(new)
    both = [key for key in after if key in before]
    grown = [k for k in both if after[k] > max(_SCORE, _TIMES * before[k])]
    shrunk = [k for k in both if before[k] > max(_SCORE, _TIMES * after[k])]
    for keys, direction in ((grown, "worse"), (shrunk, "better")):
        if keys:
            layer, kind = keys[0]
            text = f"{layer} ({kind}): score {before[keys[0]]:.1f} -> {after[keys[0]]:.1f}"
            more = f", and {len(keys) - 1} more" if len(keys) > 1 else ""
            yield Move("numerics", direction, where, text + more)


def _scores(case: CaseReport) -> dict[tuple[str, str], float]:
    found: dict[tuple[str, str], float] = {}
    for row in case.rows:
        key = row.layer, row.kind
        found[key] = max(found.get(key, 0.0), row.score)
    return found


def text_lines(before: StoredRun | None, after: StoredRun, found: list[Move]) -> Iterator[str]:
    """What ran, under which versions, and what moved."""
    for outcome in after.outcomes:
        if outcome.report is None:
            yield f"{outcome.name}: {outcome.problem}"
            continue
        statuses = [case.status for case in outcome.report.cases]
        told = ", ".join(f"{statuses.count(s)} {s}" for s in _BAD if s in statuses)
        yield f"{outcome.name} on {outcome.report.device}: {told}"
    if before is None:
        yield "no stored run to compare with"
        return
    old, new = dict(before.versions), dict(after.versions)
    for name in sorted(old.keys() | new.keys()):
        if old.get(name) != new.get(name):
            yield f"{name}: {old.get(name, 'none')} -> {new.get(name, 'none')}"
    if (before.device, before.chip) != (after.device, after.chip):
        yield f"the last run was on {before.device} {before.chip}".rstrip()
    yield f"since {before.date}: {len(found)} moved" if found else f"since {before.date}: nothing"
    for move in found:
        yield f"  {move.direction:6} {move.kind:9} {move.where}: {move.text}"
