"""The alias ``cuda`` of the device, as far as Torch-FL's reaches (torch_fl/__init__.py).

On Torch-FL it is on unless ``FLAGOS_ALIAS_CUDA`` says no. The twin wants code that was forgotten
to fail, and has it only where the variable asks for it.
"""

from __future__ import annotations

import os
from typing import Any

import torch
from torch.fx.graph import _register_custom_builtin
from torch.overrides import TorchFunctionMode

from torch_fl import flagos

_OFF = ("", "0", "off", "false")
_Device = torch.device


def wanted() -> bool:
    """Whether the alias is asked for."""
    return os.environ.get("FLAGOS_ALIAS_CUDA", "").lower() not in _OFF


def install() -> None:
    """Let ``cuda`` mean ``flagos`` where a device is an argument; in this thread, as there.

    What it does not reach: generators, autocast, ``map_location``, streams and events of
    ``torch.cuda``, comparisons with "cuda", ``is_cuda``.
    """
    torch._C._push_on_torch_function_stack(_Renamed())
    changed: Any = torch
    changed.device = _DeviceAlias
    # torch.fx writes a device into generated code by this entry.
    _register_custom_builtin("device", "from torch import device", _DeviceAlias)
    changed.Tensor.cuda = _moved
    changed.cuda.is_available = flagos.is_available
    for name in (
        "current_device",
        "device_count",
        "get_device_properties",
        "set_device",
        "synchronize",
    ):
        setattr(changed.cuda, name, getattr(flagos, name))


def _renamed(device: Any) -> Any:
    """A device or its name, with ``flagos`` for ``cuda``; anything else as it is."""
    if isinstance(device, str) and device.partition(":")[0] == "cuda":
        return device.replace("cuda", "flagos", 1)
    if isinstance(device, _Device) and device.type == "cuda":
        return _Device("flagos", device.index or 0)
    return device


class _Renamed(TorchFunctionMode):
    """Factories and ``.to()`` read their device in C++; this comes before."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if kwargs.get("device") is not None:
            kwargs["device"] = _renamed(kwargs["device"])
        elif func is torch.Tensor.to and len(args) > 1:
            args = (args[0], _renamed(args[1]), *args[2:])
        return func(*args, **kwargs)


class _DeviceMeta(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _Device)


class _DeviceAlias(metaclass=_DeviceMeta):
    """``torch.device`` under the alias: makes torch's own devices, and is none of its types."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        if args:
            args = (_renamed(args[0]), *args[1:])
        elif "device" in kwargs:
            kwargs["device"] = _renamed(kwargs["device"])
        return _Device(*args, **kwargs)


_DeviceAlias.__name__ = _DeviceAlias.__qualname__ = "device"


def _moved(
    self: Any, device: Any = None, non_blocking: bool = False, **kwargs: Any
) -> torch.Tensor:
    """``Tensor.cuda()``: to device 0 where none is named."""
    index = 0 if device is None else _Device(_renamed(device)).index or 0
    moved: torch.Tensor = self.to(f"flagos:{index}", non_blocking=non_blocking)
    return moved
