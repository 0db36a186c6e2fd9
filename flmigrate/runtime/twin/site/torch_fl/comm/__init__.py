"""``torch_fl.comm``: the backend ``flagos`` of torch.distributed."""

from __future__ import annotations

from torch_fl.comm.process_group import ProcessGroupFlagOS, register_flagos_backend

__all__ = ["ProcessGroupFlagOS", "register_flagos_backend"]
