"""Diffs and patches, held against git itself."""

from __future__ import annotations

import difflib
import os
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flmigrate.files import decode
from flmigrate.findings import Outcome, Result, Span
from flmigrate.line_diffs import blocks_between, blocks_from_edits, split_lines
from flmigrate.patches import FileCounts, PatchError, diff_bytes, patch, unified_diff, verify

LONG = b"".join(b"line %d\n" % number for number in range(1, 41))


def run_git(folder: Path, *arguments: str, data: bytes = b"") -> bytes:
    command = ["git", "-c", "core.autocrlf=false", *arguments]
    return subprocess.run(command, cwd=folder, input=data, check=True, capture_output=True).stdout


def write(root: Path, name: str, data: bytes) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def as_git_writes_it(root: Path, name: str, before: bytes, after: bytes) -> bytes:
    """``git diff``, without what only git knows (blob names) or guesses (hunk headings)."""
    path = write(root, name, before)
    run_git(root, "init", "-q")
    run_git(root, "add", "-A")
    path.write_bytes(after)
    diff = run_git(root, "diff", "--no-color", "--no-ext-diff", "--text", "--diff-algorithm=myers")
    path.write_bytes(before)
    diff = re.sub(rb"^index [0-9a-f.]+ \d+\n", b"", diff, count=1, flags=re.MULTILINE)
    return re.sub(rb"^(@@ -\S+ \+\S+ @@).*$", rb"\1", diff, flags=re.MULTILINE)


CHANGES = {
    "one line": (LONG, LONG.replace(b"line 20\n", b"changed\n")),
    "first and last line": (LONG, b"new\n" + LONG[len(b"line 1\n") :] + b"more\n"),
    "contexts that touch": (LONG, LONG.replace(b"line 10\n", b"a\n").replace(b"line 17\n", b"b\n")),
    "contexts apart": (LONG, LONG.replace(b"line 10\n", b"a\n").replace(b"line 18\n", b"b\n")),
    "lines removed": (LONG, LONG.replace(b"line 5\nline 6\n", b"")),
    "lines added": (LONG, LONG.replace(b"line 5\n", b"line 5\n\n\nx\n")),
    "crlf": (b"a = 1\r\nb = 2\r\n", b"a = 1\r\nb = 3\r\n"),
    "no final newline": (b"a = 1\nb = 2", b"a = 2\nb = 2"),
    "last line without newline": (b"a = 1\nb = 2", b"a = 1\nb = 3"),
    "final newline added": (b"a = 1", b"a = 1\n"),
    "final newline removed": (b"a = 1\nb\n", b"a = 1\nb"),
    "from empty": (b"", b"import torch_fl\n"),
    "to empty": (b"import torch_npu\n", b""),
    "from empty to no newline": (b"", b"x"),
    "form feeds": (b"a\n\x0c\nb \x0c c\n\x0b\x1c\x85d\n", b"a\n\x0c\nb \x0c e\n\x0b\x1c\x85d\n"),
    "mixed newlines": (b"a\r\nb\nc\rd\ne\r\n", b"a\r\nB\nc\rD\ne\r\n"),
    "cr only": (b"a\rb\rc\r", b"a\rB\rc\r"),
    "latin-1": ("é = 'ü'\nb\n".encode("latin-1"), "é = 'ü'\nc\n".encode("latin-1")),
    "gbk": ("# 模型\ndevice = 1\n".encode("gbk"), "# 模型\ndevice = 2\n".encode("gbk")),
    "bom": (b"\xef\xbb\xbfa\nb\n", b"\xef\xbb\xbfc\nb\n"),
    "lines like a patch": (b"a\n-- a/x\n@@ -1 +1 @@\n", b"b\n++ b/x\ndiff --git a/x b/x\n"),
    "blank lines": (b"\n\n\na\n\n\n", b"\n\n\nb\n\n\n"),
}

