"""The backend ``flagos``: gloo, on copies of the device's tensors.

It is what it is in Torch-FL, a process group of its own that replaces the others of a call: in
``cpu:gloo,flagos:flagos`` the leg of gloo is dropped, and tensors of the CPU need
``new_group(backend="gloo")``. It is registered for the device's old name, so that torch finds no
default backend for ``flagos`` (torch_fl/comm/process_group.py): it has to be named.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

_c10d: Any = torch._C._distributed_c10d
_BACKEND = "flagos"
_TIMEOUT = timedelta(minutes=30)

_COLLECTIVES = {
    "_allgather_base": "_allgather_base",
    "_reduce_scatter_base": "_reduce_scatter_base",
    "all_gather_single": "_allgather_base",
    "all_to_all_single": "alltoall_base",
    "allgather": "allgather",
    "allgather_coalesced": "allgather_coalesced",
    "allreduce": "allreduce",
    "allreduce_coalesced": "allreduce_coalesced",
    "alltoall": "alltoall",
    "alltoall_base": "alltoall_base",
    "broadcast": "broadcast",
    "gather": "gather",
    "reduce": "reduce",
    "reduce_scatter": "reduce_scatter",
    "reduce_scatter_single": "_reduce_scatter_base",
    "scatter": "scatter",
}
"""Methods of a process group, by the names of several versions of torch, and gloo's name for each.
The first argument takes the results."""

_ONE_BY_ONE = {
    "all_gather_single_coalesced": "all_gather_single",
    "allgather_into_tensor_coalesced": "all_gather_single",
    "reduce_scatter_single_coalesced": "reduce_scatter_single",
    "reduce_scatter_tensor_coalesced": "reduce_scatter_single",
}
"""Methods that take several calls at once, as lists, which gloo does not have."""


class _Received(dist.Work):
    """A tensor that is on its way; it is there when something waits for it."""

    def __init__(self, work: Any, arrive: Callable[[], None]) -> None:
        super().__init__()
        self._work, self._arrive = work, arrive

    def is_completed(self) -> bool:
        return bool(self._work.is_completed())

    def wait(self, timeout: timedelta = timedelta(0)) -> bool:
        self._work.wait()
        self._arrive()
        return True


class ProcessGroupFlagOS(dist.ProcessGroup):
    """Collectives on tensors of ``flagos``. Raises ``RuntimeError`` for tensors of the CPU."""

    def __init__(
        self, store: Any, rank: int, world_size: int, timeout: timedelta | None = None
    ) -> None:
        super().__init__(rank, world_size)  # type: ignore[call-arg]
        self._gloo: Any = dist.ProcessGroupGloo(store, rank, world_size, timeout or _TIMEOUT)
        # Torch asks this leg for the group's name, and the device it serves.
        self._register_backend(
            torch.device(_BACKEND), dist.ProcessGroup.BackendType.CUSTOM, self._gloo
        )

    def getBackendName(self) -> str:
        """The name that ``dist.get_backend()`` gives."""
        return _BACKEND

    def barrier(self, opts: Any = None) -> Any:
        """Wait for every process."""
        torch.flagos.synchronize()  # type: ignore[attr-defined]
        return self._gloo.barrier()

    def send(self, tensors: list[torch.Tensor], dst: int, tag: int = 0) -> Any:
        """Send to one process; ``wait()`` of what is returned waits for it."""
        return self._gloo.send(_on_cpu(tensors), dst, tag)

    def recv(self, tensors: list[torch.Tensor], src: int, tag: int = 0) -> Any:
        """Receive from one process, when ``wait()`` of what is returned is called."""
        there = _on_cpu(tensors)
        return _Received(self._gloo.recv(there, src, tag), lambda: _put_back(tensors, there))

    def recv_anysource(self, tensors: list[torch.Tensor], tag: int = 0) -> Any:
        """Receive from whichever process sends."""
        there = _on_cpu(tensors)
        work = self._gloo.recv_anysource(there, tag)
        return _Received(work, lambda: _put_back(tensors, there))


def _on_cpu(value: Any) -> Any:
    """Tensors of the device as copies on the CPU, in lists too; anything else as it is."""
    if isinstance(value, (list, tuple)):
        return [_on_cpu(one) for one in value]
    if not isinstance(value, torch.Tensor):
        return value
    if value.device.type != _BACKEND:
        raise RuntimeError(f"the backend flagos serves tensors on flagos, not on {value.device}")
    return value.detach().cpu().contiguous()


def _put_back(there: Any, results: Any) -> None:
    if isinstance(there, torch.Tensor):
        there.detach().copy_(results)
    elif isinstance(there, (list, tuple)):
        for one, result in zip(there, results, strict=True):
            _put_back(one, result)


def _divide(results: Any, by: int) -> None:
    if isinstance(results, torch.Tensor):
        results.div_(by)
    else:
        for one in results:
            _divide(one, by)


def _done(outputs: Any) -> Any:
    future: Any = torch.futures.Future()
    future.set_result(outputs)
    return _c10d._create_work_from_future(future)


def _collective(name: str) -> Callable[..., Any]:
    def call(self: ProcessGroupFlagOS, outputs: Any, *rest: Any, **options: Any) -> Any:
        results, arguments = _on_cpu(outputs), [_on_cpu(one) for one in rest]
        # Gloo has no average.
        averaged = [
            one
            for one in (*rest, *options.values())
            if getattr(one, "reduceOp", None) == dist.ReduceOp.AVG
        ]
        for one in averaged:
            one.reduceOp = dist.ReduceOp.SUM
        getattr(self._gloo, name)(results, *arguments, **options).wait()
        for one in averaged:
            one.reduceOp = dist.ReduceOp.AVG
            _divide(results, self.size())
        _put_back(outputs, results)
        return _done(outputs)

    return call


def _one_by_one(name: str) -> Callable[..., Any]:
    def call(self: ProcessGroupFlagOS, outputs: Any, inputs: Any, *options: Any) -> Any:
        for pair in zip(outputs, inputs, strict=True):
            getattr(self, name)(*pair, *options)
        return _done(outputs)

    return call


for _name, _gloos in _COLLECTIVES.items():
    setattr(ProcessGroupFlagOS, _name, _collective(_gloos))
for _name, _single in _ONE_BY_ONE.items():
    setattr(ProcessGroupFlagOS, _name, _one_by_one(_single))


def register_flagos_backend() -> None:
    """Make ``init_process_group("flagos")`` work."""
    if _BACKEND not in dist.Backend.backend_list:
        dist.Backend.register_backend(_BACKEND, ProcessGroupFlagOS, devices=["privateuseone"])
