"""FL201: enumerations whose values name vendors.

    class Device(str, Enum):
        CUDA = "cuda"
        NPU = "npu"

A value is what a member is looked up by, in configurations too, and two members that become equal
are one. So the values stay, and it is said that they do.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flmigrate.analysis.context import Context
from flmigrate.findings import Finding, Severity


def enumerations(context: Context) -> Iterator[Finding]:
    """One finding for each class that keeps the names of served vendors as its members' values."""
    for node in context.scopes.nodes[ast.ClassDef]:
        if not any(ast.unparse(base).endswith(("Enum", "Flag")) for base in node.bases):
            continue
        values = [value for value in _values(node) if context.predicates.device_type(value)]
        kinds = [context.predicates.device_type(value) for value in values]
        named = sorted({kind for kind in kinds if kind in context.vocabulary.device_types})
        if named:
            message = f"values of an enumeration name {', '.join(named)}; they stay as they are"
            first = next(v for v, kind in zip(values, kinds, strict=True) if kind in named)
            yield context.finding("FL201", message, first, severity=Severity.INFO)


def _values(node: ast.ClassDef) -> Iterator[ast.expr]:
    for statement in node.body:
        if isinstance(statement, ast.Assign):
            yield statement.value
