"""FL116: environment variables that one vendor's runtime reads, ``CUDA_VISIBLE_DEVICES``.

The target has no variable of its own: each chip's runtime reads its vendor's. Renaming one
would be wrong on every other chip, so this rule only points at the place.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flmigrate.analysis.context import Context
from flmigrate.findings import Finding, Severity

_READERS = frozenset(
    {"get", "pop", "setdefault", "getenv", "putenv", "unsetenv", "setenv", "delenv"}
)


def check(context: Context) -> Iterator[Finding]:
    """Findings for reads and writes of such variables."""
    for node in context.scopes.nodes[ast.Constant]:
        if not isinstance(node.value, str):
            continue
        vendor = context.vocabulary.environment.get(node.value)
        if vendor is None or not _is_used(context, node):
            continue
        yield _finding(context, node.value, vendor.title, node)
    for call in context.scopes.nodes[ast.Call]:
        for keyword in call.keywords:
            vendor = context.vocabulary.environment.get(keyword.arg or "")
            if vendor is not None:
                yield _finding(context, keyword.arg or "", vendor.title, keyword)


def _finding(context: Context, name: str, vendor: str, node: ast.AST) -> Finding:
    message = f"{name} is read by the runtime of {vendor} only"
    return context.finding("FL116", message, node, severity=Severity.INFO)


def _is_used(context: Context, node: ast.Constant) -> bool:
    parent = context.scopes.parents.get(node)
    if isinstance(parent, ast.Subscript | ast.Compare):
        return True
    if isinstance(parent, ast.Dict):
        return node in parent.keys
    if isinstance(parent, ast.Call):
        name = parent.func.attr if isinstance(parent.func, ast.Attribute) else ""
        name = parent.func.id if isinstance(parent.func, ast.Name) else name
        return name in _READERS
    return False
