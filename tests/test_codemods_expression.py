"""One expression in place of another: what is kept, and where parentheses come."""

from __future__ import annotations

import pytest

from flmigrate.findings import Arguments, Edit, Expression, Rename, Text
from tests.codemod_case import at, check, marked, refuses


@pytest.mark.parametrize(
    ("source", "template", "after"),
    [
        # The template binds looser or tighter than its place.
        ("x = «a()»\n", "b in c", "x = b in c\n"),
        ("x = not «a()»\n", "b in c", "x = not b in c\n"),
        ("x = y and «a()»\n", "b in c", "x = y and b in c\n"),
        ("x = y and «a()»\n", "b or c", "x = y and (b or c)\n"),
        ("x = y or «a()»\n", "b or c", "x = y or b or c\n"),
        ("x = «a()» == y\n", "b in c", "x = (b in c) == y\n"),
        ("x = y == «a()»\n", "b in c", "x = y == (b in c)\n"),
        ("x = y < «a()» < z\n", "b in c", "x = y < (b in c) < z\n"),
        ("x = «a()».y\n", "b in c", "x = (b in c).y\n"),
        ("x = «a()»()\n", "b in c", "x = (b in c)()\n"),
        ("x = «a()»[0]\n", "b in c", "x = (b in c)[0]\n"),
        ("x = «a()» + 1\n", "b in c", "x = (b in c) + 1\n"),
        ("x = -«a()»\n", "b + c", "x = -(b + c)\n"),
        ("x = -«a()»\n", "b.c", "x = -b.c\n"),
        ("x = y - «a()»\n", "b - c", "x = y - (b - c)\n"),
        ("x = «a()» - y\n", "b - c", "x = b - c - y\n"),
        ("x = «a()» ** 2\n", "-b", "x = (-b) ** 2\n"),
        ("x = 2 ** «a()»\n", "-b", "x = 2 ** -b\n"),
        ("x = «a()» ** 2\n", "b ** c", "x = (b ** c) ** 2\n"),
        ("x = y * «a()»\n", "b + c", "x = y * (b + c)\n"),
        ("x = y + «a()»\n", "b * c", "x = y + b * c\n"),
        ("x = await «a()»\n", "b in c", "x = await (b in c)\n"),
        ("x = [*«a()»]\n", "b in c", "x = [*(b in c)]\n"),
        ("f(*«a()»)\n", "b in c", "f(*(b in c))\n"),
        ("f(**«a()»)\n", "b or c", "f(**(b or c))\n"),
        ("f(«a()», k=«a()»)\n", "b if c else d", "f(b if c else d, k=b if c else d)\n"),
        ("x = [«a()», {«a()»: «a()»}]\n", "b or c", "x = [b or c, {b or c: b or c}]\n"),
        ("x = y[«a()»:«a()»]\n", "b or c", "x = y[b or c:b or c]\n"),
        ("x = «a()» if «a()» else «a()»\n", "b if c else d",
         "x = (b if c else d) if (b if c else d) else b if c else d\n"),
        ("x = [i for i in «a()» if «a()»]\n", "b if c else d",
         "x = [i for i in (b if c else d) if (b if c else d)]\n"),
        ("x = lambda y=«a()»: «a()»\n", "b if c else d",
         "x = lambda y=b if c else d: b if c else d\n"),
        ("x = («a()»).y\n", "b in c", "x = (b in c).y\n"),
        ("x = ((«a()»)).y\n", "b in c", "x = ((b in c)).y\n"),
        ("x = («a()»)\n", "b", "x = (b)\n"),
        ("return(«a()»)\n", "b", "return(b)\n"),
        # Tuples, walruses, generators, numbers.
        ("x = «a()»\n", "b, c", "x = b, c\n"),
        ("x = «a()»\n", "(b, c)", "x = (b, c)\n"),
        ("x = («a()»)\n", "(b, c)", "x = (b, c)\n"),
        ("x = y + «a()»\n", "b, c", "x = y + (b, c)\n"),
        ("f(«a()»)\n", "b, c", "f((b, c))\n"),
        ("for i in «a()»: pass\n", "b, c", "for i in b, c: pass\n"),
        ("x = «(a, b)»\n", "c", "x = c\n"),
        ("x = («(a, b)»)\n", "c", "x = (c)\n"),
        ("x = («a, b»)\n", "c", "x = (c)\n"),
        ("f(«(a, b)»)[0]\n", "c", "f(c)[0]\n"),
        ("x = «(i for i in y)»\n", "c", "x = c\n"),
        ("f«(i for i in y)»\n", "c", "f(c)\n"),
        ("f(«(i for i in y)», 1)\n", "c", "f(c, 1)\n"),
        ("x = «a()».real\n", "1", "x = (1).real\n"),
        ("if «a()»: pass\n", "(b := c)", "if (b := c): pass\n"),
        ("x = «a()»\n", "lambda: b", "x = lambda: b\n"),
        # Inside f-strings.
        ("x = f'{«a()»}'\n", "b or c", "x = f'{b or c}'\n"),
        ("x = f'{«a()»:>3}'\n", "lambda: b", "x = f'{(lambda: b):>3}'\n"),
        ("x = f'{«a()»}'\n", "b['c']", "x = f'{b[\"c\"]}'\n"),
        ('x = f"{«a()»}"\n', 'f("b", "")', "x = f\"{f('b', '')}\"\n"),
        ('x = f"""{«a()»}"""\n', 'f("b")', 'x = f"""{f("b")}"""\n'),
        ("x = f\"{f'{«a()»}'}\"\n", "b.c", "x = f\"{f'{b.c}'}\"\n"),
        # Headers.
        ("@«a()»\ndef f(): pass\n", "b.c", "@b.c\ndef f(): pass\n"),
        ("if x:\n    pass\nelif «a()»:\n    pass\n", "b in c",
         "if x:\n    pass\nelif b in c:\n    pass\n"),
        ("with «a()» as x: pass\n", "b(1)", "with b(1) as x: pass\n"),
        ("class A(«a()», k=«a()»): pass\n", "b or c", "class A(b or c, k=b or c): pass\n"),
        ("def f(x: «a()» = «a()») -> «a()»: pass\n", "b or c",
         "def f(x: b or c = b or c) -> b or c: pass\n"),
        ("assert «a()», «a()»\n", "b or c", "assert b or c, b or c\n"),
        ("raise «a()»\n", "b or c", "raise b or c\n"),
        ("x += «a()»\n", "b, c", "x += b, c\n"),
        ("x = yield «a()»\n", "b or c", "x = yield b or c\n"),
    ],
)  # fmt: skip
def test_parentheses_where_the_place_needs_them(source: str, template: str, after: str) -> None:
    before, spans = marked(source)
    check(before, [Expression(span, template) for span in spans], after)


