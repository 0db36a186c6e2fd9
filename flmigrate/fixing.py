"""The fixes of one file, round by round: which are made, what comes of them, what is undone.

``engine.py`` looks at a file and asks here what becomes of its findings. Nothing is written.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from flmigrate.analysis.context import Context
from flmigrate.analysis.project import Fact
from flmigrate.analysis.source import Source, position_in
from flmigrate.findings import (
    Applicability,
    Branch,
    Finding,
    Fix,
    Import,
    Removal,
    Span,
    Statement,
)
from flmigrate.origins import origin

_WORD = re.compile(r"[^\W\d]\w*")
_REMOVING = (Branch, Import, Removal, Statement)
"""Edits that may take a binding away."""
_IMPORT = "FL301"


@dataclass(slots=True, eq=False)
class Progress:
    """How far a file has come.

    ``applied`` are the fixes of the last round, ``kinds`` the types of all edits so far;
    ``postponed`` says that the last round left fixes to the next, ``refused`` of fixes that are
    not made why. ``tree`` is that of ``text`` where it is known.
    """

    text: str
    unnoted: str = ""
    fixed: list[Finding] = field(default_factory=list)
    applied: list[tuple[Finding, Fix]] = field(default_factory=list)
    kinds: set[type] = field(default_factory=set)
    postponed: bool = False
    refused: dict[tuple[str, str], str] = field(default_factory=dict)
    edited: list[tuple[Span, ...]] = field(default_factory=list)
    rounds: list[Sequence[tuple[Span, str]]] = field(default_factory=list)
    tree: ast.Module | None = None
    pending: set[Fact] = field(default_factory=set)


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


def applicable(
    findings: Sequence[Finding], state: Progress, *, unsafe: bool
) -> Iterator[tuple[Finding, Fix]]:
    """The fixes that may be made: not refused before, and unsafe only if ``unsafe`` says so."""
    for finding in findings:
        fix = finding.fix
        if fix is None or not fix.edits:
            continue
        if fix.applicability is Applicability.UNSAFE and not unsafe:
            continue
        if key_of(finding, fix) not in state.refused:
            yield finding, fix


def key_of(finding: Finding, fix: Fix) -> tuple[str, str]:
    """By what a refused fix is known when it is proposed again."""
    return finding.code, fix.title + str(finding.line)


def apply(
    context: Context, original: Source, chosen: list[tuple[Finding, Fix]], state: Progress
) -> None:
    """Make the fixes of a round, without those that turn out not to be possible.

    ``original`` is the file before the first round, in which fixed findings have their places.
    """
    from flmigrate.codemods.errors import EditError  # with LibCST, which only a rewrite needs
    from flmigrate.codemods.islands import apply_edits

    pending = list(chosen)
    state.applied, state.tree = [], None
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
            pending = [p for p in pending if p not in culprits]
            if not culprits or not (state.fixed or any(f.code != _IMPORT for f, _ in pending)):
                pending = []  # the import of the target is for what was moved
            continue
        state.applied = pending
        state.kinds.update(edit.__class__ for edit in edits)
        for finding, fix in pending:
            spans = tuple(origin(edit.span, state.rounds) for edit in fix.edits)
            state.edited.append(spans)
            state.fixed.append(moved(finding, origin(finding.span, state.rounds), original.starts))
        state.rounds.append(applied.changes)
        state.text, state.tree = applied.text, applied.tree
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
        state.tree = None
        state.text = before.source.text
    return bool(causes)


def _bound_in(context: Context, span: Span, lost: Mapping[str, frozenset[str]]) -> Iterator[str]:
    """Which of the ``lost`` names, by the path of their scope, get a value inside ``span``."""
    for scope in context.scopes.all():
        for name in lost.get(context.names.scope_path(scope), ()):
            for binding in scope.bindings.get(name, ()):
                if span.contains(context.source.span(binding.node)):
                    yield name


def moved(finding: Finding, span: Span, starts: Sequence[int]) -> Finding:
    """The finding at another place, in another text, whose lines start at ``starts``."""
    line, column = position_in(starts, span.start)
    end_line = line + finding.end_line - finding.line
    return finding._replace(span=span, line=line, column=column, end_line=end_line)
