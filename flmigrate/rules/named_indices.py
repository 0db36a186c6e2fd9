"""``device = f"npu:{device}"``: an index that is given the name of a vendor.

The canonical vendor's code is the index itself. PyTorch reads a number as the accelerator's device
of that index, and Torch-FL is that accelerator: https://docs.pytorch.org/docs/stable/tensor_attributes.html
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from flmigrate.analysis.context import Context

_HOLE = re.compile(r":?(?:%[dis]|\{\d?\})?\Z")


def only_name_indices(context: Context, suite: Sequence[ast.stmt]) -> bool:
    """Whether statements do nothing but give indices the names of vendors that are gone.

    They may do so behind tests that only ask: ``if isinstance(device, int):``.
    """
    return all(_names_index(context, statement) for statement in suite)


def _names_index(context: Context, statement: ast.stmt) -> bool:
    match statement:
        case ast.If(test=test, body=body, orelse=[]):
            return context.predicates.is_pure(test) and only_name_indices(context, body)
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            texts = list(_texts(value))
            return (
                list(_read(context, value)) == [name]
                and bool(texts)
                and all(_is_gone_device(context, text) for text in texts)
            )
    return False


def _texts(value: ast.expr) -> Iterator[str]:
    for part in ast.walk(value):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value


def _is_gone_device(context: Context, text: str) -> bool:
    """Whether a text is a vendor's device type with room for an index: ``"npu:"``, ``"npu:%d"``."""
    kind = _HOLE.sub("", text)
    vendor = context.vocabulary.vendors.vendor_of_device(kind)
    return vendor is not None and context.predicates.is_gone(vendor)


def _read(context: Context, value: ast.expr) -> Iterator[str]:
    """The names that a value is made from, apart from torch's and Python's own."""
    for part in ast.walk(value):
        if isinstance(part, ast.Name):
            path = context.names.resolve(part).only
            if not path.startswith(("torch", "builtins.")):
                yield part.id
