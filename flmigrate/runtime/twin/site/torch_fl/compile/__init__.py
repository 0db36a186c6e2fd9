"""``torch_fl.compile``: the backend of torch.compile, which needs a chip with Triton."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["flagos_compile_backend"]


def flagos_compile_backend(
    gm: Any,
    example_inputs: list[Any],
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    dynamic: bool | None = None,
) -> Callable[..., Any]:
    """Raises ``RuntimeError``: there is no Inductor for the twin, as on chips without Triton."""
    raise RuntimeError("the backend flagos needs Triton: eager and aot_eager run here")
