"""``torch_fl.distributed``: process groups and DistributedDataParallel."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as _DDP

__all__ = ["DistributedDataParallel", "init_process_group", "move_buffers_to_device"]


def init_process_group(backend: str = "auto", **kwargs: Any) -> None:
    """Join the group of processes; ``auto`` is ``flagos``."""
    dist.init_process_group("flagos" if backend == "auto" else backend, **kwargs)


def move_buffers_to_device(module: torch.nn.Module, device: Any) -> None:
    """Move a module's buffers, which DistributedDataParallel broadcasts."""
    for owner in module.modules():
        for name, buffer in owner._buffers.items():
            if buffer is not None:
                owner._buffers[name] = buffer.to(device)


def DistributedDataParallel(module: torch.nn.Module, **kwargs: Any) -> torch.nn.Module:
    """Torch's own; everything but the module is named."""
    return _DDP(module, **kwargs)
