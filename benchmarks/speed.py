"""``python -m benchmarks.speed``: the cost of a rewrite, as ratios measured in one run.

Over accelerate, timm and transformers: CPU of ``rewrite --diff -j1`` against what
``libcst.parse_module`` alone takes over the same candidate files; peak memory of a process;
and the gain of a second process. Each time is the least of three, taken in turns: what else a
machine does only ever adds to it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.packages import package

_PACKAGES = ("accelerate", "timm", "transformers")
_TURNS = 3

_PARSE = """
import resource, sys
from pathlib import Path
import libcst
from flmigrate.analysis.vocabulary import may_concern
from flmigrate.runner import vocabulary_for, with_deep_stack
words = vocabulary_for("fl").words
files = [p for folder in sys.argv[1:] for p in Path(folder).rglob("*.py")]
texts = [d for d in (p.read_bytes() for p in files) if may_concern(d, words)]
def parse():
    before = resource.getrusage(resource.RUSAGE_SELF)
    for text in texts:
        libcst.parse_module(text)
    after = resource.getrusage(resource.RUSAGE_SELF)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
print(len(files), len(texts), with_deep_stack(parse))
"""


def _children_cpu() -> float:
    times = os.times()
    return times.children_user + times.children_system


def _rewrite(folders: list[str], jobs: int) -> tuple[float, float]:
    """CPU and wall seconds of one ``rewrite --diff`` over the folders."""
    command = [sys.executable, "-m", "flmigrate", "rewrite", *folders]
    command += ["--target", "fl", "--diff", f"-j{jobs}", "--quiet", "--exit-zero"]
    cpu, wall = _children_cpu(), time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return _children_cpu() - cpu, time.perf_counter() - wall


def _peak_memory(folders: list[str], jobs: int) -> float:
    """The largest resident size of any process of a run, in MB."""
    script = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, "
        "stdout=subprocess.DEVNULL); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    command = [sys.executable, "-c", script, sys.executable, "-m", "flmigrate", "rewrite"]
    command += [*folders, "--diff", f"-j{jobs}", "--quiet", "--exit-zero"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    kilobytes = int(done.stdout.strip().splitlines()[-1])
    return kilobytes / 1024 if sys.platform != "darwin" else kilobytes / 1024 / 1024


def main() -> None:
    """Measure and print."""
    folders = [str(package(name)) for name in _PACKAGES]
    lines = sum(
        path.read_bytes().count(b"\n") for folder in folders for path in Path(folder).rglob("*.py")
    )
    parse_cpus, one_cpus, one_walls, two_walls = [], [], [], []
    for _ in range(_TURNS):
        parsed = subprocess.run(
            [sys.executable, "-c", _PARSE, *folders], check=True, capture_output=True, text=True
        )
        files, candidates, seconds = parsed.stdout.split()
        parse_cpus.append(float(seconds))
        cpu, wall = _rewrite(folders, 1)
        one_cpus.append(cpu)
        one_walls.append(wall)
        two_walls.append(_rewrite(folders, 2)[1])
    print(f"{', '.join(_PACKAGES)}: {files} files, {lines} lines, {candidates} candidates")
    parse_cpu, one_cpu = min(parse_cpus), min(one_cpus)
    one_wall, two_wall = min(one_walls), min(two_walls)
    ratio = one_cpu / parse_cpu
    print(f"libcst.parse_module over the candidates: {parse_cpu:.1f} s CPU")
    print(f"rewrite --diff -j1: {one_cpu:.1f} s CPU, {ratio:.2f} of the parse alone (at most 0.50)")
    print(f"two processes: {one_wall / two_wall:.2f}x as fast as one (at least 1.70)")
    print(f"peak memory, -j1: {_peak_memory(folders, 1):.0f} MB; -j2: ", end="")
    print(f"{_peak_memory(folders, 2):.0f} MB per process (under 200)")


if __name__ == "__main__":
    main()
