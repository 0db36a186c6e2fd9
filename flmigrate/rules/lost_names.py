"""What a function loses with a suite that goes, beside what the suite does."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from flmigrate.analysis.context import Context


def unbinds(context: Context, top: ast.stmt, suite: Sequence[ast.stmt]) -> bool:
    """Whether a name that is read elsewhere gets its value in this suite alone."""
    inside = {node for statement in suite for node in ast.walk(statement)}
    for node in inside:
        if isinstance(node, ast.Import | ast.ImportFrom):
            targets: list[tuple[str, ast.AST]] = [
                (alias.asname or alias.name.partition(".")[0], alias) for alias in node.names
            ]
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            targets = [(node.id, node)]
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            targets = [(node.name, node)]
        else:
            continue
        scope = context.scopes.around(top)
        for name, _ in targets:
            owner = scope.owner(name)
            bindings = owner.bindings[name] if owner is not None else []
            elsewhere = [b for b in bindings if b.node not in inside]
            reads = owner.loads.get(name, []) if owner is not None else []
            if not elsewhere and any(read not in inside for read in reads):
                return True
    return False


def makes_generator(context: Context, suite: Sequence[ast.stmt]) -> bool:
    """Whether a function is a generator for the sake of this suite, and others that never run."""
    inside = {n for s in suite for n in ast.walk(s) if isinstance(n, ast.Yield | ast.YieldFrom)}
    if not inside:
        return False
    function = context.names.enclosing(suite[0], ast.FunctionDef)
    yields = (n for n in ast.walk(function or suite[0]) if isinstance(n, ast.Yield | ast.YieldFrom))
    return all(node in inside or context.predicates.settled.is_dead(node) for node in yields)
