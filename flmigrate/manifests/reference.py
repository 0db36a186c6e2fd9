"""``python -m flmigrate.manifests.reference FILE -o TABLE``: an operator table from other traces.

For torch versions that are not here to be traced: reads a file of traces made with one of them
(``ops``, ``kinds``, and for each name ``F``, ``B``, ``E``, ``A``: asked for in the forward and the
backward pass, parts, and what every sample asks for), and adds the names that only
``--also TABLE`` has.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from flmigrate.manifests.opmap_format import Merged, Parts, write_merged
from flmigrate.manifests.optable import Api, OpTable, read_table

_KINDS = {
    "raises": "X",
    "leaf": "L",
    "leaf_nocpu": "X",
    "Implicit": "I",
    "Explicit": "E",
    "ExplicitNonFunctional": "N",
}


def main(arguments: list[str] | None = None) -> None:
    """Parse the options and write the table."""
    parser = argparse.ArgumentParser(prog="python -m flmigrate.manifests.reference")
    parser.add_argument("traces", type=Path)
    parser.add_argument("--also", type=Path, required=True, help="a table of our own")
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args(arguments)
    data = json.loads(options.traces.read_text(encoding="utf-8"))
    options.output.write_text(converted(data, read_table(options.also)), encoding="utf-8")


def converted(data: dict[str, Any], other: OpTable) -> str:
    """The table's text; names that the traces lack, and how sure they are, are the other's."""
    ops = [op.removeprefix("aten::") for op in data["ops"]]
    kinds = {op: _kind(kind) for op, kind in zip(ops, data["kinds"], strict=True)}
    merged = {name: _merged(row, ops, other.api(name)) for name, row in data["apis"].items()}
    by_hand = set()
    for name in sorted(other.names - merged.keys()):
        api = other.api(name)
        assert api is not None
        entry = Merged(
            frozenset(api.forward + api.perhaps_forward),
            frozenset(api.backward + api.perhaps_backward),
            frozenset(api.forward),
            frozenset(api.backward),
            dict(api.parts),
        )
        named = entry.forward | entry.backward | {p for ps in entry.parts.values() for p in ps.all}
        kinds.update({op: other.kind(op) for op in named | entry.parts.keys() if op not in kinds})
        merged[name] = entry
        if api.origin == "by hand":
            by_hand.add(name)
    source = (
        f"traces of torch {data['torch']}'s own samples on a simulated device; "
        f"names that these lack from torch {other.torch}"
    )
    return write_merged(merged, kinds, torch=data["torch"], source=source, by_hand=by_hand)


def _kind(word: str) -> str:
    return _KINDS.get(word.removeprefix("Composite"), "X")


def _merged(row: dict[str, Any], ops: list[str], other: Api | None) -> Merged:
    """One name. What one odd sample does not ask for counts where the other table is sure."""
    sure = {ops[n] for n in row["A"]}
    edges = [(ops[int(op)], {ops[n] for n in into}) for op, into in row["E"].items()]
    forward, backward = {ops[n] for n in row["F"]}, {ops[n] for n in row["B"]}
    always_forward, always_backward = forward & sure, backward & sure
    if other is not None and other.origin != "derived":
        always_forward |= forward & set(other.forward)
        always_backward |= backward & set(other.backward)
    return Merged(
        frozenset(forward),
        frozenset(backward),
        frozenset(always_forward),
        frozenset(always_backward),
        {op: _parts(op, into, other) for op, into in edges},
    )


def _parts(op: str, into: set[str], other: Api | None) -> Parts:
    """What an operator breaks into; the other table says what it does so only sometimes.

    Where it takes the operator apart in another place, what it always reaches is what counts.
    """
    if other is None or other.origin == "derived":
        return Parts(frozenset(into))
    known = other.parts.get(op)
    if known is not None:
        sure = into - known.perhaps
    else:
        reached = {part for parts in other.parts.values() for part in parts.always}
        sure = into & (reached | {*other.forward, *other.backward})
    return Parts(frozenset(sure), frozenset(into - sure))


if __name__ == "__main__":
    main()
