"""FL201: what asks for another vendor where the answer is a value.

    IS_NPU = hasattr(torch, "npu") and torch.npu.is_available()     ->  IS_NPU = False
    assert (n := count()) > 1 and torch.npu.device_count() > 0      ->  ... and False

The target never is that vendor. Moved to the target's name, the answer would change from no to
yes, and switch on what was never run.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flmigrate.analysis.context import Context
from flmigrate.findings import Expression, Finding, Fix, Severity


def passed_on(context: Context) -> Iterator[Finding]:
    """Findings for probes of another vendor that no branch has taken with it."""
    if not context.names_gone_vendor:
        return
    seen: set[ast.AST] = set()
    for probe in _probes(context):
        if context.is_protected(probe):
            continue  # a branch that stays has it
        whole = _condition(context, probe)
        if whole in seen or context.is_protected(whole):
            continue
        seen.add(whole)
        holds = context.predicates.holds(whole)
        context.protect(whole)
        edit = Expression(context.source.span(whole), str(holds))
        vendors = ", ".join(sorted(context.predicates.atom(probe).vendors))
        message = f"this asks for {vendors}, which the target never is"
        fix = Fix(f"Say {holds}", (edit,))
        yield context.finding("FL201", message, whole, severity=Severity.INFO, fix=fix)


def _probes(context: Context) -> Iterator[ast.expr]:
    """``torch.npu.is_available()``, ``hasattr(torch, "npu")``, ``x.is_npu`` and the like.

    A bare ``torch.npu.device_count()`` is a number, ``getattr(torch, "npu", None)`` a module,
    and no answer unless it is tested.
    """
    predicates, nodes = context.predicates, context.scopes.nodes
    found: list[ast.expr] = [c for c in nodes[ast.Call] if _name(c) in _ASKING]
    found += [c for c in nodes[ast.Compare] if _name(c.left) in _ASKING]
    found += [a for a in nodes[ast.Attribute] if isinstance(a.ctx, ast.Load)]
    for node in sorted(found, key=context.source.start):
        if isinstance(node, ast.Attribute):
            vendor = context.vocabulary.vendors.vendor_of_attribute(node.attr)
            if vendor is None or not predicates.is_gone(vendor):
                continue
        elif not predicates.atom(node).moves:
            continue
        is_value = _name(node) in ("device_count", "getattr")
        if predicates.settles(node) and not (is_value and not _is_tested(context, node)):
            yield node


_ASKING = frozenset({"is_available", "is_built", "hasattr", "getattr", "device_count"})


def _name(node: ast.expr) -> str:
    """The last part of the name that a call is written with."""
    if not isinstance(node, ast.Call):
        return ""
    function = node.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _is_tested(context: Context, node: ast.expr) -> bool:
    parent = context.scopes.parents.get(node)
    if isinstance(parent, ast.BoolOp | ast.UnaryOp):
        return not isinstance(parent, ast.UnaryOp) or isinstance(parent.op, ast.Not)
    return isinstance(parent, ast.If | ast.IfExp | ast.While | ast.Assert) and parent.test is node


def _condition(context: Context, probe: ast.expr) -> ast.expr:
    """The largest condition around a probe that is decided, and does nothing but ask."""
    current: ast.expr = probe
    parent = context.scopes.parents.get(current)
    while isinstance(parent, ast.BoolOp | ast.UnaryOp) and context.predicates.settles(parent):
        current, parent = parent, context.scopes.parents.get(parent)
    return current
