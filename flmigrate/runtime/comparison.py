"""A model on two devices: where it leaves its tolerance, and which layer is to blame."""

from __future__ import annotations

import copy
import datetime
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from flmigrate.runtime.compare_report import (
    CaseReport,
    CompareReport,
    Culprit,
    OperatorScore,
    Row,
    Substitution,
)
from flmigrate.runtime.devices import Device, open_device
from flmigrate.runtime.scoring import Limits, Score, score
from flmigrate.runtime.shadow import Shadow
from flmigrate.runtime.subject import Subject, make
from flmigrate.runtime.substitution import substituted
from flmigrate.runtime.taps import ROOT, Run, observe

EAGER = "eager"


@dataclass(frozen=True, slots=True)
class Case:
    """What to run: a batch size (``None``: the factory's own), a type, and ``eager`` or a backend
    of torch.compile, written ``compile:BACKEND``."""

    batch: int | None = None
    dtype: torch.dtype = torch.float32
    mode: str = EAGER


@dataclass(frozen=True, slots=True)
class Setup:
    """How to compare. ``train`` puts the model into training mode with its dropout at 0, since
    devices draw other random numbers; ``substitute`` says whether layers are put on the device
    one by one (``None``: where something is off). ``repeat`` is how often the device runs once
    more to be timed, without anything watching."""

    reference: Device
    device: Device
    limits: Limits = field(default_factory=Limits)
    backward: bool = True
    train: bool = False
    substitute: bool | None = None
    repeat: int = 0


def compare(
    name: str, factory: Callable[..., Any], cases: list[Case], setup: Setup, *, chip: str = ""
) -> CompareReport:
    """Compare a model, case by case. Raises ``SubjectError`` where there is no model."""
    return CompareReport(
        name,
        setup.reference.described,
        setup.device.described,
        chip,
        torch.__version__,
        datetime.date.today().isoformat(),
        tuple(compare_case(prepared(name, factory, case, setup), case, setup) for case in cases),
    )


def prepared(name: str, factory: Callable[..., Any], case: Case, setup: Setup) -> Subject:
    """The subject of a case, in the mode in which it is compared."""
    subject = make(name, factory, case.batch)
    subject.model.train(setup.train)
    if setup.train:
        for module in subject.model.modules():
            if isinstance(module, torch.nn.modules.dropout._DropoutNd):
                module.p = 0.0
            elif isinstance(getattr(module, "dropout", None), float):  # attention, LSTM
                setattr(module, "dropout", 0.0)  # noqa: B010  # no attribute of every module
    return subject


@dataclass(frozen=True, slots=True)
class References:
    """The same computation in float64 on the CPU, and in the case's type on the reference."""

    truth: Run
    same: Run


def refer(subject: Subject, dtype: torch.dtype, setup: Setup) -> References:
    """Run what a device's results are judged by."""
    cpu = open_device("cpu")
    truth = observe(subject.in_dtype(torch.float64), cpu, backward=setup.backward)
    same = observe(subject.in_dtype(dtype), setup.reference, backward=setup.backward)
    return References(truth, same)


def compare_case(
    subject: Subject, case: Case, setup: Setup, known: References | None = None
) -> CaseReport:
    """Compare one case, by references that are known or run here."""
    label = subject.batch, str(case.dtype).removeprefix("torch."), case.mode
    references = known or refer(subject, case.dtype, setup)
    if references.same.error or references.truth.error:
        note = f"the reference raises: {references.same.error or references.truth.error}"
        return CaseReport(*label, "skipped", note=note)
    eager = case.mode == EAGER
    wrap = None if eager else _compiled(case.mode)
    begun = time.perf_counter()
    got = observe(
        subject.in_dtype(case.dtype),
        setup.device,
        backward=setup.backward,
        inner=eager,
        wrap=wrap,
    )
    seconds = time.perf_counter() - begun
    if got.error:
        return CaseReport(*label, "raises", note=got.error)
    rows = tuple(_rows(got, references, setup.limits, inner=eager))
    first = next((row.layer for row in rows if row.status == "off"), "")
    operators: tuple[OperatorScore, ...] = ()
    culprits: tuple[Culprit, ...] = ()
    substitutions: tuple[Substitution, ...] = ()
    if eager:
        operators = _operators(subject.in_dtype(case.dtype), setup)
        if first:
            culprits = tuple(_culprits(subject, case.dtype, setup, references.same))
        if setup.substitute or (setup.substitute is None and first):
            substitutions = tuple(_substitutions(subject, case.dtype, setup, references))
    return CaseReport(
        *label,
        "off" if first else "ok",
        rows,
        first,
        culprits,
        operators,
        substitutions,
        round(min((_timed(subject, case, setup) for _ in range(setup.repeat)), default=seconds), 6),
    )


def _timed(subject: Subject, case: Case, setup: Setup) -> float:
    """Seconds of a run of which only the outputs are copied back, which waits for the device.

    A compiled model runs once before, as its first run compiles.
    """
    wrap = None if case.mode == EAGER else _compiled(case.mode)
    if wrap is not None:
        observe(subject.in_dtype(case.dtype), setup.device, inner=False, wrap=wrap)
    ready = subject.in_dtype(case.dtype)
    begun = time.perf_counter()
    observe(ready, setup.device, backward=setup.backward, inner=False, wrap=wrap)
    return time.perf_counter() - begun


