"""FL203: an ``if`` of which the rewrite left nothing but ``pass``.

    if isinstance(device, int):      ->  (goes)
        pass

Its test only asks, so nobody would miss it. An ``else: pass`` goes from an ``if`` that stays.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from flmigrate.analysis.context import Context
from flmigrate.findings import Branch, Finding, Fix, Severity
from flmigrate.rules.chains import Arm, arms_of, is_elif

_SAFE = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot)


def emptied(before: Context, after: Context) -> Iterator[Finding]:
    """Findings for arms that do nothing in ``after``, in functions that had none in ``before``."""
    found = list(_idle_chains(after))
    known = {_place(before, top) for top, _ in _idle_chains(before)} if found else set()
    done: set[ast.AST] = set()
    for top, kept in found:
        if _place(after, top) in known or after.is_protected(top):
            continue
        if any(parent in done for parent in _parents(after, top)):
            continue
        done.add(top)
        arms = tuple((number, "" if arm.test is not None else None) for number, arm in kept)
        fix = Fix("Take out what does nothing", (Branch(after.source.span(top), arms),))
        message = "nothing is left of what this test guarded"
        yield after.finding("FL203", message, top.test, severity=Severity.INFO, fix=fix)


def _idle_chains(context: Context) -> Iterator[tuple[ast.If, list[tuple[int, Arm]]]]:
    """Chains that end in arms which do nothing, with the arms before those; outer ones first."""
    for top in sorted(context.scopes.nodes[ast.If], key=context.source.start):
        if not _ends_in_nothing(top) or is_elif(context, top):
            continue
        arms = arms_of(context, top)
        kept = list(enumerate(arms))
        while kept and _is_idle(context, kept[-1][1].suite) and _only_asks(context, kept[-1][1]):
            kept.pop()
        if len(kept) < len(arms):
            yield top, kept


def _ends_in_nothing(top: ast.If) -> bool:
    """Whether the last suite of a chain looks as if it did nothing; most do not, at a glance."""
    last: ast.stmt = top
    while isinstance(last, ast.If):
        last = (last.orelse or last.body)[-1]
    return isinstance(last, ast.Pass)


def _is_idle(context: Context, suite: Sequence[ast.stmt]) -> bool:
    """Whether a suite does nothing, nor do the ``if`` chains in it."""
    return all(
        isinstance(statement, ast.Pass)
        or (
            isinstance(statement, ast.If)
            and all(
                _is_idle(context, arm.suite) and _only_asks(context, arm)
                for arm in arms_of(context, statement)
            )
        )
        for statement in suite
    )


def _only_asks(context: Context, arm: Arm) -> bool:
    """Whether a test does nothing and cannot fail, as ``level > 1`` does where it is a text."""
    if arm.test is None:
        return True
    compared = (part for part in ast.walk(arm.test) if isinstance(part, ast.Compare))
    is_safe = all(isinstance(op, _SAFE) for compare in compared for op in compare.ops)
    return is_safe and context.predicates.is_pure(arm.test)


def _place(context: Context, top: ast.If) -> str:
    """The function that a statement is in: what stays the same when lines move."""
    return context.names.scope_path(context.scopes.around(top))


def _parents(context: Context, node: ast.AST) -> Iterator[ast.AST]:
    parent = context.scopes.parents.get(node)
    while parent is not None:
        yield parent
        parent = context.scopes.parents.get(parent)
