"""What every module of a model gives out, and the gradients that come back to it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch.utils._pytree import tree_leaves, tree_map

from flmigrate.runtime.devices import Device, to_cpu
from flmigrate.runtime.subject import Subject, seed, told

ROOT = "(model)"
"""The name of the model itself among its modules."""

Key = tuple[str, str, int]
"""A module's name; ``output``, ``gradient`` (that of an output) or ``NAME.grad`` (that of a
parameter, or ``input``); and which of its tensors, counted over all calls."""


@dataclass(slots=True)
class Run:
    """One run: the tensors by key in the order in which they came, all on the CPU.

    ``inputs`` are those of the first call of each module; ``order`` are the modules in the order
    in which they were entered. ``error`` says what was raised, if anything.
    """

    tensors: dict[Key, torch.Tensor] = field(default_factory=dict)
    inputs: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    error: str = ""


def observe(
    subject: Subject,
    device: Device,
    *,
    backward: bool = True,
    inner: bool = True,
    wrap: Callable[[torch.nn.Module], Callable[..., Any]] | None = None,
    watch: AbstractContextManager[Any] | None = None,
) -> Run:
    """Run the subject's model on a device and keep what its modules say.

    The model is moved there. Its outputs get fixed gradients, so no loss is needed. With
    ``inner=False`` only outputs and parameters of the whole are kept; ``wrap`` then may compile the
    model. ``watch`` is entered while it computes. What the model raises ends the run, and is told
    in ``error``.
    """
    run = Run()
    try:
        model = device.place(subject.model)
        inputs = device.send((subject.args, subject.kwargs))
        # Modules that write into their inputs may not write into leaves of the graph.
        args, kwargs = tree_map(_branch, inputs)
        handles = [
            handle
            for name, module in model.named_modules()
            if inner or not name
            for handle in _tap(name or ROOT, module, run, backward=backward)
        ]
        seed()
        call = model if wrap is None else wrap(model)
        try:
            with device.around(), watch or nullcontext():
                with torch.set_grad_enabled(backward):
                    outcome = call(*args, **kwargs)
                if backward:
                    _backward(outcome)
        finally:
            for handle in handles:
                handle.remove()
        for name, parameter in model.named_parameters():
            if parameter.grad is not None:
                module, _, own = name.rpartition(".")
                run.tensors[module or ROOT, f"{own}.grad", 0] = to_cpu(parameter.grad)
        leaves = [v for v in tree_leaves(inputs) if isinstance(v, torch.Tensor)]
        for at, leaf in enumerate(leaves):
            if leaf.grad is not None:
                run.tensors[ROOT, "input.grad", at] = to_cpu(leaf.grad)
    except Exception as error:
        run.error = told(error)
    return run


def _branch(value: Any) -> Any:
    needs = isinstance(value, torch.Tensor) and value.requires_grad
    return value.clone() if needs else value


def _tap(name: str, module: torch.nn.Module, run: Run, *, backward: bool) -> list[Any]:
    counts = {"output": 0, "gradient": 0}

    def keep(kind: str, tensor: torch.Tensor, at: int) -> None:
        run.tensors[name, kind, at] = to_cpu(tensor)

    def enter(_: Any, args: Any, kwargs: Any) -> None:
        if name not in run.inputs:
            run.inputs[name] = _inputs((args, kwargs))
            run.order.append(name)

    def leave(_: Any, args: Any, kwargs: Any, outcome: Any) -> None:
        for value in tree_leaves(outcome):
            if isinstance(value, torch.Tensor):
                at = counts["output"]
                counts["output"] += 1
                keep("output", value, at)
                if backward and value.requires_grad:
                    hook = partial(_keep_gradient, keep, at)
                    value.register_hook(hook)  # type: ignore[no-untyped-call]

    return [
        module.register_forward_pre_hook(enter, with_kwargs=True),
        module.register_forward_hook(leave, with_kwargs=True),
    ]


def _keep_gradient(
    keep: Callable[[str, torch.Tensor, int], None], at: int, gradient: torch.Tensor
) -> None:
    keep("gradient", gradient, at)


def _inputs(value: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    def kept(v: Any) -> Any:
        if isinstance(v, torch.Tensor):
            return v.detach().to("cpu", copy=True).requires_grad_(v.requires_grad)
        return v

    args, kwargs = tree_map(kept, value)
    return tuple(args), dict(kwargs)


def _backward(outcome: Any) -> None:
    """Send fixed gradients back: different for every value, the same in every run."""
    tensors = [v for v in tree_leaves(outcome) if isinstance(v, torch.Tensor) and v.requires_grad]
    if not tensors:
        return
    gradients = []
    for tensor in tensors:
        pattern = torch.cos(torch.arange(tensor.numel(), dtype=torch.float64)) / 4 + 0.75
        shaped = pattern.reshape(tensor.shape).to(tensor.dtype)
        gradients.append(torch.empty_like(tensor.detach()).copy_(shaped))
    # In this thread: modes that look at operators hold for one thread.
    with torch.autograd.set_multithreading_enabled(False):
        torch.autograd.backward(tensors, gradients)