@pytest.mark.parametrize(
    ("source", "template", "after"),
    [
        # Arguments keep their keywords and stars.
        ("x = «f(«a», k=«b»)»\n", "g(__0__, __1__)", "x = g(a, k=b)\n"),
        ("x = «f(«*a», **«b»)»\n", "g(__0__, **__1__)", "x = g(*a, **b)\n"),
        ("x = «f(*«a», **«b»)»\n", "g(__0__, __1__)", "x = g(*a, **b)\n"),
        ("x = «f(k=«a»)»\n", "g(device=__0__)", "x = g(device=a)\n"),
        ("x = «f(k = «a»)»\n", "g(k=__0__)", "x = g(k=a)\n"),
        ("x = «f(k=«a»)»\n", "__0__.index", "x = a.index\n"),
        ("x = «f(«a», «b»)»\n", "g(__1__, __0__)", "x = g(b, a)\n"),
        ("x = «f(«a», b)»\n", "g(__0__)", "x = g(a)\n"),
        ("x = «f(«a»)»\n", 'g("n", __0__, k=1)', 'x = g("n", a, k=1)\n'),
        ("x = «f( «a» , «b» )»\n", "g(__0__, __1__)", "x = g( a , b )\n"),
        ("x = «f(«a»,)»\n", "g(__0__)", "x = g(a,)\n"),
        ("x = «f(«a», «b»)»\n", "h(g(__0__, __1__))", "x = h(g(a, b))\n"),
        ("x = «f(«a», «b»)»\n", "g(__0__)[__1__]", "x = g(a)[b]\n"),
        ("x = «f(«a»)(«b»)»\n", "g(__0__, __1__)", "x = g(a, b)\n"),
        # The arguments of a call inside keep theirs; those around it stay outside.
        ("x = «f(g(k=«a»))»\n", "h(__0__)", "x = h(k=a)\n"),
        ("x = f(k=««a»»)\n", "g(__0__, optional=True)", "x = f(k=g(a, optional=True))\n"),
        ("x = f(*««a»»)\n", "g(__0__)", "x = f(*g(a))\n"),
        # Parentheses around holes.
        ("x = f(««a if b else c»»)\n", "__0__.device", "x = f((a if b else c).device)\n"),
        ("x = f(««a or b»»)\n", "g(__0__)", "x = f(g(a or b))\n"),
        ("x = «f(«lambda: a»)»\n", "__0__ or b", "x = (lambda: a) or b\n"),
        ("x = «f(«a + b»)»\n", "__0__ * 2", "x = (a + b) * 2\n"),
        ("x = «f(«a * b»)»\n", "__0__ + 2", "x = a * b + 2\n"),
        ("x = «f((«a or b»))»\n", "__0__.c", "x = (a or b).c\n"),
        ("x = («f(«a»)»)\n", "__0__", "x = (a)\n"),
        # Parentheses that are there already serve, and stay where they are not needed.
        ("x = (««a or b»»)\n", "__0__.c", "x = (a or b).c\n"),
        ("x = (««a or b»»)\n", "g(__0__)", "x = (g(a or b))\n"),
        ("x = (\n  ««a»»)\n", "__0__.c", "x = (\n  a.c)\n"),
        ("x = (\n  ««a\n  or b»»)\n", "__0__.c", "x = (\n  a\n  or b).c\n"),
        ("x = ««(i for i in y)»»\n", "g(__0__)", "x = g((i for i in y))\n"),
        ("f««(i for i in y)»»\n", "g(__0__)", "f(g(i for i in y))\n"),
        ("x = «f(«1»)»\n", "__0__.c", "x = (1).c\n"),
        ("x = «f(«'a' 'b'»)»\n", "__0__.c", "x = 'a' 'b'.c\n"),
        ("x = «f(«await a»)»\n", "__0__.c", "x = (await a).c\n"),
        ("x = «f(«a := b»)»\n", "g(k=__0__)", "x = g(k=(a := b))\n"),
        ("x = «f((«yield»))»\n", "g(__0__)", "x = g((yield))\n"),
        # Generators need parentheses unless they are alone.
        ("x = «f«(i for i in y)»»\n", "g(__0__)", "x = g(i for i in y)\n"),
        ("x = «f«(i for i in y)»»\n", "g(__0__, 1)", "x = g((i for i in y), 1)\n"),
        ("x = «f«(i for i in y)»»\n", "__0__.a", "x = (i for i in y).a\n"),
        ("x = «f(«(i for i in y)», 2)»\n", "g(__0__)", "x = g((i for i in y))\n"),
        ("x = «f(«(a, b)»)»\n", "g(__0__)", "x = g((a, b))\n"),
        ("x = ««(a, b)»»\n", "g(__0__)", "x = g((a, b))\n"),
        # Methods.
        ("x = ««y».cuda(«d»)»\n", "__0__.to(__1__)", "x = y.to(d)\n"),
        ("x = «(«a or b»).cuda()»\n", '__0__.to("flagos")', 'x = (a or b).to("flagos")\n'),
    ],
)  # fmt: skip
def test_holes(source: str, template: str, after: str) -> None:
    before, [span, *holes] = marked(source)
    check(before, [Expression(span, template, tuple(holes))], after)


