"""From the positions of `ast` nodes to character offsets, for codemods."""

from __future__ import annotations

import ast
import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeGuard


class Positioned(Protocol):
    """What `ast` statements, expressions, patterns and handlers have in common."""

    @property
    def lineno(self) -> int: ...
    @property
    def col_offset(self) -> int: ...
    @property
    def end_lineno(self) -> int | None: ...
    @property
    def end_col_offset(self) -> int | None: ...


@dataclass(frozen=True, slots=True)
class Positions:
    """A text and the offsets where its lines start (``analysis.source.line_starts``)."""

    text: str
    starts: Sequence[int]

    def offset(self, line: int, column: int) -> int:
        """The character offset of a line (from 1) and a column in UTF-8 bytes (from 0)."""
        start = self.starts[line - 1]
        end = self.starts[line] if line < len(self.starts) else len(self.text)
        content = self.text[start:end]
        # A byte is a character in most lines; only the others must be encoded.
        if content.isascii():
            return start + column
        return start + len(content.encode()[:column].decode())

    def start(self, node: Positioned) -> int:
        """The offset of a node's first character."""
        return self.offset(node.lineno, node.col_offset)

    def end(self, node: Positioned) -> int:
        """The offset just after a node's last character."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self.offset(node.end_lineno, node.end_col_offset)

    def line_start(self, offset: int) -> int:
        """Where the line that holds the character at ``offset`` starts."""
        return self.starts[bisect.bisect_right(self.starts, offset) - 1]

    def line_end(self, offset: int) -> int:
        """Where the line that holds the character at ``offset`` ends, its line end included."""
        line = bisect.bisect_right(self.starts, offset)
        return self.starts[line] if line < len(self.starts) else len(self.text)


def is_positioned(node: ast.AST) -> TypeGuard[Positioned]:
    """Whether this kind of node has a position (``arguments`` and ``withitem`` have none)."""
    return "end_lineno" in node._attributes


def positioned_below(node: ast.AST) -> Iterator[Positioned]:
    """The outermost nodes below ``node`` that have a position, but none of its cases."""
    for child in ast.iter_child_nodes(node):
        if is_positioned(child):
            yield child
        elif not isinstance(child, ast.match_case):
            yield from positioned_below(child)
