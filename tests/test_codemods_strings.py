"""String literals begin with another text, and stay the literals that they were."""

from __future__ import annotations

import sys

import pytest

from flmigrate.findings import Edit, Expression, Rename, Text
from tests.codemod_case import check, marked, refuses


@pytest.mark.parametrize(
    ("source", "after"),
    [
        ('x = «"cuda"»\n', 'x = "flagos"\n'),
        ("x = «'cuda:0'»\n", "x = 'flagos:0'\n"),
        ("x = «'''cuda\n'''»\n", "x = '''flagos\n'''\n"),
        ('x = «u"cuda"»\n', 'x = u"flagos"\n'),
        ('x = «R"cuda\\d"»\n', 'x = R"flagos\\d"\n'),
        ('x = «"cuda\\t\\N{EM DASH}{}"»\n', 'x = "flagos\\t\\N{EM DASH}{}"\n'),
        ('x = «"c\\x75\\u0064\\141:0"»\n', 'x = "flagos:0"\n'),
        ('x = «"\\\ncuda"»\n', 'x = "flagos"\n'),
        ('x = «f"cuda:{i}"»\n', 'x = f"flagos:{i}"\n'),
        ('x = «F"cuda{{:{i!r:>{w}}"»\n', 'x = F"flagos{{:{i!r:>{w}}"\n'),
        ('x = «rf"cuda\\d{i}"»\n', 'x = rf"flagos\\d{i}"\n'),
        ('x = «"cuda" ":0"»\n', 'x = "flagos" ":0"\n'),
        ('x = «"" f"" "cuda:0"»\n', 'x = "" f"" "flagos:0"\n'),
        ('x = «"cuda:" f"{i}" "z"»\n', 'x = "flagos:" f"{i}" "z"\n'),
        ('x = «f"cuda:{i}" f"{j}"»\n', 'x = f"flagos:{i}" f"{j}"\n'),
        ('x = («"cuda"  # name\n     ":0"»)  # index\n',
         'x = ("flagos"  # name\n     ":0")  # index\n'),
        ('x = "é😀", «"cuda"»\n', 'x = "é😀", "flagos"\n'),
        ('x = «"cuda"» % i\n', 'x = "flagos" % i\n'),
        ('x = «"cuda:{}"».format(i)\n', 'x = "flagos:{}".format(i)\n'),
        ('if x == «"cuda"»: pass\n', 'if x == "flagos": pass\n'),
        ('if x:\n    a\nelif x in ((«"cuda"»), "cpu"):\n    b\n',
         'if x:\n    a\nelif x in (("flagos"), "cpu"):\n    b\n'),
        ('match x:\n    case «"cuda"» | "cpu":\n        pass\n',
         'match x:\n    case "flagos" | "cpu":\n        pass\n'),
        ('def f(\n    a=«"cuda"»,  # where\n): "cuda"\n',
         'def f(\n    a="flagos",  # where\n): "cuda"\n'),
        ('x = f"{y.to(«\'cuda\'»)}"\n', "x = f\"{y.to('flagos')}\"\n"),
        ('x = f"{y:{«\'cuda\'»}}"\n', "x = f\"{y:{'flagos'}}\"\n"),
        ('return«"cuda"»\n', 'return"flagos"\n'),
    ],
)  # fmt: skip
def test_text(source: str, after: str) -> None:
    before, [span] = marked(source)
    check(before, [Text(span, "cuda", "flagos")], after)


@pytest.mark.parametrize(
    ("source", "new", "after"),
    [
        ("x = «'cuda:'»\n", "it's", "x = 'it\\'s:'\n"),
        ('x = «"cuda"»\n', 'a\\b"c\n', 'x = "a\\\\b\\"c\\n"\n'),
        ('x = «f"cuda{i}"»\n', "{a}", 'x = f"{{a}}{i}"\n'),
        ('x = «"cuda"»\n', "{a}", 'x = "{a}"\n'),
        ('x = «"cuda"»\n', "", 'x = ""\n'),
        ('x = «f"cuda{i}"»\n', "", 'x = f"{i}"\n'),
        ('x = «r"cuda"»\n', "é", 'x = r"é"\n'),
    ],
)
def test_new_text_is_written_for_its_literal(source: str, new: str, after: str) -> None:
    before, [span] = marked(source)
    check(before, [Text(span, "cuda", new)], after)


