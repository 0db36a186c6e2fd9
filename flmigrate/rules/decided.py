"""FL201: branches whose test the target decides.

``is_npu_available()`` is false wherever the canonical vendor's code runs, so what only runs
behind it never runs. Such an arm goes, if that loses nothing: it selects names, moves,
synchronises or seeds, or says what another arm says. An arm that does anything else is another
implementation or a work-around for a chip; it stays, and is reported.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from flmigrate.analysis.context import Context
from flmigrate.analysis.kinds import Verdict
from flmigrate.analysis.questions import Question
from flmigrate.findings import (
    Applicability,
    Branch,
    Expression,
    Finding,
    Fix,
    Members,
    Removal,
    Severity,
    Statement,
)
from flmigrate.rules import collapse
from flmigrate.rules.collapse import Arm

#: What stands before a filter, without parentheses or comments around it.
_FILTER = re.compile(r"\)*(?P<word>\s+if\s+)")


@dataclass(slots=True, eq=False)
class Decided:
    """What was found: findings, tests that were dealt with, and code that others may not touch."""

    findings: list[Finding] = field(default_factory=list)
    tests: set[ast.AST] = field(default_factory=set)


def look(context: Context) -> Decided:
    """Look at every condition of a file that names a vendor which the target never is."""
    decided = Decided()
    if not context.names_gone_vendor:
        return decided
    for kind in (ast.If, ast.IfExp, ast.Assert):
        for node in sorted(context.scopes.nodes[kind], key=context.source.start):
            if isinstance(node, ast.If):
                _chain(context, node, decided)
            elif isinstance(node, ast.IfExp):
                _choice(context, node, decided)
            else:
                _assertion(context, node, decided)
    for node in sorted(context.scopes.nodes[ast.BoolOp], key=context.source.start):
        _operands(context, node, decided)
    for node in context.scopes.nodes[ast.Match]:
        _cases(context, node, decided)
    for loop in context.scopes.nodes[ast.While]:
        _loop(context, loop, decided)
    for part in context.scopes.nodes[ast.comprehension]:
        _filters(context, part, decided)
    return decided


# --- if chains -------------------------------------------------------------------------------


def _chain(context: Context, top: ast.If, decided: Decided) -> None:
    if collapse.is_elif(context, top) or not _may_be_decided(context, top):
        return
    arms = collapse.arms_of(context, top)
    if not any(arm.holds is not None for arm in arms):
        return
    if context.is_protected(top):
        return
    settled = [_settled_arm(context, arms, arm, decided) for arm in arms]
    kept: list[tuple[int, str | None]] = []
    gone: list[Arm] = []
    for number, arm in enumerate(arms):
        if settled[number] is False:
            gone.append(arm)
        elif settled[number] is True or arm.test is None:
            kept.append((number, None))
            gone += arms[number + 1 :]
            break
        else:
            kept.append((number, ""))
    if not gone and not (kept and kept[-1][1] is None and arms[kept[-1][0]].test is not None):
        return
    vendors = ", ".join(sorted({v for arm in arms for v in arm.vendors}))
    message = f"what runs for {vendors} alone goes: {context.canonical_vendor}'s stands for it"
    if any(vendor in context.drop_vendors for arm in arms for vendor in arm.vendors):
        message = f"what runs for {vendors} alone goes; it is to be dropped"
    fix = Fix("Take the arm out", (Branch(context.source.span(top), tuple(kept)),))
    first = next(arm for number, arm in enumerate(arms) if settled[number] is not None)
    assert first.test is not None
    context.protect(top)
    finding = context.finding("FL201", message, first.test, severity=Severity.INFO, fix=fix)
    decided.findings.append(finding)
    tests = [arm.test for arm in arms if arm.test is not None]
    decided.tests.update(atom.node for test in tests for atom in context.predicates.atoms(test))


def _may_be_decided(context: Context, top: ast.If) -> bool:
    branch = top
    while not context.predicates.may_be_decided(branch.test):
        below = branch.orelse
        if len(below) != 1 or not isinstance(below[0], ast.If):
            return False
        branch = below[0]
    return True


def _settled_arm(context: Context, arms: Sequence[Arm], arm: Arm, decided: Decided) -> bool | None:
    """Whether an arm's test is decided and can be taken so; what speaks against it is reported."""
    if arm.test is None or arm.holds is None:
        return None
    obstacle = collapse.obstacle(context, arms, arm)
    if obstacle is None:
        return arm.holds
    _keep(context, arm.test, decided)
    if arm.holds is False:
        context.protect(*arm.suite)
    message = f"a branch for {', '.join(sorted(arm.vendors))} alone stays: {obstacle.why}"
    fix = None
    if obstacle.may_go:
        kept = [(i, "") for i, other in enumerate(arms) if other is not arm and other.test]
        if arms[-1].test is None:
            kept.append((len(arms) - 1, None))  # type: ignore[arg-type]
        if arm.holds is False:
            branch = Branch(context.source.span(arms[0].branch), tuple(kept))
            fix = Fix("Take the arm out", (branch,), Applicability.UNSAFE)
    severity = _severity(context, arm.test)
    if severity is Severity.ERROR:
        message += "; its test raises on the target"
    decided.findings.append(
        context.finding("FL201", message, arm.test, severity=severity, fix=fix, note=True)
    )
    return None


