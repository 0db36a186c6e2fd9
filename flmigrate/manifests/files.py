"""Manifests as files: JSON, in layers, small enough to be read in a few milliseconds.

A file has its facts (``schema``, ``name``, ``torch``, ``source``, ...) and ``routes``: a route's
name -> operators, as lines of names. ``extends`` names a layer whose routes it overrides; a layer
of Torch-FL also lists ``claims``, the operators that its builds register whether or not there is
a kernel, and ``claimed`` gives all of those one route. The route ``out`` lists ``op>overload``
pairs: torch hands ``op`` on to ``overload``, whose own route counts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from flmigrate.manifests.model import ROUTES, Manifest, ManifestError
from flmigrate.stored import read_json

SCHEMA = 1
DATA = Path(__file__).parent / "data"

_TEXTS = ("name", "chip", "title", "torch", "since", "until", "source", "build")
_TEXTS_OF_LAYERS = ("extends", "claimed")
_KEYS = frozenset({"schema", "routes", "claims", *_TEXTS, *_TEXTS_OF_LAYERS})


def read_manifest(path: Path) -> Manifest:
    """A manifest with everything that it builds on.

    Raises ``ManifestError``, with the path and what is wrong where, for a file that is missing
    or does not follow the format.
    """
    layers = _layers(path)
    facts = layers[0]
    if "chip" not in facts:
        raise ManifestError(f"{path}: a layer, not a manifest: it has no chip")
    name, chip, title, torch, since, until, source, build = (facts.get(k, "") for k in _TEXTS)
    routes = _merged(layers, path)
    return Manifest(name, chip, title, torch, since, until, source, build, routes)


def _layers(path: Path) -> list[dict[str, Any]]:
    """The file and what it extends, itself first."""
    found: list[dict[str, Any]] = []
    seen: set[Path] = set()
    while True:
        if path in seen:
            raise ManifestError(f"{path}: extends itself")
        seen.add(path)
        data = _read(path)
        found.append(data)
        base = data.get("extends")
        if not base:
            return found
        beside = path.with_name(f"{base}.json")
        path = beside if beside.is_file() else DATA / f"{base}.json"


def _read(path: Path) -> dict[str, Any]:
    data = read_json(path, ManifestError)
    if not isinstance(data, dict):
        raise ManifestError(f"{path}:1: must be an object")
    if data.get("schema") != SCHEMA:
        raise ManifestError(
            f"{path}: schema is {data.get('schema')!r}; this version reads {SCHEMA}"
        )
    for key, value in data.items():
        if key not in _KEYS:
            raise ManifestError(f'{path}: unknown key "{key}"')
        if key in _TEXTS + _TEXTS_OF_LAYERS and not isinstance(value, str):
            raise ManifestError(f'{path}: "{key}" must be a string')
    if not isinstance(data.get("routes", {}), dict):
        raise ManifestError(f'{path}: "routes" must be an object')
    return data


def _merged(layers: list[dict[str, Any]], path: Path) -> dict[str, str]:
    routes: dict[str, str] = {}
    claims: list[str] = []
    for layer in reversed(layers):
        claims += _names(layer.get("claims", ()), path, "claims")
        claimed = layer.get("claimed")
        if claimed:
            if claimed not in ROUTES:
                raise ManifestError(f'{path}: claimed: unknown route "{claimed}"')
            routes.update(dict.fromkeys(claims, claimed))
        for route, lines in layer.get("routes", {}).items():
            names = _names(lines, path, route)
            if route == "out":
                routes.update((op, f"out@{to}") for op, _, to in (n.partition(">") for n in names))
            elif route in ROUTES:
                routes.update(dict.fromkeys(names, route))
            else:
                raise ManifestError(f'{path}: unknown route "{route}"')
    for op, route in routes.items():
        if route.startswith("out@"):
            to = route[4:]
            kind = routes.get(to, "composite")
            routes[op] = f"{kind.partition('@')[0]}@{to}"
    return routes


def _names(lines: object, path: Path, key: str) -> list[str]:
    if not isinstance(lines, list | tuple) or not all(isinstance(line, str) for line in lines):
        raise ManifestError(f'{path}: "{key}" must be a list of lines of operator names')
    return " ".join(lines).split()


def manifest_text(
    facts: Mapping[str, str], routes: Mapping[str, Iterable[str]], **more: Any
) -> str:
    """The text of a file: facts in the given order, then operators in wrapped lines.

    ``more`` may hold ``claims``, an iterable of operators.
    """
    data: dict[str, Any] = {"schema": SCHEMA, **facts}
    for key, names in more.items():
        data[key] = wrapped(names)
    data["routes"] = {route: wrapped(names) for route, names in sorted(routes.items()) if names}
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def wrapped(names: Iterable[str], width: int = 96) -> list[str]:
    """The names in sorted order as lines of text, separated by blanks."""
    lines: list[str] = []
    for name in sorted(names):
        if lines and len(lines[-1]) + 1 + len(name) <= width:
            lines[-1] += f" {name}"
        else:
            lines.append(name)
    return lines
