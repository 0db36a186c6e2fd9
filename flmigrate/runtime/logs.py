"""Torch-FL's own logs as a run's report.

Torch-FL writes to standard error, among whatever the program writes:

    [flagos dispatch] mul.Tensor -> flagos_python     FLAGOS_LOG_DISPATCH=1 (dispatcher.h)
    [flagos cpu_fallback] aten::nonzero               FLAGOS_LOG_FALLBACK=1 (fallback.cpp)

The first names the overload as its configuration file does, the second the operator alone.
Neither tells the time or the place. Errors are read from the tracebacks between the lines.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from flmigrate.manifests.model import Manifest
from flmigrate.runtime.run_report import OperatorRun, Place, Problem, RunReport

_BACKENDS = {
    "cuda": "boxed",
    "flagos": "flaggems_cpp",
    "flagos_python": "flaggems",
    **dict.fromkeys(("ascend", "musa", "metax", "gcu", "tileops"), "native"),
}
"""Torch-FL's names of kernels, as the dispatcher prints them, and the routes they are."""

_DISPATCH = re.compile(r"\[flagos dispatch\] (?P<op>[\w:.]+) -> (?P<backend>\w+)")
_FALLBACK = re.compile(r"\[flagos cpu_fallback\] (?P<op>[\w:]+(?:\.\w+)?)")
_OURS = re.compile(r"\[flagos[ \]]")
_FRAME = re.compile(r'^\s+File "(?P<path>[^"]+)", line (?P<line>\d+)')
_ERROR = re.compile(r"^(?P<kind>[A-Za-z_][\w.]*(?:Error|Exception)): (?P<message>.*)")
_TRACEBACK = "Traceback (most recent call last):"
_RAISES = re.compile(r"(?P<op>\w+(?:\.\w+)?): backend not registered")
_NO_KERNEL = re.compile(r"Could not run '(?P<op>aten::[\w.]+)'|operator '(?P<op2>aten::[\w.]+)' is")
_MIXED = re.compile(r"[Ee]xpected all tensors to be on the same device|found at least two devices")
_LIBRARIES = ("/site-packages/", "/dist-packages/", "<frozen ", "/lib/python3")


def read_log(lines: Iterable[str], manifest: Manifest | None = None) -> RunReport:
    """The report that a log amounts to.

    ``manifest`` gives the routes that the log does not tell. Lines of Torch-FL that are of
    no known form are kept as problems of the kind ``not-understood``; all others are the
    program's own and are passed over.
    """
    calls: Counter[tuple[str, str, str]] = Counter()
    errors: dict[str, OperatorRun] = {}
    problems: dict[Problem, int] = {}
    place: Place | None = None
    for line in lines:
        line = line.rstrip("\r\n")
        frame = _FRAME.match(line)
        if line.startswith(_TRACEBACK):
            place = None
        elif frame is not None:
            if not any(part in frame["path"] for part in _LIBRARIES):
                place = Place(frame["path"], int(frame["line"]))
        elif (found := _DISPATCH.search(line)) is not None:
            backend = found["backend"]
            calls[_name(found["op"]), _BACKENDS.get(backend, ""), backend] += 1
        elif (found := _FALLBACK.search(line)) is not None:
            calls[_name(found["op"]), "cpu_fallback", ""] += 1
        elif (error := _ERROR.match(line)) is not None:
            _note_error(error["kind"], error["message"], place, errors, problems)
        elif _OURS.search(line):
            problem = Problem("not-understood", line.strip())
            problems[problem] = problems.get(problem, 0) + 1
    operators = [
        OperatorRun(op, route or _route(op, manifest), backend, count)
        for (op, route, backend), count in calls.items()
        if not (op in errors and route == "flaggems_cpp")  # printed just before it raised
    ]
    return RunReport(
        source="log",
        device="flagos (log)",
        chip=manifest.name if manifest is not None else "",
        operators=(*errors.values(), *operators),
        problems=tuple(Problem(p.kind, p.message, p.place, n) for p, n in problems.items()),
        notes=_notes(calls),
    )


def _note_error(
    kind: str,
    message: str,
    place: Place | None,
    errors: dict[str, OperatorRun],
    problems: dict[Problem, int],
) -> None:
    places = (place,) if place is not None else ()
    raised, no_kernel = _RAISES.search(message), _NO_KERNEL.search(message)
    if raised is not None:
        op = _name(raised["op"])
        known = errors.get(op, OperatorRun(op, "raises", error=message[:300]))
    elif no_kernel is not None:
        op = _name(no_kernel["op"] or no_kernel["op2"])
        known = errors.get(op, OperatorRun(op, "unsupported", error=message[:300]))
    else:
        mixed = _MIXED.search(message) is not None
        problem = Problem("mixed-device" if mixed else "error", f"{kind}: {message[:300]}", place)
        problems[problem] = problems.get(problem, 0) + 1
        return
    together = tuple(dict.fromkeys(known.places + places))
    errors[op] = OperatorRun(op, known.route, "", known.calls + 1, 0.0, together, known.error)


def _name(op: str) -> str:
    return op.removeprefix("aten::")


def _route(op: str, manifest: Manifest | None) -> str:
    route = manifest.route(op) if manifest is not None else None
    return route.kind if route is not None else ""


def _notes(calls: Counter[tuple[str, str, str]]) -> tuple[str, ...]:
    if not calls:
        return ("no line of Torch-FL: set FLAGOS_LOG_DISPATCH=1 and FLAGOS_LOG_FALLBACK=1",)
    routes = {route for _, route, _ in calls}
    if routes == {"cpu_fallback"}:
        return ("operators on the CPU only: FLAGOS_LOG_DISPATCH=1 also logs those on the chip",)
    if "cpu_fallback" not in routes:
        return ("no operator on the CPU, or FLAGOS_LOG_FALLBACK=1 was not set",)
    return ()
