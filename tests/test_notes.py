"""Inline notes: where they stand, how they are refreshed, and what they never touch."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flmigrate import rewrite_source
from flmigrate.notes import Note, insert_notes
from tests.analysed import context_of


def every(code: str) -> bool:
    return True


def family(code: str) -> bool:
    return code.startswith("FL1")


def noted(
    text: str,
    notes: Sequence[tuple[str, str]],
    ours: Callable[[str], bool] = every,
    nth: int = 0,
    *,
    at_end: bool = False,
) -> str:
    """The text with ``(place, message)`` notes; a place is a piece of the text."""
    found = []
    for place, message in notes:
        offset = -1
        for _ in range(nth + 1):
            offset = text.index(place, offset + 1)
        found.append(Note(offset, message[:5], message[6:]))
    after, growth = insert_notes(context_of(text), found, ours, at_end=at_end)
    assert len(after) - len(text) == sum(size for _, size in growth)
    assert ast.dump(ast.parse(after)) == ast.dump(ast.parse(text))
    return after


N = "# flmigrate: FL103 gone"

# Each source has the place as BAD, and the line that the note is expected to make as NOTE.
PLACES = {
    "statement": "a = 1\nNOTE\nBAD()\nb = 2\n",
    "first line": "NOTE\nBAD()\n",
    "no line end at the end": "a\nNOTE\nBAD()",
    "inside an expression": "NOTE\na = f(1, [BAD])\n",
    "later line of a statement": "NOTE\na = f(\n    1,\n    BAD,\n)\n",
    "after a backslash": "NOTE\na = 1 + \\\n    BAD\n",
    "line of a triple-quoted string": 'NOTE\na = """\nx\n""" + BAD\n',
    "below a comment": "# about it\nNOTE\nBAD()\n",
    "below a docstring": '"""Doc."""\n\nNOTE\nBAD()\n',
    "function body": "def f():\n    a = 1\n    NOTE\n    BAD()\n",
    "tabs": "def f():\n\tNOTE\n\tBAD()\n",
    "form feed": "a = 1\n\fNOTE\n\fBAD()\n",
    "nested blocks": "if a:\n  while b:\n      NOTE\n      BAD()\n",
    "default of a parameter": "NOTE\ndef f(a=BAD): ...\n",
    "annotation": "NOTE\ndef f(\n    a: BAD,\n): ...\n",
    "base class": "NOTE\nclass C(BAD):\n    a = 1\n",
    "decorator": "a = 1\nNOTE\n@BAD\ndef f(): ...\n",
    "second decorator": "NOTE\n@a\n@b(BAD)\nclass C: ...\n",
    "header below decorators": "NOTE\n@a\ndef f(b=BAD): ...\n",
    "decorated method": "class C:\n    NOTE\n    @a\n    def f(self, b=BAD): ...\n",
    "body below decorators": "@a\ndef f():\n    NOTE\n    BAD()\n",
    "if": "NOTE\nif BAD:\n    a\n",
    "elif": "if a:\n    b\nNOTE\nelif BAD:\n    c\nelse:\n    d\n",
    "second elif": "if a:\n    b\nelif c:\n    d\nNOTE\nelif BAD:\n    e\n",
    "body of an elif": "if a:\n    b\nelif c:\n    NOTE\n    BAD()\n",
    "body of an else": "if a:\n    b\nelse:\n    NOTE\n    BAD()\n",
    "else: if": "if a:\n    b\nelse:\n    NOTE\n    if BAD:\n        c\n",
    "except": "try:\n    a\nNOTE\nexcept BAD:\n    b\n",
    "second except": "try:\n    a\nexcept b:\n    c\nNOTE\nexcept (d, BAD) as e:\n    f\n",
    "body of an except": "try:\n    a\nexcept b:\n    NOTE\n    BAD()\n",
    "else of a try": "try:\n    a\nexcept b:\n    c\nelse:\n    NOTE\n    BAD()\n",
    "finally": "try:\n    a\nfinally:\n    NOTE\n    BAD()\n",
    "with": "NOTE\nwith a as b, BAD as c:\n    d\n",
    "for": "NOTE\nfor a in BAD:\n    b\nelse:\n    c\n",
    "else of a for": "for a in b:\n    c\nelse:\n    NOTE\n    BAD()\n",
    "while": "NOTE\nwhile BAD:\n    b\n",
    "match": "NOTE\nmatch BAD:\n    case 1:\n        a\n",
    "body of a case": "match a:\n    case 1:\n        NOTE\n        BAD()\n",
    "pattern": "NOTE\nmatch a:\n    case 1:\n        b\n    case BAD.c:\n        d\n",
    "lambda": "NOTE\na = lambda: BAD\n",
    "one-line suite": "NOTE\nif a: BAD()\n",
    "one-line function": "class C:\n    NOTE\n    def f(self): return BAD\n",
    "one-line else": "NOTE\nif a:\n    b\nelse: BAD()\n",
    "one-line elif": "if a: b\nNOTE\nelif c: BAD()\n",
    "one-line except": "try: a\nNOTE\nexcept b: BAD()\n",
    "one-line case": "NOTE\nmatch a:\n    case 1: BAD()\n",
    "semicolon": "NOTE\na = 1; BAD()\n",
    "third of a line": "b\nNOTE\na = 1; c; BAD()\nd\n",
    "semicolon in a body": "if a:\n    NOTE\n    b; BAD()\n",
    "semicolon in a one-line suite": "NOTE\nif a: b; BAD()\n",
    "semicolon after a multi-line string": 'NOTE\na = """\n  x\n"""; BAD()\n',
    "two multi-line strings and semicolons": 'NOTE\na; b = """\n"""; c = """\n"""; BAD()\n',
    "semicolon after a multi-line call": "NOTE\na = f(\n  1); BAD()\n",
    "semicolon and backslash": "NOTE\na = 1; \\\nBAD()\n",
    "semicolon and backslash in a body": "if a:\n    NOTE\n    b = 1; \\\n        BAD()\n",
    "suite after a backslash": "NOTE\nif a: \\\n    BAD()\n",
    "comment that ends with a backslash": "a = 1  # \\\nNOTE\nBAD()\n",
    "own comment that ends with a backslash": "# \\\nNOTE\nBAD()\n",
    "carriage returns": "a = 1\r\ndef f():\r\n    NOTE\r\n    BAD()\r\n",
    "old Mac line ends": "a = 1\rdef f():\r    NOTE\r    BAD()\r",
    "non-ASCII before it": "é = 'ü'; a\nNOTE\nẞ = 'ä' + BAD\n",
    "f-string": 'NOTE\na = (f"{b}"\n  f"{BAD}")\n',
    "trailing comment": "NOTE\nBAD()  # why\n",
    "between blank lines": "a\n\n\nNOTE\nBAD()\n\n\nb\n",
}


@pytest.mark.parametrize("expected", PLACES.values(), ids=PLACES)
def test_note_stands_above_the_statement(expected: str) -> None:
    after = expected.replace("NOTE", N)
    newline = "\r\n" if "\r\n" in expected else "\r" if "\r" in expected else "\n"
    lines = expected.split(newline)
    before = newline.join(line for line in lines if line.strip(" \t\f") != "NOTE")
    assert noted(before, [("BAD", "FL103 gone")]) == after
    # And there it stays.
    assert noted(after, [("BAD", "FL103 gone")]) == after
    # Until the place is settled.
    assert noted(after, []) == before


def test_note_below_a_shebang_and_cookie() -> None:
    text = "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\nBAD()\n"
    assert noted(text, [("BAD", "FL103 gone")]) == text.replace("BAD()", f"{N}\nBAD()")


# --- one note per statement -----------------------------------------------------------------


def test_findings_of_one_statement_share_a_note() -> None:
    text = "a = f(\n    X,\n    Y,\n)\n"
    found = noted(text, [("Y", "FL104 second"), ("X", "FL103 first"), ("X", "FL103 first")])
    assert found == f"# flmigrate: FL103 first; FL104 second\n{text}"


def test_statements_inside_another_have_notes_of_their_own() -> None:
    text = "if X:\n    Y()\n"
    found = noted(text, [("X", "FL103 one"), ("Y", "FL103 two")])
    assert found == "# flmigrate: FL103 one\nif X:\n    # flmigrate: FL103 two\n    Y()\n"


def test_message_becomes_one_line() -> None:
    assert noted("X\n", [("X", "FL103 two\n  lines\r\n here")]) == (
        "# flmigrate: FL103 two lines here\nX\n"
    )


def test_changed_message_replaces_the_old_one() -> None:
    text = "# flmigrate: FL103 old\nX\n"
    assert noted(text, [("X", "FL103 new")]) == "# flmigrate: FL103 new\nX\n"


def test_settled_part_of_a_note_goes() -> None:
    text = "# flmigrate: FL103 one; FL104 two\nX\n"
    assert noted(text, [("X", "FL104 two")]) == "# flmigrate: FL104 two\nX\n"


def test_two_notes_above_one_statement_become_one() -> None:
    text = "# flmigrate: FL103 one\n# flmigrate: FL104 two\nX\n"
    notes = [("X", "FL104 two"), ("X", "FL103 one")]
    assert noted(text, notes) == "# flmigrate: FL103 one; FL104 two\nX\n"


def test_note_moves_with_its_statement() -> None:
    text = "# flmigrate: FL103 gone\n# mine\n\nX\n"
    assert noted(text, [("X", "FL103 gone")]) == "# mine\n\n# flmigrate: FL103 gone\nX\n"


@pytest.mark.parametrize("end", ["", "\n", "\n\n", "\n\n# mine\n"])
def test_stale_note_below_everything_goes(end: str) -> None:
    assert noted(f"X\n# flmigrate: FL103 gone{end}", []) == f"X\n{end[1:]}"


def test_stale_note_at_the_end_of_a_block_goes() -> None:
    text = "def f():\n    X\n    # flmigrate: FL103 gone\n\n\nY\n"
    assert noted(text, []) == "def f():\n    X\n\n\nY\n"


# --- what is not ours -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "comment",
    [
        "# flmigrate is great",
        "# flmigrate: ignore[FL103] FL103",
        "# flmigrate: keep",
        "# flmigrate: see FL103",
        "# flmigrate: FL1034 unknown",
        "#flmigrate: FL103 written by hand",
        "# FL103 gone",
        "## flmigrate: FL103 gone",
        "# note: # flmigrate: FL103 gone",
    ],
)
def test_other_comments_stay(comment: str) -> None:
    text = f"{comment}\nX\n"
    assert noted(text, []) == text
    assert noted(text, [("X", "FL104 two")]) == f"{comment}\n# flmigrate: FL104 two\nX\n"


def test_a_note_behind_a_statement_goes_when_it_is_settled() -> None:
    assert noted("X  # flmigrate: FL103 gone\nY\n", []) == "X\nY\n"
    assert noted("X  # noqa  # flmigrate: FL103 gone\nY\n", []) == "X  # noqa\nY\n"


@pytest.mark.parametrize(
    "text",
    [
        'X = "# flmigrate: FL103 gone"\n',
        "X  # about FL103\n",
        'X = """a\n# flmigrate: FL103 b\n"""\n',
    ],
)
def test_what_only_looks_like_a_note_behind_a_statement_stays(text: str) -> None:
    assert noted(text, []) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("X\n", "X  # flmigrate: FL104 two\n"),
        ("X", "X  # flmigrate: FL104 two"),
        ("X  # type: ignore\n", "X  # type: ignore  # flmigrate: FL104 two\n"),
        ("f(\n    X,\n)\nY\n", "f(\n    X,\n)  # flmigrate: FL104 two\nY\n"),
        ("X; y = 1\n", "X; y = 1  # flmigrate: FL104 two\n"),
        ("X  # flmigrate: FL104 old\n", "X  # flmigrate: FL104 two\n"),
        ("# flmigrate: FL104 two\nX\n", "X  # flmigrate: FL104 two\n"),
        ("if X:\n    y\n", "# flmigrate: FL104 two\nif X:\n    y\n"),
        ('X; y = """\n"""\n', '# flmigrate: FL104 two\nX; y = """\n"""\n'),
        ("@X\ndef f():\n    y\n", "# flmigrate: FL104 two\n@X\ndef f():\n    y\n"),
        ('f(X, """\n""")\n', 'f(X, """\n""")  # flmigrate: FL104 two\n'),
    ],
)
def test_a_note_behind_a_statement(text: str, expected: str) -> None:
    assert noted(text, [("X", "FL104 two")], at_end=True) == expected
    assert noted(expected, [("X", "FL104 two")], at_end=True) == expected


