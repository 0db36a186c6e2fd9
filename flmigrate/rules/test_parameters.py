"""FL201: rows of test parameters that are for another vendor.

    @pytest.mark.parametrize("device, size", [("cuda", 1), ("npu", 1), ("cpu", 2)])

On the target, a row that says the same as the canonical vendor's is the same test, run twice. One
with other values may be for a limit of the chip, so it stays.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from flmigrate.analysis.context import Context
from flmigrate.analysis.options import is_parametrize
from flmigrate.findings import Finding, Fix, Members, Severity
from flmigrate.rules.stand_ins import alike

_PARAM = "pytest.param"
_SKIPS = frozenset({"pytest.mark.skip", "pytest.mark.skipif"})


def rows_of_others(
    context: Context,
    literals: Mapping[ast.expr, str],
    canonical: frozenset[str],
    seen: set[ast.AST],
) -> Iterator[Finding]:
    """Findings for rows of ``parametrize``; what they settle is protected, and put into ``seen``.

    ``literals`` are the file's device literals with their types, ``canonical`` the types of the
    canonical vendor and of the target. A list of nothing but devices has no rows.
    """
    for call in context.scopes.nodes[ast.Call]:
        if not is_parametrize(call) or context.is_protected(call):
            continue
        values = call.args[1]
        if not isinstance(values, ast.List | ast.Tuple):
            continue
        kinds = [{literals[p] for p in _parts(context, e) if p in literals} for e in values.elts]
        gone = [i for i, kind in enumerate(kinds) if kind and kind <= context.other_types]
        if not gone or all(isinstance(values.elts[i], ast.Constant) for i in gone):
            continue
        ours = [row for row, kind in zip(values.elts, kinds, strict=True) if kind & canonical]
        said = {_said(context, row) for row in ours}
        drop = [number for number in gone if _said(context, values.elts[number]) in said]
        lists = _parallel(call, values)
        if lists is None:
            drop = []
        for number in gone:
            row = values.elts[number]
            seen.update((row, *_parts(context, row)))
            context.protect(row)
            if number not in drop:
                kind = ", ".join(sorted(kinds[number]))
                message = f"test parameters for {kind} alone stay: those for the target differ"
                yield context.finding("FL201", message, row, note=True)
        if drop:
            edits = tuple(Members(context.source.span(each), tuple(drop)) for each in lists or ())
            message = "test parameters of other vendors go: the target's own say the same"
            fix, row = Fix("Drop the row", edits), values.elts[drop[0]]
            yield context.finding("FL201", message, row, severity=Severity.INFO, fix=fix)


def _is_param(context: Context, row: ast.expr) -> bool:
    return isinstance(row, ast.Call) and context.names.resolve(row.func).only == _PARAM


def _parts(context: Context, row: ast.expr) -> Sequence[ast.expr]:
    """The values of one row, of which each fills one parameter."""
    if isinstance(row, ast.Tuple | ast.List):
        return row.elts
    if isinstance(row, ast.Call) and _is_param(context, row):
        return row.args
    return [row]


def _said(context: Context, row: ast.expr) -> str:
    """What a row says on the target; who skips it is no part of that, nor what it is called."""
    parts = [alike(context, part) for part in _parts(context, row)]
    for keyword in row.keywords if isinstance(row, ast.Call) else ():
        marks = keyword.value
        skips = marks.elts if isinstance(marks, ast.List | ast.Tuple) else [marks]
        if keyword.arg != "id" and not all(_skips(context, mark) for mark in skips):
            parts.append(alike(context, keyword))
    return ";".join(parts)


def _skips(context: Context, mark: ast.expr) -> bool:
    return isinstance(mark, ast.Call) and context.names.resolve(mark.func).only in _SKIPS


def _parallel(call: ast.Call, values: ast.List | ast.Tuple) -> list[ast.expr] | None:
    """The lists that lose a member with each row; ``None`` where a name for it might be left."""
    for keyword in call.keywords:
        if keyword.arg == "ids" and isinstance(keyword.value, ast.List | ast.Tuple):
            whole = len(keyword.value.elts) == len(values.elts)
            return [values, keyword.value] if whole else None
        if keyword.arg == "ids" and not isinstance(keyword.value, ast.Lambda):
            return None
    return [values]
