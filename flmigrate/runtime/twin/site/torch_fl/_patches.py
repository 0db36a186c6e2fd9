"""What Torch-FL changes in torch itself, as far as a program can tell."""

from __future__ import annotations

import functools
from typing import Any
from unittest import mock

import torch
import torch.distributed as dist

_EVERYTHING = slice(None)


def apply() -> None:
    """Patch torch, once."""
    _index_by_tuples()
    if dist.is_available():
        _reduce_in_python()


def _index_by_tuples() -> None:
    """A tuple of tensors and full slices goes to ``aten::index`` as it is (torch_fl/flagos/
    __init__.py). Torch makes a view where a tensor in it is one number; this gives a copy."""
    torchs: Any = torch.Tensor.__getitem__

    @functools.wraps(torchs)
    def __getitem__(self: Any, indices: Any) -> Any:
        if (
            type(indices) is not tuple
            or not any(isinstance(index, torch.Tensor) for index in indices)
            or self.device.type != "flagos"
            or not all(_whole(index) or isinstance(index, torch.Tensor) for index in indices)
        ):
            return torchs(self, indices)
        chosen = [None if _whole(index) else index for index in indices]
        return torch.ops.aten.index.Tensor(self, chosen)

    changed: Any = torch.Tensor
    changed.__getitem__ = __getitem__


def _whole(index: Any) -> bool:
    return isinstance(index, slice) and index == _EVERYTHING


def _reduce_in_python() -> None:
    """DistributedDataParallel takes the module, and everything else by name; on a module of the
    device it averages each gradient by itself, broadcasts no buffers unless asked to, and gives
    a communication hook the gradient and the parameter (torch_fl/__init__.py,
    ``_patch_ddp_for_flagos``)."""
    from torch.nn.parallel import DistributedDataParallel

    torchs: Any = DistributedDataParallel.__init__

    @functools.wraps(torchs)
    def __init__(self: Any, module: Any, **kwargs: Any) -> None:
        if all(parameter.device.type != "flagos" for parameter in module.parameters()):
            torchs(self, module, **kwargs)
            return
        import torch._dynamo.utils

        kwargs = {"gradient_as_bucket_view": True, "broadcast_buffers": False, **kwargs}
        # The way by which torch leaves out its own reducer.
        with mock.patch.object(
            torch._dynamo.utils, "get_optimize_ddp_mode", lambda: "python_reducer"
        ):
            torchs(self, module, **kwargs)
        for hook in self._accum_grad_hooks:
            hook.remove()
        reduce = functools.partial(_reduce, self)
        self._accum_grad_hooks[:] = [
            parameter.register_post_accumulate_grad_hook(reduce)
            for parameter in self._module_parameters
            if parameter.requires_grad
        ]

    changed: Any = DistributedDataParallel
    changed.__init__ = __init__


def _reduce(model: Any, parameter: Any) -> None:
    if not model.require_backward_grad_sync or parameter.grad is None:
        return
    for hook, state in model._comm_hooks:
        hook(state, (parameter.grad, parameter))
    if not model._comm_hooks:
        parameter.grad.div_(model.process_group.size())
        dist.all_reduce(parameter.grad, group=model.process_group)
