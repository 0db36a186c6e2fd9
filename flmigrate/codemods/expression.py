"""Put another expression in place of one.

    torch.cuda.is_bf16_supported()   ->  torch.bfloat16 in supported_dtypes()
    x.cuda(device)                   ->  x.to(device)

The pieces of the old expression that stay, the holes, keep their text; if they are the
arguments of a call and become those of another, the call keeps its layout, too.
Parentheses are put where another meaning would come of leaving them out.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import libcst as cst

from flmigrate.codemods.comments import keep_comments
from flmigrate.codemods.nesting import wraps_itself
from flmigrate.codemods.rows import call_with, row_of_call
from flmigrate.codemods.site import Hole, Site
from flmigrate.codemods.templates import fill, hole_number, parse_template
from flmigrate.findings import Expression

#: What is no expression everywhere without its parentheses.
_OWN_PARENTHESES = (cst.Tuple, cst.GeneratorExp)


def replace_expression(
    node: cst.BaseExpression, edit: Expression, site: Site
) -> cst.BaseExpression:
    """Fill ``edit.template`` with the holes.

    Raises ``EditError`` when a hole does not fit into the template and when a comment would
    be lost.
    """
    template = parse_template(edit.template, edit.span)
    layout = None
    if isinstance(node, cst.Call) and (model := _successor(template, site.holes)):
        layout = (model, functools.partial(_laid_out, node, site.holes))
    bracketed = site.bracketed or bool(node.lpar)
    holes = site.holes
    own = edit.holes.index(edit.span) if wraps_itself(edit) and node.lpar else None
    if own is not None:
        bare = Hole(node.with_changes(lpar=(), rpar=()))
        holes = (*holes[:own], bare, *holes[own + 1 :])
    result, parenthesized = fill(template, holes, edit.span, bracketed=bracketed, layout=layout)
    if own in parenthesized or (own is not None and isinstance(node, _OWN_PARENTHESES)):
        # The parentheses that are there already serve.
        result, _ = fill(template, site.holes, edit.span, bracketed=bracketed, layout=layout)
    elif node.lpar:
        result = result.with_changes(lpar=node.lpar, rpar=node.rpar)
    keep_comments(node, [result], site.source, edit.span)
    return result


def _indices(call: cst.Call, holes: Sequence[Hole]) -> list[int | None]:
    """Which arguments of the replaced call the arguments of a template's call are."""
    numbers = [hole_number(argument.value) for argument in call.args]
    return [holes[n].index if n is not None and n < len(holes) else None for n in numbers]


class _Calls(cst.CSTVisitor):
    """Collects calls, outer ones first."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[cst.Call] = []

    def visit_Call(self, node: cst.Call) -> None:
        self.found.append(node)


def _successor(template: cst.BaseExpression, holes: Sequence[Hole]) -> cst.Call | None:
    """The call of the template that takes over most arguments of the replaced call."""
    if all(hole.index is None for hole in holes):
        return None
    calls = _Calls()
    template.visit(calls)

    def taken(call: cst.Call) -> int:
        return sum(index is not None for index in _indices(call, holes))

    best = max(calls.found, key=taken, default=None)
    return best if best is not None and taken(best) else None


def _laid_out(old: cst.Call, holes: Sequence[Hole], model: cst.Call, filled: cst.Call) -> cst.Call:
    """``filled``, made from ``model``, with its arguments laid out as those of ``old``."""
    indices = _indices(model, holes)
    taken = [index for index in indices if index is not None]
    if taken != sorted(set(taken)):
        return filled  # in another order; nothing can stay where it was
    row = row_of_call(old)
    for dropped in reversed(range(len(row.items))):
        if dropped not in taken:
            row.drop(dropped)
    for position, (index, argument) in enumerate(zip(indices, filled.args, strict=True)):
        if index is None:
            row.insert(position, argument)
        else:
            row.items[position] = argument
    return call_with(filled, row)
