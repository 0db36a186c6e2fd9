"""``rewrite --patch-dir``: a series of patches for review; and ``rewrite --patch -``."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from flmigrate.patches import verify
from flmigrate.series import is_test
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

WHOLE = """\
import torch
import torch_npu
from torch import cuda


def place(x, device):
    if device == "cuda":
        x = x.cuda()
    cuda.synchronize()
    return x


def wait():
    if torch.npu.is_available():
        torch.npu.synchronize()
    else:
        torch.cuda.synchronize()


def free():
    return torch.cuda.mem_get_info()
"""
SCRIPT = f'{WHOLE}\n\nif __name__ == "__main__":\n    print(free())\n'
ODD: dict[str, str | bytes] = {
    "with space.py": MOVE,
    "sub dir/naïve.py": MOVE,
    "crlf.py": MOVE.replace("\n", "\r\n"),
    "no_newline.py": MOVE.rstrip("\n").replace("  # to the card", ""),
    "latin.py": b"# coding: latin-1\n" + MOVE.replace("card", "Gerät").encode("latin-1"),
    "bom.py": b"\xef\xbb\xbf" + MOVE.encode(),
    "form_feed.py": MOVE.replace("\n\n\n", "\n\n\x0c\n"),
    'quo"te.py': MOVE,
}


def patches(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.patch"))


def subjects(folder: Path) -> list[str]:
    """The subjects without ``[PATCH n/m]``, which is checked here."""
    found = []
    names = patches(folder)
    for number, path in enumerate(names, 1):
        match = re.search(r"^Subject: \[PATCH (\d)/(\d)\] (.*)$", path.read_text("latin-1"), re.M)
        assert match is not None
        assert (match[1], match[2]) == (str(number), str(len(names)))
        assert path.name.startswith(f"{number:04}-")
        found.append(match[3])
    return found


def rewritten(root: Path) -> dict[str, bytes]:
    """What the tree is after a rewrite in place; the tree is put back."""
    invoke(root, "rewrite", ".", "--allow-dirty")
    after = contents(root)
    git(root, "checkout", "-q", "--", ".")
    return after


def test_a_series_applies_in_order_and_gives_the_tree_of_a_rewrite(tmp_path: Path) -> None:
    files = {"run.py": SCRIPT, "lib.py": WHOLE, "tests/test_lib.py": MOVE + ASK, "other.py": PLAIN}
    root = repository(tmp_path / "p", files)
    expected, before = rewritten(root), contents(root)
    run = flmigrate(root, "rewrite", ".", "--patch-dir", "../out")
    assert contents(root) == before
    assert subjects(tmp_path / "out") == [
        "Move device API and device strings to Torch-FL",
        "Take out branches that told vendors apart",
        "Import Torch-FL and drop vendor plug-ins",
        "Mark what is left for a human",
        "Move the tests to Torch-FL",
    ]
    names = [f"../out/{path.name}" for path in patches(tmp_path / "out")]
    assert run.text.splitlines()[: len(names)] == names
    git(root, "checkout", "-q", "-b", "apply")
    for path in patches(tmp_path / "out"):
        git(root, "apply", "--index", str(path))
        for name in contents(root):
            ast.parse((root / name).read_bytes())
    assert contents(root) == expected
    git(root, "reset", "-q", "--hard", "HEAD")
    git(root, "am", "-q", *map(str, patches(tmp_path / "out")))
    assert contents(root) == expected
    log = git(root, "log", "--reverse", "--format=%s").decode().splitlines()
    assert log[1:] == subjects(tmp_path / "out")


def test_each_patch_is_about_one_thing(tmp_path: Path) -> None:
    root = repository(tmp_path / "p", {"run.py": SCRIPT, "tests/conftest.py": MOVE})
    invoke(root, "rewrite", ".", "--patch-dir", "../out")
    api, branches, imports, notes, tests = (p.read_text() for p in patches(tmp_path / "out"))
    assert '+    if device == "flagos":' in api
    assert "+from torch import flagos" in api
    assert "torch.npu" not in re.sub(r"^ .*\n", "", api, flags=re.M)
    assert "-    if torch.npu.is_available():" in branches
    assert "+import torch_fl" in imports
    diff = notes.partition("\n---\n")[2]
    changed = [line for line in diff.splitlines() if re.match(r"[+-](?![+-]{2} |- $)", line)]
    assert [line.strip("+ ")[:19] for line in changed] == ["# flmigrate: FL103 "]
    assert set(re.findall(r"^diff --git a/(\S+)", tests, re.M)) == {"tests/conftest.py"}
    assert "tests/conftest.py" not in api + branches + imports + notes


def test_the_message_tells_the_rules_and_what_to_look_at(tmp_path: Path) -> None:
    root = repository(tmp_path / "p", {"a.py": MOVE, "b.py": MOVE + ASK})
    invoke(root, "rewrite", ".", "--patch-dir", "../out")
    first, second = (path.read_text() for path in patches(tmp_path / "out"))
    assert "2 files, by rule:\n\n     2  FL106 device-method\n\nEach hunk" in first
    assert "1 file, by rule:\n\n     1  FL103 no-equivalent\n\nComments only." in second
    assert first.count("\n---\ndiff --git ") == 1


def test_unsafe_fixes_are_made_on_request_and_named(tmp_path: Path) -> None:
    text = 'import torch\n\n\ndef f(x):\n    return x.put(where="cuda")\n'
    root = repository(tmp_path / "p", {"a.py": text})
    invoke(root, "rewrite", ".", "--no-notes", "--patch-dir", "../safe")
    assert patches(tmp_path / "safe") == []
    invoke(root, "rewrite", ".", "--no-notes", "--unsafe-fixes", "--patch-dir", "../unsafe")
    [path] = patches(tmp_path / "unsafe")
    assert "1 of these fixes may change what the program means." in path.read_text()


def test_names_encodings_line_ends_and_modes(tmp_path: Path) -> None:
    root = repository(tmp_path / "p", ODD)
    (root / "with space.py").chmod(0o755)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "mode")
    expected = rewritten(root)
    run = flmigrate(root, "rewrite", ".", "--patch-dir", "../out")
    assert run.code == 0
    assert "git am --keep-cr" in run.text
    git(root, "checkout", "-q", "-b", "apply")
    for path in patches(tmp_path / "out"):
        git(root, "apply", str(path))
    assert contents(root) == expected
    git(root, "checkout", "-q", "--", ".")
    git(root, "am", "-q", "--keep-cr", *map(str, patches(tmp_path / "out")))
    assert contents(root) == expected
    assert (root / "with space.py").stat().st_mode & 0o111


def test_steps_that_would_break_a_file_are_made_together(tmp_path: Path) -> None:
    """An import that a branch's removal frees may not go before the branch does."""
    root = repository(tmp_path / "p", {"a.py": WHOLE})
    invoke(root, "rewrite", ".", "--patch-dir", "../out")
    for path in patches(tmp_path / "out"):
        git(root, "apply", str(path))
        run = flmigrate(root, "check", "a.py", "--select", "FL902")
        assert run.code == 0


