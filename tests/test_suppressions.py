"""Comments by which an author overrules the tool: ``ignore`` for a line, ``keep`` for a block."""

from __future__ import annotations

from pathlib import Path

import pytest

from flmigrate import check_source, rewrite_source
from flmigrate.findings import Finding, Span
from flmigrate.rules import RULES
from flmigrate.suppressions import Suppressions, read_suppressions
from tests.analysed import context_of
from tests.command_line import invoke, tree


def read(text: str) -> Suppressions:
    return read_suppressions(context_of(text))


def kept(text: str) -> list[str]:
    """The protected pieces of a source."""
    return [text[span.start : span.end] for span in read(text).kept]


def at(line: int, code: str = "FL103", end_line: int = 0) -> Finding:
    return Finding(code, "message", Span(0, 0), line, 1, end_line or line)


# --- ignore ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "comment",
    [
        "# flmigrate: ignore",
        "#flmigrate:ignore",
        "#  flmigrate:  ignore  because",
        "# flmigrate: ignore[FL103]",
        "# flmigrate: ignore[FL103] because it only runs here",
        "# flmigrate: ignore [FL103]",
        "# flmigrate: ignore[FL105, FL103]",
        "# flmigrate: ignore[ FL103,FL105 ]",
        "# flmigrate: ignore[fl103]",
        "# noqa: F401  # flmigrate: ignore[FL103]",
        "# type: ignore  # flmigrate: ignore[FL103]  # fmt: skip",
        "# flmigrate: ignore[FL105]  # flmigrate: ignore[FL103]",
        "# flmigrate: ignore  # flmigrate: ignore[FL105]",
    ],
)
def test_ignore_silences_its_code(comment: str) -> None:
    assert read(f"a\nb  {comment}\nc\n").silences(at(2))


@pytest.mark.parametrize(
    "comment",
    [
        "# flmigrate: ignore[FL105]",
        "# flmigrate: ignore[FL1031]",
        "# flmigrate: ignored",
        "# flmigrate ignore",
        "# flmigrate: FL103 ignore",
        "# flmigrate: keep",
        "# ignore[FL103]",
    ],
)
def test_other_comments_silence_nothing(comment: str) -> None:
    assert not read(f"a\nb  {comment}\nc\n").silences(at(2))


def test_ignore_counts_on_its_own_line_only() -> None:
    found = read("a\nb  # flmigrate: ignore\nc\n")
    assert [found.silences(at(line)) for line in (1, 2, 3)] == [False, True, False]


def test_ignore_counts_on_every_line_of_a_finding() -> None:
    text = "a = f(\n    1,\n    2,  # flmigrate: ignore[FL103]\n)\n"
    found = read(text)
    assert found.silences(at(1, end_line=4))
    assert found.silences(at(3))
    assert not found.silences(at(2))
    assert not found.silences(at(1, code="FL105", end_line=4))


@pytest.mark.parametrize(
    "text",
    [
        "a = '# flmigrate: ignore'\n",
        'a = """\nb  # flmigrate: ignore\n"""\n',
        "a = f'{b}# flmigrate: ignore'\n",
        "a = '\\\\'  '# flmigrate: keep'\n",
        '"""Doc.\n\n# flmigrate: keep\n"""\nb\n',
    ],
)
def test_comments_inside_strings_are_text(text: str) -> None:
    found = read(text)
    assert not found.ignored
    assert not found.kept


def test_ignore_behind_the_end_of_a_multi_line_string() -> None:
    found = read('a = """\n# flmigrate: keep\n"""  # flmigrate: ignore[FL103]\n')
    assert found.silences(at(3))
    assert not found.kept


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_lines_are_counted_as_python_does(newline: str) -> None:
    text = newline.join(["a = 'x\\", "y'", "\fb = 1", "c  # flmigrate: ignore", "d", ""])
    found = read(text)
    assert [line for line in range(1, 6) if found.silences(at(line))] == [4]


