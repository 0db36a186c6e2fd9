"""Which strings of a file are devices: by the places they flow to, never by their text.

A string literal is a device when it reaches a place that takes one (``device=``, ``.to(...)``,
``torch.device(...)``), is compared with a value that is one, or is stored where one is kept.
The search starts at the literal and follows assignments, parameters, returns, attributes and
containers both ways; most files hold few vendor literals, so this costs less than typing the
whole file. Process-group backends (``"nccl"``) are followed in the same way.

``destinations.py`` knows where a value goes (``containers.py`` for members and keys),
``values.py`` what a value is; they ask each other, and this module holds what one search
shares.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TypeVar

from flmigrate.analysis.containers import Containers
from flmigrate.analysis.destinations import Destinations
from flmigrate.analysis.kinds import Asker, Kind, Verdict
from flmigrate.analysis.names import LOCAL
from flmigrate.analysis.slots import Slot, Slots
from flmigrate.analysis.values import Values

_Q = TypeVar("_Q")
_A = TypeVar("_A")
_LIMIT = 40  # slots visited for one question; real flows need fewer than ten


class Flow:
    """Follows the values of one kind through one file."""

    def __init__(
        self,
        slots: Slots,
        kind: Kind,
        canonical: Callable[[str], str],
        ask: Asker,
        module_name: str = "",
    ) -> None:
        """``canonical`` gives vendor API its ``torch.cuda`` name; ``ask`` looks in other files."""
        self.names = slots.names
        self.slots = slots
        self.kind = kind
        self.canonical = canonical
        self.module_name = module_name
        # What other files might still tell about literals that stayed unknown.
        self.pending: set[tuple[str, str, str]] = set()
        self._unanswered: set[tuple[str, str, str]] = set()
        self.visited: set[Slot] = set()
        self._ask = ask
        self._limit = _LIMIT
        self._known: set[Slot] = set()
        self._searching = False
        self.containers = Containers(self)
        self.destinations = Destinations(self)
        self.values = Values(self)

    # --- questions -------------------------------------------------------------------------

    def verdict(self, literal: ast.expr) -> Verdict:
        """What the string expression ``literal`` is, judged by where it goes."""
        return self._begin(self._verdict, literal)

    def _verdict(self, literal: ast.expr) -> Verdict:
        found = self.destinations.goes(literal)
        if found is Verdict.UNKNOWN:
            self.pending |= self._unanswered
        return found

    def is_one(self, value: ast.expr) -> bool:
        """Whether an expression's value is of this kind."""
        return self._begin(self.values.is_one, value)

    def is_plainly_one(self, value: ast.expr) -> bool:
        """Whether an expression shows by itself that its value is of this kind: no search."""
        return self._plainly(self.values.is_one, value)

    def plainly_goes(self, value: ast.expr) -> bool:
        """Whether the place of an expression shows by itself that it is of this kind."""
        return self._plainly(self.destinations.goes, value) is Verdict.YES

    def _plainly(self, question: Callable[[_Q], _A], about: _Q) -> _A:
        self._limit = 0
        try:
            return self._begin(question, about)
        finally:
            self._limit = _LIMIT

    def keeps_one(self, slot: Slot) -> bool:
        """Whether a slot of this file keeps (or a function returns) values of this kind."""
        return self._begin(self.values.is_kept, slot)

    def hinted(self, name: str) -> bool:
        """Whether a name is one that code gives to values of this kind."""
        return self.kind.hint.fullmatch(name) is not None

    def _begin(self, question: Callable[[_Q], _A], about: _Q) -> _A:
        """Ask with fresh marks; a question that comes back by way of other files keeps them."""
        if self._searching:
            return question(about)
        self._searching = True
        self.visited.clear()
        self._unanswered.clear()
        try:
            return question(about)
        finally:
            self._searching = False

    # --- what one search shares ------------------------------------------------------------

    def search(self, slot: Slot, look: Callable[[], bool]) -> bool:
        """Answer for a slot once per search; a slot that was found to be one stays so."""
        if slot in self._known:
            return True
        if slot in self.visited or len(self.visited) >= self._limit:
            return False
        self.visited.add(slot)
        if look():
            self._known.add(slot)
            return True
        return False

    def asked(self, path: str, parameter: str) -> bool:
        """What another file of the project says about a dotted name."""
        if not self._limit or not path or path.startswith((LOCAL, "torch.", "builtins.", ".")):
            return False
        key = (self.kind.name, path, parameter)
        if self._ask(*key):
            return True
        self._unanswered.add(key)
        return False
