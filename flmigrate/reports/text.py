"""Plain text for a terminal: a line per finding, and the summary of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from flmigrate.checking import Check, counts, is_fixable
from flmigrate.documents import NOTEBOOK
from flmigrate.findings import Finding, Result
from flmigrate.migration import Migration, for_a_human
from flmigrate.rules import RULES

# Reasons that are not about one line of the file.
_WHOLE_FILE = frozenset({"FL903", "FL904", "FL905"})


def finding_lines(result: Result, *, verbose: bool = False) -> Iterator[str]:
    """``file:line:column: CODE message`` for what remains in one file.

    Without ``verbose``, only what is left for a human, but for operators, which the summary
    groups; with it, remarks and the fixes too.
    """
    if verbose:
        for finding in result.fixed:
            title = finding.fix.title if finding.fix is not None else ""
            place = _place(result.path, finding, result.before)
            yield f"{place}: {finding.code} [fixed] {one_line(title)}"
    for finding in result.left:
        if verbose or (for_a_human(finding) and not finding.chips):
            text = f"{finding.message}: {finding.detail}" if finding.detail else finding.message
            place = _place(result.path, finding, result.after)
            yield f"{place}: {finding.label} {one_line(text)}"


def _place(path: str, finding: Finding, text: str = "") -> str:
    """``file:line:column``; in a notebook with the cell, in which the lines are counted."""
    if path.endswith(NOTEBOOK):
        from flmigrate.notebooks import place_in_cell

        cell = place_in_cell(text, finding.line)
        if cell is not None:
            return f"{path}:cell {cell[0]}:{cell[1]}:{finding.column}"
    return f"{path}:{finding.line}:{finding.column}"


def one_line(text: str) -> str:
    """A message without line breaks."""
    return " ".join(text.split())


def summary_lines(migration: Migration, *, wrote: bool) -> Iterator[str]:
    """The summary that ends a run; ``wrote`` says whether files were written."""
    for path, reason in migration.skipped:
        place = path if reason.code in _WHOLE_FILE else f"{path}:{reason.line}"
        yield f"{place}: {reason.code} skipped: {one_line(reason.message)}"
    seen, changed = len(migration.results), len(migration.changed)
    verb = "changed" if wrote else "would change"
    parts = [f"{_count(seen, 'file')} seen", f"{changed} {verb}"]
    parts.append(f"{len(migration.skipped)} skipped")
    yield ", ".join(parts)
    if migration.fixed:
        yield f"  fixes: {_by_code(migration.fixed)}"
    if migration.left:
        total = sum(migration.left.values())
        yield f"  left for a human: {total} ({_by_code(migration.left)})"
    yield from _by_operator(migration)


def _by_operator(migration: Migration) -> Iterator[str]:
    """What is said about chips: an operator that is missing in 400 places is one line."""
    groups: dict[tuple[str, str], list[str]] = {}
    for result in migration.results:
        for finding in result.left:
            if not finding.chips or not for_a_human(finding):
                continue
            subjects = [f"aten::{op}" for op in finding.ops] or [one_line(finding.message)]
            for subject in subjects:
                places = groups.setdefault((finding.label, subject), [])
                places.append(_place(result.path, finding))
    for (label, subject), places in sorted(groups.items(), key=lambda g: (-len(g[1]), g[0])):
        yield f"  {label} {subject}: {_count(len(places), 'place')}, first {places[0]}"


def check_lines(check: Check, *, verbose: bool = False) -> Iterator[str]:
    """``file:line:column: CODE message`` for each finding that counts, by file.

    ``[*]`` marks what ``rewrite`` fixes. With ``verbose``, remarks too.
    """
    for path, reason in check.migration.skipped:
        yield f"{_place(path, reason)}: {reason.code} {one_line(reason.message)}"
    for result in check.results:
        for finding in result.left:
            if verbose or counts(finding):
                mark = "[*] " if is_fixable(finding) else ""
                place = _place(result.path, finding, result.before)
                yield f"{place}: {finding.code} {mark}{advice(finding)}"


def advice(finding: Finding) -> str:
    """What is wrong at a place and what to write there, on one line."""
    text = finding.message
    if finding.fix is not None and is_fixable(finding):
        # "Use flagos" says nothing new where the message ends in "becomes flagos".
        if finding.fix.title.partition(" ")[2] not in text:
            text += f"; {finding.fix.title[:1].lower()}{finding.fix.title[1:]}"
    elif finding.detail:
        text += f": {finding.detail}"
    return one_line(text)


def statistics_lines(check: Check) -> Iterator[str]:
    """One line per code, the most frequent first: how often, and what it is called."""
    fixable = Counter(finding.code for _, finding in check.findings if is_fixable(finding))
    ordered = sorted(check.counts.items(), key=lambda item: (-item[1], item[0]))
    width = len(str(ordered[0][1])) if ordered else 0
    for code, count in ordered:
        mark = "[*]" if fixable[code] == count else "[-]" if fixable[code] else "[ ]"
        yield f"{count:>{width}}  {code}  {mark} {RULES[code]}"


def check_summary(check: Check) -> str:
    """The line that ends a check: how much there is, and how much of it ``rewrite`` fixes."""
    found = list(check.findings)
    seen = _count(len(check.results), "file")
    if not found:
        return f"no findings in {seen}"
    files = _count(len({path for path, _ in found}), "file")
    text = f"{_count(len(found), 'finding')} in {files} of {len(check.results)}"
    fixable = sum(is_fixable(finding) for _, finding in found)
    return f"{text}; {fixable} [*] fixed by `flmigrate rewrite`" if fixable else text


def _by_code(counts: Counter[str]) -> str:
    return ", ".join(f"{code} {RULES[code]} {count}" for code, count in sorted(counts.items()))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
