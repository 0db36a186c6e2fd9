"""The process in which ``flmigrate verify`` runs a program: ``FOLDER SCRIPT|-m MODULE|pytest ...``.

It activates the twin, tries the device, runs the program as ``python`` would, and writes what was
seen into FOLDER, also when the program raises, exits, or runs out of time.
"""

from __future__ import annotations

import atexit
import os
import runpy
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FrameType, TracebackType

from flmigrate.runtime.children import watch_children
from flmigrate.runtime.places import is_users
from flmigrate.runtime.verify import FIRST
from flmigrate.runtime.watch import Watch


def main(arguments: list[str]) -> int:
    """Run the program and return its exit code."""
    watch = Watch(Path(arguments[0]) / FIRST)

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
    watch_children(watch)
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
