"""``torch_fl.integration``: FlagGems, which the twin does not have, and kernels of one's own."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any

import torch

_libraries: list[Any] = []  # a kernel is gone when its library is
_registered_ops: set[str] = set()
_library: Any = torch.library.Library


def is_flaggems_available() -> bool:
    """False: there is no FlagGems in the twin."""
    return False


def get_registered_ops() -> list[str]:
    """The operators that were registered here."""
    return list(_registered_ops)


def register_flagos_operator(
    op_name: str, impl_func: Callable[..., Any], schema: str | None = None
) -> None:
    """Give an operator of ``aten`` (``add.Tensor``) a kernel of one's own on the device.

    ``schema`` is not used, as in Torch-FL.
    """
    library: Any = _library("aten", "IMPL")
    library.impl(op_name, impl_func, "PrivateUse1")
    _libraries.append(library)
    _registered_ops.add(op_name)


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
