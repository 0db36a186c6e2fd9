"""A chip as a porting engineer asks about it: classes of operators, types, features, hazards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flmigrate.manifests.classes import class_of
from flmigrate.manifests.hazards import Hazard, load_hazards
from flmigrate.manifests.model import Manifest, Measured

LEVELS = ("native", "cpu", "blocked", "composite")
_SCALER = ("_amp_foreach_non_finite_check_and_unscale_", "_amp_update_scale_")
_AUTOCAST = ("mm", "addmm", "bmm", "convolution")
"""What a step under autocast with a GradScaler cannot do without."""


@dataclass(frozen=True, slots=True)
class Profile:
    """One configuration of a chip.

    ``classes`` maps a class of operators to how many overloads run on each level; ``features``
    maps compile, distributed, profiler and AMP to what is known; ``dtypes`` maps a type to the
    hazards that are about it.
    """

    manifest: Manifest
    classes: Mapping[str, Mapping[str, int]]
    features: Mapping[str, str]
    dtypes: Mapping[str, tuple[Hazard, ...]]
    hazards: tuple[Hazard, ...]
    measured: tuple[Measured, ...]


def profile(manifest: Manifest) -> Profile:
    """Put together what manifest, hazards and measured results say."""
    classes: dict[str, dict[str, int]] = {}
    for op in manifest.routes:
        if op.endswith("out"):
            continue  # nearly each has such a variant, which would count it twice
        route = manifest.route(op)
        assert route is not None
        levels = classes.setdefault(class_of(op), dict.fromkeys(LEVELS, 0))
        levels[route.level] += 1
    known = load_hazards()
    hazards = tuple(hazard for hazard in known.all if hazard.concerns(manifest))
    dtypes: dict[str, list[Hazard]] = {}
    for hazard in hazards:
        for dtype in sorted(hazard.dtypes):
            dtypes.setdefault(dtype, []).append(hazard)
    features = {topic: chips.get(manifest.chip, "unknown") for topic, chips in known.status.items()}
    features["AMP"] = _amp(manifest)
    measured = sorted(set(manifest.measured.values()), key=lambda result: result.op)
    return Profile(
        manifest,
        dict(sorted(classes.items())),
        features,
        {dtype: tuple(about) for dtype, about in sorted(dtypes.items())},
        hazards,
        tuple(measured),
    )


def _amp(manifest: Manifest) -> str:
    """What autocast and the gradient scaler need, and where it runs."""
    parts = []
    for title, operators in (("autocast", _AUTOCAST), ("GradScaler", _SCALER)):
        levels = {op: _level(manifest, op) for op in operators}
        blocked = [op for op, level in levels.items() if level == "blocked"]
        on_cpu = [op for op, level in levels.items() if level == "cpu"]
        if blocked:
            parts.append(f"{title}: {', '.join(blocked)} raises")
        elif on_cpu:
            parts.append(f"{title}: {', '.join(on_cpu)} on the CPU")
        else:
            parts.append(f"{title}: native")
    return "; ".join(parts)


def _level(manifest: Manifest, op: str) -> str:
    measured = manifest.measured.get(op)
    if measured is not None:
        return {"ok": "native", "slow": "cpu"}.get(measured.status, "blocked")
    route = manifest.route(op)
    # What is composite on this chip breaks into operators of the same name.
    if route is not None and route.level == "composite" and op == "convolution":
        route = manifest.route("convolution_overrideable")
    return route.level if route is not None else "blocked"


def as_data(found: Profile) -> dict[str, Any]:
    """The profile as plain data."""
    manifest = found.manifest
    return {
        "schema": 1,
        "kind": "flmigrate-chip",
        "name": manifest.name,
        "chip": manifest.chip,
        "title": manifest.title,
        "torch": manifest.torch,
        "since": manifest.since,
        "until": manifest.until,
        "routes": manifest.counts(),
        "classes": {kind: dict(levels) for kind, levels in found.classes.items()},
        "features": dict(found.features),
        "dtypes": {dtype: [h.id for h in about] for dtype, about in found.dtypes.items()},
        "hazards": [
            {"id": h.id, "rule": h.rule, "severity": h.severity, "what": h.what}
            for h in found.hazards
        ],
        "measured": [
            {"op": f"aten::{m.op}", "status": m.status, "date": m.date, "note": m.note}
            for m in found.measured
        ],
    }