def test_file_without_suppressions() -> None:
    found = read("a  # flmigrate: FL103 gone\nb\n")
    assert not found.ignored
    assert not found.kept
    assert not found.silences(at(1))


# --- keep -----------------------------------------------------------------------------------

BLOCK = "if a:\n    b\nelse:\n    c"

KEPT = {
    "on a statement": ("x\na = 1  # flmigrate: keep\ny\n", "a = 1"),
    "above a statement": ("x\n# flmigrate: keep\na = 1\ny\n", "a = 1"),
    "with a reason": ("# flmigrate: keep the CUDA path\na = 1\ny\n", "a = 1"),
    "behind another tool's": ("x\na = 1  # noqa  # flmigrate: keep\n", "a = 1"),
    "above, with a blank line": ("# flmigrate: keep\n\na = 1\ny\n", "a = 1"),
    "above, with comments": ("# flmigrate: keep\n# why\n#\n\na = 1\ny\n", "a = 1"),
    "above a block": (f"# flmigrate: keep\n{BLOCK}\ny\n", BLOCK),
    "on the header of a block": (
        "if a:  # flmigrate: keep\n    b\nelse:\n    c\ny\n",
        "if a:  # flmigrate: keep\n    b\nelse:\n    c",
    ),
    "on a statement in a block": ("if a:\n    b  # flmigrate: keep\n    c\n", "b"),
    "above a statement in a block": ("if a:\n    # flmigrate: keep\n    b\n    c\n", "b"),
    "above, in a block, with a blank line": (
        "def f():\n    x\n    # flmigrate: keep\n\n    b = 1\n    c\n",
        "b = 1",
    ),
    "above a function": ("# flmigrate: keep\ndef f():\n    a\nb\n", "def f():\n    a"),
    "above a decorated function": (
        "# flmigrate: keep\n@a\n@b(1)\ndef f():\n    c\nd\n",
        "@a\n@b(1)\ndef f():\n    c",
    ),
    "on a decorator": (
        "@a  # flmigrate: keep\ndef f():\n    c\nd\n",
        "@a  # flmigrate: keep\ndef f():\n    c",
    ),
    "on the def of a decorated function": (
        "@a\ndef f():  # flmigrate: keep\n    c\nd\n",
        "@a\ndef f():  # flmigrate: keep\n    c",
    ),
    "above a decorated method": (
        "class C:\n    # flmigrate: keep\n    @a\n    def f(self): b\n    def g(self): c\n",
        "@a\n    def f(self): b",
    ),
    "above a decorated class": ("# flmigrate: keep\n@a\nclass C:\n    b\n", "@a\nclass C:\n    b"),
    "inside a statement of several lines": (
        "x\na = f(\n    1,  # flmigrate: keep\n    2,\n)\ny\n",
        "a = f(\n    1,  # flmigrate: keep\n    2,\n)",
    ),
    "alone inside a statement": (
        "a = f(\n    # flmigrate: keep\n    2,\n)\ny\n",
        "a = f(\n    # flmigrate: keep\n    2,\n)",
    ),
    "on the last line of a statement": (
        "a = f(\n    2,\n)  # flmigrate: keep\ny\n",
        "a = f(\n    2,\n)",
    ),
    "above an elif": (
        "if a:\n    b\n# flmigrate: keep\nelif c:\n    d\n",
        "elif c:\n    d",
    ),
    "above an else": (
        "if a:\n    b\n# flmigrate: keep\nelse:\n    c\ny\n",
        "if a:\n    b\n# flmigrate: keep\nelse:\n    c",
    ),
    "in an except": (
        "try:\n    a\nexcept b:\n    c  # flmigrate: keep\n    d\n",
        "c",
    ),
    "in a case": ("match a:\n    case 1:\n        # flmigrate: keep\n        b\n", "b"),
    "first of a line": ("a = 1; b = 2  # flmigrate: keep\n", "a = 1"),
    "carriage returns": ("x\r\n# flmigrate: keep\r\na = 1\r\n", "a = 1"),
    "non-ASCII before it": ("é = 'ü'  # ä\n# flmigrate: keep\nß = 'ö'\n", "ß = 'ö'"),
}


