"""What a run found, in the form that all machine-readable reports are made from."""

from __future__ import annotations

import enum
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from flmigrate.checking import counts, is_fixable
from flmigrate.documents import NOTEBOOK, is_markdown
from flmigrate.findings import Finding, Outcome, Rename, Result, Severity, Span, Text
from flmigrate.fingerprints import Place, fingerprint, places_of
from flmigrate.hunks import hunks_of
from flmigrate.migration import Migration
from flmigrate.notebooks import place_in_cell
from flmigrate.rules import RULES

_QUOTE = re.compile(r"[rRuUbB]{0,2}(?:\"{3}|'{3}|\"|')")


class Status(enum.Enum):
    """What became, or is to become, of a place."""

    FIXABLE = "fixable"  # rewrite changes it by default
    FIXED = "fixed"  # rewrite has changed it
    LEFT = "left"  # a human must look
    REMARK = "remark"  # worth knowing only
    SKIPPED = "skipped"  # the file could not be handled


@dataclass(frozen=True, slots=True)
class Replacement:
    """A change: from a line and column up to, not including, another, and the new text.

    Lines and columns count from 1, columns in characters.
    """

    line: int
    column: int
    end_line: int
    end_column: int
    text: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One finding of a report. ``end_column`` is the column behind its last character.

    ``replacements`` make the fix, where they are known; ``source`` is the finding's first
    line, for formats that count columns in bytes. ``title`` says what the fix does.
    """

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    code: str
    severity: Severity
    status: Status
    message: str
    detail: str
    title: str
    fingerprint: str
    replacements: tuple[Replacement, ...] = ()
    source: str = ""
    unsafe: bool = False

    @property
    def name(self) -> str:
        """The rule's name."""
        return RULES.get(self.code, "")

    @property
    def counts(self) -> bool:
        """Whether somebody has to do something about it."""
        return self.status in (Status.FIXABLE, Status.LEFT, Status.SKIPPED)


@dataclass(frozen=True, slots=True)
class Report:
    """The entries of a run, by file, with the target's name and the number of files seen.

    ``version`` is flmigrate's.
    """

    entries: tuple[Entry, ...]
    files: int
    target: str
    version: str

    def counts(self, *statuses: Status) -> Counter[str]:
        """How many entries have one of the statuses, by code."""
        return Counter(entry.code for entry in self.entries if entry.status in statuses)


def report_of(migration: Migration, target: str, version: str) -> Report:
    """The report of a check or a rewrite; ``target`` is a name or the path of a table."""
    entries = [_skipped(path, reason) for path, reason in migration.skipped]
    for result in migration.results:
        entries += _of_file(result)
    return Report(tuple(entries), len(migration.results), PurePath(target).stem, version)


def _skipped(path: str, reason: Finding) -> Entry:
    place = Place(reason.code, "", reason.message)
    return Entry(
        path=_posix(path),
        line=reason.line,
        column=reason.column,
        end_line=reason.line,
        end_column=reason.column,
        code=reason.code,
        severity=reason.severity,
        status=Status.SKIPPED,
        message=_one_line(reason.message),
        detail=_one_line(reason.detail),
        title="",
        fingerprint=fingerprint(_posix(path), place),
    )


def _of_file(result: Result) -> Iterator[Entry]:
    path = _posix(result.path)
    seen: Counter[Place] = Counter()
    hunks = _hunk_replacements(result) if result.outcome is Outcome.CHANGED else {}
    for text, findings, fixed in (
        (result.before, result.fixed, True),
        (result.after, result.left, False),
    ):
        for finding, place in zip(findings, places_of(text, findings), strict=True):
            digest = fingerprint(path, place, seen[place])
            seen[place] += 1
            entry = _entry(path, text, finding, fixed, digest, hunks)
            if path.endswith(NOTEBOOK):
                entry = _in_notebook(entry, text)
            elif is_markdown(path):
                entry = replace(entry, replacements=())  # columns are those of the block
            yield entry


