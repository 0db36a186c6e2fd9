"""FL202: code for vendors that the target does not serve (mps, xpu, hpu, xla, ...).

It is kept as it is. Dropping hardware that the target cannot serve is the user's decision.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flmigrate.analysis.context import Context
from flmigrate.findings import Finding, Severity
from flmigrate.tables import Vendor


def check(context: Context) -> Iterator[Finding]:
    """One finding for each import or API reference that belongs to such a vendor."""
    vocabulary = context.vocabulary
    unserved = [v for v in vocabulary.vendors.values() if v.name not in vocabulary.target.serves]
    roots = {name.partition(".")[0] for v in unserved for name in (*v.plugins, *v.libraries)}
    for kind in (ast.Import, ast.ImportFrom):
        for statement in context.scopes.nodes[kind]:
            for module in _modules(context, statement):
                if module.partition(".")[0] not in roots:
                    continue
                vendor = _owner(unserved, module, _PACKAGES)
                if vendor is not None:
                    yield _finding(context, statement, vendor, module)
                    break
    words = {name.partition(".")[2] for v in unserved for name in v.namespaces}
    words |= {word.partition(".")[0] for word in words}
    for node in context.scopes.nodes[ast.Attribute]:
        # ``torch.xpu`` itself, whatever follows it; resolving all other chains is wasted.
        if node.attr not in words or not isinstance(node.value, ast.Name):
            continue
        whole: ast.expr = node
        parent = context.scopes.parents.get(whole)
        while isinstance(parent, ast.Attribute):
            whole, parent = parent, context.scopes.parents.get(parent)
        path = context.names.resolve(whole).only
        vendor = _owner(unserved, path, ("namespaces",))
        if vendor is not None:
            yield _finding(context, whole, vendor, path)


_PACKAGES = ("plugins", "libraries")


def _modules(context: Context, statement: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(statement, ast.ImportFrom):
        return [context.scopes.absolute(statement)]
    return [alias.name for alias in statement.names]


def _owner(vendors: list[Vendor], path: str, fields: tuple[str, ...]) -> Vendor | None:
    for vendor in vendors:
        for field in fields:
            for name in getattr(vendor, field):
                if path == name or path.startswith(f"{name}."):
                    return vendor
    return None


def _finding(context: Context, node: ast.AST, vendor: Vendor, path: str) -> Finding:
    message = f"{path} belongs to {vendor.title}, which the target does not serve; it is kept"
    return context.finding("FL202", message, node, severity=Severity.INFO)
