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
from collections.abc import Iterator

from flmigrate.analysis.context import Context
from flmigrate.analysis.kinds import Verdict
from flmigrate.findings import Finding, Fix, Members, Severity, Span
from flmigrate.rules.answers import passed_on
from flmigrate.rules.decided import look
from flmigrate.rules.enumerations import enumerations
from flmigrate.rules.strings import device_literals
from flmigrate.rules.test_parameters import rows_of_others


def check(context: Context) -> Iterator[Finding]:
    """Findings for tests and entries of other vendors; protects their spans."""
    own = context.vocabulary.target.device_type
    canonical = context.canonical_types | ({own} if own else set())
    literals = {node: kind for node, kind, _ in device_literals(context)}
    others = {n for n, kind in literals.items() if kind in context.other_types}
    decided = look(context)
    yield from decided.findings
    yield from passed_on(context)
    yield from enumerations(context)
    seen: set[ast.AST] = set(decided.tests)
    if others:
        yield from rows_of_others(context, literals, canonical, seen)
    for node in sorted(others - seen, key=context.source.start):
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
    kept = isinstance(context.scopes.parents.get(test), ast.Assign | ast.AnnAssign)
    if kept and context.predicates.holds(test) is not None:
        # Those who ask the flag are looked at themselves.
        message = f"an answer about {vendors} is kept; it is the same wherever the target runs"
        yield context.finding("FL201", message, test, severity=Severity.INFO)
        return
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
        elif beside and isinstance(display, ast.Dict | ast.Match):
            context.protect(node)
            message = f'what is chosen for "{literals[node]}" alone stays; the target is none'
            yield context.finding("FL201", message, node, severity=Severity.INFO)
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