@pytest.mark.parametrize(("text", "expected"), KEPT.values(), ids=KEPT)
def test_keep_protects_its_statement(text: str, expected: str) -> None:
    assert kept(text) == [expected]


@pytest.mark.parametrize("text", ["a\n# flmigrate: keep\n", "# flmigrate: keep", "a # keep\n"])
def test_keep_without_a_statement_protects_nothing(text: str) -> None:
    assert kept(text) == []


def test_several_kept_statements() -> None:
    text = "# flmigrate: keep\na\nb\nc  # flmigrate: keep\n"
    assert kept(text) == ["a", "c"]


# --- through the whole pipeline -------------------------------------------------------------

SYNC = "import torch\n\ntorch.cuda.synchronize()\n"


def after(text: str) -> str:
    return rewrite_source(text, import_in="none").after


@pytest.mark.parametrize(
    "text",
    [
        SYNC.replace("()", "()  # flmigrate: ignore"),
        SYNC.replace("()", "()  # flmigrate: ignore[FL101]"),
        SYNC.replace("()", "()  # flmigrate: keep"),
        SYNC.replace("torch.c", "# flmigrate: keep\ntorch.c"),
        "import torch\n\n\n# flmigrate: keep\n@torch.no_grad()\ndef f(x):\n    return x.cuda()\n",
        "import torch\n\nif x:  # flmigrate: keep\n    y = torch.device('cuda')\n",
        "from torch.cuda import synchronize\n\nsynchronize()  # flmigrate: keep\n",
    ],
)
def test_overruled_place_stays_without_a_word(text: str) -> None:
    result = rewrite_source(text, import_in="none")
    assert result.after == text
    assert result.left == ()


def test_only_the_overruled_place_stays() -> None:
    text = f"{SYNC}torch.cuda.synchronize()  # flmigrate: keep\n"
    assert after(text) == text.replace("torch.cuda", "torch.flagos", 1)


def test_import_that_a_kept_statement_needs_stays() -> None:
    text = "from torch import cuda\n\ncuda.synchronize()\ncuda.empty_cache()  # flmigrate: keep\n"
    assert "from torch import cuda\n" in after(text)
    assert "\ncuda.empty_cache()  # flmigrate: keep\n" in after(text)


def test_ignored_code_that_is_not_the_places_own_changes_nothing() -> None:
    text = SYNC.replace("()", "()  # flmigrate: ignore[FL105]")
    assert after(text) == text.replace("torch.cuda", "torch.flagos")


def test_second_code_on_the_line_still_counts() -> None:
    text = 'import torch\n\nx = torch.zeros(1, device="cuda").cuda()  # flmigrate: ignore[FL106]\n'
    assert after(text) == text.replace('device="cuda"', 'device="flagos"')


# --- ignore-file ----------------------------------------------------------------------------

FILE = 'import torch\n\nx = torch.zeros(1, device="cuda").cuda()\n'


def test_a_whole_file_is_silent() -> None:
    text = f"# flmigrate: ignore-file the NVIDIA back-end\n{FILE}"
    assert after(text) == text
    assert check_source(text) == ()


def test_some_codes_are_silent_in_a_whole_file() -> None:
    text = f"{FILE}\n# flmigrate: ignore-file[FL105]  # flmigrate: ignore-file[FL103, FL106]\n"
    assert after(text) == text
    text = f"{FILE}# flmigrate: ignore-file[FL106]\n"
    assert after(text) == text.replace('"cuda"', '"flagos"')


@pytest.mark.parametrize("comment", ["ignore-files", "ignore-all", "keep-it", "ignored"])
def test_other_words_mean_nothing(comment: str) -> None:
    text = f"{FILE}# flmigrate: {comment}\n"
    assert "flagos" in after(text)


# --- comments about nothing, and without a reason -------------------------------------------


