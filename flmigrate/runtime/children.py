"""The processes that a program under observation starts: each is watched, and reports by itself.

A new Python (``spawn``, torchrun, ``subprocess``) begins to report when it imports the twin's
torch_fl. A process that ``multiprocessing`` forks is a copy of one that is watched already.
"""

from __future__ import annotations

import atexit
import functools
import os
import sys
from collections.abc import Callable
from multiprocessing import process, util
from pathlib import Path
from types import TracebackType
from typing import Any

from flmigrate.runtime.watch import Watch

FOLDER = "FLMIGRATE_TWIN_REPORTS"
"""The variable that names the folder of the reports, for processes that are started."""


def watch_children(watch: Watch) -> None:
    """Have the processes reported that this one, which ``watch`` looks at, starts from now on."""
    os.environ[FOLDER] = str(watch.path.parent)
    begin: Any = process.BaseProcess._bootstrap  # type: ignore[attr-defined]

    @functools.wraps(begin)
    def _bootstrap(self: process.BaseProcess, *args: Any, **kwargs: Any) -> Any:
        self.run = functools.partial(_run, watch, self.run)  # type: ignore[method-assign]
        return begin(self, *args, **kwargs)

    changed: Any = process.BaseProcess
    changed._bootstrap = _bootstrap  # what a new process of multiprocessing's does, however started


def started(extension: Any) -> None:
    """Watch this process, if it is one that a watched one started. ``extension`` is the twin's."""
    folder = os.environ.get(FOLDER)
    if not folder:
        return
    watch = Watch(Path(folder) / f"{os.getpid()}.json")
    watch.extension = extension
    watch.look()
    atexit.register(watch.write, None)
    shown = sys.excepthook

    def failed(
        kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        watch.failed(error)
        shown(kind, error, trace)

    sys.excepthook = failed
    watch_children(watch)


def _run(watch: Watch, run: Callable[[], None]) -> None:
    """Run a process of multiprocessing's, which catches errors, and skips ``atexit``."""
    if watch.process != os.getpid():
        watch.forget()
    util.Finalize(None, watch.write, args=(None,), exitpriority=0)
    try:
        run()
    except Exception as error:
        watch.failed(error)
        raise
