"""Source with holes: ``__0__``, ``__1__``, ... stand for pieces of the replaced code."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

import libcst as cst

from flmigrate.codemods.errors import EditError
from flmigrate.codemods.precedence import (
    field_of,
    in_brackets,
    needs_parentheses,
    parenthesized,
)
from flmigrate.codemods.quotes import code_of
from flmigrate.codemods.site import Hole
from flmigrate.findings import Span

_HOLE = re.compile(r"__(\d+)__")
_NodeT = TypeVar("_NodeT", cst.BaseExpression, cst.Module)
Layout: TypeAlias = tuple[cst.Call, Callable[[cst.Call, cst.Call], cst.Call]]

_expression = functools.lru_cache(maxsize=512)(cst.parse_expression)


def parse_template(source: str, span: Span) -> cst.BaseExpression:
    """Parse the source of an expression; ``span`` is where it is to go."""
    try:
        return _expression(source.strip())
    except cst.ParserSyntaxError as error:
        raise EditError(f"{source!r} is not a Python expression", span) from error


def parse_argument(source: str, span: Span) -> cst.Arg:
    """Parse the source of one argument of a call, with its keyword or star if it has one."""
    call = parse_template(f"f({source})", span)
    if not isinstance(call, cst.Call) or len(call.args) != 1:
        raise EditError(f"{source!r} is not one argument", span)
    return call.args[0].with_changes(comma=cst.MaybeSentinel.DEFAULT)


def hole_number(node: cst.CSTNode) -> int | None:
    """Which hole a node of a template stands for, if it is one."""
    match = _HOLE.fullmatch(node.value) if isinstance(node, cst.Name) else None
    return int(match[1]) if match else None


def fill(
    template: _NodeT,
    holes: Sequence[Hole],
    span: Span,
    *,
    bracketed: bool,
    layout: Layout | None = None,
) -> tuple[_NodeT, set[int]]:
    """Put the holes' own code into a template; also tell which of them got parentheses.

    ``bracketed`` says that lines may end where the template goes. ``layout`` is one of its
    calls and what lays out the arguments of that call: a function of the call with holes
    and the filled one. Raises ``EditError`` when a hole cannot stand where the template
    wants it.
    """
    if not holes:
        return template, set()
    transformer = _Fill(holes, span, bracketed, layout)
    filled = template.visit(transformer)
    assert isinstance(filled, (cst.BaseExpression, cst.Module))
    return filled, transformer.parenthesized


def with_generators_apart(args: Sequence[cst.Arg]) -> list[cst.Arg]:
    """Arguments of one call, where only a sole one may be a generator without parentheses."""
    sole = len(args) == 1 and not isinstance(args[0].comma, cst.Comma)
    return [
        arg.with_changes(value=parenthesized(arg.value))
        if isinstance(arg.value, cst.GeneratorExp) and not arg.value.lpar and not sole
        else arg
        for arg in args
    ]


class _Fill(cst.CSTTransformer):
    def __init__(
        self, holes: Sequence[Hole], span: Span, bracketed: bool, layout: Layout | None
    ) -> None:
        super().__init__()
        self.layout = layout
        self.holes = holes
        self.span = span
        self.bracketed = bracketed
        self.ancestors: list[cst.CSTNode] = []
        self.parenthesized: set[int] = set()

    def on_visit(self, node: cst.CSTNode) -> bool:
        self.ancestors.append(node)
        return True

    def on_leave(  # type: ignore[override]
        self, original_node: cst.CSTNode, updated_node: cst.CSTNode
    ) -> cst.CSTNode:
        self.ancestors.pop()
        if isinstance(original_node, cst.Arg):
            assert isinstance(updated_node, cst.Arg)
            return self._argument(original_node, updated_node)
        if isinstance(original_node, cst.Call):
            assert isinstance(updated_node, cst.Call)
            if self.layout is not None and original_node is self.layout[0]:
                updated_node = self.layout[1](original_node, updated_node)
            return updated_node.with_changes(args=with_generators_apart(updated_node.args))
        number = hole_number(original_node)
        if number is None:
            return updated_node
        assert isinstance(original_node, cst.Name)
        return self._expression(original_node, number)

    def _hole(self, number: int) -> Hole:
        if number >= len(self.holes):
            raise EditError(f"the template has a hole too many: __{number}__", self.span)
        return self.holes[number]

    def _argument(self, original: cst.Arg, updated: cst.Arg) -> cst.Arg:
        """An argument that is one hole takes the keyword or star of the hole."""
        number = hole_number(original.value)
        argument = None if number is None else self._hole(number).argument
        if argument is None:
            return updated
        if original.star or original.keyword:
            if argument.star != original.star:
                raise EditError("a starred argument cannot become another", self.span)
            return updated
        return argument.with_changes(
            comma=updated.comma, whitespace_after_arg=updated.whitespace_after_arg
        )

    def _expression(self, name: cst.Name, number: int) -> cst.BaseExpression:
        hole = self._hole(number)
        value = hole.value
        parent = self.ancestors[-1] if self.ancestors else None
        if hole.argument is not None and hole.argument.star and not isinstance(parent, cst.Arg):
            raise EditError("a starred argument cannot become an expression", self.span)
        if not value.lpar:
            value = value.with_changes(lpar=name.lpar, rpar=name.rpar)
        if parent is None or value.lpar:
            return value
        if isinstance(value, cst.GeneratorExp) and isinstance(parent, cst.Arg):
            return value  # the call decides
        if needs_parentheses(value, parent, field_of(parent, name)) or (
            not self.bracketed and not in_brackets(self.ancestors) and ends_lines(value)
        ):
            self.parenthesized.add(number)
            return parenthesized(value)
        return value


def ends_lines(node: cst.BaseExpression) -> bool:
    """Whether a line ends in ``node`` outside of all its brackets."""
    code = code_of(node)
    if "\n" not in code:
        return False
    try:
        ast.parse(code, mode="eval")
    except SyntaxError:
        return True
    return False
