"""One process of a run: its settings, its project, and the files it is given."""

from __future__ import annotations

import contextlib
import gc
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from flmigrate.analysis.context import Context
from flmigrate.analysis.kinds import METHODS
from flmigrate.analysis.project import Fact, Project, module_names
from flmigrate.analysis.source import Source
from flmigrate.analysis.vocabulary import Vocabulary, words_of
from flmigrate.config import Config
from flmigrate.discovery import is_python
from flmigrate.documents import NOTEBOOK, is_markdown, read_document, write_document
from flmigrate.encoding import UndecodableError, read_whole
from flmigrate.engine import check_unit, rewrite_unit
from flmigrate.findings import Finding, Outcome, Result, Severity, Span
from flmigrate.tables import load_target, load_vendors
from flmigrate.units import Analysed, Settings, Unit

if TYPE_CHECKING:
    from flmigrate.documents import Document
    from flmigrate.verdicts import Verdicts

_STACK = 512 * 1024 * 1024  # reserved, not used: parsers recurse once per link of a chain
_RECURSION = 100_000
_T = TypeVar("_T")


class Job(NamedTuple):
    """What a run does, in a form that can be sent to another process.

    With ``check_only`` files are looked at once and not rewritten. ``contents`` are the bytes
    of files that are not to be read from disk: those that git's index has. ``code_blocks`` asks for
    the Python in Markdown files, too. ``cache`` allows to keep verdicts in the cache folder.
    """

    config: Config
    unsafe_fixes: bool = False
    notes: bool = True
    check_only: bool = False
    contents: Mapping[Path, bytes] = {}
    possible: bool = False
    code_blocks: bool = False
    cache: bool = False

    def takes(self, name: str) -> bool:
        """Whether a file in a folder is looked at, by its name."""
        return is_python(name) or (self.code_blocks and is_markdown(name))

    def words(self, vocabulary: Vocabulary) -> frozenset[bytes]:
        """Words of which a file must contain one to be looked at; none if all files are."""
        chips = self.config.chips
        if not chips:
            return vocabulary.words
        if self.possible:
            return frozenset()
        from flmigrate.rules.coverage import words_for  # and its tables, once per process

        return vocabulary.words | words_for(chips, self.config.measured)

    def read(self, path: Path) -> bytes:
        """The bytes of a file of this run; raises ``OSError``."""
        given = self.contents.get(path) if self.contents else None
        if given is not None:
            return given
        return read_whole(path)

    def read_text(self, path: Path) -> str:
        """The text of a file of this run; raises ``OSError`` and ``UndecodableError``."""
        return read_document(path.name, self.read(path)).text


class Work(NamedTuple):
    """One file for a worker, and what its words and other files' results tell about it."""

    path: Path
    package_uses_target: bool = False
    vendor_at_rest: str = ""
    has_words: bool = True


class Scanned(NamedTuple):
    """What a file's bytes tell before anything is parsed; ``unreadable`` says why, if it is.

    A candidate that has none of the vendors' words (``has_words``) is one for its operators.
    """

    path: Path
    is_candidate: bool = False
    mentions_cuda: bool = False
    unreadable: str = ""
    has_words: bool = True


@cache
def vocabulary_for(target: str) -> Vocabulary:
    """The vocabulary of a target; raises ``TableError`` for one that cannot be loaded."""
    return Vocabulary(load_vendors(), load_target(target))


class Worker:
    """The state of one process: settings, project, and the facts found so far."""

    def __init__(self, job: Job, files: Sequence[Path]) -> None:
        self.job = job
        self.canonical_vendor = ""
        self.vocabulary = vocabulary_for(job.config.target)
        self.words = job.words(self.vocabulary)
        modules = module_names(file for file in files if not is_markdown(file.name))
        self.project = Project(modules, self.vocabulary, job.read_text)
        self.project.drop_vendors = job.config.drop_vendors
        self.verdicts = _verdicts_for(job)

    def settings(self, work: Work) -> Settings:
        config = self.job.config
        codes_for = config.checked_codes_for if self.job.check_only else config.codes_for
        return Settings(
            self.vocabulary,
            self.job.unsafe_fixes,
            self.job.notes and config.notes != "none" and not is_markdown(work.path.name),
            "none" if is_markdown(work.path.name) else config.import_in or "",
            self.canonical_vendor,
            config.drop_vendors,
            codes_for(work.path),
            work.vendor_at_rest,
            config.check.require_reason,
            config.chips,
            config.measured,
            self.job.possible,
            config.notes,
            self.job.code_blocks and work.path.suffix == ".py",
            self.verdicts,
        )

    def run(self, work: Work) -> Analysed:
        path = work.path
        try:
            document = read_document(path.name, self.job.read(path))
        except UndecodableError as error:
            return Analysed(problem(path, "FL901", str(error), error.line))
        except OSError as error:
            return Analysed(problem(path, "FL903", error.strerror or str(error)))
        unit = Unit(
            str(path),
            document.text,
            self.project.names.get(path, ""),
            path.stem == "__init__",
            work.package_uses_target,
            work.has_words,
        )
        try:
            look = check_unit if self.job.check_only else rewrite_unit
            analysed = look(unit, self.settings(work), self.project)
        except Exception as error:  # a defect of ours must not stop the run
            message = f"internal error, please report it: {type(error).__name__}: {error}"
            return Analysed(problem(path, "FL904", message))
        result = checked_for_encoding(analysed.result, document)
        wanted = self.job.check_only or path.suffix == NOTEBOOK
        if result.outcome is Outcome.UNCHANGED and not (wanted and result.left):
            # Texts of files that stay are not carried along: there are thousands of them.
            result = result._replace(before="", after="")
        return Analysed(result, frozenset(filter(self._can_be_told, analysed.pending)))

    def _can_be_told(self, fact: Fact) -> bool:
        """Whether other files of the project may know more about a name."""
        return fact[1].startswith(METHODS) or self.project.owns(fact[1])

    def testimony(self, path: Path, wanted: frozenset[Fact]) -> frozenset[Fact]:
        name = self.project.names.get(path, "")
        try:
            source = Source(self.job.read_text(path), str(path))
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


