"""FL107: tensor classes of one vendor, ``torch.cuda.FloatTensor`` and ``"torch.cuda.HalfTensor"``.

The target has no such classes. A constructor becomes ``torch.tensor`` or ``torch.empty``: the
class takes sizes or data, and which of them it gets must be visible in the call.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from flmigrate.analysis.context import Context, Reference
from flmigrate.findings import (
    Applicability,
    Expression,
    Finding,
    Fix,
    Span,
    Statement,
    Text,
)

_SIZE_NAME = (
    r"(?i)n|(?:.*_)?(?:bs|size|dim|dims|len|length|num|count|shape|width|height|channels|features)"
    r"|(?:batch|hidden|latent|embed|seq)_?(?:size|dim|len)|(?:n|num)_\w+"
)
_FILLERS = frozenset({"fill_", "zero_", "uniform_", "normal_", "random_", "bernoulli_", "copy_"})


def check(context: Context) -> Iterator[Finding]:
    """Findings for tensor classes and for strings that name one."""
    if context.vocabulary.target.device_type is None:
        yield from _only_reported(context)
        return
    for reference in context.references:
        if reference.entry is not None and reference.entry.group == "tensor-type":
            yield _class(context, reference)
    for node in context.scopes.nodes[ast.Constant]:
        if isinstance(node.value, str) and node.value.endswith("Tensor"):
            yield from _string(context, node)


def _only_reported(context: Context) -> Iterator[Finding]:
    for reference in context.references:
        if reference.entry is not None and reference.entry.group == "tensor-type":
            message = f"{reference.path} has no counterpart; give dtype= and device= instead"
            yield context.finding("FL107", message, reference.node, note=True)


def _dtype(context: Context, path: str) -> str | None:
    return context.vocabulary.target.tensor_types.get(path.rpartition(".")[2])


def _class(context: Context, reference: Reference) -> Finding:
    node, path = reference.node, reference.path
    dtype, device = _dtype(context, path), context.vocabulary.target.device_type
    place = f'dtype={dtype}, device="{device}"'
    message = f"{path} has no counterpart; give {place} instead"
    if dtype is None or not reference.certain:
        return context.finding("FL107", message, node, note=True)
    parent = context.scopes.parents.get(node)
    fix: Fix | None = None
    if isinstance(parent, ast.Call) and parent.func is node:
        fix = _constructor(context, parent, place)
    elif isinstance(parent, ast.Call):
        fix = _argument(context, parent, node, dtype)
    if fix is None:
        return context.finding("FL107", message, node, note=True)
    left = fix.applicability is Applicability.UNSAFE
    if left:
        message += "; whether the argument is a size or data cannot be told"
    return context.finding("FL107", message, node, fix=fix, note=left)


def _constructor(context: Context, call: ast.Call, place: str) -> Fix | None:
    if call.keywords:
        return None
    span = context.source.span(call)
    holes = tuple(context.source.span(argument) for argument in call.args)
    sizes = Fix(
        "Use torch.empty",
        (
            Expression(
                span,
                f"torch.empty({''.join(f'__{i}__, ' for i in range(len(holes)))}{place})",
                holes,
            ),
        ),
    )
    data = Fix("Use torch.tensor", (Expression(span, f"torch.tensor(__0__, {place})", holes),))
    if not call.args:
        return Fix("Use torch.empty", (Expression(span, f"torch.empty(0, {place})"),))
    if len(call.args) > 1 or isinstance(call.args[0], ast.Starred):
        return sizes
    match _role(context, call, call.args[0]):
        case "size":
            return sizes
        case "data":
            return data
    return Fix(sizes.title, sizes.edits, Applicability.UNSAFE)


def _role(context: Context, call: ast.Call, argument: ast.expr) -> str:
    """Whether the one argument of a constructor is a ``size`` or ``data``; empty if unknown."""
    attribute = context.scopes.parents.get(call)
    if isinstance(attribute, ast.Attribute) and attribute.attr in _FILLERS:
        return "size"
    return _shown(context, argument)


def _shown(context: Context, argument: ast.expr) -> str:
    match argument:
        case ast.List() | ast.ListComp() | ast.Tuple():
            return "data"
        case ast.Constant():
            return "size" if isinstance(argument.value, int) else "data"
        case ast.BinOp():
            sides = {_shown(context, argument.left), _shown(context, argument.right)}
            return "data" if "data" in sides else "size" if sides == {"size"} else ""
        case ast.Attribute():
            return "size" if argument.attr == "shape" or _is_size(argument.attr) else ""
        case ast.Call():
            name = context.names.called_name(argument)
            if name in ("size", "numel", "dim", "len", "int"):
                return "size"
            return "data" if name in ("tolist", "numpy", "list", "array", "asarray") else ""
        case ast.Name():
            return _named(context, argument)
    return ""


def _is_size(name: str) -> bool:
    return re.fullmatch(_SIZE_NAME, name) is not None


def _named(context: Context, name: ast.Name) -> str:
    """What the assignments of a variable show; its name counts only where there are none."""
    owner = context.scopes.binder(name)
    bindings = owner.bindings[name.id] if owner is not None else []
    values = [b.value for b in bindings if b.kind == "assign" and b.value is not None]
    plain = [value for value in values if not isinstance(value, ast.Name)]
    shown = {_shown(context, value) for value in plain}
    if len(plain) == len(bindings) and len(shown) == 1 and shown != {""}:
        return shown.pop()
    if "data" in shown:
        return ""
    return "size" if _is_size(name.id) else ""


def _argument(context: Context, call: ast.Call, node: ast.expr, dtype: str) -> Fix | None:
    """``x.type(torch.cuda.LongTensor)`` and ``isinstance(x, torch.cuda.LongTensor)``."""
    target = context.vocabulary.target
    span = context.source.span(call)
    function = context.names.resolve(call.func).only
    if isinstance(call.func, ast.Attribute) and call.func.attr == "type" and call.args == [node]:
        receiver = context.source.span(call.func.value)
        template = f'__0__.to(device="{target.device_type}", dtype={dtype})'
        return Fix("Use .to", (Expression(span, template, (receiver,)),))
    if function == "builtins.isinstance" and len(call.args) == 2 and call.args[1] is node:
        subject = call.args[0]
        if target.attribute and isinstance(subject, ast.Name | ast.Attribute):
            hole = context.source.span(subject)
            template = f"__0__.{target.attribute} and __1__.dtype is {dtype}"
            return Fix("Ask for device and dtype", (Expression(span, template, (hole, hole)),))
    if function == "torch.set_default_tensor_type" and call.args == [node]:
        return _default_type(context, call, dtype, '"')
    return None


def _default_type(context: Context, call: ast.Call, dtype: str, quote: str) -> Fix | None:
    statement = context.scopes.parents.get(call)
    device = f"{quote}{context.vocabulary.target.device_type}{quote}"
    if not isinstance(statement, ast.Expr):
        return None
    if dtype == "torch.float32":  # the default of torch itself
        template = f"torch.set_default_device({device})"
        return Fix(
            "Use torch.set_default_device", (Expression(context.source.span(call), template),)
        )
    lines = f"torch.set_default_device({device})\ntorch.set_default_dtype({dtype})"
    return Fix("Set device and dtype", (Statement(context.source.span(statement), lines),))


def _string(context: Context, node: ast.Constant) -> Iterator[Finding]:
    """Strings that name a class, where ``.type()`` or ``set_default_tensor_type`` reads them."""
    text = str(node.value)
    namespace, _, name = text.rpartition(".")
    target = context.vocabulary.target
    if context.vocabulary.canonical(namespace) != "torch.cuda" or name not in target.tensor_types:
        return
    parent = context.scopes.parents.get(node)
    message = f'the tensor type "{text}" becomes "{target.namespace}.{name}"'
    if isinstance(parent, ast.Call) and node in parent.args:
        function = context.names.resolve(parent.func).only
        if function == "torch.set_default_tensor_type":
            quote = context.source.segment(node)[-1]
            fix = _default_type(context, parent, target.tensor_types[name], quote)
            message = f'set_default_tensor_type("{text}") sets the default device'
            yield context.finding("FL107", message, node, fix=fix, note=fix is None)
            return
        if isinstance(parent.func, ast.Attribute) and parent.func.attr == "type":
            yield _respelled(context, node, namespace, message)
        return
    member: ast.AST = node
    if isinstance(parent, ast.List | ast.Tuple | ast.Set):
        member, parent = parent, context.scopes.parents.get(parent)
    if isinstance(parent, ast.Compare):
        others = [side for side in (parent.left, *parent.comparators) if side is not member]
        if any(_is_type_call(side) for side in others):
            yield _respelled(context, node, namespace, message)


def _is_type_call(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "type"
        and not node.args
    )


def _respelled(context: Context, node: ast.Constant, namespace: str, message: str) -> Finding:
    edit = Text(Span(*_bounds(context, node)), namespace, context.vocabulary.target.namespace)
    return context.finding("FL107", message, node, fix=Fix("Name the target's type", (edit,)))


def _bounds(context: Context, node: ast.Constant) -> tuple[int, int]:
    span = context.source.span(node)
    return span.start, span.end
