"""The twin: a device ``flagos`` simulated on the CPU, for machines without a chip.

``activate()`` makes ``import torch_fl`` find it, in this process and in those that it starts.
A real torch_fl always goes first.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

from flmigrate.runtime.twin.build import missing_tools

CHIP = "FLMIGRATE_TWIN_CHIP"
"""The variable that names the manifest of the chip that the twin is; empty: all operators."""

SITE = Path(__file__).parent / "site"
"""The folder whose ``torch_fl`` is the twin's."""


def activate() -> str:
    """Make ``import torch_fl`` work here and in child processes; ``real`` or ``twin``.

    Nothing is imported. The twin's folder comes last on ``sys.path``, and reaches children by
    ``PYTHONPATH`` only where no real torch_fl was found.
    """
    if which() != "real" and str(SITE) not in sys.path:
        sys.path.append(str(SITE))
        inherited = os.environ.get("PYTHONPATH")
        package = str(SITE.parents[3])  # children import the twin's device from flmigrate
        paths = [inherited] if inherited else []
        os.environ["PYTHONPATH"] = os.pathsep.join([*paths, str(SITE), package])
    return which()


def stand_in(chip: str = "") -> str:
    """What is ``flagos`` in this process: ``real``, ``twin``, or an empty text where there is
    neither a torch_fl nor the tools to build the twin.

    To be called before torch is imported. ``chip`` names the manifest that decides which operators
    the twin has; empty: all of them.
    """
    if which() != "real" and not missing_tools():
        os.environ[CHIP] = chip
        activate()
    return which()


def which() -> str:
    """What ``import torch_fl`` gives: ``real``, ``twin``, or an empty text for nothing."""
    spec = importlib.util.find_spec("torch_fl")
    if spec is None or spec.origin is None:
        return ""
    return "twin" if Path(spec.origin).is_relative_to(SITE) else "real"