@pytest.mark.parametrize(
    ("source", "new", "after"),
    [
        # Nothing but the text becomes the expression itself.
        ('x = «"cuda"»\n', "p.name", "x = p.name\n"),
        ('x = «"" \'cuda\'»\n', "p.name", "x = p.name\n"),
        ('x = «f"cuda"»\n', "p.name", "x = p.name\n"),
        ('x = («"cuda"»)\n', "p.name", "x = (p.name)\n"),
        ('x = «"cuda"».upper()\n', "a or b", "x = (a or b).upper()\n"),
        ('x = d[«"cuda"»]\n', "a or b", "x = d[a or b]\n"),
        ('x = y == «"cuda"»\n', "a or b", "x = y == (a or b)\n"),
        # Any other becomes an f-string.
        ('x = «"cuda:0"»\n', "p.name", 'x = f"{p.name}:0"\n'),
        ("x = «'cuda:0'»\n", "p.name", "x = f'{p.name}:0'\n"),
        ('x = «"""cuda:\n0"""»\n', "p.name", 'x = f"""{p.name}:\n0"""\n'),
        ('x = «u"cuda:0"»\n', "p.name", 'x = f"{p.name}:0"\n'),
        ('x = «R"cuda:\\d"»\n', "p.name", 'x = Rf"{p.name}:\\d"\n'),
        ('x = «f"cuda:{i}"»\n', "p.name", 'x = f"{p.name}:{i}"\n'),
        ('x = «f"cuda{i}"»\n', "p.name", 'x = f"{p.name}{i}"\n'),
        ('x = «"cuda" ":0"»\n', "p.name", 'x = f"{p.name}" ":0"\n'),
        ('x = («"cuda:"  # c\n     "0"»)\n', "p.name", 'x = (f"{p.name}:"  # c\n     "0")\n'),
        ('x = «"cuda:{}"».format(0)\n', "p.name", 'x = f"{p.name}:{{}}".format(0)\n'),
        ('x = «"cuda\\N{EM DASH}\\n{}"»\n', "p", 'x = f"{p}\\N{EM DASH}\\n{{}}"\n'),
        ('x = «r"cuda\\N{EM DASH}"»\n', "p", 'x = rf"{p}\\N{{EM DASH}}"\n'),
        # Quotes, braces and colons in the expression.
        ('x = «"cuda:0"»\n', "p['a']", "x = f\"{p['a']}:0\"\n"),
        ('x = «"cuda:0"»\n', 'p["a"]', "x = f\"{p['a']}:0\"\n"),
        ("x = «'cuda:0'»\n", "p['a']", "x = f'{p[\"a\"]}:0'\n"),
        ('x = «"cuda:0"»\n', "{1: 2}[1]", 'x = f"{ {1: 2}[1]}:0"\n'),
        ('x = «"cuda:0"»\n', "lambda: 1", 'x = f"{(lambda: 1)}:0"\n'),
        ('x = «"cuda:0"»\n', "a if b else c", 'x = f"{a if b else c}:0"\n'),
        ('x = «"""cuda:0"""»\n', 'p["a"]', 'x = f"""{p["a"]}:0"""\n'),
        ("x = «'''cuda:\"0\"'''»\n", "p['''a'''][1]", "x = f'''{p['a'][1]}:\"0\"'''\n"),
        # Inside another f-string.
        ('x = f"{y.to(«\'cuda\'»)}"\n', 'p["a"]', "x = f\"{y.to(p['a'])}\"\n"),
        ('x = f"""{y.to(«\'cuda:0\'»)}"""\n', 'p["a"]', 'x = f"""{y.to(f\'{p["a"]}:0\')}"""\n'),
    ],
)  # fmt: skip
def test_expression_in_place_of_text(source: str, new: str, after: str) -> None:
    before, [span] = marked(source)
    check(before, [Text(span, "cuda", new, expression=True)], after)


