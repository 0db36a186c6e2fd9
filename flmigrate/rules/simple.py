"""Code without an implementation of its own: it selects names, moves, synchronises or seeds."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from flmigrate.analysis.context import Context

_SIMPLE_METHODS = frozenset({"to", "cuda", "npu", "musa", "mlu", "gcu", "append", "add"})
_SIMPLE_CALLS = frozenset(
    "torch.device builtins.str builtins.int torch.distributed.init_process_group".split()
)
# What chooses whether a test runs: ``skipUnless(available, "why")(test)``.
_SKIPS = frozenset(
    "unittest.skip unittest.skipIf unittest.skipUnless pytest.mark.skip pytest.mark.skipif".split()
)


def is_simple(context: Context, suite: Sequence[ast.stmt]) -> bool:
    """Whether statements do no more than select names, move, synchronise or seed."""
    return all(_is_simple_statement(context, statement) for statement in suite)


def _is_simple_statement(context: Context, statement: ast.stmt) -> bool:
    match statement:
        case ast.Pass() | ast.Continue() | ast.Break():
            return True
        case ast.Import():
            return all(_is_of_torch(context, alias.name) for alias in statement.names)
        case ast.ImportFrom():
            return _is_of_torch(context, context.scopes.absolute(statement))
        case ast.Assign() | ast.AnnAssign():
            return statement.value is None or is_simple_value(context, statement.value)
        case ast.Return():
            return statement.value is None or is_simple_value(context, statement.value)
        case ast.Expr():
            return is_simple_value(context, statement.value)
        case ast.If():
            return is_simple(context, statement.body) and is_simple(context, statement.orelse)
        case ast.Try(finalbody=[]):
            handled = all(is_simple(context, handler.body) for handler in statement.handlers)
            tried = [*statement.body, *statement.orelse]
            return handled and is_simple(context, tried)
        case ast.With():
            items = statement.items
            simple = all(is_simple_value(context, item.context_expr) for item in items)
            named = any(item.optional_vars is not None for item in items)
            return simple and not named and is_simple(context, statement.body)
    return False


def _is_of_torch(context: Context, module: str) -> bool:
    """Whether a module is PyTorch's or a plug-in's; others hold implementations to choose from."""
    return module.partition(".")[0] in ("torch", *context.vocabulary.plugins)


def is_simple_value(context: Context, value: ast.expr) -> bool:
    match value:
        case ast.Constant() | ast.Name() | ast.Attribute() | ast.JoinedStr() | ast.Subscript():
            return True
        case ast.Tuple() | ast.List() | ast.Set():
            return all(is_simple_value(context, element) for element in value.elts)
        case ast.Dict():
            return all(is_simple_value(context, element) for element in value.values)
        case ast.Yield():
            return value.value is None or is_simple_value(context, value.value)
        case ast.BinOp(left=left, op=ast.Add() | ast.Mod(), right=right):
            is_text = isinstance(left, ast.JoinedStr) or (
                isinstance(left, ast.Constant) and isinstance(left.value, str)
            )
            return is_text and is_simple_value(context, right)
        case ast.Compare() | ast.BoolOp() | ast.UnaryOp():
            return context.predicates.is_pure(value)
        case ast.Call():
            arguments = [*value.args, *(keyword.value for keyword in value.keywords)]
            if not all(is_simple_value(context, argument) for argument in arguments):
                return False
            reference = context.reference_at.get(value.func)
            if reference is not None and reference.entry is not None:
                return reference.entry.status not in ("none", "keep")
            if isinstance(value.func, ast.Call):
                return context.names.resolve(value.func.func).only in _SKIPS and is_simple_value(
                    context, value.func
                )
            if context.names.resolve(value.func).only in _SIMPLE_CALLS | _SKIPS:
                return True
            if isinstance(value.func, ast.Attribute):
                if context.names.called_name(value) in _SIMPLE_METHODS:
                    return True
            body = _body_of(context, value)
            return body is not None and is_simple(context, body)
    return False


def _body_of(context: Context, call: ast.Call) -> list[ast.stmt] | None:
    """What a function of the file runs, if it can be no other function and calls none itself.

    Public methods may be another's to override.
    """
    found = context.slots.callee(call)
    if not isinstance(found, ast.FunctionDef) or found.decorator_list:
        return None
    is_method = isinstance(context.scopes.parents.get(found), ast.ClassDef)
    if is_method and not found.name.startswith("_"):
        return None
    for part in ast.walk(found):
        if isinstance(part, ast.Call):
            if context.slots.callee(part) is not None:
                return None
        elif isinstance(part, ast.Yield | ast.YieldFrom | ast.Global | ast.Nonlocal):
            return None
    return found.body


def only_acts(context: Context, suite: Sequence[ast.stmt]) -> bool:
    """Whether a suite synchronises, seeds, clears or imports, and gives no value to anything.

    An entry for the vendor in a table, ``EMPTY_CACHE["npu"] = ...``, is none that others read.
    """
    return all(_only_acts(context, statement) for statement in suite)


def _only_acts(context: Context, statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        body = _body_of(context, statement.value)
        return body is None or only_acts(context, body)
    simple = isinstance(statement, ast.Expr | ast.Pass | ast.Import)
    return simple or _is_entry(context, statement)


def _is_entry(context: Context, statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    [target] = statement.targets
    key = target.slice if isinstance(target, ast.Subscript) else None
    kind = context.predicates.device_type(key) if key is not None else ""
    vendor = context.vocabulary.vendors.vendor_of_device(kind)
    return vendor is not None and context.predicates.is_gone(vendor)


def is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and not isinstance(node.value, str)
