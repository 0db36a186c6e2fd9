"""A model on the CPU with some of its modules on the device."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import torch
from torch.utils._pytree import tree_map

from flmigrate.runtime.devices import Device
from flmigrate.runtime.subject import Subject


def substituted(subject: Subject, modules: Iterable[str], device: Device) -> Subject:
    """A copy of the subject in which these modules, with all below them, are on the device.

    Their inputs are sent there and their results brought back, gradients the other way round.
    """
    model = copy.deepcopy(subject.model)
    parts = dict(model.named_modules())
    for name in modules:
        module = device.place(parts[name])
        module.register_forward_pre_hook(_entering(device), with_kwargs=True)
        module.register_forward_hook(_leaving(device))
    return replace(subject, model=model)


def _entering(device: Device) -> Callable[..., Any]:
    def enter(module: torch.nn.Module, args: Any, kwargs: Any) -> Any:
        return tree_map(lambda v: _crossed(v, device.send, _to_cpu), (args, kwargs))

    return enter


def _leaving(device: Device) -> Callable[..., Any]:
    def leave(module: torch.nn.Module, args: Any, outcome: Any) -> Any:
        return tree_map(lambda v: _crossed(v, _to_cpu, device.send), outcome)

    return leave


def _to_cpu(value: torch.Tensor) -> torch.Tensor:
    return value.detach().to("cpu")


class _Crossing(torch.autograd.Function):
    """A copy to another device whose gradient is copied back."""

    @staticmethod
    def forward(
        context: Any, value: torch.Tensor, there: Callable[..., Any], back: Callable[..., Any]
    ) -> Any:
        context.back = back
        return there(value.detach())

    @staticmethod
    def backward(context: Any, *gradients: Any) -> Any:
        return context.back(gradients[0]), None, None


def _crossed(value: Any, there: Callable[..., Any], back: Callable[..., Any]) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    return _Crossing.apply(value, there, back)  # type: ignore[no-untyped-call]
