"""SARIF 2.1.0, for code scanning and editors."""

from __future__ import annotations

import json
import urllib.parse
from typing import Any

from flmigrate.findings import Severity
from flmigrate.reports.entries import Entry, Replacement, Report, Status, relevant, sentence
from flmigrate.rules import RULES

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def render(report: Report) -> str:
    """One run; files that were skipped are notifications of its invocation."""
    entries = [e for e in relevant(report.entries, verbose=True) if e.status is not Status.SKIPPED]
    codes = sorted({entry.code for entry in entries})
    skipped = [entry for entry in report.entries if entry.status is Status.SKIPPED]
    run = {
        "tool": {
            "driver": {
                "name": "flmigrate",
                "version": report.version,
                "semanticVersion": report.version,
                "rules": [_rule(code) for code in codes],
            }
        },
        "invocations": [
            {
                "executionSuccessful": True,
                "toolExecutionNotifications": [_notification(entry) for entry in skipped],
            }
        ],
        "columnKind": "unicodeCodePoints",
        "results": [_result(entry, codes) for entry in entries],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule(code: str) -> dict[str, Any]:
    name = RULES.get(code, code)
    title = "".join(part.capitalize() for part in name.split("-"))
    text = f"{code} {name}: {name.replace('-', ' ')}. docs/rules.md has what it is about."
    return {
        "id": code,
        "name": title,
        "shortDescription": {"text": name.replace("-", " ")},
        "help": {"text": text},
        "defaultConfiguration": {"level": "warning"},
    }


def _notification(entry: Entry) -> dict[str, Any]:
    return {
        "level": "error",
        "descriptor": {"id": entry.code},
        "message": {"text": entry.message},
        "locations": [_location(entry)],
    }


def _result(entry: Entry, codes: list[str]) -> dict[str, Any]:
    level = _LEVELS[entry.severity]
    if entry.status is Status.FIXABLE and level == "note":
        level = "warning"
    result: dict[str, Any] = {
        "ruleId": entry.code,
        "ruleIndex": codes.index(entry.code),
        "level": level,
        "message": {"text": sentence(entry)},
        "locations": [_location(entry)],
        "partialFingerprints": {"flmigratePlace/v1": entry.fingerprint},
        "properties": {"status": entry.status.value},
    }
    if entry.replacements:
        change = {
            "artifactLocation": _artifact(entry.path),
            "replacements": [_replacement(item) for item in entry.replacements],
        }
        title = entry.title
        if entry.unsafe:
            title += " (may change what the program means)"
        result["fixes"] = [{"description": {"text": title}, "artifactChanges": [change]}]
    return result


def _location(entry: Entry) -> dict[str, Any]:
    region = _region(entry.line, entry.column, entry.end_line, entry.end_column)
    return {"physicalLocation": {"artifactLocation": _artifact(entry.path), "region": region}}


def _artifact(path: str) -> dict[str, str]:
    if path.startswith("/"):
        return {"uri": "file://" + urllib.parse.quote(path)}
    return {"uri": urllib.parse.quote(path), "uriBaseId": "%SRCROOT%"}


def _region(line: int, column: int, end_line: int, end_column: int) -> dict[str, int]:
    return {
        "startLine": line,
        "startColumn": column,
        "endLine": end_line,
        "endColumn": end_column,
    }


def _replacement(item: Replacement) -> dict[str, Any]:
    deleted = _region(item.line, item.column, item.end_line, item.end_column)
    return {"deletedRegion": deleted, "insertedContent": {"text": item.text}}
