"""Members of literals and operands go, and the layout of the others stays."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flmigrate.codemods.islands import apply_edits
from flmigrate.findings import Edit, Expression, Members, Rename, Text
from tests.codemod_case import check, marked, refuses


@pytest.mark.parametrize(
    ("source", "drop", "after"),
    [
        ("x = «[a, b]»\n", (0,), "x = [b]\n"),
        ("x = «[a, b]»\n", (1,), "x = [a]\n"),
        ("x = «[a, b,]»\n", (1,), "x = [a,]\n"),
        ("x = «[ a, b, *c ]»\n", (1, 2), "x = [ a ]\n"),
        ("x = «[a, b]»\n", (1, 0), "x = []\n"),
        ("x = «[a, b]»\n", (), "x = [a, b]\n"),
        ("x = «(a, b)»\n", (0,), "x = (b,)\n"),
        ("x = «(a, b)»\n", (1,), "x = (a,)\n"),
        ("x = «( a, b, )»\n", (1,), "x = ( a, )\n"),
        ("x = «(a, b, c)»\n", (1,), "x = (a, c)\n"),
        ("x = «(a,)»\n", (0,), "x = ()\n"),
        ("x = («(a, b)»)\n", (1,), "x = ((a,))\n"),
        ("x = «a, b»\n", (1,), "x = a,\n"),
        ("x = «a, b, c»  # x\n", (0,), "x = b, c  # x\n"),
        ("x = «a, b»\n", (0, 1), "x = ()\n"),
        ("for x in «a, (b)»: pass\n", (0,), "for x in (b),: pass\n"),
        ("x in «{a, b}»\n", (1,), "x in {a}\n"),
        ("x = «{'a': 1, 'b': 2}»\n", (0,), "x = {'b': 2}\n"),
        ("x = «{'a': 1, **b, 'c': 2}»\n", (1,), "x = {'a': 1, 'c': 2}\n"),
        ("x = «{'a': 1,}»\n", (0,), "x = {}\n"),
        ("f(«['é', «b»]», «(c, d)»)\n".replace("«b»", "b"), (1,), "f(['é'], (c,))\n"),
        # One below the other.
        ("x = «[\n    a,\n    b,\n]»\n", (0,), "x = [\n    b,\n]\n"),
        ("x = «[\n    a,\n    b\n]»\n", (1,), "x = [\n    a\n]\n"),
        ("x = «(\n    a,\n    b\n)»\n", (1,), "x = (\n    a,\n)\n"),
        ("x = «{\n\t1: a,\n\n\t2: b,\n}»\n", (1,), "x = {\n\t1: a,\n\n}\n"),
        ("x = «{\r\n    1: a,\r\n    2: b,\r\n}»\r\n", (0,), "x = {\r\n    2: b,\r\n}\r\n"),
        ("x = «[a,\n     b,\n     c]»\n", (0,), "x = [b,\n     c]\n"),
        ("x = «[a,\n     b,\n     c]»\n", (2,), "x = [a,\n     b]\n"),
    ],
)
def test_members_of_literals(source: str, drop: tuple[int, ...], after: str) -> None:
    before, spans = marked(source)
    check(before, [Members(span, drop) for span in spans], after)


_TABLE = """\
x = [  # open
    # above a
    a,  # a
    # above b
    b,  # b
    c,  # c
    # below
]
"""


@pytest.mark.parametrize(
    ("drop", "lost"),
    [((0,), ["# a"]), ((1,), ["# b"]), ((2,), ["# c"]), ((0, 2), ["# a", "# c"])],
)
def test_a_dropped_member_takes_its_line(drop: tuple[int, ...], lost: list[str]) -> None:
    before, [span] = marked(_TABLE.replace("[", "«[").replace("]", "]»"))
    gone = {f"    {'abc'[i]},  # {'abc'[i]}\n" for i in drop}
    after = "".join(line for line in _TABLE.splitlines(True) if line not in gone)
    check(before, [Members(span, drop)], after, loses=lost)


def test_the_comment_behind_a_dropped_first_member_goes() -> None:
    before, [span] = marked("x = «[a,  # a\n     b]»  # x\n")
    check(before, [Members(span, (0,))], "x = [b]  # x\n", loses=["# a"])
    before, [span] = marked("x = «[a,  # a\n     # b is below\n     b]»\n")
    check(before, [Members(span, (0,))], "x = [\n     # b is below\n     b]\n", loses=["# a"])


@pytest.mark.parametrize(
    ("source", "drop", "after"),
    [
        ("x = «a or b»\n", (0,), "x = b\n"),
        ("x = «a or b»\n", (1,), "x = a\n"),
        ("x = «a or b or c»\n", (1,), "x = a or c\n"),
        ("x = «a or b or c»\n", (0, 2), "x = b\n"),
        ("x = «a or b and c»\n", (0,), "x = b and c\n"),
        ("x = a or «b and c»\n", (1,), "x = a or b\n"),
        ("x = «(a or b) or c»\n", (1,), "x = (a or b)\n"),
        ("x = not («a or b»)\n", (1,), "x = not a\n"),
        ("x = not(«a or b»)\n", (1,), "x = not(a)\n"),
        ("x = («a or b») and c\n", (1,), "x = a and c\n"),
        ("x = («a or b»)and c\n", (1,), "x = (a)and c\n"),
        ("x = («a or b or c») and d\n", (1,), "x = (a or c) and d\n"),
        ("x = «a and(b)and c»\n", (1,), "x = a and c\n"),
        ("x = «a and(b)and c»\n", (2,), "x = a and(b)\n"),
        ("x = («a == 1 or b»).c\n", (1,), "x = (a == 1).c\n"),
        ("x = («a or b»).c\n", (1,), "x = a.c\n"),
        ("x = («a or (b := c)»)\n", (0,), "x = (b := c)\n"),
        ("x = (( «a or b» ))\n", (1,), "x = a\n"),
        ("f(«a or b», k=«a or b»)\n", (0,), "f(b, k=b)\n"),
        ("x = [i for i in y if «a and b»]\n", (1,), "x = [i for i in y if a]\n"),
        ("if «a and \\\n        b»: pass\n", (0,), "if b: pass\n"),
        ("if «a and \\\n        b and c»: pass\n", (1,), "if a and \\\n        c: pass\n"),
        # Line breaks stay with the operands that stay.
        ("if (\n    «a\n    or b\n    or c»\n): pass\n", (1,), "if (\n    a\n    or c\n): pass\n"),
        ("if (\n    «a\n    or b\n    or c»\n): pass\n", (0,), "if (\n    b\n    or c\n): pass\n"),
        ("if (\n    «a\n    or b\n    or c»\n): pass\n", (2,), "if (\n    a\n    or b\n): pass\n"),
        ("if («a and\n        b and\n        c»): pass\n", (0,), "if (b and\n        c): pass\n"),
        ("if («a and\n        b and\n        c»): pass\n", (1,), "if (a and\n        c): pass\n"),
        ("if («a and\n        b and\n        c»): pass\n", (2,), "if (a and\n        b): pass\n"),
        ("if («a and b and\n        c»): pass\n", (1,), "if (a and\n        c): pass\n"),
        ("if («a and\n        b and c»): pass\n", (1,), "if (a and\n        c): pass\n"),
        # Parentheses go with the lines that they were for.
        ("if (\n    «f(\n        x,\n    )\n    or b»\n): pass\n", (1,),
         "if (\n    f(\n        x,\n    )\n): pass\n"),
        ("if («(a\n     and b) or c»): pass\n", (1,), "if (a\n     and b): pass\n"),
        ("f(\n    «a\n    or b»,\n)\n", (1,), "f(\n    a,\n)\n"),
    ],
)  # fmt: skip
def test_operands(source: str, drop: tuple[int, ...], after: str) -> None:
    before, spans = marked(source)
    check(before, [Members(span, drop) for span in spans], after)


def test_parentheses_on_lines_of_their_own_go_with_them() -> None:
    before, [span] = marked("if (\n    «a\n    or b»\n):\n    pass\n")
    after = apply_edits(before, ast.parse(before), [Members(span, (1,))]).text
    assert after == "if a:\n    pass\n"


_LEADING = """\
if (  # open
    «a  # ca
    # above b
    and b  # cb
    # above c
    and c»  # cc
    # below
):
    pass
