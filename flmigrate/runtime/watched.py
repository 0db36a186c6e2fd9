"""The process in which ``flmigrate verify`` runs a program: ``REPORT SCRIPT|-m MODULE|pytest ...``.

It activates the twin, tries the device, runs the program as ``python`` would, and writes what was
seen to REPORT, also when the program raises, exits, or runs out of time.
"""

from __future__ import annotations

import atexit
import importlib
import os
import re
import runpy
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from flmigrate.runtime import twin
from flmigrate.runtime.places import is_users, place_here, place_of_error
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
    """A program under observation: what it did, and the report of it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.start = time.perf_counter()
        self.device = "flagos"
        self.problems: list[Problem] = []
        self.notes: list[str] = []
        self.extension: Any = None
        self.vendor = VendorCalls()

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
        self.vendor.watch(torch)
        if self.extension is not None:
            self.extension.observe(True, place_here)

    def failed(self, error: BaseException, *, first: bool = False) -> None:
        """Add what ended the program, at the user's line."""
        message = (str(error).strip() or type(error).__name__).splitlines()[0]
        place = place_of_error(error)
        if first:
            message = f"smoke test: {message}"
        kind = "limit" if isinstance(error, MemoryError) else ""
        kind = kind or next((k for pattern, k in _MESSAGES if pattern.search(message)), "")
        if not kind:
            kind, message = "error", f"{type(error).__name__}: {message}"
        self.problems.append(Problem(kind, message, place))

    def write(self, code: int | None) -> None:
        """The report, as far as things went."""
        operators: list[OperatorRun] = []
        if self.extension is not None:
            self.extension.observe(False)
            operators = [_operator(*seen) for seen in self.extension.take_seen()]
        report = RunReport(
            source="verify",
            device=self.device,
            chip=os.environ.get(twin.CHIP, ""),
            torch=str(getattr(sys.modules.get("torch"), "__version__", "")),
            exit_code=code,
            seconds=time.perf_counter() - self.start,
            operators=tuple(operators),
            problems=(*self.problems, *self.vendor.problems()),
            notes=tuple(self.notes),
        )
        self.path.write_text(json_text(report), "utf-8")


def _operator(
    op: str, route: str, calls: int, seconds: float, error: str, places: list[tuple[str, int, int]]
) -> OperatorRun:
    often = sorted(places, key=lambda place: -place[2])
    lines = tuple(Place(path, line) for path, line, _ in often)
    return OperatorRun(op, route, "", calls, seconds, lines, error.splitlines()[0] if error else "")


def main(arguments: list[str]) -> int:
    """Run the program and return its exit code."""
    watch = Watch(Path(arguments[0]))

    def ended(signum: int, frame: FrameType | None) -> None:
        watch.write(128 + signum)
        os._exit(128 + signum)

    signal.signal(signal.SIGTERM, ended)
    try:
        watch.open()
    except Exception as error:
        watch.failed(error, first=True)
        watch.write(1)
        return 1
    code = 0
    try:
        _program(arguments[1:])()
    except SystemExit as leaving:
        code = _exit_code(leaving.code)
    except BaseException as error:
        shown: TracebackType | None = error.__traceback__
        while shown is not None and not is_users(shown.tb_frame.f_code.co_filename):
            shown = shown.tb_next
        traceback.print_exception(type(error), error, shown or error.__traceback__)
        watch.failed(error)
        code = 1
    watch.write(code)
    return code


def _program(command: list[str]) -> Callable[[], object]:
    """What ``python`` would do with these arguments."""
    first, *rest = command
    if first == "pytest":
        first, rest = "-m", ["pytest", *rest]
    if first == "-m":
        sys.argv = rest
        sys.path.insert(0, str(Path.cwd()))
        return lambda: runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    sys.argv = [first, *rest]
    sys.path.insert(0, str(Path(first).resolve().parent))
    return lambda: runpy.run_path(first, run_name="__main__")


def _exit_code(code: object) -> int:
    if code is None:
        return 0
    if isinstance(code, int):
        return int(code)
    print(code, file=sys.stderr)
    return 1


def leave(code: int) -> None:
    """End the process after the program's own exit functions. Python is not taken down: threads
    of the backward pass that wake up meanwhile abort the process, and hide the exit code."""
    for thread in threading.enumerate():
        if not thread.daemon and thread is not threading.current_thread():
            thread.join()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    leave(main(sys.argv[1:]))
