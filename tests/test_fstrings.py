"""Positions inside f-strings: exact, whatever the literal looks like and on every Python."""

from __future__ import annotations

import ast
import sysconfig
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flmigrate.analysis.context import Context
from tests.analysed import context_of

_STDLIB = Path(sysconfig.get_paths()["stdlib"])


def fields(context: Context) -> list[ast.expr]:
    """The expressions of all replacement fields, in source order."""
    found = [
        value.value
        for node in context.scopes.nodes[ast.JoinedStr]
        for value in node.values
        if isinstance(value, ast.FormattedValue)
    ]
    return sorted(found, key=lambda node: (context.source.start(node), -context.source.end(node)))


def check(text: str) -> list[str]:
    """The fields' texts, after comparing every expression in them with what stands there."""
    context = context_of(text)
    found = fields(context)
    for whole in found:
        for node in ast.walk(whole):
            if isinstance(node, ast.expr) and not isinstance(node, ast.JoinedStr | ast.Slice):
                if not isinstance(context.scopes.parents.get(node), ast.JoinedStr):
                    segment = context.source.segment(node)
                    again = ast.parse(f"({segment}\n)", mode="eval").body
                    assert ast.unparse(again) == ast.unparse(node), segment
    return [context.source.segment(node) for node in found]


CASES = {
    "one field": ('f"{a}"', ["a"]),
    "several": ('f"{a}-{b} {c}"', ["a", "b", "c"]),
    "same field twice": ('f"{a}{a} {a + a}"', ["a", "a", "a + a"]),
    "text like a field before it": ('f"a {a} ba {b}a"', ["a", "b"]),
    "attribute and call": ('f"{a.b(c, d=e)[0]}"', ["a.b(c, d=e)[0]"]),
    "blanks": ('f"{ a } {\tb}"', ["a", "b"]),
    "parentheses": ('f"{(a)} {(a, b)[0]}"', ["a", "(a, b)[0]"]),
    "conversion": ('f"{a!r} {b !s}"', ["a", "b"]),
    "debug": ('f"{a=} {b = } {c=!r} {d = :>5}"', ["a", "b", "c", "d"]),
    "comparisons": (
        'f"{a==b} {a!=b} {a<=b} {a>=b} {a == b!r}"',
        ["a==b", "a!=b", "a<=b", "a>=b", "a == b"],
    ),
    "format spec": ('f"{a:>10} {b:=^5} {c:!<3} {d::>4}"', ["a", "b", "c", "d"]),
    "date": ("f'{a:%H:%M} {b}'", ["a", "b"]),
    "field in a spec": ('f"{a:{w}} {b:>{w}.{p}} {c}"', ["a", "w", "b", "w", "p", "c"]),
    "the same field in its spec": ('f"{a:{a}}"', ["a", "a"]),
    "conversion and a field in the spec": ('f"{a!r:{w}} {b=:{w}}"', ["a", "w", "b", "w"]),
    "conversion in the spec": ('f"{a:{w!r}}"', ["a", "w"]),
    "doubled braces": ('f"{{{a}}} {{}} {{b}} {c}}}"', ["a", "c"]),
    "dictionary": ('f"{ {1: a}[b] } {c}"', ["{1: a}[b]", "c"]),
    "set and slice": ('f"{ {a, b} } {c[1:d]}"', ["{a, b}", "c[1:d]"]),
    "lambda": ('f"{(lambda x: x)(a)} {b}"', ["(lambda x: x)(a)", "b"]),
    "walrus": ('f"{(a := b)} {c}"', ["a := b", "c"]),
    "conditional": ("f\"{'cuda' if a else 'cpu'}:{b}\"", ["'cuda' if a else 'cpu'", "b"]),
    "comprehension": ('f"{[x for x in a if x]} {b}"', ["[x for x in a if x]", "b"]),
    "quotes inside": ("f\"{a['k']} {b('}{:!=')}\"", ["a['k']", "b('}{:!=')"]),
    "triple quotes inside": ("f\"{a['''k''']}{b}\"", ["a['''k''']", "b"]),
    "nested f-string": ("f\"{f'{a}:{b}'} {c}\"", ["f'{a}:{b}'", "a", "b", "c"]),
    "nested in a call": ("f\"{g(f'<{a}>', b)}\"", ["g(f'<{a}>', b)", "a"]),
    "three deep": ("f'''{f\"{f'{a}'}\"}'''", ["f\"{f'{a}'}\"", "f'{a}'", "a"]),
    "escapes": (r'f"\n\{a}\"{b}\\{c}\t"', ["a", "b", "c"]),
    "named character": (r'f"\N{EM DASH}{a}\N{DIGIT ONE}"', ["a"]),
    "backslash before an N": (r'f"\\N{a}"', ["a"]),
    "raw": (r'rf"\n{a}\N{b}\\{c}"', ["a", "b", "c"]),
    "raw, other order": (r'Fr"\{a}\"{b}"', ["a", "b"]),
    "upper case": ('F"{a}"', ["a"]),
    "continued by a backslash": ('f"x\\\n  {a} y\\\n{b}"', ["a", "b"]),
    "triple quotes": ('f"""{a}\n  {b} " {c}\n"""', ["a", "b", "c"]),
    "triple quotes, single": ("f'''\n\n{a}'{b}''{c}\n'''", ["a", "b", "c"]),
    "field over lines": ('f"""{\n  a +\n  b\n} {c}"""', ["a +\n  b", "c"]),
    "field that starts on the next line": ('f"""{\na} {b}"""', ["a", "b"]),
    "call over lines": ('f"""\n{a(b,\n     c)}\n"""', ["a(b,\n     c)"]),
    "concatenated": ('f"{a}" f"{b}"', ["a", "b"]),
    "text between": ('"{x}" f"{a}" "{y}" f\'{b}\' r"\\{z}"', ["a", "b"]),
    "concatenated over lines": ('(f"{a}"\n    "{x}"\n    f"{b}{c}")', ["a", "b", "c"]),
    "comments between": ('(f"{a}"  # f"{x}"\n # it\'s\n f"{b}")', ["a", "b"]),
    "concatenated kinds of quotes": ("(f'{a}' f\"\"\"\n{b}\"\"\" f'''{c}''')", ["a", "b", "c"]),
    "continued lines between": ('f"{a}" \\\n  f"{b}"', ["a", "b"]),
    "non-ASCII before it": ('é = f"ü{a}→{b}" "😀" f"{c}"', ["a", "b", "c"]),
    "non-ASCII before it, over lines": ('x = (f"ü{a}"\n  "→" f"{b}")', ["a", "b"]),
    "non-ASCII in a field": ("f\"{a['ü→']}{b}\"", ["a['ü→']", "b"]),
    "carriage returns": ('x = (f"{a}"\r\n  f"""{\r\nb}""")\r\n', ["a", "b"]),
    "deep in a statement": (
        "if x:\n    g(1, *[y], k=(f'{a}',\n        f'{b}'))\n",
        ["a", "b"],
    ),
    "no field": ('f"a" f"{{}}"', []),
}


