"""One call to trace under a public name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Call = Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Sample:
    """One call to trace under a public name; ``prepare`` makes it, and may fail."""

    api: str
    prepare: Callable[[], Call]
    backward: bool = True
    by_hand: bool = False
