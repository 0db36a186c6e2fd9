"""From a Python name to the operators that reach a chip, and the route of each."""

from __future__ import annotations

from collections.abc import Iterator

from flmigrate.manifests.model import Manifest, ManifestError
from flmigrate.manifests.optable import Api, OpTable
from flmigrate.manifests.verdicts import leaves, worst

_SHORT = {"F.": "torch.nn.functional.", "nn.": "torch.nn.", "x.": "torch.Tensor."}


def explain(name: str, manifests: tuple[Manifest, ...], table: OpTable) -> Iterator[str]:
    """Lines that say what a name asks for, and where that runs on each configuration.

    ``name`` is public (``torch.nn.LSTM``, ``F.linear``, ``x.nonzero``) or an operator
    (``aten::mm``). Raises ``ManifestError`` for one that nothing is known of.
    """
    for short, whole in _SHORT.items():
        if name.startswith(short):
            name = whole + name[len(short) :]
    if "::" in name:
        yield from _operator(name.removeprefix("aten::"), manifests)
        return
    candidates = [name] if name.startswith("torch.") else [f"torch.{name}", f"torch.Tensor.{name}"]
    api = next((found for found in map(table.api, candidates) if found is not None), None)
    if api is None:
        raise ManifestError(f'nothing is known of "{name}"; try its full name, torch.nn.Linear')
    yield f"{api.name} ({api.origin}, torch {table.torch})"
    for phase, always, perhaps in (
        ("forward", api.forward, api.perhaps_forward),
        ("backward", api.backward, api.perhaps_backward),
    ):
        if always or perhaps:
            yield f"  {phase}"
        for op in always:
            yield from _tree(op, api, manifests, 2, "", frozenset())
        for op in perhaps:
            yield from _tree(op, api, manifests, 2, " (some arguments)", frozenset())
    yield "  verdict"
    for manifest in manifests:
        found = leaves(api, manifest, table)
        level, perhaps_level = worst(found), worst(found, possible=True)
        words = {"native": "runs natively", "cpu": "partly on the CPU", "blocked": "raises"}
        tail = "" if level == perhaps_level else f"; with some arguments {words[perhaps_level]}"
        yield f"    {manifest.name}: {words[level]}{tail}"


def _tree(
    op: str,
    api: Api,
    manifests: tuple[Manifest, ...],
    depth: int,
    mark: str,
    above: frozenset[str],
) -> Iterator[str]:
    yield f"{'  ' * depth}aten::{op}{mark}  {_routes(op, manifests)}"
    composite = any(
        (route := manifest.route(op)) is None or route.level == "composite"
        for manifest in manifests
    )
    parts = api.parts.get(op)
    if parts is None or not composite or op in above:
        return
    for part in sorted(parts.always):
        yield from _tree(part, api, manifests, depth + 1, "", above | {op})
    for part in sorted(parts.perhaps):
        yield from _tree(part, api, manifests, depth + 1, " (some arguments)", above | {op})


def _operator(op: str, manifests: tuple[Manifest, ...]) -> Iterator[str]:
    known = {o for m in manifests for o in m.routes if o == op or o.partition(".")[0] == op}
    if not known:
        raise ManifestError(f'no operator "aten::{op}"')
    for overload in sorted(known):
        yield f"aten::{overload}  {_routes(overload, manifests)}"


def _routes(op: str, manifests: tuple[Manifest, ...]) -> str:
    """``native: cuda, ascend; cpu_fallback: gcu``."""
    found: dict[str, list[str]] = {}
    for manifest in manifests:
        route = manifest.route(op)
        found.setdefault(route.kind if route is not None else "unknown", []).append(manifest.name)
    if len(found) == 1 and len(manifests) > 1:
        return next(iter(found))
    return "; ".join(f"{kind}: {', '.join(names)}" for kind, names in found.items())
