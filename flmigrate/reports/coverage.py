"""What ``flmigrate coverage`` prints: a matrix and a verdict per chip, as text, JSON or HTML."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from flmigrate.coverage import ChipCoverage, Coverage, Operator, Usage

SCHEMA = 1
_PLACES = 3  # places named per operator in text
_SHOWN = 20  # operators named per chip and level
_LEFT = ("blocked", "cpu")
_WORDS = {"raises": "raises", "unsupported": "has no kernel and raises"}


def text_lines(coverage: Coverage, *, everything: bool = False, head: str = "") -> Iterator[str]:
    """The matrix, the verdicts, and the operators behind them; all places with ``everything``.

    ``head`` says what was looked at, where that is no files.
    """
    names = sum(bool(usage.places) for usage in coverage.usages)
    count = head or f"{coverage.files} files, {names} names of torch in use"
    yield f"{count} (operators of torch {coverage.torch})"
    yield ""
    yield from _matrix(coverage)
    alike: dict[tuple[object, ...], list[ChipCoverage]] = {}
    for chip in coverage.chips:
        left = (chip.at(level, always=always) for level in _LEFT for always in (True, False))
        alike.setdefault((chip.verdict, *left), []).append(chip)
    for chips in alike.values():
        yield ""
        yield f"{', '.join(chip.chip for chip in chips)}: {chips[0].verdict}"
        yield from _operators(chips[0], everything=everything)
    if coverage.unknown:
        shown = coverage.unknown if everything else coverage.unknown[:10]
        yield ""
        yield f"names of torch that no operator is known of: {len(coverage.unknown)}"
        for usage in shown:
            yield f"  {usage.name}  {_place_list(usage, everything=everything)}"
    for path, reason in coverage.skipped:
        yield f"{path}: skipped: {reason}"


def _matrix(coverage: Coverage) -> Iterator[str]:
    """Classes by chips; a cell is ``native + on the CPU + blocked``, zeros left out."""
    columns = [chip.classes() for chip in coverage.chips]
    rows = sorted({kind for column in columns for kind in column})
    if not rows:
        return
    cells = [[_cell(column.get(row)) for column in columns] for row in rows]
    heads = [chip.chip for chip in coverage.chips]
    widths = [max(len(head), *(len(line[at]) for line in cells)) for at, head in enumerate(heads)]
    first = max(len(row) for row in (*rows, "operators"))
    yield "  ".join(
        [f"{'operators':{first}}", *(f"{h:>{w}}" for h, w in zip(heads, widths, strict=True))]
    )
    for row, line in zip(rows, cells, strict=True):
        yield "  ".join(
            [f"{row:{first}}", *(f"{c:>{w}}" for c, w in zip(line, widths, strict=True))]
        )
    yield "a number: native; c: on the CPU; x: blocked"


def _cell(levels: dict[str, int] | None) -> str:
    if levels is None:
        return "-"
    parts = [str(levels["native"])] if levels["native"] else []
    parts += [f"{levels['cpu']}c"] if levels["cpu"] else []
    parts += [f"{levels['blocked']}x"] if levels["blocked"] else []
    return " ".join(parts) or "-"


def _operators(chip: ChipCoverage, *, everything: bool) -> Iterator[str]:
    for level in _LEFT:
        operators = chip.at(level)
        shown = operators if everything else operators[:_SHOWN]
        for operator in shown:
            yield f"  {_line(operator, everything=everything)}"
        if len(shown) < len(operators):
            yield f"  and {len(operators) - len(shown)} more; --verbose shows all"
    perhaps = [*chip.at("blocked", always=False), *chip.at("cpu", always=False)]
    if perhaps:
        names = ", ".join(f"aten::{o.op}" for o in (perhaps if everything else perhaps[:6]))
        more = f" and {len(perhaps) - 6} more" if len(perhaps) > 6 and not everything else ""
        yield f"  with some arguments also: {names}{more}"


def _line(operator: Operator, *, everything: bool) -> str:
    what = _WORDS.get(operator.kind, "runs on the CPU")
    if operator.level == "blocked" and operator.kind not in _WORDS:
        what = "was measured to fail"
    after = " in the backward pass" if operator.phases == ("backward",) else ""
    apis = ", ".join(operator.apis[:3]) + (", ..." if len(operator.apis) > 3 else "")
    places = operator.places if everything else operator.places[:_PLACES]
    shown = ", ".join(f"{p.path}:{p.line}" for p in places)
    more = (
        f" and {len(operator.places) - len(places)} more"
        if len(places) < len(operator.places)
        else ""
    )
    return f"aten::{operator.op} {what}{after} ({apis}): {shown}{more}"


def _place_list(usage: Usage, *, everything: bool) -> str:
    places = usage.places or usage.possible
    shown = places if everything else places[:_PLACES]
    more = f" and {len(places) - len(shown)} more" if len(shown) < len(places) else ""
    return ", ".join(f"{p.path}:{p.line}" for p in shown) + more


def json_text(coverage: Coverage) -> str:
    """Everything, for programs: see docs/coverage.md for the keys."""
    return json.dumps(as_data(coverage), indent=1, ensure_ascii=False) + "\n"


def as_data(coverage: Coverage) -> dict[str, Any]:
    """The answer as plain data."""
    return {
        "schema": SCHEMA,
        "torch": coverage.torch,
        "files": coverage.files,
        "names": [_usage(usage) for usage in coverage.usages],
        "unknown": [_usage(usage) for usage in coverage.unknown],
        "chips": [
            {
                "chip": chip.chip,
                "title": chip.title,
                "level": chip.level,
                "verdict": chip.verdict,
                "classes": chip.classes(),
                "operators": [
                    {
                        "op": f"aten::{operator.op}",
                        "route": operator.kind,
                        "level": operator.level,
                        "phases": list(operator.phases),
                        "always": operator.always,
                        "names": list(operator.apis),
                        "places": [[p.path, p.line] for p in operator.places],
                    }
                    for operator in chip.operators
                ],
            }
            for chip in coverage.chips
        ],
        "skipped": [list(pair) for pair in coverage.skipped],
    }


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "name": usage.name,
        "places": [[p.path, p.line] for p in usage.places],
        "possible": [[p.path, p.line] for p in usage.possible],
    }


def html_text(coverage: Coverage) -> str:
    """One page that needs nothing else: the matrix, and a section per chip."""
    from jinja2 import Environment, PackageLoader  # 60 ms, for this format only

    environment = Environment(
        loader=PackageLoader("flmigrate.reports", "templates"), autoescape=True
    )
    columns = [chip.classes() for chip in coverage.chips]
    rows = sorted({kind for column in columns for kind in column})
    template = environment.get_template("coverage.html.j2")
    return template.render(coverage=coverage, columns=columns, rows=rows, line=_line) + "\n"
