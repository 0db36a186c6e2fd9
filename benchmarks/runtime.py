"""``python -m benchmarks.runtime``: the figures of what runs code, each part in its own process.

What a training step costs on the twin, whether seeded faults are localised, whether missing
synchronisations are caught, and whether programs written for CUDA give their results on the twin
after a rewrite. A process has one device besides the CPU and CUDA, hence the parts.
"""

from __future__ import annotations

import subprocess
import sys

PARTS = ("runtime_overhead", "runtime_faults", "runtime_sync", "runtime_equal")


def main() -> int:
    """Run the parts, which print; 1 where one of them misses a figure."""
    missed = [
        part
        for part in PARTS
        if subprocess.run([sys.executable, "-m", f"benchmarks.{part}"], check=False).returncode
    ]
    if missed:
        print("missed:", ", ".join(missed))
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
