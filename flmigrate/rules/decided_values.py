"""FL201: conditional expressions, assertions and operands that the target decides."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from flmigrate.analysis.context import Context
from flmigrate.analysis.predicates import is_and, operands
from flmigrate.analysis.questions import Question
from flmigrate.findings import Applicability, Expression, Fix, Members, Severity, Statement
from flmigrate.rules import collapse
from flmigrate.rules.decisions import Decided, holds_of, keep, severity_of, vendor_names, vendors_of
from flmigrate.rules.truth import is_tested, is_truth


def look_at_choice(context: Context, node: ast.IfExp, decided: Decided) -> None:
    """``a if is_npu() else b``: one of the two goes, or it is said why both stay."""
    predicates = context.predicates
    holds = holds_of(context, node.test)
    if holds is None or not predicates.settles(node.test) or context.is_protected(node):
        return
    kept, gone = (node.body, node.orelse) if holds else (node.orelse, node.body)
    vendors = vendors_of(context, node.test)
    decided.tests.update(atom.node for atom in predicates.atoms(node.test))
    why = collapse.obstacle_to_choice(context, kept, gone, node.test)
    edit = _without_choice(context, node, kept)
    if why is not None:
        keep(context, node.test, decided)
        context.protect(gone)
        message = f"a choice for {vendors} alone stays: {why}"
        fix = Fix("Take the other value", (edit,), Applicability.UNSAFE)
        severity = severity_of(context, node.test)
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


def _without_choice(context: Context, node: ast.IfExp, kept: ast.expr) -> Expression | Members:
    """The value that stays, in the place of its choice; an empty one is added to nothing."""
    parent = context.scopes.parents.get(node)
    is_empty = isinstance(kept, ast.List | ast.Tuple) and not kept.elts
    if isinstance(parent, ast.Starred) and is_empty:
        whole = context.scopes.parents.get(parent)
        if isinstance(whole, ast.List | ast.Tuple | ast.Set) and len(whole.elts) > 1:
            return Members(context.source.span(whole), (whole.elts.index(parent),))
    if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Add) and is_empty:
        other = parent.left if parent.right is node else parent.right
        is_new = isinstance(other, ast.List | ast.Tuple | ast.BinOp | ast.ListComp)
        # A list that has a name would be the same list afterwards, not one like it.
        if is_new:
            return Expression(context.source.span(parent), "__0__", (context.source.span(other),))
    return Expression(context.source.span(node), "__0__", (context.source.span(kept),))


def look_at_assertion(context: Context, node: ast.Assert, decided: Decided) -> None:
    """``assert not is_npu()`` goes; one that never holds is reported."""
    predicates = context.predicates
    holds = holds_of(context, node.test)
    if holds is None or not predicates.settles(node.test) or context.is_protected(node):
        return
    vendors = vendors_of(context, node.test)
    keep(context, node.test, decided)
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


def look_at_operands(context: Context, node: ast.BoolOp | ast.Call, decided: Decided) -> None:
    """``cuda_ok or is_npu()``, ``any([cuda_ok, is_npu()])``: what can change nothing goes."""
    predicates = context.predicates
    parts = operands(node)
    if parts is None or not predicates.may_be_decided(node):
        return
    if predicates.holds(node) is not None or context.is_protected(node):
        return
    stops = not is_and(node)
    drop = [
        number
        for number, value in enumerate(parts)
        if predicates.holds(value) is (not stops) and predicates.settles(value)
    ]
    if not drop:
        return
    rest = [value for number, value in enumerate(parts) if number not in drop]
    dropped = [parts[number] for number in drop]
    vendors = ", ".join(sorted({v for value in dropped for v in vendor_names(context, value)}))
    matters = not is_tested(context, node)
    if matters and isinstance(node, ast.BoolOp) and len(parts) - 1 in drop:
        if not all(is_truth(context, value) for value in rest[-1:]):
            return
    for value in dropped:
        decided.tests.update(atom.node for atom in predicates.atoms(value))
    context.protect(*dropped)
    if stops and _is_list_of_hardware(context, rest):
        message = f"a test for {vendors} among other hardware stays: it may be a limit of the chip"
        decided.findings.append(context.finding("FL201", message, node, note=True))
        return
    edit: Members | Expression = Members(context.source.span(node), tuple(drop))
    if isinstance(node, ast.Call):
        edit = Members(context.source.span(node.args[0]), tuple(drop))
        if len(rest) == 1 and (is_truth(context, rest[0]) or not matters):
            edit = Expression(context.source.span(node), "__0__", (context.source.span(rest[0]),))
    message = f"a test for {vendors} goes: the target's own stands for it"
    fix = Fix("Drop the operand", (edit,))
    decided.findings.append(
        context.finding("FL201", message, dropped[0], severity=Severity.INFO, fix=fix)
    )


def _is_list_of_hardware(context: Context, rest: Sequence[ast.expr]) -> bool:
    """Whether the other operands ask for vendors that the target does not serve, and no more."""
    atoms = [atom for value in rest for atom in context.predicates.atoms(value)]
    return bool(atoms) and all(atom.question is Question.UNSERVED for atom in atoms)
