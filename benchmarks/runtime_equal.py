"""``python -m benchmarks.runtime_equal [NAME...]``: programs written for CUDA, on the twin.

A copy of each of ``benchmarks/runtime_programs`` is rewritten by ``flmigrate rewrite`` and run by
``flmigrate verify``. The original is run on the CPU: by itself, or, where it insists on CUDA,
through ``benchmarks.cuda_on_cpu``. The last line holds a program's results, as JSON; they have to
be equal to the bit. Torch itself computes some things otherwise on devices (attention,
``foreach``): where that shows, the original is run once more with torch made to take a device's
path on the CPU.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

PROGRAMS = Path(__file__).parent / "runtime_programs"
ROOT = PROGRAMS.parents[1]
WANTED = 38

TOLERANCES = (
    ("autocast", 1e-3, "which keeps other operators in float32 on devices"),
    ("nn.GRU", 1e-6, "whose cells are fused on devices"),
)
"""What a program may use that torch computes otherwise on devices, and cannot be made to on the
CPU: how far its results may be off, relative to the larger value."""

DEVICES = {"ddp_training": 2}
"""What the simulated machine has, for programs that are for several devices; else one."""


class Outcome(NamedTuple):
    """What became of one program: ``how`` it turned out, or what is ``wrong`` (else empty)."""

    name: str
    how: str
    wrong: str = ""


def _run(arguments: Sequence[str], cwd: Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH", ""))))
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )


def _results(printed: str) -> Any:
    """The last line that is an object of JSON, or ``None``."""
    for line in reversed(printed.splitlines()):
        if line.startswith("{"):
            return json.loads(line)
    return None


def _differences(one: Any, other: Any) -> Iterator[float]:
    """How far each pair of values is apart: 0 where they are equal, infinity where no number is
    expected to differ, else relative to the larger one."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        for key in one:
            yield from _differences(one[key], other[key])
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for left, right in zip(one, other, strict=True):
            yield from _differences(left, right)
    elif one is not None and one == other and type(one) is type(other):
        yield 0.0
    elif isinstance(one, float) and isinstance(other, float) and math.isfinite(one - other):
        yield abs(one - other) / max(abs(one), abs(other))
    else:
        yield math.inf


def _results_on_cpu(program: Path, options: Sequence[str]) -> Any:
    """The results of a program as it is, through ``benchmarks.cuda_on_cpu`` where there are
    options; ``None`` where it does not run."""
    through = ["-m", "benchmarks.cuda_on_cpu", *options] if options else []
    done = _run([*through, program.name], program.parent)
    return None if done.returncode else _results(done.stdout)


def _compared(name: str, original: Path, results: Any) -> Outcome:
    """Compare with the original on the CPU; where that is not equal to the bit, with the original
    as torch computes on devices."""
    options: list[str] = []
    expected = _results_on_cpu(original, options)
    if expected is None:
        options = ["--cuda"]
        expected = _results_on_cpu(original, options)
    said = "equal to the bit" if not options else "equal to the bit, torch.cuda answered by the CPU"
    if expected is None:
        return Outcome(name, "", "the original does not run on the CPU")
    if max(_differences(expected, results)) == 0:
        return Outcome(name, said)
    expected = _results_on_cpu(original, [*options, "--paths"])
    off = max(_differences(expected, results))
    if off == 0:
        return Outcome(name, f"{said}, on the path of devices")
    text = original.read_text("utf-8")
    for used, allowed, why in TOLERANCES:
        if used in text and off <= allowed:
            return Outcome(name, f"equal within {allowed:g}, off by {off:.1e}: {used}, {why}")
    return Outcome(name, "", f"results are off by {off:.1e}")


def tried(program: Path) -> Outcome:
    """Rewrite a copy of a program, run both, and compare."""
    name = program.stem
    with tempfile.TemporaryDirectory(prefix="flmigrate-") as folder:
        copy = Path(shutil.copy(program, folder))
        rewritten = _run(["-m", "flmigrate", "rewrite", "--target", "fl", copy.name], copy.parent)
        if rewritten.returncode > 1:
            return Outcome(name, "", f"rewrite: {rewritten.stderr.strip()}")
        devices = ["--devices", str(DEVICES.get(name, 1))]
        done = _run(["-m", "flmigrate", "verify", "--json", *devices, copy.name], copy.parent)
        if not done.stdout:
            return Outcome(name, "", f"verify: {done.stderr.strip()}")
        report = json.loads(done.stdout)
        if report["exit_code"] or report["problems"]:
            wrong = [f"exit code {report['exit_code']}"] if report["exit_code"] else []
            for problem in report["problems"]:
                line = f"line {problem['place']['line']}: " if problem["place"] else ""
                wrong.append(f"{line}{problem['message']}")
            return Outcome(name, "", "; ".join(wrong))
        results = _results(done.stderr)
        shutil.copy(program, copy)
        return _compared(name, copy, results)


def figure(names: Sequence[str] = ()) -> tuple[int, int]:
    """How many of the programs run to the end with equal results, and how many there are. Each
    is printed."""
    programs = [p for p in sorted(PROGRAMS.glob("*.py")) if not names or p.stem in names]
    equal = 0
    for program in programs:
        outcome = tried(program)
        equal += not outcome.wrong
        print(f"  {outcome.name}: {outcome.wrong or outcome.how}", flush=True)
    return equal, len(programs)


def main() -> int:
    """Print the figure; 1 where it is missed."""
    equal, total = figure(sys.argv[1:])
    wanted = WANTED if not sys.argv[1:] else total
    print(f"programs: {equal} of {total} run to the end with equal results (at least {wanted})")
    return int(equal < wanted)


if __name__ == "__main__":
    sys.exit(main())
