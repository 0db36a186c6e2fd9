"""Where an expression needs parentheses to stay one.

The levels follow the grammar of Python 3.10 (``Grammar/python.gram``), from the loosest
binding to the tightest. Every place says how tightly what stands there must bind.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TypeVar

import libcst as cst

ExpressionT = TypeVar("ExpressionT", bound=cst.BaseExpression)

_TUPLE, _NAMED, _EXPRESSION, _OR, _AND, _NOT, _COMPARISON = range(7)
_BIT_OR, _BIT_XOR, _BIT_AND, _SHIFT, _SUM, _TERM, _FACTOR, _POWER = range(7, 15)
_AWAIT, _PRIMARY, _ATOM = range(15, 18)

_BINDING: dict[type[cst.BaseExpression], int] = {
    cst.Tuple: _TUPLE,
    cst.Yield: _TUPLE,
    cst.GeneratorExp: _TUPLE,
    cst.NamedExpr: _NAMED,
    cst.Lambda: _EXPRESSION,
    cst.IfExp: _EXPRESSION,
    cst.Comparison: _COMPARISON,
    cst.Await: _AWAIT,
    cst.Call: _PRIMARY,
    cst.Attribute: _PRIMARY,
    cst.Subscript: _PRIMARY,
}

_OPERATOR: dict[type[cst.CSTNode], int] = {
    cst.Or: _OR,
    cst.And: _AND,
    cst.Not: _NOT,
    cst.BitOr: _BIT_OR,
    cst.BitXor: _BIT_XOR,
    cst.BitAnd: _BIT_AND,
    cst.LeftShift: _SHIFT,
    cst.RightShift: _SHIFT,
    cst.Add: _SUM,
    cst.Subtract: _SUM,
    cst.Multiply: _TERM,
    cst.Divide: _TERM,
    cst.FloorDivide: _TERM,
    cst.Modulo: _TERM,
    cst.MatrixMultiply: _TERM,
    cst.Plus: _FACTOR,
    cst.Minus: _FACTOR,
    cst.BitInvert: _FACTOR,
    cst.Power: _POWER,
}

#: How tightly an expression must bind in a field of a node. Fields that are not listed take
#: atoms only, so that an unforeseen place gets parentheses rather than another meaning.
_REQUIRED: dict[tuple[type[cst.CSTNode], str], int] = {
    (cst.Attribute, "value"): _PRIMARY,
    (cst.Call, "func"): _PRIMARY,
    (cst.Subscript, "value"): _PRIMARY,
    (cst.Await, "expression"): _PRIMARY,
    (cst.Comparison, "left"): _BIT_OR,
    (cst.ComparisonTarget, "comparator"): _BIT_OR,
    (cst.IfExp, "body"): _OR,
    (cst.IfExp, "test"): _OR,
    (cst.IfExp, "orelse"): _EXPRESSION,
    (cst.Lambda, "body"): _EXPRESSION,
    (cst.Param, "default"): _EXPRESSION,
    (cst.Annotation, "annotation"): _EXPRESSION,
    (cst.NamedExpr, "value"): _EXPRESSION,
    (cst.Element, "value"): _EXPRESSION,
    (cst.StarredElement, "value"): _BIT_OR,
    (cst.DictElement, "key"): _EXPRESSION,
    (cst.DictElement, "value"): _EXPRESSION,
    (cst.StarredDictElement, "value"): _BIT_OR,
    (cst.ListComp, "elt"): _NAMED,
    (cst.SetComp, "elt"): _NAMED,
    (cst.GeneratorExp, "elt"): _NAMED,
    (cst.DictComp, "key"): _EXPRESSION,
    (cst.DictComp, "value"): _EXPRESSION,
    (cst.CompFor, "iter"): _OR,
    (cst.CompIf, "test"): _OR,
    (cst.Index, "value"): _NAMED,
    (cst.Slice, "lower"): _EXPRESSION,
    (cst.Slice, "upper"): _EXPRESSION,
    (cst.Slice, "step"): _EXPRESSION,
    (cst.Expr, "value"): _EXPRESSION,
    (cst.Assign, "value"): _EXPRESSION,
    (cst.AnnAssign, "value"): _EXPRESSION,
    (cst.AugAssign, "value"): _EXPRESSION,
    (cst.Return, "value"): _EXPRESSION,
    (cst.Yield, "value"): _EXPRESSION,
    (cst.From, "item"): _EXPRESSION,
    (cst.Raise, "exc"): _EXPRESSION,
    (cst.Assert, "test"): _EXPRESSION,
    (cst.Assert, "msg"): _EXPRESSION,
    (cst.For, "iter"): _EXPRESSION,
    (cst.If, "test"): _NAMED,
    (cst.While, "test"): _NAMED,
    (cst.WithItem, "item"): _EXPRESSION,
    (cst.Match, "subject"): _NAMED,
    (cst.Decorator, "decorator"): _NAMED,
    (cst.ExceptHandler, "type"): _EXPRESSION,
    (cst.ExceptStarHandler, "type"): _EXPRESSION,
    (cst.MatchValue, "value"): _PRIMARY,
    (cst.MatchClass, "cls"): _PRIMARY,
    (cst.AssignTarget, "target"): _PRIMARY,
    (cst.AnnAssign, "target"): _PRIMARY,
    (cst.AugAssign, "target"): _PRIMARY,
    (cst.For, "target"): _PRIMARY,
    (cst.CompFor, "target"): _PRIMARY,
    (cst.Del, "target"): _PRIMARY,
    (cst.TypeAlias, "value"): _EXPRESSION,
    (cst.TypeVar, "bound"): _EXPRESSION,
    (cst.AsName, "name"): _PRIMARY,
    (cst.MatchMappingElement, "key"): _PRIMARY,
}

#: Where a tuple needs no parentheses although an assignment expression would.
_TAKES_TUPLE = {
    (cst.Expr, "value"),
    (cst.Assign, "value"),
    (cst.AnnAssign, "value"),
    (cst.AugAssign, "value"),
    (cst.Return, "value"),
    (cst.Yield, "value"),
    (cst.For, "iter"),
    (cst.Match, "subject"),
    (cst.AssignTarget, "target"),
    (cst.For, "target"),
    (cst.CompFor, "target"),
    (cst.Del, "target"),
}
_TAKES_YIELD = {
    (cst.Expr, "value"),
    (cst.Assign, "value"),
    (cst.AnnAssign, "value"),
    (cst.AugAssign, "value"),
}

#: Places of expressions in f-strings and, where LibCST knows them, template strings.
_FIELDS: tuple[type[cst.CSTNode], ...] = (
    cst.FormattedStringExpression,
    *(
        getattr(cst, name)
        for name in ("TemplatedStringExpression",)  # since LibCST 1.8.3
        if hasattr(cst, name)
    ),
)

#: Nodes that stand between brackets, or are themselves a pair of them.
_BRACKETS: tuple[type[object], ...] = (
    cst.Arg,
    cst.BaseList,
    cst.BaseSet,
    cst.BaseDict,
    cst.SubscriptElement,
    *_FIELDS,
)


def binding(node: cst.BaseExpression) -> int:
    """How tightly an expression binds, its own parentheses counted."""
    if node.lpar:
        return _ATOM
    if isinstance(node, (cst.BooleanOperation, cst.UnaryOperation, cst.BinaryOperation)):
        return _OPERATOR[type(node.operator)]
    return _BINDING.get(type(node), _ATOM)


def field_of(parent: cst.CSTNode, child: cst.CSTNode) -> str:
    """The name of the field of ``parent`` that ``child`` is, or is an item of."""
    for entry in dataclasses.fields(parent):
        value = getattr(parent, entry.name)
        if value is child or (
            isinstance(value, Sequence)
            and not isinstance(value, str)
            and any(item is child for item in value)
        ):
            return entry.name
    raise LookupError(f"no child of {type(parent).__name__}")


def needs_parentheses(node: cst.BaseExpression, parent: cst.CSTNode, field: str) -> bool:
    """Whether ``node`` would be torn apart, or rejected, in that field of ``parent``."""
    if node.lpar:
        return False
    place = (type(parent), field)
    if isinstance(parent, _FIELDS):
        # The colon would start the format; tuples and yields need nothing here.
        return isinstance(node, (cst.Lambda, cst.NamedExpr))
    if isinstance(node, cst.Tuple):
        return place not in _TAKES_TUPLE
    if isinstance(node, cst.Yield):
        return place not in _TAKES_YIELD
    if isinstance(parent, cst.Attribute) and isinstance(node, cst.Integer):
        return True  # "1.real" is no number and no attribute
    return binding(node) < _required(parent, field)


def parenthesized_for(node: ExpressionT, parent: cst.CSTNode, field: str) -> ExpressionT:
    """``node``, in parentheses if it needs them in that field of ``parent``."""
    return parenthesized(node) if needs_parentheses(node, parent, field) else node


def parenthesized(node: ExpressionT) -> ExpressionT:
    """``node`` in one more pair of parentheses."""
    return node.with_changes(
        lpar=[cst.LeftParen(), *node.lpar], rpar=[*node.rpar, cst.RightParen()]
    )


def in_brackets(ancestors: Sequence[cst.CSTNode]) -> bool:
    """Whether a line may end at a node below ``ancestors`` (outermost first)."""
    found = False
    for position, node in enumerate(ancestors):
        if isinstance(node, cst.BaseSuite):
            found = False  # whatever brackets the header has
        elif isinstance(node, cst.With):
            found = isinstance(node.lpar, cst.LeftParen)
        elif isinstance(node, cst.Parameters):
            found = found or isinstance(ancestors[position - 1], cst.FunctionDef)
        elif isinstance(node, _BRACKETS) or (isinstance(node, cst.BaseExpression) and node.lpar):
            found = True
    return found


def _required(parent: cst.CSTNode, field: str) -> int:
    if isinstance(parent, cst.Arg):
        if parent.star:
            return _BIT_OR
        return _EXPRESSION if parent.keyword else _NAMED
    if isinstance(parent, (cst.BooleanOperation, cst.UnaryOperation)):
        return _OPERATOR[type(parent.operator)]
    if isinstance(parent, cst.BinaryOperation):
        level = _OPERATOR[type(parent.operator)]
        if level == _POWER:  # binds to the right, and a sign may follow it
            return _AWAIT if field == "left" else _FACTOR
        return level if field == "left" else level + 1
    return _REQUIRED.get((type(parent), field), _ATOM)