def test_a_note_that_names_chips_is_read_back() -> None:
    text = "# flmigrate: FL401[ascend,gcu] a raises; FL402[musa] b\nX\n"
    assert noted(text, [], lambda code: code == "FL401") == "# flmigrate: FL402[musa] b\nX\n"


@pytest.mark.parametrize(
    "text",
    [
        'a = """\n# flmigrate: FL103 gone\n"""\nX\n',
        'a = f"""{b}\n# flmigrate: FL103 gone\n"""\nX\n',
        '"""\n# flmigrate: FL103 gone"""\nX\n',
        'a = (b"""\n\n# flmigrate: FL103 gone\nc"""\n)\nX\n',
        "a = 'x\\\n# flmigrate: FL103 gone'\nX\n",
    ],
)
def test_lines_inside_strings_are_no_notes(text: str) -> None:
    assert noted(text, []) == text
    assert noted(text, [("X", "FL103 new")]) == text.replace("X\n", "# flmigrate: FL103 new\nX\n")


@pytest.mark.parametrize(
    "text",
    [
        "# flmigrate: FL402 runs on the CPU\nX\n",
        "def f():\n    # flmigrate: FL402 runs on the CPU\n\n    X\n",
        "X\n# flmigrate: FL402 runs on the CPU",
        "def f():\n    X\n    # flmigrate: FL402 runs on the CPU\n",
        "# flmigrate: FL402 one\n# flmigrate: FL403 two\n\n# mine\nX\n",
    ],
)
def test_notes_of_other_codes_are_not_touched(text: str) -> None:
    assert noted(text, [], family) == text


