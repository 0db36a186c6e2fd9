"""``flmigrate coverage --model``: the operators that a model uses, on every chip.

The model runs on tensors that only say that they are on the device and have a shape but no
values, so neither memory nor a device is needed, and torch chooses what it would choose there.
"""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import torch
from torch._subclasses import FakeTensorMode
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
)
from torch.utils._pytree import tree_leaves, tree_map

from flmigrate.coverage import Coverage, Place, Reached, on_chip
from flmigrate.manifests.model import Manifest
from flmigrate.manifests.opmap_format import Parts
from flmigrate.manifests.optable import Api
from flmigrate.manifests.verdicts import leaves
from flmigrate.rules.coverage import Facts, facts_for
from flmigrate.runtime import boundary
from flmigrate.runtime.subject import SubjectError, load_factory, make, told

_PHASES = ("forward", "backward", "optimizer")
_DTYPES = ("float16", "bfloat16", "float32", "float64")


@dataclass(slots=True)
class ModelTrace:
    """What one batch size and type asked a device for: operators by phase, their parts, and the
    user's lines. ``problem`` says why it ended early, if it did."""

    label: str
    asked: dict[str, set[str]] = field(default_factory=lambda: {p: set() for p in _PHASES})
    parts: dict[str, set[str]] = field(default_factory=dict)
    places: dict[str, set[Place]] = field(default_factory=dict)
    problem: str = ""


