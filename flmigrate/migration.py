"""A whole run over paths: discovery, rewriting, and writing what changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from flmigrate.documents import read_document, write_document
from flmigrate.encoding import UndecodableError
from flmigrate.files import Discovery, discover, write_atomic
from flmigrate.findings import Finding, Outcome, Result, Severity, Span
from flmigrate.git import GitError, dirty_files, repository_root
from flmigrate.runner import Job, rewrite_files


class Migration(NamedTuple):
    """The outcome of a run: one result per file, in path order."""

    results: tuple[Result, ...]
    problems: tuple[Finding, ...] = ()
    problem_paths: tuple[str, ...] = ()

    @property
    def changed(self) -> tuple[Result, ...]:
        """Files whose text changed (or would change)."""
        return tuple(r for r in self.results if r.outcome is Outcome.CHANGED)

    @property
    def skipped(self) -> tuple[tuple[str, Finding], ...]:
        """Files and paths that could not be handled, with the reason."""
        found = list(zip(self.problem_paths, self.problems, strict=True))
        found += [(r.path, r.reason) for r in self.results if r.reason is not None]
        return tuple(found)

    @property
    def fixed(self) -> Counter[str]:
        """How many fixes were applied, by code."""
        return Counter(f.code for r in self.changed for f in r.fixed)

    @property
    def left(self) -> Counter[str]:
        """How many places are left for a human, by code."""
        return Counter(f.code for r in self.results for f in r.left if for_a_human(f))

    @property
    def is_clean(self) -> bool:
        """Whether nothing is left for a human and no file was skipped."""
        return not self.left and not self.skipped


def for_a_human(finding: Finding) -> bool:
    """Whether a remaining finding is counted as left for a human."""
    return finding.severity is not Severity.INFO


def migrate_paths(
    paths: Sequence[Path],
    job: Job,
    *,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Migration:
    """Rewrite the Python files under ``paths`` in memory; nothing is written.

    Raises ``TableError`` when the target cannot be loaded.
    """
    found = discover(paths, job.config.exclude, job.config.root, job.takes)
    return migrate_files(found, job, jobs=jobs, progress=progress)


def migrate_files(
    found: Discovery,
    job: Job,
    *,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Migration:
    """``migrate_paths`` for files that were found already."""
    results = tuple(rewrite_files(found.files, job, jobs=jobs, progress=progress))
    problems = tuple(_problem("FL903", message) for _, message in found.problems)
    return Migration(results, problems, tuple(str(path) for path, _ in found.problems))


def _problem(code: str, message: str) -> Finding:
    return Finding(code, message, Span(0, 0), 1, 1, 1, Severity.WARNING)


def write_results(migration: Migration, *, allow_dirty: bool = False) -> Migration:
    """Write the changed files in place and say which could not be written.

    A file with uncommitted changes is left alone unless ``allow_dirty``: its present content
    could not be brought back.
    """
    changed = migration.changed
    dirty: set[Path] = set()
    blocked = ""
    if changed and not allow_dirty:
        try:
            dirty = dirty_files(Path(result.path) for result in changed)
        except GitError as error:
            blocked = f"{error}; use --allow-dirty to write all the same"
    written = []
    for result in migration.results:
        if result.outcome is Outcome.CHANGED:
            if blocked:
                result = _refused(result, "FL905", blocked)
            elif Path(result.path) in dirty:
                message = "has uncommitted changes; commit them or use --allow-dirty"
                result = _refused(result, "FL905", message)
            else:
                result = _write(result)
        written.append(result)
    return migration._replace(results=tuple(written))


def _refused(result: Result, code: str, message: str) -> Result:
    return result._replace(
        outcome=Outcome.SKIPPED,
        after=result.before,
        fixed=(),
        left=(),
        reason=_problem(code, message),
    )


def _write(result: Result) -> Result:
    path = Path(result.path)
    try:
        document = read_document(path.name, path.read_bytes())
        if document.text != result.before:
            return _refused(result, "FL904", "changed on disk while it was being rewritten")
        write_atomic(path, write_document(document, result.after))
    except UndecodableError as error:
        return _refused(result, "FL901", str(error))
    except OSError as error:
        return _refused(result, "FL903", error.strerror or str(error))
    return result


def patch_root(results: Sequence[Result]) -> Path:
    """Where a patch of these files applies: their repository's root, else this folder."""
    for result in results:
        root = repository_root(Path(result.path))
        if root is not None:
            return root
    return Path.cwd()
