"""FL204: what only the rewrite made unreachable.

    if not torch.npu.is_available():
        return "nccl"                    ->  return "flagos"
    return "hccl"

Where an ``if`` dissolves and its ``return`` is left, what follows can never run. It goes, unless
it makes the function what it is: a ``yield`` makes a generator of it, and a name that is set
nowhere else is local because it is set there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from flmigrate.analysis.bindings import Scope
from flmigrate.analysis.context import Context
from flmigrate.analysis.reachability import unreached
from flmigrate.findings import Finding, Fix, Removal, Severity

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def check(before: Context, after: Context) -> Iterator[Finding]:
    """Findings for what can never run in ``after``, in functions of which all could ``before``."""
    had_some = {
        before.names.qualified_name(function)
        for function in _functions(before)
        if any(True for _ in unreached(function))
    }
    for function in _functions(after):
        if after.names.qualified_name(function) not in had_some:
            for run in unreached(function):
                if _may_go(after, function, run):
                    yield _finding(after, run)


def _functions(context: Context) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for kind in _FUNCTIONS:
        yield from context.scopes.nodes[kind]


def _may_go(
    context: Context, function: ast.FunctionDef | ast.AsyncFunctionDef, run: Sequence[ast.stmt]
) -> bool:
    """Whether a function stays what it is without some of its statements."""
    for statement in run:
        span = context.source.span(statement)
        if any(protected.overlaps(span) for protected in context.protected):
            return False
        if not context.source.has_own_lines(statement):
            return False
    inside = {node for statement in run for node in ast.walk(statement)}
    own = {node for node in inside if context.scopes.around(node) is _scope(context, function)}
    if any(isinstance(node, ast.Global | ast.Nonlocal) for node in own):
        return False
    if _yields(context, own) and not _yields(context, set(ast.walk(function)) - inside, function):
        return False
    return not _makes_local(context, function, inside)


def _scope(context: Context, function: ast.AST) -> Scope:
    return context.scopes.scope_of[function]


def _yields(context: Context, nodes: set[ast.AST], function: ast.AST | None = None) -> bool:
    """Whether a ``yield`` is among some nodes, or among those of a function's own scope."""
    return any(
        isinstance(node, ast.Yield | ast.YieldFrom)
        and (function is None or context.scopes.around(node) is _scope(context, function))
        for node in nodes
    )


def _makes_local(context: Context, function: ast.AST, inside: set[ast.AST]) -> bool:
    """Whether a name that is used elsewhere is bound nowhere else in the function."""
    scope = context.scopes.scope_of[function]
    declared = {
        name for other in context.scopes.all() if other.node not in inside for name in other.outer
    }
    for name, bindings in scope.bindings.items():
        # ``nonlocal`` in a function inside sets the name, but does not make it one of this scope.
        own = [b.node for b in bindings if _stands_in(context, b.node) is scope]
        if inside.issuperset(own):
            if name in declared or any(r not in inside for r in scope.loads.get(name, ())):
                return True
    return False


def _stands_in(context: Context, node: ast.AST) -> Scope:
    return context.scopes.around(context.scopes.parents[node])


def _finding(context: Context, run: Sequence[ast.stmt]) -> Finding:
    edits = tuple(Removal(context.source.span(statement)) for statement in run)
    fix = Fix("Remove what cannot be reached", edits)
    message = "what follows can never run any more"
    return context.finding("FL204", message, run[0], severity=Severity.INFO, fix=fix)