def test_call_over_lines_keeps_its_layout_and_comments() -> None:
    before, [call, first, second] = marked("""\
x = «torch.cuda.amp.autocast(  # c0
    # c1
    «enabled», # c2

    dtype = «torch.half»,  # c3
    # c4
)»
""")
    check(
        before,
        [Expression(call, 'torch.autocast("flagos", __0__, __1__)', (first, second))],
        """\
x = torch.autocast(  # c0
    "flagos",
    # c1
    enabled, # c2

    dtype = torch.half,  # c3
    # c4
)
""",
    )


def test_argument_dropped_from_a_call_over_lines() -> None:
    before, [call, first, third] = marked("""\
if y:
    x = «f(
        «a»,
        b,
        «c»
    )»
""")
    check(
        before,
        [Expression(call, "g(__0__, __1__)", (first, third))],
        "if y:\n    x = g(\n        a,\n        c\n    )\n",
    )


def test_comment_of_a_dropped_argument_is_not_lost() -> None:
    before, [call, hole] = marked("x = «f(\n    a,  # why\n    «b»,\n)»\n")
    refuses(before, [Expression(call, "g(__0__)", (hole,))], "'# why' would be lost")


def test_comments_outside_the_holes_are_not_lost() -> None:
    before, [call, hole] = marked("x = «f(\n    «a»  # why\n)»\n")
    refuses(before, [Expression(call, "__0__.b", (hole,))], "'# why' would be lost")
    refuses(before, [Expression(call, "b")], "'# why' would be lost")


