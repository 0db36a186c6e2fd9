"""The API -> leaf op table: which operators a public name of torch ends in.

``opmap_format.py`` says how it is written down, ``flmigrate/runtime/opmap.py`` how it is made.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from flmigrate.manifests.files import DATA
from flmigrate.manifests.model import ManifestError
from flmigrate.manifests.opmap_format import SCHEMA, Parts
from flmigrate.stored import read_json

_HOMES = ("torch.", "torch.Tensor.", "torch.nn.functional.", "torch.special.", "torch.linalg.")


@dataclass(frozen=True, slots=True)
class Api:
    """What one public name asks a device for.

    ``forward`` and ``backward`` are the operators that torch asks for in every sample of it,
    ``perhaps_forward`` and ``perhaps_backward`` those that it asks for with some arguments only.
    ``parts`` says what an operator breaks into where the device has no kernel for it.
    ``origin`` is ``traced`` (torch's own samples), ``by hand`` (a sample kept by hand) or
    ``derived`` (from another spelling, or an operator of the same name).
    """

    name: str
    forward: tuple[str, ...]
    perhaps_forward: tuple[str, ...] = ()
    backward: tuple[str, ...] = ()
    perhaps_backward: tuple[str, ...] = ()
    parts: dict[str, Parts] = field(default_factory=dict)
    origin: str = "traced"

    def roots(self) -> Iterator[tuple[str, str, bool]]:
        """(operator, ``forward`` or ``backward``, whether it is asked for always)."""
        for ops, phase, always in (
            (self.forward, "forward", True),
            (self.perhaps_forward, "forward", False),
            (self.backward, "backward", True),
            (self.perhaps_backward, "backward", False),
        ):
            for op in ops:
                yield op, phase, always


class OpTable:
    """The table of one torch version; rows are put together when they are asked for."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.torch: str = data["torch"]
        self.source: str = data["source"]
        self.ops: tuple[str, ...] = tuple(" ".join(data["ops"]).split())
        self.kinds: dict[str, str] = dict(zip(self.ops, data["kinds"], strict=True))
        self._by_hand = frozenset(data["by_hand"].split())
        self._parts: list[list[int]] = data["parts"]
        self._rows: dict[str, list[list[int]]] = data["apis"]
        self._apis: dict[str, Api | None] = {}
        self._overloads: dict[str, list[str]] | None = None

    @property
    def names(self) -> frozenset[str]:
        """The public names that were traced."""
        return frozenset(self._rows)

    def kind(self, op: str) -> str:
        """How torch serves an operator that a device does not register.

        ``E``, ``N`` and ``I``: by a kernel made of other operators; ``L``: by the CPU's;
        ``X``: by nothing; empty for an operator that no sample reached.
        """
        return self.kinds.get(op, "")

    def api(self, name: str) -> Api | None:
        """What a public name asks for, or ``None`` for one that no operator is known of.

        A name may carry a variant in brackets, ``torch.Tensor.__getitem__[mask]``; without an
        entry of its own it stands for the name alone.
        """
        try:
            return self._apis[name]
        except KeyError:
            found = self._apis[name] = self._find(name)
            return found

    def _find(self, name: str) -> Api | None:
        row = self._rows.get(name)
        if row is not None:
            return self._made(name, row, "by hand" if name in self._by_hand else "traced")
        plain, bracket, variant = name.partition("[")
        if bracket:
            others = (f"{other}[{variant}" for other in _spellings(plain))
            known = next((other for other in others if other in self._rows), plain)
            return self.api(known)
        for other in _spellings(name):
            row = self._rows.get(other)
            if row is not None:
                return self._made(name, row, "derived")
        return self._same_named(name)

    def _made(self, name: str, row: list[list[int]], origin: str) -> Api:
        ops = self.ops
        forward, perhaps, backward, perhaps_after = (
            tuple(ops[number] for number in numbers) for numbers in row[:4]
        )
        parts = {}
        for pair in row[4]:
            first, always, *rest = self._parts[pair]
            names = [ops[number] for number in rest]
            parts[ops[first]] = Parts(frozenset(names[:always]), frozenset(names[always:]))
        return Api(name, forward, perhaps, backward, perhaps_after, parts, origin)

    def _same_named(self, name: str) -> Api | None:
        """An operator of the same name, in whatever overload."""
        if self._overloads is None:
            self._overloads = {}
            for op in self.ops:
                self._overloads.setdefault(op.partition(".")[0], []).append(op)
        if not name.startswith(_HOMES):
            return None
        last = name.rpartition(".")[2]
        prefixed = {"torch.linalg.": "linalg_", "torch.special.": "special_", "torch.fft.": "fft_"}
        prefix = next((p for home, p in prefixed.items() if name.startswith(home)), "")
        found = self._overloads.get(prefix + last) or self._overloads.get(last)
        if not found:
            return None
        plain = [op for op in found if not op.endswith("out")] or found
        always = tuple(plain) if len(plain) == 1 else ()
        return Api(name, always, () if always else tuple(plain), origin="derived")


def _spellings(name: str) -> Iterator[str]:
    """Other public names for the same thing: function and method, in place and not."""
    home = next((h for h in sorted(_HOMES, key=len, reverse=True) if name.startswith(h)), None)
    if home is None:
        return
    last = name[len(home) :]
    if "." in last:
        return
    for other in _HOMES:
        yield other + last
    if last.endswith("_") and not last.endswith("__"):
        yield f"torch.Tensor.{last}"
        for other in _HOMES:
            yield other + last[:-1]
    if last.startswith("__i") and last.endswith("__"):
        yield f"torch.Tensor.__{last[3:]}"


@cache
def load_table(torch: str = "2.10") -> OpTable:
    """The table for a torch version: that of its minor version, else the nearest newer one."""
    minor = ".".join(torch.split(".")[:2])
    path = DATA / f"opmap-{minor}.json"
    if not path.is_file():
        versions = sorted(
            (tuple(map(int, p.stem.partition("-")[2].split("."))), p)
            for p in DATA.glob("opmap-*.json")
        )
        wanted = tuple(int(part) for part in minor.split(".") if part.isdecimal())
        newer = [p for version, p in versions if version >= wanted]
        path = newer[0] if newer else versions[-1][1]
    return read_table(path)


def read_table(path: Path) -> OpTable:
    """Read a table. Raises ``ManifestError`` for a file that is none."""
    data = read_json(path, ManifestError)
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise ManifestError(f"{path}: no operator table that this version reads")
    return OpTable(data)
