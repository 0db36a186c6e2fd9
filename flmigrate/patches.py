"""Unified diffs as git writes them and ``git apply`` takes them.

A patch is bytes: it carries the lines of each file in that file's own encoding and with its
own line ends. The text form is for showing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from flmigrate.documents import read_document, write_document
from flmigrate.encoding import UndecodableError
from flmigrate.findings import Outcome, Result, Span
from flmigrate.git import repository_root
from flmigrate.line_diffs import Block, blocks_between, blocks_from_edits, split_lines

if TYPE_CHECKING:
    from unidiff.patch import PatchSet

_CONTEXT = 3  # lines of context around a change, as in git
_ESCAPES = {7: "a", 8: "b", 9: "t", 10: "n", 11: "v", 12: "f", 13: "r", 34: '"', 92: "\\"}
_UNESCAPES = {letter: byte for byte, letter in _ESCAPES.items()}
# What git puts above a file's hunks, besides the two names. Without lines of context, no line of
# a hunk looks like that.
_GIT_HEADER = re.compile(
    r"^(?:diff --git|index|(?:dis)?similarity|rename|copy|new|deleted|old) .*\n", re.MULTILINE
)
_ESCAPE = re.compile(rb'\\([0-7]{3}|[abtnvfr"\\])')


class PatchError(Exception):
    """A patch that cannot be made, or is not one; the message names the file."""


@dataclass(frozen=True, slots=True)
class FileCounts:
    """How many lines a patch adds to and removes from one file; ``path`` is relative."""

    path: str
    added: int
    removed: int


def unified_diff(
    path: str, before: str, after: str, changed: Sequence[tuple[Span, str]] = ()
) -> str:
    """The git diff of one file as text; empty when nothing differs.

    ``path`` is shown as given, with slashes. ``changed`` are the edits that made ``after``:
    spans of ``before`` and the text in their place. With them the diff takes time for the
    changed lines only; edits that do not add up to ``after`` are disregarded.
    """
    old, new = (text.encode("utf-8", "surrogatepass") for text in (before, after))
    return diff_bytes(path, old, new, before, changed).decode("utf-8", "surrogatepass")


def diff_bytes(
    path: str, before: bytes, after: bytes, text: str = "", changed: Sequence[tuple[Span, str]] = ()
) -> bytes:
    """The git diff of one file's bytes; empty when nothing differs.

    As ``unified_diff``; ``text`` is ``before`` decoded, which the spans of ``changed`` are of.
    """
    if before == after:
        return b""
    old, new = split_lines(before), split_lines(after)
    blocks = blocks_from_edits(old, new, text, changed) if changed else None
    if blocks is None:
        blocks = blocks_between(old, new)
    source, target = _quoted(f"a/{path}"), _quoted(f"b/{path}")
    tab = "\t" if " " in path else ""  # git's mark for where a name with spaces ends
    head = f"diff --git {source} {target}\n--- {source}{tab}\n+++ {target}{tab}\n"
    hunks = (part for group in _hunks(blocks) for part in _hunk(old, new, group))
    return head.encode("ascii") + b"".join(hunks)


def patch(results: Iterable[Result], root: Path) -> bytes:
    """One patch of all changed files, with names relative to ``root``, sorted by name.

    Apply it with ``git apply`` in ``root``. The files must still be as they were read: their
    encoding is taken from them. A link is patched as the file it leads to. Raises
    ``PatchError`` for a file that changed meanwhile, cannot be read or lies outside
    ``root``.
    """
    diffs: list[tuple[str, bytes]] = []
    for result in results:
        if result.outcome is not Outcome.CHANGED:
            continue
        name = name_below(result.path, root)
        diffs.append((name, file_diff(result, name)))
    return b"".join(diff for _, diff in sorted(diffs))


def name_below(path: str, root: Path) -> str:
    """The name of a file from ``root``; a link has that of the file it leads to.

    Raises ``PatchError`` for a file that lies elsewhere.
    """
    base, real = os.path.realpath(root), os.path.realpath(path)
    if os.path.commonpath([base, real]) != base:
        raise PatchError(f"{path}: not below {root}, where the patch would apply")
    return os.path.relpath(real, base).replace(os.sep, "/")


def file_diff(result: Result, name: str) -> bytes:
    """The diff of one changed file in its own encoding, under the ``name`` given.

    Raises ``PatchError`` for a file that is no longer as it was read.
    """
    before, after = _bytes_of(result, os.path.realpath(result.path))
    return diff_bytes(name, before, after, result.before, result.changed_spans)


def diff_name(path: str) -> str:
    """The name of a file in a diff to show: from its repository's root, as git writes it.

    Outside of any repository it is the name from here, or the full one where it is not below.
    A link is named as the file it leads to, which is the one that changes.
    """
    real = os.path.realpath(path)
    base = os.path.realpath(repository_root(Path(real)) or Path.cwd())
    below = real.startswith(f"{base.rstrip(os.sep)}{os.sep}")
    return (os.path.relpath(real, base) if below else real).replace(os.sep, "/").lstrip("/")


def added_lines(diff: bytes) -> dict[str, list[tuple[int, bytes]]]:
    """Number (from 1) and content of the lines that a diff of git's adds, by the new name.

    Files that only lose lines have an empty list. The diff has no lines of context. Raises
    ``PatchError`` as ``verify``.
    """
    return {
        _unquoted(file.target_file, "b/"): [
            (line.target_line_no or 0, line.value.encode("latin-1"))
            for hunk in file
            for line in hunk
            if line.is_added
        ]
        for file in _parsed(_GIT_HEADER.sub("", diff.decode("latin-1")))
    }


def removed_lines(diff: bytes) -> Iterator[bytes]:
    """The content of every line that such a diff removes. Raises ``PatchError`` as ``verify``."""
    for file in _parsed(_GIT_HEADER.sub("", diff.decode("latin-1"))):
        for hunk in file:
            yield from (line.value.encode("latin-1") for line in hunk if line.is_removed)


def verify(patch_bytes: bytes) -> tuple[FileCounts, ...]:
    """The counts of each file in a patch, read back by unidiff.

    Raises ``PatchError`` when unidiff finds no patch in it, or hunks that are longer or
    shorter than their headers say.
    """
    # Byte for character, so that any encoding passes. The "diff --git" lines, ambiguous for
    # names with spaces, only repeat the two lines below them.
    text = patch_bytes.decode("latin-1")
    files = len(re.findall(r"^diff --git ", text, re.MULTILINE))
    text = re.sub(r"^diff --git .*\n", "", text, flags=re.MULTILINE)
    parsed = _parsed(text)
    if len(parsed) != files or not all(parsed):
        raise PatchError(f"not a patch: {files} files announced, {len(parsed)} found")
    # unidiff passes over lines that belong to no hunk; here there are none.
    lines = sum(2 + sum(1 + len(hunk) for hunk in file) for file in parsed)
    if lines != text.count("\n") + (text[-1:] not in ("", "\n")):
        raise PatchError("not a patch: lines outside of any hunk")
    return tuple(
        FileCounts(_unquoted(file.source_file), file.added, file.removed) for file in parsed
    )


def _parsed(text: str) -> PatchSet:
    # 20 ms, for patches only
    from unidiff.errors import UnidiffParseError
    from unidiff.patch import PatchSet

    try:
        return PatchSet.from_string(text)
    except UnidiffParseError as error:
        raise PatchError(f"not a patch: {error}") from None


def _bytes_of(result: Result, real: str) -> tuple[bytes, bytes]:
    """A changed file's bytes on disk, and those that the result would put there."""
    try:
        before = Path(real).read_bytes()
        document = read_document(real, before)
        if document.text != result.before:
            raise PatchError(f"{result.path}: changed on disk since it was read")
        return before, write_document(document, result.after)
    except UndecodableError as error:
        raise PatchError(f"{result.path}: {error}") from None
    except OSError as error:
        raise PatchError(f"{result.path}: {error.strerror}") from None