NAMES = [
    "a.py",
    "pkg/sub/a.py",
    "with space.py",
    "dir b/x.py",
    "模型/训练.py",
    'quo"te.py',
    "back\\slash.py",
    "tab\there.py",
    "new\nline\x01.py",
    "[a]+{b}.py",
    "spaced é.py",
    "b/b.py",
    os.fsdecode(b"latin-\xe9.py"),
]


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_diff_is_the_one_git_writes(tmp_path: Path, change: tuple[bytes, bytes]) -> None:
    before, after = change
    expected = as_git_writes_it(tmp_path, "pkg/a.py", before, after)
    assert diff_bytes("pkg/a.py", before, after) == expected


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_written_as_git_writes_it(tmp_path: Path, name: str) -> None:
    assert diff_bytes(name, b"a\n", b"b\n") == as_git_writes_it(tmp_path, name, b"a\n", b"b\n")


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_git_applies_a_diff(tmp_path: Path, change: tuple[bytes, bytes]) -> None:
    before, after = change
    path = write(tmp_path, "pkg/a.py", before)
    run_git(tmp_path, "init", "-q")
    diff = diff_bytes("pkg/a.py", before, after)
    run_git(tmp_path, "apply", "--check", data=diff)
    run_git(tmp_path, "apply", data=diff)
    assert path.read_bytes() == after
    run_git(tmp_path, "apply", "--reverse", data=diff)
    assert path.read_bytes() == before
    removed, added = (
        len(set(split_lines(one)) - set(split_lines(two)))
        for one, two in ((before, after), (after, before))
    )
    [counts] = verify(diff)
    assert counts.path == "pkg/a.py"
    assert (counts.added, counts.removed) >= (added, removed)


def test_no_difference_is_no_diff() -> None:
    assert diff_bytes("a.py", b"a", b"a") == b""
    assert unified_diff("a.py", "a", "a") == ""
    assert patch([], Path.cwd()) == b""
    assert verify(b"") == ()


def test_a_diff_as_text() -> None:
    assert unified_diff("a.py", "é\r\nb", "é\r\nc\n") == (
        "diff --git a/a.py b/a.py\n"
        "--- a/a.py\n"
        "+++ b/a.py\n"
        "@@ -1,2 +1,2 @@\n"
        " é\r\n"
        "-b\n"
        "\\ No newline at end of file\n"
        "+c\n"
    )
    assert "-\ud800\n" in unified_diff("a.py", "\ud800\n", "x\n")


# --- many files ----------------------------------------------------------------------------


def changed(path: Path, old: str, new: str) -> Result:
    """The result of a run that put ``new`` in the place of ``old`` in the file."""
    decoded = decode(path.read_bytes())
    spans = tuple(
        (Span(found.start(), found.end()), new)
        for found in re.finditer(re.escape(old), decoded.text)
    )
    after = decoded.text.replace(old, new)
    return Result(os.fspath(path), Outcome.CHANGED, decoded.text, after, changed_spans=spans)


def test_one_patch_for_many_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {
        "z.py": b"x = 'cuda'\r\ny = 'cuda'",
        "a b/c.py": b"\xef\xbb\xbf'cuda'\n",
        "模型/l.py": "# coding: latin-1\n# é\n'cuda'\n# é\n".encode("latin-1"),
        "g.py": "# coding: gbk\n# 模型\nx = '模型', 'cuda'\n".encode("gbk"),
        os.fsdecode(b"\xe9.py"): b"'cuda'\n",
    }
    run_git(tmp_path, "init", "-q")
    results = [
        changed(write(tmp_path, name, data), "cuda", "flagos") for name, data in files.items()
    ]
    write(tmp_path, "same.py", b"cuda")
    results.append(Result(os.fspath(tmp_path / "same.py"), Outcome.UNCHANGED))
    whole = patch(results, tmp_path)
    assert verify(whole) == (
        FileCounts("a b/c.py", 1, 1),
        FileCounts("g.py", 1, 1),
        FileCounts("z.py", 2, 2),
        FileCounts("模型/l.py", 1, 1),
        FileCounts(os.fsdecode(b"\xe9.py"), 1, 1),
    )
    monkeypatch.chdir(tmp_path / "a b")  # names are relative to the root, not to this
    assert patch(results[::-1], tmp_path) == whole
    run_git(tmp_path, "apply", data=whole)
    for name, data in files.items():
        assert (tmp_path / name).read_bytes() == data.replace(b"cuda", b"flagos")
    assert (tmp_path / "same.py").read_bytes() == b"cuda"


