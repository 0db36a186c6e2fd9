"""What Torch-FL changes in torch itself, as far as a program can tell."""

from __future__ import annotations

import functools
from typing import Any

from torch.nn.parallel import DistributedDataParallel


def apply() -> None:
    """Patch torch, once."""
    _keywords_only()


def _keywords_only() -> None:
    """DistributedDataParallel takes the module, and everything else by name (torch_fl/__init__.py,
    ``_patch_ddp_for_flagos``); ``device_ids`` are dropped, as a flagos module has one device."""
    torchs: Any = DistributedDataParallel.__init__

    @functools.wraps(torchs)
    def __init__(self: Any, module: Any, **kwargs: Any) -> None:
        first = next(iter(module.parameters()), None)
        if first is not None and first.device.type == "flagos":
            kwargs.pop("device_ids", None)
            kwargs.pop("output_device", None)
        torchs(self, module, **kwargs)

    changed: Any = DistributedDataParallel
    changed.__init__ = __init__
