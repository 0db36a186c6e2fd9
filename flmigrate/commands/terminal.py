"""What a command shows while it runs and when it is done."""

from __future__ import annotations

import sys
import time
from typing import Any

import click


def say(line: str, *, err: bool) -> None:
    """Print a line; what the stream cannot show (in a file's name) is escaped."""
    encoding = (sys.stderr if err else sys.stdout).encoding or "utf-8"
    click.echo(line.encode(encoding, "backslashreplace").decode(encoding), err=err)


class Progress:
    """A bar on standard error, only on a terminal, and only once a run takes a while."""

    _AFTER = 1.0  # seconds

    def __init__(self, label: str, *, quiet: bool) -> None:
        self._label = label
        self._shown = sys.stderr.isatty() and not quiet
        self._bar: Any = None
        self._last = 0

    def __enter__(self) -> Any:
        self._start = time.monotonic()
        return self._advance

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.render_finish()

    def _advance(self, done: int, total: int) -> None:
        if not self._shown:
            return
        if self._bar is None and time.monotonic() - self._start > self._AFTER:
            self._bar = click.progressbar(length=total, label=self._label, file=sys.stderr)
        if self._bar is not None:
            self._bar.update(done - self._last)
            self._last = done
