"""Many files through the engine: the prefilter, processes, and what crosses files.

Nothing is written here. A pass over all candidate files comes first; files with a literal
that only a caller in another file explains are then looked at again, and at last the top
module of each package that changed gets the target's import.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from flmigrate.analysis.project import Fact, module_names, settled
from flmigrate.analysis.vocabulary import DEFAULT_VENDOR, may_concern
from flmigrate.findings import Outcome, Result
from flmigrate.units import Analysed
from flmigrate.worker import (
    Job,
    Scanned,
    Work,
    checked_for_encoding,
    problem,
    run_chunk,
    scan,
    start,
    testify,
    vocabulary_for,
    with_deep_stack,
)

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

_CHUNK = 8  # candidate files a worker takes at once
_SCANNED = 256  # files it looks through at once for the mention of a name
_WORTH_A_POOL = 1_500_000  # bytes of files; below, starting workers costs more
_T = TypeVar("_T")


def rewrite_files(
    files: Sequence[Path],
    job: Job,
    *,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[Result]:
    """Rewrite files that belong to one project and yield a result for each, in their order.

    ``jobs`` is the number of processes; ``progress`` is told how many of how many files are
    done. A file that cannot be read, decoded or parsed gives a skipped result, never an
    exception.
    """
    results: dict[Path, Result] = {}
    mentions_cuda = False
    done = 0

    def advance(count: int) -> None:
        nonlocal done
        done += count
        if progress is not None:
            progress(min(done, len(files)), len(files))

    advance(0)
    with _Pool(job, files, jobs if _size(files, job) > _WORTH_A_POOL else 1) as pool:
        candidates: list[Work] = []
        for scanned in pool.scan(files):
            path = scanned.path
            mentions_cuda = mentions_cuda or scanned.mentions_cuda
            if scanned.is_candidate:
                candidates.append(Work(path, has_words=scanned.has_words))
            elif scanned.unreadable:
                results[path] = problem(path, "FL903", scanned.unreadable)
            else:
                results[path] = Result(str(path), Outcome.UNCHANGED)
        advance(len(results))
        found = DEFAULT_VENDOR if mentions_cuda else ""
        pool.canonical_vendor = job.config.canonical_vendor or found
        first = dict(zip(candidates, pool.run(frozenset(), candidates, advance), strict=True))
        pending = frozenset(fact for analysed in first.values() for fact in analysed.pending)
        facts = settled(pending, pool.testify(pending, files))
        again = [work for work, analysed in first.items() if analysed.pending & facts]
        second = zip(again, pool.run(facts, again, _ignore), strict=True)
        first.update(second)
        for work, analysed in first.items():
            results[work.path] = analysed.result
        last: dict[Path, Work] = {}
        if not pool.canonical_vendor and _mentions_cuda(results.values(), job):
            # The target's names count as cuda's: a second run will find that vendor.
            last = {work.path: work._replace(vendor_at_rest=DEFAULT_VENDOR) for work in candidates}
        for top in _tops_to_mark(results, job):
            known = last.get(top, Work(top))
            last[top] = known._replace(package_uses_target=True)
        todo = list(last.values())
        for work, analysed in zip(todo, pool.run(facts, todo, _ignore), strict=True):
            results[work.path] = analysed.result
    for path in files:
        yield results[path]


def _size(files: Iterable[Path], job: Job) -> int:
    size = 0
    for path in files:
        if path in job.contents:
            size += len(job.contents[path])
            continue
        with contextlib.suppress(OSError):  # reported when it is read
            size += path.stat().st_size
    return size


def _mentions_cuda(results: Iterable[Result], job: Job) -> bool:
    """Whether the new text of a changed file will count as cuda's in a second run."""
    words = vocabulary_for(job.config.target).cuda_words
    changed = (result.after for result in results if result.outcome is Outcome.CHANGED)
    return any(may_concern(text.encode("utf-8", "surrogatepass"), words) for text in changed)


