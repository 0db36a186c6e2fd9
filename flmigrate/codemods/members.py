"""Drop members of a literal list, tuple, set or dictionary, or operands of ``and``/``or``.

    ("cuda", "npu")              ->  ("cuda",)
    if is_cuda() or is_npu():    ->  if is_cuda():

Members stand in a row like arguments do: each keeps its line and the comment on it, and one
that goes takes its comment along. A comment on a line of its own belongs to the place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

import libcst as cst

from flmigrate.codemods.errors import EditError
from flmigrate.codemods.quotes import code_of
from flmigrate.codemods.rows import row_of
from flmigrate.codemods.site import Site
from flmigrate.findings import Members, Span

_Display: TypeAlias = cst.List | cst.Tuple | cst.Set | cst.Dict
_Whitespace = cst.BaseParenthesizableWhitespace
_NOTHING = cst.SimpleWhitespace("")


def drop_members(
    node: _Display | cst.BooleanOperation, edit: Members, site: Site
) -> cst.BaseExpression:
    """Drop the members or operands at ``edit.drop``.

    Raises ``EditError`` for a position that is not there, when another edit lies in what
    goes, for a set or a boolean operation that would be left empty, and when a comment has
    no place to stay.
    """
    original = site.original
    old: Sequence[cst.CSTNode]
    if isinstance(original, cst.BooleanOperation):
        old = _operands(original, _count(original))[0]
    else:
        assert isinstance(original, (cst.List, cst.Tuple, cst.Set, cst.Dict))
        old = original.elements
    for position in edit.drop:
        if not 0 <= position < len(old):
            raise EditError(f"there is no member {position}", edit.span)
        if old[position] in site.touched:
            raise EditError(f"member {position} goes, but is edited, too", edit.span)
    drop = sorted(set(edit.drop), reverse=True)
    if len(drop) == len(old) and isinstance(node, (cst.Set, cst.BooleanOperation)):
        raise EditError("nothing would be left", edit.span)
    if isinstance(node, cst.BooleanOperation):
        return _without_operands(node, len(old), drop, site, edit.span) if drop else node
    return _without_members(node, drop) if drop else node


# --- lists, tuples, sets, dictionaries -----------------------------------------------------


def _without_members(node: _Display, drop: Sequence[int]) -> _Display:
    """``node`` without the members at ``drop``, last one first."""
    if isinstance(node, (cst.Dict, cst.Set)):
        opening, closing = node.lbrace.whitespace_after, node.rbrace.whitespace_before
    elif isinstance(node, cst.List):
        opening, closing = node.lbracket.whitespace_after, node.rbracket.whitespace_before
    elif node.lpar:
        opening, closing = node.lpar[-1].whitespace_after, node.rpar[0].whitespace_before
    else:
        opening, closing = _NOTHING, _NOTHING
    # A pair of a dictionary has a comma where other members have theirs.
    elements = cast("Sequence[cst.BaseElement]", node.elements)
    row = row_of(elements, opening, closing)
    for position in drop:
        row.drop(position)
    if isinstance(node, cst.Tuple) and len(row.items) == 1:
        row.trailing_comma = True
    members, closing = row.spaced()
    if isinstance(node, (cst.Dict, cst.Set)):
        return node.with_changes(
            elements=members,
            lbrace=node.lbrace.with_changes(whitespace_after=row.opening),
            rbrace=node.rbrace.with_changes(whitespace_before=closing),
        )
    if isinstance(node, cst.List):
        return node.with_changes(
            elements=members,
            lbracket=node.lbracket.with_changes(whitespace_after=row.opening),
            rbracket=node.rbracket.with_changes(whitespace_before=closing),
        )
    if not node.lpar and members:
        return node.with_changes(elements=members)
    lpar = list(node.lpar) or [cst.LeftParen()]
    rpar = list(node.rpar) or [cst.RightParen()]
    lpar[-1] = lpar[-1].with_changes(whitespace_after=row.opening)
    rpar[0] = rpar[0].with_changes(whitespace_before=closing)
    return node.with_changes(elements=members, lpar=lpar, rpar=rpar)


# --- boolean operations --------------------------------------------------------------------


@dataclass(slots=True)
class _Operation:
    """Operands, the operators between them, and the whitespace around all of them."""

    operands: list[cst.BaseExpression]
    operators: list[cst.BaseBooleanOp]
    opening: _Whitespace
    closing: _Whitespace

    def drop(self, index: int) -> None:
        """Take out an operand, one operator, and the comment on the operand's line."""
        last = index == len(self.operands) - 1
        del self.operands[index]
        if not index:
            operator = self.operators.pop(0)
            for lead in (operator.whitespace_before, operator.whitespace_after):
                self.opening = _joined(self.opening, _own_lines(lead))
        elif last:
            operator = self.operators.pop()
            before, after = operator.whitespace_before, operator.whitespace_after
            if _is_broken(self.closing):
                lead = _joined(before, after) if _is_broken(before) else after
                self.closing = _joined(lead, self.closing)
            else:
                self.closing = _only_comments(_joined(before, after), self.closing)
        else:
            left, right = self.operators.pop(index - 1), self.operators[index - 1]
            self.operators[index - 1] = left.with_changes(
                whitespace_before=_joined(left.whitespace_before, right.whitespace_before),
                whitespace_after=_joined(
                    left.whitespace_after, right.whitespace_after, simple=right.whitespace_after
                ),
            )


