"""What a program in two processes does on the twin: ``RANK STORE``; rank 0 prints JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

from flmigrate.runtime.twin import activate

activate()

import torch_fl  # noqa: E402, I001
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch import nn  # noqa: E402
from torch.distributed import _functional_collectives as functional  # noqa: E402
from torch.distributed.device_mesh import init_device_mesh  # noqa: E402

D, BATCH, STEPS = "flagos", 8, 4


def net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 4))


def batches() -> list[tuple[torch.Tensor, torch.Tensor]]:
    drawn = torch.Generator().manual_seed(1)
    return [
        (torch.randn(BATCH, 6, generator=drawn), torch.randn(BATCH, 4, generator=drawn))
        for _ in range(STEPS)
    ]


def trained(model: nn.Module, device: str, share: slice) -> dict[str, Any]:
    """What a model has learned from a share of each batch."""
    steps = torch.optim.AdamW(model.parameters(), 0.01, foreach=True)
    for x, y in batches():
        steps.zero_grad()
        loss: Any = (model(x[share].to(device)) - y[share].to(device)).pow(2).mean()
        loss.backward()
        steps.step()
    return {
        name.removeprefix("module."): value.cpu().tolist()
        for name, value in model.state_dict().items()
    }


def result_of(function: Callable[[torch.Tensor], Any], size: int = 2) -> Any:
    into = torch.zeros(size, device=D)
    function(into)
    return into.tolist()


def collectives(rank: int) -> dict[str, Any]:
    x = torch.tensor([1.0, 2.0], device=D) * (rank + 1)

    def exchanged(into: torch.Tensor) -> None:
        works = [dist.irecv(into, 1 - rank), dist.isend(x, 1 - rank)]
        for work in works:
            work.wait()  # type: ignore[union-attr]

    def gathered(into: torch.Tensor) -> None:
        dist.all_gather(list(into.chunk(2)), x)

    def average(into: torch.Tensor) -> None:
        dist.all_reduce(into.copy_(x), op=dist.ReduceOp.AVG)

    world: Any = dist.group.WORLD
    objects: list[Any] = [None, None]
    dist.all_gather_object(objects, {"rank": rank})
    dist.barrier()
    host = torch.ones(1)
    dist.all_reduce(host, group=dist.new_group(backend="gloo"))
    return {
        "all_reduce": result_of(lambda into: dist.all_reduce(into.copy_(x))),
        "average": result_of(average),
        "broadcast": result_of(lambda into: dist.broadcast(into.copy_(x), 1)),
        "all_gather": result_of(gathered, 4),
        "all_gather_single": result_of(lambda into: dist.all_gather_into_tensor(into, x), 4),
        "reduce_scatter": result_of(lambda into: dist.reduce_scatter_tensor(into, x), 1),
        "all_to_all": result_of(lambda into: dist.all_to_all_single(into, x)),
        "exchanged": result_of(exchanged),
        "functional": functional.all_reduce(x, "sum", world).tolist(),
        "objects": objects,
        "gloo": host.tolist(),
        "mesh": init_device_mesh(D, (2,)).size(),
    }


def buffers_and_hooks(rank: int) -> list[Any]:
    """Whether each process keeps its own buffers, and what a communication hook is given."""
    model: Any = nn.Sequential(nn.BatchNorm1d(2), nn.Linear(2, 1)).to(D)
    parallel = nn.parallel.DistributedDataParallel(model)
    given: list[str] = []

    parallel.register_comm_hook(given, lambda names, bucket: names.append(type(bucket).__name__))
    for _ in range(2):
        parallel(torch.full((4, 2), float(rank), device=D)).sum().backward()
    means: list[Any] = [None, None]
    dist.all_gather_object(means, model[0].running_mean.tolist())
    return [means[0] != means[1], sorted(set(given))]


def refused(function: Callable[[], Any]) -> list[str]:
    try:
        return [str(function())]
    except Exception as error:
        return [type(error).__name__, str(error).splitlines()[0]]


def main(rank: int, store: str) -> None:
    def places(number: int) -> dict[str, Any]:
        return {"init_method": f"file://{store}{number}", "rank": rank, "world_size": 2}

    place = torch.device("flagos:0")
    before = [
        refused(lambda: dist.init_process_group(device_id=place, **places(0))),
        refused(lambda: init_device_mesh(D, (2,))),
        refused(lambda: dist.get_default_backend_for_device(D)),
    ]
    torch_fl.distributed.init_process_group(**places(1))
    told: dict[str, Any] = {"backend": dist.get_backend(), "without a backend": before}
    told["collectives"] = collectives(rank)
    told["tensor of the CPU"] = refused(lambda: dist.all_reduce(torch.ones(1)))
    told["buffers"] = buffers_and_hooks(rank)
    there: Any = net().to(D)
    told["positional"] = refused(lambda: nn.parallel.DistributedDataParallel(there, [0]))
    parallel = nn.parallel.DistributedDataParallel(there, device_ids=[0])
    told["trained"] = trained(parallel, D, slice(rank, None, 2))
    everyone: list[Any] = [None, None]
    dist.all_gather_object(everyone, told["trained"])
    told["same on both"] = everyone[0] == everyone[1]
    told["alone"] = trained(net(), "cpu", slice(None))
    dist.destroy_process_group()
    dist.init_process_group("cpu:gloo,flagos:flagos", **places(2))
    told["two legs"] = [
        result_of(dist.all_reduce),
        refused(lambda: dist.all_reduce(torch.ones(1))),
    ]
    dist.destroy_process_group()
    if rank == 0:
        print(json.dumps(told))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
