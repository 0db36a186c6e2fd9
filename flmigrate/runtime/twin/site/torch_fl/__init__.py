"""``torch_fl`` as the twin has it: the device ``flagos``, simulated on the CPU.

What Torch-FL has by name is here by name; what it lacks is missing here too. FlagGems is not
simulated: asked for, it says that it is not there, as a build without it does.
"""

from __future__ import annotations

import os

import torch
from torch.utils import backend_registration

from flmigrate.runtime.children import started
from flmigrate.runtime.twin.build import load_device
from torch_fl import _chip

_C = load_device()
if os.environ.get("FLMIGRATE_TWIN_ASYNC") == "1":
    _C.make_asynchronous()
_chip.claim(_C)
_chip.set_numerics(_C)

backend_registration.rename_privateuse1_backend("flagos")

from torch_fl import flagos  # noqa: E402

torch._register_device_module("flagos", flagos)  # type: ignore[no-untyped-call]
backend_registration.generate_methods_for_privateuse1_backend(for_storage=True)

from torch_fl import _alias, _patches, comm, distributed  # noqa: E402
from torch_fl.integration import (  # noqa: E402
    enable_flaggems_for_flagos,
    is_flaggems_available,
    use_flaggems,
)

_patches.apply()
comm.register_flagos_backend()
if _alias.wanted():
    _alias.install()
started(_C)

__all__ = [
    "distributed",
    "enable_flaggems_for_flagos",
    "flagos",
    "get_registered_ops",
    "is_flaggems_available",
    "is_flaggems_enabled",
    "use_flaggems",
]


def is_flaggems_enabled() -> bool:
    """False: there is no FlagGems in the twin."""
    return False


def get_registered_ops() -> list[str]:
    """The operators that FlagGems serves: none."""
    return []
