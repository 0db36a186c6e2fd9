"""FL201: loops and filters of comprehensions that the target decides."""

from __future__ import annotations

import ast
import re

from flmigrate.analysis.context import Context
from flmigrate.findings import Expression, Fix, Removal, Severity
from flmigrate.rules import collapse
from flmigrate.rules.decisions import Decided, holds_of, keep, severity_of, vendors_of

#: What stands before a filter, without parentheses or comments around it.
_FILTER = re.compile(r"\)*(?P<word>\s+if\s+)")


def look_at_loop(context: Context, loop: ast.While, decided: Decided) -> None:
    """``while is_npu(): torch.npu.synchronize()`` goes; other loops are a question to a human."""
    if holds_of(context, loop.test) is not False or not collapse.may_drop_loop(context, loop):
        if holds_of(context, loop.test) is False:
            context.protect(*loop.body)
        _kept(context, loop.test, decided)
        return
    decided.tests.update(atom.node for atom in context.predicates.atoms(loop.test))
    context.protect(loop)
    fix = Fix("Remove the loop", (Removal(context.source.span(loop)),))
    message = (
        f"a loop for {vendors_of(context, loop.test)} alone never runs on the target, and goes"
    )
    decided.findings.append(
        context.finding("FL201", message, loop.test, severity=Severity.INFO, fix=fix)
    )


def look_at_filters(context: Context, part: ast.comprehension, decided: Decided) -> None:
    """``[x for x in xs if not is_npu()]``: a filter that lets all pass goes."""
    before: ast.expr = part.iter
    for condition in part.ifs:
        edit = _without_filter(context, part, before, condition)
        if edit is None:
            _kept(context, condition, decided)
        else:
            decided.tests.update(atom.node for atom in context.predicates.atoms(condition))
            context.protect(condition)
            message = f"a filter for {vendors_of(context, condition)} lets all pass, and goes"
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
    if not isinstance(whole, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        return None
    if holds_of(context, condition) is not True or not context.predicates.settles(condition):
        return None
    if context.is_protected(whole):
        return None
    source, span = context.source, context.source.span(whole)
    call = context.scopes.parents.get(whole)
    if isinstance(call, ast.Call) and whole in call.args:
        if not source.text[source.end(call.func) : span.start].strip():
            span = source.span(call)  # its parentheses are those of the generator
    end = source.end(before)
    between = _FILTER.fullmatch(source.text, end, source.start(condition))
    if between is None:
        return None
    text = source.text[span.start : between.start("word")]
    return Expression(span, text + source.text[source.end(condition) : span.end], ())


def _kept(context: Context, condition: ast.expr, decided: Decided) -> None:
    holds = holds_of(context, condition)
    if holds is None or context.is_protected(condition):
        return
    keep(context, condition, decided)
    message = f"this asks for {vendors_of(context, condition)}, and is {str(holds).lower()} always"
    severity = severity_of(context, condition)
    decided.findings.append(
        context.finding("FL201", message, condition, severity=severity, note=True)
    )
