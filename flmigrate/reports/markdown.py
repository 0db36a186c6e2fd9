"""Markdown for a comment on a pull request: GitHub takes 65,536 characters of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from flmigrate.findings import Severity
from flmigrate.reports.entries import Entry, Report, Status, sentence
from flmigrate.rules import RULES

LIMIT = 65_000  # characters; some are left for what others put around the comment
_FIRST = 10  # places that are shown unfolded
_WEIGHTS = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}


def render(report: Report) -> str:
    """A summary, the places that matter most, and all others folded by file."""
    head = "\n".join(_head(report))
    open_entries = [entry for entry in report.entries if entry.counts]
    important = sorted(open_entries, key=_weight)[:_FIRST]
    if important:
        head += "\n### First of all\n\n" + "".join(f"- {_line(entry)}\n" for entry in important)
    rest = "".join(_within(list(_folded(open_entries)), LIMIT - len(head)))
    return f"{head}{rest}"


def _head(report: Report) -> Iterator[str]:
    open_count = sum(entry.counts for entry in report.entries)
    noun = "place" if open_count == 1 else "places"
    yield f"## flmigrate: {open_count or 'no'} {noun} with vendor code"
    yield ""
    yield f"Files seen: {report.files}. Target: {report.target}."
    rows = list(_rows(report))
    if rows:
        yield ""
        yield "| rule | fixed | fixable | for a human | skipped |"
        yield "|---|--:|--:|--:|--:|"
        yield from rows
    yield ""


def _rows(report: Report) -> Iterator[str]:
    order = (Status.FIXED, Status.FIXABLE, Status.LEFT, Status.SKIPPED)
    counts = [report.counts(status) for status in order]
    for code in sorted({code for count in counts for code in count}):
        cells = " | ".join(str(count[code] or "") for count in counts)
        yield f"| {code} {RULES.get(code, '')} | {cells} |"


def _weight(entry: Entry) -> tuple[bool, int, str, int]:
    # What a person has to do comes before what the tool can do.
    return entry.status is Status.FIXABLE, _WEIGHTS[entry.severity], entry.path, entry.line


def _folded(entries: Sequence[Entry]) -> Iterator[str]:
    ordered = sorted(entries, key=lambda entry: (entry.path, entry.line, entry.column))
    for path, group in groupby(ordered, key=lambda entry: entry.path):
        lines = [f"- {_line(entry)}\n" for entry in group]
        summary = f"<code>{_html(path)}</code>: {len(lines)}"
        yield f"\n<details><summary>{summary}</summary>\n\n{''.join(lines)}\n</details>\n"


def _within(parts: Sequence[str], room: int) -> Iterator[str]:
    """As many of the parts as there is room for, and how many are left out."""
    note = "\n{} more files are not shown here.\n"
    room -= len(note) + 10
    for number, part in enumerate(parts):
        if len(part) > room:
            yield note.format(len(parts) - number)
            return
        room -= len(part)
        yield part


def _line(entry: Entry) -> str:
    mark = " (fixable)" if entry.status is Status.FIXABLE else ""
    return f"`{_code(entry.path)}:{entry.line}` **{entry.code}**{mark} {_text(sentence(entry))}"


def _code(text: str) -> str:
    return text.replace("`", "'")


def _text(text: str) -> str:
    """Text in which nothing is taken for markup, a mention or a reference."""
    escaped = "".join(f"\\{c}" if c in "\\`*_[]<>|~" else c for c in text)
    return escaped.replace("@", "@\u200b").replace("#", "\\#")


def _html(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
