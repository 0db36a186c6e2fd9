"""Definite assignment: names that lose the value that they are read for."""

from __future__ import annotations

import textwrap

import pytest

from flmigrate import rewrite_source
from flmigrate.analysis.assignment import Assigned, assigned, unassigned
from flmigrate.findings import Severity
from tests.analysed import context_of

NEVER, MAYBE, ALWAYS = Assigned.NEVER, Assigned.MAYBE, Assigned.ALWAYS


def sure(body: str) -> Assigned | None:
    """How surely ``x`` has a value when the body of a function reads it."""
    text = "def f(c, d):\n" + textwrap.indent(textwrap.dedent(body), "    ")
    context = context_of(text)
    scope = next(s for s in context.scopes.all() if getattr(s.node, "name", "") == "f")
    return assigned(context.scopes, scope, frozenset({"x"})).get("x")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("x = 1\nx\n", ALWAYS),
        ("x\nx = 1\n", NEVER),
        ("x = 1\n", None),
        ("if c:\n    x = 1\nx\n", MAYBE),
        ("if c:\n    x = 1\nelse:\n    x = 2\nx\n", ALWAYS),
        ("if c:\n    x = 1\nelif d:\n    x = 2\nx\n", MAYBE),
        ("if c:\n    x = 1\nelif d:\n    return\nelse:\n    raise E\nx\n", ALWAYS),
        ("if c:\n    x = 1\n    x\n", ALWAYS),
        ("for x in c:\n    x\n", ALWAYS),
        ("for x in c:\n    pass\nx\n", MAYBE),
        ("for i in c:\n    if i:\n        x\n    x = i\n", MAYBE),
        ("for i in c:\n    if i:\n        x = 1\n        break\nelse:\n    x = 2\nx\n", ALWAYS),
        ("for i in c:\n    if i:\n        continue\n    x = 1\nx\n", MAYBE),
        ("while True:\n    x = 1\n    if c:\n        break\nx\n", ALWAYS),
        ("while c:\n    x = 1\nx\n", MAYBE),
        ("try:\n    x = c()\nexcept E:\n    pass\nx\n", MAYBE),
        ("try:\n    x = c()\nexcept E:\n    x = 1\nx\n", ALWAYS),
        ("try:\n    x = c()\nexcept E:\n    raise\nx\n", ALWAYS),
        ("try:\n    c()\nexcept E:\n    x = 1\nelse:\n    x = 2\nx\n", ALWAYS),
        ("try:\n    c()\nfinally:\n    x = 1\nx\n", ALWAYS),
        ("try:\n    x = 1\nfinally:\n    x\n", MAYBE),
        ("try:\n    c()\nexcept E as x:\n    x\n", ALWAYS),
        ("try:\n    c()\nexcept E as x:\n    pass\nx\n", NEVER),
        ("x = 1\ntry:\n    c()\nexcept E as x:\n    pass\nx\n", MAYBE),
        ("with c as x:\n    x\n", ALWAYS),
        ("with suppress(E):\n    x = c()\nx\n", MAYBE),
        ("with c:\n    x = d()\nx\n", ALWAYS),
        ("match c:\n    case 1:\n        x = 1\n    case _:\n        x = 2\nx\n", ALWAYS),
        ("match c:\n    case 1:\n        x = 1\nx\n", MAYBE),
        ("match c:\n    case [x]:\n        x\n", ALWAYS),
        ("x = 1\ndel x\nx\n", NEVER),
        ("import x\nx.y\n", ALWAYS),
        ("def x(): ...\nx\n", ALWAYS),
        ("if c:\n    class x: ...\nx\n", MAYBE),
        ("x: int\nx\n", NEVER),
        ("x = 1\nx += 1\n", ALWAYS),
        ("x += 1\nx\n", NEVER),
        ("[x for x in c]\nx = 1\n", None),
        ("if (x := c):\n    x\n", ALWAYS),
        ("g = lambda: x\nx = 1\n", ALWAYS),
        ("def g():\n    return x\nx = 1\n", ALWAYS),
        ("return\nx\nx = 1\n", None),
    ],
)
def test_how_surely(body: str, expected: Assigned | None) -> None:
    assert sure(body) is expected


BEFORE = "def f(c):\n    if c:\n        x = 1\n    else:\n        x = 2\n    return x\n"


@pytest.mark.parametrize(
    ("before", "after", "names"),
    [
        (BEFORE, "def f(c):\n    x = 2\n    return x\n", {}),
        (BEFORE, "def f(c):\n    if c:\n        x = 1\n    return x\n", {"f": {"x"}}),
        (BEFORE, "def f(c):\n    return x\n", {"f": {"x"}}),
        (BEFORE, "def f(c):\n    return 1\n", {}),
        (BEFORE, "", {}),
        # A local name must not turn into a global one.
        (f"x = 0\n{BEFORE}", "x = 0\ndef f(c):\n    return x\n", {"f": {"x"}}),
        ("if c:\n    import a\na.b\n", "a.b\n", {":module": {"a"}}),
        ("if c:\n    import a\ndef f():\n    a.b\n", "def f():\n    a.b\n", {":module": {"a"}}),
        ("if c:\n    import a\nelif d:\n    import a\na.b\n", "if d:\n    import a\na.b\n", {}),
        ("class C:\n    if c:\n        x = 1\n    y = x\n", "class C:\n    y = x\n", {"C": {"x"}}),
        (
            "def f():\n    x = 1\n    def g():\n        return x\n",
            "x = 0\ndef f():\n    def g():\n        return x\n",
            {"f": {"x"}},
        ),
        ("def f(c):\n    x\n    x = 1\n    x = 2\n", "def f(c):\n    x\n    x = 2\n", {}),
    ],
)
def test_what_gets_worse(before: str, after: str, names: dict[str, set[str]]) -> None:
    found = unassigned(context_of(before), context_of(after))
    assert {path or ":module": set(worse) for path, worse in found.items()} == names


KEPT = """\
import torch

def cards():
    if torch.npu.is_available():
        count = torch.npu.device_count()
    elif torch.cuda.is_available():
        torch.cuda.synchronize()
    print(count)
    count = torch.cuda.device_count()
    return count
"""


def test_an_arm_that_gives_a_name_its_value_stays() -> None:
    """The name has another binding, but below its first use."""
    result = rewrite_source(KEPT + "\ndef sync():\n    torch.cuda.synchronize()\n")
    assert "count = torch.npu.device_count()" in result.after
    assert "torch.flagos.synchronize()" in result.after
    [finding] = [f for f in result.left if f.code == "FL201"]
    assert finding.severity is not Severity.INFO
    assert result.after.splitlines()[finding.line - 1] == "    if torch.npu.is_available():"


def test_the_refused_fix_is_refused_again() -> None:
    once = rewrite_source(KEPT)
    twice = rewrite_source(once.after)
    assert twice.after == once.after
    assert [f.message for f in twice.left] == [f.message for f in once.left]
