"""Inline notes: ``# flmigrate: FL103 ...``, on a line of its own above the statement or at its end.

One note per statement. A later run refreshes it, or removes it when the place is settled;
other comments, and notes of rules that the run does not select, are never touched.
"""

from __future__ import annotations

import ast
import bisect
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from flmigrate.analysis.context import Context
from flmigrate.analysis.source import Source
from flmigrate.suppressions import comments

_NOTE = r"[ \t\f]*# flmigrate: (FL\d{3}\b.*)"
_NOTE_IN_COMMENT = r"# flmigrate: (FL\d{3}\b.*)"
_PART = r"; (?=FL\d{3}(?: |\[))"


class Note(NamedTuple):
    """Something to say at the statement that contains ``offset``.

    ``code`` may name chips: ``FL402[ascend]``.
    """

    offset: int
    code: str
    message: str


def insert_notes(
    context: Context,
    notes: Sequence[Note],
    ours: Callable[[str], bool],
    *,
    at_end: bool = False,
) -> tuple[str, list[tuple[int, int]]]:
    """Bring the notes of a file up to date; ``ours`` says which codes this run decides on.

    With ``at_end`` a note goes behind its statement, after other comments there; where no
    comment can stand, or the statement has a suite, it goes above all the same.

    Returns the new text and, for every change, where it was made and how many characters the
    text grew there (negative where a stale note went).
    """
    source = context.source
    above: dict[int, list[str]] = {}
    behind: dict[int, list[str]] = {}
    for note in notes:
        last = _last_line(context, note.offset) if at_end else 0
        line = last or _line_for(context, note.offset)
        parts = (behind if last else above).setdefault(line, [])
        part = f"{note.code} {' '.join(note.message.split())}"
        if part not in parts:
            parts.append(part)
    changes = [*_above(context, above, ours), *_behind(context, behind, ours)]
    pieces: list[str] = []
    growth: list[tuple[int, int]] = []
    at = 0
    for start, end, text in sorted(changes):
        pieces += [source.text[at:start], text]
        growth.append((end, len(text) - (end - start)))
        at = end
    pieces.append(source.text[at:])
    return "".join(pieces), growth


def _above(
    context: Context, wanted: dict[int, list[str]], ours: Callable[[str], bool]
) -> Iterator[tuple[int, int, str]]:
    """Changes to notes on lines of their own: start, end, new text."""
    source = context.source
    present = _present(context)
    for line in sorted(wanted.keys() | present.keys()):
        first, old = present.get(line, (line, []))
        others = [part for part in old if not ours(part[:5])]
        if line not in wanted and others == old:
            continue
        parts = sorted(wanted.get(line, [])) + others
        start, end = source.starts[first - 1], _line_start(source, line)
        content = source.line_text(line if line in wanted else first)
        indent = content[: len(content) - len(content.lstrip())]
        text = f"{indent}# flmigrate: {'; '.join(parts)}{source.newline}" if parts else ""
        if source.text[start:end] != text:
            yield start, end, text


def _behind(
    context: Context, wanted: dict[int, list[str]], ours: Callable[[str], bool]
) -> Iterator[tuple[int, int, str]]:
    """Changes to notes at the ends of lines: start, end, new text."""
    source = context.source
    present = _present_behind(context)
    for line in sorted(wanted.keys() | present.keys()):
        end = source.starts[line - 1] + len(source.line_text(line))
        start, old = present.get(line, (end, []))
        others = [part for part in old if not ours(part[:5])]
        parts = sorted(wanted.get(line, [])) + others
        text = f"  # flmigrate: {'; '.join(parts)}" if parts else ""
        start -= len(source.text[:start]) - len(source.text[:start].rstrip(" \t"))
        if source.text[start:end] != text:
            yield start, end, text


def _present_behind(context: Context) -> dict[int, tuple[int, list[str]]]:
    """Notes at the ends of lines: line -> (where the note starts, parts)."""
    source = context.source
    if "# flmigrate: FL" not in source.text:
        return {}
    found: dict[int, tuple[int, list[str]]] = {}
    for token in comments(source.text):
        match = re.search(_NOTE_IN_COMMENT, token.string)
        line, column = token.start
        if match is not None and source.line_text(line)[:column].strip():
            start = source.starts[line - 1] + column + match.start()
            found[line] = (start, re.split(_PART, match.group(1)))
    return found


