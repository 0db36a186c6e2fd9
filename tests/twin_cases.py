"""What a user's program does on the twin; run as a process of its own, which prints JSON.

The device's name belongs to the whole process, so that none of this can run beside other tests.
"""

from __future__ import annotations

import copy
import io
import json
from collections.abc import Callable, Iterator
from typing import Any

from flmigrate.runtime.twin import activate

activate()

import torch_fl  # noqa: E402, F401, I001
import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

D = "flagos"
flagos: Any = torch.flagos  # type: ignore[attr-defined]
Case = Callable[[], Any]
CASES: dict[str, Case] = {}


def case(function: Case) -> Case:
    CASES[function.__name__] = function
    return function


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 4))


def cnn() -> nn.Module:
    first = (nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2))
    return nn.Sequential(*first, nn.ConvTranspose2d(8, 2, 2), nn.Flatten(), nn.Linear(50, 4))


def transformer() -> nn.Module:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    return nn.Sequential(layer, nn.Flatten(), nn.Linear(40, 4))


MODELS = {"mlp": (mlp, (8, 6)), "cnn": (cnn, (8, 3, 8, 8)), "transformer": (transformer, (8, 5, 8))}
# Torch takes the form "foreach" on flagos and the loop on the CPU; where they round differently,
# both are asked for the same.
OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "SGD": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9),
    "Adam": lambda p: torch.optim.Adam(p, 0.01, amsgrad=True),
    "AdamW": lambda p: torch.optim.AdamW(p, 0.01),
    "AdamW fused": lambda p: torch.optim.AdamW(p, 0.01, fused=True),
    "RMSprop": lambda p: torch.optim.RMSprop(p, 0.01),
    "Adagrad": lambda p: torch.optim.Adagrad(p, 0.01),
    "Adadelta": lambda p: torch.optim.Adadelta(p),
    "NAdam": lambda p: torch.optim.NAdam(p, 0.01, foreach=True),
    "RAdam": lambda p: torch.optim.RAdam(p, 0.01, foreach=True),
    "Adamax": lambda p: torch.optim.Adamax(p, 0.01),
    "ASGD": lambda p: torch.optim.ASGD(p, 0.01, foreach=True),
    "Rprop": lambda p: torch.optim.Rprop(p, 0.01),
}


def train(device: str, model: str, optimizer: str) -> dict[str, Any]:
    """Five steps; the losses and what was learned."""
    torch.manual_seed(0)
    make, shape = MODELS[model]
    x, y = torch.randn(*shape), torch.randint(0, 4, (8,))
    net = make().to(device)
    steps, losses = OPTIMIZERS[optimizer](net.parameters()), []
    for _ in range(5):
        steps.zero_grad()
        loss: Any = F.cross_entropy(net(x.to(device)), y.to(device))
        loss.backward()
        steps.step()
        losses.append(loss.item())
    return {"losses": losses, **{k: v.cpu().tolist() for k, v in net.state_dict().items()}}


@case
def training() -> Any:
    pairs = [(m, "AdamW") for m in MODELS] + [("mlp", o) for o in OPTIMIZERS]
    return {f"{m}, {o}": train("cpu", m, o) == train(D, m, o) for m, o in pairs}


@case
def first_steps() -> Any:
    x = torch.ones(2, 3, device=D)
    return [str(x.device), x.is_flagos, x.type(), x.cpu().sum().item(), (x @ x.t()).tolist()]  # type: ignore[attr-defined]


@case
def generated_methods() -> Any:
    x: Any = torch.ones(1)
    net: Any = nn.Linear(2, 2)
    return [str(x.flagos().device), str(x.flagos(0).device), str(net.flagos().weight.device)]


@case
def mixed_precision() -> Any:
    net = nn.Linear(4, 4).to(D)
    scaler, steps = torch.amp.GradScaler(D), torch.optim.SGD(net.parameters(), 0.1)
    before = net.weight.detach().cpu().clone()
    with torch.autocast(D):
        y = net(torch.randn(2, 4, device=D))
        kinds = [str(y.dtype), str(y.softmax(0).dtype), torch.is_autocast_enabled(D)]
    scaler.scale(y.float().pow(2).mean()).backward()
    scaler.unscale_(steps)
    scaler.step(steps)
    scaler.update()
    with torch.autocast(D, dtype=torch.bfloat16):
        kinds.append(str((net.weight @ net.weight).dtype))
    return [*kinds, not torch.equal(before, net.weight.detach().cpu())]


@case
def save_and_load() -> Any:
    stored = io.BytesIO()
    torch.save({"a": torch.arange(3.0, device=D)}, stored)
    found = []
    for place in (None, "cpu", D, "flagos:0", torch.device(D), {"flagos:0": "cpu"}):
        stored.seek(0)
        a = torch.load(stored, map_location=place, weights_only=True)["a"]
        found.append([str(a.device), a.tolist()])
    return found


class Numbers(torch.utils.data.Dataset[torch.Tensor]):
    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.full((2,), float(index))


@case
def loader() -> Any:
    batches = torch.utils.data.DataLoader(Numbers(), 4, num_workers=2, pin_memory=True)
    return [[b.is_pinned(), b.to(D, non_blocking=True).sum().item()] for b in batches]


@case
def pinned() -> Any:
    made = torch.ones(3).pin_memory(), torch.empty(2, pin_memory=True), torch.ones(2)
    return [t.is_pinned() for t in made]


