"""What is known of one run on a device, in one form, whoever saw it.

``flmigrate verify`` and ``compare`` see a run themselves; a log of Torch-FL and a trace of
torch.profiler tell of one on another machine. Whatever reads runs (``chip learn``, ``regress``)
reads this. Needs no torch.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from flmigrate import stored
from flmigrate.manifests.model import BLOCKED, ON_CPU, ROUTES

SCHEMA = 1
KIND = "flmigrate-run"
KINDS = (
    "missing-op",
    "mixed-device",
    "vendor-code",
    "replaced",
    "missing-sync",
    "error",
    "limit",
    "not-understood",
)
"""Kinds of problems. All but the last mean that the program is not right yet."""

SOURCES = ("verify", "log", "trace", "compare", "regress")


class RunReportError(ValueError):
    """A report that cannot be read; names the file and the key."""


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A line of a user's file, from 1; 0 where only the file is known."""

    path: str
    line: int


@dataclass(frozen=True, slots=True)
class OperatorRun:
    """One operator in one run.

    ``op`` has no ``aten::``, and its overload where the source tells it. ``route`` is one of
    ``manifests.model.ROUTES``, or empty where it is not known; ``backend`` is Torch-FL's own word
    for it. ``seconds`` is the host's time inside of the operator, 0 where nobody measured.
    ``places`` has the most frequent line first. ``error`` is the first message that it raised.
    """

    op: str
    route: str = ""
    backend: str = ""
    calls: int = 0
    seconds: float = 0.0
    places: tuple[Place, ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that went wrong beside the operators; ``kind`` is one of ``KINDS``."""

    kind: str
    message: str
    place: Place | None = None
    count: int = 1


@dataclass(frozen=True, slots=True)
class RunReport:
    """One run. ``date`` is ISO 8601; versions and ``chip`` are empty where they are not known;
    ``device`` says what ran (``flagos (twin)``, ``flagos (torch_fl 0.1.0)``, ``cpu``)."""

    source: str
    device: str = ""
    chip: str = ""
    torch: str = ""
    torch_fl: str = ""
    date: str = ""
    command: str = ""
    exit_code: int | None = None
    seconds: float = 0.0
    operators: tuple[OperatorRun, ...] = ()
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def fallbacks(self) -> tuple[OperatorRun, ...]:
        """The operators that ran on the CPU, the dearest first."""
        found = [o for o in self.operators if o.route in ON_CPU]
        return tuple(sorted(found, key=lambda o: (-o.seconds, -o.calls, o.op)))

    @property
    def missing(self) -> tuple[OperatorRun, ...]:
        """The operators that raised."""
        return tuple(o for o in self.operators if o.error or o.route in BLOCKED)

    @property
    def clean(self) -> bool:
        """Whether nothing raised and nothing went wrong; operators on the CPU are no fault."""
        faults = [p for p in self.problems if p.kind != "not-understood"]
        return not self.missing and not faults and not self.exit_code


def merged(reports: Iterable[RunReport]) -> RunReport:
    """Several accounts of one run, or runs of one program, as one.

    Facts are those of the first that knows them; calls and times add up. Raises ``ValueError``
    where there is none.
    """
    first, *rest = reports
    for report in rest:
        facts = {
            f.name: getattr(first, f.name) or getattr(report, f.name)
            for f in fields(RunReport)
            if f.name not in ("operators", "problems", "notes", "seconds")
        }
        first = replace(
            first,
            **facts,
            seconds=first.seconds + report.seconds,
            operators=_added(first.operators + report.operators),
            problems=_counted(first.problems + report.problems),
            notes=tuple(dict.fromkeys(first.notes + report.notes)),
        )
    return first


def _counted(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Equal problems as one."""
    found: dict[Problem, int] = {}
    for problem in problems:
        one = replace(problem, count=1)
        found[one] = found.get(one, 0) + problem.count
    return tuple(replace(problem, count=count) for problem, count in found.items())


def _added(operators: Iterable[OperatorRun]) -> tuple[OperatorRun, ...]:
    """Operators with the same name and route as one."""
    found: dict[tuple[str, str, str], OperatorRun] = {}
    for op in operators:
        key = (op.op, op.route, op.backend)
        known = found.get(key)
        if known is not None:
            op = replace(
                known,
                calls=known.calls + op.calls,
                seconds=known.seconds + op.seconds,
                places=tuple(dict.fromkeys(known.places + op.places)),
                error=known.error or op.error,
            )
        found[key] = op
    return tuple(found.values())


# --- JSON ----------------------------------------------------------------------------------


def as_data(report: RunReport) -> dict[str, Any]:
    """The report as plain data; its keys are the fields."""
    return {"schema": SCHEMA, "kind": KIND, **asdict(report)}


def json_text(report: RunReport) -> str:
    """The report as it is stored and read again."""
    return json.dumps(as_data(report), indent=1, ensure_ascii=False) + "\n"


def read_json(path: Path) -> RunReport:
    """A stored report. Raises ``RunReportError`` with the path and what is wrong where."""
    return from_data(stored.read_json(path, RunReportError), str(path))


def from_data(data: Any, where: str) -> RunReport:
    """The report that plain data stands for; ``where`` names its origin in messages.

    Raises ``RunReportError`` for anything that ``as_data`` does not write.
    """
    rest = stored.of_kind(data, KIND, SCHEMA, "report of a run", where, RunReportError)
    operators = _list(rest.pop("operators", []), f"{where}: operators")
    problems = _list(rest.pop("problems", []), f"{where}: problems")
    notes = _list(rest.pop("notes", []), f"{where}: notes")
    if not all(isinstance(note, str) for note in notes):
        raise RunReportError(f"{where}: notes: must be strings")
    _check(RunReport, rest, where)
    if rest.get("source") not in SOURCES:
        raise RunReportError(f"{where}: source: must be one of {', '.join(SOURCES)}")
    return RunReport(
        **rest,
        operators=tuple(_operator(o, f"{where}: operators[{i}]") for i, o in enumerate(operators)),
        problems=tuple(_problem(p, f"{where}: problems[{i}]") for i, p in enumerate(problems)),
        notes=tuple(notes),
    )


def _operator(data: Any, where: str) -> OperatorRun:
    rest = dict(_object(data, where))
    places = _list(rest.pop("places", []), f"{where}: places")
    _check(OperatorRun, rest, where)
    if not rest.get("op"):
        raise RunReportError(f"{where}: op: is missing")
    if rest.get("route") and rest["route"] not in ROUTES:
        raise RunReportError(f'{where}: route: unknown route "{rest["route"]}"')
    return OperatorRun(**rest, places=tuple(_place(place, f"{where}: places") for place in places))


def _problem(data: Any, where: str) -> Problem:
    rest = dict(_object(data, where))
    place = rest.pop("place", None)
    _check(Problem, rest, where)
    if rest.get("kind") not in KINDS or "message" not in rest:
        raise RunReportError(f"{where}: needs a message, and a kind of {', '.join(KINDS)}")
    return Problem(**rest, place=_place(place, f"{where}: place") if place is not None else None)


def _place(data: Any, where: str) -> Place:
    rest = _object(data, where)
    _check(Place, rest, where)
    if set(rest) != {"path", "line"}:
        raise RunReportError(f"{where}: needs path and line")
    return Place(**rest)


_TYPES = {
    "str": (str,),
    "int": (int,),
    "float": (int, float),
    "int | None": (int, type(None)),
}
"""What JSON may hold for an annotation."""


def _check(kind: Any, data: dict[str, Any], where: str) -> None:
    annotations = {f.name: _TYPES.get(str(f.type)) for f in fields(kind)}
    for key, value in data.items():
        allowed = annotations.get(key)
        if allowed is None:
            raise RunReportError(f'{where}: unknown key "{key}"')
        if not isinstance(value, allowed) or isinstance(value, bool):
            raise RunReportError(f"{where}: {key}: is of the wrong type")


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list | tuple):
        raise RunReportError(f"{where}: must be a list")
    return list(value)


def _object(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise RunReportError(f"{where}: must be an object")
    return value
