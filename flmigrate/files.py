"""Files on disk: found by ``discover``, read by ``decode``, written by ``write_atomic``.

Finding them is ``flmigrate.discovery``, reading them as text ``flmigrate.encoding``; both are
re-exported here.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from pathlib import Path

from flmigrate.discovery import Discovery, discover
from flmigrate.encoding import Decoded, UndecodableError, decode, encode

__all__ = [
    "Decoded",
    "Discovery",
    "UndecodableError",
    "decode",
    "discover",
    "encode",
    "write_atomic",
]


def write_atomic(path: Path, data: bytes) -> None:
    """Make ``data`` the content of the file, or leave the file as it is.

    The bytes go to a new file in the same folder, which then takes the file's place, with
    its mode bits and, as far as the system allows, its owner and group. A link stays a link:
    the file it leads to is replaced. A file with several hard links is written in place
    instead, so that all its names keep showing one file; a write that fails half-way (a full
    disk) is undone there. A file that does not exist is created.

    Raises ``OSError``, with ``path`` in it, for a file without write permission (for its
    owner, even where the superuser could write it), for what is not a regular file, and for
    whatever the system refuses. No temporary file is left behind.
    """
    real = Path(os.path.realpath(path))
    try:
        before = real.stat()
    except FileNotFoundError:
        before = None
    if before is not None:
        if not stat.S_ISREG(before.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", os.fspath(path))
        if not before.st_mode & stat.S_IWUSR or not os.access(real, os.W_OK):
            raise PermissionError(errno.EACCES, "read-only file, not written", os.fspath(path))
    try:
        if before is not None and before.st_nlink > 1:
            _write_in_place(real, data)
        else:
            _replace(real, data, before)
    except OSError as error:  # it may name the temporary file, or none
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error


def _replace(path: Path, data: bytes, before: os.stat_result | None) -> None:
    temporary = path.with_name(f".flmigrate-{os.urandom(8).hex()}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(data)
            if before is not None:
                _copy_owner(file.fileno(), before)
                temporary.chmod(stat.S_IMODE(before.st_mode))
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _copy_owner(descriptor: int, before: os.stat_result) -> None:
    """Give an open file another's owner and group; each is left where that is not allowed."""
    now = os.fstat(descriptor)
    if not hasattr(os, "fchown") or (now.st_uid, now.st_gid) == (before.st_uid, before.st_gid):
        return
    with contextlib.suppress(OSError):
        os.fchown(descriptor, before.st_uid, -1)
    with contextlib.suppress(OSError):
        os.fchown(descriptor, -1, before.st_gid)


def _write_in_place(path: Path, data: bytes) -> None:
    with path.open("r+b", buffering=0) as file:
        old = file.read()
        try:
            _overwrite(file.fileno(), data)
        except BaseException:
            _overwrite(file.fileno(), old)
            raise


def _overwrite(descriptor: int, data: bytes) -> None:
    """Replace an open file's bytes, the old ones only where new ones are written."""
    os.lseek(descriptor, 0, os.SEEK_SET)
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
    os.ftruncate(descriptor, len(data))