@case
def generators() -> Any:
    here = torch.Generator(D).manual_seed(3)
    there = torch.Generator().manual_seed(3)
    same = torch.equal(
        torch.randn(3, device=D, generator=here).cpu(), torch.randn(3, generator=there)
    )
    state = flagos.get_rng_state()
    first = torch.rand(2, device=D)
    flagos.set_rng_state(state)
    return [same, str(here.device), torch.equal(first, torch.rand(2, device=D))]


@case
def streams() -> Any:
    stream, start, end = flagos.Stream(), flagos.Event(enable_timing=True), flagos.Event(True)
    start.record()
    with flagos.stream(stream):
        inside = flagos.current_stream() == stream
    end.record()
    end.synchronize()
    flagos.current_stream().wait_stream(stream)
    stream.wait_event(stream.record_event())
    outside = flagos.current_stream() == stream
    return [inside, outside, start.elapsed_time(end) >= 0, stream.query()]


@case
def memory() -> Any:
    before = flagos.memory_allocated()
    flagos.reset_peak_memory_stats()
    taken = flagos.memory_stats()
    x = torch.empty(1000, device=D)
    more = flagos.memory_allocated() - before
    del x
    given = {k: v - taken[k] for k, v in flagos.memory_stats().items() if v != taken[k]}
    return [more, flagos.memory_allocated() - before, given]


@case
def inference() -> Any:
    net, x = nn.Linear(4, 6).to(D), torch.ones(2, 4, device=D)
    with torch.inference_mode():
        y = net(x + 1).view(2, 2, 3).unbind(0)[0]
        return [y.is_inference(), net.weight.t().is_inference(), list(y.shape)]


@case
def views() -> Any:
    x = torch.zeros(2, 4, device=D)
    x[1] = 1
    x.t()[2] += 5
    x[x > 5] = 0
    x.view(8)[::2].mul_(3)
    return x.tolist()


@case
def indexed_by_tuples() -> Any:
    """One number chosen by a tensor: a view on the CPU, a copy on Torch-FL."""
    found = []
    for device in ("cpu", D):
        x = torch.ones(2, 3, device=device)
        x[torch.tensor(1),].zero_()
        x[:, torch.tensor(0)].zero_()
        x[0, torch.tensor(1)].zero_()
        found.append([x.tolist(), x[:, torch.tensor([2, 0])].tolist()])
    return found


@case
def own_kernel() -> Any:
    from torch_fl import integration

    integration.register_flagos_operator("aten::frac", lambda x: x * 0 + 7)
    return [torch.ones(2, device=D).frac().tolist(), integration.get_registered_ops()]


@case
def resized() -> Any:
    x = torch.ones(2, device=D)
    x.resize_(3)[2] = 7
    return x.tolist()


@case
def compiled() -> Any:
    def tripled(x: torch.Tensor) -> torch.Tensor:
        return x * 3

    x: Any = torch.ones(3, device=D, requires_grad=True)
    loss: Any = torch.compile(tripled, backend="aot_eager")(x).sum()
    loss.backward()
    return [torch.compile(tripled, backend="eager")(x).tolist(), x.grad.tolist()]


@case
def recurrent() -> Any:
    """The largest difference from the CPU, of values and gradients."""
    found = []
    for kind in (nn.LSTM, nn.GRU):
        torch.manual_seed(0)
        net: Any = kind(4, 5, num_layers=2, batch_first=True, bidirectional=True)
        x, there = torch.randn(2, 3, 4), copy.deepcopy(net).to(D)
        for one, value in ((net, x), (there, x.to(D))):
            loss: Any = one(value)[0].pow(2).sum()
            loss.backward()
        pairs = zip(net.parameters(), there.parameters(), strict=True)
        found.append(max((a.grad - b.grad.cpu()).abs().max().item() for a, b in pairs) < 1e-5)
    return found


@case
def copies() -> Any:
    return str(copy.deepcopy(nn.Linear(2, 2).to(D)).weight.device)


@case
def accelerator() -> Any:
    a = torch.accelerator
    return [str(a.current_accelerator()), a.is_available(), a.device_count()]


@case
def missing() -> Any:
    names = "max_memory_allocated mem_get_info get_device_name get_device_capability amp seed"
    return [n for n in names.split() if hasattr(flagos, n)]


FAILING: dict[str, Case] = {
    "two devices": lambda: torch.ones(3, device=D) + torch.ones(3),
    "input left on the CPU": lambda: nn.Linear(3, 3).to(D)(torch.ones(2, 3)),
    "convolution of the CPU": lambda: nn.Conv1d(1, 1, 1).to(D)(torch.ones(1, 1, 3)),
    "set_device by name": lambda: flagos.set_device("flagos:0"),
    "memory by name": lambda: flagos.memory_allocated("flagos:0"),
    "no such device": lambda: torch.ones(1, device="flagos:3"),
    "generator of the CPU": lambda: torch.rand(1, device=D, generator=torch.Generator()),
    "accelerator.synchronize": lambda: torch.accelerator.synchronize(),
    "accelerator.empty_cache": lambda: torch.accelerator.empty_cache(),
    "sparse": lambda: torch.eye(3, device=D).to_sparse(),
    "numpy": lambda: torch.ones(2, device=D).numpy(),
}


def refused(function: Case) -> Any:
    try:
        return function()
    except Exception as error:
        return [type(error).__name__, str(error)]


def results() -> Iterator[tuple[str, Any]]:
    for name, function in CASES.items():
        yield name, function()
    for name, function in FAILING.items():
        yield name, refused(function)


if __name__ == "__main__":
    print(json.dumps(dict(results())))
