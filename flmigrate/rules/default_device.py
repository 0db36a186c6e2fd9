"""FL120: a default device that reaches random generators it does not fit.

``torch.set_default_device`` also moves the ``torch.randperm`` of a shuffling sampler, whose
generator stays on the CPU: a DataLoader then fails, on the target as on CUDA.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flmigrate.analysis.context import Context
from flmigrate.findings import Finding


def check(context: Context) -> Iterator[Finding]:
    """Findings where a file sets the target as its default device."""
    if "set_default_device" not in context.source.text:
        return
    kinds = {*context.vocabulary.device_types, context.vocabulary.target.device_type}
    setters = []
    loaders, fitted = [], False
    for call in context.scopes.nodes[ast.Call]:
        path = context.names.resolve(call.func).only
        if path == "torch.set_default_device" and call.args:
            first = call.args[0]
            if isinstance(first, ast.Constant) and str(first.value).partition(":")[0] in kinds:
                setters.append(call)
        elif path in ("torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader"):
            if any(k.arg == "generator" for k in call.keywords):
                fitted = True
            elif _shuffles(call):
                loaders.append(call)
    if not setters or (fitted and not loaders):
        return
    device = context.vocabulary.target.device_type or context.vocabulary.target.device_expression
    for call in loaders or setters:
        message = f'shuffling needs generator=torch.Generator(device="{device}") here'
        detail = "the default device also moves the random numbers of a DataLoader's sampler"
        yield context.finding("FL120", message, call, note=True, detail=detail)


def _shuffles(call: ast.Call) -> bool:
    return any(
        keyword.arg == "shuffle"
        and not (isinstance(keyword.value, ast.Constant) and not keyword.value.value)
        for keyword in call.keywords
    )
