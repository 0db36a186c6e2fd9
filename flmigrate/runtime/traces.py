"""Traces of torch.profiler (``export_chrome_trace``) as a run's report.

An event of the category ``cpu_op`` is one call of an operator on the host. Torch's fallback to
the CPU copies its arguments with ``aten::_to_cpu`` inside of the operator; that marks it. A trace
with ``with_stack=True`` has ``python_function`` events, and these tell the places.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flmigrate.manifests.model import Manifest
from flmigrate.runtime.run_report import OperatorRun, Place, RunReport, RunReportError

_TO_CPU = "aten::_to_cpu"
_FRAME = re.compile(r"^(?P<path>.+\.py)\((?P<line>\d+)\): ")
_LIBRARIES = ("site-packages/", "dist-packages/", "<", "torch/", "lib/python3")
_OF_DEVICES = frozenset({"kernel", "privateuse1_kernel", "gpu_memcpy", "gpu_memset"})


@dataclass(slots=True)
class _Call:
    name: str
    end: float  # microseconds, as all times of a trace
    whole: float
    own: float
    external: object
    parent: _Call | None
    children: list[str] = field(default_factory=list)
    place: Place | None = None


def read_trace(path: Path, manifest: Manifest | None = None) -> RunReport:
    """The report that a trace file (JSON, or JSON in gzip) amounts to.

    Seconds are the operator's own: without those that it calls. ``manifest`` gives the routes
    that the trace does not tell. Raises ``RunReportError`` for a file of another form.
    """
    events = _events(path)
    operators = [e for e in events if e.get("cat") in ("cpu_op", "python_function")]
    on_device = {
        (e.get("args") or {}).get("External id") for e in events if e.get("cat") in _OF_DEVICES
    } - {None}
    threads: dict[object, list[dict[str, Any]]] = defaultdict(list)
    for event in operators:
        threads[event.get("pid"), event.get("tid")].append(event)
    calls = [call for thread in threads.values() for call in _calls(thread)]
    if not calls:
        raise RunReportError(f"{path}: no operator in the trace (profile ProfilerActivity.CPU)")
    return RunReport(
        source="trace",
        device="flagos (trace)" if manifest is not None else "",
        chip=manifest.name if manifest is not None else "",
        operators=_operators(calls, on_device, manifest),
        notes=_notes(operators),
    )


def _events(path: Path) -> list[dict[str, Any]]:
    try:
        raw = path.read_bytes()
        text = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
        data = json.loads(text)
    except OSError as error:
        raise RunReportError(f"{path}: {error.strerror or error}") from None
    except EOFError as error:
        raise RunReportError(f"{path}: {error}") from None
    except json.JSONDecodeError as error:
        raise RunReportError(f"{path}:{error.lineno}: not JSON: {error.msg}") from None
    except UnicodeDecodeError as error:
        raise RunReportError(f"{path}: {error}") from None
    found = data.get("traceEvents") if isinstance(data, dict) else data
    if not isinstance(found, list):
        raise RunReportError(f'{path}: no trace of torch.profiler ("traceEvents" is missing)')
    return [event for event in found if isinstance(event, dict) and _is_timed(event)]


def _is_timed(event: dict[str, Any]) -> bool:
    timed = isinstance(event.get("ts"), int | float) and isinstance(event.get("dur"), int | float)
    return event.get("ph") == "X" and timed and isinstance(event.get("name"), str)


def _calls(events: Iterable[dict[str, Any]]) -> list[_Call]:
    """The calls of operators in one thread, with what each calls and where it is called."""
    found: list[_Call] = []
    open_calls: list[_Call] = []
    frames: list[tuple[float, Place | None]] = []
    for event in sorted(events, key=lambda e: (e["ts"], -e["dur"])):
        start, end = float(event["ts"]), float(event["ts"]) + float(event["dur"])
        while frames and frames[-1][0] <= start:
            frames.pop()
        if event["cat"] == "python_function":
            frames.append((end, _place(event["name"])))
            continue
        while open_calls and open_calls[-1].end <= start:
            open_calls.pop()
        parent = open_calls[-1] if open_calls else None
        external = (event.get("args") or {}).get("External id")
        call = _Call(event["name"], end, end - start, end - start, external, parent)
        call.place = next((place for _, place in reversed(frames) if place is not None), None)
        if parent is not None:
            parent.own -= float(event["dur"])
            parent.children.append(event["name"])
        found.append(call)
        open_calls.append(call)
    return found


def _place(name: str) -> Place | None:
    frame = _FRAME.match(name)
    if frame is None or any(part in frame["path"] for part in _LIBRARIES):
        return None
    return Place(frame["path"], int(frame["line"]))


def _operators(
    calls: Iterable[_Call], on_device: set[object], manifest: Manifest | None
) -> tuple[OperatorRun, ...]:
    count: Counter[tuple[str, str]] = Counter()
    microseconds: dict[tuple[str, str], float] = defaultdict(float)
    places: dict[tuple[str, str], Counter[Place]] = defaultdict(Counter)
    for call in calls:
        if not call.name.startswith("aten::") or _is_on_the_way_to_the_cpu(call):
            continue
        op = call.name.removeprefix("aten::")
        on_cpu = _TO_CPU in call.children
        native = "native" if call.external in on_device else ""
        key = op, "cpu_fallback" if on_cpu else native or _route(op, manifest)
        count[key] += 1
        microseconds[key] += call.whole if on_cpu else call.own  # copies are part of the cost
        if call.place is not None:
            places[key][call.place] += 1
    return tuple(
        OperatorRun(
            *key,
            calls=times,
            seconds=round(microseconds[key] / 1e6, 9),
            places=tuple(place for place, _ in places[key].most_common()),
        )
        for key, times in sorted(count.items(), key=lambda item: (-item[1], item[0]))
    )


def _is_on_the_way_to_the_cpu(call: _Call) -> bool:
    outer = call.parent
    while outer is not None:
        if _TO_CPU in outer.children:
            return True
        outer = outer.parent
    return False


def _route(op: str, manifest: Manifest | None) -> str:
    """The route of an operator without its overload, where all its overloads agree."""
    if manifest is None:
        return ""
    routes = {
        text.partition("@")[0]
        for name, text in manifest.routes.items()
        if name.partition(".")[0] == op
    }
    return routes.pop() if len(routes) == 1 else ""


def _notes(events: Iterable[dict[str, Any]]) -> tuple[str, ...]:
    if any(event["cat"] == "python_function" for event in events):
        return ()
    return ("no source lines: profile with with_stack=True to have them",)
