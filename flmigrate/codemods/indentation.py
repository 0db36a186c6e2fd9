"""Move lines of a text to another indentation.

LibCST keeps continuation lines and the insides of brackets where they were; here all lines
of a suite move, but never one that starts inside a string literal.
"""

from __future__ import annotations

import io
import itertools
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass

from flmigrate.analysis.source import line_starts
from flmigrate.codemods.errors import EditError
from flmigrate.codemods.positions import Positions
from flmigrate.findings import Span


@dataclass(frozen=True, slots=True)
class Tokens:
    """What the tokenizer tells of some lines: offsets of comments, and lines inside strings.

    ``strings`` holds the offsets of the lines that start inside a string literal.
    """

    comments: tuple[Span, ...]
    strings: frozenset[int]


def tokens_of(positions: Positions, lines: Span) -> Tokens:
    """Tokenize whole lines. Raises ``EditError`` where the tokenizer gives up."""
    text = positions.text[lines.start : lines.end]
    starts = line_starts(text)
    comments: list[Span] = []
    inside: set[int] = set()
    opened: list[int] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text, newline="").readline):
            name = tokenize.tok_name[token.type]
            first, last = token.start[0], token.end[0]
            if token.type == tokenize.COMMENT:
                start = lines.start + starts[first - 1] + token.start[1]
                comments.append(Span(start, start + len(token.string)))
            elif name.endswith("STRING_START"):  # of an f-string, since Python 3.12
                opened.append(first)
            elif name.endswith("STRING_END"):
                inside.update(range(opened.pop() + 1, last + 1))
            elif token.type == tokenize.STRING:
                inside.update(range(first + 1, last + 1))
    except (tokenize.TokenError, SyntaxError, ValueError) as error:
        raise EditError("the lines of the statement cannot be told apart", lines) from error
    strings = frozenset(lines.start + starts[line - 1] for line in inside)
    return Tokens(tuple(comments), strings)


def lines_in(positions: Positions, span: Span) -> Iterator[Span]:
    """The lines of a run of whole lines, line ends included."""
    start = span.start
    while start < span.end:
        end = min(positions.line_end(start), span.end)
        yield Span(start, end)
        start = end


def indentation_at(positions: Positions, offset: int) -> str | None:
    """The indentation of the line at ``offset``, if nothing else stands before it there."""
    blanks = positions.text[positions.line_start(offset) : offset]
    # A form feed sets the column back to 0.
    return None if blanks.strip(" \t\f") else blanks.rpartition("\f")[2]


def width(indent: str) -> int:
    """The column that an indentation reaches, as Python counts it."""
    return len(indent.rpartition("\f")[2].expandtabs(8))


def moved(positions: Positions, lines: Span, strings: frozenset[int], old: str, new: str) -> str:
    """Whole lines of a suite indented by ``old``, at the indentation ``new``.

    Lines that start inside a string and blank lines stay as they are; a line that is
    indented less than the suite, as those inside brackets may be, moves as far as it can.
    """
    pieces: list[str] = []
    shift = width(old) - width(new)
    for span in lines_in(positions, lines):
        line = positions.text[span.start : span.end]
        content = line.lstrip(" \t\f")
        if span.start in strings or not line.strip():
            pieces.append(line)
            continue
        blanks = line[: len(line) - len(content)]
        feed, form_feed, indent = blanks.rpartition("\f")
        if indent.startswith(old):
            indent = new + indent[len(old) :]
        elif not content.startswith("#"):
            indent = " " * max(width(indent) - shift, 0)
        elif width(indent) > width(new):
            indent = new
        pieces += (feed, form_feed, indent, content)
    return "".join(pieces)


def blank_start(positions: Positions, lines: Span) -> int:
    """Where the blank lines end that some lines start with."""
    blank = itertools.takewhile(
        lambda span: not positions.text[span.start : span.end].strip(),
        lines_in(positions, lines),
    )
    return max((span.end for span in blank), default=lines.start)
