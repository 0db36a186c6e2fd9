"""``python -m benchmarks.runtime_faults``: is a seeded fault localised to its layer?

Twenty trials: a model of three kinds, one of its layers, and a fault of five kinds that this layer
has on the device only. A trial counts where ``flmigrate compare`` names this layer and no other
as off by itself.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch import nn

from flmigrate.runtime import twin
from flmigrate.runtime.comparison import Case, Setup, compare
from flmigrate.runtime.devices import Device, open_device

TRIALS = 20


class Trial(NamedTuple):
    """One seeded fault, and the layers that were blamed."""

    model: str
    layer: str
    fault: str
    blamed: tuple[str, ...]

    @property
    def found(self) -> bool:
        """Whether the layer with the fault was blamed, and no other."""
        return self.blamed == (self.layer,)


def _mlp() -> tuple[nn.Module, torch.Tensor]:
    layers: list[nn.Module] = []
    for _ in range(4):
        layers += [nn.Linear(16, 16), nn.GELU(), nn.LayerNorm(16)]
    return nn.Sequential(*layers, nn.Linear(16, 5)), torch.randn(6, 16)


def _cnn() -> tuple[nn.Module, torch.Tensor]:
    blocks: list[nn.Module] = []
    for inner in (3, 8, 8):
        blocks.append(nn.Sequential(nn.Conv2d(inner, 8, 3), nn.BatchNorm2d(8), nn.ReLU()))
    model = nn.Sequential(*blocks, nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(32, 4))
    return model, torch.randn(4, 3, 12, 12)


class _Block(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.norm, self.query = nn.LayerNorm(size), nn.Linear(size, size)
        self.key, self.value = nn.Linear(size, size), nn.Linear(size, size)
        self.out, self.wide = nn.Linear(size, size), nn.Linear(size, 4 * size)
        self.narrow = nn.Linear(4 * size, size)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm(x)
        weights = (self.query(y) @ self.key(y).transpose(1, 2)).softmax(-1)
        x = x + self.out(weights @ self.value(y))
        narrowed: torch.Tensor = self.narrow(nn.functional.gelu(self.wide(x)))
        return x + narrowed


def _transformer() -> tuple[nn.Module, torch.Tensor]:
    model = nn.Sequential(nn.Embedding(30, 16), _Block(16), _Block(16), nn.Linear(16, 30))
    return model, torch.randint(30, (3, 7))


_MODELS: dict[str, Callable[[], tuple[nn.Module, torch.Tensor]]] = {
    "MLP": _mlp,
    "CNN": _cnn,
    "transformer": _transformer,
}


class _WrongGradient(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, value: torch.Tensor) -> torch.Tensor:
        return value.clone()

    @staticmethod
    def backward(context: Any, *gradients: Any) -> Any:
        return gradients[0] * 1.01


def _one_value(value: torch.Tensor) -> torch.Tensor:
    mask = torch.zeros(value.shape, dtype=value.dtype)
    mask.view(-1)[0] = 0.01
    return value + torch.empty_like(value).copy_(mask)


_FAULTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "scaled by 1.001": lambda value: value * 1.001,
    "shifted by 0.001": lambda value: value + 0.001,
    "one value": _one_value,
    "bfloat16 inside": lambda value: value.to(torch.bfloat16).to(value.dtype),
    "gradient only": lambda value: _WrongGradient.apply(value),  # type: ignore[no-untyped-call]
}


def trials(device: Device, count: int = TRIALS) -> Iterator[Trial]:
    """Seed the faults one after the other; the same ones in every run."""
    draw = random.Random(6)
    for at in range(count):
        model = list(_MODELS)[at % len(_MODELS)]
        fault = list(_FAULTS)[at % len(_FAULTS)]
        torch.manual_seed(at)
        layers = [
            name
            for name, module in _MODELS[model]()[0].named_modules()
            if not list(module.children()) and not isinstance(module, nn.Flatten)
        ]
        layer = draw.choice(layers)

        def made(model: str = model, layer: str = layer, fault: str = fault) -> Any:
            module, inputs = _MODELS[model]()

            def spoil(_: nn.Module, args: Any, outcome: torch.Tensor) -> torch.Tensor:
                return _FAULTS[fault](outcome) if device.holds(outcome) else outcome

            module.get_submodule(layer).register_forward_hook(spoil)
            return module, inputs

        setup = Setup(open_device("cpu"), device, train=True, substitute=False)
        [case] = compare(model, made, [Case()], setup).cases
        yield Trial(model, layer, fault, tuple(culprit.layer for culprit in case.culprits))


def figure(device: Device) -> tuple[int, int]:
    """How many of the trials found the layer, and how many there were; misses are printed."""
    done = list(trials(device))
    for trial in done:
        if not trial.found:
            print(f"  {trial.model} {trial.layer}, {trial.fault}: blamed {trial.blamed}")
    return sum(trial.found for trial in done), len(done)


def main() -> None:
    """Print the figure; exit with 1 where a fault was not localised."""
    twin.stand_in()
    device = open_device("flagos")
    found, total = figure(device)
    print(f"seeded faults localised to their layer, {device.described}: {found} of {total}")
    sys.exit(found != total)


if __name__ == "__main__":
    main()