def test_a_link_is_patched_as_the_file_it_leads_to(tmp_path: Path) -> None:
    write(tmp_path, "real/a.py", b"cuda\n")
    (tmp_path / "link.py").symlink_to("real/a.py")
    [counts] = verify(patch([changed(tmp_path / "link.py", "cuda", "flagos")], tmp_path))
    assert counts == FileCounts("real/a.py", 1, 1)


def test_a_patch_that_cannot_be_made(tmp_path: Path) -> None:
    path = write(tmp_path, "a.py", b"cuda\n")
    result = changed(path, "cuda", "flagos")
    (tmp_path / "sub").mkdir()
    with pytest.raises(PatchError, match=r"a\.py: not below .*sub"):
        patch([result], tmp_path / "sub")
    path.write_bytes(b"other\n")
    with pytest.raises(PatchError, match=r"a\.py: changed on disk"):
        patch([result], tmp_path)
    path.write_bytes(b"\xff")
    with pytest.raises(PatchError, match=r"a\.py: line 1, byte 0: "):
        patch([result], tmp_path)
    path.unlink()
    with pytest.raises(PatchError, match=r"a\.py: No such file"):
        patch([result], tmp_path)


@pytest.mark.parametrize(
    "damage",
    [
        lambda diff: diff.replace(b"-line 20\n", b""),
        lambda diff: diff.replace(b" line 19\n", b" line 19\n line 19\n"),
        lambda diff: diff.replace(b"+++ b/a.py\n", b""),
        lambda diff: diff[: diff.index(b"@@")],
        lambda diff: diff + b"more",
        lambda diff: b"nothing",
    ],
)
def test_what_is_not_a_patch_is_found_out(damage: object) -> None:
    diff = diff_bytes("a.py", *CHANGES["one line"])
    assert verify(diff) == (FileCounts("a.py", 1, 1),)
    with pytest.raises(PatchError, match="not a patch"):
        verify(damage(diff))  # type: ignore[operator]


# --- the lines that differ -----------------------------------------------------------------

LINES = st.lists(
    st.sampled_from([b"\n", b"a\n", b"b\n", b"c\r\n", b"d\r", b"def f():\n", b"\x0c\n", b"\xe9\n"]),
    max_size=25,
).map(b"".join)
ANY_LINES = LINES | st.binary(max_size=60)


def applied(before: bytes, after: bytes, diff: bytes) -> bytes:
    """``before`` with the diff applied by the letter; its every line is checked."""
    old = split_lines(before)
    result: list[bytes] = []
    at = 0
    body = split_lines(diff)[3:]
    number = 0
    while number < len(body):
        header = re.fullmatch(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@\n", body[number])
        assert header
        start, length, new_start, new_length = (
            1 if group is None else int(group) for group in header.groups()
        )
        start, new_start = start - (length > 0), new_start - (new_length > 0)
        result += old[at:start]
        assert len(result) == new_start
        at = start
        number += 1
        while number < len(body) and not body[number].startswith(b"@@"):
            mark, line = body[number][:1], body[number][1:]
            number += 1
            if number < len(body) and body[number].startswith(b"\\"):
                line = line.removesuffix(b"\n")
                number += 1
            if mark in b" -":
                assert old[at] == line
                at += 1
            if mark in b" +":
                result.append(line)
        assert (at, len(result)) == (start + length, new_start + new_length)
    return b"".join(result + old[at:])


@settings(deadline=None)
@given(ANY_LINES, ANY_LINES)
def test_a_diff_leads_from_one_to_the_other(before: bytes, after: bytes) -> None:
    diff = diff_bytes("a.py", before, after)
    if before != after:
        assert applied(before, after, diff) == after
        [counts] = verify(diff)
        assert counts.added - counts.removed == len(split_lines(after)) - len(split_lines(before))


@settings(max_examples=30, deadline=None)
@given(pairs=st.lists(st.tuples(ANY_LINES, ANY_LINES), min_size=1, max_size=5))
def test_git_applies_any_patch(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[bytes, bytes]]
) -> None:
    root = tmp_path_factory.mktemp("repository")
    run_git(root, "init", "-q")
    pairs = [pair for pair in pairs if pair[0] != pair[1]]
    for number, (before, _) in enumerate(pairs):
        write(root, f"{number}.py", before)
    whole = b"".join(diff_bytes(f"{number}.py", *pair) for number, pair in enumerate(pairs))
    if whole:
        run_git(root, "apply", data=whole)
    for number, (_, after) in enumerate(pairs):
        assert (root / f"{number}.py").read_bytes() == after


