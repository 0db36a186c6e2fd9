"""Calls to trace, by public name: torch's own samples, and a few kept by hand.

A sample is made on the CPU by the code with which torch tests itself (OpInfo, ModuleInfo,
OptimizerInfo) and moved to the traced device. What those do not cover stands in
``samples_by_hand.py``; its names are listed as ``by hand``.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterator
from typing import Any

import torch

from flmigrate.runtime.boundary import DeviceTensor, module_to_device, to_device
from flmigrate.runtime.sample import Call, Sample
from flmigrate.runtime.samples_by_hand import by_hand


def groups(limit: int) -> Iterator[Callable[[], Iterator[Sample]]]:
    """All samples, at most ``limit`` of each way to call each name, in groups.

    A group is made when it is called, and the same in every process.
    """
    from torch.testing._internal.common_methods_invocations import op_db
    from torch.testing._internal.common_modules import module_db
    from torch.testing._internal.common_optimizers import optim_db

    for database, read in ((op_db, _operator), (module_db, _module), (optim_db, _optimizer)):
        for info in database:
            yield functools.partial(_seeded, read, info, limit)
    yield lambda: _seeded(lambda *_: by_hand(), None, limit)


def _seeded(
    read: Callable[[Any, int], Iterator[Sample]], info: Any, limit: int
) -> Iterator[Sample]:
    random.seed(0)
    torch.manual_seed(0)
    yield from read(info, limit)


def _spread(items: list[Any], limit: int) -> list[Any]:
    """At most ``limit`` of the items, evenly from all of them."""
    if len(items) <= limit:
        return items
    return [items[at * len(items) // limit] for at in range(limit)]


# --- functions and methods -----------------------------------------------------------------


def _operator(info: Any, limit: int) -> Iterator[Sample]:
    dtype = _dtype(info)
    grad = bool(info.supports_autograd and (dtype.is_floating_point or dtype.is_complex))
    try:
        inputs = _spread(list(info.sample_inputs("cpu", dtype, requires_grad=grad)), limit)
    except Exception:  # some samples need a package or a device that is not here
        return
    for name, function, in_place in _variants(info):
        for sample in inputs:
            if not (in_place and sample.broadcasts_input):
                yield Sample(name, _prepared(function, sample, in_place), grad)


def _dtype(info: Any) -> torch.dtype:
    supported = info.supported_dtypes("cpu")
    choices = (torch.float32, torch.complex64, torch.int64, torch.bool, torch.float64)
    return next((dtype for dtype in choices if dtype in supported), torch.float32)


def _variants(info: Any) -> Iterator[tuple[str, Any, bool]]:
    """The ways to call an operator: public name, function, whether it changes its first input."""
    for entry in (info, *info.aliases):
        name = entry.name
        public = name if name.startswith("torch.") else f"torch.{name}"
        if entry.op is not None and _is_public(public):
            yield public, entry.op, False
        if entry.method_variant is not None and hasattr(torch.Tensor, name):
            yield f"torch.Tensor.{name}", entry.method_variant, False
        if entry.inplace_variant is not None and hasattr(torch.Tensor, f"{name}_"):
            yield f"torch.Tensor.{name}_", entry.inplace_variant, True
    if info.operator_variant is not None:
        yield f"torch.Tensor.{info.operator_variant.__name__}", info.operator_variant, False
    if info.inplace_operator_variant is not None:
        function = info.inplace_operator_variant
        yield f"torch.Tensor.__{function.__name__}__", function, True


def _is_public(path: str) -> bool:
    value: Any = torch
    for part in path.split(".")[1:]:
        value = getattr(value, part, None)
        if value is None:
            return False
    return True


def _prepared(function: Any, sample: Any, in_place: bool) -> Callable[[], Call]:
    def prepare() -> Call:
        moved = to_device((sample.input, sample.args, sample.kwargs))
        first, args, kwargs = moved
        if in_place:
            first = first.clone() if isinstance(first, torch.Tensor) else first
        return lambda: function(first, *args, **kwargs)

    return prepare


# --- modules -------------------------------------------------------------------------------


def _module(info: Any, limit: int) -> Iterator[Sample]:
    name = info.module_cls.__name__
    if not hasattr(torch.nn, name):
        return
    for training in (True, False):
        options = {"device": "cpu", "dtype": torch.float32, "requires_grad": True}
        try:
            inputs = list(info.module_inputs_func(info, training=training, **options))
        except Exception:  # as above
            continue
        for sample in _spread(inputs, limit):
            yield Sample(f"torch.nn.{name}", _prepared_module(info.module_cls, sample, training))


def _prepared_module(kind: type, sample: Any, training: bool) -> Callable[[], Call]:
    def prepare() -> Call:
        made = sample.constructor_input
        module = kind(*made.args, **made.kwargs).train(training)
        module = module_to_device(module)
        args, kwargs = to_device((sample.forward_input.args, sample.forward_input.kwargs))
        return lambda: module(*args, **kwargs)

    return prepare


# --- optimizers ----------------------------------------------------------------------------


def _optimizer(info: Any, limit: int) -> Iterator[Sample]:
    name = f"torch.optim.{info.optim_cls.__name__}"
    ways: list[tuple[str, dict[str, Any]]] = [("", {})]
    if "foreach" in info.supported_impls:
        ways.append(("[foreach=False]", {"foreach": False}))
    if "fused" in info.supported_impls:
        ways.append(("[fused=True]", {"fused": True}))
    for suffix, extra in ways:
        for sample in _spread(info.optim_inputs_func(device="cpu"), limit):
            options = {k: v for k, v in sample.kwargs.items() if k not in ("foreach", "fused")}
            prepare = _prepared_optimizer(info.optim_cls, {**options, **extra})
            yield Sample(name + suffix, prepare, backward=False)


def _prepared_optimizer(kind: Any, options: dict[str, Any]) -> Callable[[], Call]:
    def prepare() -> Call:
        module = module_to_device(torch.nn.Linear(4, 3))
        for parameter in module.parameters():
            parameter.grad = DeviceTensor(torch.ones(parameter.shape))
        optimizer = kind(module.parameters(), **to_device(options))

        wants_closure = kind.__name__ == "LBFGS"

        def steps() -> None:
            for _ in range(2):
                if wants_closure:
                    optimizer.step(lambda: torch.zeros(()))
                else:
                    optimizer.step()

        return steps

    return prepare
