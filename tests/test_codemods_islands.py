"""Islands: what LibCST gets to see, what stays as it is, and what is reported as changed."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Sequence
from typing import get_args

import libcst as cst
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from libcst.metadata import MetadataWrapper, PositionProvider

from flmigrate.analysis.source import line_starts
from flmigrate.codemods import CODEMODS, EditError, codemod_for
from flmigrate.codemods.finder import Finder
from flmigrate.codemods.islands import apply_edits, find_islands
from flmigrate.findings import Arguments, Edit, Expression, Import, Rename, Span, Text
from tests.codemod_case import check, marked, refuses


@pytest.mark.parametrize("module", ["flmigrate.codemods", "flmigrate.codemods.islands"])
def test_importing_the_codemods_does_not_import_libcst(module: str) -> None:
    program = f"import sys, {module}; print([m for m in sys.modules if m.startswith('libcst')])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_libcst_is_imported_without_its_slow_parts() -> None:
    program = """
import ast, sys
from flmigrate.codemods.islands import apply_edits
from flmigrate.findings import Rename, Span
apply_edits("a", ast.parse("a"), [Rename(Span(0, 1), "b")])
print([m for m in ("libcst.codemod", "libcst.matchers") if m in sys.modules])
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_every_kind_of_edit_has_a_codemod() -> None:
    assert set(CODEMODS) == set(get_args(Edit))
    for kind in CODEMODS:
        assert callable(codemod_for(kind))


def test_nothing_to_do() -> None:
    assert apply_edits("a b", ast.parse(""), []).text == "a b"


@pytest.mark.parametrize(
    ("source", "islands"),
    [
        ("a; «b»; c\n", ["b"]),
        ("if «a»: «b»; «c»\n", ["if a:", "b", "c"]),
        ("if a:\n    «b»\nelif «c»:\n    d\nelse:\n    «e»\n", ["b", "if c:", "e"]),
        ("@«a»\n# c\n@b(«c»)\nclass D(«e»):  # f\n    «g» = 1\n",
         ["@a\n# c\n@b(c)\nclass D(e):", "g = 1"]),
        ("try:\n    «a»\nexcept «b» as c: «d»\nelse:\n    «e»\nfinally: «f»\n",
         ["a", "except b as c:", "d", "e", "f"]),
        ("match «a»:\n    case «B»() if c: «d»\n", ["match a:", "case B() if c:", "d"]),
        ("for a in (  # :\n    «b»  # :\n): c\n", ["for a in (  # :\n    b  # :\n):"]),
        ("def f(a, *, b, **c,  # : x\n) -> «d»  :  # y\n    e\n",
         ["def f(a, *, b, **c,  # : x\n) -> d  :"]),
        ("class A:\n    def f(self): return «x[1:2]»\n", ["return x[1:2]"]),
        ("with (a as b, «c» as d): pass\n", ["with (a as b, c as d):"]),
        ("x = {1: «a», 2: lambda: b}  # c\n", ["x = {1: a, 2: lambda: b}"]),
        ("while «a» \\\n  : b\n", ["while a \\\n  :"]),
    ],
)  # fmt: skip
def test_islands_are_simple_statements_and_headers(source: str, islands: list[str]) -> None:
    text, spans = marked(source)
    found = find_islands(text, ast.parse(text), line_starts(text), spans)
    sources = [text[island.span.start : island.span.end] for island in found]
    assert sources == islands
    inside = [i for island in found for i in island.edits]
    assert sorted(inside) == list(range(len(spans)))
    for island in found:
        cst.parse_module(island.before + text[island.span.start : island.span.end] + island.after)


@pytest.mark.parametrize(
    "source",
    [
        "x = 1  # «a»\n",
        "«# a»\nx = 1\n",
        "x = 1\n\n«\n»",
        "if a:\n    b\n«else»:\n    c\n",
        "if «a: b»\n",
        "«x = 1\ny» = 2\n",
        "x = 1«;» y = 2\n",
    ],
)
def test_places_without_a_statement_are_refused(source: str) -> None:
    text, spans = marked(source)
    with pytest.raises(EditError, match=r"no statement here|crosses the border"):
        find_islands(text, ast.parse(text), line_starts(text), spans)


def test_code_that_libcst_rejects_is_not_touched_unless_edited() -> None:
    # A form feed in front of a decorator's line is fine for Python, not for LibCST.
    source = "class A:\n    @«a»\n  \x0c    def f(self): «b»\n"
    text, [decorator, body] = marked(source)
    check(text, [Rename(body, "c")], text.replace(": b", ": c"), whole_module=False)
    refuses(text, [Rename(decorator, "c")], "LibCST (does not understand|would print)")


def test_changes_are_cut_down_to_what_differs() -> None:
    text, spans = marked("""\
config = {
    "a": «torch.cuda.a»,
    "b": 1,
    "c": [«torch.cuda.b»,
          «"cuda:0"»,
          2],
}
«import torch_npu»
«torch.cuda.c»()
""")
    a, b, c, statement, d = spans
    edits: list[Edit] = [
        Rename(a, "torch.flagos.a"),
        Rename(b, "torch.flagos.b"),
        Text(c, "cuda", "flagos"),
        Import(statement, ("torch_npu",)),
        Rename(d, "torch.synchronize"),
    ]
    applied = apply_edits(text, ast.parse(text), edits)
    assert [(text[s.start : s.end], new) for s, new in applied.changes] == [
        ("cuda", "flagos"),
        ("cuda", "flagos"),
        ("cuda", "flagos"),
        ("import torch_npu\n", ""),
        ("cuda.c", "synchronize"),
    ]


