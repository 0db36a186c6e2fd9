"""Names and chains of names get another spelling, and nothing else changes."""

from __future__ import annotations

import sys
import threading

import pytest

from flmigrate.findings import Edit, Rename, Span
from tests.codemod_case import at, check, refuses


@pytest.mark.parametrize(
    ("before", "part", "new", "after"),
    [
        ("s = torch.cuda.Stream()\n", "torch.cuda", "torch.flagos", "s = torch.flagos.Stream()\n"),
        ("s = torch.cuda.Stream()\n", "cuda", "flagos", "s = torch.flagos.Stream()\n"),
        ("s = torch_npu.npu.Stream()\n", "torch_npu", "torch", "s = torch.npu.Stream()\n"),
        ("a = torch.cuda.amp.autocast\n", "torch.cuda.amp.autocast", "torch.autocast",
         "a = torch.autocast\n"),
        ("a = torch_npu\n", "torch_npu", "torch.flagos", "a = torch.flagos\n"),
        ("a = (torch.cuda).Event\n", "torch.cuda", "tf", "a = (tf).Event\n"),
        ("a = ( torch . cuda ).Event\n", "torch . cuda", "torch.flagos",
         "a = ( torch . flagos ).Event\n"),
        ("f(*torch.cuda.x, **torch.y)\n", "torch.cuda.x", "t.z", "f(*t.z, **torch.y)\n"),
        ("x = not(torch.cuda.a)\n", "torch.cuda.a", "b", "x = not(b)\n"),
        ("f(cuda=cuda)\n", "cuda", "flagos", "f(flagos=cuda)\n"),
        ("y = x[torch.cuda.a:b]\n", "torch.cuda.a", "t.a", "y = x[t.a:b]\n"),
        ("del torch.cuda.a, b\n", "torch.cuda.a", "t.a", "del t.a, b\n"),
        ("torch.cuda.f = g\n", "torch.cuda.f", "t.f", "t.f = g\n"),
        ("x: torch.cuda.Event = None\n", "torch.cuda.Event", "t.Event", "x: t.Event = None\n"),
        ("with torch.cuda.stream(s) as x: pass\n", "torch.cuda", "t",
         "with t.stream(s) as x: pass\n"),
        ("x = lambda d=torch.cuda.a: d\n", "torch.cuda.a", "t.a", "x = lambda d=t.a: d\n"),
        ("if (n := torch.cuda.count()) > 1: pass\n", "torch.cuda", "t",
         "if (n := t.count()) > 1: pass\n"),
    ],
)  # fmt: skip
def test_rename(before: str, part: str, new: str, after: str) -> None:
    check(before, [Rename(at(before, part), new)], after)


def test_one_identifier_of_a_chain_over_lines() -> None:
    before = """\
x = (
    torch  # the framework
    .cuda  # the vendor
    .current_stream()
)
"""
    check(before, [Rename(at(before, "cuda"), "flagos")], before.replace("cuda", "flagos"))


def test_whole_chain_over_lines_keeps_its_lines_and_comments() -> None:
    before = """\
x = (
    torch  # the framework
    .cuda  # the vendor
    .current_stream()
)
"""
    chain = Span(before.index("torch"), before.index("("[0], before.index("current")))
    check(
        before,
        [Rename(chain, "torch.flagos.stream_now")],
        before.replace("cuda", "flagos").replace("current_stream", "stream_now"),
    )


def test_chain_gets_shorter_and_keeps_the_lines_of_what_stays() -> None:
    before = "x = (torch\n     .cuda.amp\n     .autocast)\n"
    chain = Span(before.index("torch"), before.index(")"))
    check(before, [Rename(chain, "torch.autocast")], "x = (torch\n     .autocast)\n")


def test_chain_gets_longer() -> None:
    before = "x = (torch\n     .autocast)\n"
    chain = Span(before.index("torch"), before.index(")"))
    check(before, [Rename(chain, "torch.amp.autocast")], "x = (torch.amp\n     .autocast)\n")


def test_comment_of_a_name_that_goes_is_not_lost_silently() -> None:
    before = "x = (torch\n     .cuda  # why\n     .amp\n     .autocast)\n"
    chain = Span(before.index("torch"), before.index(")"))
    refuses(before, [Rename(chain, "torch.autocast")], "'# why' would be lost")


