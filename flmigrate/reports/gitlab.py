"""GitLab's Code Quality report, which merge requests show."""

from __future__ import annotations

import json

from flmigrate.findings import Severity
from flmigrate.reports.entries import Report, relevant, sentence

_SEVERITIES = {Severity.ERROR: "critical", Severity.WARNING: "major", Severity.INFO: "minor"}


def render(report: Report) -> str:
    """One issue per entry that counts."""
    issues = [
        {
            "description": f"{entry.code}: {sentence(entry)}",
            "check_name": entry.code,
            "fingerprint": entry.fingerprint,
            "severity": _SEVERITIES[entry.severity],
            "location": {"path": entry.path, "lines": {"begin": entry.line, "end": entry.end_line}},
        }
        for entry in relevant(report.entries, verbose=False)
    ]
    return json.dumps(issues, indent=2) + "\n"
