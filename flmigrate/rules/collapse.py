"""Whether an arm that the target never runs may go, for FL201.

On the target the canonical vendor's code stands for all served vendors. What another vendor's
arm does is lost with it, so it goes only where nothing is lost: where it selects names, moves,
synchronises or seeds and other code stands for it, or where it says what other code says.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NamedTuple

from flmigrate.analysis.context import Context
from flmigrate.rules.chains import Arm, cut_off_by, span_of
from flmigrate.rules.lost_names import makes_generator, unbinds
from flmigrate.rules.simple import is_number, is_simple, is_simple_value, only_acts
from flmigrate.rules.stand_ins import (
    alike,
    alike_suite,
    chosen_beside,
    equals_another,
    has_stand_in,
    names_canonical,
)

_YIELDS = "it is the only part of its function that yields"
_ALONE = "no other code stands for it"
_DIFFERS = "it is an implementation of its own, or a work-around"
_BINDS = "a name that is read elsewhere would have no value"
_ACTS = "evaluating its test may do more than ask"
_KEPT = "a part of it is not to be touched"


class Obstacle(NamedTuple):
    """Why an arm stays, and whether a user may still ask for it to go."""

    why: str
    may_go: bool = False


def obstacle(context: Context, arms: Sequence[Arm], arm: Arm) -> Obstacle | None:
    """What speaks against taking a decided arm as decided, or ``None``."""
    assert arm.test is not None
    if not context.predicates.settles(arm.test):
        return Obstacle(_ACTS)
    if context.source.span(arm.test) in context.pinned:
        return Obstacle(_BINDS)
    gone = [arm] if arm.holds is False else list(arms[arms.index(arm) + 1 :])
    spans = [context.source.span(arm.test), *(span_of(context, other.suite) for other in gone)]
    if any(span.overlaps(protected) for span in spans for protected in context.protected):
        return Obstacle(_KEPT)
    behind = cut_off_by(context, arms)
    lost = [*(other.suite for other in gone), behind]
    if any(unbinds(context, arms[0].branch, suite) for suite in lost):
        return Obstacle(_BINDS)
    if any(makes_generator(context, suite) for suite in lost):
        return Obstacle(_YIELDS)
    if arm.vendors and arm.vendors <= set(context.drop_vendors):
        return None
    if not is_simple(context, behind) and not _asks_gone_vendor(context, arms[0].branch):
        if alike_suite(context, behind) != alike_suite(context, arm.suite):
            return Obstacle(_DIFFERS, may_go=True)
    for other in gone:
        if equals_another(context, arms, other):
            continue
        if not is_simple(context, other.suite):
            return Obstacle(_DIFFERS, may_go=True)
        if arm.holds is False and not has_stand_in(context, arms, other):
            return Obstacle(_ALONE, may_go=True)
    return None


def _asks_gone_vendor(context: Context, statement: ast.stmt) -> bool:
    """Whether a statement is part of a helper that only asks for another vendor.

    What such a helper does to find out is no implementation of anything.
    """
    function = context.names.enclosing(statement, ast.FunctionDef)
    if not isinstance(function, ast.FunctionDef):
        return False
    return context.predicates.settled.function(function).holds is False


def raises(context: Context, test: ast.expr) -> bool:
    """Whether a test asks a module that the target lacks, with nothing that guards it."""
    first = test
    while True:
        match first:
            case ast.BoolOp():
                first = first.values[0]
            case ast.UnaryOp():
                first = first.operand
            case ast.Compare():
                first = first.left
            case _:
                break
    if isinstance(first, ast.Attribute):
        vendor = context.vocabulary.vendors.vendor_of_attribute(first.attr)
        return vendor is not None and context.predicates.atom(first).holds is False
    if not isinstance(first, ast.Call):
        return False
    name = context.vendor_of(context.names.resolve(first.func).only)
    return name is not None and context.predicates.is_gone(name)


def obstacle_to_choice(
    context: Context, kept: ast.expr, gone: ast.expr, test: ast.expr
) -> str | None:
    """What speaks against taking one value of a conditional expression, or ``None``."""
    if alike(context, kept) == alike(context, gone):
        return None
    vendors = {v for a in context.predicates.atoms(test) for v in a.vendors}
    if vendors and vendors <= set(context.drop_vendors):
        return None
    if chosen_beside(context, gone):
        return None
    names = context.predicates.vendors_in(gone)
    if any(context.predicates.is_gone(v) for v in names) and not names_canonical(context, [kept]):
        if not is_number(kept):
            return _ALONE
    return None if is_simple_value(context, gone) else _DIFFERS


def obstacle_to_case(context: Context, node: ast.Match, case: ast.match_case) -> str | None:
    """What speaks against taking a case out of a ``match``, or ``None``."""
    if case.guard is not None and not context.predicates.is_pure(case.guard):
        return _ACTS
    span = span_of(context, case.body)
    if any(span.overlaps(protected) for protected in context.protected):
        return _KEPT
    if unbinds(context, node, case.body):
        return _BINDS
    own = alike_suite(context, case.body)
    if any(own == alike_suite(context, other.body) for other in node.cases if other is not case):
        return None
    return None if is_simple(context, case.body) else _DIFFERS


def may_drop_loop(context: Context, loop: ast.While) -> bool:
    """Whether a loop that the target never enters may go: it only synchronises or clears."""
    if loop.orelse or not context.predicates.settles(loop.test):
        return False
    span = context.source.span(loop)
    if any(span.overlaps(protected) for protected in context.protected):
        return False
    if unbinds(context, loop, loop.body) or makes_generator(context, loop.body):
        return False
    acts = [statement for statement in loop.body if not isinstance(statement, ast.Break)]
    return is_simple(context, acts) and only_acts(context, acts)
