"""FL201: probes of another vendor whose answer is kept or returned.

    IS_NPU = hasattr(torch, "npu") and torch.npu.is_available()     ->  IS_NPU = False

The flag, or the helper that returns the answer, keeps its name for those who ask it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flmigrate.analysis.context import Context
from flmigrate.analysis.questions import asked_vendor
from flmigrate.findings import Expression, Finding, Fix, Severity


def passed_on(context: Context) -> Iterator[Finding]:
    """Findings for probes that a flag or helper, named for their vendor, passes on."""
    if not context.names_gone_vendor:
        return
    seen: set[ast.AST] = set()
    for probe, vendor, is_attribute in _probes(context):
        whole = _condition(context, probe)
        if whole in seen:
            continue
        seen.add(whole)
        name = _receiver(context, whole)
        asked = asked_vendor(name, context.vocabulary.vendor_words) if name else None
        is_passed_on = asked is not None and context.predicates.is_gone(asked)
        if not is_passed_on and not (is_attribute and not _is_tested(context, whole)):
            continue
        holds = context.predicates.holds(whole)
        if holds is None or not context.predicates.settles(whole) or context.is_protected(whole):
            continue
        context.protect(whole)
        edit = Expression(context.source.span(whole), str(holds))
        message = f"this asks for {vendor}, which the target never is"
        fix = Fix(f"Say {holds}", (edit,))
        yield context.finding("FL201", message, whole, severity=Severity.INFO, fix=fix)


def _probes(context: Context) -> Iterator[tuple[ast.expr, str, bool]]:
    """``torch.npu.is_available()`` and ``x.is_npu`` with their vendor, and whether the latter."""
    predicates = context.predicates
    for call in sorted(context.scopes.nodes[ast.Call], key=context.source.start):
        for node in (call, context.scopes.parents.get(call)):
            if isinstance(node, ast.Call | ast.Compare):
                atom = predicates.atom(node)
                if atom.moves and atom.holds is not None:
                    yield node, ", ".join(sorted(atom.vendors)), False
                    break
    for attribute in context.scopes.nodes[ast.Attribute]:
        vendor = context.vocabulary.vendors.vendor_of_attribute(attribute.attr)
        if vendor is not None and predicates.is_gone(vendor):
            if isinstance(attribute.ctx, ast.Load) and predicates.atom(attribute).holds is False:
                yield attribute, vendor.name, True


def _is_tested(context: Context, condition: ast.expr) -> bool:
    parent = context.scopes.parents.get(condition)
    return isinstance(parent, ast.If | ast.IfExp | ast.While | ast.Assert | ast.comprehension)


def _condition(context: Context, probe: ast.expr) -> ast.expr:
    """The whole condition that a probe is part of."""
    current: ast.expr = probe
    parent = context.scopes.parents.get(current)
    while isinstance(parent, ast.BoolOp | ast.UnaryOp | ast.Compare):
        current, parent = parent, context.scopes.parents.get(parent)
    return current


def _receiver(context: Context, value: ast.expr) -> str:
    """The name of the flag that is set to a value, or of the function that returns it."""
    parent = context.scopes.parents.get(value)
    if isinstance(parent, ast.Assign) and len(parent.targets) == 1:
        [target] = parent.targets
        return target.id if isinstance(target, ast.Name) else ""
    if isinstance(parent, ast.AnnAssign) and isinstance(parent.target, ast.Name):
        return parent.target.id
    if isinstance(parent, ast.Return):
        function = context.names.enclosing(parent, ast.FunctionDef, ast.AsyncFunctionDef)
        owner = context.scopes.parents.get(function) if function is not None else None
        if isinstance(function, ast.FunctionDef) and not isinstance(owner, ast.ClassDef):
            return function.name
    return ""
