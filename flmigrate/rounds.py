"""Which fixes of a file are made in one round: those that lie apart, or in what others keep."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from flmigrate.analysis.context import Context
from flmigrate.analysis.vocabulary import may_concern
from flmigrate.findings import (
    Arguments,
    Branch,
    Edit,
    Expression,
    Finding,
    Fix,
    Members,
    Rename,
    Span,
    Statement,
    Text,
)

_IN_PLACE = (Arguments, Expression, Members, Rename, Text)
"""Edits that take no statement away and move none."""

Chosen = tuple[Finding, Fix]


def have(chosen: Sequence[Chosen], kind: type) -> bool:
    """Whether some fixes make edits of a kind."""
    return any(isinstance(edit, kind) for _, fix in chosen for edit in fix.edits)


def choose(candidates: Iterable[Chosen], context: Context) -> tuple[list[Chosen], bool]:
    """The fixes that can be made together, and whether there may be others in the next round.

    Where two overlap the enclosing one wins; the inner place is found again next time. Branches
    go first. What they keep is looked at in its new place, and so is what decides whether they
    are reached: a test that has its new name does not compare with one that has the old. Along
    with them goes what changes expressions elsewhere.
    """
    ordered = sorted(candidates, key=lambda pair: _extent(pair[1]))
    branches = [pair for pair in ordered if have([pair], Branch)]
    others = [pair for pair in ordered if not have([pair], Branch)]
    if not branches:
        chosen = _together(others)
        return chosen, len(chosen) < len(others)
    chosen = _together(branches)
    if len(chosen) < len(branches):
        return chosen, True
    taken = [edit for _, fix in chosen for edit in fix.edits if isinstance(edit, Branch)]
    around = [_around(context, edit) for edit in taken]
    chosen += _together(pair for pair in others if _is_elsewhere(pair[1], around))
    waits = len(chosen) < len(ordered)
    return chosen, waits or any(_keeps_vendor_code(edit, context) for edit in taken)


class _Around(NamedTuple):
    """What is around a statement: the outermost one with a condition (it may be that itself), and
    those beside it."""

    condition: Span
    siblings: frozenset[Span]


def _around(context: Context, edit: Branch) -> _Around:
    from flmigrate.codemods.branches import place_of  # what only a rewrite needs

    place = place_of(context.source, edit)
    if place is None:
        return _Around(edit.span, frozenset())
    node: ast.AST | None = place.suite[place.index]
    condition = node
    while node is not None:
        condition = node if isinstance(node, (ast.If, ast.Match, ast.While)) else condition
        node = context.scopes.parents.get(node)
    assert condition is not None
    span = context.source.span
    return _Around(span(condition), frozenset(map(span, place.suite)))


def _is_elsewhere(fix: Fix, around: Sequence[_Around]) -> bool:
    """Whether a fix changes nothing around branches, and takes no statement from beside them."""
    for edit in fix.edits:
        for place in around:
            if edit.span.overlaps(place.condition):
                return False
            if not isinstance(edit, _IN_PLACE) and edit.span in place.siblings:
                return False
    return True


def _keeps_vendor_code(edit: Branch, context: Context) -> bool:
    """Whether a suite that stays has words of a vendor's, of which there may be more to say."""
    from flmigrate.codemods.branches import kept_suites  # what only a rewrite needs

    text, words = context.source.text, context.vocabulary.words
    suites = kept_suites(context.source, edit)
    return any(may_concern(text[span.start : span.end].encode(), words) for span in suites)


def _together(ordered: Iterable[Chosen]) -> list[Chosen]:
    chosen: list[Chosen] = []
    taken: list[Edit] = []
    for finding, fix in ordered:
        near = [edit for edit in taken if any(edit.span.overlaps(e.span) for e in fix.edits)]
        if all(_compatible(edit, other) for edit in fix.edits for other in near):
            chosen.append((finding, fix))
            taken.extend(fix.edits)
    return chosen


def _extent(fix: Fix) -> tuple[int, int]:
    start = min(edit.span.start for edit in fix.edits)
    end = max(edit.span.end for edit in fix.edits)
    return start, -end


def _compatible(one: Edit, other: Edit) -> bool:
    if not one.span.overlaps(other.span):
        return True
    outer, inner = (one, other) if one.span.contains(other.span) else (other, one)
    if not outer.span.contains(inner.span):
        return False
    if outer.span == inner.span:
        return False
    match outer:
        case Expression() | Statement():
            return any(hole.contains(inner.span) for hole in outer.holes)
        case Arguments() | Members():
            return True  # what is dropped carries no edits: rules protect it
        case _:
            return False
