"""Arms go out of statements, and what stays moves with all its lines and comments."""

from __future__ import annotations

import ast
import io
import textwrap
import tokenize
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flmigrate.codemods import CODEMODS
from flmigrate.codemods.changes import splice
from flmigrate.codemods.islands import apply_edits
from flmigrate.findings import Branch, Edit, Rename, Span
from tests.codemod_case import marked, refuses

Arms = Sequence[tuple[int, str | None]]


def take(source: str, arms: Arms, after: str) -> None:
    """Assert that ``after`` is what the statements marked in ``source`` leave."""
    before, spans = marked(source)
    becomes(before, [Branch(span, tuple(arms)) for span in spans], after)


def becomes(before: str, edits: Sequence[Edit], after: str) -> None:
    """What `check` asserts, but for the comments around a statement, which may go with it."""
    applied = apply_edits(before, ast.parse(before), edits)
    assert applied.text == after
    ast.parse(after)
    assert splice(before, applied.changes) == after
    assert _comments(after) <= _comments(before)
    inside = {i for edit in edits for i in range(edit.span.start, edit.span.end)}
    for change, _ in applied.changes:
        gone = "".join(before[i] for i in range(change.start, change.end) if i not in inside)
        assert all(line.strip(" \t\f")[:1] in ("", "#") for line in gone.splitlines())


def test_every_kind_of_edit_is_registered() -> None:
    assert set(CODEMODS) == set(get_args(Edit))


# --- cases of a match ----------------------------------------------------------------------

_MATCH = """\
def f(x):
    «match x:  # why
        # the first
        case "a":
            return 1
        case "b" if x:  # second
            return 2

        case _:
            pass»
    return 3
"""


def test_a_case_goes_with_the_comments_above_it() -> None:
    after = _MATCH.replace('        # the first\n        case "a":\n            return 1\n', "")
    take(_MATCH, [(1, ""), (2, "")], after.replace("«", "").replace("»", ""))


def test_a_case_in_the_middle_goes() -> None:
    gone = '        case "b" if x:  # second\n            return 2\n'
    after = _MATCH.replace(gone, "").replace("«", "").replace("»", "")
    take(_MATCH, [(0, ""), (2, "")], after)


@pytest.mark.parametrize("arms", [[], [(0, None)], [(0, "x")]])
def test_a_match_keeps_whole_cases(arms: Arms) -> None:
    before, [span] = marked(_MATCH)
    refuses(before, [Branch(span, tuple(arms))], "match")


# --- chains that stay ----------------------------------------------------------------------

_CHAIN = """\
«if a:
    x
elif b:
    y
elif c:
    z
else:
    w»
end
"""


@pytest.mark.parametrize(
    ("arms", "after"),
    [
        ([(0, ""), (1, ""), (2, ""), (3, None)], "if a: x|elif b: y|elif c: z|else: w"),
        ([(0, ""), (2, ""), (3, None)], "if a: x|elif c: z|else: w"),
        ([(1, ""), (2, "")], "if b: y|elif c: z"),
        ([(3, "")], "w"),
        ([(0, ""), (3, "")], "if a: x|else: w"),
        ([(2, "")], "if c: z"),
        ([(1, "q"), (2, "r or s")], "if q: y|elif r or s: z"),
        ([(0, "q"), (2, None)], "if q: x|else: z"),
        ([(1, ""), (3, "not q")], "if b: y|elif not q: w"),
        ([(3, "q")], "if q: w"),
        ([(0, None)], "x"),
        ([(2, None)], "z"),
        ([(3, None)], "w"),
        ([], ""),
    ],
)
def test_chain(arms: Arms, after: str) -> None:
    expected = after.replace(": ", ":\n    ").replace("|", "\n") + "\n" if after else ""
    take(_CHAIN, arms, expected + "end\n")


_COMMENTS = """\
def f():
    # above
    «if a:  # head a
        # first
        x(
            1,  # one
        )

        # last of a
    # about b
    elif b:  # head b
        y  # of y

        # last of b

    # about else
    else:  # head else
        z»  # of z
        # last of else
    # after
    end
"""


