"""What holds for every program: drawn from pieces, and cases of the corpus that were mutated."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from itertools import zip_longest
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from flmigrate import check_source, rewrite_source
from flmigrate.findings import Finding, Outcome, Result
from tests.command_line import flmigrate, tree
from tests.corpus_cases import load_cases
from tests.programs import mutants, programs

_NOTE = re.compile(r"[ \t\f]*# flmigrate: FL\d{3}\b")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
# What a run does by default, and what it does when it may do most.
_OPTIONS = pytest.mark.parametrize("unsafe", [False, True])
_RELAXED = settings(
    deadline=None,
    max_examples=60,
    suppress_health_check=list(HealthCheck),
    database=None,
    derandomize=True,
)


def lines_of(text: str) -> list[str]:
    """Lines with their ends, as Python counts them."""
    return _LINE.findall(text)


def rewrite(text: str, unsafe: bool) -> Result:
    where = "every-file" if unsafe else "none"
    return rewrite_source(text, unsafe_fixes=unsafe, import_in=where)


def check(text: str, unsafe: bool) -> None:
    """Assert all that holds for the rewrite of any program."""
    result = rewrite(text, unsafe)
    assert result.reason is None
    after = result.after
    assert result.before == text
    assert (result.outcome is Outcome.CHANGED) == (after != text)
    ast.parse(after)
    again = rewrite(after, unsafe)
    assert again.after == after
    assert again.fixed == ()
    assert _summary(again) == _summary(result)
    if any(finding.code == "FL201" for finding in result.fixed):
        # An arm or a member for another vendor went, and what was written about it too.
        assert comments_of(after) <= comments_of(text)
    else:
        assert comments_of(after) == comments_of(text)
        assert_untouched(text, result)
    for finding in result.left:
        assert_placed(after, finding)


def _summary(result: Result) -> list[tuple[str, int]]:
    # Whether a guarded import of torch needs the target's is asked by the run that edits.
    left = [finding for finding in result.left if not finding.message.startswith("import ")]
    return [(finding.code, finding.line) for finding in left]


def comments_of(text: str) -> Counter[str]:
    """The comments but for notes and those of imports, which may go with their import."""
    tokens = list(tokenize.generate_tokens(io.StringIO(text, newline="").readline))
    imports = import_lines(text)
    return Counter(
        token.string.rstrip()
        for token in tokens
        if token.type == tokenize.COMMENT
        and token.start[0] not in imports
        and not _NOTE.match(token.string)
    )


def import_lines(text: str) -> set[int]:
    """The lines of imports, and of a ``try`` around nothing else: they may go as a whole."""
    found: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        optional = isinstance(node, ast.Try) and all(
            isinstance(statement, ast.Import | ast.ImportFrom) for statement in node.body
        )
        if isinstance(node, ast.Import | ast.ImportFrom) or (
            isinstance(node, ast.Try) and optional
        ):
            found |= extent(node)
    return found


def extent(node: ast.stmt | ast.ExceptHandler) -> set[int]:
    """The lines of a simple statement, or of a compound one's header."""
    body = getattr(node, "body", None) if not isinstance(node, ast.Try) else None
    last = body[0].lineno - 1 if body else node.end_lineno or node.lineno
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
    return set(range(first, max(last, first) + 1))


def assert_untouched(text: str, result: Result) -> None:
    """Every line that no finding is about is still there, in its order and with its end.

    Blank lines are left out: those around an import that goes become fewer.
    """
    found: set[int] = set()
    for finding in (*check_source(text), *result.fixed):
        found.update(range(finding.line, finding.end_line + 1))
    touched = found | import_lines(text)
    for node in ast.walk(ast.parse(text)):
        # A call may change its argument list on other lines than the finding's.
        if isinstance(node, ast.stmt | ast.ExceptHandler):
            touched |= set() if found.isdisjoint(extent(node)) else extent(node)
    rest = [
        line
        for number, line in enumerate(lines_of(text), start=1)
        if number not in touched and line.strip() and not _NOTE.match(line)
    ]
    remaining = iter(lines_of(result.after))
    assert [line for line in rest if line not in remaining] == []


def assert_placed(text: str, finding: Finding) -> None:
    """Line and column of a finding say what its span says."""
    before = text[: finding.span.start]
    ends = re.findall(r"\r\n|\r|\n", before)
    assert finding.line == len(ends) + 1
    assert finding.column == len(re.split(r"\r\n|\r|\n", before)[-1]) + 1


@_OPTIONS
@given(text=programs())
@_RELAXED
def test_any_program(text: str, unsafe: bool) -> None:
    check(text, unsafe)


@_OPTIONS
@given(text=mutants())
@_RELAXED
def test_any_case_of_the_corpus_after_changes(text: str, unsafe: bool) -> None:
    check(text, unsafe)


@given(text=programs())
@settings(_RELAXED, max_examples=30)
def test_line_ends_are_all_that_differs_between_line_ends(text: str) -> None:
    unix = text.replace("\r\n", "\n")
    dos = rewrite(unix.replace("\n", "\r\n"), False).after
    assert dos.replace("\r\n", "\n") == rewrite(unix, False).after


@given(text=programs())
@settings(_RELAXED, max_examples=30)
def test_without_notes_only_the_notes_are_missing(text: str) -> None:
    plain = rewrite_source(text, import_in="none", notes=False).after
    noted = rewrite(text, False).after
    assert "".join(line for line in lines_of(noted) if not _NOTE.match(line)) == plain


def test_neither_processes_nor_hashes_make_a_difference(tmp_path: Path) -> None:
    for case in load_cases():
        if all(len(file.before) < 5000 for file in case.files):
            tree(tmp_path, {f"{case.id}/{file.path}": file.before for file in case.files})
    # Two vendors under one name; and enough for a pool.
    tree(tmp_path, {"two/m.py": _TWO_VENDORS, "pad.py": "# about cuda, at length\n" * 70_000})
    runs = []
    for jobs, seed in (("1", "1"), ("2", "0"), ("1", "4")):
        options = ["--diff", "--verbose", "--exit-zero", "-j", jobs]
        variables = {"PYTHONHASHSEED": seed}
        runs.append(flmigrate(tmp_path, "rewrite", ".", *options, variables=variables))
    first, *others = ((run.text + run.err).splitlines() for run in runs)
    assert len(first) > 3000
    for other in others:
        pairs = zip_longest(first, other)
        assert next((pair for pair in pairs if pair[0] != pair[1]), None) is None


_TWO_VENDORS = """\
import torch


def stream(on_cuda, on_npu, device):
    module = None
    if on_cuda:
        module = torch.cuda
    elif on_npu:
        module = torch.npu
    return module.Stream(device=device)
"""
