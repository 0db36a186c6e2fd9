"""``flmigrate check``: what a project's files hold of vendor code, and nothing is edited.

A finding *counts* when ``rewrite`` would change its place by default, or would leave it for a
human. What is only worth knowing does not: it is a remark.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from flmigrate.discovery import discover
from flmigrate.documents import NOTEBOOK
from flmigrate.files import Discovery
from flmigrate.findings import Applicability, Finding, Result, Severity
from flmigrate.migration import Migration, migrate_files, migrate_paths
from flmigrate.runner import Job, problem, vocabulary_for

if TYPE_CHECKING:
    from flmigrate.additions import Additions


class Check(NamedTuple):
    """The outcome of a check: one result per file, in path order, and the paths not read.

    The findings of a result are in its ``left``.
    """

    migration: Migration

    @property
    def results(self) -> tuple[Result, ...]:
        """One result per file."""
        return self.migration.results

    @property
    def findings(self) -> Iterator[tuple[str, Finding]]:
        """Path and finding for each that counts; files that were skipped come first."""
        yield from self.migration.skipped
        for result in self.results:
            yield from ((result.path, finding) for finding in result.left if counts(finding))

    @property
    def counts(self) -> Counter[str]:
        """How many findings count, by code."""
        return Counter(finding.code for _, finding in self.findings)

    @property
    def is_clean(self) -> bool:
        """Whether no finding counts."""
        return next(self.findings, None) is None


def counts(finding: Finding) -> bool:
    """Whether a finding is a reason for exit code 1."""
    return finding.severity is not Severity.INFO or is_fixable(finding)


def is_fixable(finding: Finding) -> bool:
    """Whether ``rewrite`` changes the place by default."""
    fix = finding.fix
    return fix is not None and bool(fix.edits) and fix.applicability is Applicability.SAFE


def check_paths(
    paths: Sequence[Path],
    job: Job,
    *,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Check:
    """Look at the Python files under ``paths``, which are taken as one project.

    ``job`` has ``check_only`` set. Raises ``TableError`` when the target cannot be loaded.
    """
    return Check(migrate_paths(paths, job, jobs=jobs, progress=progress))


def with_project_files(check: Check, paths: Sequence[Path], job: Job, *, folders: bool) -> Check:
    """A check that also tells of files that are not Python (FL8xx).

    They are those among ``paths`` and, with ``folders``, those in the folders named.
    """
    from flmigrate.project_files import is_project_file  # for these only

    config = job.config
    named = [path for path in paths if path.is_file() and is_project_file(path.name)]
    found = discover(paths if folders else named, config.exclude, config.root, is_project_file)
    # A Python file that was named is found too.
    return _with_others(check, [path for path in found.files if is_project_file(path.name)], job)


def _with_others(check: Check, files: Sequence[Path], job: Job) -> Check:
    results = {result.path: result for result in check.results}
    for path in files:
        known, more = results.get(str(path)), _other(path, job)
        if known is not None:  # setup.py is Python and says what is required
            left = sorted((*known.left, *more.left), key=lambda finding: finding.span)
            more = known._replace(left=tuple(left))
        results[str(path)] = more
    ordered = sorted(results.values(), key=lambda result: Path(result.path).parts)
    return Check(check.migration._replace(results=tuple(ordered)))


def _other(path: Path, job: Job) -> Result:
    from flmigrate.project_files import check_project_file

    try:
        data = job.read(path)
    except OSError as error:
        return problem(path, "FL903", error.strerror or str(error))
    config = job.config
    vocabulary = vocabulary_for(config.target)
    return check_project_file(path, data, vocabulary, config.checked_codes_for(path))


def check_additions(
    additions: Additions, job: Job, *, jobs: int = 1, project_files: bool = False
) -> Check:
    """Look at the files in which something is new; all their findings, old and new ones.

    With ``project_files`` a Python file that says what is required is read as such, too.
    """
    files = sorted(additions.lines, key=lambda path: path.parts)
    python = tuple(path for path in files if job.takes(path.name))
    others = [path for path in files if not job.takes(path.name) or project_files]
    given = job._replace(contents=additions.contents)
    check = Check(migrate_files(Discovery(python, ()), given, jobs=jobs))
    if not others:
        return check
    from flmigrate.project_files import is_project_file

    return _with_others(check, [path for path in others if is_project_file(path.name)], given)


def only_new(check: Check, additions: Additions) -> Check:
    """A check with the findings on new lines alone."""
    kept = tuple(
        result._replace(left=tuple(f for f in result.left if is_new(additions, result, f)))
        for result in check.results
    )
    return Check(check.migration._replace(results=kept))


def is_new(additions: Additions, result: Result, finding: Finding) -> bool:
    """Whether a finding touches a line that was added."""
    path = Path(result.path)
    if path.suffix == NOTEBOOK:
        return _is_new_in_notebook(additions, path, finding)
    first = 1 + result.before.count("\n", 0, finding.span.start)
    last = first + result.before.count("\n", finding.span.start, finding.span.end)
    lines = additions.lines[path]
    return any(line in lines for line in range(first, last + 1))


def _is_new_in_notebook(additions: Additions, path: Path, finding: Finding) -> bool:
    from flmigrate.notebooks import line_in_file, read_notebook  # for notebooks only

    given = additions.contents.get(path)
    notebook = read_notebook(path.read_bytes() if given is None else given)
    numbers = range(finding.line, finding.end_line + 1)
    return any(line_in_file(notebook, number) in additions.lines[path] for number in numbers)


def check_text(data: bytes, name: str, job: Job) -> Check:
    """Look at one file's bytes, which need not be on disk, under the name given."""
    path = Path(name)
    given = job._replace(contents={path: data})
    return Check(migrate_files(Discovery((path,), ()), given))