def _severity(context: Context, test: ast.expr) -> Severity:
    """How much it matters that a test stays: one that raises on the target is an error."""
    return Severity.ERROR if collapse.raises(context, test) else Severity.WARNING


def _holds(context: Context, test: ast.expr) -> bool | None:
    """What the target decides of a test; most are told open without a look at what they ask."""
    predicates = context.predicates
    return predicates.holds(test) if predicates.may_be_decided(test) else None


def _keep(context: Context, test: ast.expr, decided: Decided) -> None:
    """Leave what a test asks about vendors that are gone; the rest of it moves like other code."""
    for atom in context.predicates.atoms(test):
        if atom.holds is not None:
            decided.tests.add(atom.node)
            context.protect(atom.node)


# --- conditional expressions, assertions, operands -----------------------------------------


def _choice(context: Context, node: ast.IfExp, decided: Decided) -> None:
    predicates = context.predicates
    holds = _holds(context, node.test)
    if holds is None or not predicates.settles(node.test) or context.is_protected(node):
        return
    kept, gone = (node.body, node.orelse) if holds else (node.orelse, node.body)
    vendors = _vendors(context, node.test)
    decided.tests.update(atom.node for atom in predicates.atoms(node.test))
    why = collapse.obstacle_to_choice(context, kept, gone, node.test)
    edit = Expression(context.source.span(node), "__0__", (context.source.span(kept),))
    if why is not None:
        _keep(context, node.test, decided)
        context.protect(gone)
        message = f"a choice for {vendors} alone stays: {why}"
        fix = Fix("Take the other value", (edit,), Applicability.UNSAFE)
        severity = _severity(context, node.test)
        decided.findings.append(
            context.finding("FL201", message, node, severity=severity, fix=fix, note=True)
        )
        return
    message = f"what holds for {vendors} alone goes: {context.canonical_vendor}'s stands for it"
    fix = Fix("Take the other value", (edit,))
    context.protect(node.test, gone)
    decided.findings.append(
        context.finding("FL201", message, node, severity=Severity.INFO, fix=fix)
    )


def _assertion(context: Context, node: ast.Assert, decided: Decided) -> None:
    predicates = context.predicates
    holds = _holds(context, node.test)
    if holds is None or not predicates.settles(node.test) or context.is_protected(node):
        return
    vendors = _vendors(context, node.test)
    _keep(context, node.test, decided)
    if holds:
        context.protect(node)
        fix = Fix("Remove the assertion", (Statement(context.source.span(node), None),))
        message = f"an assertion about {vendors} is always true on the target, and goes"
        decided.findings.append(
            context.finding("FL201", message, node, severity=Severity.INFO, fix=fix)
        )
    else:
        message = f"this asserts {vendors}, which the target never is"
        decided.findings.append(context.finding("FL201", message, node, note=True))


def _operands(context: Context, node: ast.BoolOp, decided: Decided) -> None:
    """``cuda_ok or is_npu()``: an operand that can change nothing goes."""
    predicates = context.predicates
    stops = isinstance(node.op, ast.Or)
    if not predicates.may_be_decided(node):
        return
    if predicates.holds(node) is not None or context.is_protected(node):
        return
    drop = [
        number
        for number, value in enumerate(node.values)
        if predicates.holds(value) is (not stops) and predicates.settles(value)
    ]
    if not drop:
        return
    rest = [value for number, value in enumerate(node.values) if number not in drop]
    dropped = [node.values[number] for number in drop]
    vendors = ", ".join(sorted({v for value in dropped for v in _vendor_names(context, value)}))
    if not collapse.is_tested(context, node) and len(node.values) - 1 in drop:
        if not all(collapse.is_truth(context, value) for value in rest[-1:]):
            return
    for value in dropped:
        decided.tests.update(atom.node for atom in predicates.atoms(value))
    context.protect(*dropped)
    if stops and _is_list_of_hardware(context, rest):
        message = f"a test for {vendors} among other hardware stays: it may be a limit of the chip"
        decided.findings.append(context.finding("FL201", message, node, note=True))
        return
    fix = Fix("Drop the operand", (Members(context.source.span(node), tuple(drop)),))
    message = f"a test for {vendors} goes: the target's own stands for it"
    decided.findings.append(
        context.finding("FL201", message, dropped[0], severity=Severity.INFO, fix=fix)
    )


