"""``python -m benchmarks.hook``: what a hook costs, and that a series is the rewrite.

``flmigrate check`` on 1, 10 and 100 files of accelerate and transformers beside ``ruff check`` of
the same files, and beside the two ways in which hooks against vendor code usually work: a grep, and
one visitor over an ast tree. CPU and wall time as ratios, each the least of some turns, taken in
turns. Then the start-up of a check, and the series for accelerate through ``git am``.
"""

from __future__ import annotations

import filecmp
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.packages import package

_TURNS = 5
_COUNTS = (1, 10, 100)
_SMALL = 'import torch\n\n\ndef put(x):\n    return x.to("cuda")\n'
_VISITOR = """
import ast, sys
class Visitor(ast.NodeVisitor):
    found = 0
    def visit_Attribute(self, node):
        if node.attr in ("cuda", "npu", "musa", "xpu", "mlu"):
            Visitor.found += 1
        self.generic_visit(node)
for path in sys.argv[1:]:
    Visitor().visit(ast.parse(open(path, "rb").read()))
sys.exit(Visitor.found > 0)
"""
_GREP = r"torch\.(cuda|npu|musa|xpu|mlu)|\.(cuda|npu|musa|xpu|mlu)\(|[\"'](cuda|npu|musa|xpu|mlu)"


def _cost(command: Sequence[str]) -> tuple[float, float]:
    """CPU and wall seconds of a command that may find something."""
    before, wall = _children_cpu(), time.perf_counter()
    done = subprocess.run(command, capture_output=True, env=_environment(), check=False)
    assert done.returncode in (0, 1), done.stderr.decode()
    return _children_cpu() - before, time.perf_counter() - wall


def _children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _environment() -> Mapping[str, str]:
    # As installed: compiled once, and kept.
    return {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}


def _least(commands: Mapping[str, Sequence[str]]) -> dict[str, tuple[float, float]]:
    costs: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for command in commands.values():
        _cost(command)  # what is compiled or cached once is not measured
    for _ in range(_TURNS):
        for name, command in commands.items():
            costs[name].append(_cost(command))
    return {
        name: (min(cpu for cpu, _ in found), min(wall for _, wall in found))
        for name, found in costs.items()
    }


def _files(count: int) -> list[str]:
    """Changed files as a commit may have them: every so many-th, vendor code in some."""
    found = sorted(package("accelerate").rglob("*.py"))
    found += sorted(package("transformers").rglob("modeling_*.py"))
    return [str(path) for path in found[:: max(1, len(found) // count)][:count]]


def _table() -> None:
    for count in _COUNTS:
        files = _files(count)
        size = sum(Path(path).stat().st_size for path in files)
        costs = _least(
            {
                "flmigrate check": [sys.executable, "-m", "flmigrate", "check", *files, "-j1"],
                "ruff check": ["ruff", "check", "--no-cache", "--isolated", *files],
                "grep": ["grep", "-nE", _GREP, *files],
                "one visitor": [sys.executable, "-c", _VISITOR, *files],
            }
        )
        cpu, wall = costs.pop("flmigrate check")
        noun = "file" if count == 1 else "files"
        print(f"{count} {noun}, {size / 1000:.0f} kB: check {cpu:.2f} s CPU, {wall:.2f} s wall")
        for name, (other_cpu, other_wall) in costs.items():
            ratios = f"{cpu / other_cpu:.1f}x CPU, {wall / other_wall:.1f}x wall"
            print(f"  beside {name} ({other_cpu:.2f} s CPU): {ratios}")


def _start_up() -> None:
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder, "small.py")
        small.write_text(_SMALL)
        costs = _least(
            {
                "check": [sys.executable, "-m", "flmigrate", "check", str(small)],
                "click": [sys.executable, "-c", "import click"],
            }
        )
    check, click = costs["check"][0], costs["click"][0]
    limit = 1.5 * click + 0.040
    print(
        f"check of one small file: {1000 * check:.0f} ms CPU; import click: {1000 * click:.0f} ms"
    )
    print(f"  at most 1.5 of that and 40 ms: {1000 * limit:.0f} ms")


def _git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=n", "-c", "user.email=e@e", "-c", "core.autocrlf=false"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def _same(one: Path, other: Path) -> bool:
    names = {path.relative_to(one) for path in one.rglob("*") if ".git" not in path.parts}
    theirs = {path.relative_to(other) for path in other.rglob("*") if ".git" not in path.parts}
    files = [str(name) for name in names if (one / name).is_file()]
    _, different, failed = filecmp.cmpfiles(one, other, files, shallow=False)
    return names == theirs and not different and not failed


def _series() -> None:
    with tempfile.TemporaryDirectory() as folder:
        one, other, patches = (Path(folder, name) for name in ("one", "other", "patches"))
        shutil.copytree(package("accelerate"), one / "accelerate")
        _git(one, "init", "-q")
        _git(one, "add", "-A")
        _git(one, "commit", "-qm", "accelerate")
        shutil.copytree(one, other)
        command = [sys.executable, "-m", "flmigrate", "rewrite", "--quiet", "--exit-zero"]
        subprocess.run([*command, str(one), "--patch-dir", str(patches)], check=True)
        subprocess.run([*command, str(other)], check=True)
        names = sorted(str(path) for path in patches.iterdir())
        _git(one, "am", "-q", *names)
        same = "equals" if _same(one, other) else "DIFFERS FROM"
        print(f"accelerate: {len(names)} patches apply with git am; the tree {same} the rewrite's")


def main() -> None:
    """Measure and print."""
    _table()
    _start_up()
    _series()


if __name__ == "__main__":
    main()
