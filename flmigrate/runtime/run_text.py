"""A run's report as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from flmigrate.runtime.run_report import OperatorRun, Place, Problem, RunReport

_PLACES = 3  # places named per operator
_SHOWN = 20  # operators named per heading


def text_lines(report: RunReport, *, everything: bool = False) -> Iterator[str]:
    """What ran, what ran on the CPU by its cost, what raised, and what else went wrong.

    Long lists are cut, unless ``everything`` is wanted.
    """
    facts = [report.device, report.chip, report.torch and f"torch {report.torch}"]
    facts.append(report.torch_fl and f"torch_fl {report.torch_fl}")
    yield f"{report.source}: {', '.join(fact for fact in facts if fact) or 'unknown device'}"
    calls = sum(op.calls for op in report.operators)
    took = f", {report.seconds:.2f} s" if report.seconds else ""
    yield f"{len({op.op for op in report.operators})} operators, {calls} calls{took}"
    missing = report.missing
    yield from _section("raised", missing, everything=everything)
    on_cpu = tuple(op for op in report.fallbacks if op not in missing)
    yield from _section("ran on the CPU", on_cpu, everything=everything)
    for problem in report.problems:
        yield _problem(problem)
    for note in report.notes:
        yield f"note: {note}"
    if report.exit_code:
        yield f"exit code {report.exit_code}"


def _section(title: str, operators: tuple[OperatorRun, ...], *, everything: bool) -> Iterator[str]:
    if not operators:
        return
    shown = operators if everything else operators[:_SHOWN]
    yield f"{title}: {len(operators)}"
    for op in shown:
        yield f"  {_operator(op, everything=everything)}"
    if len(shown) < len(operators):
        yield f"  and {len(operators) - len(shown)} more; --verbose shows all"


def _operator(op: OperatorRun, *, everything: bool) -> str:
    parts = [f"aten::{op.op}"]
    if op.calls:
        parts.append(f"{op.calls} calls" if op.calls != 1 else "1 call")
    if op.seconds:
        parts.append(f"{op.seconds * 1000:.1f} ms")
    if op.backend:
        parts.append(f"by {op.backend}")
    if op.error:
        parts.append(op.error)
    places = op.places if everything else op.places[:_PLACES]
    shown = ", ".join(_at(place) for place in places)
    more = f" and {len(op.places) - len(places)} more" if len(places) < len(op.places) else ""
    return ", ".join(parts) + (f": {shown}{more}" if shown else "")


def _problem(problem: Problem) -> str:
    where = f"{_at(problem.place)}: " if problem.place is not None else ""
    times = f" ({problem.count} times)" if problem.count > 1 else ""
    return f"{problem.kind}: {where}{problem.message}{times}"


def _at(place: Place) -> str:
    return f"{place.path}:{place.line}" if place.line else place.path