def test_comments_inside_a_hole_survive() -> None:
    before, [call, hole] = marked("x = «f(«[\n    a,  # why\n]»)»\n")
    check(before, [Expression(call, "__0__.b", (hole,))], "x = [\n    a,  # why\n].b\n")


def test_hole_over_lines_gets_parentheses_outside_of_brackets() -> None:
    before, [call, hole] = marked("x = «f(«a\n      .b»)»\n")
    check(before, [Expression(call, "__0__.c", (hole,))], "x = (a\n      .b).c\n")
    before, [call, hole] = marked("x = y(«f(«a\n      .b»)»)\n")
    check(before, [Expression(call, "__0__.c", (hole,))], "x = y(a\n      .b.c)\n")
    before, [call, hole] = marked("x = («f(«a\n      .b»)»)\n")
    check(before, [Expression(call, "__0__.c", (hole,))], "x = (a\n      .b.c)\n")
    before, [call, hole] = marked("def y(a=«f(«a\n      .b»)»): pass\n")
    check(before, [Expression(call, "__0__.c", (hole,))], "def y(a=a\n      .b.c): pass\n")
    before, [call, hole] = marked("y = lambda a=«f(«a\n      .b»)»: a\n")
    check(before, [Expression(call, "__0__.c", (hole,))], "y = lambda a=(a\n      .b).c: a\n")


def test_brackets_of_a_header_are_not_those_of_its_parts() -> None:
    before, [call, hole] = marked("@«f(«a\n      .b»)»\nclass C(D):\n    pass\n")
    check(before, [Expression(call, "__0__.c", (hole,))],
          "@(a\n      .b).c\nclass C(D):\n    pass\n")  # fmt: skip
    before, [call, hole] = marked("class C(D):\n    x = «f(«a\n      .b»)»\n")
    check(before, [Expression(call, "__0__.c", (hole,))],
          "class C(D):\n    x = (a\n      .b).c\n")  # fmt: skip
    before, [call, hole] = marked("with («f(«a\n      .b»)»): x\n")
    check(before, [Expression(call, "__0__.c", (hole,))], "with (a\n      .b.c): x\n")
    before, [call, hole] = marked("with (y as z): x = «f(«a\n      .b»)»\n")
    check(before, [Expression(call, "__0__.c", (hole,))],
          "with (y as z): x = (a\n      .b).c\n")  # fmt: skip


