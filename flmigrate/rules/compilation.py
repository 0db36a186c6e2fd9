"""FL501 to FL504: compilation, and switches that nothing on the chips listens to."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from flmigrate.analysis.context import Context
from flmigrate.findings import Finding
from flmigrate.manifests.model import Manifest
from flmigrate.rules.chip_hazards import findings

_COMPILE = "torch.compile"
_EVERYWHERE = frozenset({"eager", "aot_eager"})
_OF_CHIP = {"bpu": "bpu"}
"""Backends of ``torch.compile`` that one chip has."""

_MODES = frozenset({"reduce-overhead", "max-autotune"})
_MARKS = frozenset({"torch._dynamo.mark_dynamic", "torch._dynamo.maybe_mark_dynamic"})
_SWITCHES = frozenset({"torch.nn.attention.sdpa_kernel", "torch.backends.cuda.sdp_kernel"})


def check(context: Context, manifests: Sequence[Manifest]) -> Iterator[Finding]:
    """Findings about compilation on the configurations."""
    if not manifests or "torch" not in context.imported:
        return
    for call in context.scopes.nodes[ast.Call]:
        path = context.names.resolve(call.func).only
        if path == _COMPILE:
            yield from _compile(context, call, call, manifests)
        elif path in _MARKS:
            subject = path.rpartition(".")[2]
            yield from findings(context, "FL502", call, subject, manifests)
        elif path in _SWITCHES:
            subject = path.rpartition(".")[2]
            yield from findings(context, "FL504", call, subject, manifests)
    for kind in (ast.FunctionDef, ast.ClassDef):
        for definition in context.scopes.nodes[kind]:
            for decorator in definition.decorator_list:
                if context.names.resolve(decorator).only == _COMPILE:
                    yield from _compile(context, decorator, None, manifests)


def _compile(
    context: Context, node: ast.AST, call: ast.Call | None, manifests: Sequence[Manifest]
) -> Iterator[Finding]:
    options = {k.arg: k.value for k in call.keywords if k.arg} if call is not None else {}
    backend = _constant(options.get("backend")) if "backend" in options else "inductor"
    if isinstance(backend, str) and backend not in _EVERYWHERE:
        concerned = [m for m in manifests if _OF_CHIP.get(backend) != m.chip]
        yield from findings(context, "FL501", node, f"torch.compile by {backend}", concerned)
    if _constant(options.get("dynamic")) is True:
        yield from findings(context, "FL502", node, "torch.compile", manifests)
    mode = _constant(options.get("mode"))
    if mode in _MODES:
        yield from findings(context, "FL503", node, f'mode="{mode}"', manifests)


def _constant(node: ast.expr | None) -> object:
    return node.value if isinstance(node, ast.Constant) else None