def about_comments(text: str) -> list[tuple[int, str]]:
    return [(f.line, f.message) for f in check_source(text) if f.code == "FL701"]


@pytest.mark.parametrize(
    "text",
    [
        SYNC.replace("()", "()  # flmigrate: ignore[FL101]"),
        SYNC.replace("()", "()  # flmigrate: ignore"),
        SYNC.replace("()", "()  # flmigrate: keep"),
        SYNC.replace("torch.c", "# flmigrate: keep\ntorch.c"),
        f"# flmigrate: ignore-file\n{SYNC}",
        f"# flmigrate: ignore-file[FL101]\n{SYNC}",
        "from torch import cuda\n\n# flmigrate: keep\nif x:\n    cuda.synchronize()\n",
        SYNC.replace("()", "()  # flmigrate: ignore[FL402] a rule that runs on request only")
        if "FL402" in RULES
        else SYNC,
        "x = 1  # noqa: F401, a: b  # type: ignore[attr-defined]\nimport torch_npu  # noqa\n",
    ],
)
def test_a_comment_that_silences_something_is_used(text: str) -> None:
    assert about_comments(text) == []


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        (SYNC.replace("()", "()  # flmigrate: ignore[FL105]"), 3, "ignore here: FL105"),
        (SYNC.replace("()", "()  # flmigrate: ignore[FL101, FL105]"), 3, "ignore here: FL105"),
        (SYNC.replace("()", "()  # flmigrate: ignore[FL999]"), 3, "ignore here: FL999"),
        ("import torch  # flmigrate: ignore\n", 1, "ignore here"),
        ("x = 1  # flmigrate: keep\n", 1, "keep here"),
        (f"{SYNC}# flmigrate: keep\n", 4, "keep here"),
        ("# flmigrate: keep\n\nimport torch\n", 1, "keep here"),
        (f"# flmigrate: ignore-file[FL105]\n{SYNC}", 1, "ignore-file here: FL105"),
        ("# flmigrate: ignore-file\nimport torch\n", 1, "ignore-file here"),
        (
            "import torch\n# flmigrate: ignore[FL101]\ntorch.cuda.synchronize()\n",
            2,
            "ignore here: FL101",
        ),
    ],
)
def test_a_comment_that_silences_nothing_is_reported(text: str, line: int, what: str) -> None:
    assert about_comments(text) == [(line, f"nothing to {what}")]


def test_comments_are_judged_by_the_rules_that_ran(tmp_path: Path) -> None:
    text = SYNC.replace("()", "()  # flmigrate: ignore[FL101, FL105] why")
    tree(tmp_path, {"a.py": text})
    assert "FL701 nothing to ignore here: FL105" in invoke(tmp_path, "check", "a.py").text
    assert invoke(tmp_path, "check", "a.py", "--ignore", "FL105").text == ""
    assert invoke(tmp_path, "check", "a.py", "--ignore", "FL701").text == ""
    assert invoke(tmp_path, "rewrite", "a.py").text.startswith("1 file seen, 0 changed, 0 skipped")


@pytest.mark.parametrize(
    "comment", ["ignore[FL101]", "ignore", "keep", "ignore[FL101]:", "keep  # x"]
)
def test_a_reason_can_be_required(tmp_path: Path, comment: str) -> None:
    tree(tmp_path, {"a.py": SYNC.replace("()", f"()  # flmigrate: {comment}")})
    assert invoke(tmp_path, "check", "a.py").code == 0
    tree(tmp_path, {"flmigrate.toml": "[check]\nrequire-reason = true\n"})
    run = invoke(tmp_path, "check", "a.py")
    assert run.code == 1
    word = comment.split("[")[0].split(" ")[0]
    assert run.text.startswith(f"a.py:3:27: FL702 {word} without a reason")
    reasoned = comment.partition("  #")[0] + " as the vendor wants it"
    tree(tmp_path, {"a.py": SYNC.replace("()", f"()  # flmigrate: {reasoned}")})
    assert invoke(tmp_path, "check", "a.py").code == 0
