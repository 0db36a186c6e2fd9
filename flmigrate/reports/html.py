"""One HTML page about a migration, for whoever leads it; it loads nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path, PurePosixPath

from flmigrate.reports.entries import Entry, Report, Status, sentence
from flmigrate.rules import RULES

_TEMPLATE = Path(__file__).with_name("page.html.j2")


@dataclass(frozen=True, slots=True)
class Heat:
    """Operators on chips: what each needs of a chip, the worst first.

    ``routes`` has one row per operator with one cell per chip: what happens there (``boxed``,
    ``raises``, ...) and how that is (``native``, ``cpu`` or ``blocked``); both are empty where the
    chip is never asked for the operator. ``blocked`` says which operators cannot run on some
    chips, on which, and at which places the code needs them.
    """

    chips: tuple[str, ...]
    operators: tuple[str, ...]
    routes: tuple[tuple[tuple[str, str], ...], ...]
    blocked: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Readiness:
    """How far a file or a package is: fixes that the tool makes, and what people have to do."""

    name: str
    fixed: int
    left: int

    @property
    def percent(self) -> int:
        """The share of places that need nobody, rounded down; 100 where there are none."""
        total = self.fixed + self.left
        return 100 * self.fixed // total if total else 100


@dataclass(frozen=True, slots=True)
class _Place:
    where: str
    code: str
    name: str
    text: str


def render(report: Report, title: str, heat: Heat | None = None) -> str:
    """The page, from the report of a rewrite. ``heat`` is the operators' part, where known."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = environment.from_string(_TEMPLATE.read_text(encoding="utf-8"))
    fixed = report.counts(Status.FIXED, Status.FIXABLE)
    left = report.counts(Status.LEFT, Status.SKIPPED)
    return template.render(
        title=title,
        report=report,
        whole=Readiness("", fixed.total(), left.total()),
        packages=list(_readiness(report.entries, _package)),
        files=list(_readiness(report.entries, lambda entry: entry.path)),
        fixes=_by_rule(fixed),
        reasons=list(_reasons(report.entries)),
        heat=heat,
    )


def _package(entry: Entry) -> str:
    return str(PurePosixPath(entry.path).parent)


def _readiness(entries: Sequence[Entry], key: Callable[[Entry], str]) -> Iterator[Readiness]:
    counts: dict[str, Counter[bool]] = {}
    for entry in entries:
        if entry.status is not Status.REMARK:
            done = entry.status in (Status.FIXED, Status.FIXABLE)
            counts.setdefault(key(entry), Counter())[done] += 1
    found = [Readiness(name, count[True], count[False]) for name, count in counts.items()]
    # Where most is left for people comes first.
    return iter(sorted(found, key=lambda item: (-item.left, item.name)))


def _by_rule(counts: Counter[str]) -> list[tuple[str, str, int]]:
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [(code, RULES.get(code, ""), count) for code, count in ordered]


def _reasons(entries: Sequence[Entry]) -> Iterator[tuple[str, str, list[_Place]]]:
    """What is left for people, by rule: code, name, and the places."""
    left = [entry for entry in entries if entry.status in (Status.LEFT, Status.SKIPPED)]
    left.sort(key=lambda entry: (entry.code, entry.path, entry.line))
    for code, group in groupby(left, key=lambda entry: entry.code):
        places = [
            _Place(f"{e.path}:{e.line}", e.code, RULES.get(code, ""), sentence(e)) for e in group
        ]
        yield code, RULES.get(code, ""), places
