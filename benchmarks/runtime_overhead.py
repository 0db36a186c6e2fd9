"""``python -m benchmarks.runtime_overhead``: what a training step costs on the twin.

Steps of a ResNet-18 on small pictures and of a small GPT, on the plain CPU and on the twin, one
after the other in one process, each with its own copy of the same model and batch. The ratio is
that of CPU time, the median of ``PAIRS`` pairs. Attention takes the unfused path on both, which is
the one that devices get; then the weights of both have to be equal to the bit.
"""

from __future__ import annotations

import importlib
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn import functional as F

from flmigrate.runtime import twin
from flmigrate.runtime.places import place_here

PAIRS = 15
WARM_UP = 2
ALLOWED = 1.6


class _Block(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.second = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norms = nn.ModuleList(nn.BatchNorm2d(outputs) for _ in range(2))
        self.short: nn.Module = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.short = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.relu(self.norms[0](self.first(x)))
        return F.relu(self.norms[1](self.second(y)) + self.short(x))


def _resnet() -> tuple[nn.Module, torch.Tensor, torch.Tensor]:
    blocks: list[nn.Module] = [nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU()]
    width = 64
    for outputs, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        blocks += [_Block(width, outputs, stride), _Block(outputs, outputs, 1)]
        width = outputs
    model = nn.Sequential(*blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))
    return model, torch.randn(4, 3, 32, 32), torch.randint(10, (4,))


class _Layer(nn.Module):
    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList(nn.LayerNorm(size) for _ in range(2))
        self.mixed, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.wide, self.narrow = nn.Linear(size, 4 * size), nn.Linear(4 * size, size)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, size = x.shape
        parts = self.mixed(self.norms[0](x)).view(batch, length, 3, self.heads, -1)
        query, key, value = parts.permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, size))
        narrowed: torch.Tensor = self.narrow(F.gelu(self.wide(self.norms[1](x))))
        return x + narrowed


class _GPT(nn.Module):
    def __init__(self, words: int = 256, size: int = 128, length: int = 64) -> None:
        super().__init__()
        self.word, self.place = nn.Embedding(words, size), nn.Embedding(length, size)
        self.layers = nn.Sequential(*(_Layer(size, 4) for _ in range(4)))
        self.norm, self.head = nn.LayerNorm(size), nn.Linear(size, words, bias=False)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        places = torch.arange(words.shape[1], device=words.device)
        scores: torch.Tensor = self.head(
            self.norm(self.layers(self.word(words) + self.place(places)))
        )
        return scores.flatten(0, 1)


def _gpt() -> tuple[nn.Module, torch.Tensor, torch.Tensor]:
    words = torch.randint(256, (8, 65))
    return _GPT(), words[:, :-1].contiguous(), words[:, 1:].flatten()


MODELS: dict[str, Callable[[], tuple[nn.Module, torch.Tensor, torch.Tensor]]] = {
    "ResNet-18": _resnet,
    "small GPT": _gpt,
}


class Cost(NamedTuple):
    """What steps of a model cost: seconds of CPU time on the plain CPU, the median ratio on the
    twin, and whether the weights came out equal to the bit."""

    seconds: float
    ratio: float
    equal: bool


class _Training:
    """One model on one device."""

    def __init__(self, model: str, device: str) -> None:
        torch.manual_seed(0)
        self.model, inputs, targets = MODELS[model]()
        self.model = self.model.to(device)
        self.inputs, self.targets = inputs.to(device), targets.to(device)
        # foreach is the default on devices only
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3, foreach=True)

    def step(self) -> float:
        """Train once; seconds of CPU time."""
        start = time.process_time()
        loss = F.cross_entropy(self.model(self.inputs), self.targets)
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        loss.item()
        return time.process_time() - start

    def weights(self) -> list[torch.Tensor]:
        """What was learnt, on the CPU."""
        return [value.detach().cpu() for value in self.model.state_dict().values()]


def cost(model: str) -> Cost:
    """Train both in turns."""
    plain, device = _Training(model, "cpu"), _Training(model, "flagos")
    for _ in range(WARM_UP):
        plain.step()
        device.step()
    pairs = []
    for at in range(PAIRS):  # each is first in every other pair
        first, second = (plain, device) if at % 2 else (device, plain)
        seconds = {first: first.step(), second: second.step()}
        pairs.append((seconds[plain], seconds[device]))
    equal = all(map(torch.equal, plain.weights(), device.weights()))
    return Cost(
        statistics.median(one for one, _ in pairs),
        statistics.median(other / one for one, other in pairs),
        equal,
    )


def main() -> int:
    """Print the figures; 1 where one is missed."""
    if twin.stand_in() != "twin":
        sys.exit("the twin cannot be built here, or a real torch_fl is installed")
    torch.set_num_threads(1)
    torch.backends.cuda.enable_flash_sdp(False)
    extension: Any = importlib.import_module("torch_fl")._C
    missed = False
    for watched in (False, True):
        extension.observe(watched, place_here)
        for model in MODELS:
            seconds, ratio, equal = cost(model)
            missed |= ratio >= ALLOWED or not equal
            print(
                f"{model}{', operators watched' if watched else ''}: {seconds * 1000:.0f} ms a "
                f"step on the CPU, {ratio:.2f}x on the twin (under {ALLOWED}x), "
                f"{'equal to the bit' if equal else 'NOT equal'}",
                flush=True,
            )
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
