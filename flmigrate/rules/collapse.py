"""Whether an arm that the target never runs may go, for FL201.

On the target the canonical vendor's code stands for all served vendors. What another vendor's
arm does is lost with it, so it goes only where nothing is lost: where it selects names, moves,
synchronises or seeds and other code stands for it, or where it says what other code says.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from flmigrate.analysis.context import Context
from flmigrate.analysis.reachability import cut_off, leaves
from flmigrate.findings import Span

_SIMPLE_METHODS = frozenset({"to", "cuda", "npu", "musa", "mlu", "gcu", "append", "add"})
_SIMPLE_CALLS = frozenset(
    "torch.device builtins.str builtins.int torch.distributed.init_process_group".split()
)
# What starts something that a program needs once: some other code has to start it too.
_STARTS = frozenset({"torch.distributed.init_process_group"})
_YIELDS = "it is the only part of its function that yields"
_ALONE = "no other code stands for it"
_DIFFERS = "it is an implementation of its own, or a work-around"
_BINDS = "a name that is read elsewhere would have no value"
_ACTS = "evaluating its test may do more than ask"
_KEPT = "a part of it is not to be touched"


class Arm(NamedTuple):
    """One arm of a chain; ``test`` is ``None`` for ``else``, ``holds`` its value if decided."""

    branch: ast.If
    test: ast.expr | None
    suite: list[ast.stmt]
    holds: bool | None = None
    vendors: frozenset[str] = frozenset()


class Obstacle(NamedTuple):
    """Why an arm stays, and whether a user may still ask for it to go."""

    why: str
    may_go: bool = False


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


def obstacle(context: Context, arms: Sequence[Arm], arm: Arm) -> Obstacle | None:
    """What speaks against taking a decided arm as decided, or ``None``."""
    assert arm.test is not None
    if not context.predicates.settles(arm.test):
        return Obstacle(_ACTS)
    if context.source.span(arm.test) in context.pinned:
        return Obstacle(_BINDS)
    gone = [arm] if arm.holds is False else list(arms[arms.index(arm) + 1 :])
    spans = [context.source.span(arm.test), *(_span(context, other.suite) for other in gone)]
    if any(span.overlaps(protected) for span in spans for protected in context.protected):
        return Obstacle(_KEPT)
    behind = _cut_off(context, arms)
    lost = [*(other.suite for other in gone), behind]
    if any(unbinds(context, arms[0].branch, suite) for suite in lost):
        return Obstacle(_BINDS)
    if any(_makes_generator(context, suite) for suite in lost):
        return Obstacle(_YIELDS)
    if arm.vendors and arm.vendors <= set(context.drop_vendors):
        return None
    if not _is_simple(context, behind) and not _asks_gone_vendor(context, arms[0].branch):
        if _alike_suite(context, behind) != _alike_suite(context, arm.suite):
            return Obstacle(_DIFFERS, may_go=True)
    for other in gone:
        if _equals_another(context, arms, other):
            continue
        if not _is_simple(context, other.suite):
            return Obstacle(_DIFFERS, may_go=True)
        if arm.holds is False and not _has_stand_in(context, arms, other):
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


def _cut_off(context: Context, arms: Sequence[Arm]) -> list[ast.stmt]:
    """What could never run any more once the decided arms of a chain are taken as decided."""
    first = next((arm for arm in arms if arm.holds is not False), None)
    if first is None or (first.test is not None and first.holds is None):
        return []
    return cut_off(context.scopes.parents, arms[0].branch) if leaves(first.suite) else []


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
    if _alike(context, kept) == _alike(context, gone):
        return None
    vendors = {v for a in context.predicates.atoms(test) for v in a.vendors}
    if vendors and vendors <= set(context.drop_vendors):
        return None
    names = context.predicates.vendors_in(gone)
    if any(context.predicates.is_gone(v) for v in names) and not _names_canonical(context, [kept]):
        if not _is_number(kept):
            return _ALONE
    return None if _is_simple_value(context, gone) else _DIFFERS


def obstacle_to_case(context: Context, node: ast.Match, case: ast.match_case) -> str | None:
    """What speaks against taking a case out of a ``match``, or ``None``."""
    if case.guard is not None and not context.predicates.is_pure(case.guard):
        return _ACTS
    span = _span(context, case.body)
    if any(span.overlaps(protected) for protected in context.protected):
        return _KEPT
    if unbinds(context, node, case.body):
        return _BINDS
    own = _alike_suite(context, case.body)
    if any(own == _alike_suite(context, other.body) for other in node.cases if other is not case):
        return None
    return None if _is_simple(context, case.body) else _DIFFERS


def may_drop_loop(context: Context, loop: ast.While) -> bool:
    """Whether a loop that the target never enters may go: it only synchronises or clears."""
    if loop.orelse or not context.predicates.settles(loop.test):
        return False
    span = context.source.span(loop)
    if any(span.overlaps(protected) for protected in context.protected):
        return False
    if unbinds(context, loop, loop.body) or _makes_generator(context, loop.body):
        return False
    acts = [statement for statement in loop.body if not isinstance(statement, ast.Break)]
    return _is_simple(context, acts) and _only_acts(context, acts)


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and not isinstance(node.value, str)


# --- what stands for an arm ------------------------------------------------------------------


def _only_acts(context: Context, suite: Sequence[ast.stmt]) -> bool:
    """Whether a suite synchronises, seeds, clears or imports, and gives no value to anything.

    An entry for the vendor in a table, ``EMPTY_CACHE["npu"] = ...``, is none that others read.
    """
    return all(
        isinstance(statement, ast.Expr | ast.Pass | ast.Import) or _is_entry(context, statement)
        for statement in suite
    )


def _is_entry(context: Context, statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    [target] = statement.targets
    key = target.slice if isinstance(target, ast.Subscript) else None
    kind = context.predicates.device_type(key) if key is not None else ""
    vendor = context.vocabulary.vendors.vendor_of_device(kind)
    return vendor is not None and context.predicates.is_gone(vendor)


def _has_stand_in(context: Context, arms: Sequence[Arm], arm: Arm) -> bool:
    """Whether other code does for the target what an arm does for its vendor."""
    around = list(_around(context, arms, arm))
    started = _started(context, arm.suite)
    if started and not started <= _started(context, around):
        return False
    if _only_acts(context, arm.suite):
        return True
    if _names_canonical(context, around):
        return True
    names = frozenset[str]().union(*(_vendors_in(context, s) for s in arm.suite))
    otherwise = arms[-1].suite if arms[-1].test is None else _following(context, arms, arm)
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
    yield from _tests_beside(context, arms[0].branch)
    yield from _following(context, arms, arm)
    for other in arms:
        if other is not arm:
            if other.test is not None:
                yield other.test
            yield from other.suite


def _following(context: Context, arms: Sequence[Arm], arm: Arm) -> list[ast.stmt]:
    """What runs after the chain where an arm leaves: ``if npu: return a`` before ``return b``."""
    if not _leaves(arm.suite):
        return []
    suite = context.suite_of(arms[0].branch)
    return suite[suite.index(arms[0].branch) + 1 :]


def _tests_beside(context: Context, branch: ast.If) -> Iterator[ast.expr]:
    """Tests of the other ``if`` chains in the same suite."""
    for statement in context.suite_of(branch):
        while statement is not branch and isinstance(statement, ast.If):
            yield statement.test
            following = statement.orelse
            if len(following) != 1:
                break
            [statement] = following


def _names_canonical(context: Context, around: Iterator[ast.AST] | Sequence[ast.AST]) -> bool:
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


# --- arms that say the same ------------------------------------------------------------------


def _equals_another(context: Context, arms: Sequence[Arm], arm: Arm) -> bool:
    """Whether another arm, or what follows an arm that leaves, says the same on the target."""
    own = _alike_suite(context, arm.suite)
    others = [other.suite for other in arms if other is not arm and other.holds is None]
    for statement in context.suite_of(arms[0].branch):
        if isinstance(statement, ast.If) and statement is not arms[0].branch:
            if _names_canonical(context, [statement.test]):
                others.append(statement.body)
    following = _following(context, arms, arm)
    others.append(following[: len(arm.suite)])
    return any(own == _alike_suite(context, other) for other in others if other)


def _alike_suite(context: Context, suite: Sequence[ast.stmt]) -> str:
    return ";".join(_alike(context, statement) for statement in suite)


def _alike(context: Context, node: ast.AST) -> str:
    """A tree as text in which all served vendors have one name, as they have on the target."""
    return context.same_vendor.sub("VENDOR", ast.dump(node))


# --- arms without an implementation of their own -------------------------------------------


def _is_simple(context: Context, suite: Sequence[ast.stmt]) -> bool:
    """Whether statements do no more than select names, move, synchronise or seed."""
    return all(_is_simple_statement(context, statement) for statement in suite)


def _is_simple_statement(context: Context, statement: ast.stmt) -> bool:
    match statement:
        case ast.Pass() | ast.Continue() | ast.Break():
            return True
        case ast.Import():
            return all(_is_of_torch(context, alias.name) for alias in statement.names)
        case ast.ImportFrom():
            return _is_of_torch(context, context.scopes.absolute(statement))
        case ast.Assign() | ast.AnnAssign():
            return statement.value is None or _is_simple_value(context, statement.value)
        case ast.Return():
            return statement.value is None or _is_simple_value(context, statement.value)
        case ast.Expr():
            return _is_simple_value(context, statement.value)
        case ast.If():
            return _is_simple(context, statement.body) and _is_simple(context, statement.orelse)
        case ast.With():
            items = statement.items
            simple = all(_is_simple_value(context, item.context_expr) for item in items)
            named = any(item.optional_vars is not None for item in items)
            return simple and not named and _is_simple(context, statement.body)
    return False


def _is_of_torch(context: Context, module: str) -> bool:
    """Whether a module is PyTorch's or a plug-in's; others hold implementations to choose from."""
    return module.partition(".")[0] in ("torch", *context.vocabulary.plugins)


def _is_simple_value(context: Context, value: ast.expr) -> bool:
    match value:
        case ast.Constant() | ast.Name() | ast.Attribute() | ast.JoinedStr() | ast.Subscript():
            return True
        case ast.Tuple() | ast.List() | ast.Set():
            return all(_is_simple_value(context, element) for element in value.elts)
        case ast.Dict():
            return all(_is_simple_value(context, element) for element in value.values)
        case ast.Yield():
            return value.value is None or _is_simple_value(context, value.value)
        case ast.Compare() | ast.BoolOp() | ast.UnaryOp():
            return context.predicates.is_pure(value)
        case ast.Call():
            arguments = [*value.args, *(keyword.value for keyword in value.keywords)]
            if not all(_is_simple_value(context, argument) for argument in arguments):
                return False
            reference = context.reference_at.get(value.func)
            if reference is not None and reference.entry is not None:
                return reference.entry.status not in ("none", "keep")
            if context.names.resolve(value.func).only in _SIMPLE_CALLS:
                return True
            is_method = isinstance(value.func, ast.Attribute)
            return is_method and context.names.called_name(value) in _SIMPLE_METHODS
    return False


# --- names and places --------------------------------------------------------------------------


def unbinds(context: Context, top: ast.stmt, suite: Sequence[ast.stmt]) -> bool:
    """Whether a name that is read elsewhere gets its value in this suite alone."""
    inside = {node for statement in suite for node in ast.walk(statement)}
    for node in inside:
        if isinstance(node, ast.Import | ast.ImportFrom):
            targets: list[tuple[str, ast.AST]] = [
                (alias.asname or alias.name.partition(".")[0], alias) for alias in node.names
            ]
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            targets = [(node.id, node)]
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            targets = [(node.name, node)]
        else:
            continue
        scope = context.scopes.around(top)
        for name, _ in targets:
            owner = scope.owner(name)
            bindings = owner.bindings[name] if owner is not None else []
            elsewhere = [b for b in bindings if b.node not in inside]
            reads = owner.loads.get(name, []) if owner is not None else []
            if not elsewhere and any(read not in inside for read in reads):
                return True
    return False


def _makes_generator(context: Context, suite: Sequence[ast.stmt]) -> bool:
    """Whether a function is a generator for the sake of this suite alone."""
    inside = {n for s in suite for n in ast.walk(s) if isinstance(n, ast.Yield | ast.YieldFrom)}
    if not inside:
        return False
    function = context.names.enclosing(suite[0], ast.FunctionDef)
    yields = (n for n in ast.walk(function or suite[0]) if isinstance(n, ast.Yield | ast.YieldFrom))
    return inside.issuperset(yields)


def _leaves(suite: Sequence[ast.stmt]) -> bool:
    return bool(suite) and isinstance(suite[-1], ast.Return | ast.Raise | ast.Continue | ast.Break)


def _span(context: Context, suite: Sequence[ast.stmt]) -> Span:
    return Span(context.source.start(suite[0]), context.source.end(suite[-1]))


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