def _without_operands(
    node: cst.BooleanOperation, count: int, drop: Sequence[int], site: Site, span: Span
) -> cst.BaseExpression:
    operands, operators = _operands(node, count)
    opening = node.lpar[-1].whitespace_after if node.lpar else _NOTHING
    closing = node.rpar[0].whitespace_before if node.rpar else _NOTHING
    operation = _Operation(operands, operators, opening, closing)
    for index in drop:
        operation.drop(index)
    has_comments = any(map(_has_comment, (operation.opening, operation.closing)))
    if has_comments and not node.lpar:
        raise EditError("a comment between the operands would be lost", span)
    result = operation.operands[0]
    rest = zip(operation.operators, operation.operands[1:], strict=True)
    for operator, operand in rest:
        result = cst.BooleanOperation(result, operator, operand)
    if not node.lpar:
        return result
    if len(operation.operands) == 1 and not (has_comments or site.glued):
        # The caller puts parentheses back where the operand needs them.
        spans_lines = not result.lpar and "\n" in code_of(result)
        if not spans_lines:
            return result
    lpar, rpar = list(node.lpar), list(node.rpar)
    lpar[-1] = lpar[-1].with_changes(whitespace_after=operation.opening)
    rpar[0] = rpar[0].with_changes(whitespace_before=operation.closing)
    return result.with_changes(lpar=[*lpar, *result.lpar], rpar=[*result.rpar, *rpar])


def _count(node: cst.BooleanOperation) -> int:
    """How many operands one operation has: those of ``a or b or c`` are three."""
    count = 2
    left = node.left
    while (
        isinstance(left, cst.BooleanOperation)
        and not left.lpar
        and type(left.operator) is type(node.operator)
    ):
        count += 1
        left = left.left
    return count


def _operands(
    node: cst.BooleanOperation, count: int
) -> tuple[list[cst.BaseExpression], list[cst.BaseBooleanOp]]:
    """The ``count`` operands of an operation, and the operators between them."""
    operands, operators = [node.right], [node.operator]
    left = node.left
    for _ in range(count - 2):
        assert isinstance(left, cst.BooleanOperation)
        operands.append(left.right)
        operators.append(left.operator)
        left = left.left
    return [left, *reversed(operands)], operators[::-1]


# --- whitespace ----------------------------------------------------------------------------


def _is_broken(whitespace: _Whitespace) -> bool:
    """Whether a line ends in whitespace."""
    return isinstance(whitespace, cst.ParenthesizedWhitespace)


def _has_comment(whitespace: _Whitespace) -> bool:
    return isinstance(whitespace, cst.ParenthesizedWhitespace) and (
        whitespace.first_line.comment is not None
        or any(line.comment for line in whitespace.empty_lines)
    )


def _joined(lead: _Whitespace, tail: _Whitespace, simple: _Whitespace | None = None) -> _Whitespace:
    """The whitespace on both sides of something that goes, without the comment behind it.

    ``simple`` is what stays when no line ends in either; else it is ``lead``.
    """
    if isinstance(lead, cst.SimpleWhitespace) and isinstance(tail, cst.SimpleWhitespace):
        joined = next((each for each in (lead, tail) if "\\" in each.value), None)
        return joined or simple or lead
    if not isinstance(tail, cst.ParenthesizedWhitespace):
        return lead
    if not isinstance(lead, cst.ParenthesizedWhitespace):
        return tail
    return tail.with_changes(
        first_line=lead.first_line, empty_lines=[*lead.empty_lines, *tail.empty_lines]
    )


def _own_lines(whitespace: _Whitespace) -> _Whitespace:
    """Only what stands on lines of their own, if there are comments among them."""
    if isinstance(whitespace, cst.ParenthesizedWhitespace) and any(
        line.comment for line in whitespace.empty_lines
    ):
        first_line = whitespace.first_line.with_changes(whitespace=_NOTHING, comment=None)
        return whitespace.with_changes(first_line=first_line)
    return _NOTHING


def _only_comments(whitespace: _Whitespace, otherwise: _Whitespace) -> _Whitespace:
    return whitespace if _has_comment(whitespace) else otherwise
