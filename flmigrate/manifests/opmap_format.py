"""How the API -> leaf op table is written down.

One JSON object: ``ops`` lists operator names, ``kinds`` has one letter for each (see
``OpTable.kind``), ``parts`` lists an operator, how many of its parts it always breaks into, those,
and the parts that only some arguments lead to. ``apis`` maps each public name to a row of
operator numbers: always and sometimes asked for in the forward pass, always and sometimes in the
backward pass, and which entries of ``parts`` hold for it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from flmigrate.manifests.files import wrapped

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Traced:
    """What one call of a public name asked the device for, by phase; ``parts`` per operator."""

    api: str
    forward: frozenset[str]
    backward: frozenset[str]
    parts: Mapping[str, frozenset[str]]

    def all_ops(self) -> set[str]:
        """Every operator that the trace names."""
        found = set(self.forward | self.backward | self.parts.keys())
        return found.union(*self.parts.values())


@dataclass(slots=True)
class Merged:
    """All traces of one name: operators seen in any, those seen always, and parts seen in any."""

    forward: frozenset[str] = frozenset()
    backward: frozenset[str] = frozenset()
    always_forward: frozenset[str] = frozenset()
    always_backward: frozenset[str] = frozenset()
    parts: dict[str, Parts] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Parts:
    """What an operator breaks into: whenever it does, and with some arguments only."""

    always: frozenset[str]
    perhaps: frozenset[str] = frozenset()

    @property
    def all(self) -> frozenset[str]:
        """Both."""
        return self.always | self.perhaps


_ALWAYS = 0.75
"""The share of a name's samples from which on an operator counts as always asked for: among torch's
samples are odd ones (no element, no dimension) in which most work is left out."""


def merge(traces: Iterable[Traced]) -> dict[str, Merged]:
    """The traces by public name."""
    by_name: dict[str, list[Traced]] = {}
    for trace in traces:
        by_name.setdefault(trace.api, []).append(trace)
    return {name: _merged(group) for name, group in by_name.items()}


def _merged(traces: list[Traced]) -> Merged:
    forward = Counter(op for trace in traces for op in trace.forward)
    backward = Counter(op for trace in traces for op in trace.backward)
    with_backward = sum(bool(trace.backward) for trace in traces)
    broken: dict[str, list[frozenset[str]]] = {}
    for trace in traces:
        for op, into in trace.parts.items():
            broken.setdefault(op, []).append(into)
    parts = {}
    for op, times in broken.items():
        counts = Counter(part for into in times for part in into)
        always = frozenset(part for part, n in counts.items() if n >= _ALWAYS * len(times))
        parts[op] = Parts(always, frozenset(counts) - always)
    return Merged(
        frozenset(forward),
        frozenset(backward),
        frozenset(op for op, n in forward.items() if n >= _ALWAYS * len(traces)),
        frozenset(op for op, n in backward.items() if n >= _ALWAYS * with_backward),
        parts,
    )


def write_table(
    traces: Iterable[Traced],
    kinds: Mapping[str, str],
    *,
    torch: str,
    source: str,
    by_hand: Iterable[str] = (),
) -> str:
    """The table as JSON text, one API a line so that its differences can be read."""
    return write_merged(merge(traces), kinds, torch=torch, source=source, by_hand=by_hand)


def write_merged(
    merged: Mapping[str, Merged],
    kinds: Mapping[str, str],
    *,
    torch: str,
    source: str,
    by_hand: Iterable[str] = (),
) -> str:
    """As ``write_table``, from traces that are merged already."""
    names = sorted(kinds)
    number = {name: at for at, name in enumerate(names)}
    pairs: dict[tuple[str, Parts], int] = {}
    rows: dict[str, list[list[int]]] = {}
    for api in sorted(merged):
        entry = merged[api]
        reached = _reachable(entry)
        used = []
        for op in sorted(reached & entry.parts.keys()):
            pair = (op, entry.parts[op])
            used.append(pairs.setdefault(pair, len(pairs)))
        always, after = entry.always_forward, entry.always_backward
        groups = (always, entry.forward - always, after, entry.backward - after)
        rows[api] = [*(sorted(number[op] for op in group) for group in groups), sorted(used)]
    lines = [
        "{",
        f'"schema": {SCHEMA},',
        f'"torch": {json.dumps(torch)},',
        f'"source": {json.dumps(source)},',
        f'"by_hand": {json.dumps(" ".join(sorted(set(by_hand) & rows.keys())))},',
        f'"kinds": "{"".join(kinds[name] for name in names)}",',
        '"ops": [',
        ",\n".join(json.dumps(chunk) for chunk in wrapped(names)),
        "],",
        '"parts": [',
        ",\n".join(_compact(_numbered(op, parts, number)) for op, parts in pairs),
        "],",
        '"apis": {',
        ",\n".join(f"{json.dumps(api)}: {_compact(row)}" for api, row in rows.items()),
        "}}",
    ]
    return "\n".join(lines) + "\n"


def _numbered(op: str, parts: Parts, number: Mapping[str, int]) -> list[int]:
    always = sorted(number[part] for part in parts.always)
    return [number[op], len(always), *always, *sorted(number[part] for part in parts.perhaps)]


def _reachable(entry: Merged) -> set[str]:
    seen = set(entry.forward | entry.backward)
    todo = list(seen)
    while todo:
        parts = entry.parts.get(todo.pop())
        new = parts.all - seen if parts is not None else frozenset()
        seen |= new
        todo.extend(new)
    return seen


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))