def _verdicts_for(job: Job) -> Verdicts | None:
    """What is known of operators in texts, for a run that asks about them and may use a cache."""
    config = job.config
    if not config.chips or not job.cache:
        return None
    from flmigrate.verdicts import Verdicts, basis_of  # for runs that name a chip

    named = [*config.chips, config.target, *config.measured]
    files = [path for path in map(Path, named) if path.is_file()]
    return Verdicts(basis_of((*named, job.possible), files))


_worker: Worker | None = None


def start(job: Job, files: Sequence[Path]) -> None:
    """Prepare this process for a job over the files of a project."""
    global _worker
    _worker = Worker(job, files)


def scan(paths: Sequence[Path]) -> list[Scanned]:
    """Which files are worth parsing."""
    worker = _worker
    assert worker is not None
    return [_scanned(path, worker) for path in paths]


def _scanned(path: Path, worker: Worker) -> Scanned:
    words, cuda_words = worker.words, worker.vocabulary.cuda_words
    try:
        data = worker.job.read(path)
        if path.suffix == NOTEBOOK:
            data = data.replace(b"\\n", b" ")  # a line end, as JSON writes it
        found = frozenset(words_of(data))
    except OSError as error:
        return Scanned(path, unreadable=error.strerror or str(error))
    if not worker.job.check_only:
        worker.project.note(path, found)
    is_candidate = not words or not words.isdisjoint(found)
    return Scanned(
        path,
        is_candidate,
        not cuda_words.isdisjoint(found),
        has_words=not worker.vocabulary.words.isdisjoint(found),
    )


def run_chunk(
    facts: frozenset[Fact], canonical_vendor: str, chunk: Sequence[Work]
) -> list[Analysed]:
    """Take some files through the engine, with what is known of them from other files."""
    worker = _worker
    assert worker is not None
    worker.project.facts = facts
    worker.canonical_vendor = canonical_vendor
    worker.project.canonical_vendor = canonical_vendor
    with _without_collections(), worker.verdicts or contextlib.nullcontext():
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


def testify(wanted: frozenset[Fact], chunk: Sequence[Path]) -> frozenset[Fact]:
    """Which of the ``wanted`` facts this process's project proves by the files of a chunk."""
    worker = _worker
    assert worker is not None
    worker.project.facts = frozenset()
    witnesses = list(_witnesses(wanted, chunk, worker.job))
    with _without_collections():
        found = with_deep_stack(lambda: [worker.testimony(path, wanted) for path in witnesses])
    return frozenset[Fact]().union(*found)


def _witnesses(wanted: frozenset[Fact], files: Sequence[Path], job: Job) -> Iterator[Path]:
    """Files that mention a name of which it is open whether it holds a device."""
    names: dict[bytes, set[bytes]] = {}  # what a file has to mention: the name, and an owner
    for _, dotted, _ in wanted:
        *_, owner, name = dotted.split(".")
        names.setdefault(name.encode(), set()).add(owner.encode() if owner[:1].isupper() else b"")
    for path in files:
        try:
            data = job.read(path)
        except OSError:
            continue  # reported already
        # Most files have none of these names in any form, which is quick to see.
        likely = [
            name
            for name, owners in names.items()
            if name in data and any(owner in data for owner in owners)
        ]
        if likely:
            found = {b"", *words_of(data)}
            if any(name in found and not names[name].isdisjoint(found) for name in likely):
                yield path


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


def problem(path: Path | str, code: str, message: str, line: int = 1) -> Result:
    """The result of a file that could not be handled, for the reason given."""
    reason = Finding(code, message, Span(0, 0), line, 1, line, Severity.WARNING)
    return Result(str(path), Outcome.SKIPPED, reason=reason)


def checked_for_encoding(result: Result, document: Document) -> Result:
    """The result, or a skipped one where its new text does not fit the file's encoding."""
    if result.outcome is Outcome.CHANGED:
        try:
            write_document(document, result.after)
        except UndecodableError as error:
            message = f"the new text does not fit the file's encoding: {error.reason}"
            skipped = problem(result.path, "FL901", message)
            return skipped._replace(before=result.before, after=result.before)
    return result