def test_note_of_another_code_is_merged_with_ours() -> None:
    text = "# flmigrate: FL103 old; FL402 runs on the CPU\nX\n"
    assert noted(text, [], family) == "# flmigrate: FL402 runs on the CPU\nX\n"
    both = "# flmigrate: FL104 new; FL402 runs on the CPU\nX\n"
    assert noted(text, [("X", "FL104 new")], family) == both
    assert noted(both, [("X", "FL104 new")], family) == both


# --- positions after the change -------------------------------------------------------------


def test_growth_says_where_the_text_moved() -> None:
    text = "# flmigrate: FL103 old\nX\nY\nZ\n"
    notes = [Note(text.index("Y"), "FL103", "gone"), Note(text.index("Z"), "FL103", "gone")]
    after, growth = insert_notes(context_of(text), notes, every)
    for word in "XYZ":
        offset = text.index(word)
        assert after[offset + sum(size for at, size in growth if at <= offset)] == word


def test_many_notes_in_a_long_file() -> None:
    lines = [f"x{i} = {i}" for i in range(4000)]
    text = "\n".join(lines) + "\n"
    offsets = [text.index(f"x{i} =") for i in range(0, 4000, 4)]
    after, growth = insert_notes(context_of(text), [Note(o, "FL103", "m") for o in offsets], every)
    assert len(growth) == 1000
    assert after.count("# flmigrate: FL103 m\nx") == 1000


