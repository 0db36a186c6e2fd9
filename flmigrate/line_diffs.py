"""Which runs of lines differ between two versions of a file.

Lines are ``bytes`` with their ``\\n``; nothing else ends a line here, as in git. Two ways
lead to the answer: the edits that were made, where they are known, and a comparison.
"""

from __future__ import annotations

import bisect
import difflib
import io
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from flmigrate.findings import Span

# difflib looks at all pairs of equal lines: no more than this many may be possible.
_LARGE = 1_000_000


class Block(NamedTuple):
    """Lines ``[start, end)`` of the old file that became ``[new_start, new_end)``; from 0."""

    start: int
    end: int
    new_start: int
    new_end: int


def split_lines(data: bytes) -> list[bytes]:
    """The lines, each with its ``\\n``; the last may lack it."""
    return io.BytesIO(data).readlines()


def blocks_from_edits(
    old: Sequence[bytes], new: Sequence[bytes], text: str, edits: Sequence[tuple[Span, str]]
) -> list[Block] | None:
    """The blocks that differ when ``edits`` made ``new`` of ``old``; ``None`` if they did not.

    ``text`` is the old file's text; each edit is a span of it and the text that replaced it.
    """
    rough: list[Block] = []
    at = line = shift = 0
    for span, replacement in sorted(edits):
        if span.start < at:
            return None
        first = line + text.count("\n", at, span.start)
        line = first + text.count("\n", span.start, span.end)
        at = span.end
        new_first = first + shift
        shift += replacement.count("\n") - (line - first)
        if rough and first <= rough[-1].end:  # no line between it and the edit before
            first, _, new_first, _ = rough.pop()
        rough.append(Block(first, line + 1, new_first, line + 1 + shift))
    return _refined(old, new, rough)


def blocks_between(old: Sequence[bytes], new: Sequence[bytes]) -> list[Block]:
    """The blocks that differ, found by comparing all lines."""
    return list(_compared(old, new, Block(0, len(old), 0, len(new))))


def _refined(old: Sequence[bytes], new: Sequence[bytes], rough: list[Block]) -> list[Block] | None:
    """The differing blocks inside ``rough`` ones; ``None`` if there are others outside."""
    # An edit at the very end of a file is in a last line that is empty, so not there.
    limits = (len(old), len(old), len(new), len(new))
    blocks: list[Block] = []
    at = new_at = 0
    for block in (*(Block._make(map(min, block, limits)) for block in rough), Block(*limits)):
        start, end, new_start, new_end = block
        if not (at <= start <= end and new_at <= new_start <= new_end):
            return None
        if old[at:start] != new[new_at:new_start]:
            return None
        blocks += _compared(old, new, block)
        at, new_at = end, new_end
    return blocks


def _compared(old: Sequence[bytes], new: Sequence[bytes], block: Block) -> Iterator[Block]:
    """The differing blocks inside one: lines that both sides have once divide it first."""
    block = _trimmed(old, new, block)
    for gap in _divided(block, _anchors(old, new, block, once=True)):
        rest = _trimmed(old, new, gap)
        if _is_large(rest):
            for part in _divided(rest, _anchors(old, new, rest, once=False)):
                yield from _gap(old, new, _trimmed(old, new, part))
        else:
            yield from _gap(old, new, rest)


def _divided(block: Block, anchors: list[tuple[int, int]]) -> Iterator[Block]:
    at, new_at = block.start, block.new_start
    for line, new_line in (*anchors, (block.end, block.new_end)):
        yield Block(at, line, new_at, new_line)
        at, new_at = line + 1, new_line + 1


def _is_large(block: Block) -> bool:
    return (block.end - block.start) * (block.new_end - block.new_start) > _LARGE


def _gap(old: Sequence[bytes], new: Sequence[bytes], block: Block) -> Iterator[Block]:
    start, end, new_start, new_end = block
    if start == end or new_start == new_end or _is_large(block):
        if start < end or new_start < new_end:
            yield block
        return
    matcher = difflib.SequenceMatcher(None, old[start:end], new[new_start:new_end], autojunk=False)
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag != "equal":
            yield Block(start + a, start + b, new_start + c, new_start + d)


def _trimmed(old: Sequence[bytes], new: Sequence[bytes], block: Block) -> Block:
    """The block without the equal lines at its two ends."""
    start, end, new_start, new_end = block
    while start < end and new_start < new_end and old[start] == new[new_start]:
        start, new_start = start + 1, new_start + 1
    while start < end and new_start < new_end and old[end - 1] == new[new_end - 1]:
        end, new_end = end - 1, new_end - 1
    return Block(start, end, new_start, new_end)


def _anchors(
    old: Sequence[bytes], new: Sequence[bytes], block: Block, once: bool
) -> list[tuple[int, int]]:
    """The longest ascending run of pairs of lines that belong together, by their numbers.

    These are the lines that occur once in the block on either side or, not ``once``, all that
    both sides have: the first with the first of its kind, the second with the second.
    """
    here, there = _places(old, block.start, block.end), _places(new, block.new_start, block.new_end)
    pairs: list[tuple[int, int]] = []
    for line, places in here.items():
        partners = there.get(line, ())
        if not once or len(places) == len(partners) == 1:
            pairs += zip(places, partners, strict=False)
    pairs.sort()
    # Patience sorting: `tails[n]` is the pair with the smallest end of a run of length n + 1.
    tails: list[int] = []
    ends: list[int] = []
    before: list[int | None] = []
    for number, (_, new_at) in enumerate(pairs):
        length = bisect.bisect_left(ends, new_at)
        before.append(tails[length - 1] if length else None)
        if length == len(ends):
            tails.append(number)
            ends.append(new_at)
        else:
            tails[length], ends[length] = number, new_at
    run: list[tuple[int, int]] = []
    number_at = tails[-1] if tails else None
    while number_at is not None:
        run.append(pairs[number_at])
        number_at = before[number_at]
    return run[::-1]


def _places(lines: Sequence[bytes], start: int, end: int) -> dict[bytes, list[int]]:
    """The numbers of the lines ``[start, end)`` with each content."""
    places: dict[bytes, list[int]] = {}
    for at in range(start, end):
        places.setdefault(lines[at], []).append(at)
    return places
