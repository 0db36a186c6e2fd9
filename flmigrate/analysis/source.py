"""A decoded source file: its text, its tree, and exact positions in it."""

from __future__ import annotations

import ast
import bisect
import re
import warnings
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate, count
from operator import add

from flmigrate.findings import Span

# Python's tokenizer ends a line at these and at nothing else; str.splitlines() would also
# break at form feeds and Unicode separators.
_LINE_END = re.compile(r"\r\n|\r|\n")


def line_starts(text: str) -> list[int]:
    """Offsets at which the lines of ``text`` start; the first is always 0."""
    if "\r" not in text:
        ends = accumulate(map(len, text.split("\n")[:-1]))
        return [0, *map(add, ends, count(1))]  # each line end is a character more
    return [0, *(match.end() for match in _LINE_END.finditer(text))]


def position_in(starts: Sequence[int], offset: int) -> tuple[int, int]:
    """Line and column, both from 1, of an offset in a text whose lines start at ``starts``."""
    line = bisect.bisect_right(starts, offset)
    return line, offset - starts[line - 1] + 1


def first_line_end(text: str) -> str:
    """The line end of the first line, which new lines take."""
    found = _LINE_END.search(text)
    return found.group() if found else "\n"


def parsed(text: str, path: str = "<stdin>") -> ast.Module:
    """The tree of a text.

    Raises ``SyntaxError`` (also for NUL characters), ``RecursionError`` or ``MemoryError`` where
    CPython's parser gives up.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # invalid escapes are the author's business
        try:
            return ast.parse(text, filename=path)
        except ValueError as error:  # "source code string cannot contain null bytes"
            raise SyntaxError(str(error)) from error


class Source:
    """The text of one file (no BOM, line ends as they are) and its ``ast`` tree."""

    def __init__(self, text: str, path: str = "<stdin>", tree: ast.Module | None = None) -> None:
        """Parse ``text``, unless its ``tree`` is there already; raises what `parsed` does."""
        self.text = text
        self.path = path
        self.ascii = text.isascii()
        self.tree = parsed(text, path) if tree is None else tree
        self.starts = line_starts(text)

    def offset(self, line: int, column: int) -> int:
        """The character offset of an ``ast`` position (line from 1, column in UTF-8 bytes)."""
        start = self.starts[line - 1]
        if self.ascii:
            return start + column
        end = self.starts[line] if line < len(self.starts) else len(self.text)
        content = self.text[start:end]
        if content.isascii():
            return start + column
        return start + len(
            content.encode("utf-8", "surrogatepass")[:column].decode("utf-8", "ignore")
        )

    def start(self, node: ast.AST) -> int:
        """The offset of a node's first character."""
        return self.offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]

    def end(self, node: ast.AST) -> int:
        """The offset just after a node's last character."""
        return self.offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def span(self, node: ast.AST) -> Span:
        """The span of a node that has a position."""
        return Span(self.start(node), self.end(node))

    def has_one_in(self, node: ast.AST, places: Sequence[int]) -> bool:
        """Whether one of some offsets, which are in order, lies in a node."""
        if not places:
            return False
        at = bisect.bisect_left(places, self.start(node))
        return at < len(places) and places[at] < self.end(node)

    def segment(self, node: ast.AST) -> str:
        """The source text of a node that has a position."""
        return self.text[self.start(node) : self.end(node)]

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column, both from 1, of an offset; columns count characters."""
        return position_in(self.starts, offset)

    def line_text(self, line: int) -> str:
        """The text of a line (from 1) without its line end."""
        end = self.starts[line] if line < len(self.starts) else len(self.text)
        return self.text[self.starts[line - 1] : end].rstrip("\r\n")

    def has_own_lines(self, node: ast.AST) -> bool:
        """Whether nothing but a comment shares the lines of a statement."""
        start, end = self.start(node), self.end(node)
        line, _ = self.position(start)
        last, _ = self.position(max(start, end - 1))
        before = self.text[self.starts[line - 1] : start]
        behind = self.text[end : self.starts[last - 1] + len(self.line_text(last))].lstrip()
        return not before.strip() and (not behind or behind.startswith("#"))

    @cached_property
    def newline(self) -> str:
        """The line end of the first line, which new lines take."""
        return first_line_end(self.text)
