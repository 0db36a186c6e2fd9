"""What a comparison of two devices found: plain data, and its JSON. Needs no torch."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from flmigrate import stored

SCHEMA = 1
KIND = "flmigrate-compare"


class CompareReportError(ValueError):
    """A comparison that cannot be read; names the file and what is wrong."""


@dataclass(frozen=True, slots=True)
class Row:
    """One tensor of a layer.

    ``kind`` is output, gradient (that of an output) or ``NAME.grad`` (that of a parameter);
    ``status`` ok, rounding or off. ``score`` is the error by the noise floor, ``error`` the
    largest absolute error.
    """

    layer: str
    kind: str
    status: str
    score: float
    error: float
    why: str = ""


@dataclass(frozen=True, slots=True)
class Culprit:
    """A layer that is off by itself, given the reference's inputs, and the first operator in it
    that is; the operator is empty where each is in order by itself."""

    layer: str
    operator: str


@dataclass(frozen=True, slots=True)
class OperatorScore:
    """One operator of the run on the device, each call checked by itself."""

    op: str
    calls: int
    status: str
    score: float
    error: float


@dataclass(frozen=True, slots=True)
class Substitution:
    """The model's own outputs with one layer on the device, or with all up to this one."""

    layer: str
    alone: str
    alone_score: float
    prefix: str
    prefix_score: float


@dataclass(frozen=True, slots=True)
class CaseReport:
    """One batch size, type and mode. ``status`` is ok, off, raises or skipped; ``note`` says
    what was raised. ``first`` is the first layer, in the order of execution, that is off;
    ``mode`` is eager or the name of a backend of torch.compile."""

    batch: int
    dtype: str
    mode: str
    status: str
    rows: tuple[Row, ...] = ()
    first: str = ""
    culprits: tuple[Culprit, ...] = ()
    operators: tuple[OperatorScore, ...] = ()
    substitutions: tuple[Substitution, ...] = ()
    seconds: float = 0.0
    note: str = ""


@dataclass(frozen=True, slots=True)
class CompareReport:
    """All cases of one model. ``date`` is ISO 8601."""

    model: str
    reference: str
    device: str
    chip: str
    torch: str
    date: str
    cases: tuple[CaseReport, ...]

    @property
    def clean(self) -> bool:
        """Whether no case is off or raises."""
        return all(case.status in ("ok", "skipped") for case in self.cases)


_PARTS = {
    "rows": Row,
    "culprits": Culprit,
    "operators": OperatorScore,
    "substitutions": Substitution,
}


def as_data(report: CompareReport) -> dict[str, Any]:
    """The report as plain data; its keys are the fields. Infinite numbers are ``null``."""
    data: dict[str, Any] = _finite({"schema": SCHEMA, "kind": KIND, **asdict(report)})
    return data


def json_text(report: CompareReport) -> str:
    """The report as it is stored and read again."""
    return json.dumps(as_data(report), indent=1, ensure_ascii=False) + "\n"


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return value


def read_json(path: Path) -> CompareReport:
    """A stored report. Raises ``CompareReportError`` with the path and what is wrong."""
    return from_data(stored.read_json(path, CompareReportError), str(path))


def from_data(data: Any, where: str) -> CompareReport:
    """The report that plain data stands for; ``where`` names its origin in messages.

    Raises ``CompareReportError`` for anything that ``as_data`` does not write.
    """
    rest = stored.of_kind(data, KIND, SCHEMA, "comparison", where, CompareReportError)
    cases = rest.pop("cases", None)
    if not isinstance(cases, list):
        raise CompareReportError(f"{where}: cases: must be a list")
    report: CompareReport = _made(
        CompareReport,
        {**rest, "cases": tuple(_case(c, f"{where}: cases[{i}]") for i, c in enumerate(cases))},
        where,
    )
    return report


def _case(data: Any, where: str) -> CaseReport:
    if not isinstance(data, dict):
        raise CompareReportError(f"{where}: must be an object")
    values = dict(data)
    for key, kind in _PARTS.items():
        parts = values.get(key, [])
        if not isinstance(parts, list):
            raise CompareReportError(f"{where}: {key}: must be a list")
        values[key] = tuple(
            _made(kind, part, f"{where}: {key}[{i}]") for i, part in enumerate(parts)
        )
    case: CaseReport = _made(CaseReport, values, where)
    return case


def _made(kind: Any, data: Any, where: str) -> Any:
    """An object of a dataclass from a dictionary whose keys and types are checked."""
    if not isinstance(data, dict):
        raise CompareReportError(f"{where}: must be an object")
    values = {}
    for key, value in data.items():
        expected = next((str(f.type) for f in fields(kind) if f.name == key), None)
        if expected == "float":
            value = float("inf") if value is None else value
        allowed: Any = {"str": str, "int": int, "float": (int, float)}.get(expected or "", tuple)
        if expected is None or not isinstance(value, allowed) or isinstance(value, bool):
            raise CompareReportError(f'{where}: "{key}" is unknown or of the wrong type')
        values[key] = value
    try:
        return kind(**values)
    except TypeError:
        missing = {f.name for f in fields(kind)} - values.keys()
        raise CompareReportError(
            f"{where}: one is missing of {', '.join(sorted(missing))}"
        ) from None
