"""What stands on the target for an arm that goes: the canonical vendor's code, or the same code."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from flmigrate.analysis.context import Context
from flmigrate.rules.chains import Arm, following, tests_beside
from flmigrate.rules.likeness import says_as_much
from flmigrate.rules.named_indices import only_name_indices
from flmigrate.rules.simple import only_acts

# What starts something that a program needs once: some other code has to start it too.
_STARTS = frozenset({"torch.distributed.init_process_group"})


def has_stand_in(context: Context, arms: Sequence[Arm], arm: Arm) -> bool:
    """Whether other code does for the target what an arm does for its vendor."""
    around = list(_around(context, arms, arm))
    started = _started(context, arm.suite)
    if started and not started <= _started(context, around):
        return False
    if only_acts(context, arm.suite):
        return True
    if names_canonical(context, around):
        return True
    if only_name_indices(context, arm.suite):
        return True
    names = frozenset[str]().union(*(_vendors_in(context, s) for s in arm.suite))
    otherwise = arms[-1].suite if arms[-1].test is None else following(context, arms, arm)
    if any(context.predicates.is_gone(vendor) for vendor in names):
        # What ran for the canonical vendor is what ran otherwise, unless that is the CPU alone.
        return bool(otherwise) and not _names_cpu(otherwise)
    return len(arms) > 1 or bool(otherwise)


def _started(context: Context, nodes: Sequence[ast.AST]) -> set[str]:
    """The functions called in code that start something which a program needs once."""
    calls = (part for node in nodes for part in ast.walk(node) if isinstance(part, ast.Call))
    return {context.names.resolve(call.func).only for call in calls} & _STARTS


def _names_cpu(suite: Sequence[ast.stmt]) -> bool:
    parts = (part for statement in suite for part in ast.walk(statement))
    return any(isinstance(part, ast.Constant) and part.value == "cpu" for part in parts)


def _around(context: Context, arms: Sequence[Arm], arm: Arm) -> Iterator[ast.AST]:
    """The code that runs instead of an arm, and the tests that choose it."""
    yield from tests_beside(context, arms[0].branch)
    yield from following(context, arms, arm)
    for other in arms:
        if other is not arm:
            if other.test is not None:
                yield other.test
            yield from other.suite


def names_canonical(context: Context, around: Iterator[ast.AST] | Sequence[ast.AST]) -> bool:
    """Whether code names the canonical vendor or the target: its device, module or backend."""
    vendor = context.vocabulary.vendors[context.canonical_vendor]
    target = context.vocabulary.target
    words = {*context.canonical_types, *vendor.backends, target.device_type, target.backend}
    words |= {*vendor.attributes, target.attribute}
    for node in around:
        for part in ast.walk(node):
            name = part.value if isinstance(part, ast.Constant) else getattr(part, "attr", None)
            if isinstance(name, str) and name.partition(":")[0] in words:
                return True
            if isinstance(part, ast.Call | ast.Name) and _asks_for_canonical(context, part):
                return True
    return False


def _asks_for_canonical(context: Context, node: ast.Call | ast.Name) -> bool:
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        return False
    return context.canonical_vendor in context.predicates.atom(node).vendors


def _vendors_in(context: Context, statement: ast.stmt) -> frozenset[str]:
    found = (
        context.predicates.vendors_in(part)
        for part in ast.iter_child_nodes(statement)
        if isinstance(part, ast.expr)
    )
    return frozenset[str]().union(*found)


def equals_another(context: Context, arms: Sequence[Arm], arm: Arm) -> bool:
    """Whether another arm, or what follows an arm that leaves, says the same on the target."""
    own = alike_suite(context, arm.suite)
    others = [other.suite for other in arms if other is not arm and other.holds is None]
    for statement in context.suite_of(arms[0].branch):
        if isinstance(statement, ast.If) and statement is not arms[0].branch:
            if names_canonical(context, [statement.test]):
                others.append(statement.body)
    behind = following(context, arms, arm)
    if any(says_as_much(context, other, arm.suite) for other in (*others, behind)):
        return True
    others.append(behind[: len(arm.suite)])
    return any(own == alike_suite(context, other) for other in others if other)


def chosen_beside(context: Context, value: ast.expr) -> bool:
    """Whether the statement chooses the same for the canonical vendor elsewhere.

    ``(["cuda"] if cuda_there else []) + (["npu"] if is_npu() else [])``
    """
    statement = context.statement(value)
    if statement is None:
        return False
    for part in ast.walk(statement):
        if isinstance(part, ast.IfExp) and value not in (part.body, part.orelse):
            if alike(context, part.body) == alike(context, value):
                if names_canonical(context, [part.test, part.body]):
                    return True
    return False


def alike_suite(context: Context, suite: Sequence[ast.stmt]) -> str:
    return ";".join(alike(context, statement) for statement in suite)


def alike(context: Context, node: ast.AST) -> str:
    """A tree as text in which all served vendors have one name, as they have on the target."""
    return context.same_vendor.sub("VENDOR", ast.dump(node))
