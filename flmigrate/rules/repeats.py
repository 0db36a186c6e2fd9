"""Findings that only repeat what others say: imports whose uses are reported.

``rewrite`` needs both, since both are edited. Who reads a list of findings wants to know where
vendor API is used; the import goes with its uses.
"""

from __future__ import annotations

import ast
import bisect
from collections.abc import Sequence

from flmigrate.analysis.context import Context
from flmigrate.findings import Finding, Import


def without_repeats(context: Context, findings: Sequence[Finding]) -> list[Finding]:
    """The findings but for those about imports of API whose uses others report."""
    statements = {
        context.source.span(node).start: node
        for kind in (ast.Import, ast.ImportFrom)
        for node in context.scopes.nodes[kind]
    }
    places = sorted(finding.span.start for finding in findings)
    kept = []
    for finding in findings:
        statement = statements.get(finding.span.start)
        moved = _moved(finding)
        if statement is not None and moved:
            if all(_is_reported(context, statement, name, places) for name in moved):
                continue
        kept.append(finding)
    return kept


def _moved(finding: Finding) -> tuple[str, ...]:
    """The names, as the statement writes them, that FL101 moves; empty for other findings."""
    if finding.code != "FL101" or finding.fix is None:
        return ()
    names: list[str] = []
    for edit in finding.fix.edits:
        if not isinstance(edit, Import):
            return ()
        names += [*edit.remove, *(old for old, _, _ in edit.move)]
    return tuple(names)


def _is_reported(
    context: Context, statement: ast.Import | ast.ImportFrom, name: str, places: Sequence[int]
) -> bool:
    """Whether a finding starts at some use of what the statement imports as ``name``."""
    scopes, source = context.scopes, context.source
    local = next((a.asname or a.name for a in statement.names if a.name == name), name)
    scope = scopes.around(statement)
    owner = scope.owner(local) or scope
    for use in owner.loads.get(local, ()):
        span = source.span(_spoken_of(context, use))
        at = bisect.bisect_left(places, span.start)
        if at < len(places) and places[at] < span.end:
            return True
    return False


def _spoken_of(context: Context, use: ast.Name) -> ast.AST:
    """The chain that a name begins, with the calls in it."""
    node: ast.AST = use
    parent = context.scopes.parents.get(node)
    while isinstance(parent, ast.Attribute) or (
        isinstance(parent, ast.Call) and parent.func is node
    ):
        node, parent = parent, context.scopes.parents.get(parent)
    return node
