"""One run of a program in a world: what it did, as a list of lines."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from dataclasses import dataclass, field
from types import CodeType, SimpleNamespace
from typing import Any

from tests.oracle.fake_torch import FakeTorch, Tensor, World, fake_torch
from tests.oracle.trace import OutOfFuel

Values = dict[str, Any]
"""What the names of a program, or the parameters of a function, stand for."""

_BUILTINS = {
    name: value
    for name, value in vars(builtins).items()
    if name not in ("open", "input", "exec", "eval", "compile", "breakpoint", "exit", "quit")
}


@dataclass(frozen=True, slots=True)
class Inputs:
    """What one run is given.

    ``tensor`` and ``device`` are where the tensor lies and a device that was chosen, with
    ``{}`` for the accelerator: ``"cpu"``, ``"{}:1"``. ``options`` are bits: the answers of
    ``ask`` and the options of the command line.
    """

    tensor: str = "cpu"
    device: str = "cpu"
    options: int = 0


@dataclass(frozen=True, slots=True)
class Run:
    """What a program did: its effects, and how it ended.

    ``missed_vendor`` says that it died of asking for another vendor's module, ``lost`` that
    it died of using another vendor's device, which no program does on the machine that it was
    written for; ``endless`` that it did not end.
    """

    events: tuple[str, ...]
    missed_vendor: bool = False
    lost: bool = False
    endless: bool = False


Entry = Callable[[FakeTorch, Values, Inputs], None]
"""What is done with a module once its code has run; effects go to the trace."""


@dataclass(frozen=True, slots=True)
class Way:
    """How a module is run: what it finds besides ``given``, and what follows its own code."""

    entry: Entry
    names: Callable[[FakeTorch], Values] = field(default=lambda fake: {})


def run_program(code: CodeType, world: World, inputs: Inputs, way: Way) -> Run:
    """Run a module in a namespace of its own."""
    fake = fake_torch(world)
    trace = fake.begin()
    namespace = given(fake, inputs) | way.names(fake)
    try:
        exec(code, namespace)
        way.entry(fake, namespace, inputs)
    except OutOfFuel:
        return Run(tuple(trace.events), endless=True)
    except Exception as error:
        trace.fail("", error)
    return Run(tuple(trace.events), trace.missed_vendor, trace.lost)


def given(fake: FakeTorch, inputs: Inputs) -> Values:
    """The names that a program finds: ``trace`` and ``ask``, options, and a safe ``import``."""

    def ask(label: str) -> bool:
        """A question whose asking is an effect."""
        fake.trace.add("ask", label)
        return option(inputs, label)

    def trace(*values: object) -> object:
        """An effect."""
        fake.trace.add("trace", *values)
        return values[0] if values else None

    return {
        "__builtins__": {
            **_BUILTINS,
            "__import__": fake.import_module,
            "hasattr": fake.has,
            "getattr": fake.get,
            "print": fake.print,
        },
        "__name__": "program",
        "trace": trace,
        "ask": ask,
        "args": SimpleNamespace(
            fast=option(inputs, "fast"),
            use_cuda=option(inputs, "use"),
            no_cuda=option(inputs, "no"),
        ),
    }


def option(inputs: Inputs, label: str) -> bool:
    """One of the bits, by name."""
    return bool(inputs.options >> (sum(label.encode()) % 3) & 1)


def place(fake: FakeTorch, spec: str) -> str:
    """A device string of ``Inputs`` in a world."""
    return spec.format(fake.world.accelerator)


def call_run(fake: FakeTorch, namespace: Values, inputs: Inputs) -> None:
    """Call ``run`` of a drawn program and record its result."""
    function = namespace.get("run")
    if function is None:
        return
    tensor = Tensor(fake, fake.device(place(fake, inputs.tensor)))
    chosen = place(fake, inputs.device)
    result = function(tensor, fake.device(chosen), chosen.partition(":")[0], chosen)
    fake.trace.add("returned", result)


CALL_RUN = Way(call_run)