def test_backslash_continuation_stays() -> None:
    before = "x = torch. \\\n    cuda \\\n    .Event()\n"
    check(before, [Rename(at(before, "cuda"), "flagos")], before.replace("cuda", "flagos"))


@pytest.mark.parametrize(
    ("before", "nth"),
    [
        ("@torch.cuda.amp.custom_fwd\ndef f(): pass\n", 0),
        ("@a\n# why\n\n@torch.cuda.f(\n    x\n)\nasync def f(a,\n            b): pass\n", 0),
        ("class C(torch.cuda.Stream, metaclass=M): pass\n", 0),
        ("def f(a: torch.cuda.Event = torch.cuda.e, *, b) -> torch.cuda.Stream: pass\n", 0),
        ("def f(a: torch.cuda.Event = torch.cuda.e, *, b) -> torch.cuda.Stream: pass\n", 1),
        ("def f(a: torch.cuda.Event = torch.cuda.e, *, b) -> torch.cuda.Stream: pass\n", 2),
        ("try:\n    pass\nexcept torch.cuda.OutOfMemoryError as e:\n    pass\n", 0),
        ("try:\n    pass\nexcept (A, torch.cuda.OutOfMemoryError):  # both\n    pass\n", 0),
        ("if a:\n    pass\nelif torch.cuda.is_available():\n    pass\nelse:\n    pass\n", 0),
        ("while torch.cuda.is_available():\n    pass\nelse:\n    torch.a\n", 0),
        ("for i in range(torch.cuda.device_count()):\n    pass\n", 0),
        ("async def f():\n    async with torch.cuda.x() as y:\n        await y\n", 0),
        ("async def f():\n    async for x in torch.cuda.x():\n        await torch.cuda.y\n", 1),
        ("with (torch.cuda.stream(s) as a, b):\n    pass\n", 0),
        ("with (a as b,\n      # c: d\n      torch.cuda.stream(s),\n):\n    pass\n", 0),
        ("if torch.cuda.is_available(): x = torch.cuda.y; z = torch.cuda.q\n", 0),
        ("if torch.cuda.is_available(): x = torch.cuda.y; z = torch.cuda.q\n", 1),
        ("if torch.cuda.is_available(): x = torch.cuda.y; z = torch.cuda.q\n", 2),
        ("match x:\n    case torch.cuda.Event():\n        pass\n", 0),
        ("match x:\n    case (  # why\n        torch.cuda.A\n    ) if y:\n        pass\n", 0),
        ("match torch.cuda.x:\n    case {torch.cuda.K: _, **r}:\n        torch.cuda.z\n", 0),
        ("match torch.cuda.x:\n    case {torch.cuda.K: _, **r}:\n        torch.cuda.z\n", 1),
        ("match torch.cuda.x:\n    case {torch.cuda.K: _, **r}:\n        torch.cuda.z\n", 2),
        ("match x:\n    case A(\n        torch.cuda.B,\n      c=1\n    ): pass\n", 0),
        ("match x:\n    case _ if torch.cuda.x: pass\n", 0),
        ("class A:\n  @b\n  @torch.cuda.d\n  def f(a,\n       x): return torch.cuda.y\n", 0),
        ("class A:\n  @b\n  @torch.cuda.d\n  def f(a,\n       x): return torch.cuda.y\n", 1),
        ("class A:\n\n    @(  # odd\n        torch.cuda.d\n    )\n    class B: pass\n", 0),
        ("x = 1; y = torch.cuda.a; z = 2\n", 0),
        ("if x:\n\ty = torch.cuda.a\n\tif z:\n\t\tq = f(torch.cuda.b,\n\t\t\t1)\n", 1),
        ("x = [torch.cuda.a for _ in torch.cuda.b if torch.cuda.c]\n", 1),
        ("x = {**torch.cuda.a, 'b': torch.cuda.c}\n", 1),
        ("x = yield torch.cuda.a\n", 0),
        ("assert torch.cuda.a, torch.cuda.b\n", 1),
        ("raise torch.cuda.A from torch.cuda.b\n", 1),
        ("global x; return torch.cuda.y\n", 0),
        ("x = []  # type: List[torch.cuda.Event]\ny = torch.cuda.z\n", 1),
        ("def f(a):  # type: (torch.cuda.Event) -> None\n    torch.cuda.x\n", 1),
        ("for x in torch.cuda.y:  # type: torch.cuda.Event\n    pass\n", 0),
    ],
)  # fmt: skip
def test_everywhere_in_a_statement(before: str, nth: int) -> None:
    span = at(before, "torch.cuda", nth)
    after = before[: span.start] + "torch.flagos" + before[span.end :]
    check(before, [Rename(span, "torch.flagos")], after)
    cuda = at(before, "cuda", nth)
    check(before, [Rename(cuda, "flagos")], after)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="except* came with Python 3.11")