def test_lines_that_come_in_between_are_whole() -> None:
    text, [call] = marked("x = «f(\n    a,\n    b,\n)»\n")
    applied = apply_edits(text, ast.parse(text), [Arguments(call, first="n", last=("k=1",))])
    assert [(text[s.start : s.end], new) for s, new in applied.changes] == [
        ("", "    n,\n"),
        ("", "    k=1,\n"),
    ]


def test_the_finder_agrees_with_the_position_provider_of_libcst() -> None:
    source = """\
@(a)
def f(x: (int) = (1), *y, **z) -> "é":
    return [*x, (y, z), {**z}, f"é{x!r:>{y}}", "a" 'b', (i for i in z), x[1:2, ::3], -x ** 2]
async def g():
    await (yield), lambda: (a := b), not c, a if b else c
"""
    module = cst.parse_module(source)
    positions = MetadataWrapper(module, unsafe_skip_copy=True).resolve(PositionProvider)
    starts = line_starts(source)
    compared = 0
    for node, place in positions.items():
        if isinstance(node, cst.BaseExpression):
            start = starts[place.start.line - 1] + place.start.column
            end = starts[place.end.line - 1] + place.end.column
            span = Span(start, end)
            find = Finder(module, source, [Expression(span, "x")]).target(Expression(span, "x"))
            assert find.node is node
            parent = find.ancestors[-1]
            assert any(child is node for child in parent.children)
            compared += 1
    assert compared > 40


# --- any edits of any statements -----------------------------------------------------------

#: Statements with places for edits: R a name, T a text that starts with "cuda", A a call,
#: X an expression that goes, W one that is wrapped. Lines are indented as they stand.
_STATEMENTS = [
    ("x = «torch.cuda.a»  # c", "R"),
    ("x = torch.«cuda».f(«'cuda:0'», é=«a.b»)", "RTX"),
    ("«torch.cuda.f(«a», b=«'cuda'»)»; y = «c».d", "ARTW"),
    ("x = «f(  # c1\n        a,  # c2\n        «b or c»,\n    )»", "AW"),
    ("if «torch.cuda.f()» and not «a»: «b» = f'{«c»} ü {d!r:>{«e»}}'", "AWRWR"),
    ("with «a» as b, \\\n        «torch.cuda.f()»: pass", "XA"),
    ("@«a.b(c)»\n    # c\n    @d\n    def f(x: «e» = (\n        «g»), *y): return «'cuda'»  # h",
     "AXWT"),
    ("try: «a»\n    except («E», F): raise «b»", "WRX"),
    ("while («x» :=\n        «f('''\n  ''')»): break", "RA"),
    ("x = [«i» for i in «y» if «z»] + (lambda: «w»)()", "WWXX"),
    ("x = («'cuda:'  # c\n         f'{a}'»)", "T"),
    ("match «a»:\n        case «B»(): «c»", "WRX"),
    ("for «i» in *«a», b: await «c»", "RWX"),
    ("x = '😀' % «a», «b» == c, -«d» ** 2, «e».f[«g»:]", "XXWXW"),
    ("def f():  # c\n        return «torch.cuda»", "R"),
    ("x: «torch.cuda.Event» = «a» if «b» else «c»", "RXWX"),
    ("x = \x0c«f(«a», *b)»\\\n  .c", "AW"),
]  # fmt: skip

_EXPRESSIONS = [
    "n",
    "n.m",
    "n or m",
    "n in m",
    "n if m else l",
    "lambda: n",
    "(n, m)",
    "-n",
    "f(n)",
]


def _edit(kind: str, span: Span, expression: str) -> Edit:
    if kind == "R":
        return Rename(span, "flagos")
    if kind == "T":
        return Text(span, "cuda", "flagos")
    if kind == "A":
        return Arguments(span, first=expression, last=("k=1",))
    if kind == "X":
        return Expression(span, expression)
    return Expression(span, "__0__.index", (span,))


@st.composite
def _modules(draw: st.DrawFn) -> tuple[str, list[Edit]]:
    """A module and edits in it that do not lie in each other, except in calls."""
    source = ""
    kinds = ""
    for indented, (statement, places) in draw(
        st.lists(st.tuples(st.booleans(), st.sampled_from(_STATEMENTS)), min_size=1, max_size=6)
    ):
        kinds += places
        if indented:
            source += f"async def f():  # «»\n    {statement}\n\n".replace("«»", "é")
        else:
            source += statement.replace("\n    ", "\n") + "\n# between\n"
    indent = draw(st.sampled_from(["    ", "\t", "  "]))
    source = re.sub("^ {4}", lambda _: indent, source, flags=re.MULTILINE)
    source = source.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))
    text, spans = marked(source)
    edits: list[Edit] = []
    for kind, span in zip(kinds, spans, strict=True):
        if draw(st.booleans()):
            edits.append(_edit(kind, span, draw(st.sampled_from(_EXPRESSIONS))))
    return text, edits


@settings(max_examples=200, deadline=None)
@given(_modules())
def test_everything_else_stays(case: tuple[str, list[Edit]]) -> None:
    text, edits = case
    after = apply_edits(text, ast.parse(text), edits).text
    check(text, edits, after, whole_module="\x0c" not in text)
    outside = [re.escape(piece) for piece in _outside(text, edits)]
    assert re.fullmatch(".*?".join(outside), after, re.DOTALL)


def _outside(text: str, edits: Sequence[Edit]) -> list[str]:
    """The pieces of a text that no edit touches."""
    pieces, done = [], 0
    for span in sorted(edit.span for edit in edits):
        if span.start >= done:
            pieces.append(text[done : span.start])
        done = max(done, span.end)
    return [*pieces, text[done:]]
