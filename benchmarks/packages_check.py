"""``python -m benchmarks.packages_check``: does a rewrite break real packages?

Over accelerate, timm and megatron-core: how many files compile before a rewrite and not
after, and how many change again on a second run. Both must be 0.
"""

from __future__ import annotations

import shutil
import tempfile
import warnings
from pathlib import Path

from benchmarks.packages import package
from flmigrate import rewrite_paths


def compiles(path: Path) -> bool:
    """Whether a file compiles; it is not run."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            return False
    return True


def main() -> None:
    """Rewrite copies and print."""
    for name in ("accelerate", "timm", "megatron"):
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / name
            shutil.copytree(package(name), copy)
            before = {path for path in copy.rglob("*.py") if compiles(path)}
            first = rewrite_paths([copy], write=True)
            broken = [path for path in sorted(before) if not compiles(path)]
            second = rewrite_paths([copy])
        print(
            f"{name}: {len(first.results)} files, {len(first.changed)} changed, "
            f"{len(first.skipped)} skipped, {len(broken)} broken, "
            f"{len(second.changed)} changed by a second run"
        )
        for path in broken:
            print(f"  broken: {path.relative_to(copy)}")
        for result in second.changed:
            print(f"  changed again: {Path(result.path).relative_to(copy)}")
        for path_text, reason in first.skipped:
            print(f"  skipped: {path_text}: {reason.code} {reason.message}")


if __name__ == "__main__":
    main()