def _last_line(context: Context, offset: int) -> int:
    """The line behind which a note about ``offset`` can stand, or 0 where none can."""
    source = context.source
    node: ast.AST | None = None
    block = _parts(source.tree)
    while block:
        at = bisect.bisect_right(block, offset, key=lambda part: _start(context, part)) - 1
        if at < 0 or source.end(block[at]) <= offset:
            break
        node = block[at]
        block = _parts(node)
    if not isinstance(node, ast.stmt) or _parts(node):
        return 0
    line = source.position(source.end(node))[0]
    goes_on = source.line_text(line).endswith("\\") or line + 1 in _lines_inside_strings(context)
    return 0 if goes_on else line


def _line_start(source: Source, line: int) -> int:
    """The offset of a line; the one after the last is at the end of the text."""
    return source.starts[line - 1] if line <= len(source.starts) else len(source.text)


def _present(context: Context) -> dict[int, tuple[int, list[str]]]:
    """Notes already there: line of the statement below -> (first line of the note, parts)."""
    source = context.source
    if "# flmigrate: FL" not in source.text:
        return {}
    inside = _lines_inside_strings(context)
    found: dict[int, tuple[int, list[str]]] = {}
    line, count = 1, len(source.starts)
    while line <= count:
        first, parts = line, list[str]()
        while line <= count and line not in inside:
            match = re.fullmatch(_NOTE, source.line_text(line))
            if match is None:
                break
            parts += re.split(_PART, match.group(1))
            line += 1
        if parts:
            found[line] = (first, parts)
        line += 1
    return found


def _lines_inside_strings(context: Context) -> set[int]:
    """Lines that start inside a string literal, where ``#`` is no comment."""
    inside: set[int] = set()
    strings: Iterable[ast.expr] = (
        *context.scopes.nodes[ast.Constant],
        *context.scopes.nodes[ast.JoinedStr],
    )
    for node in strings:
        if node.end_lineno is not None and node.end_lineno > node.lineno:
            inside.update(range(node.lineno + 1, node.end_lineno + 1))
    return inside


def _line_for(context: Context, offset: int) -> int:
    """The line above which a note about ``offset`` stands.

    It is the first line of the innermost statement, handler or case around the offset; one
    that does not start its line shares the note of what it follows.
    """
    source = context.source

    def start_of(node: ast.AST) -> int:
        return _start(context, node)

    line = source.position(offset)[0]
    block = _parts(source.tree)
    while block:
        at = bisect.bisect_right(block, offset, key=start_of) - 1
        if at < 0 or source.end(block[at]) <= offset:
            break
        around = block[at]
        while at > 0 and _is_one_line(source.text[source.end(block[at - 1]) : start_of(block[at])]):
            at -= 1
        # Where nothing at this depth starts its line, what is around it has the say.
        if _starts_line(source, start_of(block[at])):
            line = source.position(start_of(block[at]))[0]
        block = _parts(around)
    return line


def _is_one_line(between: str) -> bool:
    """Whether two statements with this text between them share a logical line."""
    if "#" in between:
        return False  # a comment ends the line
    return ("\n" not in between and "\r" not in between) or "\\" in between


def _starts_line(source: Source, offset: int) -> bool:
    line, column = source.position(offset)
    before = source.line_text(line)[: column - 1]
    above = source.line_text(line - 1) if line > 1 else ""
    return not before.strip(" \t\f") and not (above.endswith("\\") and "#" not in above)


def _parts(node: ast.AST) -> list[ast.AST]:
    """The statements and handlers directly inside a node."""
    found: list[ast.AST] = []
    for name in ("body", "handlers", "cases", "orelse", "finalbody"):
        block = getattr(node, name, None)
        for child in block if isinstance(block, list) else ():
            found.extend(child.body if isinstance(child, ast.match_case) else [child])
    return found


def _start(context: Context, node: ast.AST) -> int:
    decorators = getattr(node, "decorator_list", None)
    if not decorators:
        return context.source.start(node)
    first = context.source.start(decorators[0])
    return context.source.text.rindex("@", 0, first)
