"""Argument lists change, and their layout does not."""

from __future__ import annotations

from typing import Any

import pytest

from flmigrate.findings import Arguments, Edit, Rename, Text
from tests.codemod_case import at, check, marked, refuses


@pytest.mark.parametrize(
    ("source", "change", "after"),
    [
        ("«f()»\n", {"first": '"n"'}, 'f("n")\n'),
        ("«f( )»\n", {"first": '"n"'}, 'f("n" )\n'),
        ("«f(a)»\n", {"first": '"n"'}, 'f("n", a)\n'),
        ("«f(*a)»\n", {"first": '"n"'}, 'f("n", *a)\n'),
        ("«f(k=a)»\n", {"first": '"n"'}, 'f("n", k=a)\n'),
        ("«f(i for i in a)»\n", {"first": '"n"'}, 'f("n", (i for i in a))\n'),
        ("«f(i for i in a)»\n", {"last": ("k=1",)}, "f((i for i in a), k=1)\n"),
        ("«f()»\n", {"last": ("a", "k=1")}, "f(a, k=1)\n"),
        ("«f(a)»\n", {"last": ("*b", "k=1")}, "f(a, *b, k=1)\n"),
        ("«f(a, **b)»\n", {"last": ("k=1",)}, "f(a, **b, k=1)\n"),
        ("«f(a,)»\n", {"last": ("k=1",)}, "f(a, k=1,)\n"),
        ("«f(a, )»\n", {"last": ("k=1",)}, "f(a, k=1, )\n"),
        ("«f(a)»\n", {"first": "x", "last": ("k=1",)}, "f(x, a, k=1)\n"),
        ("«f(a, b)»\n", {"names": ((1, "k"),)}, "f(a, k=b)\n"),
        ("«f(a, b or c)»\n", {"names": ((1, "k"),)}, "f(a, k=b or c)\n"),
        ("«f(a := b)»\n", {"names": ((0, "k"),)}, "f(k=(a := b))\n"),
        ("«f(a, b)»\n", {"names": ((0, "j"), (1, "k"))}, "f(j=a, k=b)\n"),
        ("«f(a, b)»\n", {"values": ((0, "c or d"),)}, "f(c or d, b)\n"),
        ("«f(a, k = b)»\n", {"values": ((1, "c"),)}, "f(a, k = c)\n"),
        ("«f(*a)»\n", {"values": ((0, "c or d"),)}, "f(*(c or d))\n"),
        ("«f(a)»\n", {"drop": (0,)}, "f()\n"),
        ("«f(a,)»\n", {"drop": (0,)}, "f()\n"),
        ("«f( a )»\n", {"drop": (0,)}, "f()\n"),
        ("«f(a, b)»\n", {"drop": (0,)}, "f(b)\n"),
        ("«f(a, b)»\n", {"drop": (1,)}, "f(a)\n"),
        ("«f(a, b,)»\n", {"drop": (1,)}, "f(a,)\n"),
        ("«f(a, b, c)»\n", {"drop": (1,)}, "f(a, c)\n"),
        ("«f(a, b, c)»\n", {"drop": (0, 2)}, "f(b)\n"),
        ("«f(a, b, c)»\n", {"drop": (2, 1, 0)}, "f()\n"),
        ("«f(a , b)»\n", {"drop": (1,)}, "f(a)\n"),
        ("«f(a, b)»\n", {"drop": (0,), "first": "x", "names": ((1, "k"),)}, "f(x, k=b)\n"),
        ("@«f(a)»\ndef g(): pass\n", {"first": "x"}, "@f(x, a)\ndef g(): pass\n"),
        ("if a:\n    @«f(a,\n       b)»\n    def g(): pass\n", {"first": "x"},
         "if a:\n    @f(x,\n       a,\n       b)\n    def g(): pass\n"),
        ("with «f(a)» as b, «f(c)»: pass\n", {"first": "x"}, "with f(x, a) as b, f(x, c): pass\n"),
        ("x = «f(a)».b(«f()»)\n", {"last": ("x",)}, "x = f(a, x).b(f(x))\n"),
        ("x = f'{«f(a)»}'\n", {"first": "'n'"}, "x = f'{f(\"n\", a)}'\n"),
        ("«f (a)»\n", {"first": "x"}, "f (x, a)\n"),
    ],
)  # fmt: skip
def test_on_one_line(source: str, change: dict[str, Any], after: str) -> None:
    before, spans = marked(source)
    check(before, [Arguments(span, **change) for span in spans], after)