def _hunks(blocks: Sequence[Block]) -> Iterator[list[Block]]:
    """Blocks in groups: those whose contexts touch or overlap share a hunk."""
    group: list[Block] = []
    for block in blocks:
        if group and block.start - group[-1].end > 2 * _CONTEXT:
            yield group
            group = []
        group.append(block)
    if group:
        yield group


def _hunk(old: Sequence[bytes], new: Sequence[bytes], blocks: Sequence[Block]) -> Iterator[bytes]:
    first, last = blocks[0], blocks[-1]
    lead = min(_CONTEXT, first.start)
    trail = min(_CONTEXT, len(old) - last.end)
    here = _range(first.start - lead, last.end + trail)
    there = _range(first.new_start - lead, last.new_end + trail)
    yield f"@@ -{here} +{there} @@\n".encode("ascii")
    at = first.start - lead
    for block in blocks:
        yield from _marked(b" ", old[at : block.start])
        yield from _marked(b"-", old[block.start : block.end])
        yield from _marked(b"+", new[block.new_start : block.new_end])
        at = block.end
    yield from _marked(b" ", old[at : at + trail])


def _range(start: int, end: int) -> str:
    """Lines ``[start, end)``, from 0, as a hunk's header names them."""
    if end - start == 1:
        return str(end)
    return f"{start + 1 if end > start else start},{end - start}"


def _marked(mark: bytes, lines: Iterable[bytes]) -> Iterator[bytes]:
    for line in lines:
        yield mark + line
        if not line.endswith(b"\n"):
            yield b"\n\\ No newline at end of file\n"


def _quoted(name: str) -> str:
    """A file name as git writes it with core.quotePath: C quotes where it is not plain ASCII."""
    data = name.encode("utf-8", "surrogateescape")
    plain = all(0x20 <= byte < 0x7F and byte not in _ESCAPES for byte in data)
    return name if plain else '"' + "".join(map(_escaped, data)) + '"'


def _escaped(byte: int) -> str:
    if byte in _ESCAPES:
        return f"\\{_ESCAPES[byte]}"
    return chr(byte) if 0x20 <= byte < 0x7F else f"\\{byte:03o}"


def _unquoted(name: str, prefix: str = "a/") -> str:
    """The path, without the prefix, that a ``---`` or ``+++`` line names."""
    if not name.startswith('"'):
        return name.encode("latin-1").decode("utf-8", "surrogateescape").removeprefix(prefix)
    data = _ESCAPE.sub(_unescaped, name[1:-1].encode("latin-1"))
    return data.decode("utf-8", "surrogateescape").removeprefix(prefix)


def _unescaped(found: re.Match[bytes]) -> bytes:
    escape = found[1].decode("ascii")
    return bytes([int(escape, 8) if escape.isdecimal() else _UNESCAPES[escape]])