@pytest.mark.parametrize(
    ("arms", "after"),
    [
        ([(0, None)], """\
def f():
    # above
    # head a
    # first
    x(
        1,  # one
    )

    # last of a
    # after
    end
"""),
        ([(1, None)], """\
def f():
    # above
    # about b
    # head b
    y  # of y

    # last of b
    # after
    end
"""),
        ([(2, None)], """\
def f():
    # above
    # about else
    # head else
    z  # of z
    # last of else
    # after
    end
"""),
        ([(0, ""), (2, None)], """\
def f():
    # above
    if a:  # head a
        # first
        x(
            1,  # one
        )

        # last of a

    # about else
    else:  # head else
        z  # of z
        # last of else
    # after
    end
"""),
        ([(1, "")], """\
def f():
    # above
    # about b
    if b:  # head b
        y  # of y

        # last of b
    # after
    end
"""),
        ([], """\
def f():
    # after
    end
"""),
    ],
)  # fmt: skip
def test_comments_go_with_their_arm(arms: Arms, after: str) -> None:
    take(_COMMENTS, arms, after)


@pytest.mark.parametrize(
    ("source", "arms", "after"),
    [
        # One line for all.
        ("«if a: x; y»  # c\nend\n", [(0, None)], "x; y  # c\nend\n"),
        ("«if a: x; y;»  # c\nend\n", [(0, None)], "x; y;  # c\nend\n"),
        ("«if a: x\nelif b: y\nelse: z»\n", [(1, ""), (2, None)], "if b: y\nelse: z\n"),
        ("«if a: x\nelif b: y\nelse: z»\n", [(1, "c")], "if c: y\n"),
        ("«if a: x\nelif b: y\nelse: z»\n", [(0, ""), (1, None)], "if a: x\nelse: y\n"),
        ("«if a: \\\n  x\nelse: y»\n", [(0, None)], "x\n"),
        ("if q:\n  «if a: f(\n    1)\n  else: y»\n", [(0, None)], "if q:\n  f(\n    1)\n"),
        ("«if a:\n    x\nelse: y»", [(0, None)], "x\n"),
        ("«if a:\n    x\nelse: y»", [(1, None)], "y"),
        ("«if a:\n    x»", [(0, None)], "x"),
        # What counts as the statement's test, keyword and colon.
        ("«if(a): x\nelif(b): y»\n", [(1, "")], "if(b): y\n"),
        ("«if a: x\nelif (b)  : y»\n", [(1, "c")], "if c: y\n"),
        ("«if a[1:2] == ':': x\nelse : y»\n", [(0, "b[:]"), (1, None)], "if b[:]: x\nelse : y\n"),
        ("«if a: x\nelif lambda: b: y»\n", [(0, ""), (1, None)], "if a: x\nelse: y\n"),
        ("«if a: x\nelif (b and\n      c): y»\n", [(1, "")], "if (b and\n    c): y\n"),
        ("«if a: x\nelif f('''\n      ''',\n       c): y»\n", [(1, "")],
         "if f('''\n      ''',\n     c): y\n"),
        ("«if a: x\nelif (\n    b\n    and c\n): y»\n", [(1, "")],
         "if (\n    b\n    and c\n): y\n"),
        # An if in an else is not an elif.
        ("«if a:\n    x\nelse:\n    if b:\n        y\n    else:\n        z»\n", [(1, None)],
         "if b:\n    y\nelse:\n    z\n"),
        ("«if a:\n    x\nelse:\n    # c\n    if b: y»\n", [(0, "b"), (1, None)],
         "if b:\n    x\nelse:\n    # c\n    if b: y\n"),
        ("if a:\n    x\nelse:\n    «if b:\n        y»\n", [(0, None)],
         "if a:\n    x\nelse:\n    y\n"),
        # Blank lines at the edges of a suite stood for its borders.
        ("«if a:\n\n    x\n\nelse:\n\n    y»\n\nend\n", [(0, None)], "x\n\nend\n"),
        ("«if a:\n    x\n\nelif b:\n    y»\n\nend\n", [(1, "")], "if b:\n    y\n\nend\n"),
        ("«if a:  # c\n\n    x»\n", [(0, None)], "# c\n\nx\n"),
        # Definitions.
        ("«if a:\n    @d(\n        1)\n    # c\n    def f(x,\n          y):\n\n        pass\n"
         "    class A: pass»\n", [(0, None)],
         "@d(\n    1)\n# c\ndef f(x,\n      y):\n\n    pass\nclass A: pass\n"),
        ("class A:\n    «if a:\n        async def f(self): await x»\n", [(0, None)],
         "class A:\n    async def f(self): await x\n"),
        ("def f():\n    «if a:\n        return (yield x)\n    else:\n        y»\n", [(0, None)],
         "def f():\n    return (yield x)\n"),
    ],
)  # fmt: skip
def test_spellings(source: str, arms: Arms, after: str) -> None:
    take(source, arms, after)