_LINES = """\
if y:
    x = f(  # open
        # above a
        a,  # a

        # above b
        b=b,  # b
        # below
    )  # end
"""


def test_lines_of_their_own() -> None:
    call = at(_LINES, _LINES[_LINES.index("f(") : _LINES.index("  # end")])
    check(
        _LINES,
        [Arguments(call, first="'n'", last=("c=1", "d=2"))],
        """\
if y:
    x = f(  # open
        'n',
        # above a
        a,  # a

        # above b
        b=b,  # b
        c=1,
        d=2,
        # below
    )  # end
""",
    )
    check(
        _LINES,
        [Arguments(call, drop=(0,))],
        """\
if y:
    x = f(  # open
        # above a

        # above b
        b=b,  # b
        # below
    )  # end
""",
        loses=["# a"],
    )
    check(
        _LINES,
        [Arguments(call, drop=(1,), values=((0, "z"),))],
        """\
if y:
    x = f(  # open
        # above a
        z,  # a

        # above b
        # below
    )  # end
""",
        loses=["# b"],
    )


@pytest.mark.parametrize(
    ("source", "change", "after"),
    [
        # One below the other, with and without a comma at the end.
        ("«f(\n    a,\n    b\n)»\n", {"first": "x"}, "f(\n    x,\n    a,\n    b\n)\n"),
        ("«f(\n    a,\n    b\n)»\n", {"last": ("x",)}, "f(\n    a,\n    b,\n    x\n)\n"),
        ("«f(\n    a,\n)»\n", {"last": ("x",)}, "f(\n    a,\n    x,\n)\n"),
        ("«f(\n    a\n)»\n", {"last": ("x",)}, "f(\n    a,\n    x\n)\n"),
        ("«f(\n    a\n)»\n", {"first": "x"}, "f(\n    x,\n    a\n)\n"),
        ("«f(\n    a  # c\n)»\n", {"last": ("x",)}, "f(\n    a,  # c\n    x\n)\n"),
        ("«f(\n    a,\n    b\n)»\n", {"drop": (0,)}, "f(\n    b\n)\n"),
        ("«f(\n    a,\n    b\n)»\n", {"drop": (1,)}, "f(\n    a\n)\n"),
        ("«f(\n    a,\n    b,\n)»\n", {"drop": (1,)}, "f(\n    a,\n)\n"),
        ("«f(\n    a,\n    b,\n)»\n", {"drop": (0, 1)}, "f()\n"),
        ("«f(\n    a,\n    b,\n)»\n", {"drop": (0, 1), "first": "x"}, "f(x)\n"),
        ("«f(\n\ta,\n\tb,\n)»\n", {"last": ("x",)}, "f(\n\ta,\n\tb,\n\tx,\n)\n"),
        ("«f(\r\n    a,\r\n)»\r\n", {"last": ("x",)}, "f(\r\n    a,\r\n    x,\r\n)\r\n"),
        # Aligned behind the parenthesis.
        ("«f(a,\n  b)»\n", {"first": "x"}, "f(x,\n  a,\n  b)\n"),
        ("«f(a,\n  b)»\n", {"last": ("x",)}, "f(a,\n  b,\n  x)\n"),
        ("«f(a,\n  b)»\n", {"drop": (0,)}, "f(b)\n"),
        ("«f(a,\n  b)»\n", {"drop": (1,)}, "f(a)\n"),
        ("«f(a,\n  b,\n  c)»\n", {"drop": (0,)}, "f(b,\n  c)\n"),
        ("«f(a,\n  b,\n  c)»\n", {"drop": (1,)}, "f(a,\n  c)\n"),
        ("«f(a,\n  b,\n  c)»\n", {"drop": (2,)}, "f(a,\n  b)\n"),
        # Filled lines.
        ("«f(a, b,\n  c)»\n", {"first": "x"}, "f(x, a, b,\n  c)\n"),
        ("«f(a, b,\n  c)»\n", {"last": ("x",)}, "f(a, b,\n  c, x)\n"),
        ("«f(a, b,\n  c)»\n", {"drop": (1,)}, "f(a,\n  c)\n"),
        ("«f(a,\n  b, c)»\n", {"drop": (1,)}, "f(a,\n  c)\n"),
        ("«f(\n    a, b\n)»\n", {"first": "x"}, "f(\n    x, a, b\n)\n"),
        ("«f(\n    a, b,\n)»\n", {"last": ("x",)}, "f(\n    a, b, x,\n)\n"),
        ("«f(\n    a, b,\n)»\n", {"drop": (0,)}, "f(\n    b,\n)\n"),
        ("«f(\n    a, b,\n)»\n", {"drop": (1,)}, "f(\n    a,\n)\n"),
        ("«f(\n    a, b  # c\n)»\n", {"last": ("x",)}, "f(\n    a, b, x  # c\n)\n"),
        # The comma at the start of lines.
        ("«f(a\n , b)»\n", {"drop": (0,)}, "f(b)\n"),
        ("«f(a\n , b)»\n", {"last": ("x",)}, "f(a\n , b, x)\n"),
        # Comments stay where they are.
        ("«f(\n    # none\n)»\n", {"first": "x"}, "f(x\n    # none\n)\n"),
        ("«f(a,  # c\n  b)»\n", {"drop": (1,)}, "f(a  # c\n  )\n"),
    ],
)  # fmt: skip
def test_over_lines(source: str, change: dict[str, Any], after: str) -> None:
    before, [span] = marked(source)
    check(before, [Arguments(span, **change)], after)


