"""Parameters that moving a module to the device replaced, while something still held the old ones.

``Module.to`` keeps the parameters of a module between the CPU and CUDA, and only changes their
memory. To a device of torch's extension key it makes new ones (``Module._apply``: tensors of the
two are no "compatible shallow copy types"). An optimizer that was made before then trains what no
module has any more, and weights that layers shared come apart; neither raises.
"""

from __future__ import annotations

import functools
from collections import Counter
from typing import Any

from flmigrate.runtime.places import place_here
from flmigrate.runtime.run_report import Place, Problem

KIND = "replaced"


class ReplacedParameters:
    """Looks at every move of a module, and at every step of an optimizer."""

    def __init__(self) -> None:
        self.seen: Counter[tuple[str, tuple[str, int] | None]] = Counter()
        self._old: Any = None  # parameter -> where it was replaced; does not keep it alive
        self._inside = False

    def watch(self, torch: Any) -> None:
        """Look from now on."""
        from torch.optim.optimizer import register_optimizer_step_pre_hook
        from torch.utils.weak import WeakTensorKeyDictionary

        self._old = WeakTensorKeyDictionary()
        move = torch.nn.Module._apply

        @functools.wraps(move)
        def _apply(module: Any, *args: Any, **kwargs: Any) -> Any:
            if self._inside:  # a child of the module that is moved
                return move(module, *args, **kwargs)
            before = _parameters(module)
            self._inside = True
            try:
                return move(module, *args, **kwargs)
            finally:
                self._inside = False
                self._compare(before)

        torch.nn.Module._apply = _apply
        register_optimizer_step_pre_hook(self._stepped)

    def _compare(self, before: list[tuple[Any, str, Any, str]]) -> None:
        new: dict[int, tuple[int, str]] = {}
        for module, key, old, name in before:
            now = module._parameters.get(key)
            if now is None or now is old:
                continue
            place = place_here()
            self._old[old] = place
            known, first = new.setdefault(id(old), (id(now), name))
            if known != id(now):
                message = f"moving the module gave {first} and {name}, which were one, a copy each"
                self.seen[message, place] += 1

    def _stepped(self, optimizer: Any, *_: Any) -> None:
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if parameter in self._old:
                    moved = self._old[parameter]
                    where = f" ({moved[0]}:{moved[1]})" if moved is not None else ""
                    message = (
                        f"{type(optimizer).__name__} has parameters of a module that was moved "
                        f"after it was made{where}: the module does not learn"
                    )
                    self.seen[message, place_here()] += 1
                    return

    def problems(self) -> list[Problem]:
        """What was found, as problems of a report."""
        return [
            Problem(KIND, message, Place(*place) if place is not None else None, count)
            for (message, place), count in self.seen.items()
        ]


def _parameters(module: Any) -> list[tuple[Any, str, Any, str]]:
    """Each place of a parameter: its module and key there, the parameter, its full name."""
    return [
        (owner, key, parameter, f"{prefix}.{key}".lstrip("."))
        for prefix, owner in module.named_modules()
        for key, parameter in owner._parameters.items()
        if parameter is not None
    ]
