"""The arms of an ``if`` chain, a ``try`` or a ``match``, and which lines belong to each.

if a:           arm 0
    x
    # of x      also arm 0: it is indented like x
# of b          arm 1: it stands above the next header, indented like it
elif b:
    y
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from flmigrate.codemods.errors import EditError
from flmigrate.codemods.indentation import indentation_at, lines_in, width
from flmigrate.codemods.islands import first_offset
from flmigrate.codemods.positions import Positions
from flmigrate.findings import Span

_COLON = re.compile(r"(?:[^:#]|#[^\r\n]*)*:")
_BLANK = r"(?:[ \t\f]|\\(?:\r\n|\n))*"
_JOINED = re.compile(_BLANK)
#: What may follow the last statement of a suite on its logical line.
_TAIL = re.compile(rf"{_BLANK}(?:;{_BLANK})?(?:#[^\r\n]*)?(?=[\r\n]|\Z)")
_TRY = (ast.Try, *((ast.TryStar,) if hasattr(ast, "TryStar") else ()))


@dataclass(frozen=True, slots=True, eq=False)
class Arm:
    """One arm. The arms of a statement lie next to each other, line by line.

    ``lines`` are all its lines: comments above its header, the header, its suite and the
    comments below that. ``head`` spans the header from keyword to colon; ``start`` is the
    offset of the suite's first statement, which stands on the header's line if ``inline``.
    ``test`` is the condition, if there is one.
    """

    keyword: str
    lines: Span
    head: Span
    start: int
    inline: bool
    body: Sequence[ast.stmt]
    test: ast.expr | None = None


@dataclass(frozen=True, slots=True)
class _Part:
    """What `ast` tells of an arm; ``node`` is what starts with its keyword, if anything."""

    keyword: str
    body: Sequence[ast.stmt]
    node: ast.If | ast.ExceptHandler | ast.match_case | ast.stmt | None = None


def arms_of(statement: ast.stmt, positions: Positions) -> list[Arm]:
    """The arms of a whole ``if`` chain, ``try`` or ``match``.

    Raises ``EditError`` when one of them shares a line with something else.
    """
    parts = list(_parts(statement, positions))
    arms: list[Arm] = []
    head = positions.start(statement)
    lead = positions.line_start(head)
    indent = indentation_at(positions, head)
    if indent is None or _is_joined(positions, lead):
        raise EditError("the statement shares its line", Span(head, head + 1))
    column = width(indent)
    if isinstance(statement, ast.Match):
        header = _COLON.match(positions.text, positions.end(statement.subject))
        assert header is not None, "Python has found a colon here"
        lead = positions.line_end(header.end())
        line = _next_code(positions, lead)
        head = _first_in_line(positions, line)
        column = width(positions.text[line:head])
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        colon = _colon(part, head, positions)
        start = first_offset(part.body[0], positions)
        inline = _JOINED.fullmatch(positions.text, colon, start) is not None
        end = _end_of_suite(part.body, positions)
        below = Span(end, _next_code(positions, end))
        end = _comments_of_suite(below, column, inline, positions)
        test = part.node.test if isinstance(part.node, ast.If) else None
        arm = Arm(part.keyword, Span(lead, end), Span(head, colon), start, inline, part.body, test)
        arms.append(arm)
        if last:
            break
        lead, following = end, parts[number + 1]
        head = _first_in_line(positions, below.end)
        node = following.node
        if not positions.text.startswith(following.keyword, head) or (
            node is not None
            and not isinstance(node, ast.match_case)  # which has no position of its own
            and positions.start(node) != head
        ):
            raise EditError(f"the {following.keyword!r} shares its line", Span(head, head + 1))
    return arms


def _parts(statement: ast.stmt, positions: Positions) -> Iterator[_Part]:
    if isinstance(statement, ast.Match):
        for case in statement.cases:
            yield _Part("case", case.body, case)
    elif isinstance(statement, ast.If):
        keyword, node = "if", statement
        while True:
            yield _Part(keyword, node.body, node)
            below = node.orelse
            if not (
                len(below) == 1
                and isinstance(below[0], ast.If)
                and positions.text.startswith("elif", positions.start(below[0]))
            ):
                break
            keyword, node = "elif", below[0]
        if node.orelse:
            yield _Part("else", node.orelse)
    else:
        assert isinstance(statement, _TRY)
        yield _Part("try", statement.body, statement)
        for handler in statement.handlers:
            yield _Part("except", handler.body, handler)
        if statement.orelse:
            yield _Part("else", statement.orelse)
        if statement.finalbody:
            yield _Part("finally", statement.finalbody)


def _first_in_line(positions: Positions, line: int) -> int:
    text = positions.text[line : positions.line_end(line)]
    return line + len(text) - len(text.lstrip(" \t\f"))


def is_branch(statement: ast.stmt) -> bool:
    """Whether this kind of statement has arms."""
    return isinstance(statement, (ast.If, ast.Match, *_TRY))


def _colon(part: _Part, head: int, positions: Positions) -> int:
    """The offset just after the colon of a header."""
    last = head + len(part.keyword)
    if isinstance(part.node, ast.If):
        last = positions.end(part.node.test)
    elif isinstance(part.node, ast.match_case):
        last = positions.end(part.node.guard or part.node.pattern)
    elif isinstance(part.node, ast.ExceptHandler) and part.node.type is not None:
        last = positions.end(part.node.type)
    found = _COLON.match(positions.text, last)
    assert found is not None, "Python has found a colon here"
    return found.end()


def _is_joined(positions: Positions, line: int) -> bool:
    """Whether a backslash joins the line that starts at ``line`` to the one before it."""
    if not line:
        return False
    before = positions.text[positions.line_start(line - 1) : line].rstrip("\r\n")
    return before.endswith("\\") and "#" not in before


def _end_of_suite(body: Sequence[ast.stmt], positions: Positions) -> int:
    """The end of the last line of a suite's statements."""
    end = positions.end(body[-1])
    tail = _TAIL.match(positions.text, end)
    if tail is None:
        raise EditError("the statement shares its line", Span(end, end))
    # A line end at the very end of the tail still belongs to it.
    if tail.end() == len(positions.text):
        return tail.end()
    return positions.line_end(tail.end())


def _next_code(positions: Positions, offset: int) -> int:
    """Where the first line at or after ``offset`` starts that is not blank or a comment."""
    for line in lines_in(positions, Span(offset, len(positions.text))):
        content = positions.text[line.start : line.end].strip()
        if content and not content.startswith("#"):
            return line.start
    return len(positions.text)


def _comments_of_suite(below: Span, column: int, inline: bool, positions: Positions) -> int:
    """The end of the comments after a suite that are indented more than its header is."""
    end = below.start
    if inline:
        return end
    for line in lines_in(positions, below):
        content = positions.text[line.start : line.end]
        blanks = content[: len(content) - len(content.lstrip(" \t\f"))]
        if content.strip() and width(blanks) > column:
            end = line.end
    return end