def _ignore(count: int) -> None:
    """Second looks are not counted as progress."""


def _tops_to_mark(results: dict[Path, Result], job: Job) -> Iterable[Path]:
    """Top ``__init__.py`` files of packages in which something changed."""
    if job.config.import_in == "none":
        return
    changed = [path for path, result in results.items() if result.outcome is Outcome.CHANGED]
    tops = set()
    for name, path in module_names(changed).items():
        if "." in name:
            depth = name.count(".") - (path.stem != "__init__")
            tops.add(path.parents[depth] / "__init__.py")
    yield from sorted(tops & results.keys())


class _Pool:
    """Runs chunks of files here or in worker processes."""

    def __init__(self, job: Job, files: Sequence[Path], jobs: int) -> None:
        self.canonical_vendor = ""
        self._executor: ProcessPoolExecutor | None = None
        if jobs > 1:
            from concurrent.futures import ProcessPoolExecutor  # 30 ms, for long runs only

            self._executor = ProcessPoolExecutor(jobs, initializer=start, initargs=(job, files))
        else:
            start(job, files)

    def __enter__(self) -> _Pool:
        return self

    def __exit__(self, *error: object) -> None:
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)

    def _submit(self, function: Callable[..., _T], *arguments: object) -> Future[_T]:
        from concurrent.futures import Future
        from concurrent.futures.process import BrokenProcessPool

        assert self._executor is not None
        try:
            return self._executor.submit(function, *arguments)
        except BrokenProcessPool as error:
            broken: Future[_T] = Future()
            broken.set_exception(error)
            return broken

    def scan(self, paths: Sequence[Path]) -> Iterator[Scanned]:
        """Which of the files are candidates."""
        if self._executor is None:
            yield from scan(paths)
            return
        chunks = _chunks(paths, _SCANNED)
        futures = [self._submit(scan, chunk) for chunk in chunks]
        for chunk, future in zip(chunks, futures, strict=True):
            if future.exception() is None:
                yield from future.result()
            else:  # a dead worker's files are all tried, and named if it dies of them again
                yield from (Scanned(path, True, True) for path in chunk)

    def testify(self, wanted: frozenset[Fact], paths: Sequence[Path]) -> Iterator[Fact]:
        """Which of the ``wanted`` facts the files prove."""
        chunks = _chunks(paths, _SCANNED) if wanted else []
        if self._executor is None:
            for chunk in chunks:
                yield from testify(wanted, chunk)
            return
        for future in [self._submit(testify, wanted, chunk) for chunk in chunks]:
            # What a dead worker could have told stays unknown; `run` reports its death.
            with contextlib.suppress(Exception):
                yield from future.result()

    def run(
        self, facts: frozenset[Fact], work: Sequence[Work], advance: Callable[[int], None]
    ) -> Iterator[Analysed]:
        chunks = _chunks(work)
        if self._executor is None:
            for chunk in chunks:
                yield from run_chunk(facts, self.canonical_vendor, chunk)
                advance(len(chunk))
            return
        futures = [self._submit(run_chunk, facts, self.canonical_vendor, chunk) for chunk in chunks]
        for chunk, future in zip(chunks, futures, strict=True):
            try:
                yield from future.result()
            except Exception as error:  # a crashed worker must not lose the other files
                for item in chunk:
                    yield Analysed(problem(item.path, "FL904", f"the worker died: {error}"))
            advance(len(chunk))


def _chunks(items: Sequence[_T], size: int = _CHUNK) -> list[Sequence[_T]]:
    return [items[at : at + size] for at in range(0, len(items), size)]


def default_jobs() -> int:
    """How many processes a run uses when it is not told: one per usable processor."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


__all__ = [
    "Job",
    "checked_for_encoding",
    "default_jobs",
    "problem",
    "rewrite_files",
    "vocabulary_for",
    "with_deep_stack",
]
