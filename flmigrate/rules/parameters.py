"""FL123: parameters that something holds while moving their module replaces them.

Between the CPU and CUDA ``Module.to`` keeps the parameters of a module. To a device of torch's
extension key it makes new ones (``torch._has_compatible_shallow_copy_type`` is false), so that an
optimizer that was made before trains the old ones, and weights that layers share come apart.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flmigrate.analysis.context import Context
from flmigrate.findings import Finding

_SHARED = ("weight", "bias")
_MESSAGE = "moving a module to the target makes new parameters"


def check(context: Context) -> Iterator[Finding]:
    """Findings for optimizers made before the move, and for weights that two layers share."""
    target = context.vocabulary.target
    if target.device_type is None or target.import_statement is None:
        return  # not a device that a package brings, by torch's extension key
    if ".parameters()" in context.source.text:
        yield from _early_optimizers(context)
    for attribute in context.scopes.nodes[ast.Attribute]:
        if attribute.attr not in _SHARED or not isinstance(attribute.ctx, ast.Store):
            continue
        assignment = context.scopes.parents.get(attribute)
        if isinstance(assignment, ast.Assign) and assignment.targets == [attribute]:
            if _shares(context, attribute, assignment.value):
                detail = "layers that share one come apart: assign it again after the move"
                yield context.finding("FL123", _MESSAGE, assignment, note=True, detail=detail)


def _shares(context: Context, target: ast.Attribute, value: ast.expr) -> bool:
    """Whether a module's own code gives one layer the weight of another."""
    if not isinstance(value, ast.Attribute) or value.attr != target.attr:
        return False
    owner: ast.AST | None = target
    while owner is not None and not isinstance(owner, ast.ClassDef):
        owner = context.scopes.parents.get(owner)
    return owner is not None and any(
        context.names.resolve(base).only.startswith("torch.nn.") for base in owner.bases
    )


def _early_optimizers(context: Context) -> Iterator[Finding]:
    optimizers = []
    for call in context.scopes.nodes[ast.Call]:
        if context.names.resolve(call.func).only.startswith("torch.optim.") and call.args:
            module = _module_of_parameters(call.args[0])
            if module is not None:
                optimizers.append((call, module))
    for optimizer, module in optimizers:
        function = context.scopes.around(optimizer)
        moves = [
            call.lineno
            for call in context.scopes.nodes[ast.Call]
            if _moves(context, call, module.id) and context.scopes.around(call) is function
        ]
        made = _values(function.node, module.id)
        if not moves or not made or min(moves) <= optimizer.lineno:
            continue
        # where the module is made on the device, a move that follows replaces nothing
        if any(value.lineno <= optimizer.lineno and _on_device(value) for value in made):
            continue
        detail = f"the optimizer keeps the old ones of {module.id}: make it after the move"
        yield context.finding("FL123", _MESSAGE, optimizer, note=True, detail=detail)


def _module_of_parameters(argument: ast.expr) -> ast.Name | None:
    """The name in ``name.parameters()``."""
    if isinstance(argument, ast.Call) and isinstance(argument.func, ast.Attribute):
        owner = argument.func.value
        if argument.func.attr == "parameters" and isinstance(owner, ast.Name):
            return owner
    return None


def _values(function: ast.AST, name: str) -> list[ast.Call]:
    """The calls whose results a name gets."""
    return [
        node.value
        for node in ast.walk(function)
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and any(isinstance(t, ast.Name) and t.id == name for t in node.targets)
    ]


def _on_device(made: ast.Call) -> bool:
    """Whether an expression may make a module on a device."""
    return any(
        (isinstance(node, ast.Attribute) and node.attr in ("to", "cuda", "flagos"))
        or (isinstance(node, ast.keyword) and node.arg == "device")
        for node in ast.walk(made)
    )


def _moves(context: Context, call: ast.Call, name: str) -> bool:
    """Whether a call moves what a name stands for to the device, and does not only cast it."""
    func = call.func
    if not isinstance(func, ast.Attribute) or not isinstance(func.value, ast.Name):
        return False
    if func.value.id != name:
        return False
    if func.attr in (*context.vocabulary.methods, context.vocabulary.target.method):
        return True
    if func.attr != "to":
        return False
    named = [keyword.value for keyword in call.keywords if keyword.arg == "device"]
    where = call.args[0] if call.args else named[0] if named else None
    if where is None or (isinstance(where, ast.Constant) and where.value == "cpu"):
        return False
    path = context.names.resolve(where).only
    return not path.startswith("torch.") or path == "torch.device"
