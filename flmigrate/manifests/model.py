"""What is known of a chip: the route of each operator, and hazards beyond the route."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

NATIVE = frozenset({"native", "boxed", "flaggems", "flaggems_cpp", "runtime"})
"""Routes that run on the chip."""

ON_CPU = frozenset({"cpu_fallback", "cpu_roundtrip"})
"""Routes that copy to the CPU, compute there, and copy back: right, silent and slow."""

BLOCKED = frozenset({"raises", "unsupported"})
"""Routes that end in an exception."""

ROUTES = NATIVE | ON_CPU | BLOCKED | {"composite"}
"""All routes; a composite operator breaks into others, whose routes count."""


@dataclass(frozen=True, slots=True)
class Route:
    """What a chip does with an operator.

    ``via`` is the overload that torch goes on to, where the operator's own kernel is one that
    only hands on (``add.Tensor`` to ``add.out``); ``kind`` is then that overload's route.
    """

    kind: str
    via: str = ""

    @property
    def level(self) -> str:
        """``native``, ``cpu``, ``blocked`` or ``composite``."""
        if self.kind in NATIVE:
            return "native"
        if self.kind in ON_CPU:
            return "cpu"
        return "blocked" if self.kind in BLOCKED else "composite"


@dataclass(frozen=True, slots=True)
class Measured:
    """A user's own result for one operator on their cards.

    ``status`` is ``ok``, ``wrong``, ``slow`` or ``raises``; ``date`` is ISO 8601.
    """

    op: str
    status: str
    date: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Manifest:
    """The routes of all operators on one configuration of a chip.

    ``name`` is the configuration (``ascend+flaggems``), ``chip`` the hardware. ``torch`` is the
    version whose operators are listed; ``since`` and ``until`` are the Torch-FL versions or
    commits that the facts hold for (``until`` is empty while nothing newer is known).
    ``routes`` maps overloads without ``aten::`` to ``kind`` or ``kind@via``.
    """

    name: str
    chip: str
    title: str
    torch: str
    since: str
    until: str
    source: str
    build: str
    routes: Mapping[str, str]
    measured: Mapping[str, Measured] = field(default_factory=dict)

    def route(self, op: str) -> Route | None:
        """The route of an overload, or ``None`` for one that the manifest does not know."""
        text = self.routes.get(op)
        if text is None:
            return None
        kind, _, via = text.partition("@")
        return Route(kind, via)

    def counts(self) -> dict[str, int]:
        """How many overloads take each route."""
        found: dict[str, int] = {}
        for text in self.routes.values():
            kind = text.partition("@")[0]
            found[kind] = found.get(kind, 0) + 1
        return found


class ManifestError(ValueError):
    """A manifest, overlay or configuration file that cannot be used; names file and place."""
