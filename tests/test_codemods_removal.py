"""Whole statements of any kind are taken out, with decorators and the comments about them."""

from __future__ import annotations

import ast

import pytest

from flmigrate.codemods.changes import splice
from flmigrate.codemods.islands import apply_edits
from flmigrate.findings import Edit, Import, Removal
from tests.codemod_case import at, marked, refuses


def removed(source: str, after: str) -> None:
    """Assert that ``after`` is left when the marked statements of ``source`` are taken out."""
    before, spans = marked(source)
    applied = apply_edits(before, ast.parse(before), [Removal(span) for span in spans])
    assert applied.text == after
    ast.parse(after)
    assert splice(before, applied.changes) == after


@pytest.mark.parametrize(
    ("source", "after"),
    [
        ("a = 1\n«b = 2»\nc = 3\n", "a = 1\nc = 3\n"),
        ("a = 1\n«b = 2»  # why\nc = 3\n", "a = 1\nc = 3\n"),
        ("a = 1\n\n\n@x\n@y(\n    1\n)\n«def f():\n    pass»\n\n\nb = 2\n", "a = 1\n\n\nb = 2\n"),
        ("a = 1\n\n«class C:\n    pass»\n", "a = 1\n"),
        ("«import a»\n\nb = 2\n", "b = 2\n"),
        ("a = 1\n«if b:\n    c»\nd\n", "a = 1\nd\n"),
        ("a\n«try:\n    b\nexcept E:\n    c\nfinally:\n    d»\ne\n", "a\ne\n"),
        ("a = 1\n«b = 2»\n\n\n«c = 3»\n\nd = 4\n", "a = 1\n\n\nd = 4\n"),
        ("«a = '''\n\n'''»\r\nb = 1\r\n", "b = 1\r\n"),
        ("x\n«y»", "x\n"),
    ],
)  # fmt: skip
def test_lines_go(source: str, after: str) -> None:
    removed(source, after)


@pytest.mark.parametrize(
    ("source", "after"),
    [
        ("def f():\n    «a = 1»\n", "def f():\n    pass\n"),
        ("def f():\n    «a = 1»\n    # why\n    «b = 2»  # c\n\nc\n", "def f():\n    pass\n\nc\n"),
        ("def f():\n    'doc'\n    «a = 1»\n", "def f():\n    'doc'\n"),
        ("if x:\n\t«a = 1»\nelse:\n\tb\n", "if x:\n\tpass\nelse:\n\tb\n"),
    ],
)
def test_a_suite_that_loses_everything_is_filled(source: str, after: str) -> None:
    removed(source, after)


@pytest.mark.parametrize(
    ("source", "after"),
    [
        ("x\n# of a\n# and more\n«a = 1»\n\nb\n", "x\n\nb\n"),
        ("x\n# of a\n«a = 1»\n# of b\nb\n", "x\n# of b\nb\n"),
        ("x\n# of a and b\n«a = 1»\nb = 1\n", "x\n# of a and b\nb = 1\n"),
        ("x\n# of all\n«a = 1»\n«b = 1»\n", "x\n"),
        ("x\n# of f\n@y\n«def f():\n    a»\nb = 1\n", "x\nb = 1\n"),
        ("def f():\n    x\n    # of a\n    «a = 1»\nb\n", "def f():\n    x\nb\n"),
        ("# a licence\n«import a»\n\nb\n", "# a licence\n\nb\n"),
        ("x\n# fmt: off\n# of a\n«a = 1»\n\nb\n", "x\n# fmt: off\n\nb\n"),
        ("x\n# isort: split\n«import a»\n\nb\n", "x\n# isort: split\n\nb\n"),
        ("x\n\n# alone\n\n«a = 1»\nb\n", "x\n\n# alone\n\nb\n"),
    ],
)
def test_comments_go_with_what_they_are_about(source: str, after: str) -> None:
    removed(source, after)


def test_other_edits_are_made_at_the_same_time() -> None:
    before = "import a, b\nimport c\nx = 1\n"
    edits: list[Edit] = [
        Import(at(before, "import a, b"), remove=("a",)),
        Removal(at(before, "x = 1")),
    ]
    assert apply_edits(before, ast.parse(before), edits).text == "import b\nimport c\n"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("«a = 1»; b = 2\n", "shares its line"),
        ("a = 1; «b = 2»\n", "shares its line"),
        ("if x: «a = 1»\n", "shares its line"),
        ("x = «f»()\n", "not of one whole statement"),
        ("if x:\n    a\n«elif y:\n    b»\n", "part of its chain"),
        ("«a = 1»\n'text'\n", "docstring"),
        ("x = 1\ny = \\\n  1\nif \\\n  x: «b»\n", "shares its line"),
    ],
)
def test_refused(source: str, message: str) -> None:
    before, spans = marked(source)
    refuses(before, [Removal(span) for span in spans], message)
