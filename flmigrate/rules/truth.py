"""Whether only the truth of an expression matters."""

from __future__ import annotations

import ast
import re

from flmigrate.analysis.context import Context


def is_tested(context: Context, node: ast.expr) -> bool:
    """Whether only the truth of an expression matters where it stands."""
    current: ast.AST = node
    parent = context.scopes.parents.get(current)
    while isinstance(parent, ast.BoolOp) or (
        isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not)
    ):
        if isinstance(parent, ast.UnaryOp):
            return True
        current, parent = parent, context.scopes.parents.get(parent)
    if isinstance(parent, ast.If | ast.IfExp | ast.While | ast.Assert):
        return parent.test is current
    return isinstance(parent, ast.comprehension) and current in parent.ifs


def is_truth(context: Context, value: ast.expr) -> bool:
    """Whether an expression is true or false, and nothing else."""
    if isinstance(value, ast.Compare):
        return True
    if isinstance(value, ast.Attribute):
        words = (*context.vocabulary.attributes, context.vocabulary.target.attribute)
        return value.attr in words
    if isinstance(value, ast.UnaryOp):
        return isinstance(value.op, ast.Not)
    if isinstance(value, ast.BoolOp):
        return all(is_truth(context, part) for part in value.values)
    if isinstance(value, ast.Call):
        name = context.names.called_name(value)
        known = ("isinstance", "hasattr", "bool", "any", "all", "startswith", "callable")
        return name in known or re.fullmatch(r"_*is_\w+", name) is not None
    return isinstance(value, ast.Constant) and isinstance(value.value, bool)
