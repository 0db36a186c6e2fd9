"""Every operator of a run, checked at once against the CPU with the same inputs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from flmigrate.runtime.devices import Device
from flmigrate.runtime.scoring import Limits, Score, score

_UNSURE = frozenset({"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided"})
"""Operators whose results are not defined."""


@dataclass(slots=True)
class Seen:
    """One operator: how often it ran, its worst score, and whether any call was off."""

    calls: int = 0
    worst: Score = field(default_factory=lambda: Score("ok", 0.0, 0.0))


class Shadow(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes, while it is entered, each operator of the device and how far it is off.

    ``first`` is the first operator that is off.
    """

    def __init__(self, device: Device, limits: Limits) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.seen: dict[str, Seen] = {}
        self.first: str = ""
        self._device = device
        self._limits = limits

    def __torch_dispatch__(
        self,
        func: Any,
        types: object,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        before = self._copied((args, kwargs))  # an operator may write into its arguments
        outcome = func(*args, **kwargs)
        tensors = [v for v in tree_leaves(outcome) if isinstance(v, torch.Tensor)]
        if any(self._device.holds(tensor) for tensor in tensors):
            self._judge(func, before, tensors)
        return outcome

    def _judge(self, func: Any, before: Any, got: list[torch.Tensor]) -> None:
        name: str = func.name().removeprefix("aten::")
        seen = self.seen.setdefault(name, Seen())
        seen.calls += 1
        tags = getattr(func, "tags", ())
        if name.partition(".")[0] in _UNSURE or torch.Tag.nondeterministic_seeded in tags:
            return
        try:
            same = _tensors(func, before)
            truth = _tensors(func, tree_map(_doubled, before))
        except Exception:
            return  # no kernel for the CPU, or none for float64: nothing to compare with
        if len(same) != len(got) or len(truth) != len(got):
            return
        for mine, cpu, exact in zip(got, same, truth, strict=True):
            found = score(mine.detach().to("cpu"), cpu, exact, self._limits)
            if (found.status == "off", found.score) > (
                seen.worst.status == "off",
                seen.worst.score,
            ):
                seen.worst = found
            if found.status == "off" and not self.first:
                self.first = name

    def _copied(self, value: Any) -> Any:
        def copied(v: Any) -> Any:
            if isinstance(v, torch.Tensor):
                return v.detach().to("cpu", copy=True)
            if isinstance(v, torch.device) and v.type == torch.device(self._device.name).type:
                return torch.device("cpu")
            return v

        return tree_map(copied, value)


def _tensors(func: Any, arguments: Any) -> list[torch.Tensor]:
    args, kwargs = tree_map(lambda v: v.clone() if isinstance(v, torch.Tensor) else v, arguments)
    return [v for v in tree_leaves(func(*args, **kwargs)) if isinstance(v, torch.Tensor)]


def _doubled(value: Any) -> Any:
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        return value.to(torch.float64)
    if isinstance(value, torch.dtype) and value.is_floating_point:
        return torch.float64
    return value
