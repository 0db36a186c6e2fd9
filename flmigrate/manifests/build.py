"""``python -m flmigrate.manifests.build FOLDER``: build the shipped manifests from tables of facts.

The folder holds ``routes.csv`` (a row per overload, a column per chip configuration, the route in
each cell) and ``platforms.json`` (how each configuration was built, and from which sources). Each
manifest that is written is read back and compared with its column.
"""

from __future__ import annotations

import csv
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from flmigrate.manifests.files import DATA, manifest_text, read_manifest
from flmigrate.manifests.model import ManifestError

_NAMES = {
    "metax_boxing": "metax",
    "metax_boxing+flaggems": "metax+flaggems",
    "metax_boxing+flaggems_cpp": "metax+flaggems_cpp",
}
"""Columns whose manifest has a shorter name: what a chip runs by default is called by its name."""

_TITLES = {
    "cuda": "NVIDIA GPUs",
    "ppu": "T-Head PPU",
    "dcu": "Hygon DCU",
    "metax": "MetaX C series",
    "ascend": "Huawei Ascend NPU",
    "gcu": "Enflame GCU",
    "musa": "Moore Threads MUSA",
    "bpu": "Horizon BPU",
    "tsingmicro": "TsingMicro TX8",
}

_WORDS = {"flaggems_py": "flaggems", "flaggems_cpp": "flaggems_cpp"}
_UNCLAIMED = ("composite", "cpu_fallback", "unsupported")


def main(arguments: list[str] | None = None) -> None:
    """Build everything; exits with 2 and a message for facts that cannot be used."""
    given = sys.argv[1:] if arguments is None else arguments
    if len(given) != 1:
        sys.exit("usage: python -m flmigrate.manifests.build FOLDER")
    try:
        names = build(Path(given[0]), DATA)
    except (ManifestError, OSError) as error:
        print(f"flmigrate: {error}", file=sys.stderr)
        sys.exit(2)
    print(f"{len(names)} manifests: {', '.join(names)}")


def build(facts: Path, output: Path) -> list[str]:
    """Write the layers and one manifest per column; returns the manifests' names.

    Raises ``ManifestError`` where what was written does not read back as the column says.
    """
    platforms = json.loads((facts / "platforms.json").read_text(encoding="utf-8"))
    with (facts / "routes.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    meta = platforms["meta"]
    commit = meta["source"].partition(" @ ")[2][:7]
    torch = meta["torch"].split()[0]
    short = ".".join(torch.split(".")[:2])
    columns = {name: {row["op_overload"]: row[name] for row in rows} for name in rows[0]}
    del columns["op_overload"]

    bare, own = _unclaimed(columns)
    base, layer = f"torch-{short}", f"torch_fl-{commit}"
    source = f"torch {torch}'s dispatch tables: a device that registers nothing"
    (output / f"{base}.json").write_text(
        manifest_text({"torch": torch, "source": source}, _by_route(bare)), encoding="utf-8"
    )
    claims = {op for op, route in columns["cuda"].items() if route == "boxed"}
    source = f"Torch-FL {commit}: kernels that every build has, and what most builds claim"
    facts_of_layer = {"extends": base, "torch": torch, "since": commit, "source": source}
    (output / f"{layer}.json").write_text(
        manifest_text(facts_of_layer, _by_route(own), claims=claims), encoding="utf-8"
    )
    names = []
    for column, routes in columns.items():
        name = _NAMES.get(column, column)
        text = _manifest(name, routes, {**bare, **own}, claims, platforms["platforms"][column])
        path = output / f"{name}.json"
        head = {"torch": torch, "since": commit, "until": "", "extends": layer}
        path.write_text(text(head), encoding="utf-8")
        _compare(path, routes)
        names.append(name)
    return names


def _unclaimed(columns: dict[str, dict[str, str]]) -> tuple[dict[str, str], dict[str, str]]:
    """Routes on a device that registers nothing, and those of kernels that every build has."""
    bare: dict[str, str] = {}
    own: dict[str, str] = {}
    for op in columns["bpu"]:
        everywhere = {routes[op] for routes in columns.values()}
        if everywhere <= {"runtime", "cpu_roundtrip"}:
            own[op] = everywhere.pop()
            continue
        route = columns["bpu"][op]
        if route == "cpu_roundtrip":  # one of this build's own kernels
            route = columns["gcu"][op]
        bare[op] = f"out@{route.partition('@')[2]}" if "@" in route else route
    return bare, own


def _by_route(routes: dict[str, str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for op, route in routes.items():
        kind, _, via = route.partition("@")
        found.setdefault(kind, []).append(f"{op}>{via}" if via else op)
    return found


def _manifest(
    name: str, routes: dict[str, str], below: dict[str, str], claims: set[str], platform: Any
) -> Any:
    """The text of a manifest, once the facts that all have are given."""
    chip = name.partition("+")[0].partition("_")[0]
    common = Counter(routes[op] for op in claims)
    # What builds do with an operator that they claim and have no kernel for.
    claimed = max(("raises", "boxed"), key=lambda route: common[route])
    claimed = claimed if common[claimed] else ""
    expected = {**below, **(dict.fromkeys(claims, claimed) if claimed else {})}
    special = {
        op: _WORDS.get(route, route)
        for op, route in routes.items()
        if "@" not in route and route != expected.get(op) and not _same_below(op, route, expected)
    }
    facts = {
        "name": name,
        "chip": chip,
        "title": _title(name, chip),
        "build": platform["build"],
        "source": f"{platform['conf']} and the operators that the build registers",
    }
    if claimed:
        facts["claimed"] = claimed
    return lambda head: manifest_text({**facts, **head}, _by_route(special))


def _same_below(op: str, route: str, expected: dict[str, str]) -> bool:
    """Whether the layers below give the route already, by way of another overload."""
    return route == "composite" and expected.get(op, "").startswith("out@")


def _title(name: str, chip: str) -> str:
    variant = name[len(chip) :].strip("+_").replace("_", " ")
    return f"{_TITLES[chip]}, {variant}" if variant else _TITLES[chip]


def _compare(path: Path, routes: dict[str, str]) -> None:
    manifest = read_manifest(path)
    for op, route in routes.items():
        kind, _, via = route.partition("@")
        wanted = f"{_WORDS.get(kind, kind)}@{via}" if via else _WORDS.get(kind, kind)
        if manifest.routes.get(op) != wanted:
            found = manifest.routes.get(op)
            raise ManifestError(f"{path}: {op} reads back as {found}, the facts say {wanted}")
    surplus = manifest.routes.keys() - routes.keys()
    if surplus:
        raise ManifestError(f"{path}: operators that the facts do not have: {sorted(surplus)[:5]}")


if __name__ == "__main__":
    main()
