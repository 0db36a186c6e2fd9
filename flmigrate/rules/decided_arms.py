"""FL201: arms of ``if`` chains, and cases of ``match``, that the target never runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from flmigrate.analysis.context import Context
from flmigrate.analysis.kinds import Verdict
from flmigrate.findings import Applicability, Branch, Fix, Severity
from flmigrate.rules import collapse
from flmigrate.rules.chains import Arm, arms_of, is_elif
from flmigrate.rules.decisions import Decided, keep, severity_of


def look_at_chain(context: Context, top: ast.If, decided: Decided) -> None:
    """Take the arms out of an ``if`` chain that the target decides, or say why they stay."""
    if is_elif(context, top) or not _may_be_decided(context, top):
        return
    arms = arms_of(context, top)
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
    keep(context, arm.test, decided)
    if arm.holds is False:
        context.protect(*arm.suite)
    message = f"a branch for {', '.join(sorted(arm.vendors))} alone stays: {obstacle.why}"
    fix = None
    if obstacle.may_go:
        branch = Branch(context.source.span(arms[0].branch), tuple(_without(arms, arm)))
        fix = Fix("Take the branch as decided", (branch,), Applicability.UNSAFE)
    severity = severity_of(context, arm.test)
    if severity is Severity.ERROR:
        message += "; its test raises on the target"
    decided.findings.append(
        context.finding("FL201", message, arm.test, severity=severity, fix=fix, note=True)
    )
    return None


def _without(arms: Sequence[Arm], arm: Arm) -> Iterator[tuple[int, str | None]]:
    """What stays of a chain of which one arm's test is taken as decided, as ``Branch`` has it."""
    for number, other in enumerate(arms):
        if other is arm and arm.holds:
            yield number, None
            return
        if other is not arm:
            yield number, None if other.test is None else ""


def look_at_cases(context: Context, node: ast.Match, decided: Decided) -> None:
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
