"""A device without a kernel of its own: which operators reach it, and what they break into.

Tensors here say that they are on PrivateUse1, so torch chooses what it would choose for such a
device; their values live in a CPU tensor that they carry. ``Boundary`` sees each operator at
the moment at which the device's own kernel would be asked for. Where torch has a kernel that
breaks the operator into others, that kernel runs too, and what it asks for is noted as its parts.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils import backend_registration
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

DEVICE = "flagos"

_COMPOSITES = (
    ("CompositeExplicitAutograd", "E"),
    ("CompositeExplicitAutogradNonFunctional", "N"),
    ("CompositeImplicitAutograd", "I"),
)
"""Dispatch keys of kernels that are made of other operators, in the dispatcher's order."""

_WHOLE = frozenset({"detach", "record_stream"})
"""Operators whose composite kernels need more of a tensor than these have."""


@dataclass(slots=True)
class Trace:
    """The operators of one run: by phase those that torch asked for, and parts of each."""

    forward: set[str] = field(default_factory=set)
    backward: set[str] = field(default_factory=set)
    parts: dict[str, set[str]] = field(default_factory=dict)


class DeviceTensor(torch.Tensor):
    """A tensor that claims to be on the device; ``values_on_cpu`` is what it holds."""

    values_on_cpu: torch.Tensor
    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    @staticmethod
    def __new__(cls, inner: torch.Tensor) -> DeviceTensor:
        made: DeviceTensor = torch.Tensor._make_wrapper_subclass(
            cls,
            inner.size(),
            strides=inner.stride(),
            storage_offset=inner.storage_offset(),
            dtype=inner.dtype,
            device=torch.device(f"{DEVICE}:0"),
        )
        made.values_on_cpu = inner
        return made

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls,
        func: Any,
        types: object,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        return _on_cpu(func, args, kwargs or {})


class _Module:
    """What torch asks of the module of a device."""

    def is_initialized(self) -> bool:
        return True

    def is_available(self) -> bool:
        return True

    def current_device(self) -> int:
        return 0

    def device_count(self) -> int:
        return 1

    def _is_in_bad_fork(self) -> bool:
        return False

    def manual_seed_all(self, seed: int) -> None:
        """Values do not matter here."""

    def get_rng_state(self, device: object = None) -> torch.Tensor:
        return torch.zeros(1, dtype=torch.uint8)

    def set_rng_state(self, state: torch.Tensor, device: object = None) -> None:
        """As above."""

    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        return [torch.float16, torch.bfloat16, torch.float32]


def register() -> None:
    """Give PrivateUse1 what autograd needs to run on it.

    Once per process. Raises ``RuntimeError`` for a torch in which no device can be written in
    Python (2.13 has it).
    """
    os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
    guard = getattr(backend_registration, "_DummyDeviceGuard", None)
    if guard is None:
        raise RuntimeError(f"torch {torch.__version__} has no devices in Python; 2.13 does")
    backend_registration.rename_privateuse1_backend(DEVICE)
    torch._register_device_module(DEVICE, _Module())  # type: ignore[no-untyped-call]
    torch._C._acc.register_python_privateuseone_hook(backend_registration._DummyPrivateUse1Hook())
    torch._C._acc.register_python_privateuseone_device_guard(guard())
    from torch.optim import optimizer

    # Optimizers choose foreach kernels by the exact class of a parameter.
    optimizer._foreach_supported_types.append(DeviceTensor)


def to_device(value: Any) -> Any:
    """A structure with its tensors, and devices that it names, moved to the device."""
    return tree_map(_moved, value)


def _moved(value: Any) -> Any:
    if isinstance(value, torch.Tensor) and not isinstance(value, DeviceTensor):
        if value.layout is not torch.strided or value.is_quantized or value.is_nested:
            return value
        moved = DeviceTensor(value.detach())
        return moved.requires_grad_(value.requires_grad)
    if isinstance(value, torch.device) or (isinstance(value, str) and value in ("cpu", "cuda")):
        return torch.device(f"{DEVICE}:0")
    return value


def module_to_device(module: torch.nn.Module) -> torch.nn.Module:
    """The module, its parameters and buffers on the device."""
    moved: dict[int, Any] = {}
    for part in module.modules():
        for name, parameter in part._parameters.items():
            if parameter is not None:
                if id(parameter) not in moved:
                    inner = DeviceTensor(parameter.detach())
                    moved[id(parameter)] = torch.nn.Parameter(inner, parameter.requires_grad)
                part._parameters[name] = moved[id(parameter)]
        for name, buffer in part._buffers.items():
            if buffer is not None:
                part._buffers[name] = _moved(buffer)
        names = getattr(part, "_flat_weights_names", None)
        if names is not None:  # recurrent modules keep a list of their own
            part.__dict__["_flat_weights"] = [getattr(part, name, None) for name in names]
    return module