def test_except_star() -> None:
    before = "try:\n    a\nexcept* torch.cuda.E as e:\n    b\nexcept*(A, torch.cuda.F):\n    c\n"
    edits: list[Edit] = [Rename(at(before, "torch.cuda", n), "torch.flagos") for n in (0, 1)]
    check(before, edits, before.replace("cuda", "flagos"))


@pytest.mark.skipif(sys.version_info < (3, 12), reason="type parameters came with Python 3.12")
def test_type_parameters() -> None:
    before = (
        "def f[T: torch.cuda.E](): pass\nclass A[T: torch.cuda.E]: pass\ntype X = torch.cuda.E\n"
    )
    edits: list[Edit] = [Rename(at(before, "torch.cuda", n), "torch.flagos") for n in range(3)]
    check(before, edits, before.replace("cuda", "flagos"))


@pytest.mark.parametrize(
    "before",
    [
        "x = f'{torch.cuda.a} {b}'\n",
        "x = f'{b!r:>{torch.cuda.a}}'\n",
        "x = f'''{b}\n{\n  torch.cuda.a\n}'''\n",
        "x = f'a' f'{f\"{torch.cuda.a}\"}' 'b'\n",
        "x = f'{torch.cuda.a=}'\n",
        "print(f'é {torch.cuda.a}',\n      rf'\\d{{{torch.cuda.b}}}')\n",
    ],
)
def test_inside_an_f_string(before: str) -> None:
    check(before, [Rename(at(before, "cuda"), "flagos")], before.replace("cuda", "flagos", 1))
    check(
        before,
        [Rename(at(before, "torch.cuda.a"), "torch.flagos.a")],
        before.replace("cuda", "flagos", 1),
    )


@pytest.mark.skipif(sys.version_info < (3, 12), reason="PEP 701 came with Python 3.12")
def test_inside_an_f_string_of_python_3_12() -> None:
    before = "x = f'{torch.cuda.f('a')} {d['cuda']}'\n"
    check(before, [Rename(at(before, "cuda"), "flagos")], before.replace("cuda", "flagos", 1))


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines_and_columns_are_python_s(end: str) -> None:
    lines = [
        "# \x0c a form feed and \u2028 a separator end no line",
        "x = 'é\x85😀'; y = torch.cuda.ä",
        "\x0cz = torch.cuda.b",
        "if z:",
        "    \x0c    w = ('ü', torch.cuda.c,",
        "\t\t'\x0b', torch.cuda.d)",
        "",
    ]
    before = end.join(lines)
    edits: list[Edit] = [Rename(at(before, "cuda", n), "flagos") for n in range(4)]
    check(before, edits, before.replace("cuda", "flagos"), whole_module=False)


def test_lone_carriage_returns_end_lines_elsewhere() -> None:
    before = "a = 1\rb = torch.cuda.x\r\nc = torch.cuda.y\n"
    edits: list[Edit] = [Rename(at(before, "cuda", n), "flagos") for n in (0, 1)]
    check(before, edits, before.replace("cuda", "flagos"), whole_module=False)


def test_lone_carriage_return_inside_is_refused() -> None:
    before = "x = f(\r  torch.cuda.x)\n"
    refuses(before, [Rename(at(before, "cuda"), "flagos")], "lone carriage return")


