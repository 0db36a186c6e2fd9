"""Whole simple statements are replaced and removed."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from flmigrate.codemods.islands import apply_edits
from flmigrate.findings import Edit, Expression, Rename, Statement, Text
from tests.codemod_case import check, marked, refuses


@pytest.mark.parametrize(
    ("source", "after", "lost"),
    [
        ("a()\n«torch.cuda.f()»\nb()\n", "a()\nb()\n", ()),
        ("a()\n# why\n«f()»  # c\nb()\n", "a()\n# why\nb()\n", ["# c"]),
        ("a()\n«f(\n    x,  # x\n)»\nb()\n", "a()\nb()\n", ["# x"]),
        ("if a:\n    «f()»\nelse:\n    b\n", "if a:\n    pass\nelse:\n    b\n", ()),
        ("if a: «x = 1»; b\n", "if a: b\n", ()),
        ("a; «del b»; «return c»\n", "a\n", ()),
        ('def f():\n    """Doc."""\n    «x»\n', 'def f():\n    """Doc."""\n', ()),
        ("for x in y:\n    «f()»\n\n# next\nb\n", "for x in y:\n    pass\n\n# next\nb\n", ()),
        ("x = '''\n\n'''\n\n«f()»\n\n'''\n\n'''\n", "x = '''\n\n'''\n\n'''\n\n'''\n", ()),
    ],
)  # fmt: skip
def test_removed(source: str, after: str, lost: Any) -> None:
    before, spans = marked(source)
    check(before, [Statement(span, None) for span in spans], after, loses=lost)


@pytest.mark.parametrize(
    ("source", "new", "after"),
    [
        ("«f()»  # c\n", "g()", "g()  # c\n"),
        ("if x:\n    «f()»\n", "\ng()\n", "if x:\n    g()\n"),
        ("if x:\n    «f()»  # c\n", "g()\nh()", "if x:\n    g()\n    h()  # c\n"),
        ("if x:\n\t«f()»\n", "if y:\n    g()\nelse:\n    h()",
         "if x:\n\tif y:\n\t\tg()\n\telse:\n\t\th()\n"),
        ("class A:\n  def f():\n    «f()»\n", "if y:\n    g()",
         "class A:\n  def f():\n    if y:\n      g()\n"),
        ("«f()»\n", "if y:\n    g()\n\n    h()", "if y:\n    g()\n\n    h()\n"),
        ("if x:\r\n    «f()»\r\n", "if y:\n    g()\n\n    h()",
         "if x:\r\n    if y:\r\n        g()\r\n\r\n        h()\r\n"),
        ("a; «f()»; b\n", "g(); h()", "a; g(); h(); b\n"),
        ("a; «f()»; b\n", "g()\nh()", "a; g(); h(); b\n"),
        ("if x:\n    «f()»  # c\n", "g()\n\nh()", "if x:\n    g()\n\n    h()  # c\n"),
        ("a; «f()»\n", "g()\n\nh()", "a\ng()\n\nh()\n"),
        ("if x: «f()»\n", "g()", "if x: g()\n"),
        ("if x: a; «f()»  # c\n", "g()\nh()", "if x: a; g(); h()  # c\n"),
        ("a; «f()»; b\n", "if y:\n    g()", "a\nif y:\n    g()\nb\n"),
        ("if x: «f()»\nelse: a\n", "if y:\n    g()",
         "if x:\n    if y:\n        g()\nelse: a\n"),
        ("if x:\n\tif z: a; «f()»; b  # c\n", "while y: g()",
         "if x:\n\tif z:\n\t\ta\n\t\twhile y: g()\n\t\tb  # c\n"),
        ("«f()»;\n", "if y:\n    g()", "if y:\n    g()\n"),
        ("«x = 1»", "y = '''\n  a\n'''\nz = 2", "y = '''\n  a\n'''\nz = 2"),
        ("if x:\n    «f()»\n", "y = '''\n  a\n'''\nif z:\n    w = '''\nb'''",
         "if x:\n    y = '''\n  a\n'''\n    if z:\n        w = '''\nb'''\n"),
    ],
)  # fmt: skip
def test_replaced(source: str, new: str, after: str) -> None:
    before, [span] = marked(source)
    check(before, [Statement(span, new)], after)


def test_a_joined_line_is_split_where_it_must_be() -> None:
    before, [span] = marked("if x: \\\n  «f()»\n")
    after = apply_edits(before, ast.parse(before), [Statement(span, "if y:\n  g()")]).text
    assert after == "if x:\n    if y:\n        g()\n"


def test_new_comments() -> None:
    before, [span] = marked("if x:\n    «f()»  # c\n")
    check(
        before,
        [Statement(span, "# why\ng()  # g\nh()")],
        "if x:\n    # why\n    g()  # g\n    h()  # c\n",
        gains=["# why", "# g"],
    )
    before, [span] = marked("a; «f()»; b\n")
    check(
        before,
        [Statement(span, "# why\ng()  # g")],
        "a\n# why\ng()  # g\nb\n",
        gains=["# why", "# g"],
    )


@pytest.mark.parametrize(
    ("source", "new", "after"),
    [
        ("«f(«x», k=«y»)»\n", "g(__0__, __1__)", "g(x, k=y)\n"),
        ("«f(«x»)»\n", "if __0__:\n    g(k=__0__)", "if x:\n    g(k=x)\n"),
        ("if a:\n    «f(«x or y»)»\n", "z = __0__.b\nreturn not __0__",
         "if a:\n    z = (x or y).b\n    return not (x or y)\n"),
        ("«a = «b if c else d»»\n", "a = __0__ or e", "a = (b if c else d) or e\n"),
        ("«a = «b if c else d»»\n", "a = e(__0__)", "a = e(b if c else d)\n"),
        ("««f()»»\n", "x = __0__", "x = f()\n"),
        ("«f(*«x»)»\n", "g(1, *__0__)", "g(1, *x)\n"),
        # What a hole holds over several lines moves with the new statement, strings do not.
        ("if a:\n    «f(«g(\n        1,\n        '''\n  b''',\n    )»)»\n",
         "if h:\n    x = __0__",
         "if a:\n    if h:\n        x = g(\n            1,\n            '''\n  b''',\n        )\n"),
        ("«f(«g(\n    1,  # c\n)»)»\n", "x = __0__", "x = g(\n    1,  # c\n)\n"),
        ("if a: «f(«g(\n        1,\n    )»)»\n", "if h:\n    x = __0__",
         "if a:\n    if h:\n        x = g(\n            1,\n        )\n"),
    ],
)  # fmt: skip
def test_holes(source: str, new: str, after: str) -> None:
    before, [span, *holes] = marked(source)
    # The last case starts on the header's line, where LibCST counts from the header.
    check(before, [Statement(span, new, tuple(holes))], after,
          whole_module=not source.startswith("if a: "))  # fmt: skip


def test_edits_in_holes_are_made() -> None:
    before, [span, call, cuda, text] = marked(
        "if x:\n    ««torch.«cuda».f(«'cuda:0'»)»»\n".replace("««t", "«a = «t")
    )
    edits: list[Edit] = [
        Statement(span, "b = __0__", (call,)),
        Rename(cuda, "flagos"),
        Text(text, "cuda", "flagos"),
    ]
    check(before, edits, "if x:\n    b = torch.flagos.f('flagos:0')\n")


def test_statement_that_is_its_own_hole_and_is_edited() -> None:
    before, [span, call] = marked("««f()»»\n")
    edits: list[Edit] = [Statement(span, "x = __0__", (call,)), Expression(call, "g()")]
    check(before, edits, "x = g()\n")
    check(before, edits[::-1], "x = g()\n")


@pytest.mark.parametrize(
    ("source", "new", "message"),
    [
        ("«f()»\n", "g(", "not Python source"),
        ("«f()»\n", "", "no statement"),
        ("«f()»\n", "\n# only a comment", "no statement|a comment ends"),
        ("«f()»\n", "g()\n# end", "a comment ends the new source"),
        ("«f(\n    x,  # c\n)»\n", "g()", "'# c' would be lost"),
        ("«if x: f()»\n", "g()", "crosses the border|one whole simple"),
        ("x = «f()»\n", "g()", "one whole simple statement"),
        ("«f(«x»)»\n", "g(__1__)", "a hole too many"),
        ("«f(*«x»)»\n", "__0__.y", "starred argument"),
    ],
)
def test_what_cannot_be_done_is_refused(source: str, new: str, message: str) -> None:
    before, [span, *holes] = marked(source)
    refuses(before, [Statement(span, new, tuple(holes))], message)


def test_an_edit_in_a_removed_statement_is_refused() -> None:
    before, [span, cuda] = marked("«torch.«cuda».f()»\n")
    refuses(before, [Statement(span, None), Rename(cuda, "flagos")], "two edits")
