"""Whole statements in the lines around them: put in, taken out, split up.

LibCST drops the comments of a statement that it removes and cannot tell which blank lines
belong together, so the lines around edited statements are arranged here, in the text.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from flmigrate.analysis.source import first_line_end
from flmigrate.codemods.changes import Change
from flmigrate.codemods.gaps import Gone, close_gaps
from flmigrate.codemods.positions import Positions
from flmigrate.findings import Span

if TYPE_CHECKING:
    from flmigrate.codemods.islands import Island, Suite

_LINE_END = re.compile(r"\r\n?|\n")
#: Blanks and joined lines, behind which the same logical line goes on.
_BLANK = r"(?:[ \t\f]|\\(?:\r\n?|\n))*"
_SEMICOLON = re.compile(rf"{_BLANK};")
_SEPARATOR = re.compile(rf"{_BLANK};{_BLANK}")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The source of the statements that take the place of one simple statement.

    ``above`` go on lines of their own before it, ``below`` on lines of their own after it
    and its comment; where it shares its line with other statements, ``below`` do that too.
    ``here`` take its very place; none of the three means that it goes. ``block`` says that
    ``here`` and ``below`` cannot share a line. Later lines of sources are indented in full.
    """

    above: tuple[str, ...] = ()
    here: tuple[str, ...] = ()
    below: tuple[str, ...] = ()
    block: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether the statement is simply removed."""
        return not (self.above or self.here or self.below)


@dataclass(frozen=True, slots=True, eq=False)
class _Row:
    """The simple statements ``first`` to ``last`` (exclusive) that share a logical line.

    ``inline``: the line is that of the header (``if x: a; b``).
    """

    suite: Suite
    first: int
    last: int
    inline: bool


@dataclass(frozen=True, slots=True)
class _Piece:
    """One statement of a row to be: which old one it stems from, and whether it needs a line."""

    source: str
    index: int
    own_line: bool


class Layout:
    """The lines of one text and what is done with the statements on them."""

    def __init__(self, positions: Positions, tree: ast.Module) -> None:
        self.positions = positions
        self.text = positions.text
        self.tree = tree
        self.newline = first_line_end(positions.text)

    def place(
        self, outcomes: Sequence[tuple[Island, Outcome]], changes: Sequence[Change]
    ) -> list[Change]:
        """Turn outcomes of whole statements into changes of the text.

        ``changes`` are those made inside other statements; they come back with the rest,
        except where a row of statements has been written anew with them.
        """
        inside = dict(changes)
        by_suite: dict[Suite, dict[int, Outcome]] = {}
        for island, outcome in outcomes:
            assert island.suite is not None
            by_suite.setdefault(island.suite, {})[island.index] = outcome
        placed: list[Change] = []
        gone: list[Gone] = []
        for suite, given in by_suite.items():
            empty = {i for i, outcome in given.items() if outcome.is_empty}
            needs_pass = suite.owner is not None and len(empty) == len(suite.statements)
            rows = list(self._rows(suite, given))
            for row in rows:
                if not empty.issuperset(range(row.first, row.last)):
                    placed += self._rewrite(row, given, inside)
                elif needs_pass and row is rows[-1]:
                    placed.append(self._fill(row))
                else:
                    opens = row.first == 0 and suite.owner is not None
                    gone.append(Gone(self._lines_of(row), opens))
        return [*inside.items(), *placed, *close_gaps(self.positions, gone)]

    def indentation(self, island: Island) -> str:
        """The indentation of a statement, or the one it gets on a line of its own."""
        assert island.suite is not None
        return self._indentation(self._row(island.suite, island.index))

    @cached_property
    def indent_unit(self) -> str:
        """What the file indents a block by: that of its first block, or four blanks."""
        stack: list[ast.stmt] = list(reversed(self.tree.body))
        while stack:
            statement = stack.pop()
            body: Sequence[ast.stmt] = getattr(statement, "body", ())
            if not body:
                continue
            start = self.positions.start(body[0])
            outer = self._blanks_before(self.positions.start(statement))
            inner = self._blanks_before(start)
            inline = self.text[self._header_end(start) - 1] == ":"
            if inner and outer is not None and inner.startswith(outer) and not inline:
                return inner[len(outer) :]
            stack.extend(reversed(body))
        return "    "

    # --- what surrounds a statement --------------------------------------------------------

    def _start(self, suite: Suite, index: int) -> int:
        return self.positions.start(suite.statements[index])

    def _end(self, suite: Suite, index: int) -> int:
        return self.positions.end(suite.statements[index])

    def _blanks_before(self, offset: int) -> str | None:
        """What stands before ``offset`` in its line, if that is indentation."""
        blanks = self.text[self.positions.line_start(offset) : offset]
        # A form feed sets the column back to 0.
        return None if blanks.strip() else blanks.rpartition("\f")[2]

    def _indentation(self, row: _Row) -> str:
        if row.inline:
            assert row.suite.owner is not None
            return (self._blanks_before(row.suite.owner) or "") + self.indent_unit
        return self._blanks_before(self._start(row.suite, row.first)) or ""

    def _row(self, suite: Suite, index: int) -> _Row:
        """The logical line of a simple statement."""
        first, last = index, index + 1
        while first and self._semicolon_after(suite, first - 1):
            first -= 1
        while last < len(suite.statements) and self._semicolon_after(suite, last - 1):
            last += 1
        header_end = self._header_end(self._start(suite, first))
        return _Row(suite, first, last, self.text[header_end - 1 : header_end] == ":")

    def _rows(self, suite: Suite, indices: Mapping[int, Outcome]) -> Iterator[_Row]:
        last = 0
        for index in sorted(indices):
            if index >= last:
                row = self._row(suite, index)
                last = row.last
                yield row

    def _semicolon_after(self, suite: Suite, index: int) -> bool:
        """Whether the statement after ``index`` stands on the same logical line."""
        separator = _SEPARATOR.match(self.text, self._end(suite, index))
        return separator is not None and separator.end() == self._start(suite, index + 1)

    def _header_end(self, offset: int) -> int:
        """The end of what stands before ``offset`` on its logical line."""
        while True:
            start = self.positions.line_start(offset)
            content = self.text[start:offset].rstrip(" \t\f")
            if content or not start:
                return start + len(content)
            line = self.text[self.positions.line_start(start - 1) : start].rstrip("\r\n")
            # A backslash in a comment joins nothing.
            if not line.endswith("\\") or "#" in line:
                return start
            offset = self.positions.line_start(start - 1) + len(line) - 1

    def _tail(self, row: _Row) -> int:
        """The end of a row, with a semicolon that may follow its last statement."""
        end = self._end(row.suite, row.last - 1)
        semicolon = _SEMICOLON.match(self.text, end)
        return semicolon.end() if semicolon else end

    def _content_end(self, offset: int) -> int:
        """The end of the line that holds ``offset``, without the line end itself."""
        found = _LINE_END.search(self.text, offset)
        return found.start() if found else len(self.text)

    # --- the three things that happen to a row ---------------------------------------------

    def _lines_of(self, row: _Row) -> Span:
        """The whole lines of a row that goes, its comment included."""
        start = self.positions.line_start(self._start(row.suite, row.first))
        return Span(start, self.positions.line_end(self._content_end(self._tail(row))))

    def _fill(self, row: _Row) -> Change:
        """``pass`` in place of the last row of a suite that lost everything."""
        start = self._start(row.suite, row.first)
        # The comment on a header's line may be the header's.
        end = self._tail(row) if row.inline else self._content_end(self._tail(row))
        return Span(start, end), "pass"

    def _rewrite(
        self, row: _Row, given: Mapping[int, Outcome], inside: dict[Span, str]
    ) -> Iterator[Change]:
        """Write the row anew; takes what was done inside its other statements along."""
        edited = [given[i] for i in range(row.first, row.last) if i in given]
        block = any(outcome.block for outcome in edited)
        start, end = self._start(row.suite, row.first), self._end(row.suite, row.last - 1)
        if not row.inline and row.last - row.first == 1:
            [only] = edited
            written = self._own_line(row).join((*only.above, *only.here))
            if not (only.here or only.below):
                end = self._content_end(self._tail(row))  # the comment goes with the statement
            elif block:
                end = self._tail(row)
            yield Span(start, end), written
            if only.below:
                yield self._below(row, only.below)
            return
        broken = not row.inline or block or any(outcome.above for outcome in edited)
        pieces = list(self._pieces(row, given, inside, broken))
        written = self._joined(row, pieces)
        if row.inline and broken:
            start = self._header_end(start)
            written = self._own_line(row) + written
        if pieces[-1].own_line:
            end = self._tail(row)
        yield Span(start, end), written

    def _own_line(self, row: _Row) -> str:
        """What stands between two statements of a row that get lines of their own."""
        return self.newline + self._indentation(row)

    def _pieces(
        self, row: _Row, given: Mapping[int, Outcome], inside: dict[Span, str], broken: bool
    ) -> Iterator[_Piece]:
        for i in range(row.first, row.last):
            span = Span(self._start(row.suite, i), self._end(row.suite, i))
            if i not in given:
                yield _Piece(inside.pop(span, self.text[span.start : span.end]), i, False)
                continue
            outcome = given[i]
            for source in outcome.above:
                yield _Piece(source, i, broken)
            for source in (*outcome.here, *outcome.below):
                yield _Piece(source, i, broken and outcome.block)

    def _joined(self, row: _Row, pieces: Sequence[_Piece]) -> str:
        """Statements of one row, with the old semicolons where they can stay."""
        written = pieces[0].source
        for previous, piece in itertools.pairwise(pieces):
            joint = "; "
            if previous.own_line or piece.own_line:
                joint = self._own_line(row)
            elif previous.index != piece.index:
                old = self._end(row.suite, piece.index - 1), self._start(row.suite, piece.index)
                joint = self.text[slice(*old)]
            written += joint + piece.source
        return written

    def _below(self, row: _Row, sources: Sequence[str]) -> Change:
        """Statements on lines of their own after a row and its comment."""
        indent = self._indentation(row)
        content_end = self._content_end(self._tail(row))
        end = self.positions.line_end(content_end)
        if end == content_end:  # the last line has no line end
            return Span(end, end), "".join(self.newline + indent + s for s in sources)
        return Span(end, end), "".join(indent + s + self.newline for s in sources)
