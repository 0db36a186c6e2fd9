"""Which chip the twin behaves like: its manifest's routes, and its hazards."""

from __future__ import annotations

import os
from typing import Any

import torch

from flmigrate.manifests.hazards import Hazard, load_hazards
from flmigrate.manifests.model import NATIVE, Manifest
from flmigrate.manifests.store import load

_CLAIMED = NATIVE | {"cpu_roundtrip", "raises"}
_PRECISION = {"tf32": 13, "bf16": 16}  # bits of a float32's fraction that are dropped

_name = os.environ.get("FLMIGRATE_TWIN_CHIP")
MANIFEST: Manifest | None = load(_name) if _name else None
HAZARDS: tuple[Hazard, ...] = (
    tuple(h for h in load_hazards().all if h.concerns(MANIFEST)) if MANIFEST else ()
)


def claim(extension: Any) -> None:
    """Register what the chip has; all that the CPU has where no chip is named."""
    if MANIFEST is None:
        extension.claim_all()
        return
    claimed = [(op, route) for op, route in MANIFEST.routes.items() if route in _CLAIMED]
    extension.claim_chip(claimed)
    native = [op for op, route in claimed if route in NATIVE]
    for hazard in HAZARDS:
        if hazard.becomes != "cpu_fallback":
            continue
        dtypes = [getattr(torch, name) for name in sorted(hazard.dtypes)]
        for op in native:
            if hazard.covers(op) or MANIFEST.routes[op] in hazard.routes:
                extension.limit(op, dtypes)


def set_numerics(extension: Any) -> None:
    """Switch on the differences that are asked for."""
    names = os.environ.get("FLMIGRATE_TWIN_NUMERICS", "").split(",")
    dropped = max((_PRECISION[name] for name in names if name in _PRECISION), default=0)
    extension.set_numerics(dropped, "reordered" in names)


def concerned_by(api: str) -> bool:
    """Whether a hazard of the chip is about a public name."""
    return any(api in hazard.apis for hazard in HAZARDS)
