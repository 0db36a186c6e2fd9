"""Where a public name runs on a chip: its operators, followed to those that reach the chip.

At the device torch takes the device's own kernel, else one that is made of other operators, else
the CPU's. A manifest says which of these it is for each operator; where an operator breaks into
others, the table says into which, for this name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flmigrate.manifests.model import Manifest, Route
from flmigrate.manifests.optable import Api, OpTable

_LEVELS = ("native", "cpu", "blocked")
_BY_KIND = {"L": Route("cpu_fallback"), "X": Route("unsupported")}

_FUSED_ATTENTION = "_scaled_dot_product_efficient_attention"
_ATTENTION = "torch.nn.functional.scaled_dot_product_attention"
_SOFTMAX_OF_ATTENTION = "_safe_softmax"


@dataclass(frozen=True, slots=True)
class Leaf:
    """An operator that reaches the chip, or fails to.

    ``phase`` is ``forward`` or ``backward``; ``always`` says whether every call asks for it;
    ``path`` are the operators from what torch asked for down to this one.
    """

    op: str
    route: Route
    phase: str
    always: bool
    path: tuple[str, ...]


def leaves(api: Api, manifest: Manifest, table: OpTable) -> tuple[Leaf, ...]:
    """The leaf operators of a name on a configuration, each once per phase."""
    found: dict[tuple[str, str], Leaf] = {}
    roots = tuple(_roots(api, manifest))
    has_fused = any(root == _FUSED_ATTENTION for root, _, _ in roots)
    for root, phase, always in roots:
        for leaf in _followed(root, phase, always, api, manifest, table):
            if has_fused and _SOFTMAX_OF_ATTENTION in leaf.path:
                continue  # is part of what the fused operator does
            key = (leaf.op, leaf.phase)
            if key not in found or (leaf.always and not found[key].always):
                found[key] = leaf
    return tuple(found.values())


def _roots(api: Api, manifest: Manifest) -> Iterator[tuple[str, str, bool]]:
    """What torch asks for, with attention as this chip takes it.

    The table is traced on a device without attention kernels; a chip that has one is asked for it.
    """
    fused = manifest.route(_FUSED_ATTENTION)
    if fused is None or fused.kind != "native" or not _attends(api):
        yield from api.roots()
        return
    yield _FUSED_ATTENTION, "forward", True
    yield f"{_FUSED_ATTENTION}_backward", "backward", True
    if api.name.partition("[")[0] != _ATTENTION:
        for op, phase, always in api.roots():
            if op != _SOFTMAX_OF_ATTENTION:
                yield op, phase, always


def _attends(api: Api) -> bool:
    """Whether the name ends in attention; only that asks for its safe softmax."""
    asked = (*api.forward, *api.perhaps_forward, *api.parts)
    return _SOFTMAX_OF_ATTENTION in asked


def _followed(
    root: str, phase: str, always: bool, api: Api, manifest: Manifest, table: OpTable
) -> Iterator[Leaf]:
    todo: list[tuple[tuple[str, ...], bool]] = [((root,), always)]
    seen: set[tuple[str, bool]] = set()
    while todo:
        path, surely = todo.pop()
        op = path[-1]
        if (op, surely) in seen:
            continue
        seen.add((op, surely))
        route = manifest.route(op) or _BY_KIND.get(table.kind(op)) or Route("composite")
        if route.level != "composite":
            yield Leaf(op, route, phase, surely, path)
            continue
        parts = api.parts.get(op)
        if parts is not None:
            # In one order in every run: messages name the first few.
            todo.extend(((*path, part), surely) for part in sorted(parts.always, reverse=True))
            todo.extend(((*path, part), False) for part in sorted(parts.perhaps, reverse=True))


def worst(found: tuple[Leaf, ...], *, possible: bool = False) -> str:
    """The worst level among the leaves that are always reached, or with ``possible`` among all."""
    levels = [leaf.route.level for leaf in found if leaf.always or possible]
    return max(levels, key=_LEVELS.index, default="native")
