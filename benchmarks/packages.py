"""Real packages to measure on: pinned wheels, unpacked once into the cache folder."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

WHEELS = {
    "accelerate": "accelerate==1.15.0",
    "timm": "timm==1.0.31",
    "megatron": "megatron-core==0.16.0",
    "transformers": "transformers==5.23.0",
    "diffusers": "diffusers==0.42.1",
    "mmengine": "mmengine==0.10.7",
    "ultralytics": "ultralytics==8.4.190",
}
"""Top-level package -> the wheel that it comes from."""


class PackageError(Exception):
    """A wheel that could not be had; the message says which and why."""


def cache_folder() -> Path:
    """Where unpacked wheels are kept: ``$FLMIGRATE_CACHE`` or the user's cache folder."""
    configured = os.environ.get("FLMIGRATE_CACHE")
    base = os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))
    return Path(configured) if configured else Path(base) / "flmigrate"


def package(name: str) -> Path:
    """The folder of a package, downloaded by ``pip download --no-deps`` when it is not there.

    Raises ``PackageError`` without a registry.
    """
    folder = cache_folder() / "packages" / WHEELS[name].replace("==", "-")
    if not (folder / name).is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps"]
        command += ["-d", str(folder), WHEELS[name]]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        wheels = list(folder.glob("*.whl"))
        if done.returncode or not wheels:
            raise PackageError(f"{WHEELS[name]}: {done.stderr.strip()[-300:]}")
        with zipfile.ZipFile(wheels[0]) as wheel:
            wheel.extractall(folder)
    return folder / name
