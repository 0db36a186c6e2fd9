"""JSON with a schema of its own: ``docs/report.schema.json``."""

from __future__ import annotations

import json
from typing import Any

from flmigrate.reports.entries import Entry, Report, Status

VERSION = 1
"""The version of the schema; it grows when a field goes or changes its meaning."""


def render(report: Report) -> str:
    """All entries, remarks included."""
    statuses = {s.value: sum(report.counts(s).values()) for s in Status}
    data = {
        "version": VERSION,
        "tool": {"name": "flmigrate", "version": report.version},
        "target": report.target,
        "summary": {"files": report.files, **statuses},
        "findings": [_finding(entry) for entry in report.entries],
    }
    return json.dumps(data, indent=2) + "\n"


def _finding(entry: Entry) -> dict[str, Any]:
    fix: dict[str, Any] | None = None
    if entry.title:
        fix = {
            "title": entry.title,
            "applicability": "unsafe" if entry.unsafe else "safe",
            "replacements": [
                {
                    "start": {"line": r.line, "column": r.column},
                    "end": {"line": r.end_line, "column": r.end_column},
                    "text": r.text,
                }
                for r in entry.replacements
            ],
        }
    return {
        "path": entry.path,
        "start": {"line": entry.line, "column": entry.column},
        "end": {"line": entry.end_line, "column": entry.end_column},
        "code": entry.code,
        "name": entry.name,
        "severity": entry.severity.value,
        "status": entry.status.value,
        "message": entry.message,
        "detail": entry.detail,
        "fix": fix,
        "fingerprint": entry.fingerprint,
    }
