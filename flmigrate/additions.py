"""Which lines are new, as git tells: those of the index, or since a commit.

A line counts as new when a diff adds it and removes no equal line anywhere: code that was moved
or indented is not new. File renames are git's to find.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from flmigrate.discovery import SUFFIXES, Selection
from flmigrate.git import GitError, ask, repository_root
from flmigrate.patches import added_lines, removed_lines

# Whatever the user's own configuration says about diffs.
_DIFF = (
    *("diff", "--unified=0", "--no-color", "--no-ext-diff", "--no-textconv", "--text"),
    *("--src-prefix=a/", "--dst-prefix=b/", "--find-renames", "--no-relative"),
    *("--submodule=short", "--ignore-submodules", "--diff-filter=ACDMRT"),
)
PYTHON_NAMES = tuple(f"*{suffix}" for suffix in SUFFIXES)
"""Patterns of the names of files that hold Python."""
_LINK = "120000"


class Additions(NamedTuple):
    """What is new in a repository.

    ``lines`` are the numbers, from 1 and with a line feed as the only line end, of the new
    lines of each file, by the path to show; files without new lines are left out.
    ``contents`` are the bytes of the files that are not to be read from disk.
    """

    lines: Mapping[Path, frozenset[int]]
    contents: Mapping[Path, bytes]


def staged(
    paths: Sequence[Path], selection: Selection, names: Sequence[str] = PYTHON_NAMES
) -> Additions:
    """What the next commit adds to the files that ``paths`` (of one repository) stand for.

    ``names`` are patterns of the names that files may have.

    Files are read from the index, so that what is not staged plays no part. While pre-commit
    compares two commits (``--from-ref``, ``--to-ref``), what lies between them is new. Raises
    ``GitError``.
    """
    root = _root_of(paths)
    first, last = (os.environ.get(f"PRE_COMMIT_{end}_REF") for end in ("FROM", "TO"))
    if first and last:
        base = _merge_base(root, first, last)
        diff = _ask(root, *_DIFF, base, last, "--", *_anywhere(names))
        return _additions(root, diff, {}, selection, lambda found: _in_tree(root, last, found))
    diff = _ask(root, *_DIFF, "--cached", "--", *_anywhere(names))
    return _additions(root, diff, {}, selection, lambda found: _in_index(root, found))


def since(
    ref: str, paths: Sequence[Path], selection: Selection, names: Sequence[str] = PYTHON_NAMES
) -> Additions:
    """What the working tree has that the common ancestor of ``ref`` and ``HEAD`` has not.

    Files that git does not know yet, and does not ignore, are new as a whole. Raises
    ``GitError``.
    """
    root = _root_of(paths)
    wanted = _anywhere(names)
    diff = _ask(root, *_DIFF, _merge_base(root, ref, "HEAD"), "--", *wanted)
    others = _ask(root, "ls-files", "--others", "--exclude-standard", "-z", "--", *wanted)
    unknown = {name: _lines(root / name) for name in os.fsdecode(others).split("\0") if name}
    return _additions(root, diff, unknown, selection, lambda names: {})


def _anywhere(names: Iterable[str]) -> list[str]:
    """Patterns of names as git takes them, for files in whatever folder."""
    return [f":(top,glob)**/{name}" for name in names]


def _lines(path: Path) -> list[tuple[int, bytes]]:
    try:
        return list(enumerate(path.read_bytes().split(b"\n"), 1))
    except OSError:
        return [(1, b"")]  # it is reported when it is looked at


def _additions(
    root: Path,
    diff: bytes,
    unknown: Mapping[str, list[tuple[int, bytes]]],
    selection: Selection,
    read: Callable[[Sequence[str]], dict[str, bytes]],
) -> Additions:
    added = {**(added_lines(diff) if diff else {}), **unknown}
    gone = Counter(filter(None, map(bytes.strip, removed_lines(diff) if diff else ())))
    lines: dict[str, frozenset[int]] = {}
    for name, found in added.items():
        new = frozenset(_not_moved(found, gone))
        if new and selection.takes(root / name):
            lines[name] = new
    contents = read(list(lines))
    return Additions(
        {_shown(root / name): new for name, new in lines.items()},
        {_shown(root / name): data for name, data in contents.items()},
    )


def _not_moved(found: Iterable[tuple[int, bytes]], gone: Counter[bytes]) -> Iterable[int]:
    """The numbers of the lines that nothing in ``gone`` accounts for, which is used up."""
    for number, content in found:
        content = content.strip()
        if gone[content] > 0:
            gone[content] -= 1
        else:
            yield number


def _root_of(paths: Sequence[Path]) -> Path:
    roots = {path: repository_root(path) for path in paths}
    for path, root in roots.items():
        if root is None:
            raise GitError(f"{path}: not in a git repository")
    first, *others = {root for root in roots.values() if root is not None}
    if others:
        raise GitError(f"{others[0]}: another repository than {first}")
    return first


def _merge_base(root: Path, ref: str, other: str) -> str:
    for name in (ref, other):
        if name.startswith("-") or not _says(root, "rev-parse", "--verify", f"{name}^{{commit}}"):
            raise GitError(f'{root}: git knows no commit "{name}"')
    base = _says(root, "merge-base", ref, other)
    if not base:
        why = "have no common ancestor here (is the clone shallow?)"
        raise GitError(f'{root}: "{ref}" and "{other}" {why}')
    return base


def _says(root: Path, *arguments: str) -> str:
    """What git answers to a question that it may refuse; empty when it does."""
    try:
        return os.fsdecode(_ask(root, *arguments)).strip()
    except GitError:
        return ""


def _in_index(root: Path, names: Sequence[str]) -> dict[str, bytes]:
    return _blobs(root, names, "ls-files", "--stage")


def _in_tree(root: Path, commit: str, names: Sequence[str]) -> dict[str, bytes]:
    return _blobs(root, names, "ls-tree", "-r", "--full-tree", commit)


def _blobs(root: Path, names: Sequence[str], *command: str) -> dict[str, bytes]:
    """The contents of files as a listing command names them."""
    if not names:
        return {}
    listing = os.fsdecode(_ask(root, *command, "-z"))
    wanted = frozenset(names)
    objects: dict[str, str] = {}
    for entry in filter(None, listing.split("\0")):
        fields, _, name = entry.partition("\t")
        mode, *middle = fields.split()
        if name in wanted and mode != _LINK:
            # "MODE OBJECT STAGE" of the index, "MODE blob OBJECT" of a tree
            objects[name] = middle[1] if middle[0] == "blob" else middle[0]
    asked = "".join(f"{found}\n" for found in objects.values())
    answer = _ask(root, "cat-file", "--batch", data=asked.encode("ascii"))
    contents: dict[str, bytes] = {}
    at = 0
    for name in objects:
        end = answer.index(b"\n", at)
        start, size = end + 1, int(answer[at:end].split()[-1])
        contents[name] = answer[start : start + size]
        at = start + size + 1
    return contents


def _ask(root: Path, *arguments: str, data: bytes = b"") -> bytes:
    try:
        return ask(root, *arguments, data=data, in_hook=True)
    except FileNotFoundError:
        raise GitError("git is not installed") from None


def _shown(path: Path) -> Path:
    """A path as a user sees it from the current folder."""
    here = os.path.realpath(Path.cwd())
    below = os.fspath(path).startswith(f"{here.rstrip(os.sep)}{os.sep}")
    return Path(os.path.relpath(path, here)) if below else path
