"""FL111, FL112: places that look like device tests or vendor API but mean something else.

``torch.cuda.is_available() and torch.version.hip is None`` asks for NVIDIA, not for an
accelerator; rewriting half of it would switch CUDA-only code on elsewhere. Assigning to
``torch.cuda.x`` patches the vendor's module. Both stay untouched as a whole, so this rule
runs first and protects what it finds from every other one.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from flmigrate.analysis.context import Context
from flmigrate.findings import Finding

_NVIDIA_NAME = (
    r"(?i)check_\w*(?:cuda|nvidia|nccl)\w*"
    r"|\w*cuda\w*(?:capability|capable|support|supported|arch)\w*"
    r"|\w*cuda_(?:obj|kernels?|ops?|ext|fn|impl|module)\w*"
    r"|\w*rocm\w*|(?:is|has|have|use)_?(?:nvidia|sm_?\d+|hopper|ampere|blackwell|rocm|hip|cuda_ext\w*)\w*"
    r"|has_cuda|\w*cuda_?graph\w*|is_current_stream_capturing"
)

_DTYPE = r"\.(?:b?float\d+|half|double|complex\d+)$"


def check(context: Context) -> Iterator[Finding]:
    """Findings for conditions and assignments that must stay; protects their spans."""
    for node in context.scopes.nodes[ast.BoolOp]:
        if isinstance(node.op, ast.And) and _mixes(context, node):
            context.protected.append(context.source.span(node))
            message = "NVIDIA-only condition, not an accelerator test; it stays"
            yield context.finding("FL111", message, node, note=True)
    yield from _kernel_calls(context)
    yield from _patches(context)
    yield from _workarounds(context)
    yield from _choices(context)


def _workarounds(context: Context) -> Iterator[Finding]:
    """``float32 if device.type in ("mps", "npu") else float64``: a limit of the hardware.

    The chip has it under the target too, so the choice must not be widened or dropped.
    """
    for node in context.scopes.nodes[ast.IfExp]:
        dtypes = [context.names.resolve(arm).only for arm in (node.body, node.orelse)]
        if not all(path.startswith("torch.") and re.search(_DTYPE, path) for path in dtypes):
            continue
        compared = {c.value for c in ast.walk(node.test) if isinstance(c, ast.Constant)}
        vendors = context.vocabulary.device_types & {v for v in compared if isinstance(v, str)}
        if vendors - {"cuda"}:
            context.protected.append(context.source.span(node))
            message = "a work-around for a dtype that a chip lacks; check the chip first"
            yield context.finding("FL201", message, node, note=True)


def _choices(context: Context) -> Iterator[Finding]:
    """``if rng_type == RNGType.CUDA``: a user's choice of vendor, which an enumeration lists."""
    words = {kind.upper() for kind in context.vocabulary.device_types}
    for node in context.scopes.nodes[ast.If]:
        parent = context.scopes.parents.get(node)
        if isinstance(parent, ast.If) and parent.orelse == [node]:
            continue
        current, chosen = node, 0
        while True:
            chosen += _compares_member(current.test, words)
            if len(current.orelse) != 1 or not isinstance(current.orelse[0], ast.If):
                break
            current = current.orelse[0]
        if chosen > 1:
            context.protected.append(context.source.span(node))
            message = "a choice between vendors by an enumeration; the target has no member in it"
            yield context.finding("FL201", message, node.test, note=True)


def _compares_member(test: ast.expr, words: set[str]) -> bool:
    if not isinstance(test, ast.Compare):
        return False
    sides = [test.left, *test.comparators]
    return any(isinstance(side, ast.Attribute) and side.attr in words for side in sides)


def _mixes(context: Context, node: ast.BoolOp) -> bool:
    tests = [operand for operand in node.values if _is_device_test(context, operand)]
    if not tests:
        return False  # most conditions: their names need no look
    nvidia = [operand for operand in node.values if _is_nvidia_only(context, operand)]
    return bool(nvidia) and any(test not in nvidia for test in tests)


_EXTENSION = r"_C|_ext|\w+_(?:cuda|ext|kernels?)|cuda_\w+|ops"


def _kernel_calls(context: Context) -> Iterator[Finding]:
    """``if x.is_cuda: return ext.forward(x)``: may I hand this pointer to a CUDA kernel?"""
    seen: set[ast.AST] = set()
    for attribute in context.scopes.nodes[ast.Attribute]:
        if attribute.attr not in context.vocabulary.attributes:
            continue
        test = _test_around(context, attribute)
        if test is None or test in seen:
            continue
        seen.add(test)
        branch = context.scopes.parents[test]
        assert isinstance(branch, ast.If)
        if any(_calls_extension(context, statement) for statement in branch.body):
            context.protected.append(context.source.span(test))
            message = "asks whether a compiled CUDA kernel can take the tensor; it stays"
            yield context.finding("FL111", message, test, note=True)


def _test_around(context: Context, node: ast.AST) -> ast.expr | None:
    """The test of an ``if`` that an expression is part of."""
    current, parent = node, context.scopes.parents.get(node)
    while isinstance(parent, ast.expr):
        current, parent = parent, context.scopes.parents.get(parent)
    is_test = isinstance(parent, ast.If) and parent.test is current
    return current if is_test and isinstance(current, ast.expr) else None


def _calls_extension(context: Context, statement: ast.stmt) -> bool:
    for part in ast.walk(statement):
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute):
            path = context.names.resolve(part.func.value).only
            name = path.rpartition(".")[2] if path else ""
            if isinstance(part.func.value, ast.Name) and part.func.value.id == "ops":
                name = "ops"
            if re.fullmatch(_EXTENSION, name) and not path.startswith("torch."):
                return True
    return False


def _is_device_test(context: Context, node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):
        return _is_device_test(context, node.operand)
    if isinstance(node, ast.Call):
        path = context.vocabulary.canonical(context.names.resolve(node.func).only)
        return path in ("torch.cuda.is_available", "torch.cuda.device_count")
    if isinstance(node, ast.Attribute):
        return node.attr in context.vocabulary.attributes
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        return any(
            isinstance(side, ast.Constant) and side.value in context.vocabulary.device_types
            for side in sides
        )
    return False


def _is_nvidia_only(context: Context, node: ast.expr) -> bool:
    # ``ast.walk`` is safe here: operands of one condition are small.
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute | ast.Name):
            reference = context.reference_at.get(part)
            entry = reference.entry if reference is not None else None
            if entry is not None and (entry.capability or entry.group == "graph"):
                return True
            name = part.attr if isinstance(part, ast.Attribute) else part.id
            if re.fullmatch(_NVIDIA_NAME, name):
                return True
    return False


def _patches(context: Context) -> Iterator[Finding]:
    for reference in context.references:
        node = reference.node
        entry = reference.entry
        if entry is not None and entry.status == "keep":
            continue
        if context.vocabulary.canonical(reference.path).count(".") > 2:
            continue  # a setting of a submodule, not one of the functions
        if not context.vocabulary.in_namespace(reference.path):
            continue
        written = context.scopes.parents.get(node)
        is_target = isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load)
        is_setattr = (
            isinstance(written, ast.Call)
            and node in written.args[:1]
            and context.names.resolve(written.func).only == "builtins.setattr"
        )
        if not is_target and not is_setattr:
            continue
        statement = context.statement(node)
        if statement is None:
            continue
        context.protected.append(context.source.span(statement))
        message = (
            f"{reference.path} is replaced at run time; such a shim has no place on the target"
        )
        yield context.finding("FL112", message, node, note=True)
