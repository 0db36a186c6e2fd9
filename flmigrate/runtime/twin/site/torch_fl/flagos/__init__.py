"""``torch.flagos``: the names of Torch-FL's, with its limits.

``set_device`` and what asks for memory, properties or the current stream take an ``int`` only.
What is not here (``max_memory_allocated``, ``mem_get_info``, ``get_device_name``, ``amp``, graphs
and more) is not in Torch-FL either.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from types import TracebackType
from typing import Any

import torch

from torch_fl import _C, _chip
from torch_fl.flagos import meta, random
from torch_fl.flagos.random import (
    get_rng_state,
    initial_seed,
    manual_seed,
    manual_seed_all,
    set_rng_state,
)

__all__ = [
    "Event",
    "Stream",
    "_is_in_bad_fork",
    "current_device",
    "current_stream",
    "default_generators",
    "device",
    "device_count",
    "empty_cache",
    "get_amp_supported_dtype",
    "get_device_properties",
    "get_rng_state",
    "init",
    "initial_seed",
    "is_available",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "meta",
    "random",
    "reset_peak_memory_stats",
    "set_device",
    "set_rng_state",
    "stream",
    "synchronize",
]

_C.set_device_count(int(os.environ.get("FLMIGRATE_TWIN_DEVICES", "1")))
_initialized = False


def init() -> None:
    """Nothing has to be set up."""
    _lazy_init()


def _lazy_init() -> None:
    global _initialized
    _initialized = True


def is_initialized() -> bool:
    """Whether ``init`` was called, by the program or by torch."""
    return _initialized


def _is_in_bad_fork() -> bool:
    return False


def is_available() -> bool:
    """Whether there is a device."""
    return device_count() > 0


def device_count() -> int:
    """The number of simulated devices."""
    return int(_C._get_device_count())


def current_device() -> int:
    """The index of this thread's device."""
    return int(_C._get_device())


def set_device(device: int) -> None:
    """Make a device this thread's. Raises ``TypeError`` for anything but an ``int``."""
    _C._set_device(device)


def _index(device: Any) -> int:
    if device is None:
        return current_device()
    if isinstance(device, bool) or not isinstance(device, int):
        raise TypeError(f"an int or None is expected, not {type(device).__name__}")
    return device


def _index_of_any(device: Any) -> int:
    if isinstance(device, int):
        return device
    if device is None:
        return current_device()
    index = torch.device(device).index
    return current_device() if index is None else index


class device:
    """The context of another device: an index, a string, or a ``torch.device``."""

    def __init__(self, device: Any) -> None:
        self.idx = _index_of_any(device)
        self.prev_idx = -1

    def __enter__(self) -> None:
        self.prev_idx = _C._exchangeDevice(self.idx)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _C._exchangeDevice(self.prev_idx)


def synchronize(device: Any = None) -> None:
    """Wait for everything that was given to a device."""
    _C._synchronize(_index_of_any(device))


def get_amp_supported_dtype() -> list[torch.dtype]:
    """What ``torch.autocast("flagos")`` computes in."""
    return [torch.float16, torch.bfloat16]


def empty_cache() -> None:
    """Nothing: freed memory is not kept."""


def memory_allocated(device: int | None = None) -> int:
    """Bytes in tensors of a device."""
    return int(_C._memory_allocated(_index(device)))


def memory_reserved(device: int | None = None) -> int:
    """Bytes in tensors of a device: nothing is reserved beyond."""
    return memory_allocated(device)


def memory_stats(device: int | None = None) -> dict[str, int]:
    """Torch-FL's nine keys: bytes in tensors of a device, now and at most, and how often memory
    was taken and given back. Nothing is kept, so that what is reserved is what is allocated."""
    index = _index(device)
    now, most = memory_allocated(index), int(_C._memory_peak(index))
    made, freed = _C._memory_calls(index)
    return {
        "allocated_bytes": now,
        "reserved_bytes": now,
        "peak_allocated_bytes": most,
        "peak_reserved_bytes": most,
        "num_alloc_calls": made,
        "num_free_calls": freed,
        "num_device_malloc": made,
        "num_device_free": freed,
        "num_alloc_retries": 0,
    }


