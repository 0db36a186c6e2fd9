"""The arms of an ``if`` chain, and the code around it that runs in their place."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from flmigrate.analysis.context import Context
from flmigrate.analysis.reachability import cut_off, leaves
from flmigrate.findings import Span


class Arm(NamedTuple):
    """One arm of a chain; ``test`` is ``None`` for ``else``, ``holds`` its value if decided."""

    branch: ast.If
    test: ast.expr | None
    suite: list[ast.stmt]
    holds: bool | None = None
    vendors: frozenset[str] = frozenset()


def arms_of(context: Context, top: ast.If) -> list[Arm]:
    """The arms of the chain that starts at ``top``, and what the target decides of them."""
    arms: list[Arm] = []
    branch = top
    while True:
        atoms = list(context.predicates.atoms(branch.test))
        settled = frozenset(v for a in atoms if a.holds is not None for v in a.vendors)
        holds = context.predicates.holds(branch.test)
        arms.append(Arm(branch, branch.test, branch.body, holds, settled))
        below = branch.orelse
        if len(below) == 1 and isinstance(below[0], ast.If) and is_elif(context, below[0]):
            branch = below[0]
            continue
        if below:
            arms.append(Arm(branch, None, below))
        return arms


def is_elif(context: Context, branch: ast.If) -> bool:
    """Whether an ``if`` is written as the ``elif`` of another one."""
    return context.source.text.startswith("elif", context.source.start(branch))


def cut_off_by(context: Context, arms: Sequence[Arm]) -> list[ast.stmt]:
    """What could never run any more once the decided arms of a chain are taken as decided."""
    first = next((arm for arm in arms if arm.holds is not False), None)
    if first is None or (first.test is not None and first.holds is None):
        return []
    return cut_off(context.scopes.parents, arms[0].branch) if leaves(first.suite) else []


def following(context: Context, arms: Sequence[Arm], arm: Arm) -> list[ast.stmt]:
    """What runs after the chain where an arm leaves: ``if npu: return a`` before ``return b``."""
    if not _leaves(arm.suite):
        return []
    suite = context.suite_of(arms[0].branch)
    return suite[suite.index(arms[0].branch) + 1 :]


def tests_beside(context: Context, branch: ast.If) -> Iterator[ast.expr]:
    """Tests of the other ``if`` chains in the same suite."""
    for statement in context.suite_of(branch):
        while statement is not branch and isinstance(statement, ast.If):
            yield statement.test
            following = statement.orelse
            if len(following) != 1:
                break
            [statement] = following


def _leaves(suite: Sequence[ast.stmt]) -> bool:
    return bool(suite) and isinstance(suite[-1], ast.Return | ast.Raise | ast.Continue | ast.Break)


def span_of(context: Context, suite: Sequence[ast.stmt]) -> Span:
    return Span(context.source.start(suite[0]), context.source.end(suite[-1]))
