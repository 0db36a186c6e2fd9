"""FL201: code that tells one vendor from another.

``device.type == "npu"`` beside ``device.type == "cuda"`` is a choice between vendors. On the
target all of them are one device, and the canonical vendor's code (cuda, unless configured or
the project has none) is the code that runs there. So only the canonical vendor's name moves;
the test for another vendor stays as it is, false on the target, and what it guards with it.
Moving all names would make two arms, keys or cases the same, or switch a work-around for one
chip on for every chip.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from flmigrate.analysis.context import Context
from flmigrate.analysis.kinds import Verdict
from flmigrate.findings import Finding, Fix, Members, Severity, Span
from flmigrate.rules.collapse import moves_by_itself, without_probe
from flmigrate.rules.strings import device_literals

_HELPER = re.compile(r"_*(?:is|has|check|have)_\w+")


def check(context: Context) -> Iterator[Finding]:
    """Findings for tests and entries of other vendors; protects their spans."""
    own = context.vocabulary.target.device_type
    canonical = context.canonical_types | ({own} if own else set())
    literals = {node: kind for node, kind, _ in device_literals(context)}
    others = {n for n, kind in literals.items() if kind in context.other_types}
    seen: set[ast.AST] = set()
    for node in sorted(others, key=context.source.start):
        question = _question(context, node)
        named = (
            {literals[part] for part in ast.walk(question) if part in literals}
            if question is not None
            else set()
        )
        if question is None or named & canonical:
            yield from _entry(context, node, literals, canonical, seen)
        elif question not in seen:
            seen.add(question)
            yield from _kept_test(context, question, ", ".join(sorted(named)))
    yield from _probes(context)


def _question(context: Context, node: ast.expr) -> ast.expr | None:
    """The comparison or ``startswith`` in which a literal names a vendor."""
    current: ast.AST = node
    parent = context.scopes.parents.get(current)
    if isinstance(parent, ast.Tuple | ast.List | ast.Set):
        current, parent = parent, context.scopes.parents.get(parent)
    if isinstance(parent, ast.Compare):
        return parent
    if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute):
        if parent.func.attr == "startswith" and current in parent.args:
            return parent
    return None


def _kept_test(context: Context, test: ast.expr, vendors: str) -> Iterator[Finding]:
    context.protected.append(context.source.span(test))
    for span in _guarded(context, test):
        context.protected.append(span)
    message = f"a test for {vendors} alone stays, with the code behind it"
    yield context.finding("FL201", message, test, note=True)


def _guarded(context: Context, test: ast.expr) -> Iterator[Span]:
    """What runs only where ``test`` holds."""
    current: ast.AST = test
    parent = context.scopes.parents.get(current)
    while isinstance(parent, ast.BoolOp) and isinstance(parent.op, ast.And):
        current, parent = parent, context.scopes.parents.get(parent)
    negated = isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.NotEq | ast.NotIn)
    if negated:
        return
    if isinstance(parent, ast.If) and parent.test is current:
        first, last = parent.body[0], parent.body[-1]
        yield Span(context.source.start(first), context.source.end(last))
    elif isinstance(parent, ast.IfExp) and parent.test is current:
        yield context.source.span(parent.body)


def _entry(
    context: Context,
    node: ast.expr,
    literals: dict[ast.expr, str],
    canonical: frozenset[str],
    seen: set[ast.AST],
) -> Iterator[Finding]:
    """A member, key or case beside the canonical vendor's own."""
    display = context.scopes.parents.get(node)
    beside: list[ast.expr] = []
    if isinstance(display, ast.Tuple | ast.List | ast.Set):
        beside = display.elts
    elif isinstance(display, ast.Dict) and node in display.keys:
        beside = [key for key in display.keys if key is not None]
    elif isinstance(display, ast.MatchValue):
        match = context.names.enclosing(display, ast.Match)
        display = match
        beside = [part for part in ast.walk(match) if part in literals] if match else []
    if not any(literals.get(other) in canonical for other in beside):
        if len(beside) > 1 and isinstance(display, ast.Tuple | ast.List | ast.Set):
            yield from _other_members(context, node, display, seen)
        return
    context.protected.append(context.source.span(node))
    if display is None or display in seen:
        return
    seen.add(display)
    message = f'"{literals[node]}" stays beside the entry that moves; the target needs one'
    fix = _without_others(context, display, literals)
    if fix is not None:
        message = "entries of other vendors go: the target's own stands for them"
    yield context.finding("FL201", message, node, severity=Severity.INFO, fix=fix)


def _without_others(
    context: Context, display: ast.AST, literals: dict[ast.expr, str]
) -> Fix | None:
    """Drop the other vendors from a collection that is known to list devices."""
    if not isinstance(display, ast.Tuple | ast.List | ast.Set):
        return None
    ours = [element for element in display.elts if element in literals]
    if any(context.devices.verdict(element) is not Verdict.YES for element in ours):
        return None
    drop = [i for i, e in enumerate(display.elts) if literals.get(e) in context.other_types]
    return Fix("Drop the other vendors", (Members(context.source.span(display), tuple(drop)),))


def _other_members(
    context: Context, node: ast.expr, display: ast.expr, seen: set[ast.AST]
) -> Iterator[Finding]:
    """``{"mps", "npu"}``: a list of other vendors, of the hardware that lacks something, say."""
    context.protected.append(context.source.span(node))
    if display not in seen:
        seen.add(display)
        message = "a list of other vendors stays; the target is none of them"
        yield context.finding("FL201", message, display, note=True)