def reset_peak_memory_stats(device: int | None = None) -> None:
    """Count the most from now on. On chips with the allocator that Torch-FL brings, the counter of
    what is allocated starts at 0 too, and is off from then on."""
    if _chip.concerned_by("torch.flagos.reset_peak_memory_stats"):
        _C._forget_memory(_index(device))
    else:
        _C._reset_peak_memory_stats(_index(device))


class _DeviceProperties:
    """Placeholders, as on Torch-FL: they say nothing about a chip."""

    def __init__(self, device_id: int) -> None:
        self.name = f"flagos twin {device_id}"
        self.total_memory = memory_reserved(device_id)
        self.major, self.minor = 8, 0
        self.multi_processor_count = 1

    def __repr__(self) -> str:
        return f"_DeviceProperties(name={self.name!r}, total_memory={self.total_memory})"


def get_device_properties(device: int | None = None) -> _DeviceProperties:
    """Placeholders for a device's properties."""
    return _DeviceProperties(_index(device))


class _DefaultGenerators:
    """The default generator of each device."""

    def __len__(self) -> int:
        return device_count()

    def __getitem__(self, index: int) -> torch.Generator:
        if not 0 <= index < device_count():
            raise IndexError(index)
        found: torch.Generator = _C._get_default_generator(index)
        return found


default_generators = _DefaultGenerators()


class Event:
    """A point in time on a stream; ``elapsed_time`` gives milliseconds of the host."""

    def __init__(
        self,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
        external: bool = False,
    ) -> None:
        self._event = torch.Event("flagos", enable_timing=enable_timing, blocking=blocking)

    def record(self, stream: Any = None) -> None:
        """Mark where a stream is now."""
        self._event.record(current_stream() if stream is None else stream)

    def wait(self, stream: Any = None) -> None:
        """Let a stream wait for the event."""
        self._event.wait(current_stream() if stream is None else stream)

    def query(self) -> bool:
        """Whether the stream has come so far."""
        return self._event.query()

    def synchronize(self) -> None:
        """Wait until the stream has come so far."""
        self._event.synchronize()

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this event to another."""
        return self._event.elapsed_time(end_event._event)


class Stream(torch.Stream):
    """A queue of work on a device."""

    def __new__(cls, device: int | None = None, priority: int = 0, **kwargs: Any) -> Stream:
        if _chip.concerned_by("torch.flagos.Stream"):
            raise RuntimeError("libascendcl.so not found")  # it is built on Ascend's runtime
        if kwargs:
            return super().__new__(cls, priority=priority, **kwargs)
        index = _index(device)
        return super().__new__(cls, device=f"flagos:{index}", priority=priority)

    @property
    def cuda_stream(self) -> int:
        """The handle that Triton and extensions take: not a stream of CUDA here."""
        return self.stream_id

    gcu_stream = cuda_stream

    def wait_event(self, event: Any) -> None:
        """Let what follows wait for an event."""
        super().wait_event(event._event if isinstance(event, Event) else event)

    def record_event(self, event: Any = None) -> Any:
        """Record an event, a new one where none is given, and return it."""
        event = Event() if event is None else event
        event.record(self)
        return event


def current_stream(device: int | None = None) -> Any:
    """This thread's stream on a device."""
    found = torch.accelerator.current_stream(_index(device))
    return Stream(
        stream_id=found.stream_id, device_index=found.device_index, device_type=found.device_type
    )


@contextlib.contextmanager
def stream(s: Any) -> Iterator[None]:
    """The context in which a stream is this thread's; ``None`` changes nothing."""
    if s is None:
        yield
        return
    before = torch.accelerator.current_stream(s.device_index)
    torch.accelerator.set_stream(s)
    try:
        yield
    finally:
        torch.accelerator.set_stream(before)
