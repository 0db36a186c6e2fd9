"""Calls of ``torch.cuda`` in the user's own code, seen while it runs."""

from __future__ import annotations

import functools
import inspect
import sys
from collections import Counter
from typing import Any

from flmigrate.runtime.places import is_users, place_here
from flmigrate.runtime.run_report import Place, Problem


class VendorCalls:
    """Counts by name and line what the user's code calls. Torch's own calls do not count."""

    def __init__(self) -> None:
        self.seen: Counter[tuple[str, str, int]] = Counter()

    def watch(self, torch: Any) -> None:
        """Put a counter before every function of ``torch.cuda``."""
        for name, value in vars(torch.cuda).items():
            if inspect.isfunction(value) and not name.startswith("_"):
                setattr(torch.cuda, name, self._counted(f"torch.cuda.{name}", value))

    def _counted(self, name: str, function: Any) -> Any:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if is_users(sys._getframe(1).f_code.co_filename):
                place = place_here()
                if place is not None:
                    key = (name, *place)
                    self.seen[key] += 1
            return function(*args, **kwargs)

        return call

    def problems(self) -> list[Problem]:
        """What was called, as problems of a report."""
        return [
            Problem("vendor-code", f"{name}() was called", Place(path, line), count)
            for (name, path, line), count in sorted(self.seen.items())
        ]
