"""Which fixes of a file are made in one round: those that lie apart, or in what others keep."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from flmigrate.analysis.source import Source
from flmigrate.findings import (
    Arguments,
    Branch,
    Edit,
    Expression,
    Finding,
    Fix,
    Members,
    Span,
    Statement,
)

Chosen = tuple[Finding, Fix]


def have(chosen: Sequence[Chosen], kind: type) -> bool:
    """Whether some fixes make edits of a kind."""
    return any(isinstance(edit, kind) for _, fix in chosen for edit in fix.edits)


def choose(candidates: Iterable[Chosen], source: Source) -> tuple[list[Chosen], bool]:
    """The fixes that can be made together, and whether others are left to the next round.

    Where two overlap the enclosing one wins; the inner place is found again next time. In arms
    that a branch keeps, code is edited before it moves; but where another branch is inside, that
    one is decided first.
    """
    ordered = sorted(candidates, key=lambda pair: _extent(pair[1]))
    branches = [pair for pair in ordered if have([pair], Branch)]
    others = [pair for pair in ordered if not have([pair], Branch)]
    if not branches:
        chosen = _together(others)
        return chosen, len(chosen) < len(others)
    chosen = _together(branches)
    moves = _Moves.of(chosen, [pair for pair in branches if pair not in chosen], source)
    fates = [(pair, {moves.fate(edit.span) for edit in pair[1].edits}) for pair in others]
    stays = [pair for pair, fate in fates if fate == {"stays"}]
    goes = [pair for pair, fate in fates if fate == {"goes"}]
    chosen += _together(stays)
    return chosen, len(chosen) + len(goes) < len(ordered)


@dataclass(frozen=True, slots=True)
class _Moves:
    """What the branches of a round leave of the text: ``taken`` and ``waiting`` are the spans of
    those that are made and of those that are not, ``kept`` the arms that stay: header and suite.
    """

    taken: list[Span]
    waiting: list[Span]
    kept: list[tuple[Span, Span]]

    @staticmethod
    def of(taken: Sequence[Chosen], waiting: Sequence[Chosen], source: Source) -> _Moves:
        from flmigrate.codemods.branches import kept_arms  # what only a rewrite needs

        edits = [edit for _, fix in taken for edit in fix.edits]
        kept = [arm for e in edits if isinstance(e, Branch) for arm in kept_arms(source, e)]
        return _Moves(
            [edit.span for edit in edits],
            [edit.span for _, fix in waiting for edit in fix.edits],
            kept,
        )

    def fate(self, span: Span) -> str:
        """``stays`` where code can be edited in this round, ``goes`` where an arm takes it along,
        and ``waits`` where what becomes of it is seen in the next round."""
        if any(span.overlaps(other) for other in self.waiting):
            return "waits"
        around = [other for other in self.taken if span.overlaps(other)]
        if not around or any(suite.contains(span) for _, suite in self.kept):
            return "stays"
        reaches = any(span.overlaps(part) for arm in self.kept for part in arm)
        return "waits" if reaches or not around[0].contains(span) else "goes"


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