def _probes(context: Context) -> Iterator[Finding]:
    """``if torch.npu.is_available()`` where cuda is the canonical vendor."""
    kept: set[ast.AST] = set()
    probes = dict(_probes_of_others(context))
    for call, vendor in probes.items():
        test = _whole_test(context, call)
        if test is None or test in kept or _in_helper(context, call):
            continue
        alternative = _alternative(context, call)
        if alternative is not None:
            context.protected.append(context.source.span(call))
            operation, position = alternative
            edit = Members(context.source.span(operation), (position,))
            message = f"the probe for {vendor} goes: the target's own stands for it"
            probe_fix = Fix("Drop the probe", (edit,))
            yield context.finding("FL201", message, call, severity=Severity.INFO, fix=probe_fix)
        elif not _asks_helper(context, test, call):
            kept.add(test)
            alone = all(part in probes for part in _operands(test))
            dropped = vendor in context.drop_vendors
            if alone and not dropped and moves_by_itself(context, test):
                continue  # nothing would be left of it: it moves like any other code
            fix = without_probe(context, test, any_arm=dropped) if alone else None
            if fix is None and dropped:
                message = f"the arm for {vendor} cannot be dropped by itself"
                yield context.finding("FL201", message, test, note=True)
                continue
            if fix is None:
                yield from _kept_probe(context, test, vendor, alone and test is call)
                continue
            context.protected.append(context.source.span(context.scopes.parents[test]))
            message = f"the arm for {vendor} goes: {context.canonical_vendor}'s stands for it"
            if dropped:
                message = f"the arm for {vendor} goes, a vendor that is to be dropped"
            yield context.finding("FL201", message, call, severity=Severity.INFO, fix=fix)


def _operands(test: ast.expr) -> list[ast.expr]:
    return test.values if isinstance(test, ast.BoolOp) else [test]


def _kept_probe(context: Context, test: ast.expr, vendor: str, raises: bool) -> Iterator[Finding]:
    if not raises:
        yield from _kept_test(context, test, vendor)
        return
    for span in (context.source.span(test), *_guarded(context, test)):
        context.protected.append(span)
    message = f"this probe raises on the target, which has no torch.{vendor}"
    yield context.finding("FL201", message, test, severity=Severity.ERROR, note=True)


def _probes_of_others(context: Context) -> Iterator[tuple[ast.Call, str]]:
    """``torch.npu.is_available()`` and ``hasattr(torch, "npu")``, with their vendor."""
    for reference in context.references:
        if reference.path.endswith(".is_available"):
            vendor = context.vendor_of(reference.path)
            call = context.is_called(reference.node)
            if call is not None and vendor not in (None, context.canonical_vendor):
                yield call, str(vendor)
    for name in context.drop_vendors:
        yield from _probes_of(context, name)
    for call in context.scopes.nodes[ast.Call]:
        if context.names.called_name(call) == "hasattr" and len(call.args) == 2:
            name = call.args[1]
            if isinstance(name, ast.Constant) and name.value in context.other_types:
                if context.names.resolve(call.args[0]).only == "torch":
                    yield call, str(name.value)


def _probes_of(context: Context, vendor: str) -> Iterator[tuple[ast.Call, str]]:
    """Probes of a vendor that the target does not serve and the user drops."""
    table = context.vocabulary.vendors[vendor]
    probes = ("is_available", "is_built")
    known = {f"{name}.{probe}" for name in table.namespaces for probe in probes}
    for call in context.scopes.nodes[ast.Call]:
        if context.names.called_name(call) in probes:
            if context.names.resolve(call.func).only in known:
                yield call, vendor


def _whole_test(context: Context, call: ast.expr) -> ast.expr | None:
    """The test of an ``if`` or conditional expression that a probe decides, with all its ands."""
    current: ast.expr = call
    parent = context.scopes.parents.get(current)
    while isinstance(parent, ast.BoolOp) and isinstance(parent.op, ast.And):
        current, parent = parent, context.scopes.parents.get(parent)
    outer: ast.AST = current
    while isinstance(parent, ast.BoolOp | ast.UnaryOp):
        outer, parent = parent, context.scopes.parents.get(parent)
    decides = isinstance(parent, ast.If | ast.IfExp) and parent.test is outer
    return current if decides else None


def _asks_helper(context: Context, test: ast.expr, probe: ast.expr) -> bool:
    """Whether a helper such as ``is_npu_available()`` is asked too: once moved, it is true."""
    return any(
        isinstance(part, ast.Call)
        and part is not probe
        and _HELPER.fullmatch(context.names.called_name(part)) is not None
        and context.names.called_name(part) != "is_available"
        for part in ast.walk(test)
    )


def _alternative(context: Context, call: ast.expr) -> tuple[ast.BoolOp, int] | None:
    """The ``or`` in which a probe stands beside the canonical vendor's, and its position."""
    operation = context.scopes.parents.get(call)
    if not isinstance(operation, ast.BoolOp) or not isinstance(operation.op, ast.Or):
        return None
    position = operation.values.index(call)
    own = f"{context.vocabulary.target.namespace}.is_available"
    for value in operation.values:
        if isinstance(value, ast.Call) and value is not call:
            path = context.names.resolve(value.func).only
            if path == own or context.vendor_of(path) == context.canonical_vendor:
                if path.endswith(".is_available"):
                    return operation, position
    return None


def _in_helper(context: Context, node: ast.AST) -> bool:
    function = context.names.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef)
    return isinstance(function, ast.FunctionDef) and bool(_HELPER.fullmatch(function.name))
