"""Which line of the user's own code is running, or raised. Needs no torch."""

from __future__ import annotations

import os
import re
import sys
import sysconfig
import threading
from functools import cache
from pathlib import Path
from types import FrameType

from flmigrate.runtime.run_report import Place

_OURS = str(Path(__file__).parents[1]) + os.sep
_INSTALLED = tuple(
    {sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib")}
)


@cache
def is_users(path: str) -> bool:
    """Whether a file is neither Python's, nor installed, nor flmigrate's own."""
    full = os.path.realpath(path) if not path.startswith("<") else path
    return not (path.startswith("<") or path.startswith(_INSTALLED) or full.startswith(_OURS))


def place_here() -> tuple[str, int] | None:
    """The user's line that runs now; in a thread without one (the backward pass of a device runs
    in a thread of its own) that of the main thread."""
    found = _users(sys._getframe())  # of flmigrate's own file: no user's
    if found is None and threading.current_thread() is not threading.main_thread():
        found = _users(sys._current_frames().get(threading.main_thread().ident or 0))
    return found


def _users(frame: FrameType | None) -> tuple[str, int] | None:
    while frame is not None:
        if is_users(frame.f_code.co_filename):
            return _short(frame.f_code.co_filename), frame.f_lineno
        frame = frame.f_back
    return None


def place_of_error(error: BaseException) -> Place | None:
    """The innermost line of the user's own code that an exception passed."""
    found, trace = None, error.__traceback__
    while trace is not None:
        path = trace.tb_frame.f_code.co_filename
        if is_users(path):
            found = Place(_short(path), trace.tb_lineno)
        trace = trace.tb_next
    return found


_FRAME = re.compile(r'^\s*File "(?P<path>.+)", line (?P<line>\d+)', re.MULTILINE)
_RAISED = re.compile(r"^(?P<name>[A-Za-z_][\w.]*)(?:: (?P<message>.*))?$", re.MULTILINE)


def place_told(error: BaseException) -> tuple[str, str, Place | None] | None:
    """What another process raised, where its traceback is the text of an error: the name of the
    error, the first line of its message, and the innermost line of the user's code.

    Workers of a ``DataLoader``, pools and ``torch.multiprocessing.spawn`` pass errors on so.
    """
    for text in (str(error.__cause__), str(error)):
        _, mark, trace = text.rpartition("Traceback (most recent call last):\n")
        frames = list(_FRAME.finditer(trace))
        if not mark or not frames:
            continue
        raised = _RAISED.search(trace, frames[-1].end())
        users = [frame for frame in frames if is_users(frame["path"])]
        if raised is not None:
            place = Place(_short(users[-1]["path"]), int(users[-1]["line"])) if users else None
            return raised["name"].rpartition(".")[2], raised["message"] or "", place
    return None


@cache
def _short(path: str) -> str:
    """A path as users write it: relative where it is below the current folder."""
    try:
        return str(Path(path).resolve().relative_to(Path.cwd()))
    except ValueError:
        return path