def test_nothing_to_do_writes_nothing(tmp_path: Path) -> None:
    root = repository(tmp_path / "p", {"a.py": MOVED})
    run = flmigrate(root, "rewrite", ".", "--patch-dir", "../out")
    assert run.code == 0
    assert patches(tmp_path / "out") == []


def test_an_older_series_is_not_mixed_with_a_new_one(tmp_path: Path) -> None:
    root = repository(tmp_path / "p", {"a.py": MOVE})
    assert invoke(root, "rewrite", ".", "--patch-dir", "../out").code == 0
    run = invoke(root, "rewrite", ".", "--patch-dir", "../out")
    assert (run.code, run.err) == (2, "flmigrate: ../out: has patches in it already\n")
    tree(tmp_path, {"file": ""})
    run = invoke(root, "rewrite", ".", "--patch-dir", "../file")
    assert (run.code, run.err) == (2, "flmigrate: ../file: File exists\n")


def test_the_author_is_gits(tmp_path: Path) -> None:
    root = repository(tmp_path / "p", {"a.py": MOVE})
    git(root, "config", "user.name", "Zoë Ä")
    git(root, "config", "user.email", "z@example.org")
    invoke(root, "rewrite", ".", "--patch-dir", "../out")
    git(root, "am", "-q", *map(str, patches(tmp_path / "out")))
    assert git(root, "log", "-1", "--format=%an <%ae>").decode() == "Zoë Ä <z@example.org>\n"


def test_a_patch_goes_to_standard_output(tmp_path: Path) -> None:
    root = repository(tmp_path / "p", {"a.py": MOVE, "sub/b.py": MOVE + ASK})
    expected = rewritten(root)
    run = flmigrate(root, "rewrite", ".", "--patch", "-")
    assert [counts.path for counts in verify(run.out)] == ["a.py", "sub/b.py"]
    assert "2 files seen, 2 would change" in run.err
    git(root, "apply", data=run.out)
    assert contents(root) == expected
    assert flmigrate(root, "rewrite", "a.py", "--patch", "-").out == b""


@pytest.mark.parametrize(
    "options",
    [
        ["--patch", "x", "--patch-dir", "y"],
        ["--diff", "--patch-dir", "y"],
        ["--interactive", "--diff"],
    ],
)
def test_there_is_one_way_out(tmp_path: Path, options: list[str]) -> None:
    tree(tmp_path, {"a.py": MOVE})
    run = invoke(tmp_path, "rewrite", "a.py", *options)
    assert (run.code, "exclude each other" in run.err) == (2, True)
    assert contents(tmp_path) == {"a.py": MOVE.encode()}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("tests/a.py", True),
        ("pkg/test/sub/a.py", True),
        ("pkg/test_a.py", True),
        ("pkg/a_test.py", True),
        ("conftest.py", True),
        ("pkg/testing.py", False),
        ("pkg/attest.py", False),
        ("tests.py", False),
    ],
)
def test_what_belongs_to_the_tests(name: str, expected: bool) -> None:
    assert is_test(name) is expected
