"""Whether an argument is a device index, a device, or a device string.

``torch.cuda`` takes all three everywhere; several functions of the target take an int or
``None`` only (Torch-FL 1adbc97, torch_fl/flagos/__init__.py).
"""

from __future__ import annotations

import ast
import enum
import re

from flmigrate.analysis.bindings import Binding
from flmigrate.analysis.context import Context

# Names that PyTorch code gives to device indices and ranks.
_INDEX_NAME = (
    r"(?i)(?:.*_)?(?:rank|index|idx|gpu|ordinal)|(?:device|dev|gpu|cuda|local)_?id|i|j|r|n"
    r"|gpu_?num"
)
_NUMBER_CALLS = frozenset(
    "builtins.int builtins.len torch.cuda.current_device torch.cuda.device_count "
    "torch.accelerator.current_device_index torch.distributed.get_rank "
    "torch.distributed.get_node_local_rank torch.distributed.get_world_size".split()
)


_FOLLOWED = 4  # variables followed, one assigned to the next
# Objects whose ``device`` may be anything the user said.
_OPTIONS = r"(?:.*_)?(?:args|opts?|options|config|cfg|conf|params)|FLAGS"


class Index(enum.Enum):
    """What kind of value names a device in an argument."""

    NUMBER = "int or None"
    TEXT = "device string"
    DEVICE = "torch.device"
    UNKNOWN = "unknown"


def index_of(context: Context, node: ast.expr) -> Index:
    """What ``node`` is, as far as its spelling, annotation and assignments in the file tell.

    ``TEXT`` is a literal, whose text can be read; a variable that holds one is ``UNKNOWN``.
    """
    found = _index_of(context, node, frozenset())
    is_literal = isinstance(node, ast.Constant)
    return Index.UNKNOWN if found is Index.TEXT and not is_literal else found


def _index_of(context: Context, node: ast.expr, seen: frozenset[str]) -> Index:
    """As ``index_of``; ``seen`` are the variables that are being followed."""
    match node:
        case ast.Constant(value=str()):
            return Index.TEXT
        case ast.Constant() | ast.UnaryOp() | ast.Compare():
            return Index.NUMBER
        case ast.BinOp(op=ast.Mod(), left=ast.Constant(value=str())):
            return Index.UNKNOWN
        case ast.BinOp(op=ast.Add()):
            sides = {_index_of(context, side, seen) for side in (node.left, node.right)}
            return Index.NUMBER if sides == {Index.NUMBER} else Index.UNKNOWN
        case ast.BinOp():
            return Index.NUMBER
        case ast.IfExp():
            arms = {_index_of(context, arm, seen) for arm in (node.body, node.orelse)}
            return arms.pop() if len(arms) == 1 else Index.UNKNOWN
        case ast.Call():
            return _called(context, node)
        case ast.Attribute(attr="device"):
            if context.names.is_self(node.value):
                return _kept(context, node, seen)
            is_option = isinstance(node.value, ast.Name) and re.fullmatch(_OPTIONS, node.value.id)
            return Index.UNKNOWN if is_option else Index.DEVICE
        case ast.Attribute():
            return _hinted(node.attr)
        case ast.Name():
            return _named(context, node, seen)
        case ast.Subscript(slice=ast.Constant(value=str(key))):
            return _hinted(key)
        case ast.Subscript(
            slice=ast.Constant(), value=ast.Name(id=name) | ast.Attribute(attr=name)
        ):
            return Index.NUMBER if name.endswith(("_ids", "_indices", "gpus")) else Index.UNKNOWN
    return Index.UNKNOWN


def _hinted(name: str) -> Index:
    return Index.NUMBER if re.fullmatch(_INDEX_NAME, name) else Index.UNKNOWN


def _kept(context: Context, node: ast.Attribute, seen: frozenset[str]) -> Index:
    """What a class puts into an attribute of its own."""
    slots = context.devices.slots
    found = set()
    for store in slots.attributes_of(slots.attribute(node)):
        if isinstance(store.ctx, ast.Store):
            assign = context.scopes.parents.get(store)
            value = assign.value if isinstance(assign, ast.Assign | ast.AnnAssign) else None
            if value is None or node.attr in seen:
                return Index.UNKNOWN
            found.add(_index_of(context, value, seen | {node.attr}))
    return found.pop() if len(found) == 1 else Index.UNKNOWN


def _called(context: Context, call: ast.Call) -> Index:
    path = context.vocabulary.canonical(context.names.resolve(call.func).only)
    if path in _NUMBER_CALLS or context.names.called_name(call) == "get_device":
        return Index.NUMBER
    return Index.DEVICE if path == "torch.device" else Index.UNKNOWN


def _named(context: Context, node: ast.Name, seen: frozenset[str]) -> Index:
    owner = context.scopes.binder(node)
    if owner is None:
        return _hinted(node.id)
    found = set()
    for binding in owner.bindings[node.id]:
        if binding.annotation is not None:
            path = context.names.annotation_path(binding.annotation)
            if path == "torch.device" and _may_be_none(context, binding):
                path = ""
            known = {"builtins.int": Index.NUMBER, "torch.device": Index.DEVICE}
            found.add(known.get(path, Index.UNKNOWN))
        elif binding.kind == "assign" and binding.value is not None:
            inside = seen | {node.id}
            if isinstance(binding.value, ast.Name) and binding.value.id in inside:
                continue  # a circle adds nothing
            too_far = len(inside) > _FOLLOWED
            found.add(Index.UNKNOWN if too_far else _index_of(context, binding.value, inside))
        elif binding.kind == "loop" and _is_range(context, binding.value):
            found.add(Index.NUMBER)
        elif binding.kind != "del":
            found.add(_hinted(node.id))
    return found.pop() if len(found) == 1 else Index.UNKNOWN


def _may_be_none(context: Context, binding: Binding) -> bool:
    """Whether a device may be ``None``, which has no index."""
    annotation = binding.annotation
    if isinstance(annotation, ast.Constant):
        return not isinstance(annotation.value, str) or "None" in annotation.value
    if isinstance(annotation, ast.Subscript | ast.BinOp):
        return True
    arguments = context.scopes.parents.get(binding.node)
    defaults = arguments.defaults if isinstance(arguments, ast.arguments) else []
    return any(isinstance(default, ast.Constant) and default.value is None for default in defaults)


def _is_range(context: Context, node: ast.expr | None) -> bool:
    if not isinstance(node, ast.Call):
        return False
    return context.names.resolve(node.func).only == "builtins.range"
