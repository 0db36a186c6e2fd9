"""FL114: keys of ``torch.cuda.memory_stats()``, which the target spells in its own way."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flmigrate.analysis.context import Context
from flmigrate.findings import Finding, Fix, Text

_STATS = ("torch.cuda.memory_stats", "torch.cuda.memory.memory_stats")
_SUFFIXES = (".current", ".peak", ".allocated", ".freed")


def check(context: Context) -> Iterator[Finding]:
    """Findings for keys read from the value of ``memory_stats``."""
    keys = context.vocabulary.target.memory_stats_keys
    namespace = context.vocabulary.target.namespace
    for node in context.scopes.nodes[ast.Constant]:
        if not isinstance(node.value, str) or not _is_key(node.value, keys):
            continue
        if not _read_from_stats(context, node, namespace):
            continue
        new = keys.get(node.value)
        if new == node.value:
            continue
        if new:
            fix = Fix(f'Read "{new}"', (Text(context.source.span(node), node.value, new),))
            message = f'the key "{node.value}" is "{new}" on the target'
            yield context.finding("FL114", message, node, fix=fix)
        else:
            message = f'memory_stats has no key "{node.value}" on the target'
            yield context.finding("FL114", message, node, note=True)


def _is_key(text: str, keys: object) -> bool:
    assert isinstance(keys, object)
    known = text in keys  # type: ignore[operator]
    return known or (text.endswith(_SUFFIXES) and text.count(".") == 2)


def _read_from_stats(context: Context, node: ast.Constant, namespace: str) -> bool:
    parent = context.scopes.parents.get(node)
    container: ast.expr | None = None
    if isinstance(parent, ast.Subscript) and parent.slice is node:
        container = parent.value
    elif isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute):
        if parent.func.attr == "get" and parent.args[:1] == [node]:
            container = parent.func.value
    return container is not None and _is_stats(context, container, namespace)


def _is_stats(context: Context, node: ast.expr, namespace: str) -> bool:
    if isinstance(node, ast.Call):
        path = context.vocabulary.canonical(context.names.resolve(node.func).only)
        return path in _STATS or path == f"{namespace}.memory_stats"
    if isinstance(node, ast.Name):
        owner = context.scopes.binder(node)
        if owner is None:
            return False
        values = [b.value for b in owner.bindings[node.id] if b.kind == "assign"]
        return any(isinstance(v, ast.Call) and _is_stats(context, v, namespace) for v in values)
    return False
