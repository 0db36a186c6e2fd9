"""FL201: tests that are skipped, or not, by a condition that the target decides.

    @unittest.skipUnless(is_npu_available(), "needs an NPU")     never runs on the target
    @pytest.mark.skipif(is_npu_available(), reason="...")        always runs there

The first is a test to look at: it may be meant for the target now. The second may skip what the
chip cannot do, which it still cannot.
"""

from __future__ import annotations

import ast

from flmigrate.analysis.context import Context
from flmigrate.rules.decisions import Decided, holds_of, keep, vendors_of

#: Decorators that skip a test, and for which answer to their condition they do so.
_SKIPS = {"unittest.skipIf": True, "unittest.skipUnless": False, "pytest.mark.skipif": True}


def look_at_skips(context: Context, decided: Decided) -> None:
    """Report the conditions of decorators that skip tests; what they decorate moves like others."""
    for kind in (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef):
        for node in context.scopes.nodes[kind]:
            for decorator in node.decorator_list:
                if isinstance(decorator, ast.Call) and decorator.args:
                    _look_at(context, decorator, decided)


def _look_at(context: Context, decorator: ast.Call, decided: Decided) -> None:
    skips = _SKIPS.get(context.names.resolve(decorator.func).only)
    condition = decorator.args[0]
    holds = holds_of(context, condition) if skips is not None else None
    if holds is None or context.is_protected(condition):
        return
    if any(atom.moves for atom in context.predicates.atoms(condition)):
        return  # the target lacks what is asked, so the answer takes the place of the question
    keep(context, condition, decided)
    vendors = vendors_of(context, condition)
    message = f"a test for {vendors} alone, which is skipped wherever the target runs"
    if holds is not skips:
        message = f"a skip for {vendors} alone does not skip on the target; the chip may need it"
    decided.findings.append(context.finding("FL201", message, condition, note=True))