class _Located(boundary.Boundary):  # type: ignore[no-untyped-call]
    """Also notes from which line of the user's each operator is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.places: dict[str, set[Place]] = {}

    def note(self, name: str) -> None:
        super().note(name)
        place = _users_line()
        if place is not None:
            self.places.setdefault(name, set()).add(place)


def _users_line() -> Place | None:
    """The innermost line on the stack that is in no library, relative to the current folder."""
    frame = sys._getframe(2)
    while frame is not None:
        path = frame.f_code.co_filename
        if not _is_library(path):
            return Place(os.path.relpath(path), frame.f_lineno)
        frame = frame.f_back  # type: ignore[assignment]
    return None


@cache
def _is_library(path: str) -> bool:
    ours = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120
    libraries = (ours, os.path.dirname(os.__file__), "<")  # noqa: PTH120
    return path.startswith(libraries) or "site-packages" in path or path.startswith(sys.prefix)


def cover_model(name: str, chips: tuple[str, ...], options: dict[str, Any]) -> tuple[Coverage, str]:
    """The verdict of each chip on exactly the operators of a model, and what was traced.

    ``options`` are those of the command. Combinations of batch size and type that cannot be
    traced to the end are in ``skipped``. Raises ``SubjectError`` where there is no model, and
    ``ManifestError`` for a chip that cannot be used.
    """
    factory = load_factory(name)
    facts = facts_for(chips, tuple(options["measured"]))
    batches = _batches(options["batch"])
    dtypes = _dtypes(options["dtype"])
    try:
        boundary.register()
    except RuntimeError as error:
        raise SubjectError(str(error)) from None
    traces = [
        trace_model(name, factory, batch, dtype, options["optimizer"], values=options["values"])
        for dtype in dtypes
        for batch in batches
    ]
    operators = {op for t in traces for ops in t.asked.values() for op in ops}
    coverage = Coverage(
        0,
        (),
        (),
        tuple(on_chip(_reached(name, traces, m, facts), m) for m in facts.manifests),
        tuple((trace.label, trace.problem) for trace in traces if trace.problem),
        facts.table.torch,
    )
    return coverage, f"{name}: {', '.join(t.label for t in traces)}: {len(operators)} operators"


def _batches(words: tuple[str, ...]) -> list[int | None]:
    found: list[int | None] = []
    for word in ",".join(words).split(","):
        if word.strip():
            if not word.strip().isdigit():
                raise SubjectError(f'--batch: "{word}" is no number')
            found.append(int(word))
    return found or [None]


def _dtypes(words: tuple[str, ...]) -> list[str]:
    found = [word.strip() for word in ",".join(words).split(",") if word.strip()]
    for word in found:
        if word not in _DTYPES:
            raise SubjectError(f'--dtype: "{word}" is none of {", ".join(_DTYPES)}')
    return found or ["float32"]


def trace_model(
    name: str,
    factory: Any,
    batch: int | None,
    dtype: str,
    optimizer: str,
    *,
    values: bool = False,
) -> ModelTrace:
    """Trace forward, backward and, unless ``optimizer`` is ``none``, a step of that optimizer.

    With ``values`` the model is computed. Raises ``SubjectError`` where there is no model or
    no such optimizer.
    """
    if optimizer != "none" and not hasattr(torch.optim, optimizer):
        raise SubjectError(f'--optimizer: torch.optim has no "{optimizer}"')
    shapes: AbstractContextManager[Any] = nullcontext()
    if not values:
        shapes = FakeTensorMode(allow_non_fake_inputs=True)
    trace = ModelTrace("")
    with shapes, warnings.catch_warnings(), _without_torchs_log():
        # Modules that copy their layers look at addresses, which these tensors do not have.
        warnings.filterwarnings("ignore", "Accessing the data pointer of FakeTensor")
        subject = make(name, factory, batch)
        trace.label = f"batch {subject.batch}, {dtype}"
        model = boundary.module_to_device(_typed(subject.model, getattr(torch, dtype)))
        inputs = _cast((subject.args, subject.kwargs), getattr(torch, dtype))
        args, kwargs = boundary.to_device(inputs)
        try:
            _trace_step(model, args, kwargs, optimizer, trace)
        except (DataDependentOutputException, DynamicOutputShapeException) as error:
            advice = "it looks at values, which are not there; --values computes them"
            trace.problem = f"{told(error)}: {advice}"
        except Exception as error:
            trace.problem = told(error)
    return trace


@contextmanager
def _without_torchs_log() -> Iterator[None]:
    """Without the traceback that torch logs of an error that it raises, too."""
    log = logging.getLogger("torch._subclasses.fake_tensor")
    before = log.disabled
    log.disabled = True
    try:
        yield
    finally:
        log.disabled = before


def _typed(model: torch.nn.Module, dtype: torch.dtype) -> torch.nn.Module:
    """The model with its floating-point parameters and buffers in a type.

    ``Module.to`` refuses tensors without values.
    """
    made: dict[int, torch.nn.Parameter] = {}  # tied parameters stay tied
    for module in model.modules():
        for name, parameter in module._parameters.items():
            if parameter is not None and parameter.is_floating_point():
                typed = torch.nn.Parameter(parameter.detach().to(dtype), parameter.requires_grad)
                module._parameters[name] = made.setdefault(id(parameter), typed)
        for name, buffer in module._buffers.items():
            module._buffers[name] = _cast(buffer, dtype)
    return model


def _cast(value: Any, dtype: torch.dtype) -> Any:
    def cast(v: Any) -> Any:
        return v.to(dtype) if isinstance(v, torch.Tensor) and v.is_floating_point() else v

    return tree_map(cast, value)


def _trace_step(
    model: torch.nn.Module, args: Any, kwargs: Any, optimizer: str, trace: ModelTrace
) -> None:
    seen = _Located()
    try:
        with seen:
            outcome = model(*args, **kwargs)
        wanted = [v for v in tree_leaves(outcome) if isinstance(v, torch.Tensor)]
        wanted = [v for v in wanted if v.requires_grad]
        if wanted:
            gradients = [torch.ones_like(v.detach()) for v in wanted]
            threads = torch.autograd.set_multithreading_enabled(False)
            with threads, seen, boundary.backward_of(seen):
                torch.autograd.backward(wanted, gradients)
    finally:
        _add(trace, seen, seen.trace.forward, "forward")
        _add(trace, seen, seen.trace.backward, "backward")
    trained = [p for p in model.parameters() if p.requires_grad and p.grad is not None]
    if optimizer != "none" and trained:
        step = _Located()
        try:
            with step:
                getattr(torch.optim, optimizer)(trained, lr=0.1).step()
        finally:
            _add(trace, step, step.trace.forward, "optimizer")


def _add(trace: ModelTrace, seen: _Located, operators: set[str], phase: str) -> None:
    trace.asked[phase] |= operators
    for op, parts in seen.trace.parts.items():
        trace.parts.setdefault(op, set()).update(parts)
    for op, places in seen.places.items():
        trace.places.setdefault(op, set()).update(places)


def _reached(
    name: str, traces: list[ModelTrace], manifest: Manifest, facts: Facts
) -> Iterator[Reached]:
    """The leaf operators of all traces on a chip; what one run asked for is always reached."""
    for trace in traces:
        parts = {op: Parts(frozenset(inner), frozenset()) for op, inner in trace.parts.items()}
        forward, backward, step = (tuple(sorted(trace.asked[phase])) for phase in _PHASES)
        for api, phase in (
            (Api(name, forward, backward=backward, parts=parts), ""),
            (Api(name, step, parts=parts), "optimizer"),
        ):
            for leaf in leaves(api, manifest, facts.table):
                root = leaf.path[0]
                places = sorted(trace.places.get(leaf.op, ()) or trace.places.get(root, ()))
                if phase:
                    leaf = replace(leaf, phase=phase)
                yield Reached(leaf, name, places, leaf.always)