def _compiled(mode: str) -> Callable[[torch.nn.Module], Callable[..., Any]]:
    backend = mode.partition(":")[2] or "inductor"
    return lambda model: torch.compile(model, backend=backend)


def _rows(got: Run, references: References, limits: Limits, *, inner: bool) -> Iterator[Row]:
    """Every tensor of the reference, in the order in which they came."""
    for key, same in references.same.tensors.items():
        layer, kind, _ = key
        if not inner and layer != ROOT and not kind.endswith(".grad"):
            continue
        truth = references.truth.tensors.get(key)
        if truth is None:
            continue  # float64 took another way through the model
        mine = got.tensors.get(key)
        if mine is None:
            yield Row(layer, kind, "off", float("inf"), float("inf"), "is not there")
        else:
            found = score(mine, same, truth, limits)
            yield Row(layer, kind, found.status, found.score, found.error, found.why)


def _operators(subject: Subject, setup: Setup) -> tuple[OperatorScore, ...]:
    shadow = _shadowed(subject, setup)
    return tuple(
        OperatorScore(op, seen.calls, seen.worst.status, seen.worst.score, seen.worst.error)
        for op, seen in sorted(shadow.seen.items())
    )


def _shadowed(subject: Subject, setup: Setup) -> Shadow:
    shadow = Shadow(setup.device, setup.limits)
    observe(subject, setup.device, backward=setup.backward, inner=False, watch=shadow)
    return shadow


# --- whose fault ---------------------------------------------------------------------------


def _culprits(subject: Subject, dtype: torch.dtype, setup: Setup, same: Run) -> Iterator[Culprit]:
    """The innermost modules that are off by themselves, given the reference's inputs."""
    modules = dict(subject.model.named_modules())
    todo = [ROOT]
    while todo:
        name = todo.pop(0)
        prefix = "" if name == ROOT else f"{name}."
        inner = [
            child
            for child in same.order
            if child != ROOT and child.startswith(prefix) and child != name
        ]
        # The nearest that were called: a container that is only iterated over is passed.
        nearest = [c for c in inner if not any(c.startswith(f"{other}.") for other in inner)]
        off = [child for child in nearest if _is_off(child, modules, subject, dtype, setup, same)]
        if off:
            todo = off + todo
        else:
            part = _part(name, modules, subject, same)
            yield Culprit(name, _shadowed(part.in_dtype(dtype), setup).first)


def _part(name: str, modules: dict[str, torch.nn.Module], subject: Subject, same: Run) -> Subject:
    """One module as a subject of its own, with the inputs that the reference gave it."""
    args, kwargs = same.inputs[name]
    module = copy.deepcopy(subject.model if name == ROOT else modules[name])
    return Subject(name, subject.batch, module, args, kwargs)


def _is_off(
    name: str,
    modules: dict[str, torch.nn.Module],
    subject: Subject,
    dtype: torch.dtype,
    setup: Setup,
    same: Run,
) -> bool:
    part = _part(name, modules, subject, same)
    references = refer(part, dtype, setup)
    got = observe(part.in_dtype(dtype), setup.device, backward=setup.backward)
    if references.same.error or references.truth.error:
        return False
    if got.error:
        return True
    return any(row.status == "off" for row in _rows(got, references, setup.limits, inner=True))


def _substitutions(
    subject: Subject, dtype: torch.dtype, setup: Setup, references: References
) -> Iterator[Substitution]:
    """Each innermost module alone on the device, and all up to it."""
    modules = dict(subject.model.named_modules())
    called = references.same.order
    leaves = [
        name
        for name in called
        if name != ROOT and not any(other.startswith(f"{name}.") for other in called)
    ]
    if ROOT in modules or not leaves:
        return
    typed = subject.in_dtype(dtype)
    for at, name in enumerate(leaves, 1):
        alone = _outcome(substituted(typed, [name], setup.device), setup, references)
        prefix = alone
        if at > 1:
            prefix = _outcome(substituted(typed, leaves[:at], setup.device), setup, references)
        yield Substitution(name, alone.status, alone.score, prefix.status, prefix.score)


def _outcome(mixed: Subject, setup: Setup, references: References) -> Score:
    """The worst of the model's own outputs and the gradients of its parameters."""
    run = observe(mixed, _in_place(setup.device), backward=setup.backward, inner=False)
    if run.error:
        return Score("off", float("inf"), float("inf"), run.error)
    rows = _rows(run, references, setup.limits, inner=False)
    worst = max(rows, key=lambda row: (row.status == "off", row.score), default=None)
    if worst is None:
        return Score("ok", 0.0, 0.0)
    return Score(worst.status, worst.score, worst.error, worst.why)


def _in_place(device: Device) -> Device:
    """The CPU for a model of which a part is on a device and must stay there."""
    cpu = open_device("cpu")
    return Device(cpu.name, cpu.described, lambda module: module, cpu.send, device.around)
