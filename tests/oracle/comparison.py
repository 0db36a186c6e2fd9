"""All runs of a program and of its rewrite, and whether they agree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

from flmigrate.engine import rewrite_unit
from flmigrate.findings import Result, Severity
from flmigrate.runner import vocabulary_for
from flmigrate.units import Settings, Unit
from tests.oracle.execution import CALL_RUN, Inputs, Way, run_program
from tests.oracle.fake_torch import World

_SHOWN = 20  # effects of a trace that a message shows


@dataclass(frozen=True, slots=True)
class Scenario:
    """A machine and what the program is given on it."""

    present: bool
    mps: bool
    inputs: Inputs


@dataclass(frozen=True, slots=True)
class Difference:
    """A program whose rewrite does something else.

    ``expected`` and ``found`` are the two traces, of the first scenario in which they differ.
    """

    before: str
    after: str
    scenario: Scenario
    expected: tuple[str, ...]
    found: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(
            [
                *("--- before", self.before.rstrip(), "--- after", self.after.rstrip()),
                f"--- {self.scenario}",
                *(f"expected  {event}" for event in self.expected[:_SHOWN]),
                *(f"found     {event}" for event in self.found[:_SHOWN]),
            ]
        )

    @property
    def is_sound(self) -> bool:
        """Whether the program itself is whole: it names nothing that is not there."""
        kinds = ("NameError", "UnboundLocalError", "ModuleNotFoundError")
        return not any(f"raised {kind}" in self.expected[-1:] for kind in kinds)


# Tensors lie where a device is; a chosen device is a text that the user may get wrong.
_PLACES = (
    # present, mps, tensor, device
    (False, False, "cpu", "cpu"),
    (False, False, "cpu", "{}"),
    (False, True, "cpu", "cpu"),
    (False, True, "mps", "mps"),
    (True, False, "cpu", "cpu"),
    (True, False, "cpu", "{}:1"),
    (True, False, "{}:0", "{}"),
    (True, False, "{}:0", "{}:0"),
    (True, False, "{}:1", "cpu"),
)
_OPTIONS = (0b000, 0b101, 0b111, 0b010)


def scenarios() -> Iterator[Scenario]:
    """Every machine, every device value on it, with options that differ."""
    for number, (present, mps, tensor, device) in enumerate(_PLACES):
        # Two of the four sets of options at each place: all four in each group of places.
        for bits in _OPTIONS[number % 2 :: 2]:
            yield Scenario(present, mps, Inputs(tensor, device, bits))


_SCENARIOS = tuple(scenarios())


@cache
def _settings(import_in: str) -> Settings:
    return Settings(vocabulary_for("fl"), import_in=import_in)


def rewritten(text: str, import_in: str = "none") -> Result:
    """The rewrite of a program, as a run with the default options makes it."""
    return rewrite_unit(Unit("program.py", text), _settings(import_in)).result


def compare(text: str, result: Result, way: Way = CALL_RUN, vendor: str = "") -> Difference | None:
    """Run a program and its rewrite in every scenario; the first difference, or ``None``.

    ``vendor`` is the one that the program was written for; empty leaves it to the text. Raises
    ``SyntaxError`` for a text that does not parse.
    """
    vendor = vendor or vendor_of(text)
    before = compile(text, "before.py", "exec", dont_inherit=True)
    after = compile(result.after, "after.py", "exec", dont_inherit=True)
    for scenario in _SCENARIOS:
        native = World(vendor, vendor, scenario.present, scenario.mps)
        found = run_program(after, replace(native, accelerator="flagos"), scenario.inputs, way)
        expected = run_program(before, native, scenario.inputs, way)
        if expected.missed_vendor:
            # A probe without a guard: only a machine with the plug-in gets past it.
            idle = replace(native, idle_plugins=True)
            expected = run_program(before, idle, scenario.inputs, way)
            if found.missed_vendor and _was_told(result):
                continue
        if expected.endless or expected.lost or expected.events == found.events:
            continue
        return Difference(text, result.after, scenario, expected.events, found.events)
    return None


def vendor_of(text: str) -> str:
    """The vendor that a program was written for: cuda, unless it names another one only."""
    return vocabulary_for("fl").canonical_vendor([text.encode()])


def _was_told(result: Result) -> bool:
    """Whether a finding says that a test for another vendor stays, which raises there."""
    return any(f.code == "FL201" and f.severity is not Severity.INFO for f in result.left)
