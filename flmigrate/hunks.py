"""The changes of one file in pieces that can be taken one by one, each with its reasons.

A hunk is a run of whole lines. Lines that correspond one to one are hunks of their own, so that
changes with different reasons on neighbouring lines can be told apart.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from flmigrate.findings import Finding, Result
from flmigrate.line_diffs import Block, blocks_between, split_lines


class Hunk(NamedTuple):
    """Lines of the old text that became others, and the findings whose fixes did that."""

    block: Block
    reasons: tuple[Finding, ...] = ()


class Hunks(NamedTuple):
    """The way from one text to another: the lines of both (UTF-8), and the hunks in order."""

    old: tuple[bytes, ...]
    new: tuple[bytes, ...]
    hunks: tuple[Hunk, ...]


def hunks_of(result: Result) -> Hunks:
    """How the fixes of a changed file lead from ``before`` to ``unnoted``."""
    old, new = _lines(result.before), _lines(result.unnoted)
    starts = _starts(result.before)
    edits = [
        (_line_at(starts, span.start), _line_at(starts, max(span.start, span.end - 1)), finding)
        for finding, spans in zip(result.fixed, result.edited, strict=True)
        for span in spans
    ]
    hunks = []
    for block in _pieces(blocks_between(old, new)):
        last = max(block.end, block.start + 1)
        found = [f for first, end, f in edits if first < last and block.start <= end]
        hunks.append(Hunk(block, tuple(dict.fromkeys(found))))
    return Hunks(tuple(old), tuple(new), tuple(hunks))


def hunks_between(before: str, after: str) -> Hunks:
    """How one text becomes another, for no stated reasons."""
    old, new = _lines(before), _lines(after)
    hunks = tuple(Hunk(block) for block in blocks_between(old, new))
    return Hunks(tuple(old), tuple(new), hunks)


def taken(hunks: Hunks, chosen: Sequence[Hunk]) -> str:
    """The old text with the ``chosen`` hunks, in order, made."""
    pieces: list[bytes] = []
    at = 0
    for hunk in chosen:
        pieces += hunks.old[at : hunk.block.start]
        pieces += hunks.new[hunk.block.new_start : hunk.block.new_end]
        at = hunk.block.end
    pieces += hunks.old[at:]
    return b"".join(pieces).decode("utf-8", "surrogatepass")


def _pieces(blocks: Sequence[Block]) -> Iterator[Block]:
    for start, end, new_start, new_end in blocks:
        if end - start == new_end - new_start:
            shift = new_start - start
            yield from (Block(n, n + 1, n + shift, n + shift + 1) for n in range(start, end))
        else:
            yield Block(start, end, new_start, new_end)


def _lines(text: str) -> list[bytes]:
    return split_lines(text.encode("utf-8", "surrogatepass"))


def _starts(text: str) -> list[int]:
    """The offsets, in characters, at which the lines of a text start."""
    starts, at = [0], 0
    while (at := text.find("\n", at) + 1) > 0:
        starts.append(at)
    return starts


def _line_at(starts: Sequence[int], offset: int) -> int:
    return bisect.bisect_right(starts, offset) - 1
