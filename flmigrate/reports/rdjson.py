"""rdjson, the format of reviewdog; its columns count UTF-8 bytes."""

from __future__ import annotations

import json
from typing import Any

from flmigrate.findings import Severity
from flmigrate.reports.entries import Entry, Replacement, Report, relevant, sentence

_SEVERITIES = {Severity.ERROR: "ERROR", Severity.WARNING: "WARNING", Severity.INFO: "INFO"}


def render(report: Report) -> str:
    """One diagnostic per entry that counts, with suggestions where the fix is known."""
    data = {
        "source": {"name": "flmigrate"},
        "severity": "WARNING",
        "diagnostics": [_diagnostic(e) for e in relevant(report.entries, verbose=False)],
    }
    return json.dumps(data, indent=2) + "\n"


def _diagnostic(entry: Entry) -> dict[str, Any]:
    found: dict[str, Any] = {
        "message": sentence(entry),
        "location": {
            "path": entry.path,
            "range": {
                "start": _position(entry, entry.line, entry.column),
                "end": _position(entry, entry.end_line, entry.end_column),
            },
        },
        "severity": _SEVERITIES[entry.severity],
        "code": {"value": entry.code},
    }
    # A suggestion replaces one range; several together are only right when all are taken.
    if len(entry.replacements) == 1:
        found["suggestions"] = [_suggestion(entry, entry.replacements[0])]
    return found


def _suggestion(entry: Entry, item: Replacement) -> dict[str, Any]:
    return {
        "range": {
            "start": _position(entry, item.line, item.column),
            "end": _position(entry, item.end_line, item.end_column),
        },
        "text": item.text,
    }


def _position(entry: Entry, line: int, column: int) -> dict[str, int]:
    """A position in bytes; on other lines than the entry's first only lines are told."""
    if line != entry.line:
        return {"line": line, "column": column} if column == 1 else {"line": line}
    before = entry.source[: column - 1]
    return {"line": line, "column": len(before.encode("utf-8", "surrogatepass")) + 1}
