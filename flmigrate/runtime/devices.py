"""The devices that a comparison can run on: the CPU, torch's own, and ``flagos``.

``flagos`` is the real one where torch_fl is installed, else the twin, where ``twin.stand_in`` found
what it is built with. Elsewhere tensors that only say that they are on the device stand for it
(``boundary``); their values are computed by the CPU. A process has one of them.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch.utils._pytree import tree_map

from flmigrate.runtime import twin
from flmigrate.runtime.twin.build import TwinError

FLAGOS = "flagos"


class DeviceError(ValueError):
    """A device that is not here."""


@dataclass(frozen=True, slots=True)
class Device:
    """Where to run. ``place`` moves a module in place and returns it, ``send`` moves the tensors
    of any structure there. ``around`` is entered while something computes there. ``described``
    says what stands behind the name."""

    name: str
    described: str
    place: Callable[[torch.nn.Module], torch.nn.Module]
    send: Callable[[Any], Any]
    around: Callable[[], AbstractContextManager[Any]] = nullcontext

    def holds(self, tensor: torch.Tensor) -> bool:
        """Whether a tensor is on this kind of device."""
        return tensor.device.type == torch.device(self.name).type


def open_device(name: str) -> Device:
    """The device of a name that torch knows, or ``flagos``.

    Raises ``DeviceError`` where there is none.
    """
    if name.partition(":")[0] == FLAGOS:
        return _flagos(name)
    try:
        torch.empty(1, device=name)
    except (RuntimeError, AssertionError) as error:
        first = str(error).splitlines()[0]
        raise DeviceError(f'device "{name}": {first}') from None
    return _ordinary(name, name)


def _ordinary(name: str, described: str) -> Device:
    def send(value: Any) -> Any:
        return tree_map(lambda v: _sent(v, name), value)

    return Device(name, described, lambda module: module.to(name), send)


def _sent(value: Any, name: str) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    return value.detach().to(name).requires_grad_(value.requires_grad)


@cache
def _flagos(name: str) -> Device:
    if kind := twin.which():
        try:
            module: Any = importlib.import_module("torch_fl")
        except TwinError as error:
            raise DeviceError(f'device "{name}": {error}') from None
        version = f"torch_fl {getattr(module, '__version__', '')}".strip()
        return _ordinary(name, f"flagos ({'twin' if kind == 'twin' else version})")
    from flmigrate.runtime import boundary

    try:
        boundary.register()
    except RuntimeError as error:
        raise DeviceError(f'device "{name}": {error}') from None
    return Device(
        FLAGOS,
        "flagos (simulated in Python)",
        boundary.module_to_device,
        lambda value: tree_map(_simulated, value),
        boundary.OnCpu,
    )


def _simulated(value: Any) -> Any:
    from flmigrate.runtime.boundary import to_device

    return to_device(value) if isinstance(value, torch.Tensor) else value


def to_cpu(value: Any) -> Any:
    """A structure with copies of its tensors on the CPU, without their history."""
    return tree_map(
        lambda v: v.detach().to("cpu", copy=True) if isinstance(v, torch.Tensor) else v, value
    )
