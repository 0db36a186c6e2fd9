"""Where something in a changed text stood before the changes."""

from __future__ import annotations

from collections.abc import Sequence

from flmigrate.findings import Span

Changes = Sequence[tuple[Span, str]]


def origin(span: Span, rounds: Sequence[Changes]) -> Span:
    """The span, of the text after all ``rounds`` of changes, in the text before the first.

    Each round has spans of the text that it changed, sorted and disjoint, with what replaced
    them. What lies inside a replacement is at the same distance from its start, as far as
    there was text.
    """
    start, end = span.start, span.end
    for changes in reversed(rounds):
        start, end = _before(start, changes), _before(end, changes)
    return Span(start, end)


def _before(offset: int, changes: Changes) -> int:
    shift = 0  # how much longer the new text is, up to the change that is looked at
    for span, new in changes:
        first = span.start + shift
        if offset < first:
            break
        if offset < first + len(new):
            return min(span.start + offset - first, span.end)
        shift += len(new) - (span.end - span.start)
    return offset - shift
