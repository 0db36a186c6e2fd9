"""Real packages: a rewrite breaks no file, comes to rest, and is the patch that it prints.

The pinned wheels are downloaded once into a cache folder (see `benchmarks.packages`); nothing
of them is imported or run.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from benchmarks.packages import PackageError, package
from benchmarks.packages_check import compiles
from tests.command_line import contents, flmigrate, git


@pytest.mark.parametrize("name", ["megatron", "timm", "accelerate"])
def test_a_real_package(tmp_path: Path, name: str) -> None:
    try:
        original = package(name)
    except PackageError as error:
        pytest.skip(f"no package registry: {error}")
    root = tmp_path / "repository"
    shutil.copytree(original, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    git(root, "init", "-q")
    git(root, "add", "-A", "-f")
    git(root, "commit", "-q", "-m", "m")
    before = contents(root)
    sound = {path for path in root.rglob("*.py") if compiles(path)}
    assert len(sound) > 80

    patch = tmp_path / "fl.patch"
    shown = flmigrate(root, "rewrite", ".", "--patch", str(patch), "--exit-zero")
    assert contents(root) == before
    git(root, "apply", str(patch))
    patched = contents(root)
    git(root, "checkout", "-q", ".")
    assert contents(root) == before

    written = flmigrate(root, "rewrite", ".", "--exit-zero", "-j", "1")
    after = contents(root)
    assert written.text == shown.text.replace("would change", "changed")
    assert after == patched
    changed = [file for file in before if before[file] != after[file]]
    assert len(changed) >= 10
    assert all(file.endswith(".py") for file in changed)
    assert [path for path in sorted(sound) if not compiles(path)] == []

    git(root, "commit", "-q", "-a", "-m", "moved")
    again = flmigrate(root, "rewrite", ".", "--exit-zero")
    assert contents(root) == after
    assert ", 0 changed, 0 skipped" in again.text
    left = [line for line in written.text.splitlines() if line.startswith("  left")]
    assert left == [line for line in again.text.splitlines() if line.startswith("  left")]
