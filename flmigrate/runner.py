"""Many files through the engine: reading, the prefilter, processes, and what crosses files.

Nothing is written here. A pass over all candidate files comes first; files with a literal
that only a caller in another file explains are then looked at again, and at last the top
module of each package that changed gets the target's import.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from flmigrate.analysis.context import Context
from flmigrate.analysis.kinds import METHODS
from flmigrate.analysis.project import Fact, Project, module_names, settled
from flmigrate.analysis.source import Source
from flmigrate.analysis.vocabulary import Vocabulary, words_of
from flmigrate.config import Config
from flmigrate.encoding import Decoded, UndecodableError, decode, encode
from flmigrate.engine import Analysed, Settings, Unit, rewrite_unit
from flmigrate.findings import Finding, Outcome, Result, Severity, Span
from flmigrate.tables import load_target, load_vendors

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

_STACK = 512 * 1024 * 1024  # reserved, not used: parsers recurse once per link of a chain
_RECURSION = 100_000
_CHUNK = 16  # files a worker takes at once
_WORTH_A_POOL = 1_500_000  # bytes of candidate files; below, starting workers costs more
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Job:
    """What a run does, in a form that can be sent to another process."""

    config: Config
    unsafe_fixes: bool = False
    notes: bool = True
    canonical_vendor: str = ""


@dataclass(frozen=True, slots=True)
class _Work:
    """One file for a worker."""

    path: Path
    package_uses_target: bool = False


@cache
def vocabulary_for(target: str) -> Vocabulary:
    """The vocabulary of a target; raises ``TableError`` for one that cannot be loaded."""
    return Vocabulary(load_vendors(), load_target(target))


class _Worker:
    """The state of one process: settings, project, and the facts found so far."""

    def __init__(self, job: Job, files: Sequence[Path]) -> None:
        self.job = job
        self.vocabulary = vocabulary_for(job.config.target)
        self.project = Project(module_names(files), self.vocabulary, _read_text)

    def settings(self, path: Path) -> Settings:
        return Settings(
            self.vocabulary,
            self.job.unsafe_fixes,
            self.job.notes,
            self.job.config.import_in or "",
            self.job.canonical_vendor,
            self.job.config.drop_vendors,
            self.job.config.codes_for(path),
        )

    def run(self, work: _Work) -> Analysed:
        path = work.path
        try:
            decoded = decode(path.read_bytes())
        except UndecodableError as error:
            return Analysed(problem(path, "FL901", str(error), error.line))
        except OSError as error:
            return Analysed(problem(path, "FL903", error.strerror or str(error)))
        unit = Unit(
            str(path),
            decoded.text,
            self.project.names.get(path, ""),
            path.stem == "__init__",
            work.package_uses_target,
        )
        try:
            analysed = rewrite_unit(unit, self.settings(path), self.project)
        except Exception as error:  # a defect of ours must not stop the run
            message = f"internal error, please report it: {type(error).__name__}: {error}"
            return Analysed(problem(path, "FL904", message))
        result = checked_for_encoding(analysed.result, decoded)
        if result.outcome is Outcome.UNCHANGED:
            # Texts of files that stay are not carried along: there are thousands of them.
            result = replace(result, before="", after="")
        return Analysed(result, frozenset(filter(self._can_be_told, analysed.pending)))

    def _can_be_told(self, fact: Fact) -> bool:
        """Whether other files of the project may know more about a name."""
        return fact[1].startswith(METHODS) or self.project.owns(fact[1])

    def testimony(self, path: Path, wanted: frozenset[Fact]) -> frozenset[Fact]:
        name = self.project.names.get(path, "")
        try:
            source = Source(_read_text(path), str(path))
            context = Context(
                source,
                self.vocabulary,
                name,
                path.stem == "__init__",
                self.project.asker(name),
            )
            told = self.project.testimony(context, wanted)
            context.release()
            return told
        except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
            return frozenset()  # such a file tells nothing


_worker: _Worker | None = None


def _start(job: Job, files: Sequence[Path]) -> None:
    global _worker
    _worker = _Worker(job, files)


def _run_chunk(facts: frozenset[Fact], chunk: Sequence[_Work]) -> list[Analysed]:
    worker = _worker
    assert worker is not None
    worker.project.facts = facts
    with _without_collections():
        return with_deep_stack(lambda: [worker.run(work) for work in chunk])


@contextlib.contextmanager
def _without_collections() -> Iterator[None]:
    """Collect garbage once per chunk: looking through live trees again and again costs a third."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
            gc.collect(1)


def _testify(wanted: frozenset[Fact], chunk: Sequence[Path]) -> frozenset[Fact]:
    worker = _worker
    assert worker is not None
    worker.project.facts = frozenset()
    with _without_collections():
        found = with_deep_stack(lambda: [worker.testimony(path, wanted) for path in chunk])
    return frozenset[Fact]().union(*found)


def with_deep_stack(function: Callable[[], _T]) -> _T:
    """Run ``function`` where long chains and deep nesting do not exhaust the stack."""
    outcome: list[_T] = []
    failure: list[BaseException] = []

    def target() -> None:
        try:
            outcome.append(function())
        except BaseException as error:  # re-raised in the caller's thread
            failure.append(error)

    limit, size = sys.getrecursionlimit(), threading.stack_size(_STACK)
    sys.setrecursionlimit(max(limit, _RECURSION))
    try:
        thread = threading.Thread(target=target, daemon=True)
        thread.start()
        while thread.is_alive():
            thread.join(0.5)  # with a time-out, so that an interrupt is noticed
    finally:
        threading.stack_size(size)
        sys.setrecursionlimit(limit)
    if failure:
        raise failure[0]
    return outcome[0]