def test_line_ends_of_the_file_are_used() -> None:
    before, [call, hole] = marked("x = «f(\r\n    «a»\r\n)»\r\n")
    check(
        before,
        [Expression(call, "g(__0__, 1)", (hole,))],
        "x = g(\r\n    a,\r\n    1\r\n)\r\n",
    )


def test_edits_inside_holes_are_made() -> None:
    before, [call, text, inner, cuda] = marked(
        'x = «torch.device(«"cuda"», «torch.«cuda».current_device()»)»\n'
    )
    edits: list[Edit] = [
        Expression(call, "torch.Device(__0__, index=__1__)", (text, inner)),
        Text(text, "cuda", "flagos"),
        Rename(cuda, "flagos"),
    ]
    after = 'x = torch.Device("flagos", index=torch.flagos.current_device())\n'
    check(before, edits, after)
    check(before, edits[::-1], after)


def test_an_inner_replacement_gets_the_parentheses_of_its_new_place() -> None:
    before, [call, inner] = marked("x = «f(«g()»)»\n")
    edits: list[Edit] = [Expression(call, "__0__.a", (inner,)), Expression(inner, "b or c")]
    check(before, edits, "x = (b or c).a\n")


def test_wrapping_comes_after_the_edit_of_what_is_wrapped() -> None:
    before, [argument, text] = marked("f(k=«g(«'cuda'»)»)\n")
    edits: list[Edit] = [
        Expression(argument, "__0__.index", (argument,)),
        Arguments(argument, last=("1",)),
        Text(text, "cuda", "flagos"),
    ]
    check(before, edits, "f(k=g('flagos', 1).index)\n")


def test_arguments_around_wrapped_ones() -> None:
    before, [call, argument] = marked("«torch.cuda.f(\n    «d»,  # c\n)»\n")
    edits: list[Edit] = [
        Expression(argument, "index(__0__, optional=True)", (argument,)),
        Arguments(call, first='"flagos"'),
        Rename(at(before, "cuda"), "flagos"),
    ]
    check(before, edits,
          'torch.flagos.f(\n    "flagos",\n    index(d, optional=True),  # c\n)\n')  # fmt: skip


@pytest.mark.parametrize(
    ("source", "template", "message"),
    [
        ("x = «f(*«a»)»\n", "__0__.b", "starred argument"),
        ("x = «f(«*a»)»\n", "[__0__]", "starred argument"),
        ("x = «f(*«a»)»\n", "g(k=__0__)", "starred argument"),
        ("x = «f(«a»)»\n", "g(__1__)", "a hole too many"),
        ("x = «f(«a»)»\n", "g(", "not a Python expression"),
        ("x = «f(«a»)»\n", "a = b", "not a Python expression"),
        ("x = «f(k=«a», *b)»\n", "g(__0__, 1)", "not be valid Python"),
        ("«f.x» = «a»\n", "g()", "not be valid Python"),
        ("x = «f(«a»)»\n", "g\ng", "not a Python expression"),
        ('x = f"{«y(«a»)»}"\n', "g('\\n')", "no quotes are left"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(source: str, template: str, message: str) -> None:
    before, [span, *holes] = marked(source)
    refuses(before, [Expression(span, template, tuple(h for h in holes if span.contains(h)))],
            message)  # fmt: skip


def test_an_edit_that_would_be_lost_is_refused() -> None:
    before, [call, cuda, hole] = marked("x = «torch.«cuda».f(«a»)»\n")
    edits: list[Edit] = [Expression(call, "g(__0__)", (hole,)), Rename(cuda, "flagos")]
    refuses(before, edits, "two edits change the same code")


def test_crossing_edits_are_refused() -> None:
    before = "x = a + b * c\n"
    edits: list[Edit] = [Expression(at(before, "a + b"), "d"), Expression(at(before, "b * c"), "e")]
    refuses(before, edits, "two edits change the same code")


def test_a_slice_is_no_expression() -> None:
    before, [span] = marked("x = y[«a, b:c»]\n")
    refuses(before, [Expression(span, "d")], "no expression here")