def test_mixed_line_ends_stay() -> None:
    before = "a = f(\n  torch.cuda.x,\r\n  1)\r\nb = f(torch.cuda.y,\n  2)\n"
    edits: list[Edit] = [Rename(at(before, "cuda", n), "flagos") for n in (0, 1)]
    check(before, edits, before.replace("cuda", "flagos"))


def test_mixed_indentation_elsewhere_does_not_matter() -> None:
    before = "if a:\n\tif b:\n\t    x = torch.cuda.y\nelse:\n  z = 1\n"
    check(before, [Rename(at(before, "cuda"), "flagos")], before.replace("cuda", "flagos"),
          whole_module=False)  # fmt: skip


def test_only_the_token_is_reported_as_changed() -> None:
    before = "x = f(\n    torch.cuda.a,\n    b,\n    torch.cuda.c)\n"
    edits: list[Edit] = [Rename(at(before, "torch.cuda", n), "torch.flagos") for n in (0, 1)]
    applied = check(before, edits, before.replace("cuda", "flagos"))
    assert applied.changes == tuple((at(before, "cuda", n), "flagos") for n in (0, 1))


@pytest.mark.parametrize(
    ("before", "part", "new", "message"),
    [
        ("x = a.b\n", "a.b", "a.if", "not a dotted name"),
        ("x = a.b\n", "a.b", "a.b()", "not a dotted name"),
        ("x = f().b\n", "f().b", "a.b", "not a chain of names"),
        ("x = a.b\n", "= a", "a", "no expression here"),
        ("x = 'ab'\n", "ab", "c", "no expression here"),
        ("x = a.b.c\n", "b.c", "d", "no expression here"),
        ("f(a=1)\n", "a", "b.c", "not be valid Python"),
        ("x = a.b\n", "b", "c.d", "not be valid Python"),
        ("x = 1\n\n# a.b\n", "a.b", "c", "no statement here"),
        ("if a: b\n", "a: b", "c", "crosses the border"),
    ],
)
def test_what_cannot_be_renamed_is_refused(before: str, part: str, new: str, message: str) -> None:
    refuses(before, [Rename(at(before, part), new)], message)


def test_nothing_is_changed_when_one_edit_is_refused() -> None:
    before = "x = torch.cuda.a\ny = 1\n"
    edits: list[Edit] = [Rename(at(before, "cuda"), "flagos"), Rename(at(before, "1"), "b")]
    error = refuses(before, edits, "no expression here")
    assert error.span == at(before, "1")


@pytest.mark.parametrize(
    "expression",
    [
        "torch.cuda.a" + " + b" * 3_000,
        "torch.cuda.a" + ".b()" * 1_500,
        "(" * 90 + "torch.cuda" + ")" * 90,
    ],
    ids=["sum", "chain", "parentheses"],
)
def test_deep_expressions(expression: str) -> None:
    """They are edited where the stack is large, and refused where it is not."""
    before = f"x = {expression}\n"
    edits: list[Edit] = [Rename(at(before, "cuda"), "flagos")]
    outcome: list[object] = []

    def edit() -> None:
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(200_000)
        try:
            check(before, edits, before.replace("cuda", "flagos"), whole_module=False)
            outcome.append("edited")
        except RecursionError:
            # Raised by ast.parse alone; the codemods turn it into an EditError.
            outcome.append("not parsed")
        finally:
            sys.setrecursionlimit(limit)

    old_size = threading.stack_size(512 * 1024 * 1024)
    try:
        thread = threading.Thread(target=edit)
        thread.start()
    finally:
        threading.stack_size(old_size)
    thread.join()
    if outcome == ["not parsed"] and sys.version_info[:2] == (3, 12):
        pytest.skip("Python 3.12 cannot parse this itself, whatever the stack")
    assert outcome == ["edited"]


def test_too_deep_for_the_stack_is_refused() -> None:
    before = "x = torch.cuda.a" + " + b" * 500 + "\n"
    refuses(before, [Rename(at(before, "cuda"), "flagos")], "nested too deeply")


def test_two_edits_of_the_same_code_are_refused() -> None:
    before = "x = torch.cuda.a\n"
    edits: list[Edit] = [
        Rename(at(before, "torch.cuda"), "t"),
        Rename(at(before, "cuda"), "flagos"),
    ]
    refuses(before, edits, "two edits change the same code")
