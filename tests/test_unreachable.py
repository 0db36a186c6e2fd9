"""What only a rewrite made unreachable goes, unless it makes a function what it is."""

from __future__ import annotations

import ast

import pytest

from flmigrate.analysis.reachability import cut_off, leaves
from flmigrate.findings import Removal
from flmigrate.rules import unreachable
from tests.analysed import context_of

BEFORE = "def f(c):\n    if c:\n        return 1\n    x\n"


def goes(after: str, before: str = BEFORE) -> list[str]:
    """The statements that are proposed to go from ``after``."""
    context = context_of(after)
    return [
        context.source.text[edit.span.start : edit.span.end]
        for finding in unreachable.check(context_of(before), context)
        if finding.fix is not None
        for edit in finding.fix.edits
        if isinstance(edit, Removal)
    ]


@pytest.mark.parametrize(
    ("after", "gone"),
    [
        ("def f(c):\n    return 1\n    x\n", ["x"]),
        ("def f(c):\n    return 1\n    y = 1\n    return y\n", ["y = 1", "return y"]),
        ("def f(c):\n    raise E\n    if c:\n        x\n", ["if c:\n        x"]),
        ("async def f(c):\n    return 1\n    await x\n", ["await x"]),
        ("class C:\n    def f(self):\n        return 1\n        x\n", ["x"]),
        ("def f(c):\n    while c:\n        break\n        x\n    y\n", ["x"]),
        ("def f(c):\n    if c:\n        return 1\n    else:\n        raise E\n    x\n", ["x"]),
        ("def f(c):\n    try:\n        return 1\n    except E:\n        raise\n    x\n", ["x"]),
        ("def f(c):\n    try:\n        y\n    finally:\n        return 1\n    x\n", ["x"]),
        ("def f(c):\n    yield 1\n    return\n    yield 2\n", ["yield 2"]),
        ("def f(c):\n    x = 1\n    return x\n    x = 2\n", ["x = 2"]),
    ],
)
def test_goes(after: str, gone: list[str]) -> None:
    assert goes(after) == gone


@pytest.mark.parametrize(
    "after",
    [
        "def f(c):\n    return 1\n",
        "return_ = 1\nx\n",
        "def f(c):\n    if c:\n        return 1\n    x\n",
        "def f(c):\n    for i in c:\n        return 1\n    x\n",
        "def f(c):\n    with c:\n        raise E\n    x\n",
        "def f(c):\n    try:\n        return c()\n    except E:\n        pass\n    x\n",
        "def f(c):\n    match c:\n        case 1:\n            return 1\n    x\n",
        # A generator would be none.
        "def f(c):\n    return\n    yield 1\n",
        "def f(c):\n    def g():\n        yield\n    return g\n    yield 1\n",
        # A local name would be another scope's.
        "def f(c):\n    if c:\n        x\n    return 1\n    x = 1\n",
        "def f(c):\n    def g():\n        return x\n    return g\n    x = 1\n",
        "def f(c):\n    def g():\n        nonlocal x\n        x = 2\n    return g\n    x = 1\n",
        "def f(c):\n    x = 1\n    return 1\n    global x\n",
        "def f(c):\n    g()\n    return 1\n    def g(): ...\n",
        "def f(c):\n    return 1; x\n",
    ],
)
def test_stays(after: str) -> None:
    assert goes(after) == []


def test_what_could_not_be_reached_before_stays() -> None:
    before = "def f(c):\n    if c:\n        return 1\n        x\n"
    assert goes("def f(c):\n    return 1\n    x\n", before) == []


def test_what_is_cut_off() -> None:
    text = "def f():\n    if a:\n        b\n        c\n    else:\n        return\n    d\n"
    context = context_of(text)
    function = context.source.tree.body[0]
    assert isinstance(function, ast.FunctionDef)
    branch, last = function.body
    assert isinstance(branch, ast.If)
    assert cut_off(context.scopes.parents, branch.body[0]) == [branch.body[1], last]
    branch.orelse = []
    assert cut_off(context.scopes.parents, branch.body[0]) == [branch.body[1]]


def test_a_suite_leaves_where_one_of_its_statements_does() -> None:
    assert leaves(ast.parse("a\nraise E\nb").body)
    assert not leaves(ast.parse("a\nb").body)
