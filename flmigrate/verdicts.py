"""What coverage rules said of a text before: verdicts kept in the cache folder, never trees.

Whether an operator runs on a chip is told by the text of one file and by tables alone, so it is
found out once for each text. The key is the text together with everything else that has a say:
the tables and the code of this package, the chips, the user's own results, the version of Python.

A cache that cannot be read or written is as good as none: everything is looked at again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType

from flmigrate.findings import Finding, Severity, Span

_KEPT = 30  # days
_FILE = "verdicts.sqlite"
_SCHEMA = "CREATE TABLE IF NOT EXISTS verdicts (key BLOB PRIMARY KEY, found TEXT, day INTEGER)"


def cache_folder() -> Path:
    """Where flmigrate keeps what it can make again: ``$FLMIGRATE_CACHE``, else ``flmigrate`` in
    the user's cache folder."""
    configured = os.environ.get("FLMIGRATE_CACHE")
    if configured:
        return Path(configured)
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "flmigrate"


def basis_of(settings: Sequence[object], files: Sequence[Path]) -> bytes:
    """A digest of what verdicts rest on besides the text: ``settings``, the contents of the
    user's ``files``, and this package, by the sizes and dates of its files."""
    digest = hashlib.blake2b(repr((sys.version_info, *settings)).encode(), digest_size=16)
    for path in files:
        with contextlib.suppress(OSError):  # it is reported where it is read
            digest.update(path.read_bytes())
    for name, size, changed in sorted(_package_files(os.path.dirname(__file__))):  # noqa: PTH120
        digest.update(f"{name}\0{size}\0{changed}\n".encode())
    return digest.digest()


def _package_files(folder: str) -> Iterator[tuple[str, int, int]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                if entry.name != "__pycache__":
                    yield from _package_files(entry.path)
            else:
                status = entry.stat()
                yield entry.path, status.st_size, status.st_mtime_ns


class Verdicts:
    """The verdicts on texts, as far as they rest on one basis.

    Used as a context, at whose end what was put in is there for other processes and later runs.
    """

    def __init__(self, basis: bytes, folder: Path | None = None) -> None:
        """``folder`` is made when it is needed; the default is ``cache_folder()``."""
        self._basis = basis
        self._folder = folder or cache_folder()
        self._connection: sqlite3.Connection | None = None
        self._new: dict[bytes, str] = {}

    def __enter__(self) -> Verdicts:
        with self._without_failing():
            self._folder.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(
                self._folder / _FILE, timeout=5, check_same_thread=False
            )  # it is used by one thread at a time
            self._connection.execute("PRAGMA synchronous = OFF")  # what is lost is made again
            self._connection.execute(_SCHEMA)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        rows = [(key, told, _today()) for key, told in self._new.items()]
        self._new = {}
        with self._without_failing():
            if self._connection is not None:
                if rows:  # all at once: while one process writes, others wait
                    old = "DELETE FROM verdicts WHERE day < ?"
                    self._connection.execute(old, (_today() - _KEPT,))
                    new = "INSERT OR REPLACE INTO verdicts VALUES (?, ?, ?)"
                    self._connection.executemany(new, rows)
                self._connection.commit()
                self._connection.close()
                self._connection = None

    def get(self, text: str) -> list[Finding] | None:
        """What was found in a text, or None if that is not known."""
        key = self._key(text)
        with self._without_failing():
            if self._connection is not None:
                query = "SELECT found FROM verdicts WHERE key = ?"
                row = self._connection.execute(query, (key,)).fetchone()
                return None if row is None else [_finding(*told) for told in json.loads(row[0])]
        return None

    def put(self, text: str, found: Sequence[Finding]) -> None:
        """Remember what was found in a text. Findings have no fix: there is none for operators."""
        told = [_told(finding) for finding in found]
        self._new[self._key(text)] = json.dumps(told, separators=(",", ":"))

    def _key(self, text: str) -> bytes:
        data = text.encode("utf-8", "surrogatepass")
        return hashlib.blake2b(data, key=self._basis, digest_size=16).digest()

    @contextlib.contextmanager
    def _without_failing(self) -> Iterator[None]:
        """After a failure there is no cache until the next use."""
        try:
            yield
        except (OSError, sqlite3.Error, ValueError, TypeError):
            connection, self._connection = self._connection, None
            if connection is not None:
                with contextlib.suppress(sqlite3.Error):
                    connection.close()


def _today() -> int:
    return int(time.time() // 86400)


def _told(finding: Finding) -> list[object]:
    severity = finding.severity.value
    return [*finding[:6], severity, finding.note, finding.detail, *finding[10:]]


def _finding(
    code: str,
    message: str,
    span: list[int],
    line: int,
    column: int,
    end_line: int,
    severity: str,
    note: bool,
    detail: str,
    chips: list[str],
    ops: list[str],
    confidence: str,
) -> Finding:
    return Finding(
        *(code, message, Span(*span), line, column, end_line, Severity(severity), None),
        *(note, detail, tuple(chips), tuple(ops), confidence),
    )
