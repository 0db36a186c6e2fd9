"""The chip x operator part of the HTML page, from the coverage of a project."""

from __future__ import annotations

from flmigrate.coverage import Coverage, Operator
from flmigrate.reports.html import Heat

_WORST = ("blocked", "cpu", "native")
_NOT_ASKED = ("", "")


def heat_of(coverage: Coverage) -> Heat:
    """What the chips of ``coverage`` do with the operators that its code always reaches."""
    found: dict[str, dict[str, Operator]] = {}
    for chip in coverage.chips:
        for operator in chip.operators:
            if operator.always:
                found.setdefault(operator.op, {})[chip.chip] = operator
    chips = tuple(chip.chip for chip in coverage.chips)
    ordered = sorted(found, key=lambda op: (_badness(found[op]), op))
    return Heat(
        chips,
        tuple(f"aten::{op}" for op in ordered),
        tuple(tuple(_cell(found[op].get(chip)) for chip in chips) for op in ordered),
        tuple(_blocked(op, found[op]) for op in ordered if _levels(found[op])["blocked"]),
    )


def _levels(on: dict[str, Operator]) -> dict[str, int]:
    levels = [operator.level for operator in on.values()]
    return {level: levels.count(level) for level in _WORST}


def _badness(on: dict[str, Operator]) -> tuple[int, ...]:
    return tuple(-count for count in _levels(on).values())


def _cell(operator: Operator | None) -> tuple[str, str]:
    return _NOT_ASKED if operator is None else (operator.kind, operator.level)


def _blocked(op: str, on: dict[str, Operator]) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    blocked = {chip: operator for chip, operator in on.items() if operator.level == "blocked"}
    places = sorted({place for operator in blocked.values() for place in operator.places})
    return f"aten::{op}", tuple(blocked), tuple(f"{place.path}:{place.line}" for place in places)