def _read_text(path: Path) -> str:
    return decode(path.read_bytes()).text


def problem(path: Path | str, code: str, message: str, line: int = 1) -> Result:
    """The result of a file that could not be handled, for the reason given."""
    reason = Finding(code, message, Span(0, 0), line, 1, line, Severity.WARNING)
    return Result(str(path), Outcome.SKIPPED, reason=reason)


def checked_for_encoding(result: Result, decoded: Decoded) -> Result:
    """The result, or a skipped one where its new text does not fit the file's encoding."""
    if result.outcome is Outcome.CHANGED:
        try:
            encode(decoded, result.after)
        except UndecodableError as error:
            message = f"the new text does not fit the file's encoding: {error.reason}"
            skipped = problem(result.path, "FL901", message)
            return replace(skipped, before=result.before, after=result.before)
    return result


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
    vocabulary = vocabulary_for(job.config.target)
    candidates: list[_Work] = []
    results: dict[Path, Result] = {}
    size = 0
    mentions_cuda = False
    for path in files:
        try:
            data = path.read_bytes()
        except OSError as error:
            results[path] = problem(path, "FL903", error.strerror or str(error))
            continue
        found = words_of(data)
        if not vocabulary.words.isdisjoint(found):
            mentions_cuda = mentions_cuda or not vocabulary.cuda_words.isdisjoint(found)
            candidates.append(_Work(path))
            size += len(data)
        else:
            results[path] = Result(str(path), Outcome.UNCHANGED)
    done = len(results)

    def advance(count: int) -> None:
        nonlocal done
        done += count
        if progress is not None:
            progress(min(done, len(files)), len(files))

    vendor = job.config.canonical_vendor or ("cuda" if mentions_cuda else "")
    job = replace(job, canonical_vendor=vendor)
    advance(0)
    with _Pool(job, files, jobs if size > _WORTH_A_POOL else 1) as pool:
        first = dict(zip(candidates, pool.run(frozenset(), candidates, advance), strict=True))
        pending = frozenset(fact for analysed in first.values() for fact in analysed.pending)
        facts = settled(pending, pool.testify(pending, list(_witnesses(pending, files))))
        again = [work for work, analysed in first.items() if analysed.pending & facts]
        second = zip(again, pool.run(facts, again, _ignore), strict=True)
        first.update(second)
        for work, analysed in first.items():
            results[work.path] = analysed.result
        tops = list(_tops_to_mark(results, files, job))
        for work, analysed in zip(tops, pool.run(facts, tops, _ignore), strict=True):
            results[work.path] = analysed.result
    for path in files:
        yield results[path]


def _witnesses(pending: frozenset[Fact], files: Sequence[Path]) -> Iterator[Path]:
    """Files that mention a name of which it is open whether it holds a device."""
    wanted = {_words_of_name(path) for _, path, _ in pending}
    for path in files if wanted else ():
        try:
            found = frozenset(words_of(path.read_bytes()))
        except OSError:
            continue  # reported already
        if any(words <= found for words in wanted):
            yield path


def _words_of_name(path: str) -> frozenset[bytes]:
    """Words that a file has which uses a name: the name, and the class that it belongs to."""
    *_, owner, name = path.split(".")
    return frozenset(word.encode() for word in (owner, name) if word is name or owner[:1].isupper())


def _ignore(count: int) -> None:
    """Second looks are not counted as progress."""


def _tops_to_mark(results: dict[Path, Result], files: Sequence[Path], job: Job) -> Iterable[_Work]:
    """Top ``__init__.py`` files of packages in which something changed."""
    if job.config.import_in == "none":
        return
    names = module_names(files)
    tops = {
        name.partition(".")[0]
        for name, path in names.items()
        if "." in name and results[path].outcome is Outcome.CHANGED
    }
    for top in sorted(tops):
        path = names.get(top)
        if path is not None and path.stem == "__init__":
            yield _Work(path, package_uses_target=True)


class _Pool:
    """Runs chunks of files here or in worker processes."""

    def __init__(self, job: Job, files: Sequence[Path], jobs: int) -> None:
        self._executor: ProcessPoolExecutor | None = None
        if jobs > 1:
            from concurrent.futures import ProcessPoolExecutor  # 30 ms, for long runs only

            self._executor = ProcessPoolExecutor(jobs, initializer=_start, initargs=(job, files))
        else:
            _start(job, files)

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

    def testify(self, wanted: frozenset[Fact], paths: Sequence[Path]) -> Iterator[Fact]:
        """Which of the ``wanted`` facts the files prove."""
        chunks = _chunks(paths)
        if self._executor is None:
            for chunk in chunks:
                yield from _testify(wanted, chunk)
            return
        for future in [self._submit(_testify, wanted, chunk) for chunk in chunks]:
            # What a dead worker could have told stays unknown; `run` reports its death.
            with contextlib.suppress(Exception):
                yield from future.result()

    def run(
        self, facts: frozenset[Fact], work: Sequence[_Work], advance: Callable[[int], None]
    ) -> Iterator[Analysed]:
        chunks = _chunks(work)
        if self._executor is None:
            for chunk in chunks:
                yield from _run_chunk(facts, chunk)
                advance(len(chunk))
            return
        futures = [self._submit(_run_chunk, facts, chunk) for chunk in chunks]
        for chunk, future in zip(chunks, futures, strict=True):
            try:
                yield from future.result()
            except Exception as error:  # a crashed worker must not lose the other files
                for item in chunk:
                    yield Analysed(problem(item.path, "FL904", f"the worker died: {error}"))
            advance(len(chunk))


def _chunks(items: Sequence[_T]) -> list[Sequence[_T]]:
    return [items[at : at + _CHUNK] for at in range(0, len(items), _CHUNK)]


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
