"""The fixes of one file, round by round: which are made, what comes of them, what is undone.

``engine.py`` looks at a file and asks here what becomes of its findings. Nothing is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from flmigrate.analysis.context import Context
from flmigrate.analysis.project import Fact
from flmigrate.analysis.source import Source
from flmigrate.findings import (
    Applicability,
    Arguments,
    Branch,
    Edit,
    Expression,
    Finding,
    Fix,
    Import,
    Members,
    Removal,
    Span,
    Statement,
)
from flmigrate.origins import origin

_WORD = re.compile(r"[^\W\d]\w*")
_REMOVING = (Branch, Import, Removal, Statement)
"""Edits that may take a binding away."""


@dataclass(slots=True, eq=False)
class Progress:
    """How far a file has come.

    ``applied`` are the fixes of the last round, ``kinds`` the types of all edits so far;
    ``refused`` says of fixes that are not made why.
    """

    text: str
    unnoted: str = ""
    fixed: list[Finding] = field(default_factory=list)
    applied: list[tuple[Finding, Fix]] = field(default_factory=list)
    kinds: set[type] = field(default_factory=set)
    refused: dict[tuple[str, str], str] = field(default_factory=dict)
    edited: list[tuple[Span, ...]] = field(default_factory=list)
    rounds: list[Sequence[tuple[Span, str]]] = field(default_factory=list)
    pending: set[Fact] = field(default_factory=set)


def have(chosen: Sequence[tuple[Finding, Fix]], kind: type) -> bool:
    """Whether some fixes make edits of a kind."""
    return any(isinstance(edit, kind) for _, fix in chosen for edit in fix.edits)


def brought_in(chosen: Sequence[tuple[Finding, Fix]]) -> set[str]:
    """Words that some fixes bring into the text: names that may be read again."""
    found: set[str] = set()
    for edit in (edit for _, fix in chosen for edit in fix.edits):
        for name in ("new", "template", "add", "move"):
            found.update(_WORD.findall(str(getattr(edit, name, ""))))
    return found


def text_of(finding: Finding, context: Context) -> str:
    """The text that the fix of a finding takes away or changes."""
    edits = finding.fix.edits if finding.fix is not None else ()
    return " ".join(context.source.text[edit.span.start : edit.span.end] for edit in edits)


def choose(
    findings: Sequence[Finding], state: Progress, *, unsafe: bool
) -> list[tuple[Finding, Fix]]:
    """The fixes of this round: applicable, not refused before, and compatible with each other.

    Unsafe ones are taken where ``unsafe`` says so. Where two overlap the enclosing one wins; the
    inner place is found again next time.
    """
    candidates = []
    for finding in findings:
        fix = finding.fix
        if fix is None or not fix.edits:
            continue
        if fix.applicability is Applicability.UNSAFE and not unsafe:
            continue
        if key_of(finding, fix) in state.refused:
            continue
        candidates.append((finding, fix))
    # Branches go first and alone: what they keep moves, and is looked at again in its new place.
    branches = [c for c in candidates if any(isinstance(e, Branch) for e in c[1].edits)]
    candidates = sorted(branches or candidates, key=lambda pair: _extent(pair[1]))
    chosen: list[tuple[Finding, Fix]] = []
    taken: list[Edit] = []
    for finding, fix in candidates:
        near = [edit for edit in taken if any(edit.span.overlaps(e.span) for e in fix.edits)]
        if all(_compatible(edit, other) for edit in fix.edits for other in near):
            chosen.append((finding, fix))
            taken.extend(fix.edits)
    return chosen


def key_of(finding: Finding, fix: Fix) -> tuple[str, str]:
    """By what a refused fix is known when it is proposed again."""
    return finding.code, fix.title + str(finding.line)


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


def apply(
    context: Context, original: Source, chosen: list[tuple[Finding, Fix]], state: Progress
) -> None:
    """Make the fixes of a round, without those that turn out not to be possible.

    ``original`` is the file before the first round, in which fixed findings have their places.
    """
    from flmigrate.codemods.errors import EditError  # with LibCST, which only a rewrite needs
    from flmigrate.codemods.islands import apply_edits

    pending = list(chosen)
    state.applied = []
    while pending:
        edits = [edit for _, fix in pending for edit in fix.edits]
        try:
            applied = apply_edits(context.source.text, context.source.tree, edits)
        except EditError as error:
            culprits = [p for p in pending if any(e.span.overlaps(error.span) for e in p[1].edits)]
            for finding, fix in culprits or pending:
                state.refused[key_of(finding, fix)] = ""
            if any(isinstance(e, Import) and e.move for _, fix in culprits for e in fix.edits):
                return  # what uses the name is to be looked at again, as it stays
            pending = [p for p in pending if p not in culprits] if culprits else []
            continue
        state.applied = pending
        state.kinds.update(edit.__class__ for edit in edits)
        for finding, fix in pending:
            spans = tuple(origin(edit.span, state.rounds) for edit in fix.edits)
            state.edited.append(spans)
            state.fixed.append(moved(finding, origin(finding.span, state.rounds), original))
        state.rounds.append(applied.changes)
        state.text = applied.text
        return


def take_back(before: Context, after: Context, state: Progress) -> bool:
    """Undo the last round if names lost the value that they are read for, and refuse its causes.

    The rounds that follow do without; that they do is what ends them.
    """
    applied, state.applied = state.applied, []
    if not any(isinstance(e, _REMOVING) for _, fix in applied for e in fix.edits):
        return False
    from flmigrate.analysis.assignment import unassigned  # what only a rewrite needs

    lost = unassigned(before, after)
    causes = []
    for finding, fix in applied:
        names = {name for edit in fix.edits for name in _bound_in(before, edit.span, lost)}
        if names:
            causes.append(key_of(finding, fix))
            state.refused[causes[-1]] = f"without it, {min(names)} would be read without a value"
    if causes:
        state.fixed = state.fixed[: -len(applied)]
        state.edited = state.edited[: -len(applied)]
        state.rounds.pop()
        state.text = before.source.text
    return bool(causes)


def _bound_in(context: Context, span: Span, lost: Mapping[str, frozenset[str]]) -> Iterator[str]:
    """Which of the ``lost`` names, by the path of their scope, get a value inside ``span``."""
    for scope in context.scopes.all():
        for name in lost.get(context.names.scope_path(scope), ()):
            for binding in scope.bindings.get(name, ()):
                if span.contains(context.source.span(binding.node)):
                    yield name


def moved(finding: Finding, span: Span, source: Source) -> Finding:
    """The finding at another place, in another text."""
    line, column = source.position(span.start)
    end_line = line + finding.end_line - finding.line
    return finding._replace(span=span, line=line, column=column, end_line=end_line)
