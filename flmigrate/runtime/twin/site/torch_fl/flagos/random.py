"""Seeds and states of the device's generators.

The default ones draw from the CPU's default one, so that a program draws what it drew there.
"""

from __future__ import annotations

from typing import Any

import torch

from torch_fl import _C

__all__ = [
    "_is_in_bad_fork",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "manual_seed_all",
    "set_rng_state",
]


def _is_in_bad_fork() -> bool:
    return False


def _generator(device: Any = "flagos") -> torch.Generator:
    index = device if isinstance(device, int) else torch.device(device).index
    found: torch.Generator = _C._get_default_generator(-1 if index is None else index)
    return found


def get_rng_state(device: Any = "flagos") -> torch.Tensor:
    """The state of a device's default generator: bytes on the CPU."""
    return _generator(device).get_state()


def set_rng_state(new_state: torch.Tensor, device: Any = "flagos") -> None:
    """Give a device's default generator a state that ``get_rng_state`` gave."""
    _generator(device).set_state(new_state)


def initial_seed() -> int:
    """The seed of this thread's device."""
    return _generator().initial_seed()


def manual_seed(seed: int) -> None:
    """Seed this thread's device. Raises ``RuntimeError`` where there is no device."""
    _generator().manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    """Seed every device."""
    for index in range(_C._get_device_count()):
        _generator(index).manual_seed(int(seed))
