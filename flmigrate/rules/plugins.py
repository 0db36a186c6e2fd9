"""FL302: vendor plug-ins, ``import torch_npu``.

Importing one claims PyTorch's one slot for a device from outside. The target needs that slot:
with both, the process aborts. So the import goes, with everything that only it was needed
for, and an import that has to stay is an error.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flmigrate.analysis.context import Context
from flmigrate.findings import Branch, Finding, Fix, Import, Severity
from flmigrate.rules.lost_names import unbinds


def check(context: Context) -> Iterator[Finding]:
    """Findings for every import of a served vendor's plug-in."""
    for kind in (ast.Import, ast.ImportFrom):
        for statement in context.scopes.nodes[kind]:
            yield from _statement(context, statement)


def _statement(context: Context, statement: ast.Import | ast.ImportFrom) -> Iterator[Finding]:
    guard = context.scopes.parents.get(statement)
    if isinstance(guard, ast.Try):
        fix = _without_guard(context, guard, statement)
        if fix is not None:
            message = "this import fails on the target; what stands for it stays"
            yield context.finding("FL302", message, statement, severity=Severity.ERROR, fix=fix)
            context.protect(guard)
            return
    plugins = context.vocabulary.plugins
    gone: list[str] = []
    needed: list[str] = []
    for alias in statement.names:
        module = alias.name
        if isinstance(statement, ast.ImportFrom):
            module = context.scopes.absolute(statement)
        if module.partition(".")[0] not in plugins:
            continue
        (needed if _is_needed(context, statement, alias) else gone).append(alias.name)
    if needed:
        module = needed[0]
        if isinstance(statement, ast.ImportFrom):
            module = context.scopes.absolute(statement)
        message = (
            f"{module.partition('.')[0]} claims the device slot that "
            f"{context.vocabulary.target.title} needs; the process would abort"
        )
        yield context.finding("FL302", message, statement, severity=Severity.ERROR, note=True)
    if not gone:
        return
    message = f"the plug-in import of {', '.join(gone)} goes"
    fix = Fix("Remove the plug-in import", (_removal(context, statement, gone, bool(needed)),))
    yield context.finding("FL302", message, statement, severity=Severity.ERROR, fix=fix)


def _without_guard(context: Context, guard: ast.Try, statement: ast.stmt) -> Fix | None:
    """``try: import torch_npu ... except ImportError: ...``: only the handler runs there."""
    settled = context.predicates.settled
    if guard.body[0] is not statement or guard.finalbody or not settled.fails(statement):
        return None
    handler = settled.catcher(guard)
    if handler is None or isinstance(handler.body[-1], ast.Raise) or context.is_protected(guard):
        return None
    if handler.name is not None and context.reads_of(handler.name, handler):
        return None
    if unbinds(context, guard, [*guard.body, *guard.orelse]):
        return None
    arms = () if _is_silent(handler) else ((1 + guard.handlers.index(handler), None),)
    return Fix("Take the handler", (Branch(context.source.span(guard), arms),))


def _removal(
    context: Context, statement: ast.Import | ast.ImportFrom, gone: list[str], some_stay: bool
) -> Import | Branch:
    """Remove the import; a guard around nothing else goes with it."""
    guard = context.scopes.parents.get(statement)
    whole = len(gone) == len(statement.names) and not some_stay
    if whole and isinstance(guard, ast.Try) and guard.body == [statement]:
        silent = all(_is_silent(h) for h in guard.handlers)
        if silent and not guard.orelse and not guard.finalbody:
            return Branch(context.source.span(guard))
    if whole and isinstance(guard, ast.If) and guard.body == [statement]:
        parent = context.scopes.parents.get(guard)
        is_elif = isinstance(parent, ast.If) and guard in parent.orelse
        if not guard.orelse and not is_elif and _only_asks(context, guard.test):
            return Branch(context.source.span(guard))
    return Import(context.source.span(statement), remove=tuple(gone))


def _only_asks(context: Context, test: ast.expr) -> bool:
    """Whether a test does nothing but call probes such as ``is_npu_available()``."""
    if isinstance(test, ast.BoolOp):
        return all(_only_asks(context, value) for value in test.values)
    if isinstance(test, ast.Call):
        name = test.func.attr if isinstance(test.func, ast.Attribute) else ""
        name = test.func.id if isinstance(test.func, ast.Name) else name
        return name.startswith("is_") and all(isinstance(a, ast.Constant) for a in test.args)
    return isinstance(test, ast.Name)


def _is_silent(handler: ast.ExceptHandler) -> bool:
    return all(isinstance(statement, ast.Pass) for statement in handler.body)


def _is_needed(context: Context, statement: ast.Import | ast.ImportFrom, alias: ast.alias) -> bool:
    """Whether the bound name is still read for something that has no counterpart."""
    name = alias.asname or alias.name.partition(".")[0]
    scope = context.scopes.around(statement)
    if alias.name == "*":
        return False
    bindings = scope.bindings.get(name, [])
    guard = context.names.enclosing(statement, ast.Try, ast.If)
    if guard is not None and len(bindings) > 1:
        return True  # ``except ImportError: torch_npu = None``: a flag, which branches ask
    if isinstance(guard, ast.Try) and not (
        guard.body == [statement] and all(_is_silent(h) for h in guard.handlers)
    ):
        return True  # the import decides which way the guard goes
    return not all(_is_rewritten(context, use) for use in scope.loads.get(name, ()))


def _is_rewritten(context: Context, use: ast.Name) -> bool:
    node: ast.AST = use
    while isinstance(node, ast.Name | ast.Attribute):
        reference = context.reference_at.get(node)
        if reference is not None:
            entry = reference.entry
            return (
                entry is not None
                and entry.status not in ("none", "keep")
                and not entry.capability
                and reference.certain
            )
        node = context.scopes.parents[node]
    return False
