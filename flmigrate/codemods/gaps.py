"""Blank lines around lines that go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from flmigrate.codemods.changes import Change
from flmigrate.codemods.positions import Positions
from flmigrate.findings import Span


@dataclass(frozen=True, slots=True, order=True)
class Gone:
    """Whole lines that go; ``opens_suite`` when they start the suite below a header."""

    lines: Span
    opens_suite: bool


def close_gaps(positions: Positions, gone: Sequence[Gone]) -> Iterator[Change]:
    """Remove lines and leave the larger of the runs of blank lines around them.

    No blank line is left at the start of the file, and none is moved to the end of the file
    or to the start of a suite.
    """
    text = positions.text
    todo = sorted(gone)
    while todo:
        first = todo.pop(0)
        start, end = _blank_before(positions, first.lines.start), first.lines.end
        runs = [text[start : first.lines.start]]
        after = _blank_after(positions, end)
        # Lines that go with nothing but blank lines between them leave one gap.
        while todo and todo[0].lines.start <= after:
            runs.append(text[end : todo[0].lines.start])
            end = todo.pop(0).lines.end
            after = _blank_after(positions, end)
        runs.append(text[end:after])
        yield Span(start, after), _kept(positions, Span(start, after), runs, first.opens_suite)


def _kept(positions: Positions, gap: Span, runs: Sequence[str], opens_suite: bool) -> str:
    """The one run of blank lines that stays."""
    if gap.start == 0:
        return ""
    if gap.end == len(positions.text):
        return runs[-1]
    line_before = positions.text[positions.line_start(gap.start - 1) : gap.start]
    if opens_suite and not line_before.lstrip().startswith("#"):
        return runs[0]
    return max(runs, key=lambda run: run.count("\n") or run.count("\r"))


def _blank_before(positions: Positions, offset: int) -> int:
    """Where the blank lines start that end at ``offset``."""
    while offset:
        start = positions.line_start(offset - 1)
        if positions.text[start:offset].strip():
            break
        offset = start
    return offset


def _blank_after(positions: Positions, offset: int) -> int:
    """Where the blank lines end that start at ``offset``."""
    while offset < len(positions.text):
        end = positions.line_end(offset)
        if positions.text[offset:end].strip():
            break
        offset = end
    return offset
