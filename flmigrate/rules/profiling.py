"""FL101 for ``autograd.profiler.profile(use_cuda=True)``: the flag becomes a device."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flmigrate.analysis.context import Context
from flmigrate.findings import Arguments, Finding, Fix

_PROFILERS = frozenset({"torch.autograd.profiler.profile", "torch.profiler.profile"})


def check(context: Context) -> Iterator[Finding]:
    """Findings for profilers that are asked for CUDA by a flag."""
    device = context.vocabulary.target.device_type
    for call in context.scopes.nodes[ast.Call]:
        position = next((i for i, k in enumerate(call.keywords) if k.arg == "use_cuda"), None)
        if position is None or context.names.resolve(call.func).only not in _PROFILERS:
            continue
        message = "use_cuda asks for one vendor's events"
        value = call.keywords[position].value
        if device is None or not isinstance(value, ast.Constant) or not value.value:
            off = isinstance(value, ast.Constant) and not value.value
            if not off:
                yield context.finding("FL101", message, call, note=True)
            continue
        edit = Arguments(
            context.source.span(call),
            last=(f'use_device="{device}"',),
            drop=(len(call.args) + position,),
        )
        yield context.finding("FL101", message, call, fix=Fix("Use use_device", (edit,)))
