"""Builds the simulated device, once per version of torch, Python and its own source."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from flmigrate.verdicts import cache_folder

SOURCES = Path(__file__).with_name("device")
"""The folder of the device's C++: ``device.cpp``, which includes the rest."""


class TwinError(RuntimeError):
    """The twin cannot be had here; the message says what is missing."""


def load_device() -> Any:
    """The extension, built at first use; 30 to 60 seconds on one core, then kept.

    Raises ``TwinError`` where there is no compiler or it fails.
    """
    import torch
    from torch.utils import cpp_extension

    digest = _digest()
    python = f"{sys.implementation.cache_tag}"
    folder = cache_folder() / "twin" / f"torch{torch.__version__}-{python}-{digest}"
    name = f"flmigrate_twin_{digest}"
    built = folder / f"{name}.so"
    complete = folder / "complete"  # other processes may be linking
    if complete.exists():
        return _imported(name, built)
    if missing := missing_tools():
        raise TwinError(f"the simulated device is built from C++ and needs {missing}")
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with _ninja_on_path():
            module = cpp_extension.load(
                name=name,
                sources=[str(SOURCES / "device.cpp")],
                build_directory=str(folder),
                extra_cflags=["-O2", "-g0"],
                verbose=False,
            )
    except (RuntimeError, ImportError, OSError) as error:
        lines = str(error).splitlines() or [type(error).__name__]
        first = next((line for line in lines if " error: " in line), lines[0])
        raise TwinError(f"the simulated device does not build: {first}") from error
    complete.touch()
    return module


def _digest() -> str:
    """Of all files that the device is built from."""
    seen = hashlib.sha256()
    for path in sorted(SOURCES.iterdir()):
        seen.update(f"{path.name}\n".encode() + path.read_bytes())
    return seen.hexdigest()[:12]


def missing_tools() -> str:
    """What a build lacks, or an empty text."""
    compiler = (os.environ.get("CXX") or "c++").split()[0]
    lacking = [
        what
        for what, there in (
            ("a C++ compiler (g++ or clang++; CXX names it)", shutil.which(compiler)),
            ("ninja", _ninja()),
        )
        if there is None
    ]
    return " and ".join(lacking)


def _ninja() -> str | None:
    """Where ninja is: on PATH, or beside this Python, where pip puts it."""
    return shutil.which("ninja") or shutil.which("ninja", path=str(Path(sys.executable).parent))


@contextlib.contextmanager
def _ninja_on_path() -> Iterator[None]:
    """Torch looks for ninja on PATH only."""
    before = os.environ.get("PATH", "")
    folder = str(Path(_ninja() or "").parent)
    os.environ["PATH"] = os.pathsep.join([before, folder])
    try:
        yield
    finally:
        os.environ["PATH"] = before


def _imported(name: str, path: Path) -> Any:
    import importlib.util

    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise TwinError(f"{path}: not an extension of this Python")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