@st.composite
def edited(draw: st.DrawFn) -> tuple[str, list[tuple[Span, str]], str]:
    """A text, edits of it, and the text that they make."""
    pieces = st.sampled_from(["\n", "\r\n", "a", "bc", " = ", "é", "\f", "模", "\n\n", "same\n"])
    text = draw(st.lists(pieces, max_size=40).map("".join))
    cuts = draw(st.lists(st.integers(0, len(text)), max_size=8).map(sorted))
    edits = [
        (Span(start, end), draw(st.lists(pieces, max_size=4).map("".join)))
        for start, end in zip(cuts[::2], cuts[1::2], strict=False)
    ]
    after = text
    for span, new in reversed(edits):
        after = after[: span.start] + new + after[span.end :]
    return text, edits, after


@settings(max_examples=400, deadline=None)
@given(edited())
def test_edits_lead_to_the_lines_that_differ(
    case: tuple[str, list[tuple[Span, str]], str],
) -> None:
    text, edits, after_text = case
    before, after = text.encode(), after_text.encode()
    old, new = split_lines(before), split_lines(after)
    blocks = blocks_from_edits(old, new, text, edits)
    assert blocks is not None
    rebuilt: list[bytes] = []
    at = 0
    for start, end, new_start, new_end in blocks:
        assert start < end or new_start < new_end
        rebuilt += old[at:start] + new[new_start:new_end]
        at = end
    assert rebuilt + old[at:] == new
    if before != after:
        diff = diff_bytes("a.py", before, after, text, edits)
        assert applied(before, after, diff) == after
        assert applied(before, after, diff_bytes("a.py", before, after)) == after


def test_edits_that_are_not_those_made_are_disregarded() -> None:
    before, after = "a\nb\nc\nd\n", "a\nB\nc\nD\n"
    expected = unified_diff("a.py", before, after)
    for edits in (
        [(Span(2, 3), "B")],
        [(Span(2, 3), "B\n\n"), (Span(6, 7), "D")],
        [(Span(0, 5), ""), (Span(2, 7), "")],
        [(Span(50, 60), "x")],
        [(Span(0, 8), "")],
    ):
        assert unified_diff("a.py", before, after, edits) == expected


def test_one_edit_around_much_shows_only_the_lines_that_differ() -> None:
    before = LONG.decode()
    after = before.replace("line 3\n", "x\n").replace("line 30\n", "y\n")
    whole = [(Span(0, len(before)), after)]
    assert unified_diff("a.py", before, after, whole) == unified_diff("a.py", before, after)
    assert unified_diff("a.py", before, after, whole).count("\n-line") == 2


@pytest.mark.parametrize("share", [1, 9])
def test_a_very_long_file(share: int) -> None:
    # Mostly lines that repeat, on which difflib alone would take minutes.
    block = "def f():\n\n    return 1\n\n\n"
    before = "".join(f"{block}x = {number // share}\n" for number in range(13_500))
    after = "import torch_fl\n" + before.replace("x = 700\n", "x = 'a'\n") + "# end\n"
    diff = diff_bytes("a.py", before.encode(), after.encode())
    assert applied(before.encode(), after.encode(), diff) == after.encode()
    assert verify(diff) == (FileCounts("a.py", 2 + share, share),)


def test_the_comparison_is_as_short_as_difflibs_on_moved_and_repeated_lines() -> None:
    old = split_lines(b"a\nb\nc\n\nd\n\ne\nf\n")
    new = split_lines(b"a\nc\n\nd\nx\n\ne\ng\nf\n")
    opcodes = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    expected = [(a, b, c, d) for tag, a, b, c, d in opcodes if tag != "equal"]
    assert [tuple(block) for block in blocks_between(old, new)] == expected
