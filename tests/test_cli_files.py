"""The command and the files: diffs, patches, standard input, git, bytes, links and modes."""

from __future__ import annotations

import codecs
import os
import stat
from pathlib import Path

import pytest

from tests.command_line import (
    ASK,
    MOVE,
    MOVED,
    PLAIN,
    contents,
    flmigrate,
    git,
    invoke,
    repository,
    tree,
)

LATIN = "# coding: latin-1\n# é\n" + MOVE
ODD: dict[str, tuple[bytes, bytes]] = {
    "crlf": (MOVE.replace("\n", "\r\n").encode(), MOVED.replace("\n", "\r\n").encode()),
    "mixed line ends": (
        MOVE.replace("\n", "\r\n", 2).encode(),
        MOVED.replace("\n", "\r\n", 2).encode(),
    ),
    "byte order mark": (codecs.BOM_UTF8 + MOVE.encode(), codecs.BOM_UTF8 + MOVED.encode()),
    "mark beside the change": (
        codecs.BOM_UTF8 + b"def f(x):\n    return x.cuda()\n",
        codecs.BOM_UTF8 + b'def f(x):\n    return x.to("flagos")\n',
    ),
    "latin-1": (
        LATIN.encode("latin-1"),
        LATIN.replace(".cuda()", '.to("flagos")').encode("latin-1"),
    ),
    "gbk": (
        f"# coding: gbk\n{MOVE}# 模型\n".encode("gbk"),
        f"# coding: gbk\n{MOVED}# 模型\n".encode("gbk"),
    ),
    "no last newline": (MOVE.rstrip().encode(), MOVED.rstrip().encode()),
    "form feeds": (b"\x0c\n" + MOVE.encode(), b"\x0c\n" + MOVED.encode()),
}


# --- diffs and patches ---------------------------------------------------------------------


@pytest.mark.parametrize("spelling", ["pkg", "./pkg", "{here}/pkg", "../{name}/pkg/a.py"])
def test_a_diff_writes_nothing_and_git_applies_it(tmp_path: Path, spelling: str) -> None:
    repository(tmp_path, {"pkg/a.py": MOVE + ASK, "pkg/b.py": PLAIN, "c.py": MOVE})
    before = contents(tmp_path)
    path = spelling.format(here=tmp_path, name=tmp_path.name)
    run = flmigrate(tmp_path, "rewrite", path, "--diff")
    assert contents(tmp_path) == before
    assert run.text.startswith("diff --git a/pkg/a.py b/pkg/a.py\n--- a/pkg/a.py\n+++ ")
    assert {line[:1] for line in run.text.splitlines()} <= set("d-+@ ")
    assert "FL103" in run.err
    assert "would change" in run.err
    git(tmp_path, "apply", "--check", "-", data=run.out)
    git(tmp_path, "apply", "-", data=run.out)
    applied = contents(tmp_path)
    git(tmp_path, "checkout", "-q", ".")
    invoke(tmp_path, "rewrite", path)
    assert applied == contents(tmp_path)
    assert applied["c.py"] == MOVE.encode()


def test_a_diff_made_in_a_subfolder_applies_there(tmp_path: Path) -> None:
    repository(tmp_path, {"pkg/sub/a.py": MOVE})
    run = invoke(tmp_path / "pkg", "rewrite", ".", "--diff")
    assert run.text.startswith("diff --git a/pkg/sub/a.py b/pkg/sub/a.py\n")
    git(tmp_path / "pkg", "apply", "-", data=run.out)
    assert (tmp_path / "pkg/sub/a.py").read_text() == MOVED


def test_a_diff_of_files_elsewhere_names_them_in_full(tmp_path: Path) -> None:
    tree(tmp_path, {"here/x.txt": "", "there/a.py": MOVE})
    run = invoke(tmp_path / "here", "rewrite", "../there", "--diff")
    name = f"{tmp_path}/there/a.py".lstrip("/")
    assert run.text.startswith(f"diff --git a/{name} b/{name}\n")


@pytest.mark.parametrize("kind", ODD)
def test_git_applies_diffs_and_patches_of_odd_files(tmp_path: Path, kind: str) -> None:
    before, after = ODD[kind]
    repository(tmp_path, {"a.py": before})
    run = invoke(tmp_path, "rewrite", "a.py", "--diff", "--quiet")
    git(tmp_path, "apply", "-", data=run.out)
    assert (tmp_path / "a.py").read_bytes() == after
    git(tmp_path, "checkout", "-q", ".")
    invoke(tmp_path, "rewrite", "a.py", "--patch", "fl.patch")
    assert (tmp_path / "a.py").read_bytes() == before
    assert (tmp_path / "fl.patch").read_bytes() == run.out