class Boundary(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes the operators that reach the device while it is entered."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.trace = Trace()
        self.in_backward = False
        self._open: list[str] = []

    def __torch_dispatch__(
        self,
        func: Any,
        types: object,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        if not _concerns_device(args, kwargs):
            return func(*args, **kwargs)
        name = overload_name(func)
        self.note(name)
        key = composite_key(func.name())
        if key is not None and name not in _WHOLE and name not in self._open:
            try:
                return self._in_parts(func, name, key, args, kwargs)
            except Exception:
                pass  # it looks into storage that is not there: only the CPU knows the outcome
        return _on_cpu(func, args, kwargs)

    def note(self, name: str) -> None:
        """An operator that torch, or the composite kernel that runs, asks the device for."""
        if self._open:
            self.trace.parts.setdefault(self._open[-1], set()).add(name)
        else:
            (self.trace.backward if self.in_backward else self.trace.forward).add(name)

    def _in_parts(
        self, func: Any, name: str, key: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        self._open.append(name)
        try:
            with self:
                outcome = func._op_dk(getattr(torch._C.DispatchKey, key), *args, **kwargs)
        finally:
            self._open.pop()
        return tree_map(_ours, outcome)


class OnCpu(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """While it is entered, all operators of the device are computed on the values.

    Tensors of the device do most of it by themselves; this is for operators that make one from
    nothing, as kernels in C++ do.
    """

    def __torch_dispatch__(
        self,
        func: Any,
        types: object,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        concerned = _concerns_device(args, kwargs)
        return _on_cpu(func, args, kwargs) if concerned else func(*args, **kwargs)


class _Escaped(Exception):
    """A composite kernel made a tensor without asking any operator."""


def _ours(value: Any) -> Any:
    """A result of a composite kernel, with the shape that its values have by now."""
    if isinstance(value, DeviceTensor):
        # A kernel that writes into ``out`` may have given it its shape only then.
        return (
            value if value.shape == value.values_on_cpu.shape else DeviceTensor(value.values_on_cpu)
        )
    if isinstance(value, torch.Tensor) and value.device.type == DEVICE:
        raise _Escaped
    return value


def composite_key(name: str) -> str | None:
    """The dispatch key of the kernel that breaks an operator into others, if it has one.

    ``name`` is that of the dispatcher, ``aten::add.Tensor``.
    """
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    return next((key for key, _ in _COMPOSITES if has(name, key)), None)


def kind_of(name: str) -> str:
    """How torch serves an operator that a device does not: ``E``, ``N`` and ``I`` for explicit,
    non-functional and implicit composites, ``L`` by its CPU kernel, ``X`` by nothing."""
    try:
        key = composite_key(name)
        has_cpu = torch._C._dispatch_has_kernel_for_dispatch_key(name, "CPU")
    except RuntimeError:
        return "X"  # an operator that some sample defined for itself
    return dict(_COMPOSITES)[key] if key is not None else "L" if has_cpu else "X"


def overload_name(func: Any) -> str:
    """``add.Tensor`` for ``aten::add.Tensor``; other libraries keep their namespace."""
    name: str = func.name()
    return name.removeprefix("aten::")


def _concerns_device(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    found = False

    def look(value: Any) -> Any:
        nonlocal found
        if isinstance(value, DeviceTensor) or (
            isinstance(value, torch.device) and value.type == DEVICE
        ):
            found = True
        return value

    tree_map(look, (args, kwargs))
    return found


def _on_cpu(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run an operator on the values, and give the results back as tensors of the device."""
    owners: dict[int, DeviceTensor] = {}

    def unwrap(value: Any) -> Any:
        if isinstance(value, DeviceTensor):
            owners[id(value.values_on_cpu)] = value
            return value.values_on_cpu
        if isinstance(value, torch.device) and value.type == DEVICE:
            return torch.device("cpu")
        return value

    def wrap(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        owner = owners.get(id(value))
        if owner is not None:
            return owner
        return DeviceTensor(value) if value.layout is torch.strided else value

    inner_args, inner_kwargs = tree_map(unwrap, args), tree_map(unwrap, kwargs)
    if inner_kwargs.get("pin_memory"):
        inner_kwargs["pin_memory"] = False
    to_cpu = _goes_to_cpu(overload_name(func), args, kwargs)
    stand_in = _STAND_INS.get(overload_name(func), func)
    outcome = stand_in(*inner_args, **inner_kwargs)
    return outcome if to_cpu else tree_map(wrap, outcome)


def _goes_to_cpu(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether an operator copies to the CPU; inside of a mode ``to`` itself arrives."""
    if name != "_to_copy" and not name.startswith("to."):
        return False
    values = (*args, *kwargs.values())
    return any(isinstance(v, torch.device) and v.type == "cpu" for v in values)


def _lstm_cell(
    gates: torch.Tensor,
    hidden: torch.Tensor,
    cell: torch.Tensor,
    bias: torch.Tensor | None = None,
    hidden_bias: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    total = gates + hidden
    for part in (bias, hidden_bias):
        total = total + part if part is not None else total
    new_cell = torch.zeros_like(cell) + cell
    return torch.tanh(new_cell), new_cell, total


def _lstm_backward(
    grad_h: torch.Tensor | None,
    grad_c: torch.Tensor | None,
    cell: torch.Tensor,
    new_cell: torch.Tensor,
    workspace: torch.Tensor,
    has_bias: bool,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    gates = torch.zeros_like(workspace)
    return gates, torch.zeros_like(cell), gates.sum(0)


def _gru_cell(
    gates: torch.Tensor,
    hidden: torch.Tensor,
    state: torch.Tensor,
    bias: torch.Tensor | None = None,
    hidden_bias: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    rows, size = state.shape
    return torch.zeros_like(state) + state, gates.new_zeros(rows, 5 * size)


def _gru_backward(
    grad: torch.Tensor, workspace: torch.Tensor, has_bias: bool
) -> tuple[torch.Tensor, ...]:
    gates = grad.new_zeros(grad.shape[0], 3 * grad.shape[1])
    return gates, gates.clone(), grad.clone(), gates.sum(0), gates.sum(0)


def _convolution_backward(
    grad: torch.Tensor,
    image: torch.Tensor,
    weight: torch.Tensor,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    transposed: bool,
    output_padding: list[int],
    groups: int,
    output_mask: list[bool],
) -> Any:
    outputs = weight.shape[1] * groups if transposed else weight.shape[0]
    return torch.ops.aten.convolution_backward(
        *(grad, image, weight, [outputs], stride, padding),
        *(dilation, transposed, output_padding, groups, output_mask),
    )


# Kernels that only devices have: results of the right shapes, values do not matter.
_STAND_INS: dict[str, Callable[..., Any]] = {
    "convolution_overrideable": torch.ops.aten.convolution,
    "convolution_backward_overrideable": _convolution_backward,
    "_thnn_fused_lstm_cell": _lstm_cell,
    "_thnn_fused_lstm_cell_backward_impl": _lstm_backward,
    "_thnn_fused_gru_cell": _gru_cell,
    "_thnn_fused_gru_cell_backward": _gru_backward,
}


@contextmanager
def backward_of(boundary: Boundary) -> Iterator[None]:
    """What runs inside counts as the backward pass."""
    boundary.in_backward = True
    try:
        yield
    finally:
        boundary.in_backward = False


def run(call: Callable[[], Any], *, backward: bool = True) -> Trace:
    """Trace a call, and the backward pass of whatever it returns that needs a gradient.

    What the call raises is raised; a backward pass that fails is left out.
    """
    boundary = Boundary()
    with boundary:
        outcome = call()
    total = _scalar(outcome) if backward else None
    if total is not None:
        # In this thread: an error in one of the engine's own would end the process.
        threads = torch.autograd.set_multithreading_enabled(False)
        errors = suppress(RuntimeError, SystemError)
        with errors, threads, boundary, backward_of(boundary):
            torch.autograd.backward(*total)
    return boundary.trace


def _scalar(outcome: Any) -> tuple[list[torch.Tensor], list[torch.Tensor]] | None:
    """The tensors of a result that need a gradient, and a gradient for each."""
    found: list[torch.Tensor] = []

    def look(value: Any) -> Any:
        if isinstance(value, torch.Tensor) and value.requires_grad:
            found.append(value)
        return value

    tree_map(look, outcome)
    grads = []
    for tensor in found:
        inner = torch.ones(tensor.shape, dtype=tensor.dtype)
        grads.append(DeviceTensor(inner) if isinstance(tensor, DeviceTensor) else inner)
    return (found, grads) if found else None


__all__ = ["Boundary", "DeviceTensor", "Trace", "kind_of", "register", "run", "to_device"]
