"""``torch_fl`` as the twin has it: the device ``flagos``, simulated on the CPU.

What Torch-FL has by name is here by name; what it lacks is missing here too. FlagGems is not
simulated: asked for, it says that it is not there, as a build without it does.
"""

from __future__ import annotations

import os
from types import TracebackType

import torch
from torch.utils import backend_registration

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

from torch_fl import _patches, comm, distributed  # noqa: E402

_patches.apply()
comm.register_flagos_backend()

__all__ = [
    "distributed",
    "enable_flaggems_for_flagos",
    "flagos",
    "get_registered_ops",
    "is_flaggems_available",
    "is_flaggems_enabled",
    "use_flaggems",
]


def is_flaggems_available() -> bool:
    """False: there is no FlagGems in the twin."""
    return False


def is_flaggems_enabled() -> bool:
    """False: there is no FlagGems in the twin."""
    return False


def get_registered_ops() -> list[str]:
    """The operators that FlagGems serves: none."""
    return []


def enable_flaggems_for_flagos(
    exclude: list[str] | None = None, include: list[str] | None = None
) -> int:
    """The number of operators that FlagGems serves from now on: 0."""
    return 0


class use_flaggems:
    """A context without effect."""

    def __init__(self, exclude: list[str] | None = None, include: list[str] | None = None) -> None:
        pass

    def __enter__(self) -> use_flaggems:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pass
