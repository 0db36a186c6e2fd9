"""FL201: arms that only another vendor's probe lets run.

``if torch.npu.is_available(): torch.npu.synchronize()`` beside cuda code cannot stay: on the
target ``torch.npu`` is not there and the test would raise. The canonical vendor's code stands
for all served vendors, so the arm goes, where it only selects names, moves, synchronises or
seeds. An arm that does anything else is another implementation or a work-around; it is kept
and reported.
"""

from __future__ import annotations

import ast

from flmigrate.analysis.context import Context
from flmigrate.findings import Branch, Expression, Fix

_SIMPLE_METHODS = frozenset({"to", "cuda", "npu", "musa", "mlu", "gcu", "append", "add"})


def without_probe(context: Context, probe: ast.expr, *, any_arm: bool = False) -> Fix | None:
    """The fix that takes out what runs only where a probe of another vendor holds.

    ``None`` where the probe is more than the whole test, where the arm is not simple (unless
    ``any_arm``), or where a name would be left without a value.
    """
    test: ast.expr = probe
    parent = context.scopes.parents.get(test)
    negated = isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not)
    if negated:
        assert isinstance(parent, ast.UnaryOp)
        test, parent = parent, context.scopes.parents.get(parent)
    if isinstance(parent, ast.IfExp) and parent.test is test:
        kept = parent.body if negated else parent.orelse
        edit = Expression(context.source.span(parent), "__0__", (context.source.span(kept),))
        return Fix("Take the other value", (edit,))
    if not isinstance(parent, ast.If) or parent.test is not test:
        return None
    top, chain = _chain(context, parent)
    at = chain.index(parent)
    suites = [arm.body for arm in chain]
    if chain[-1].orelse:
        suites.append(chain[-1].orelse)
    arms: list[tuple[int, str | None]]
    if negated:
        arms = [(i, "") for i in range(at)] + [(at, None)]
        gone = [i for i in range(len(suites)) if i > at]
    else:
        arms = [(i, "") for i in range(len(chain)) if i != at]
        if len(suites) > len(chain):
            arms.append((len(chain), None))
        gone = [at]
    for i in gone:
        simple = any_arm or _is_simple(context, suites[i])
        if not simple or _unbinds(context, top, suites[i]):
            return None
    if len(arms) == 1 and arms[0][1] is None:
        if _leaves(suites[arms[0][0]]) and _has_more(context, top):
            return None  # what follows could never run
    return Fix("Take the arm out", (Branch(context.source.span(top), tuple(arms)),))


def moves_by_itself(context: Context, probe: ast.expr) -> bool:
    """Whether the arm behind a probe is simple and nothing stands for it: it moves as it is.

    An arm that only synchronises, seeds or clears needs none; one that chooses a value or
    returns needs the canonical vendor's in its chain, in its ``else``, or in an ``if`` beside it.
    """
    branch = context.scopes.parents.get(probe)
    if not isinstance(branch, ast.If) or branch.test is not probe:
        return False
    if all(isinstance(statement, ast.Expr | ast.Pass | ast.Import) for statement in branch.body):
        return False
    if not _is_simple(context, branch.body):
        return False
    top, chain = _chain(context, branch)
    around: list[ast.AST] = list(_tests_beside(context, top))
    for arm in chain:
        if arm is not branch:
            around += [arm.test, *arm.body]
    around += chain[-1].orelse
    words = {*context.canonical_types, context.vocabulary.target.device_type}
    for node in around:
        for part in ast.walk(node):
            name = part.value if isinstance(part, ast.Constant) else getattr(part, "attr", None)
            if isinstance(name, str) and name.partition(":")[0] in words:
                return False
    return True


def _tests_beside(context: Context, branch: ast.If) -> list[ast.expr]:
    """Tests of the ``if``s directly before and after a statement."""
    parent = context.scopes.parents.get(branch)
    for name in ("body", "orelse", "finalbody"):
        suite = getattr(parent, name, None)
        if isinstance(suite, list) and branch in suite:
            at = suite.index(branch)
            beside = suite[max(at - 1, 0) : at] + suite[at + 1 : at + 2]
            return [statement.test for statement in beside if isinstance(statement, ast.If)]
    return []


def _chain(context: Context, branch: ast.If) -> tuple[ast.If, list[ast.If]]:
    """The outermost ``if`` of a chain, and its ``if`` and ``elif``s in order."""
    top = branch
    parent = context.scopes.parents.get(top)
    while isinstance(parent, ast.If) and parent.orelse == [top] and _is_elif(context, top):
        top, parent = parent, context.scopes.parents.get(parent)
    chain = [top]
    while len(chain[-1].orelse) == 1:
        following = chain[-1].orelse[0]
        if not isinstance(following, ast.If) or not _is_elif(context, following):
            break
        chain.append(following)
    return top, chain


def _is_elif(context: Context, branch: ast.If) -> bool:
    return context.source.text.startswith("elif", context.source.start(branch))


def _is_simple(context: Context, suite: list[ast.stmt]) -> bool:
    """Whether statements do no more than select names, move, synchronise or seed."""
    return all(_is_simple_statement(context, statement) for statement in suite)


def _is_simple_statement(context: Context, statement: ast.stmt) -> bool:
    match statement:
        case ast.Pass() | ast.Import() | ast.ImportFrom():
            return True
        case ast.Assign() | ast.AnnAssign():
            return statement.value is None or _is_simple_value(context, statement.value)
        case ast.Return():
            return statement.value is None or _is_simple_value(context, statement.value)
        case ast.Expr():
            return _is_simple_value(context, statement.value)
        case ast.If():
            return _is_simple(context, statement.body) and _is_simple(context, statement.orelse)
    return False


def _is_simple_value(context: Context, value: ast.expr) -> bool:
    match value:
        case ast.Constant() | ast.Name() | ast.Attribute() | ast.JoinedStr() | ast.Subscript():
            return True
        case ast.Tuple() | ast.List():
            return all(_is_simple_value(context, element) for element in value.elts)
        case ast.Call():
            arguments = [*value.args, *(keyword.value for keyword in value.keywords)]
            if not all(_is_simple_value(context, argument) for argument in arguments):
                return False
            reference = context.reference_at.get(value.func)
            if reference is not None and reference.entry is not None:
                return reference.entry.status not in ("none", "keep")
            if context.names.resolve(value.func).only in ("torch.device", "builtins.str"):
                return True
            is_method = isinstance(value.func, ast.Attribute)
            return is_method and context.names.called_name(value) in _SIMPLE_METHODS
    return False


def _unbinds(context: Context, top: ast.If, suite: list[ast.stmt]) -> bool:
    """Whether a name that is read elsewhere gets its value in this suite alone."""
    inside = {node for statement in suite for node in ast.walk(statement)}
    for node in inside:
        if isinstance(node, ast.Import | ast.ImportFrom):
            targets: list[tuple[str, ast.AST]] = [
                (alias.asname or alias.name.partition(".")[0], alias) for alias in node.names
            ]
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            targets = [(node.id, node)]
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


def _leaves(suite: list[ast.stmt]) -> bool:
    return isinstance(suite[-1], ast.Return | ast.Raise | ast.Continue | ast.Break)


def _has_more(context: Context, statement: ast.stmt) -> bool:
    """Whether a statement is followed by another one in its suite."""
    parent = context.scopes.parents.get(statement)
    for name in ("body", "orelse", "finalbody"):
        suite = getattr(parent, name, None)
        if isinstance(suite, list) and statement in suite:
            return suite[-1] is not statement
    return False