@pytest.mark.parametrize(("text", "expected"), CASES.values(), ids=CASES)
def test_fields_stand_where_the_source_says(text: str, expected: list[str]) -> None:
    assert check(text) == expected


def test_names_inside_fields_are_read_in_the_right_scope() -> None:
    context = context_of('import torch\ndef f(a):\n    return (f"{torch}"\n  f"{a:{torch}}")\n')
    loads = context.scopes.module.loads["torch"]
    assert sorted(context.source.position(context.source.start(n)) for n in loads) == [
        (3, 16),
        (4, 9),
    ]


def test_reference_inside_a_later_line_of_an_f_string_is_found_in_place() -> None:
    text = 'import torch\nx = f"""\n  {torch.cuda.device_count()}: {torch.cuda.is_available()}"""\n'
    references = context_of(text).references
    assert [r.written for r in references] == ["torch.cuda.device_count", "torch.cuda.is_available"]


# --- generated literals ---------------------------------------------------------------------

_expressions = st.sampled_from(
    ["a", "b.c", "d[0]", "e(f, g=h)", "i + j", "k if l else m", "(n, o)", "-p", "[q for q in r]"]
)
_texts = st.sampled_from(["", "x", " ", "é", "{{", "}}", ":", "=", "!", "a", "#", "→ {{a}}"])


@st.composite
def _field(draw: st.DrawFn, quote: str) -> str:
    expression = draw(_expressions)
    if len(quote) == 3 and draw(st.booleans()):
        expression = f"\n  {expression}\n"
    conversion = draw(st.sampled_from(["", "!r", "!s"]))
    spec = draw(st.sampled_from(["", ":>4", ":{w}", ":{w}.{p}"]))
    debug = draw(st.sampled_from(["", "=", " = "])) if "\n" not in expression else ""
    return f"{{{expression}{debug}{conversion}{spec}}}"


@st.composite
def _literals(draw: st.DrawFn) -> str:
    pieces = []
    for _ in range(draw(st.integers(1, 4))):
        quote = draw(st.sampled_from(['"', "'", '"""', "'''"]))
        prefix = draw(st.sampled_from(["f", "rf", "F", ""]))
        parts = [draw(_texts)]
        for _ in range(draw(st.integers(0, 3))):
            parts += [draw(_field(quote)) if prefix else "{z}", draw(_texts)]
        if len(quote) == 3:
            parts.insert(0, draw(st.sampled_from(["", "\n", "\n    "])))
        pieces.append(f"{prefix}{quote}{''.join(parts)}{quote}")
    between = draw(st.sampled_from([" ", "\n    ", "  # it's {y}\n"]))
    return between.join(pieces)


@given(_literals())
@settings(max_examples=300, deadline=None)
def test_generated_literals(literal: str) -> None:
    # Without their positions the trees must be equal: nothing may be put in place of another.
    text = f"é = (\n  {literal})\n"
    found = check(text)
    context = context_of(text)
    assert ast.dump(context.source.tree) == ast.dump(ast.parse(text))
    plain = ast.parse(text)
    count = sum(isinstance(node, ast.FormattedValue) for node in ast.walk(plain))
    assert len(found) == count


def test_every_f_string_of_the_standard_library() -> None:
    seen = 0
    for path in sorted(_STDLIB.glob("*.py"))[::2]:
        text = path.read_text(encoding="utf-8")
        if 'f"' in text or "f'" in text:
            seen += len(check(text))
    assert seen > 100
