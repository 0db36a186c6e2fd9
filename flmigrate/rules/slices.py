"""FL113: device strings taken apart by length, ``device[:4] == "cuda"`` and ``device[5:]``.

The length of the old name is baked into the slice, so the literal alone must not change.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flmigrate.analysis.context import Context
from flmigrate.findings import Expression, Finding, Fix


def check(context: Context) -> Iterator[Finding]:
    """Findings for slices whose bound is the length of a served device type."""
    lengths = {n for kind in context.vocabulary.device_types for n in (len(kind), len(kind) + 1)}
    for node in context.scopes.nodes[ast.Subscript]:
        if not isinstance(node.slice, ast.Slice) or node.slice.step is not None:
            continue
        lower, upper = _number(node.slice.lower), _number(node.slice.upper)
        if node.slice.lower is None and upper in lengths:
            if _is_device(context, node.value):
                yield from _prefix(context, node, context.scopes.parents.get(node), upper)
        elif node.slice.upper is None and lower in lengths:
            named = any(lower == len(kind) + 1 for kind in _types_named(context))
            if named and _is_device(context, node.value):
                yield _tail(context, node, lower)


def _is_device(context: Context, node: ast.expr) -> bool:
    return not context.is_foreign and context.devices.is_one(node)


def _tail(context: Context, node: ast.Subscript, lower: int) -> Finding:
    """``device[5:]``, the index behind ``"cuda:"``."""
    span, hole = context.source.span(node), context.source.span(node.value)
    # Without an index there is nothing behind the colon, and [1] would raise.
    template = '__0__.split(":")[1]' if _has_colon(context, node) else '__0__.partition(":")[2]'
    fix = Fix('Split at ":"', (Expression(span, template, (hole,)),))
    message = f"[{lower}:] skips the length of one vendor's device name"
    return context.finding("FL113", message, node, fix=fix)


def _has_colon(context: Context, node: ast.expr) -> bool:
    """Whether ``":" in device`` is asked before an expression is evaluated."""
    choice = context.names.enclosing(node, ast.IfExp)
    if not isinstance(choice, ast.IfExp) or not isinstance(choice.test, ast.Compare):
        return False
    asked = choice.test
    return (
        isinstance(asked.ops[0], ast.In)
        and isinstance(asked.left, ast.Constant)
        and asked.left.value == ":"
    )


def _prefix(
    context: Context, node: ast.Subscript, compare: ast.AST | None, upper: int
) -> Iterator[Finding]:
    """``device[:4] == "cuda"``, alone in its comparison."""
    if not isinstance(compare, ast.Compare) or len(compare.ops) != 1:
        return
    other = compare.comparators[0] if compare.left is node else compare.left
    if not isinstance(other, ast.Constant) or not isinstance(other.value, str):
        return
    kind, colon, rest = other.value.partition(":")
    if kind not in context.vocabulary.device_types or rest:
        return
    if len(str(other.value)) != upper or not isinstance(compare.ops[0], ast.Eq | ast.NotEq):
        return
    target = context.vocabulary.target
    quote = context.source.segment(other)[-1]
    name = f"{quote}{target.device_type}{colon}{quote}"
    if target.device_expression:
        name = target.device_expression if not colon else f'{target.device_expression} + ":"'
    negation = "not " if isinstance(compare.ops[0], ast.NotEq) else ""
    hole = context.source.span(node.value)
    template = f"{negation}__0__.startswith({name})"
    fix = Fix("Use startswith", (Expression(context.source.span(compare), template, (hole,)),))
    message = f"[:{upper}] is the length of one vendor's device name"
    yield context.finding("FL113", message, compare, fix=fix)


def _types_named(context: Context) -> frozenset[str]:
    # ``[5:]`` means "cuda:" where the file works with cuda, ``[4:]`` "npu:" where with npu.
    text = context.source.text
    return frozenset(kind for kind in context.vocabulary.device_types if kind in text)


def _number(node: ast.expr | None) -> int | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    return None
