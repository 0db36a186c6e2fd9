"""What one process of a program under observation did, and the report of it."""

from __future__ import annotations

import importlib
import os
import re
import sys
import time
from pathlib import Path
from typing import Any

from flmigrate.runtime import twin
from flmigrate.runtime.places import place_here, place_of_error, place_told
from flmigrate.runtime.replaced import ReplacedParameters
from flmigrate.runtime.run_report import OperatorRun, Place, Problem, RunReport, json_text
from flmigrate.runtime.vendor_calls import VendorCalls

# How torch says it; what is looked for, and the kind of problem that it is. The first one counts.
_MESSAGES = (
    (
        re.compile(r"same device|Input type .* and weight type .* should be the same"),
        "mixed-device",
    ),
    (
        re.compile(r"Could not run 'aten::|: backend not registered|^\S+ not implemented\. You"),
        "missing-op",
    ),
    (re.compile(r"can't allocate memory"), "limit"),
    (
        re.compile(r"not compiled with CUDA|NVIDIA driver|on a CUDA device|CUDA error"),
        "vendor-code",
    ),
)


class Watch:
    """A process under observation; ``path`` is the file that its report is written to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.process = os.getpid()
        self.written = False
        self.start = time.perf_counter()
        self.device = "flagos"
        self.problems: list[Problem] = []
        self.notes: list[str] = []
        self.extension: Any = None
        self.vendor = VendorCalls()
        self.replaced = ReplacedParameters()

    def open(self) -> None:
        """Import torch_fl and compute something small. Raises what that raises."""
        kind = twin.activate()
        module: Any = importlib.import_module("torch_fl")  # before torch
        import torch

        version = getattr(module, "__version__", "")
        self.device = f"flagos ({'twin' if kind == 'twin' else f'torch_fl {version}'.strip()})"
        if kind == "twin":
            self.extension = module._C
        else:
            self.notes.append("a real device: its operators are seen by FLAGOS_LOG_FALLBACK only")
        there = torch.arange(16.0).reshape(4, 4).to("flagos")
        values = (torch.ones(4, 4, device="flagos") @ there).cpu()
        if not torch.equal(values, torch.ones(4, 4) @ torch.arange(16.0).reshape(4, 4)):
            raise RuntimeError("the device computes wrongly: ones @ arange")
        self.look()

    def look(self) -> None:
        """See calls of ``torch.cuda``, parameters that get lost, and operators where the extension
        of the twin is known."""
        import torch

        self.vendor.watch(torch)
        self.replaced.watch(torch)
        if self.extension is not None:
            self.extension.observe(True, place_here)

    def forget(self) -> None:
        """Begin anew: this process is a copy of the one that was watched."""
        self.process = os.getpid()
        self.written = False
        self.path = self.path.parent / f"{self.process}.json"
        self.problems.clear()
        self.notes.clear()
        self.vendor.seen.clear()
        self.replaced.seen.clear()
        if self.extension is not None:
            self.extension.take_seen()
            self.extension.take_races()

    def failed(self, error: BaseException, *, first: bool = False) -> None:
        """Add what ended the program, at the user's line: that of the process that raised it,
        where the error only passes on what another process said."""
        message = (str(error).strip() or type(error).__name__).splitlines()[0]
        name, place = type(error).__name__, place_of_error(error)
        if (told := place_told(error)) is not None:
            name, message, place = told
        if first:
            message = f"smoke test: {message}"
        kind = "limit" if isinstance(error, MemoryError) else ""
        kind = kind or next((k for pattern, k in _MESSAGES if pattern.search(message)), "")
        if not kind:
            kind, message = "error", f"{name}: {message}"
        self.problems.append(Problem(kind, message, place))

    def write(self, code: int | None) -> None:
        """The report, as far as things went, once."""
        if self.written:
            return
        self.written = True
        operators: list[OperatorRun] = []
        races: list[Problem] = []
        if self.extension is not None:
            self.extension.observe(False)
            races = sorted((_race(*race) for race in self.extension.take_races()), key=_line)
            operators = [_operator(*seen) for seen in self.extension.take_seen()]
        report = RunReport(
            source="verify",
            device=self.device,
            chip=os.environ.get(twin.CHIP, ""),
            torch=str(getattr(sys.modules.get("torch"), "__version__", "")),
            exit_code=code,
            seconds=time.perf_counter() - self.start,
            operators=tuple(operators),
            problems=(
                *self.problems,
                *self.vendor.problems(),
                *self.replaced.problems(),
                *races,
            ),
            notes=tuple(self.notes),
        )
        # at once or not at all: the process may be killed meanwhile
        unfinished = self.path.with_suffix(".part")
        unfinished.write_text(json_text(report), "utf-8")
        unfinished.replace(self.path)


def _operator(
    op: str, route: str, calls: int, seconds: float, error: str, places: list[tuple[str, int, int]]
) -> OperatorRun:
    often = sorted(places, key=lambda place: -place[2])
    lines = tuple(Place(path, line) for path, line, _ in often)
    return OperatorRun(op, route, "", calls, seconds, lines, error.splitlines()[0] if error else "")


def _race(
    op: str, at: tuple[str, int], other: str, other_at: tuple[str, int], count: int
) -> Problem:
    """What the asynchronous twin tells of two works on one memory, the later one first."""
    place, before = (Place(*found) if found[0] else None for found in (at, other_at))
    where = f" at {before.path}:{before.line}" if before is not None else ""
    if not op:  # memory that was handed out again
        message = f"memory was freed while {other} uses it on another stream: no record_stream()"
        place = before
    elif not other:
        message = "the source of a non_blocking copy was overwritten before it was read"
    else:
        message = f"{op} does not wait for {other}{where}: one memory, two streams"
    return Problem("missing-sync", message, place, count)


def _line(problem: Problem) -> tuple[str, int, str]:
    place = problem.place or Place("", 0)
    return place.path, place.line, problem.message