@pytest.mark.parametrize(
    ("source", "after"),
    [
        # Strings keep their inside, brackets and joined lines move.
        ("if q:\n    «if a:\n        x = '''\n        s\n    ''' + f(\n            1)»\n",
         "if q:\n    x = '''\n        s\n    ''' + f(\n        1)\n"),
        ("if q:\n    «if a:\n        x = 'a\\\n        b'»\n",
         "if q:\n    x = 'a\\\n        b'\n"),
        ("«if a:\n    x = f'''{\n    b!r:>{\n    c}}\n    '''»\n",
         "x = f'''{\n    b!r:>{\n    c}}\n    '''\n"),
        ("«if a:\n    x = ('s'\n         f't{u}'\n         'v')»\n",
         "x = ('s'\n     f't{u}'\n     'v')\n"),
        ("«if a:\n    x = b + \\\n        c»\n", "x = b + \\\n    c\n"),
        ("«if a:\n    x = 1 \\\n\n    y»\n", "x = 1 \\\n\ny\n"),
        ("«if a:\n    x = 1 \\\n\n»end\n".replace("1 \\\n\n»", "1» \\\n\n"), "x = 1 \\\n\nend\n"),
        ("«if a:\n    x = [\n  1,\n# c\n      2]»\n", "x = [\n1,\n# c\n  2]\n"),
        ("«if a:\n    x\n  # odd\n    y»\n", "x\n# odd\ny\n"),
        ("if q:\n  «if a:\n            x\n            if b:\n             y»\n",
         "if q:\n  x\n  if b:\n   y\n"),
        ("«if a:\n    x\n    \n    y\n»end\n".replace("y\n»", "y»\n"), "x\n    \ny\nend\n"),
        # Tabs, also mixed.
        ("if q:\n\t«if a:\n\t\tx = f(\n\t\t\t1,\n\t\t  2)\n\t\tif b:\n\t\t\ty»\n",
         "if q:\n\tx = f(\n\t\t1,\n\t  2)\n\tif b:\n\t\ty\n"),
        ("if q:\n        «if a:\n        \tx = f(\n\t\t\t1)»\n",
         "if q:\n        x = f(\n                1)\n"),
        # Form feeds.
        ("\x0c«if a:\n    x\n\x0c\n    y»\n", "\x0cx\n\x0c\ny\n"),
        ("if q:\n  \x0c  «if a:\n  \x0c    x»\n".replace("  \x0c  «", "\x0c  «"),
         "if q:\n\x0c  \x0c  x\n".replace("\x0c  \x0c  x", "\x0c  \x0c  x")),
        # Line ends and letters.
        ("«if a:  # ä\r\n    x = 'é'; ü = '''\r\n    '''\r\n\r\n    y»\r\nend\r\n",
         "# ä\r\nx = 'é'; ü = '''\r\n    '''\r\n\r\ny\r\nend\r\n"),
        ("é = '😀'; \\\nü = 1\n«if a:\n    '😀', «x»»\n".replace("«x»", "x"),
         "é = '😀'; \\\nü = 1\n'😀', x\n"),
        # Comments that tools read stay with what they stand at.
        ("«if a:\n    x = []  # type: list[int]\n    for i in x:  # type: int\n        y»\n",
         "x = []  # type: list[int]\nfor i in x:  # type: int\n    y\n"),
    ],
)  # fmt: skip
def test_text_that_moves(source: str, after: str) -> None:
    take(source, [(0, None)], after)