_BLOCKS = st.sampled_from(
    [
        "X()\n",
        "a; X()\n",
        "if X:\n    X()\nelif X: X()\nelse:\n    a; X()\n",
        "@X\ndef f(a=X): return X\n",
        "try:\n    X\nexcept X as e:\n    pass\nfinally: X\n",
        "match X:\n    case X.a if X: X\n    case _:\n        X\n",
        'a = """\nX # flmigrate: FL103 no\n"""; X\n',
        "with X: \\\n    X\n",
        "class C(X):\n\tx: X = X\n\n\t# mine\n\tX\n",
        "a = f(X, # why\n  # flmigrate: FL103 inside\n  X)\n",
        "# flmigrate: FL103 stale\n\n",
    ]
)


@given(st.lists(_BLOCKS, min_size=1, max_size=5), st.data())
@settings(max_examples=150, deadline=None)
def test_notes_anywhere_change_nothing_else(blocks: list[str], data: st.DataObject) -> None:
    text = "".join(blocks)
    context = context_of(text)
    names = [n for n in context.scopes.nodes[ast.Name] if n.id == "X"]
    chosen = data.draw(st.lists(st.sampled_from(names), max_size=6)) if names else []
    notes = [Note(context.source.start(name), "FL103", "gone") for name in chosen]
    after, growth = insert_notes(context, notes, every)
    assert ast.dump(ast.parse(after)) == ast.dump(context.source.tree)

    def plain(source: str) -> list[str]:
        return [line for line in source.split("\n") if not line.lstrip().startswith("# flm")]

    assert plain(after) == plain(text)

    def moved(offset: int) -> int:
        return offset + sum(size for at, size in growth if at <= offset)

    again = [Note(moved(note.offset), note.code, note.message) for note in notes]
    assert insert_notes(context_of(after), again, every)[0] == after


# --- through the whole pipeline -------------------------------------------------------------

BAD = "import torch\n\n\ndef f():\n    return torch.cuda.memory_snapshot()\n"


def test_note_of_a_run_is_stable_and_goes_when_the_place_is_settled() -> None:
    once = rewrite_source(BAD, import_in="none")
    assert once.after.count("    # flmigrate: FL103 ") == 1
    assert rewrite_source(once.after, import_in="none").after == once.after
    settled = once.after.replace("torch.cuda.memory_snapshot()", "None")
    assert "flmigrate" not in rewrite_source(settled, import_in="none").after


def test_run_without_notes_leaves_those_that_are_there() -> None:
    once = rewrite_source(BAD, import_in="none").after
    assert rewrite_source(BAD, import_in="none", notes=False).after == BAD
    assert rewrite_source(once, import_in="none", notes=False).after == once


def test_findings_point_below_their_notes() -> None:
    result = rewrite_source(BAD, import_in="none")
    (finding,) = [f for f in result.left if f.code == "FL103"]
    line = result.after.split("\n")[finding.line - 1]
    assert line[finding.column - 1 :].startswith("torch.cuda.memory_snapshot")
