"""FL602, FL603, FL605, FL606, FL608: timing, copies, memory errors, pinning, process groups.

What a chip does differently at run time, where the code shows it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from itertools import pairwise

from flmigrate.analysis.context import Context
from flmigrate.findings import Finding
from flmigrate.manifests.model import Manifest
from flmigrate.rules.chip_hazards import findings

_CLOCKS = frozenset(
    {"time.time", "time.perf_counter", "time.monotonic", "time.perf_counter_ns", "time.time_ns"}
)
_WAITING = frozenset({"synchronize", "item", "cpu", "tolist", "numpy", "elapsed_time", "wait"})
_COPIES = frozenset({"to", "copy_", "cuda", "flagos"})
_LOADERS = frozenset(
    {
        "torchdata.stateful_dataloader.StatefulDataLoader",
        "torchdata.stateful_dataloader.stateful_dataloader.StatefulDataLoader",
    }
)
_GROUPS = frozenset(
    {
        "torch.distributed.init_process_group",
        "torch.distributed.distributed_c10d.init_process_group",
    }
)


def check(context: Context, manifests: Sequence[Manifest]) -> Iterator[Finding]:
    """Findings about execution on the configurations."""
    if not manifests:
        return
    clocks: dict[object, list[ast.Call]] = {}
    for call in context.scopes.nodes[ast.Call]:
        function = call.func
        if isinstance(function, ast.Attribute) and function.attr in _COPIES:
            if any(k.arg == "non_blocking" and _is_true(k.value) for k in call.keywords):
                yield from findings(context, "FL603", call, f".{function.attr}:", manifests)
        path = context.names.resolve(function).only
        if path in _CLOCKS:
            clocks.setdefault(context.scopes.around(call), []).append(call)
        elif path in _LOADERS and _pins(call):
            yield from findings(context, "FL606", call, "StatefulDataLoader", manifests)
        elif path in _GROUPS and any(k.arg == "device_id" for k in call.keywords):
            yield from findings(context, "FL608", call, "init_process_group", manifests)
    yield from _readings(context, clocks, manifests)
    if "OutOfMemoryError" in context.source.text:
        yield from _handlers(context, manifests)


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def _pins(call: ast.Call) -> bool:
    names = {k.arg: k.value for k in call.keywords}
    pinned = names.get("pin_memory")
    return pinned is not None and _is_true(pinned) and "pin_memory_device" not in names


def _readings(
    context: Context, clocks: dict[object, list[ast.Call]], manifests: Sequence[Manifest]
) -> Iterator[Finding]:
    """Clocks that are read behind a backward pass or a call of a model, without waiting for it."""
    if "torch" not in context.imported:
        return
    source = context.source
    for scope, calls in clocks.items():
        calls.sort(key=source.start)
        inside = [c for c in context.scopes.nodes[ast.Call] if context.scopes.around(c) is scope]
        for first, second in pairwise(calls):
            between = [
                c for c in inside if source.end(first) < source.start(c) < source.start(second)
            ]
            names = {context.names.called_name(call) for call in between}
            if names & {"backward", "step"} and not names & _WAITING:
                subject = ast.unparse(second.func)
                yield from findings(context, "FL602", second, subject, manifests)


def _handlers(context: Context, manifests: Sequence[Manifest]) -> Iterator[Finding]:
    """Handlers of out-of-memory errors that would not see a plain RuntimeError."""
    for node in ast.walk(context.source.tree):
        if not isinstance(node, ast.ExceptHandler) or node.type is None:
            continue
        types = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
        paths = [context.names.resolve(kind).only for kind in types]
        if any(path.endswith(".OutOfMemoryError") and path.startswith("torch.") for path in paths):
            if not {"builtins.RuntimeError", "builtins.Exception"} & set(paths):
                yield from findings(context, "FL605", node.type, "OutOfMemoryError", manifests)