# --- removal -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "after"),
    [
        ("x\n\n# c\n# d\n«if a:\n    y»  # e\n\n\nz\n", "x\n\n\nz\n"),
        ("x\n# c\n\n«if a:\n    y»\nz\n", "x\n# c\n\nz\n"),
        ("def f():\n    # c\n    «if a:\n        x»\n\nz\n", "def f():\n    pass\n\nz\n"),
        ("def f():\n    «if a:\n        x»", "def f():\n    pass"),
        ("if q: x\nelse:\r\n\t«if a: x»  # c\r\n".replace("x\ne", "x\r\ne"),
         "if q: x\r\nelse:\r\n\tpass\r\n"),
        ("def f():\n    «if a: x»\n    y\n", "def f():\n    y\n"),
        ("def f():\n    «if a: x»\n\n    «if b: y»\n", "def f():\n    pass\n"),
        ("def f():\n    z\n    «if a: x»\n\n    «if b: y»\n\n\nd\n", "def f():\n    z\n\n\nd\n"),
        ("try:\n    x\nexcept A:\n    «if a: x»\n", "try:\n    x\nexcept A:\n    pass\n"),
        ("match x:\n    case 1:\n        «if a: x»\n", "match x:\n    case 1:\n        pass\n"),
        ("#!/bin/env python\n# coding: utf-8\n# c\n«if a: x»\ny\n",
         "#!/bin/env python\n# coding: utf-8\ny\n"),
        ("  # c\n«if a: x»\ny\n", "  # c\ny\n"),
        ("x = 1  # c\n«if a: x»\ny\n", "x = 1  # c\ny\n"),
        ("x = '''\n# c\n'''\n«if a: x»\n", "x = '''\n# c\n'''\n"),
    ],
)  # fmt: skip
def test_removed(source: str, after: str) -> None:
    take(source, [], after)


@pytest.mark.parametrize("suite", ["pass", "pass  # c", '"""Nothing."""', "..."])
def test_a_suite_that_does_nothing_is_removed(suite: str) -> None:
    chain = f"x\n# above\n«if a:\n    {suite}\nelse:\n    y»\nz\n"
    take(chain, [(0, None)], "x\nz\n")
    # With a test it stays as it is.
    take(chain, [(0, "")], f"x\n# above\nif a:\n    {suite}\nz\n")


# --- try -----------------------------------------------------------------------------------

_TRY = """\
# above
«try:  # head
    # first
    import a
# about B
except B as b:  # head b
    b
except (
    C,
    D,
):
    c
# about else
else:  # head else
    d  # of d
finally:
    e»
end
"""


@pytest.mark.parametrize(
    ("arms", "after"),
    [
        ([(0, None)], "# above\n# head\n# first\nimport a\nend\n"),
        ([(1, None)], "# above\n# about B\n# head b\nb\nend\n"),
        ([(2, None)], "# above\nc\nend\n"),
        ([(3, None)], "# above\n# about else\n# head else\nd  # of d\nend\n"),
        ([(4, None)], "# above\ne\nend\n"),
        ([(0, None), (3, None)],
         "# above\n# head\n# first\nimport a\n# about else\n# head else\nd  # of d\nend\n"),
        ([(0, ""), (3, None)],
         "# above\n# head\n# first\nimport a\n# about else\n# head else\nd  # of d\nend\n"),
        ([], "end\n"),
    ],
)  # fmt: skip
def test_try(arms: Arms, after: str) -> None:
    take(_TRY, arms, after)


@pytest.mark.parametrize(
    ("source", "arms", "after"),
    [
        ("«try: a\nexcept: b\nelse: c»\n", [(0, None), (2, None)], "a\nc\n"),
        ("«try: a\nexcept: pass\nelse: c»\n", [(1, None)], ""),
        ("«try: pass\nexcept: b\nelse: c»\n", [(0, None), (2, None)], "c\n"),
        ("«try: a\nfinally: b»\n", [(1, None)], "b\n"),
    ],
)
def test_short_try(source: str, arms: Arms, after: str) -> None:
    take(source, arms, after)


# --- several, and none ---------------------------------------------------------------------


def test_statements_of_different_suites_and_of_one() -> None:
    before, [a, b, c, d] = marked("""\
«if a:
    x»

«if b:
    y»
def f():
    «if c:
        z
    else:
        w»
    «try:
        u
    finally:
        v»
""")
    edits = [
        Branch(a, ((0, None),)),
        Branch(b),
        Branch(c, ((1, "q"),)),
        Branch(d, ((1, None),)),
    ]
    after = "x\n\ndef f():\n    if q:\n        w\n    v\n"
    becomes(before, edits, after)
    becomes(before, edits[::-1], after)


