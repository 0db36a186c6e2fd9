"""Changes to a text: as small as they can be, and put together again."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterator, Sequence

from flmigrate.analysis.source import line_starts
from flmigrate.findings import Span

Change = tuple[Span, str]


def minimal(text: str, change: Change) -> Iterator[Change]:
    """Cut a change of ``text`` down to the lines, and in them the tokens, that differ.

    Lines that are only inserted or only removed stay whole.
    """
    span, new = change
    old = text[span.start : span.end]
    if old == new:
        return
    old_lines, new_lines = _lines(old), _lines(new)
    offsets = [span.start]
    for line in old_lines:
        offsets.append(offsets[-1] + len(line))
    for first, last, new_first, new_last in _blocks(old_lines, new_lines):
        inside = Span(offsets[first], offsets[last])
        replacement = "".join(new_lines[new_first:new_last])
        if first == last or not replacement:
            yield inside, replacement
        else:
            yield _trim(text[inside.start : inside.end], replacement, inside.start)


def splice(text: str, changes: Sequence[Change]) -> str:
    """Make ``changes``, sorted and disjoint, in ``text``."""
    pieces: list[str] = []
    done = 0
    for span, new in changes:
        assert span.start >= done, "changes overlap"
        pieces += (text[done : span.start], new)
        done = span.end
    pieces.append(text[done:])
    return "".join(pieces)


def _lines(text: str) -> list[str]:
    starts = [*line_starts(text), len(text)]
    lines = [text[a:b] for a, b in itertools.pairwise(starts)]
    return lines if lines[-1] else lines[:-1]


def _blocks(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int, int, int]]:
    """Ranges of lines that differ: first and last (exclusive) of the old, then of the new."""
    if len(old) == len(new):
        # The usual case, and difflib is slow where many lines are alike.
        for i, (old_line, new_line) in enumerate(zip(old, new, strict=True)):
            if old_line != new_line:
                yield i, i + 1, i, i + 1
        return
    matcher = difflib.SequenceMatcher(None, old, new)
    for tag, first, last, new_first, new_last in matcher.get_opcodes():
        if tag != "equal":
            yield first, last, new_first, new_last


def _trim(old: str, new: str, offset: int) -> Change:
    """Leave out what both texts start and end with, but never a part of a token."""
    limit = min(len(old), len(new))
    head = 0
    while head < limit and old[head] == new[head]:
        head += 1
    while head and (_inside_token(old, head) or _inside_token(new, head)):
        head -= 1
    limit -= head
    tail = 0
    while tail < limit and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    while tail and (_inside_token(old, len(old) - tail) or _inside_token(new, len(new) - tail)):
        tail -= 1
    span = Span(offset + head, offset + len(old) - tail)
    return span, new[head : len(new) - tail]


def _inside_token(text: str, at: int) -> bool:
    before, after = text[at - 1 : at], text[at : at + 1]
    if before == "\r" and after == "\n":
        return True
    return (before + after).replace("_", "a").isalnum() and bool(before and after)
