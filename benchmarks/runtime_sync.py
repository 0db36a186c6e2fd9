"""``python -m benchmarks.runtime_sync``: is a missing synchronisation caught, every time?

Twenty programs on the twin in its asynchronous mode, each once with and once without one of its
synchronisations. A program counts as right where its result with all of them equals the CPU's, and
as caught where its result without one does not, or it raises.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

os.environ["FLMIGRATE_TWIN_ASYNC"] = "1"

from flmigrate.runtime.twin import activate

activate()

import torch_fl  # noqa: E402, F401, I001
import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

flagos: Any = torch.flagos  # type: ignore[attr-defined]
D = "flagos"


class Outcome(NamedTuple):
    """What a program read from the device, and what the CPU says."""

    found: torch.Tensor
    right: torch.Tensor


Program = Callable[[bool], Outcome]
PROGRAMS: dict[str, Program] = {}


def program(function: Program) -> Program:
    """Add a program; its argument says whether it synchronises where it has to."""
    PROGRAMS[function.__name__] = function
    return function


def _numbers(*shape: int) -> torch.Tensor:
    return torch.randn(*shape)


def _pinned(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.zeros(*shape, dtype=dtype, pin_memory=True)


def _plain(tensor: torch.Tensor) -> torch.Tensor:
    """A copy of a tensor of the host, as the program reads it now."""
    return tensor.detach().clone()


# --- the host reads too early ---------------------------------------------------------------


@program
def loss_in_a_pinned_buffer(synchronised: bool) -> Outcome:
    x = _numbers(8, 4)
    kept = _pinned(1)
    kept.copy_(x.to(D).pow(2).mean().reshape(1), non_blocking=True)
    if synchronised:
        flagos.synchronize()
    return Outcome(_plain(kept), x.pow(2).mean().reshape(1))


@program
def new_tensor_of_the_host(synchronised: bool) -> Outcome:
    x = _numbers(5, 5)
    found = (x.to(D) @ x.to(D)).to("cpu", non_blocking=True)
    if synchronised:
        flagos.current_stream().synchronize()
    return Outcome(_plain(found), x @ x)


@program
def wrong_stream_synchronised(synchronised: bool) -> Outcome:
    x = _numbers(7)
    there, kept = x.to(D), _pinned(7)
    copying, other = flagos.Stream(), flagos.Stream()
    copying.wait_stream(flagos.current_stream())
    with flagos.stream(copying):
        kept.copy_(there.tanh(), non_blocking=True)
    (copying if synchronised else other).synchronize()
    return Outcome(_plain(kept), x.tanh())


@program
def metrics_of_a_loop(synchronised: bool) -> Outcome:
    batches = [_numbers(4, 3) for _ in range(4)]
    found = []
    for batch in batches:
        value = batch.to(D).sum().to("cpu", non_blocking=True)
        if synchronised:
            flagos.synchronize()
        found.append(_plain(value))
    return Outcome(torch.stack(found), torch.stack([b.sum() for b in batches]))


@program
def gradients_for_an_optimizer_of_the_host(synchronised: bool) -> Outcome:
    net, x = nn.Linear(4, 2), _numbers(8, 4)
    weight = net.weight.detach().clone()
    right = torch.autograd.grad(net(x).pow(2).sum(), net.weight)[0]
    net.to(D)
    loss: Any = net(x.to(D)).pow(2).sum()
    loss.backward()
    assert net.weight.grad is not None
    gradient = net.weight.grad.to("cpu", non_blocking=True)
    if synchronised:
        flagos.synchronize()
    return Outcome(weight - 0.1 * gradient, weight - 0.1 * right)


@program
def predicted_classes(synchronised: bool) -> Outcome:
    scores = _numbers(9, 5)
    kept = _pinned(9, dtype=torch.int64)
    kept.copy_(scores.to(D).argmax(1), non_blocking=True)
    if synchronised:
        flagos.synchronize()
    return Outcome(_plain(kept), scores.argmax(1))


@program
def mask_of_the_valid(synchronised: bool) -> Outcome:
    x = _numbers(30)
    found = (x.to(D) > 0).to("cpu", non_blocking=True)
    if synchronised:
        flagos.synchronize()
    return Outcome(_plain(found), x > 0)


@program
def event_asked_but_not_obeyed(synchronised: bool) -> Outcome:
    x = _numbers(4, 4)
    kept, copied = _pinned(4, 4), flagos.Event()
    kept.copy_(x.to(D).t() @ x.to(D), non_blocking=True)
    copied.record()
    found = _plain(kept)
    while synchronised and not copied.query():
        pass
    return Outcome(_plain(kept) if synchronised else found, x.t() @ x)


# --- the host writes too early --------------------------------------------------------------


@program
def staging_buffer_refilled(synchronised: bool) -> Outcome:
    batches, kept = [_numbers(4, 6) for _ in range(3)], _pinned(4, 6)
    sums = torch.zeros(6, device=D)
    for batch in batches:
        kept.copy_(batch)
        sums += kept.to(D, non_blocking=True).sum(0)
        if synchronised:
            flagos.current_stream().synchronize()
    right = torch.zeros(6)
    for batch in batches:
        right += batch.sum(0)
    return Outcome(sums.cpu(), right)


@program
def source_cleared_in_place(synchronised: bool) -> Outcome:
    x = _numbers(12)
    kept = x.clone().pin_memory()
    there, uploaded = kept.to(D, non_blocking=True), flagos.Event()
    uploaded.record()
    if synchronised:
        uploaded.synchronize()
    kept.zero_()
    return Outcome((there * 2).cpu(), x * 2)


@program
def parameters_through_one_arena(synchronised: bool) -> Outcome:
    first, second = _numbers(3, 3), _numbers(3, 3)
    arena, net = _pinned(3, 3), nn.Sequential(nn.Linear(3, 3, bias=False), nn.Linear(3, 3, False))
    net.to(D)
    for layer, value in zip(net, (first, second), strict=True):
        arena.copy_(value)
        layer.weight.data.copy_(arena, non_blocking=True)  # type: ignore[operator]
        if synchronised:
            flagos.synchronize()
    x = _numbers(2, 3)
    return Outcome(net(x.to(D)).detach().cpu(), F.linear(F.linear(x, first), second))


@program
def training_with_dropout_and_one_buffer(synchronised: bool) -> Outcome:
    batches = [_numbers(4, 5) for _ in range(3)]
    nets = [nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 1))]
    nets.append(nn.Sequential(*(type(m)(*_sizes(m)) for m in nets[0])))
    nets[1].load_state_dict(nets[0].state_dict())
    kept, results = _pinned(4, 5), []
    for net, device in zip(nets, ("cpu", D), strict=True):
        torch.manual_seed(1)
        net.to(device)
        steps = torch.optim.SGD(net.parameters(), 0.1, foreach=True)
        for batch in batches:
            kept.copy_(batch)
            steps.zero_grad()
            loss: Any = net(kept.to(device, non_blocking=True)).pow(2).mean()
            loss.backward()
            steps.step()
            if device == D and synchronised:
                flagos.synchronize()
        results.append(next(net.parameters()).detach().cpu().clone())
    return Outcome(results[1], results[0])


def _sizes(module: nn.Module) -> tuple[Any, ...]:
    if isinstance(module, nn.Linear):
        return (module.in_features, module.out_features)
    return (module.p,) if isinstance(module, nn.Dropout) else ()


# --- one stream does not wait for another ---------------------------------------------------


@program
def side_stream_reads_too_early(synchronised: bool) -> Outcome:
    x, side = _numbers(5), flagos.Stream()
    there = x.to(D).exp()
    if synchronised:
        side.wait_stream(flagos.current_stream())
    with flagos.stream(side):
        found = there + 1
    flagos.synchronize()
    return Outcome(found.cpu(), x.exp() + 1)


@program
def main_stream_reads_too_early(synchronised: bool) -> Outcome:
    x, side = _numbers(5), flagos.Stream()
    there = x.to(D)
    side.wait_stream(flagos.current_stream())
    with flagos.stream(side):
        found = there.sigmoid()
    if synchronised:
        flagos.current_stream().wait_stream(side)
    return Outcome((found * 3).cpu(), x.sigmoid() * 3)


@program
def prefetched_batches(synchronised: bool) -> Outcome:
    batches, copying = [_numbers(3, 4).pin_memory() for _ in range(3)], flagos.Stream()
    found = []
    for batch in batches:
        with flagos.stream(copying):
            there = batch.to(D, non_blocking=True)
        if synchronised:
            flagos.current_stream().wait_stream(copying)
        there.record_stream(flagos.current_stream())
        found.append(there.relu().sum())
    return Outcome(torch.stack(found).cpu(), torch.stack([b.relu().sum() for b in batches]))


@program
def buffer_overwritten_while_in_use(synchronised: bool) -> Outcome:
    first, second = _numbers(6).pin_memory(), _numbers(6).pin_memory()
    buffer, copying = torch.zeros(6, device=D), flagos.Stream()
    buffer.copy_(first, non_blocking=True)
    product = buffer * 2
    if synchronised:
        copying.wait_stream(flagos.current_stream())
    with flagos.stream(copying):
        buffer.copy_(second, non_blocking=True)
    flagos.current_stream().wait_stream(copying)
    return Outcome((product + buffer).cpu(), first * 2 + second)


@program
def event_recorded_too_early(synchronised: bool) -> Outcome:
    x, side, ready = _numbers(4, 4), flagos.Stream(), flagos.Event()
    there = x.to(D)
    if not synchronised:
        ready.record()
    product = there @ there
    if synchronised:
        ready.record()
    side.wait_event(ready)
    with flagos.stream(side):
        found = product.sum(0)
    side.synchronize()
    return Outcome(found.to("cpu"), (x @ x).sum(0))


@program
def memory_freed_while_in_use(synchronised: bool) -> Outcome:
    x, side = _numbers(8), flagos.Stream()
    there = x.to(D) * 2
    side.wait_stream(flagos.current_stream())
    with flagos.stream(side):
        found = there.cos()
    if synchronised:
        there.record_stream(side)
    del there
    other = torch.ones(8, device=D)  # may get the same memory
    flagos.current_stream().wait_stream(side)
    return Outcome((found * other).cpu(), (x * 2).cos())


@program
def averaged_on_a_side_stream(synchronised: bool) -> Outcome:
    net, x, side = nn.Linear(3, 3), _numbers(4, 3), flagos.Stream()
    right = net.weight.detach() - torch.autograd.grad(net(x).pow(2).sum(), net.weight)[0] / 2
    net.to(D)
    loss: Any = net(x.to(D)).pow(2).sum()
    loss.backward()
    assert net.weight.grad is not None
    side.wait_stream(flagos.current_stream())
    with flagos.stream(side):
        net.weight.grad.div_(2)
    if synchronised:
        flagos.current_stream().wait_stream(side)
    torch.optim.SGD([net.weight], 1.0).step()
    flagos.synchronize()
    return Outcome(net.weight.detach().cpu(), right)


@program
def time_of_work_that_is_not_done(synchronised: bool) -> Outcome:
    start, end = flagos.Event(enable_timing=True), flagos.Event(enable_timing=True)
    start.record()
    x = _numbers(4, 4).to(D, non_blocking=True)
    x @ x
    end.record()
    if synchronised:
        end.synchronize()
    return Outcome(torch.tensor(start.elapsed_time(end) >= 0), torch.tensor(True))


# --- the figure -----------------------------------------------------------------------------


def agrees(function: Program, seed: int, *, synchronised: bool) -> bool:
    """Whether a program's result is the CPU's; one that raises has none."""
    torch.manual_seed(seed)
    try:
        found, right = function(synchronised)
    except RuntimeError:
        return False
    finally:
        flagos.synchronize()
    return torch.equal(found, right)


def main() -> int:
    """Print what was missed and the figure; 0 where nothing was."""
    caught = right = 0
    for seed, (name, function) in enumerate(PROGRAMS.items()):
        if agrees(function, seed, synchronised=True):
            right += 1
        else:
            print(f"  {name}: wrong though it synchronises")
        if agrees(function, seed, synchronised=False):
            print(f"  {name}: right without its synchronisation")
        else:
            caught += 1
    total = len(PROGRAMS)
    print(
        f"missing synchronisations caught: {caught} of {total}; "
        f"the synchronised programs right: {right} of {total}"
    )
    return 0 if caught == right == total else 1


if __name__ == "__main__":
    sys.exit(main())