@pytest.mark.parametrize(
    ("source", "arms", "message"),
    [
        ("«if a: x»\n", [(1, "")], "no such arm"),
        ("«if a: x»\n", [(-1, "")], "no such arm"),
        ("«if a: x\nelse: y»\n", [(1, "b"), (0, "")], "source order"),
        ("«if a: x\nelse: y»\n", [(0, ""), (0, "")], "source order"),
        ("«if a: x\nelse: y»\n", [(0, None), (1, None)], "only the last"),
        ("«if a: x»\n", [(0, "b c")], "not be valid Python"),
        ("«if a: x»\n", [(0, "b) or (c")], "not be valid Python"),
        ("«if a: x»\n", [(0, "b: y\nif c")], "not be valid Python"),
        ("«if a: x»\n", [(0, "b  # c")], "not be valid Python"),
        ("«if (a  # c\n    or b): x»\n", [(0, "b")], "'# c' would be lost"),
        ("if a: x\n«elif b: y»\n", [(0, None)], "'elif' is a part"),
        ("«for a in b: x»\n", [], "not of one whole 'if' or 'try'"),
        ("if «a»: x\n", [], "not of one whole statement"),
        ("«if a:\n    x\n»else: y\n", [], "not of one whole statement"),
        ("«try: a\nexcept: b\nelse: c»\n", [(0, None), (1, None)], "body and 'else'"),
        ("«try: a\nexcept: b»\n", [(0, "x")], "have no test"),
        ("\\\n«if a: x»\n", [], "shares its line"),
        ("«if a: x\n\\\nelse: y»\n", [(0, None)], "shares its line"),
        ("«if a:\n    x = '\\\r'\n    y»\n", [(0, None)], "lone carriage return"),
        ("def f():\n    «if a:\n        'x'\n        y»\n", [(0, None)], "become a docstring"),
        ("class A:\n    «if a: x»\n    'y'\n", [], "become a docstring"),
    ],
)
def test_what_cannot_be_done_is_refused(source: str, arms: Arms, message: str) -> None:
    before, [span] = marked(source)
    refuses(before, [Branch(span, tuple(arms))], message)


def test_edits_inside_what_moves_are_refused_and_others_are_made() -> None:
    before, [outer, inner] = marked("«if a:\n    «if b: x»»\ny\n")
    refuses(before, [Branch(outer), Branch(inner)], "two edits")
    refuses(before, [Branch(outer), Branch(outer)], "two edits")
    name = Rename(Span(before.index("x"), before.index("x") + 1), "z")
    refuses(before, [Branch(outer), name], "two edits")
    beside = Rename(Span(len(before) - 2, len(before) - 1), "z")
    assert apply_edits(before, ast.parse(before), [beside, Branch(outer)]).text == "z\n"
    refuses(before, [name, Branch(outer)], "two edits")


# --- any chain -----------------------------------------------------------------------------


@dataclass
class _Arm:
    """An arm of a random chain: the comments above it, its header and its suite."""

    above: list[str]
    test: str
    header_comment: str
    suite: list[str] = field(default_factory=list)


_SIMPLE = [
    "x = 1",
    "f(\n    1,\n  2,  # inside\n)",
    "x = '''\n  text\n\t# none\n''' + \\\n    y",
    "@d\ndef g(a,\n      b):\n    return '''\n    '''",
    "for i in f'''{\n  a}''':\n    z  # nested",
    "é = 'ü'; w = {\n}  # end",
    "if p:\n    q\nelif r:\n    s\nelse:\n    t",
    "\nx = (\n# low\n    1)",
    "# own\nz",
]


