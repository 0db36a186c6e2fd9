"""What a run teaches about a chip: results for the project's own overlay. Needs no torch."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable
from pathlib import Path

from flmigrate.manifests.model import Manifest, ManifestError, Measured
from flmigrate.manifests.overlay import read_overlay
from flmigrate.runtime import compare_report, run_report
from flmigrate.runtime.compare_report import CompareReport
from flmigrate.runtime.run_report import RunReport
from flmigrate.stored import read_json

_REAL = ("(torch_fl", "(log)", "(trace)")
"""What the description of a device has where it is a real one."""


def read_any(path: Path) -> RunReport | CompareReport:
    """A report of a run or a comparison.

    Raises ``RunReportError`` or ``CompareReportError`` for anything else.
    """
    data = read_json(path, run_report.RunReportError)
    if isinstance(data, dict) and data.get("kind") == compare_report.KIND:
        return compare_report.from_data(data, str(path))
    return run_report.from_data(data, str(path))


def learned(
    report: RunReport | CompareReport, where: str, today: datetime.date, manifest: Manifest
) -> list[Measured]:
    """The results that a report holds for a chip, one per operator.

    A run tells what raised and what ran on the CPU, and of what ran on the chip only that which
    the manifest denies. A comparison tells of each operator whether it was right by itself. Raises
    ``ManifestError`` for a report of a device that is only simulated: nothing was measured.
    """
    if not any(mark in report.device for mark in _REAL):
        raise ManifestError(
            f'{where}: ran on "{report.device or "an unknown device"}": that measures no chip'
        )
    date = report.date or today.isoformat()
    if isinstance(report, CompareReport):
        return list(_compared(report, date))
    return list(_ran(report, date, manifest))


def _ran(report: RunReport, date: str, manifest: Manifest) -> Iterable[Measured]:
    found: dict[str, Measured] = {}
    missing = {op.op for op in report.missing}
    for op in report.operators:
        route = manifest.route(op.op)
        if op.op in missing:
            found[op.op] = Measured(op.op, "raises", date, op.error[:120])
        elif op in report.fallbacks:
            cost = f", {op.seconds * 1000:.1f} ms" if op.seconds else ""
            note = f"ran on the CPU, {op.calls} calls{cost}"
            found.setdefault(op.op, Measured(op.op, "slow", date, note))
        elif route is not None and route.level in ("cpu", "blocked") and op.calls and op.route:
            note = f"ran on the chip by {op.backend or op.route}"
            found.setdefault(op.op, Measured(op.op, "ok", date, note))
    return found.values()


def _compared(report: CompareReport, date: str) -> Iterable[Measured]:
    found: dict[str, Measured] = {}
    for case in report.cases:
        for op in case.operators:
            if op.status == "off":
                note = f"score {op.score:.3g} in {case.dtype}, batch {case.batch}, {report.model}"
                found[op.op] = Measured(op.op, "wrong", date, note)
            else:
                note = f"right in {case.dtype} in {report.model}"
                found.setdefault(op.op, Measured(op.op, "ok", date, note))
    return found.values()


def add_to_overlay(path: Path, chip: str, results: list[Measured]) -> list[Measured]:
    """Append results to an overlay, which is made if it is not there; returns what was new.

    What is in the file stays, word for word: the last result for an operator counts. One that
    says what the last already says is not added. Raises ``ManifestError`` for a file that is no
    overlay or cannot be written.
    """
    known: dict[tuple[str, str], str] = {}
    text = ""
    if path.exists():
        for on, result in read_overlay(path):
            known[on, result.op] = result.status
        text = path.read_text(encoding="utf-8")
    new = [result for result in results if known.get((chip, result.op)) != result.status]
    if not new:
        return []
    blocks = [text.rstrip("\n") + "\n"] if text.strip() else []
    blocks += [_block(chip, result) for result in new]
    try:
        path.write_text("\n".join(blocks), encoding="utf-8")
    except OSError as error:
        raise ManifestError(f"{path}: {error.strerror or error}") from None
    return new


def _block(chip: str, result: Measured) -> str:
    lines = [
        "[[result]]",
        f"chip = {_quoted(chip)}",
        f"op = {_quoted(f'aten::{result.op}')}",
        f"status = {_quoted(result.status)}",
        f"date = {result.date[:10]}",
    ]
    if result.note:
        lines.append(f"note = {_quoted(result.note)}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """A basic string of TOML, whose escapes are those of JSON."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
