"""Take out whole statements of any kind: imports, assignments, functions, ``if``s, ``try``s.

    # Whether this is an NPU build.
    _IS_NPU = is_npu()               ->  (nothing)

    def _sync_npu():
        ...

This works on whole lines of the text. Decorators and comments directly above a statement go
with it, if there is nothing below that the comments could be about: neither those of a header
of the file nor those that speak to a tool.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence

from flmigrate.codemods.changes import Change
from flmigrate.codemods.errors import EditError
from flmigrate.codemods.gaps import Gone, close_gaps
from flmigrate.codemods.indentation import indentation_at
from flmigrate.codemods.islands import first_offset
from flmigrate.codemods.positions import Positions
from flmigrate.codemods.suites import Place, find_place
from flmigrate.findings import Removal, Span

#: What has a docstring.
_DOCUMENTED = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
#: Comments that speak to the system or to a tool, not about the statement below.
_FILE_COMMENT = re.compile(r"#!|#.*?coding[:=]")
_TOOL_COMMENT = re.compile(
    r"#\s*(?:fmt|isort|yapf|pylint|pyright|pyre|flake8|ruff|mypy|type|noqa|region|endregion|%%)\b"
)
_BLANK = r"(?:[ \t\f]|\\(?:\r\n|\n))*"
_TAIL = re.compile(rf"{_BLANK}(?:;{_BLANK})?(?:#[^\r\n]*)?(?=[\r\n]|\Z)")


def remove_statements(
    positions: Positions, tree: ast.Module, edits: Sequence[Removal]
) -> list[Change]:
    """The changes that carry out ``edits`` of disjoint statements, in source order.

    Raises ``EditError`` when a span is not one whole statement, when a statement shares its
    lines with another, and when a string would become a docstring.
    """
    places = [find_place(tree, positions, edit.span) for edit in edits]
    lines = [_lines(positions, place) for place in places]
    gone = {span.start: span.end for span in lines}
    removed = {
        place: _with_comments(positions, place, span, gone)
        for place, span in zip(places, lines, strict=True)
    }
    check_docstrings(positions, {place: [] for place in removed})
    return list(without(positions, removed))


def without(positions: Positions, removed: Mapping[Place, Span]) -> Iterator[Change]:
    """Remove whole lines of statements, and fill suites that lose everything."""
    gone: list[Gone] = []
    for place, lines in removed.items():
        siblings = [other for other in removed if other.suite is place.suite]
        emptied = place.owner is not None and len(siblings) == len(place.suite)
        if emptied and place.index == len(place.suite) - 1:
            indent = indentation_at(positions, positions.start(place.suite[place.index]))
            ending = positions.text[lines.start : lines.end]
            yield lines, f"{indent}pass{ending[len(ending.rstrip(chr(13) + chr(10))) :]}"
        else:
            gone.append(Gone(lines, place.index == 0 and place.owner is not None))
    yield from close_gaps(positions, gone)


def check_docstrings(positions: Positions, staying: Mapping[Place, Sequence[ast.stmt]]) -> None:
    """Raise ``EditError`` when a string that was none would become a docstring.

    ``staying`` are the statements that take the place of one.
    """
    for place in staying:
        if not isinstance(place.owner, (*_DOCUMENTED, type(None))) or place.index:
            continue
        given = {other.index: new for other, new in staying.items() if other.suite is place.suite}
        new = (s for i, old in enumerate(place.suite) for s in given.get(i, [old]))
        first = next(new, None)
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            if isinstance(first.value.value, str):
                span = Span(positions.start(first), positions.end(first))
                raise EditError("a string would become a docstring", span)


def comments_above(positions: Positions, offset: int, indent: str) -> int:
    """Where the comments start that end directly above the line at ``offset``, indented alike."""
    start = offset
    while start:
        above = positions.line_start(start - 1)
        line = positions.text[above:start]
        content = line.lstrip(" \t\f")
        blanks = line[: len(line) - len(content)].rpartition("\f")[2]
        if not content.startswith("#") or blanks != indent:
            break
        if above in positions.starts[:2] and _FILE_COMMENT.match(content):
            break
        start = above
    return start


def _lines(positions: Positions, place: Place) -> Span:
    """All lines of a statement, from its first decorator on."""
    statement = place.suite[place.index]
    head = first_offset(statement, positions)
    span = Span(head, positions.end(statement))
    start = positions.line_start(head)
    tail = _TAIL.match(positions.text, span.end)
    joined = start and positions.text[:start].rstrip("\r\n").endswith("\\")
    if positions.text[start:head].strip() or tail is None or joined:
        raise EditError("the statement shares its line", span)
    return Span(start, positions.line_end(tail.end()))


def _with_comments(
    positions: Positions, place: Place, lines: Span, gone: Mapping[int, int]
) -> Span:
    """The lines of a statement, with the comments above that are about it alone.

    ``gone`` has the start and the end of the lines of every statement that goes.
    """
    indent = indentation_at(positions, first_offset(place.suite[place.index], positions)) or ""
    if not isinstance(place.suite[place.index], _DEFINITIONS):
        if not _ends_paragraph(positions, lines.end, indent, gone):
            return lines
    start = comments_above(positions, lines.start, indent)
    if not positions.text[:start].strip():
        return lines  # a licence, or what the file is about
    while start < lines.start:
        end = positions.line_end(start)
        if not _TOOL_COMMENT.match(positions.text[start:end].strip()):
            return Span(start, lines.end)
        start = end
    return lines


def _ends_paragraph(
    positions: Positions, offset: int, indent: str, gone: Mapping[int, int]
) -> bool:
    """Whether nothing of the suite stays between ``offset`` and the next blank line."""
    text = positions.text
    while offset < len(text):
        content = text[offset : positions.line_end(offset)]
        if not content.strip() or content.lstrip(" \t\f").startswith("#"):
            return True
        if not content.startswith(indent):
            return True
        if offset not in gone:
            return False
        offset = gone[offset]
    return True