def test_a_patch_applies_from_the_root_of_the_repository(tmp_path: Path) -> None:
    names = ["a.py", "pkg/b c.py", "pkg/模型.py", "pkg/d+[1].py"]
    repository(tmp_path, dict.fromkeys(names, MOVE))
    patch = tmp_path / "out.patch"
    run = invoke(tmp_path / "pkg", "rewrite", "..", "--patch", str(patch))
    assert run.code == 0
    assert "4 files seen, 4 would change" in run.text
    assert all((tmp_path / name).read_text() == MOVE for name in names)
    git(tmp_path, "apply", "out.patch")
    assert all((tmp_path / name).read_text() == MOVED for name in names)


@pytest.mark.parametrize("patch", ["missing/fl.patch", "pkg"])
def test_a_patch_that_cannot_be_written_is_an_error(tmp_path: Path, patch: str) -> None:
    tree(tmp_path, {"pkg/a.py": MOVE})
    run = flmigrate(tmp_path, "rewrite", "pkg", "--patch", patch)
    assert run.code == 2
    assert run.err.startswith(f"flmigrate: {patch}: ")
    assert contents(tmp_path) == {"pkg/a.py": MOVE.encode()}


def test_a_patch_over_two_repositories_is_refused(tmp_path: Path) -> None:
    repository(tmp_path / "one", {"a.py": MOVE})
    repository(tmp_path / "two", {"b.py": MOVE})
    run = invoke(tmp_path, "rewrite", "one", "two", "--patch", "x.patch")
    assert run.code == 2
    assert "two/b.py: not below" in run.err
    assert not (tmp_path / "x.patch").exists()


# --- standard input ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ODD)
def test_standard_input_goes_to_standard_output(tmp_path: Path, kind: str) -> None:
    before, after = ODD[kind]
    run = invoke(tmp_path, "rewrite", "-", stdin=before)
    assert (run.code, run.out) == (0, after)
    assert run.err.splitlines()[0] == "1 file seen, 1 changed, 0 skipped"


def test_standard_input_as_a_diff(tmp_path: Path) -> None:
    tree(tmp_path, {"pkg/a.py": MOVE})
    options = ["--diff", "--stdin-filename", "pkg/a.py"]
    run = invoke(tmp_path, "rewrite", "-", *options, stdin=MOVE.encode())
    assert run.text.startswith("diff --git a/pkg/a.py b/pkg/a.py\n")
    assert "1 would change" in run.err
    git(tmp_path, "init", "-q")
    git(tmp_path, "apply", "-", data=run.out)
    assert (tmp_path / "pkg/a.py").read_text() == MOVED
    assert invoke(tmp_path, "rewrite", "-", "--diff", stdin=PLAIN.encode()).out == b""


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"x = torch.cuda # \xff\n", "FL901"),
        (b"# coding: klingon\nx = torch.cuda\n", "FL901"),
        ("x = torch.cuda\n".encode("utf-16"), "FL901"),
        (b"print torch.cuda\r\n", "FL902"),
        (b"torch.cuda\0\n", "FL902"),
    ],
)
def test_standard_input_that_cannot_be_handled_passes_through(
    tmp_path: Path, data: bytes, code: str
) -> None:
    run = flmigrate(tmp_path, "rewrite", "-", "--stdin-filename", "lib/a.py", stdin=data)
    assert (run.code, run.out) == (1, data)
    assert run.err.startswith("lib/a.py:1: " + code)
    assert "1 file seen, 0 changed, 1 skipped" in run.err
    diff = invoke(tmp_path, "rewrite", "-", "--diff", stdin=data)
    assert (diff.code, diff.out) == (1, b"")


def test_standard_input_has_the_settings_of_its_name(tmp_path: Path) -> None:
    settings = '[tool.flmigrate.per-file-ignores]\n"tests/**" = ["FL106"]\n'
    tree(tmp_path, {"pyproject.toml": settings})
    named = ["--stdin-filename", "tests/a.py"]
    run = invoke(tmp_path, "rewrite", "-", *named, stdin=MOVE.encode())
    assert run.text == MOVE
    assert invoke(tmp_path, "rewrite", "-", stdin=MOVE.encode()).text == MOVED


# --- git -----------------------------------------------------------------------------------


@pytest.mark.parametrize("state", ["modified", "staged", "untracked"])
def test_a_file_with_uncommitted_changes_is_refused(tmp_path: Path, state: str) -> None:
    repository(tmp_path, {"clean.py": MOVE, "dirty.py": PLAIN, "plain.py": PLAIN})
    if state == "untracked":
        git(tmp_path, "rm", "-q", "--cached", "dirty.py")
        git(tmp_path, "commit", "-q", "-m", "m")
    (tmp_path / "dirty.py").write_text(MOVE)
    (tmp_path / "plain.py").write_text(PLAIN * 2)  # nothing to write, so nothing to refuse
    if state == "staged":
        git(tmp_path, "add", "dirty.py")
    run = invoke(tmp_path, "rewrite", ".")
    assert run.code == 1
    assert "dirty.py: FL905 skipped: has uncommitted changes" in run.text
    assert "--allow-dirty" in run.text
    assert "3 files seen, 1 changed, 1 skipped" in run.text
    assert "  fixes: FL106 device-method 1\n" in run.text
    assert (tmp_path / "dirty.py").read_text() == MOVE
    assert (tmp_path / "clean.py").read_text() == MOVED
    allowed = invoke(tmp_path, "rewrite", ".", "--allow-dirty")
    assert allowed.code == 0
    assert (tmp_path / "dirty.py").read_text() == MOVED


