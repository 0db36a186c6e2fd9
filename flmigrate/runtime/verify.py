"""``flmigrate verify``: a program run in its own process, on the twin or the real device.

The process is ``runtime.watched``: it writes a report, also when it is ended, and so do those that
it starts. Needs no torch here.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from flmigrate.runtime.run_report import Problem, RunReport, merged, read_json
from flmigrate.runtime.twin import CHIP

DEVICES = "FLMIGRATE_TWIN_DEVICES"
ASYNCHRONOUS = "FLMIGRATE_TWIN_ASYNC"
NUMERICS = "FLMIGRATE_TWIN_NUMERICS"
FIRST = "first.json"
"""The report of the first process, in the folder of all reports."""

_GRACE = 10.0  # seconds to write the report after the time is up


@dataclass(frozen=True, slots=True)
class Limits:
    """``seconds`` for the whole run; ``memory`` in MiB for each process. 0: no limit."""

    seconds: float = 600.0
    memory: int = 0


@dataclass(frozen=True, slots=True)
class Twin:
    """What the simulated device is like. ``chip`` names the manifest that decides which operators
    it has; empty: all of them. ``asynchronous``: what nothing waits for is not done. ``numerics``
    are differences from the CPU's: ``tf32``, ``bf16``, ``reordered``."""

    chip: str = ""
    devices: int = 1
    asynchronous: bool = False
    numerics: tuple[str, ...] = ()

    def environment(self) -> dict[str, str]:
        """The same, as the twin reads it in the process that has it."""
        return {
            CHIP: self.chip,
            DEVICES: str(self.devices),
            ASYNCHRONOUS: "1" if self.asynchronous else "",
            NUMERICS: ",".join(self.numerics),
        }


def verify(
    command: Sequence[str], *, device: Twin | None = None, limits: Limits | None = None
) -> RunReport:
    """Run ``SCRIPT arg...``, ``-m MODULE arg...`` or ``pytest arg...`` and tell what happened.

    The program's own output goes to standard error. Nothing of the program is imported here.
    """
    device, limits = device or Twin(), limits or Limits()
    with tempfile.TemporaryDirectory(prefix="flmigrate-") as folder:
        environment = {**os.environ, **device.environment()}
        process = subprocess.Popen(
            [sys.executable, "-m", "flmigrate.runtime.watched", folder, *command],
            stdout=sys.stderr,
            env=environment,
            start_new_session=True,
            preexec_fn=lambda: _limit(limits.memory),
        )
        late = _waited(process, limits.seconds)
        report = _together(Path(folder))
    code = process.returncode
    found = list(report.problems)
    if late:
        found.append(Problem("limit", f"still running after {limits.seconds:g} s"))
    elif report.exit_code is None:
        died = f"by signal {-code}" if code < 0 else f"with exit code {code}"
        found.append(Problem("error", f"the process ended {died} before it could tell why"))
    return replace(
        report,
        chip=device.chip,
        date=date.today().isoformat(),
        command=" ".join(command),
        exit_code=report.exit_code if report.exit_code is not None else code,
        problems=tuple(found),
    )


def _together(folder: Path) -> RunReport:
    """What the first process tells, with what the others saw. Its times and exit code count."""
    path = folder / FIRST
    first = read_json(path) if path.is_file() else RunReport("verify")
    others = [read_json(other) for other in sorted(folder.glob("*.json")) if other != path]
    notes = first.notes
    if others:
        notes = (*notes, f"{len(others)} more process{'es' * (len(others) > 1)} reported")
    together = merged((first, *others))
    return replace(together, exit_code=first.exit_code, seconds=first.seconds, notes=notes)


def _limit(memory: int) -> None:
    if memory:
        size = memory * 2**20
        resource.setrlimit(resource.RLIMIT_DATA, (size, size))


def _waited(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Wait for the end; True where it had to be brought about. Children end with it."""
    try:
        process.wait(seconds or None)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE)
        return True
    except KeyboardInterrupt:
        process.send_signal(signal.SIGTERM)
        raise
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # what it started and left behind
        process.wait()
    return False