@pytest.mark.parametrize(
    ("source", "drop", "after", "lost"),
    [
        ("«f(\n    a,  # a\n    b,  # b\n)»\n", 0, "f(\n    b,  # b\n)\n", "# a"),
        ("«f(\n    a,  # a\n    b,  # b\n)»\n", 1, "f(\n    a,  # a\n)\n", "# b"),
        ("«f(\n    a,  # a\n    b  # b\n)»\n", 1, "f(\n    a  # a\n)\n", "# b"),
        ("«f(\n    a,  # a\n)»\n", 0, "f()\n", "# a"),
    ],
)
def test_the_comment_of_a_dropped_argument_goes(
    source: str, drop: int, after: str, lost: str
) -> None:
    before, [span] = marked(source)
    check(before, [Arguments(span, drop=(drop,))], after, loses=[lost])


def test_edits_of_arguments_that_stay_are_made() -> None:
    before, [call, cuda, text, inner] = marked(
        'x = «torch.«cuda».f(\n    «"cuda"»,  # c\n    «g(1)»,\n)»\n'
    )
    edits: list[Edit] = [
        Arguments(call, first="0", names=((0, "j"), (1, "k"))),
        Rename(cuda, "flagos"),
        Text(text, "cuda", "flagos"),
        Arguments(inner, last=("2",)),
    ]
    after = 'x = torch.flagos.f(\n    0,\n    j="flagos",  # c\n    k=g(1, 2),\n)\n'
    check(before, edits, after)


@pytest.mark.parametrize(
    ("source", "change", "message"),
    [
        ("«f(a)»\n", {"drop": (1,)}, "no argument 1"),
        ("«f(a)»\n", {"names": ((-1, "k"),)}, "no argument -1"),
        ("«f(k=a)»\n", {"names": ((0, "j"),)}, "argument 0 cannot be named 'j'"),
        ("«f(*a)»\n", {"names": ((0, "j"),)}, "argument 0 cannot be named 'j'"),
        ("«f(a)»\n", {"names": ((0, "1"),)}, "argument 0 cannot be named '1'"),
        ("«f(a, b)»\n", {"names": ((0, "k"),)}, "not be valid Python"),
        ("«f(**a)»\n", {"last": ("b",)}, "not be valid Python"),
        ("«f(a)»\n", {"first": "a, b"}, "not one argument"),
        ("«f(a)»\n", {"first": "a b"}, "not a Python expression"),
        ("«f»\n", {"first": "a"}, "no expression here"),
    ],
)
def test_what_cannot_be_done_is_refused(source: str, change: dict[str, Any], message: str) -> None:
    before, [span] = marked(source)
    refuses(before, [Arguments(span, **change)], message)


@pytest.mark.parametrize("change", [{"drop": (0,)}, {"values": ((0, "y"),)}])
def test_an_edit_in_an_argument_that_goes_is_refused(change: dict[str, Any]) -> None:
    before, [call, name] = marked("«f(a.«b», c)»\n")
    refuses(before, [Arguments(call, **change), Rename(name, "d")], "argument 0 goes")


def test_two_changes_of_the_same_call_are_refused() -> None:
    before, [call] = marked("«f()»\n")
    refuses(before, [Arguments(call, first="a"), Arguments(call, first="b")], "two edits")