def test_a_dirty_file_may_be_shown_as_a_diff(tmp_path: Path) -> None:
    repository(tmp_path, {"a.py": PLAIN})
    (tmp_path / "a.py").write_text(MOVE)
    run = invoke(tmp_path, "rewrite", ".", "--diff")
    assert run.code == 0
    assert "+" in run.text


def test_a_repository_that_git_refuses_is_not_written_to(tmp_path: Path) -> None:
    repository(tmp_path, {"a.py": MOVE})
    (tmp_path / ".git/config").write_text("[core\n")
    run = flmigrate(tmp_path, "rewrite", "a.py")
    assert run.code == 1
    assert "a.py: FL905 skipped: " in run.text
    assert "git status failed" in run.text
    assert (tmp_path / "a.py").read_text() == MOVE


# --- bytes, modes, links -------------------------------------------------------------------


@pytest.mark.parametrize("kind", ODD)
def test_every_other_byte_is_kept(tmp_path: Path, kind: str) -> None:
    before, after = ODD[kind]
    tree(tmp_path, {"a.py": before})
    assert invoke(tmp_path, "rewrite", "a.py").code == 0
    assert (tmp_path / "a.py").read_bytes() == after


def test_a_text_that_does_not_fit_the_encoding_is_not_written(tmp_path: Path) -> None:
    # The inline note names the user's own target, which cannot be written in ASCII.
    table = """
        schema = 1
        name = "t"
        title = "平台"
        source = "t"
        serves = ["cuda"]
        device = { type = "flagos", namespace = "torch.flagos", move = '"flagos"', test = "True" }
        [api."torch.cuda.mem_get_info"]
        status = "none"
        note = "by hand"
    """
    source = b"# coding: ascii\n" + ASK.encode()
    tree(tmp_path, {"t.toml": table, "a.py": source, "b.py": MOVE, "c.py": ASK})
    target = ["--target", "t.toml"]
    for options in ([], ["--diff"], ["--patch", "x.patch"]):
        run = invoke(tmp_path, "rewrite", "a.py", "b.py", *target, *options)
        assert run.code == 1
        assert "a.py:1: FL901 skipped: the new text does not fit" in run.said
        assert "1 skipped" in run.said
    assert (tmp_path / "a.py").read_bytes() == source
    assert (tmp_path / "b.py").read_text() == MOVED
    piped = invoke(tmp_path, "rewrite", "-", *target, stdin=source)
    assert (piped.code, piped.out) == (1, source)
    invoke(tmp_path, "rewrite", "c.py", *target)
    assert "平台" in (tmp_path / "c.py").read_text("utf-8")


@pytest.mark.parametrize("mode", [0o755, 0o640, 0o600])
def test_mode_bits_are_kept(tmp_path: Path, mode: int) -> None:
    tree(tmp_path, {"a.py": MOVE})
    (tmp_path / "a.py").chmod(mode)
    invoke(tmp_path, "rewrite", "a.py")
    assert (tmp_path / "a.py").read_text() == MOVED
    assert stat.S_IMODE((tmp_path / "a.py").stat().st_mode) == mode


def test_links_stay_links(tmp_path: Path) -> None:
    repository(tmp_path, {"real/a.py": MOVE})
    (tmp_path / "link.py").symlink_to("real/a.py")
    run = invoke(tmp_path, "rewrite", "link.py", "--diff")
    assert run.text.startswith("diff --git a/real/a.py b/real/a.py\n")
    run = invoke(tmp_path, "rewrite", ".")
    assert run.text.startswith("1 file seen, 1 changed")
    assert (tmp_path / "link.py").readlink() == Path("real/a.py")
    assert (tmp_path / "real/a.py").read_text() == MOVED


def test_hard_links_stay_one_file(tmp_path: Path) -> None:
    tree(tmp_path, {"a.py": MOVE})
    os.link(tmp_path / "a.py", tmp_path / "b.txt")
    invoke(tmp_path, "rewrite", "a.py")
    assert (tmp_path / "b.txt").read_text() == MOVED


def test_no_temporary_file_is_left(tmp_path: Path) -> None:
    tree(tmp_path, {"a.py": MOVE, "b.py": ASK})
    invoke(tmp_path, "rewrite", ".")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.py", "b.py"]
