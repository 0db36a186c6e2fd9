"""FL201: branches whose test the target decides.

``is_npu_available()`` is false wherever the canonical vendor's code runs, so what only runs
behind it never runs. Such an arm goes, if that loses nothing: it selects names, moves,
synchronises or seeds, or says what another arm says. An arm that does anything else is another
implementation or a work-around for a chip; it stays, and is reported.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flmigrate.analysis.context import Context
from flmigrate.rules.decided_arms import look_at_cases, look_at_chain
from flmigrate.rules.decided_loops import look_at_filters, look_at_loop
from flmigrate.rules.decided_skips import look_at_skips
from flmigrate.rules.decided_values import look_at_assertion, look_at_choice, look_at_operands
from flmigrate.rules.decisions import Decided


def look(context: Context) -> Decided:
    """Look at every condition of a file that names a vendor which the target never is."""
    decided = Decided()
    if not context.names_gone_vendor:
        return decided
    for kind in (ast.If, ast.IfExp, ast.Assert):
        for node in sorted(context.scopes.nodes[kind], key=context.source.start):
            if isinstance(node, ast.If):
                look_at_chain(context, node, decided)
            elif isinstance(node, ast.IfExp):
                look_at_choice(context, node, decided)
            else:
                look_at_assertion(context, node, decided)
    look_at_skips(context, decided)
    joined = (*context.scopes.nodes[ast.BoolOp], *_any_and_all(context))
    for node in sorted(joined, key=context.source.start):
        look_at_operands(context, node, decided)
    for node in context.scopes.nodes[ast.Match]:
        look_at_cases(context, node, decided)
    for loop in context.scopes.nodes[ast.While]:
        look_at_loop(context, loop, decided)
    for part in context.scopes.nodes[ast.comprehension]:
        look_at_filters(context, part, decided)
    return decided


def _any_and_all(context: Context) -> Iterator[ast.Call]:
    """The calls ``any([...])`` and ``all([...])`` of a file."""
    for call in context.scopes.nodes[ast.Call]:
        if isinstance(call.func, ast.Name) and call.func.id in ("any", "all"):
            yield call