"""
_TRAILING = """\
if (  # open
    «a and  # ca
    # above b
    b and  # cb
    # above c
    c»  # cc
    # below
):
    pass
"""


@pytest.mark.parametrize("source", [_LEADING, _TRAILING])
@pytest.mark.parametrize(
    ("drop", "lost"),
    [((0,), ["# ca"]), ((1,), ["# cb"]), ((2,), ["# cc"]), ((2, 0), ["# ca", "# cc"])],
)
def test_comments_between_operands(source: str, drop: tuple[int, ...], lost: list[str]) -> None:
    before, [span] = marked(source)
    after = apply_edits(before, ast.parse(before), [Members(span, drop)]).text
    check(before, [Members(span, drop)], after, loses=lost)
    # Each operand that stays has its own comment still on its line.
    for number, name in enumerate("abc"):
        lines = [line for line in after.splitlines() if line.endswith(f"# c{name}")]
        assert len(lines) == (number not in drop)
        assert all(f"{name} " in line for line in lines)
    comments = [line.strip() for line in after.splitlines() if line.strip().startswith("#")]
    assert comments == ["# above b", "# above c", "# below"]


def test_edits_in_what_stays_are_made() -> None:
    before, [span, cuda, text] = marked("x = «[a, torch.«cuda».f(«'cuda:0'»), b]»\n")
    edits: list[Edit] = [
        Members(span, (0, 2)),
        Rename(cuda, "flagos"),
        Text(text, "cuda", "flagos"),
    ]
    check(before, edits, "x = [torch.flagos.f('flagos:0')]\n")
    before, [outer, inner] = marked("x = «(«a or b») and c and d»\n")
    check(before, [Members(outer, (2,)), Members(inner, (0,))], "x = b and c\n")
    before, [span, first] = marked("x = «««a».b or c or d»\n".replace("«««a».b", "««a».b"))
    check(before, [Members(span, (1,)), Rename(first, "z")], "x = z.b or d\n")
    before, [span, first] = marked("x = ««a» or b»\n")
    check(before, [Members(span, (1,)), Expression(first, "c or d")], "x = c or d\n")


def test_an_operation_that_is_wrapped() -> None:
    before, [span] = marked("x = «a or b»\n")
    edits: list[Edit] = [Expression(span, "f(__0__)", (span,)), Members(span, (0,))]
    check(before, edits, "x = f(b)\n")


@pytest.mark.parametrize(
    ("source", "drop", "message"),
    [
        ("x = «[a]»\n", (1,), "no member 1"),
        ("x = «a or b»\n", (-1,), "no member -1"),
        ("x = «{a}»\n", (0,), "nothing would be left"),
        ("x = «a or b»\n", (0, 1), "nothing would be left"),
        ("x = «[a for a in b]»\n", (0,), "no expression here"),
        ("x = «f(a)»\n", (0,), "no expression here"),
        ("f(«a  # a\n  or b»)\n", (1,), "would be lost"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_refused(source: str, drop: tuple[int, ...], message: str) -> None:
    before, [span] = marked(source)
    refuses(before, [Members(span, drop)], message)


@pytest.mark.parametrize("source", ["x = «[a.«b», c]»\n", "x = «a.«b» or c»\n"])
def test_an_edit_in_what_goes_is_refused(source: str) -> None:
    before, [span, name] = marked(source)
    refuses(before, [Members(span, (0,)), Rename(name, "d")], "member 0 goes")
    refuses(before, [Members(span, (1,)), Members(span, (1,))], "two edits")


# --- any literal ---------------------------------------------------------------------------

_MEMBERS = ["a", "(b)", "f(x,\n  y)", "'''c\n'''", "(d\n   and e)", "{1: 2}", "not g", "h.i[0]"]
_BREAKS = ["", " ", "\n    ", "\n\n    ", "  # c\n    ", "\n    # own\n    "]


@st.composite
def _literals(draw: st.DrawFn) -> tuple[str, list[int]]:
    """A literal, or an operation in parentheses, and what to drop of it."""
    members = draw(st.lists(st.sampled_from(_MEMBERS), min_size=2, max_size=5))
    kind = draw(st.sampled_from(["[]", "()", "{}", "{:}", "or", "and"]))
    breaks = [draw(st.sampled_from(_BREAKS)) for _ in range(2 * len(members))]
    joint = f" {kind} "
    if kind not in ("or", "and"):  # a comment between a member and its comma is the member's
        joint = ","
        breaks[::2] = [each.replace("# own", "# c") for each in breaks[::2]]
    text = ""
    for number, member in enumerate(members):
        pair = f"{number}: " if kind == "{:}" else ""
        last = number == len(members) - 1
        text += (
            pair + member + ("" if last else breaks[2 * number] + joint + breaks[2 * number + 1])
        )
    if kind in ("or", "and"):
        source = f"x = not ({breaks[-1]}«{text}»{breaks[-2]})\n"
    else:
        comma = draw(st.sampled_from(["", ","]))
        source = f"x = «{kind[0]}{breaks[-1]}{text}{comma}{breaks[-2]}{kind[-1]}»\n"
    drop = draw(st.sets(st.integers(0, len(members) - 1), max_size=len(members) - 1))
    return source.replace("\n", draw(st.sampled_from(["\n", "\r\n"]))), sorted(drop)


def _without(members: Sequence[ast.expr], drop: Sequence[int]) -> list[ast.expr]:
    return [member for i, member in enumerate(members) if i not in drop]


@settings(max_examples=300, deadline=None)
@given(_literals())
def test_any_members_of_any_literal(case: tuple[str, list[int]]) -> None:
    source, drop = case
    before, [span] = marked(source)
    after = apply_edits(before, ast.parse(before), [Members(span, tuple(drop))]).text
    expected = ast.parse(before)
    [statement] = expected.body
    assert isinstance(statement, ast.Assign)
    value = statement.value
    if isinstance(value, ast.UnaryOp):
        assert isinstance(value.operand, ast.BoolOp)
        operation = value.operand
        operation.values = _without(operation.values, drop)
        if len(operation.values) == 1:
            value.operand = operation.values[0]
    elif isinstance(value, ast.Dict):
        value.keys = [key for i, key in enumerate(value.keys) if i not in drop]
        value.values = _without(value.values, drop)
    else:
        assert isinstance(value, (ast.List, ast.Tuple, ast.Set))
        value.elts = _without(value.elts, drop)
    assert ast.dump(ast.parse(after)) == ast.dump(expected)
    # Comments on lines of their own belong to the place, and stay.
    assert after.count("# own") == before.count("# own")
    assert drop or after == before
