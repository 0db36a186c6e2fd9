"""Workflow commands: GitHub Actions shows them at the lines of a pull request."""

from __future__ import annotations

from flmigrate.findings import Severity
from flmigrate.reports.entries import Entry, Report, relevant, sentence

# In the message; properties have two more.
_ESCAPES = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_IN_PROPERTIES = {**_ESCAPES, ":": "%3A", ",": "%2C"}


def render(report: Report) -> str:
    """One command per entry that counts."""
    return "".join(_command(entry) for entry in relevant(report.entries, verbose=False))


def _command(entry: Entry) -> str:
    kind = "error" if entry.severity is Severity.ERROR else "warning"
    properties = {
        "title": f"{entry.code} {entry.name}",
        "file": entry.path,
        "line": str(entry.line),
        "endLine": str(entry.end_line),
        "col": str(entry.column),
        "endColumn": str(entry.end_column),
    }
    listed = ",".join(
        f"{key}={_escaped(value, _IN_PROPERTIES)}" for key, value in properties.items()
    )
    return f"::{kind} {listed}::{_escaped(sentence(entry), _ESCAPES)}\n"


def _escaped(text: str, escapes: dict[str, str]) -> str:
    return "".join(escapes.get(character, character) for character in text)
