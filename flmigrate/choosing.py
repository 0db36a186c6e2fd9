"""``rewrite --interactive``: each change is shown with its reason and made if it is wanted."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable

import click

from flmigrate.analysis.vocabulary import Vocabulary
from flmigrate.findings import Finding, Outcome, Result, Severity, Span
from flmigrate.guard import is_whole
from flmigrate.hunks import Hunk, Hunks, hunks_between, hunks_of, taken
from flmigrate.migration import Migration
from flmigrate.patches import diff_name
from flmigrate.runner import with_deep_stack

_AROUND = 3  # lines of context, as in git
_HELP = """\
y - make this change
n - leave it
a - make this and all later changes of the file
d - leave this and all later changes of the file
q - leave this and all later changes"""


class _Answers:
    """What the user wants of the changes, asked one by one."""

    def __init__(self, ask: Callable[[], str]) -> None:
        self._ask = ask
        self.is_over = False

    def wanted(self, hunks: Hunks) -> list[Hunk]:
        """The chosen changes of one file."""
        chosen: list[Hunk] = []
        rest = ""
        for number, hunk in enumerate(hunks.hunks, 1):
            answer = rest
            if not answer:
                _show(hunks, hunk)
                answer = self._answer(number, len(hunks.hunks))
            if answer == "q":
                self.is_over = True
                break
            if answer in ("a", "d"):
                rest = answer
            if answer in ("y", "a"):
                chosen.append(hunk)
        return chosen

    def _answer(self, number: int, count: int) -> str:
        while True:
            click.echo(f"({number}/{count}) Make this change [y,n,a,d,q,?]? ", nl=False)
            answer = self._ask().strip().lower()[:1]
            if answer and answer in "ynadq":
                return answer
            click.echo(_HELP)


def choose(migration: Migration, vocabulary: Vocabulary) -> Migration:
    """A migration with those changes that the user, asked on the terminal, wants.

    Notes are put in with the changes of their file, or left with them.
    """
    answers = _Answers(_read_line)
    results = []
    for result in migration.results:
        if result.outcome is Outcome.CHANGED:
            if answers.is_over:
                result = _left(result)
            else:
                click.echo(click.style(diff_name(result.path), bold=True))
                result = _chosen(result, answers, vocabulary)
        results.append(result)
    return migration._replace(results=tuple(results))


def _read_line() -> str:
    line = sys.stdin.readline()
    if not line:
        click.echo()
        return "q"
    return line


def _chosen(result: Result, answers: _Answers, vocabulary: Vocabulary) -> Result:
    fixes, notes = hunks_of(result), hunks_between(result.unnoted, result.after)
    wanted = answers.wanted(fixes)
    if len(wanted) == len(fixes.hunks):
        if notes.hunks and not answers.is_over:
            after = taken(notes, answers.wanted(notes))
            changed = after != result.before
            outcome = Outcome.CHANGED if changed else Outcome.UNCHANGED
            return result._replace(after=after, outcome=outcome)
        return result._replace(after=result.unnoted)
    if not wanted:
        return _left(result)
    after = taken(fixes, wanted)
    if not with_deep_stack(lambda: is_whole(result.before, after, vocabulary)):
        message = "some of the changes need others that were left; nothing was changed"
        reason = Finding("FL904", message, Span(0, 0), 1, 1, 1, Severity.WARNING)
        return _left(result)._replace(outcome=Outcome.SKIPPED, reason=reason)
    made = {id(finding) for hunk in wanted for finding in hunk.reasons}
    return result._replace(after=after, fixed=tuple(f for f in result.fixed if id(f) in made))


def _left(result: Result) -> Result:
    return result._replace(outcome=Outcome.UNCHANGED, after=result.before, fixed=(), edited=())


def _show(hunks: Hunks, hunk: Hunk) -> None:
    block = hunk.block
    click.echo(click.style(f"@@ line {block.start + 1} @@ {_why(hunk)}", fg="cyan"))
    _lines(" ", hunks.old[max(0, block.start - _AROUND) : block.start])
    _lines("-", hunks.old[block.start : block.end], "red")
    _lines("+", hunks.new[block.new_start : block.new_end], "green")
    _lines(" ", hunks.old[block.end : block.end + _AROUND])


def _why(hunk: Hunk) -> str:
    said = (f"{f.code} {f.fix.title if f.fix is not None else f.message}" for f in hunk.reasons)
    return "; ".join(dict.fromkeys(said)) or "a note for a human"


def _lines(mark: str, lines: Iterable[bytes], colour: str | None = None) -> None:
    for line in lines:
        text = line.decode("utf-8", "backslashreplace").rstrip("\r\n")
        click.echo(click.style(f"{mark}{text}", fg=colour))