def _entry(
    path: str,
    text: str,
    finding: Finding,
    fixed: bool,
    digest: str,
    hunks: dict[int, tuple[Replacement, ...]],
) -> Entry:
    end_line, end_column = _position(text, finding.span.end)
    fix = finding.fix
    unsafe = fix is not None and bool(fix.edits) and not is_fixable(finding)
    return Entry(
        path=path,
        line=finding.line,
        column=finding.column,
        end_line=end_line,
        end_column=end_column,
        code=finding.code,
        severity=finding.severity,
        status=_status(finding, fixed),
        message=_one_line(finding.message),
        detail=_one_line(finding.detail),
        title=fix.title if fix is not None else "",
        fingerprint=digest,
        replacements=hunks.get(id(finding), ()) if fixed else _replacements(text, finding),
        source=_line(text, finding.span.start),
        unsafe=unsafe,
    )


def _in_notebook(entry: Entry, text: str) -> Entry:
    """An entry that names its cell: no line of a notebook's file means anything to a reader."""
    cell, line = place_in_cell(text, entry.line) or (0, entry.line)
    return replace(
        entry,
        line=1,
        column=1,
        end_line=1,
        end_column=1,
        message=f"cell {cell}, line {line}: {entry.message}",
        replacements=(),
        source="",
    )


def _status(finding: Finding, fixed: bool) -> Status:
    if fixed:
        return Status.FIXED
    if is_fixable(finding):
        return Status.FIXABLE
    return Status.LEFT if counts(finding) else Status.REMARK


def _replacements(text: str, finding: Finding) -> tuple[Replacement, ...]:
    """The fix, where it can be told without LibCST: names, and how plain strings begin."""
    found: list[Replacement] = []
    for edit in finding.fix.edits if finding.fix is not None else ():
        span = edit.span
        if isinstance(edit, Text) and not edit.expression:
            quote = _QUOTE.match(text, span.start)
            if quote is None or not text.startswith(edit.old, quote.end()):
                return ()
            span = Span(quote.end(), quote.end() + len(edit.old))
        elif not isinstance(edit, Rename):
            return ()
        found.append(
            Replacement(*_position(text, span.start), *_position(text, span.end), edit.new)
        )
    return tuple(found)


def _hunk_replacements(result: Result) -> dict[int, tuple[Replacement, ...]]:
    """What the fix of each finding, by its identity, has made of whole lines."""
    hunks = hunks_of(result)
    found: dict[int, list[Replacement]] = {}
    for hunk in hunks.hunks:
        block = hunk.block
        new = b"".join(hunks.new[block.new_start : block.new_end]).decode("utf-8", "replace")
        end = block.end + 1, 1
        last = hunks.old[block.end - 1] if block.end > block.start else b"\n"
        if not last.endswith(b"\n"):
            end = block.end, len(last.decode("utf-8", "surrogatepass")) + 1
        replacement = Replacement(block.start + 1, 1, *end, new)
        for finding in hunk.reasons:
            found.setdefault(id(finding), []).append(replacement)
    return {key: tuple(replacements) for key, replacements in found.items()}


def _position(text: str, offset: int) -> tuple[int, int]:
    """Line and column of an offset; only line feeds and carriage returns end a line."""
    before = text[:offset].replace("\r\n", " \n").replace("\r", "\n")
    start = before.rfind("\n") + 1
    return before.count("\n") + 1, offset - start + 1


def _line(text: str, offset: int) -> str:
    start = max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset)) + 1
    return re.split(r"[\r\n]", text[start:], maxsplit=1)[0]


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _posix(path: str) -> str:
    return PurePath(path).as_posix()


def sentence(entry: Entry) -> str:
    """What a report says of an entry: the message, and the fix or the explanation."""
    if entry.status in (Status.FIXABLE, Status.FIXED) and entry.title:
        if entry.title.partition(" ")[2] not in entry.message:
            return f"{entry.message}; {entry.title[:1].lower()}{entry.title[1:]}"
        return entry.message
    return f"{entry.message}: {entry.detail}" if entry.detail else entry.message


def relevant(entries: Sequence[Entry], *, verbose: bool) -> Iterator[Entry]:
    """The entries that a list of problems names: those that count and, ``verbose``, the rest."""
    return (entry for entry in entries if verbose or entry.counts)
