"""What a condition asks, by what facts, and why its branch goes or stays.

This answers a reviewer's question about one line: the classification that FL201 goes by, with
the places where each flag and helper is defined.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from flmigrate.analysis.context import Context
from flmigrate.analysis.questions import Atom, Fact, Question
from flmigrate.analysis.source import Source
from flmigrate.encoding import decode
from flmigrate.findings import Finding
from flmigrate.rules import check
from flmigrate.runner import Job
from flmigrate.worker import Worker

_SHOWN = 70  # characters of a condition


class ExplainError(Exception):
    """A place that cannot be explained; the message says why."""


class Explanation(NamedTuple):
    """One condition: its text, its first line, what its operands ask, and what is found there."""

    text: str
    line: int
    atoms: tuple[Atom, ...]
    holds: bool | None
    findings: tuple[Finding, ...]


def explain(path: Path, line: int, files: Sequence[Path], job: Job) -> list[Explanation]:
    """The conditions that stand on a line of a file, from the outermost inwards.

    ``files`` are those of the project, which flags and helpers are looked up in. Raises
    ``ExplainError`` for a file that cannot be read or parsed, and for a line that is not there.
    """
    try:
        text = decode(path.read_bytes()).text
        source = Source(text, str(path))
    except OSError as error:
        raise ExplainError(f"{path}: {error.strerror or error}") from None
    except (ValueError, SyntaxError, RecursionError) as error:
        raise ExplainError(f"{path}: cannot be read as Python 3: {error}") from None
    if not 1 <= line <= len(source.starts):
        raise ExplainError(f"{path} has no line {line}")
    worker = Worker(job, files)
    vendor = job.config.canonical_vendor
    vendor = vendor or worker.vocabulary.canonical_vendor(_bytes_of(files))
    worker.project.canonical_vendor = vendor
    module = worker.project.names.get(path, "")
    context = Context(
        source,
        worker.vocabulary,
        module,
        path.stem == "__init__",
        worker.project.asker(module),
        worker.project.flag_asker(module),
        vendor,
        job.config.drop_vendors,
    )
    context.find_function = worker.project.finder(module)
    findings = check(context)
    return [_explained(context, test, findings) for test in _conditions(context, line)]


def _bytes_of(files: Sequence[Path]) -> Iterator[bytes]:
    for file in files:
        with contextlib.suppress(OSError):  # it tells nothing
            yield file.read_bytes()


def _conditions(context: Context, line: int) -> Iterator[ast.expr]:
    """The tests of branches that stand on a line, in part at least."""
    for node in ast.walk(context.source.tree):
        if isinstance(node, ast.If | ast.IfExp | ast.While | ast.Assert):
            tests = [node.test]
        elif isinstance(node, ast.comprehension):
            tests = node.ifs
        elif isinstance(node, ast.Assign | ast.Return) and _asks(context, node.value):
            tests = [node.value] if node.value is not None else []
        else:
            continue
        for test in tests:
            if test.lineno <= line <= (test.end_lineno or test.lineno):
                yield test


def _asks(context: Context, value: ast.expr | None) -> bool:
    """Whether a value that is kept or returned is an answer about devices."""
    if not isinstance(value, ast.BoolOp | ast.Compare | ast.Call):
        return False
    return any(a.question is not Question.NOTHING for a in context.predicates.atoms(value))


def _explained(context: Context, test: ast.expr, findings: Sequence[Finding]) -> Explanation:
    predicates, span = context.predicates, context.source.span(test)
    lines = range(test.lineno, (test.end_lineno or test.lineno) + 1)
    near = tuple(
        f
        for f in findings
        if f.code in ("FL201", "FL111", "FL104") and (f.span.overlaps(span) or f.line in lines)
    )
    return Explanation(
        " ".join(context.source.segment(test).split()),
        test.lineno,
        tuple(predicates.atoms(test)),
        predicates.holds(test),
        near,
    )


def lines_of(explanation: Explanation) -> Iterator[str]:
    """An explanation as lines for a terminal."""
    yield f"{explanation.line}: {_short(explanation.text)}"
    for atom in explanation.atoms:
        vendors = f" ({', '.join(sorted(atom.vendors))})" if atom.vendors else ""
        yield f"  {_short(ast.unparse(atom.node))} asks: {atom.question.value}{vendors}"
        yield from (f"    {_told(fact)}" for fact in dict.fromkeys(atom.facts))
        if atom.holds is not None:
            yield f"    so it is {str(atom.holds).lower()} on the target"
    if explanation.holds is None:
        yield "  the condition is open: only a run can tell"
    else:
        yield f"  the condition is {str(explanation.holds).lower()} on the target"
    for finding in explanation.findings:
        what = f"{finding.code}: {finding.message}"
        yield f"  {what} [{finding.fix.applicability.value} fix]" if finding.fix else f"  {what}"
    if not explanation.findings:
        yield "  no rule on branches has anything to say: it stays as it is, or is respelled"


def _told(fact: Fact) -> str:
    where = f"{fact.path}:{fact.line}" if fact.path else f"line {fact.line}"
    return f"{fact.what} ({where})" if fact.line else fact.what


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."
