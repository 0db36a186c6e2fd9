"""Runs a program on the CPU: ``python -m benchmarks.cuda_on_cpu [--cuda] [--paths] FILE arg...``.

``--cuda`` is for programs that have no way without a GPU. Nothing of the program is changed:
``torch.cuda``'s functions are answered by the CPU, and where torch is told a device of CUDA's, it
is told the CPU. One device, which draws from the CPU's generator; streams are done when work is
given to them. What a program asks of its tensors (``x.device.type``, ``x.is_cuda``) is answered
truly: they are on the CPU.

``--paths`` lets torch compute as it does on devices, where it would compute otherwise on the CPU:
the optimizers go over all parameters at once (``foreach``), attention is not fused.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib
import re
import runpy
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import torch._dynamo  # before anything is replaced: it looks at torch's own functions
from torch.utils._device import _device_constructors

_CUDA = re.compile(r"cuda(:\d+)?")


def _cpu(value: Any) -> Any:
    """The CPU for a device of CUDA's; anything else as it is."""
    if isinstance(value, torch.device) and value.type == "cuda":
        return torch.device("cpu")
    if isinstance(value, str) and _CUDA.fullmatch(value):
        return "cpu"
    return value


def _moved(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is told the CPU where it would be told CUDA."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*map(_cpu, args), **{key: _cpu(value) for key, value in kwargs.items()})

    return call


class _Stream:
    """A stream whose work is done when it is given."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.device_index = 0

    def wait_stream(self, stream: Any) -> None:
        """Nothing to wait for."""

    wait_event = wait_stream

    def record_event(self, event: Any = None) -> Any:
        """A new event, or the given one, at this moment."""
        event = event or _Event()
        event.record(self)
        return event

    def synchronize(self) -> None:
        """Nothing to wait for."""

    def query(self) -> bool:
        """True: all is done."""
        return True


class _Event:
    """A moment of the host's clock."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.at = 0.0

    def record(self, stream: Any = None) -> None:
        """Now."""
        self.at = time.perf_counter()

    def wait(self, stream: Any = None) -> None:
        """Nothing to wait for."""

    def synchronize(self) -> None:
        """Nothing to wait for."""

    def query(self) -> bool:
        """True: all is done."""
        return True

    def elapsed_time(self, end: _Event) -> float:
        """Milliseconds from here to another event."""
        return (end.at - self.at) * 1000


class _Generator(torch.Generator):
    def __new__(cls, device: Any = "cpu") -> _Generator:
        return super().__new__(cls, device=_cpu(device))  # type: ignore[call-arg]


@contextlib.contextmanager
def _inert(*args: Any) -> Iterator[None]:
    yield


_peak = 0


def _allocated(device: Any = None) -> int:
    """Bytes in storages of the tensors that Python sees; the most of it is kept in ``_peak``."""
    global _peak
    tensors = [o for o in gc.get_objects() if issubclass(type(o), torch.Tensor)]
    storages = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors}
    _peak = max(_peak, sum(storages.values()))
    return sum(storages.values())


def _most(device: Any = None) -> int:
    _allocated()
    return _peak


def _answer_cuda() -> None:
    """Let the CPU answer for ``torch.cuda``."""
    answers: dict[str, Any] = {
        "is_available": lambda: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "set_device": lambda device: None,
        "device": _inert,
        "get_device_name": lambda device=None: "CPU",
        "get_device_capability": lambda device=None: (8, 0),
        "is_bf16_supported": lambda: True,
        "synchronize": lambda device=None: None,
        "empty_cache": lambda: None,
        "reset_peak_memory_stats": lambda device=None: None,
        "memory_allocated": _allocated,
        "memory_reserved": _allocated,
        "max_memory_allocated": _most,
        "manual_seed": torch.default_generator.manual_seed,
        "manual_seed_all": torch.default_generator.manual_seed,
        "initial_seed": torch.initial_seed,
        "get_rng_state": lambda device=None: torch.get_rng_state(),
        "get_rng_state_all": lambda: [torch.get_rng_state()],
        "set_rng_state": lambda state, device=None: torch.set_rng_state(state),
        "set_rng_state_all": lambda states: torch.set_rng_state(states[0]),
        "Stream": _Stream,
        "Event": _Event,
        "stream": _inert,
        "current_stream": _Stream,
        **{name: getattr(torch, name) for name in dir(torch) if name.endswith("Tensor")},
    }
    for name, answer in answers.items():
        setattr(torch.cuda, name, answer)


def _answer_devices() -> None:
    """Tell torch the CPU wherever it is told a device of CUDA's."""
    anything: Any = torch
    for name in sorted(function.__name__ for function in _device_constructors()):
        if hasattr(torch, name):
            setattr(torch, name, _moved(getattr(torch, name)))
    for owner, names in (
        (anything, "load"),
        (anything.Tensor, "to new_zeros new_ones new_full new_empty new_tensor"),
        (anything._C._nn, "_parse_to"),
        (anything.amp.autocast_mode.autocast, "__init__"),
        (anything.amp.grad_scaler.GradScaler, "__init__"),
    ):
        for name in names.split():
            setattr(owner, name, _moved(getattr(owner, name)))
    anything.Tensor.cuda = lambda self, *args, **kwargs: self
    anything.nn.Module.cuda = lambda self, device=None: self
    anything.Tensor.pin_memory = lambda self, *args: self
    anything.Tensor.record_stream = lambda self, stream: None
    anything.Generator = _Generator


def _answer_autocast() -> None:
    """``autocast`` computes in float16 where no dtype is named, as on CUDA; not in bfloat16."""
    autocast: Any = torch.amp.autocast_mode.autocast
    inner = autocast.__init__

    @functools.wraps(inner)
    def __init__(self: Any, device_type: str, dtype: Any = None, *args: Any, **keys: Any) -> None:
        if device_type == "cuda" and dtype is None:
            dtype = torch.float16
        inner(self, device_type, dtype, *args, **keys)

    autocast.__init__ = __init__


def _paths_of_devices() -> None:
    """Let torch compute on the CPU as on a device."""
    torch.backends.cuda.enable_flash_sdp(False)
    torch.backends.cuda.enable_mem_efficient_sdp(False)
    optimizers: Any = importlib.import_module("torch.optim.optimizer")
    supported = optimizers._get_foreach_kernels_supported_devices
    optimizers._get_foreach_kernels_supported_devices = lambda: [*supported(), "cpu"]


def main(arguments: list[str]) -> None:
    """Run a program as ``python`` would."""
    while arguments[0].startswith("--"):
        option = arguments.pop(0)
        if option == "--paths":
            _paths_of_devices()
            continue
        _answer_cuda()
        _answer_devices()
        _answer_autocast()
    sys.argv = arguments
    sys.path[0] = str(Path(arguments[0]).resolve().parent)
    runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
