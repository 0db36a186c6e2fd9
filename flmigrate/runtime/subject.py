"""The model that a command is asked about: ``pkg.mod:factory``, and inputs for it.

The factory is the user's. It takes no argument that has no default, and returns a module with
its inputs: ``(model, inputs)``, where ``inputs`` is a tensor, a tuple of arguments, or a
dictionary of keyword arguments. If it has a parameter ``batch_size``, other batch sizes are asked
of it; else the first dimension of the inputs is cut or repeated.
"""

from __future__ import annotations

import importlib
import inspect
import os
import random
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._pytree import tree_leaves, tree_map

SEED = 0


class SubjectError(ValueError):
    """A model that cannot be had; says where the user's code is at fault."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A model on the CPU in float32 as its factory made it, and one set of inputs."""

    name: str
    batch: int
    model: torch.nn.Module
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def in_dtype(self, dtype: torch.dtype) -> Subject:
        """A copy with parameters, buffers and inputs in another floating-point type."""
        import copy

        model = copy.deepcopy(self.model).to(dtype)
        args, kwargs = tree_map(lambda v: _cast(v, dtype), (self.args, self.kwargs))
        return Subject(self.name, self.batch, model, args, kwargs)


def seed(value: int = SEED) -> None:
    """Give every source of random numbers the same start."""
    random.seed(value)
    torch.manual_seed(value)


def load_factory(name: str) -> Callable[..., Any]:
    """What ``pkg.mod:factory`` names; the current folder is searched first.

    Raises ``SubjectError`` where there is no such module or name, or where importing it fails.
    """
    module_name, colon, attribute = name.partition(":")
    if not colon or not module_name or not attribute:
        raise SubjectError(f'"{name}": write pkg.mod:factory')
    here = os.getcwd()  # noqa: PTH109  # sys.path holds strings
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = importlib.import_module(module_name)
    except Exception as error:
        missing = isinstance(error, ModuleNotFoundError) and module_name.startswith(str(error.name))
        reason = f"no module {error.name}" if missing else told(error)  # type: ignore[attr-defined]
        raise SubjectError(f"{name}: {reason}") from None
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise SubjectError(f'{name}: {module_name} has no "{attribute}"')
        found = getattr(found, part)
    if not callable(found):
        raise SubjectError(f"{name}: cannot be called")
    return found  # type: ignore[no-any-return]


def make(name: str, factory: Callable[..., Any], batch: int | None = None) -> Subject:
    """The subject with a batch size, or with the one that the factory gives.

    Raises ``SubjectError`` where the factory fails or returns something else.
    """
    parameters = _parameters(factory)
    options = {"batch_size": batch} if batch is not None and "batch_size" in parameters else {}
    seed()
    try:
        made = factory(**options)
    except Exception as error:
        raise SubjectError(f"{name}: {told(error)}") from None
    if not isinstance(made, tuple) or len(made) != 2 or not isinstance(made[0], torch.nn.Module):
        raise SubjectError(f"{name}: must return a module and its inputs: (model, inputs)")
    model, inputs = made
    args = inputs if isinstance(inputs, tuple) else () if isinstance(inputs, dict) else (inputs,)
    kwargs = dict(inputs) if isinstance(inputs, dict) else {}
    tensors = [v for v in tree_leaves((args, kwargs)) if isinstance(v, torch.Tensor) and v.dim()]
    given = tensors[0].shape[0] if tensors else 0
    if batch is not None and not options and batch != given:
        if not given:
            raise SubjectError(f"{name}: has no batch to resize; take a parameter batch_size")
        args, kwargs = tree_map(lambda v: _resized(v, given, batch), (args, kwargs))
    return Subject(name, given if batch is None else batch, model, args, kwargs)


def _parameters(factory: Callable[..., Any]) -> frozenset[str]:
    try:
        return frozenset(inspect.signature(factory).parameters)
    except (TypeError, ValueError):
        return frozenset()


def _resized(value: Any, given: int, batch: int) -> Any:
    if isinstance(value, torch.Tensor) and value.dim() and value.shape[0] == given:
        rows = torch.arange(batch) % given
        return value.detach()[rows].clone().requires_grad_(value.requires_grad)
    return value


def _cast(value: Any, dtype: torch.dtype) -> Any:
    if isinstance(value, torch.Tensor):
        is_float = value.is_floating_point()
        copy = value.detach().to(dtype, copy=True) if is_float else value.detach().clone()
        return copy.requires_grad_(value.requires_grad)
    return value


def told(error: BaseException) -> str:
    """An exception in one line, with the last line of a file that is not a library's."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120
    theirs = [
        frame
        for frame in frames
        if "site-packages" not in frame.filename
        and not frame.filename.startswith((ours, "<"))
        and f"python{sys.version_info[0]}.{sys.version_info[1]}{os.sep}" not in frame.filename
    ]
    message = str(error).strip().splitlines()
    text = f"{type(error).__name__}: {message[0]}" if message else type(error).__name__
    return f"{theirs[-1].filename}:{theirs[-1].lineno}: {text}" if theirs else text