def _cases(context: Context, node: ast.Match, decided: Decided) -> None:
    """``case "npu":`` of a match on a device: no device of the target's is one."""
    gone: list[ast.match_case] = []
    for case in node.cases:
        vendors = _matched(context, case.pattern)
        if not vendors or not all(map(context.predicates.is_gone, vendors)):
            continue
        why = collapse.obstacle_to_case(context, node, case)
        decided.tests.update(part for part in ast.walk(case.pattern))
        if why is None:
            gone.append(case)
            continue
        context.protect(case.pattern, *case.body)
        message = f"a case for {', '.join(sorted(vendors))} alone stays: {why}"
        decided.findings.append(context.finding("FL201", message, case.pattern, note=True))
    if gone and len(gone) == len(node.cases) and not context.is_protected(node):
        context.protect(node)
        message = "every case is for a vendor that the target never is"
        decided.findings.append(context.finding("FL201", message, node.subject, note=True))
        return
    if not gone or context.is_protected(node):
        return
    context.protect(node)
    kept = tuple((i, "") for i, case in enumerate(node.cases) if case not in gone)
    fix = Fix("Take the case out", (Branch(context.source.span(node), kept),))
    message = f"a case for another vendor goes: {context.canonical_vendor}'s stands for it"
    decided.findings.append(
        context.finding("FL201", message, gone[0].pattern, severity=Severity.INFO, fix=fix)
    )


def _matched(context: Context, pattern: ast.pattern) -> set[str]:
    """The vendors whose devices a pattern matches, and it matches nothing else."""
    if isinstance(pattern, ast.MatchOr):
        found = [_matched(context, each) for each in pattern.patterns]
        return set[str]().union(*found) if all(found) else set()
    if not isinstance(pattern, ast.MatchValue):
        return set()
    kind = context.predicates.device_type(pattern.value)
    vendor = context.vocabulary.vendors.vendor_of_device(kind)
    if vendor is None or context.devices.verdict(pattern.value) is not Verdict.YES:
        return set()
    return {vendor.name}


def _loop(context: Context, loop: ast.While, decided: Decided) -> None:
    """``while is_npu(): torch.npu.synchronize()`` goes; other loops are a question to a human."""
    if _holds(context, loop.test) is not False or not collapse.may_drop_loop(context, loop):
        if _holds(context, loop.test) is False:
            context.protect(*loop.body)
        _kept(context, loop.test, decided)
        return
    decided.tests.update(atom.node for atom in context.predicates.atoms(loop.test))
    context.protect(loop)
    fix = Fix("Remove the loop", (Removal(context.source.span(loop)),))
    message = f"a loop for {_vendors(context, loop.test)} alone never runs on the target, and goes"
    decided.findings.append(
        context.finding("FL201", message, loop.test, severity=Severity.INFO, fix=fix)
    )


def _filters(context: Context, part: ast.comprehension, decided: Decided) -> None:
    """``[x for x in xs if not is_npu()]``: a filter that lets all pass goes."""
    before: ast.expr = part.iter
    for condition in part.ifs:
        edit = _without_filter(context, part, before, condition)
        if edit is None:
            _kept(context, condition, decided)
        else:
            decided.tests.update(atom.node for atom in context.predicates.atoms(condition))
            context.protect(condition)
            message = f"a filter for {_vendors(context, condition)} lets all pass, and goes"
            fix = Fix("Remove the filter", (edit,))
            decided.findings.append(
                context.finding("FL201", message, condition, severity=Severity.INFO, fix=fix)
            )
        before = condition


def _without_filter(
    context: Context, part: ast.comprehension, before: ast.expr, condition: ast.expr
) -> Expression | None:
    """The comprehension without one filter, which stands behind ``before``."""
    whole = context.scopes.parents.get(part)
    if not isinstance(whole, ast.ListComp | ast.SetComp | ast.DictComp):
        return None  # the parentheses of a generator may be those of the call around it
    if _holds(context, condition) is not True or not context.predicates.settles(condition):
        return None
    if context.is_protected(whole):
        return None
    source, span = context.source, context.source.span(whole)
    end = source.end(before)
    between = _FILTER.fullmatch(source.text, end, source.start(condition))
    if between is None:
        return None
    text = source.text[span.start : between.start("word")]
    return Expression(span, text + source.text[source.end(condition) : span.end], ())


def _kept(context: Context, condition: ast.expr, decided: Decided) -> None:
    holds = _holds(context, condition)
    if holds is None or context.is_protected(condition):
        return
    _keep(context, condition, decided)
    message = f"this asks for {_vendors(context, condition)}, and is {str(holds).lower()} always"
    severity = _severity(context, condition)
    decided.findings.append(
        context.finding("FL201", message, condition, severity=severity, note=True)
    )


def _is_list_of_hardware(context: Context, rest: Sequence[ast.expr]) -> bool:
    """Whether the other operands ask for vendors that the target does not serve, and no more."""
    atoms = [atom for value in rest for atom in context.predicates.atoms(value)]
    return bool(atoms) and all(atom.question is Question.UNSERVED for atom in atoms)


def _vendor_names(context: Context, test: ast.expr) -> set[str]:
    atoms = list(context.predicates.atoms(test))
    found = {v for atom in atoms if atom.holds is not None for v in atom.vendors}
    return found or {v for atom in atoms for v in atom.vendors}


def _vendors(context: Context, test: ast.expr) -> str:
    return ", ".join(sorted(_vendor_names(context, test)))
