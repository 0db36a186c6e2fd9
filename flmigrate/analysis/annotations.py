"""Annotations that are written as text: ``stream: "torch.cuda.Stream"``."""

from __future__ import annotations

import ast
from collections.abc import Mapping

# What may stand between the text and the annotation it is part of.
_INSIDE = (ast.Subscript, ast.Tuple, ast.List, ast.BinOp)


def parse_text(text: str) -> ast.expr | None:
    """The expression that the text of an annotation stands for, or ``None``."""
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def is_annotation(node: ast.AST, parents: Mapping[ast.AST, ast.AST]) -> bool:
    """Whether an expression is an annotation or the inner part of one.

    The values that ``Literal["cuda"]`` lists are not: they are strings and nothing else.
    """
    parent = parents.get(node)
    while isinstance(parent, _INSIDE):
        if isinstance(parent, ast.Subscript) and _is_literal(parent.value):
            return False
        node, parent = parent, parents.get(parent)
    if isinstance(parent, ast.arg | ast.AnnAssign):
        return parent.annotation is node
    return isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef) and parent.returns is node


def _is_literal(node: ast.expr) -> bool:
    return (isinstance(node, ast.Name) and node.id == "Literal") or (
        isinstance(node, ast.Attribute) and node.attr == "Literal"
    )