@pytest.mark.parametrize(
    ("source", "new"),
    [
        ('x = «"cuda:0"»\n', "p['\\n']"),
        ("x = «'cuda:\"0'»\n", "p['it\\'s']"),
        ("x = «'cuda:0'»\n", "p['#']"),
        ("x = f\"{y.to(«'cuda:0'»)}\"\n", 'p["a"]'),
    ],
)
def test_no_quotes_left_for_python_3_10(source: str, new: str) -> None:
    before, [span] = marked(source)
    refuses(before, [Text(span, "cuda", new, expression=True)], "quotes (are )?left")


@pytest.mark.parametrize(
    ("source", "old", "message"),
    [
        ('x = «"cpu"»\n', "cuda", "does not start with 'cuda'"),
        ('x = «"CUDA"»\n', "cuda", "does not start with 'cuda'"),
        ('x = «"cu" "da"»\n', "cuda", "does not start with 'cuda'"),
        ('x = «f"{x}cuda"»\n', "cuda", "does not start with 'cuda'"),
        ('x = «f"cu{x}da"»\n', "cuda", "does not start with 'cuda'"),
        ('x = «"" ""»\n', "cuda", "empty"),
        ('x = «b"cuda"»\n', "cuda", "bytes"),
        ('x = «b"" b"cuda"»\n', "cuda", "bytes"),
        ('x = «"cuda"»\n', "", "no text"),
        ("x = «cuda»\n", "cuda", "no expression here"),
    ],
)
def test_other_strings_are_refused(source: str, old: str, message: str) -> None:
    before, [span] = marked(source)
    refuses(before, [Text(span, old, "flagos")], message)
    refuses(before, [Text(span, old, "flagos", expression=True)], message)


def test_raw_string_cannot_hold_every_text() -> None:
    before, [span] = marked('x = «r"cuda"»\n')
    refuses(before, [Text(span, "cuda", 'a"b')], "raw string")
    refuses(before, [Text(span, "cuda", "a\\b")], "raw string")


def test_comment_of_a_literal_that_goes_is_not_lost() -> None:
    before, [span] = marked('x = («"cuda"  # why\n     ""»)\n')
    refuses(before, [Text(span, "cuda", "p", expression=True)], "'# why' would be lost")


def test_word_operator_needs_its_blank() -> None:
    before, [span] = marked('x = y if z else«"cuda"»\n')
    refuses(before, [Text(span, "cuda", "p", expression=True)], "needs a blank")


def test_edits_inside_an_f_string_whose_text_changes() -> None:
    before, [text, device, name] = marked(
        "x = «f\"cuda:{«torch.cuda.current_device()».x}{d[«'cuda'»]}\"»\n"
    )
    edits: list[Edit] = [
        Text(text, "cuda", "flagos"),
        Expression(device, "t.now()"),
        Text(name, "cuda", "flagos"),
    ]
    check(before, edits, "x = f\"flagos:{t.now().x}{d['flagos']}\"\n")


def test_rename_next_to_text() -> None:
    before, [cuda, text] = marked('x = é(torch.«cuda».a, «"cuda:ü"», "ß")\n')
    edits: list[Edit] = [Text(text, "cuda", "flagos"), Rename(cuda, "flagos")]
    applied = check(before, edits, 'x = é(torch.flagos.a, "flagos:ü", "ß")\n')
    assert len(applied.changes) == 1


@pytest.mark.skipif(sys.version_info < (3, 12), reason="PEP 701 came with Python 3.12")
def test_quotes_of_an_author_who_uses_python_3_12_stay() -> None:
    before, [text] = marked('x = f"{d["a"].to(«"cuda"»)}"\n')
    check(before, [Text(text, "cuda", "flagos")], 'x = f"{d["a"].to("flagos")}"\n')
