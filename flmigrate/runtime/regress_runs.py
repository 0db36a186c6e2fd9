"""The models of a project's set, each in a process of its own, and their stored results.

A process that crashes takes no other model with it, and Torch-FL's logs, which are switched on
when a process starts, tell which operators ran on the CPU.
"""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flmigrate.manifests.model import Manifest
from flmigrate.runtime import compare_report
from flmigrate.runtime.compare_report import CompareReport, CompareReportError
from flmigrate.runtime.logs import read_log
from flmigrate.runtime.regress_set import Entry, RegressError
from flmigrate.stored import read_json

SCHEMA = 1
KIND = "flmigrate-regress"
_LOGS = {"FLAGOS_LOG_FALLBACK": "1", "FLAGOS_LOG_DISPATCH": "1"}
_REPEAT = "3"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One model of a run: its comparison, or why there is none; and the operators that ran on
    the CPU, with how often, as Torch-FL's log has them."""

    name: str
    report: CompareReport | None
    problem: str = ""
    fallbacks: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class StoredRun:
    """One run of the whole set. ``versions`` are those of torch, torch_fl and the driver."""

    date: str
    device: str
    chip: str
    versions: tuple[tuple[str, str], ...]
    outcomes: tuple[Outcome, ...]


def run_set(
    entries: tuple[Entry, ...],
    device: str,
    chip: str,
    versions: tuple[tuple[str, str], ...],
    *,
    timeout: float,
    manifest: Manifest | None = None,
) -> StoredRun:
    """Run every model, one after the other; ``timeout`` is in seconds, per model."""
    now = datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None)
    return StoredRun(
        now.isoformat(timespec="seconds"),
        device,
        chip,
        versions,
        tuple(_run(entry, device, chip, timeout, manifest) for entry in entries),
    )


def _run(
    entry: Entry, device: str, chip: str, timeout: float, manifest: Manifest | None
) -> Outcome:
    command = [sys.executable, "-m", "flmigrate", "compare", *entry.arguments()]
    command += ["--device", device, "--chip", chip, "--repeat", _REPEAT, "--json"]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            env={**os.environ, **_LOGS},
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Outcome(entry.name, None, f"no end within {timeout:.0f} s")
    log = read_log(done.stderr.splitlines(), manifest)
    fallbacks = tuple((op.op, op.calls) for op in log.fallbacks)
    try:
        # Programs print too; the report is the last object that begins a line.
        start = ("\n" + done.stdout).rindex('\n{\n "schema"')
        report = compare_report.from_data(json.loads(done.stdout[start:]), entry.name)
    except (ValueError, CompareReportError):
        said = [line for line in done.stderr.splitlines() if line.strip()]
        last = said[-1] if said else "without a word"
        return Outcome(entry.name, None, f"exit code {done.returncode}: {last}", fallbacks)
    return Outcome(entry.name, report, "", fallbacks)


# --- stored runs ---------------------------------------------------------------------------


def store(folder: Path, run: StoredRun) -> Path:
    """Write a run into the folder, which is made if it is not there; returns the file.

    Raises ``RegressError`` where that fails.
    """
    data = {
        "schema": SCHEMA,
        "kind": KIND,
        "date": run.date,
        "device": run.device,
        "chip": run.chip,
        "versions": dict(run.versions),
        "outcomes": [
            {
                "name": outcome.name,
                "problem": outcome.problem,
                "fallbacks": dict(outcome.fallbacks),
                "report": compare_report.as_data(outcome.report) if outcome.report else None,
            }
            for outcome in run.outcomes
        ],
    }
    stem = run.date.replace(":", "")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{stem}.json"
        number = 2
        while path.exists():
            path = folder / f"{stem}.{number:03}.json"
            number += 1
        path.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise RegressError(f"{folder}: {error.strerror or error}") from None
    return path


def last_stored(folder: Path) -> tuple[Path, StoredRun] | None:
    """The newest run in the folder, by the name of its file; ``None`` where there is none.

    Raises ``RegressError`` for a file that is no stored run.
    """
    files = sorted(folder.glob("*.json"), key=lambda path: path.stem) if folder.is_dir() else []
    if not files:
        return None
    path = files[-1]
    data = read_json(path, RegressError)
    try:
        if data["kind"] != KIND or data["schema"] != SCHEMA:
            raise RegressError(f"{path}: no results of this version of flmigrate")
        return path, _run_of(data, str(path))
    except (KeyError, TypeError, AttributeError, CompareReportError) as error:
        raise RegressError(f"{path}: no results of flmigrate regress ({error})") from None


def _run_of(data: Any, where: str) -> StoredRun:
    outcomes = []
    for outcome in data["outcomes"]:
        report = outcome["report"]
        outcomes.append(
            Outcome(
                outcome["name"],
                compare_report.from_data(report, where) if report is not None else None,
                outcome["problem"],
                tuple(outcome["fallbacks"].items()),
            )
        )
    versions = tuple(data["versions"].items())
    return StoredRun(data["date"], data["device"], data["chip"], versions, tuple(outcomes))
