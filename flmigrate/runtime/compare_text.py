"""A comparison as lines for a terminal, and as a picture."""

from __future__ import annotations

import math
from collections.abc import Iterator

from flmigrate.runtime.compare_report import CaseReport, CompareReport, Row

_SHOWN = 12  # layers named per case
_LEFT, _SCALE, _BAR = 260, 70, 18  # pixels: names; one power of ten; a layer's height
_COLOURS = {"ok": "#2b7", "rounding": "#fb0", "off": "#d33"}


def text_lines(report: CompareReport, *, everything: bool = False) -> Iterator[str]:
    """A line per case, and below those that are not in order the layers to blame."""
    yield f"{report.model}: {report.device} against {report.reference}, torch {report.torch}"
    for case in report.cases:
        yield ""
        yield from _case(case, everything=everything)


def _case(case: CaseReport, *, everything: bool) -> Iterator[str]:
    head = f"batch {case.batch}, {case.dtype}, {case.mode}"
    if case.status in ("raises", "skipped"):
        yield f"{head}: {case.status}: {case.note}"
        return
    worst = max((row.score for row in case.rows), default=0.0)
    if case.status == "ok":
        layers = len({row.layer for row in case.rows})
        yield f"{head}: ok, {layers} layers, worst score {_number(worst)}"
    else:
        yield f"{head}: off, first at {case.first}"
        for culprit in case.culprits:
            operator = f", operator aten::{culprit.operator}" if culprit.operator else ""
            yield f"  off by itself: {culprit.layer}{operator}"
        if not case.culprits:
            yield "  no layer is off by itself"
    wanted = [row for row in case.rows if everything or row.status == "off"]
    if wanted:
        shown = wanted if everything else wanted[:_SHOWN]
        width = max(len(row.layer) for row in shown)
        yield f"  {'layer':{width}}  what       status    score     error"
        for row in shown:
            yield (
                f"  {row.layer:{width}}  {row.kind:9}  {row.status:8}  {_number(row.score):>8}"
                f"  {row.error:.2e}{'  ' + row.why if row.why else ''}"
            )
        if len(shown) < len(wanted):
            yield f"  and {len(wanted) - len(shown)} more; --verbose shows all"
    operators = [op for op in case.operators if op.status == "off"]
    for op in operators:
        yield f"  aten::{op.op} is off by itself: score {_number(op.score)}, {op.calls} calls"
    for step in case.substitutions:
        if everything or "off" in (step.alone, step.prefix):
            alone = f"alone on the device {step.alone} ({_number(step.alone_score)})"
            prefix = f"all up to it {step.prefix} ({_number(step.prefix_score)})"
            yield f"  {step.layer}: {alone}, {prefix}"


def _number(score: float) -> str:
    if math.isinf(score):
        return "inf"
    return f"{score:.1f}" if score < 1000 else f"{score:.1e}"


def svg(report: CompareReport) -> str:
    """Score by layer on a logarithmic scale: outputs above, gradients below, for the worst case.

    Layers stand in the order in which they ran.
    """
    from jinja2 import Environment, PackageLoader  # 60 ms, for pictures only

    compared = [case for case in report.cases if case.rows]
    case = max(compared, key=_badness) if compared else None
    layers: dict[str, list[Row]] = {}
    for row in case.rows if case is not None else ():
        layers.setdefault(row.layer, []).append(row)
    bars = []
    for at, (layer, rows) in enumerate(layers.items()):
        forward = max((r.score for r in rows if r.kind == "output"), default=0.0)
        backward = max((r.score for r in rows if r.kind != "output"), default=0.0)
        worst = max(rows, key=lambda row: list(_COLOURS).index(row.status)).status
        bars.append(
            {
                "layer": layer,
                "y": 36 + at * _BAR,
                "forward": _length(forward),
                "backward": _length(backward),
                "forward_score": _number(forward),
                "backward_score": _number(backward),
                "colour": _COLOURS[worst],
            }
        )
    label = f", batch {case.batch}, {case.dtype}" if case is not None else ""
    environment = Environment(
        loader=PackageLoader("flmigrate.runtime", "templates"), autoescape=True
    )
    return (
        environment.get_template("layers.svg.j2").render(
            title=f"{report.model}{label}: error by the noise floor",
            width=_LEFT + 8 * _SCALE + 20,
            height=36 + len(bars) * _BAR + 30,
            left=_LEFT,
            ticks=[{"x": _LEFT + (p + 1) * _SCALE, "label": f"1e{p}"} for p in range(7)],
            bars=bars,
        )
        + "\n"
    )


def _badness(case: CaseReport) -> tuple[bool, float]:
    return case.status == "off", max((row.score for row in case.rows), default=0.0)


def _length(score: float) -> float:
    """Pixels for a score: a tenth of the noise floor and less has none."""
    power = min(max(math.log10(max(score, 1e-9)) + 1, 0.0), 8.0) if math.isfinite(score) else 8.0
    return round(power * _SCALE, 1)