@st.composite
def _chains(draw: st.DrawFn) -> tuple[list[_Arm], str, str]:
    count = draw(st.integers(1, 4))
    arms = []
    for number in range(count):
        last = number == count - 1
        comment = draw(st.sampled_from(["", "  # head", "#head"]))
        test = draw(st.sampled_from(["a", "b or c", "(d\n      and e)", "f(':')"]))
        above = draw(st.lists(st.sampled_from(["# above", ""]), max_size=2)) if number else []
        arm = _Arm(above, "" if last and number and draw(st.booleans()) else test, comment)
        arm.suite = draw(st.lists(st.sampled_from(_SIMPLE), min_size=1, max_size=3))
        if draw(st.booleans()):
            arm.suite.append("# below")
        arms.append(arm)
    return arms, draw(st.sampled_from(["    ", "\t", "  "])), draw(st.sampled_from(["\n", "\r\n"]))


def _indented(lines: str, indent: str) -> str:
    """Indent lines, but not those inside of the strings above, which hold no code."""
    tokens = tokenize.generate_tokens(io.StringIO(lines).readline)
    inside: set[int] = set()
    opened = 0
    for token in tokens:
        name = tokenize.tok_name[token.type]
        if name == "FSTRING_START":
            opened = token.start[0]
        elif name in ("STRING", "FSTRING_END"):
            first = opened if name == "FSTRING_END" else token.start[0]
            inside.update(range(first + 1, token.end[0] + 1))
    split = lines.split("\n")
    return "\n".join(
        line if number in inside or not line else indent + line
        for number, line in enumerate(split, 1)
    )


def _write(arms: Sequence[_Arm], indent: str) -> str:
    written = ""
    for number, arm in enumerate(arms):
        keyword = "else" if not arm.test else "elif " if number else "if "
        written += "".join(f"{line}\n" for line in arm.above)
        written += f"{keyword}{arm.test}:{arm.header_comment}\n"
        written += "".join(_indented(part, indent) + "\n" for part in arm.suite)
    return written


def _comments(text: str) -> Counter[str]:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return Counter(t.string for t in tokens if t.type == tokenize.COMMENT)


@settings(max_examples=400, deadline=None)
@given(_chains(), st.integers(0, 2), st.data())
def test_any_arms_of_any_chain(
    chain: tuple[list[_Arm], str, str], depth: int, data: st.DataObject
) -> None:
    arms, indent, newline = chain
    around = "".join(f"{indent * i}if q{i}:\n" for i in range(depth))
    outer = indent * depth
    source = around + outer + "start\n" + _indented(_write(arms, indent), outer) + outer + "end\n"
    before = source.replace("\n", newline)
    numbers = sorted(data.draw(st.sets(st.integers(0, len(arms) - 1))))
    chosen: list[tuple[int, str | None]] = []
    kept: list[_Arm] = []
    for number in numbers:
        last = number == numbers[-1]
        without_test = last and (not arms[number].test or data.draw(st.booleans()))
        chosen.append((number, None if without_test else ""))
        kept.append(arms[number])
    tree = ast.parse(before)
    suite = tree.body
    for _ in range(depth):
        [owner] = suite
        assert isinstance(owner, ast.If)
        suite = owner.body
    start = before.index("start") + len("start" + newline + outer)
    end = before.rindex(newline + outer + "end")
    statement = suite[1]
    lines = before.split(newline)
    assert statement.end_lineno is not None and statement.end_col_offset is not None
    last_line = lines[statement.end_lineno - 1].encode()[: statement.end_col_offset].decode()
    end = sum(len(line + newline) for line in lines[: statement.end_lineno - 1]) + len(last_line)
    after = apply_edits(before, tree, [Branch(Span(start, end), tuple(chosen))]).text

    if chosen and chosen[0][1] is None:
        [only] = kept
        expected = "".join(part + "\n" for part in only.suite)
    else:
        heads = [
            _Arm([], "" if test is None else arm.test, "", arm.suite)
            for arm, (_, test) in zip(kept, chosen, strict=True)
        ]
        expected = _write(heads, indent)
    whole = around + outer + "start\n" + _indented(expected, outer) + outer + "end\n"
    assert ast.dump(ast.parse(after)) == ast.dump(ast.parse(whole))
    parts = [(*arm.above, arm.header_comment, *arm.suite) for arm in kept]
    comments = _comments("\n".join(part.rstrip() for each in parts for part in each) + "\n")
    assert _comments(after) == comments
    assert textwrap.dedent(after[: after.index("start")]) == textwrap.dedent(
        before[: before.index("start")]
    )
    if newline == "\r\n":
        assert after.count("\n") == after.count("\r\n")
