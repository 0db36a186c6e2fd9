"""FL303, FL304: packages and options that exist on one vendor only.

A guarded import already degrades by itself and is left in peace; a hard one will fail.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from flmigrate.analysis.context import Context
from flmigrate.findings import Finding, Severity

_ATTENTION = frozenset({"flash_attention_2", "flash_attention_3", "flash_attn", "xformers"})


def check(context: Context) -> Iterator[Finding]:
    """Findings for imports of vendor-only packages, and strings that select their kernels."""
    libraries = context.vocabulary.libraries
    for kind in (ast.Import, ast.ImportFrom):
        for statement in context.scopes.nodes[kind]:
            for name in _modules(statement):
                package = next(
                    (lib for lib in libraries if name == lib or name.startswith(lib + ".")), ""
                )
                if package:
                    yield _import(context, statement, package)
                    yield from _ladder(context, statement)
                    break
    for keyword in (k for call in context.scopes.nodes[ast.Call] for k in call.keywords):
        if keyword.arg not in ("attn_implementation", "_attn_implementation"):
            continue
        if isinstance(keyword.value, ast.Constant) and keyword.value.value in _ATTENTION:
            message = (
                f'"{keyword.value.value}" needs a CUDA-only package; "sdpa" runs everywhere, '
                "with other numerics and memory use"
            )
            yield context.finding("FL304", message, keyword.value, note=True)
    yield from _providers(context)


def _modules(statement: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(statement, ast.Import):
        return [alias.name for alias in statement.names]
    return [] if statement.level else [statement.module or ""]


def _import(context: Context, statement: ast.stmt, package: str) -> Finding:
    vendor = context.vocabulary.libraries[package]
    message = f"{package} runs on {vendor.title} only"
    if is_guarded(context, statement):
        message += "; the import is guarded and degrades by itself"
        return context.finding("FL303", message, statement, severity=Severity.INFO)
    return context.finding("FL303", message, statement, note=True)


_PROBE = r"_*is_\w+"


def _ladder(context: Context, statement: ast.stmt) -> Iterator[Finding]:
    """``if is_cuda(): from a import f / elif is_npu(): from b import f``: kernels by vendor."""
    branch = context.scopes.parents.get(statement)
    outer = context.scopes.parents.get(branch) if branch is not None else None
    if not isinstance(branch, ast.If) or not branch.orelse or isinstance(outer, ast.If):
        return
    name = context.names.called_name(branch.test) if isinstance(branch.test, ast.Call) else ""
    if re.fullmatch(_PROBE, name) and branch.body == [statement]:
        message = "kernels chosen by vendor; take the portable arm"
        yield context.finding("FL201", message, branch.test, note=True)


def is_guarded(context: Context, node: ast.AST) -> bool:
    """Whether a statement runs only where a ``try``, an ``if`` or a function lets it."""
    return (
        context.names.enclosing(node, ast.Try, ast.If, ast.FunctionDef, ast.AsyncFunctionDef)
        is not None
    )


def _providers(context: Context) -> Iterator[Finding]:
    for node in context.scopes.nodes[ast.Constant]:
        if node.value == "CUDAExecutionProvider":
            message = "an ONNX Runtime provider: this runtime has no Torch-FL counterpart"
            yield context.finding("FL303", message, node, severity=Severity.INFO)
