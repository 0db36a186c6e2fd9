"""Whether an argument is a device index, a device, or a device string.

``torch.cuda`` takes all three everywhere; several functions of the target take an int or
``None`` only (Torch-FL 1adbc97, torch_fl/flagos/__init__.py).
"""

from __future__ import annotations

import ast
import enum
import re

from flmigrate.analysis.context import Context

# Names that PyTorch code gives to device indices and ranks.
_INDEX_NAME = re.compile(
    r"(?:.*_)?(?:rank|index|idx|gpu|ordinal)|(?:device|dev|gpu|cuda|local)_?id|i|j|r|n|gpu_?num",
    re.IGNORECASE,
)
_NUMBER_CALLS = frozenset(
    "builtins.int builtins.len torch.cuda.current_device torch.cuda.device_count "
    "torch.accelerator.current_device_index torch.distributed.get_rank "
    "torch.distributed.get_node_local_rank torch.distributed.get_world_size".split()
)


class Index(enum.Enum):
    """What kind of value names a device in an argument."""

    NUMBER = "int or None"
    TEXT = "device string"
    DEVICE = "torch.device"
    UNKNOWN = "unknown"


def index_of(context: Context, node: ast.expr) -> Index:
    """What ``node`` is, as far as its spelling, annotation and assignments in the file tell."""
    match node:
        case ast.Constant(value=str()):
            return Index.TEXT
        case ast.Constant():
            return Index.NUMBER
        case ast.UnaryOp() | ast.Compare():
            return Index.NUMBER
        case ast.BinOp(op=ast.Mod()) if isinstance(node.left, ast.Constant):
            return Index.UNKNOWN
        case ast.BinOp(op=ast.Add()):
            sides = {index_of(context, node.left), index_of(context, node.right)}
            return Index.NUMBER if sides == {Index.NUMBER} else Index.UNKNOWN
        case ast.BinOp():
            return Index.NUMBER
        case ast.IfExp():
            arms = {index_of(context, node.body), index_of(context, node.orelse)}
            return arms.pop() if len(arms) == 1 else Index.UNKNOWN
        case ast.Call():
            return _called(context, node)
        case ast.Attribute():
            if node.attr == "device":
                return (
                    Index.UNKNOWN
                    if isinstance(node.value, ast.Name) and _is_options(node.value)
                    else Index.DEVICE
                )
            return Index.NUMBER if _INDEX_NAME.fullmatch(node.attr) else Index.UNKNOWN
        case ast.Name():
            return _named(context, node)
        case ast.Subscript() if isinstance(node.slice, ast.Constant):
            name = node.slice.value
            if isinstance(name, str) and _INDEX_NAME.fullmatch(name.lower()):
                return Index.NUMBER
            ids = node.value
            text = (
                ids.id
                if isinstance(ids, ast.Name)
                else ids.attr
                if isinstance(ids, ast.Attribute)
                else ""
            )
            return Index.NUMBER if text.endswith(("_ids", "_indices", "gpus")) else Index.UNKNOWN
    return Index.UNKNOWN


def _is_options(node: ast.Name) -> bool:
    return node.id in (
        "args",
        "opt",
        "opts",
        "options",
        "config",
        "cfg",
        "self",
        "params",
        "hparams",
    )


def _called(context: Context, call: ast.Call) -> Index:
    path = context.vocabulary.canonical(context.names.resolve(call.func).only)
    if path in _NUMBER_CALLS:
        return Index.NUMBER
    return Index.DEVICE if path == "torch.device" else Index.UNKNOWN


def _named(context: Context, node: ast.Name) -> Index:
    owner = context.scopes.binder(node)
    if owner is None:
        return Index.NUMBER if _INDEX_NAME.fullmatch(node.id) else Index.UNKNOWN
    found = set()
    for binding in owner.bindings[node.id]:
        if binding.annotation is not None:
            path = context.names.annotation_path(binding.annotation)
            known = {"builtins.int": Index.NUMBER, "torch.device": Index.DEVICE}
            found.add(known.get(path, Index.UNKNOWN))
        elif binding.kind == "assign" and binding.value is not None:
            recursive = isinstance(binding.value, ast.Name)
            found.add(Index.UNKNOWN if recursive else index_of(context, binding.value))
        elif binding.kind == "loop" and _is_range(context, binding.value):
            found.add(Index.NUMBER)
        else:
            found.add(Index.NUMBER if _INDEX_NAME.fullmatch(node.id) else Index.UNKNOWN)
    return found.pop() if len(found) == 1 else Index.UNKNOWN


def _is_range(context: Context, node: ast.expr | None) -> bool:
    if not isinstance(node, ast.Call):
        return False
    return context.names.resolve(node.func).only == "builtins.range"
