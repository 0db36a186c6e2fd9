"""Known findings: ``flmigrate baseline`` and ``check --baseline``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.command_line import MOVE, PLAIN, flmigrate, git, invoke, repository, tree

FILE = "flmigrate-baseline.json"
OLD = """\
import torch


def put(x, device):
    if device == "cuda":
        x = x.cuda(non_blocking=True)
    return torch.zeros(1, device="cuda") + x


def free():
    return torch.cuda.mem_get_info()
"""
COUNT = 4  # findings in OLD


def accepted(root: Path, *options: str) -> list[str]:
    """The findings that a check with the baseline still reports."""
    return invoke(root, "check", ".", "--baseline", FILE, *options).text.splitlines()


def baselined(root: Path, **files: str) -> Path:
    """A folder with files (a name without ``.py``) and a baseline of all their findings."""
    tree(root, {f"{name}.py": text for name, text in files.items()})
    assert invoke(root, "baseline", ".").code == 0
    return root


def test_what_was_there_is_accepted_and_what_is_new_is_not(tmp_path: Path) -> None:
    tree(tmp_path, {"a.py": OLD})
    run = flmigrate(tmp_path, "baseline", ".")
    assert (run.code, run.out) == (0, b"")
    assert run.err == f"{tmp_path / FILE}: {COUNT} findings in 1 files\n"
    run = flmigrate(tmp_path, "check", ".", "--baseline", FILE)
    assert (run.code, run.text, run.err) == (0, "", "no findings in 1 file\n")
    tree(tmp_path, {"a.py": OLD + "\n\ny = torch.ones(1).cuda()\n", "b.py": MOVE})
    run = flmigrate(tmp_path, "check", ".", "--baseline", FILE)
    assert run.code == 1
    assert [line.split(" ")[0] for line in run.text.splitlines()] == ["a.py:14:19:", "b.py:5:25:"]


def test_the_file_is_readable_and_stable(tmp_path: Path) -> None:
    root = baselined(tmp_path, a=OLD, b=MOVE + MOVE.replace("put", "again"))
    first = (root / FILE).read_text()
    data = json.loads(first)
    assert data["version"] == 1
    assert list(data["files"]) == ["a.py", "b.py"]
    entry = {"code": "FL105", "scope": "put", "text": "device == 'cuda'", "count": 1}
    assert entry in data["files"]["a.py"]
    assert sum('"code"' in line for line in first.splitlines()) == COUNT + 2
    invoke(root, "baseline", ".")
    assert (root / FILE).read_text() == first


@pytest.mark.parametrize(
    "text",
    [
        '"""Text."""\n\nX = 1\n\n\n' + OLD,
        OLD.replace('"', "'").replace(
            "(non_blocking=True)", "(\n            non_blocking = True,\n        )"
        ),
        OLD.replace("def put", "def place"),
        OLD.replace("    if device", "    # a comment\n\n    if (device").replace(
            '"cuda":', '"cuda"):'
        ),
        "if True:\n" + "".join(f"    {line}\n" if line else "\n" for line in OLD.splitlines()),
        "\n".join(reversed(OLD.split("\n\n\n")[1:])).join(["import torch\n\n\n", "\n"]),
    ],
    ids=["shifted", "formatted", "renamed", "commented", "indented", "reordered"],
)
def test_shifts_and_formatting_do_not_break_it(tmp_path: Path, text: str) -> None:
    root = baselined(tmp_path, a=OLD)
    before = (root / FILE).read_bytes()
    tree(root, {"a.py": text})
    assert accepted(root, "--strict-baseline") == []
    assert accepted(root) == []
    assert (root / FILE).read_bytes() == before


def test_a_moved_file_and_moved_code_stay_accepted(tmp_path: Path) -> None:
    root = baselined(tmp_path, a=OLD, b=MOVE)
    (root / "a.py").rename(root / "renamed.py")
    (root / "b.py").unlink()
    tree(root, {"sub/c.py": MOVE})
    assert accepted(root) == []


def test_a_copy_is_not_accepted(tmp_path: Path) -> None:
    root = baselined(tmp_path, a=MOVE)
    tree(root, {"b.py": MOVE})
    assert [line[:6] for line in accepted(root)] == ["b.py:5"]
    (root / "b.py").unlink()
    tree(root, {"a.py": MOVE + MOVE.replace("put", "again")})
    assert [line[:7] for line in accepted(root)] == ["a.py:10"]


def test_it_shrinks_by_itself(tmp_path: Path) -> None:
    root = baselined(tmp_path, a=OLD, b=MOVE)
    tree(root, {"a.py": OLD.replace('device="cuda"', "device=device"), "b.py": PLAIN})
    run = invoke(root, "check", ".", "--baseline", FILE)
    assert (run.code, run.text) == (0, "")
    assert f"{FILE}: 2 fixed, taken out" in run.err
    data = json.loads((root / FILE).read_text())
    assert list(data["files"]) == ["a.py"]
    assert len(data["files"]["a.py"]) == COUNT - 1
    tree(root, {"b.py": MOVE})  # and does not grow again
    assert [line[:6] for line in accepted(root)] == ["b.py:5"]


def test_files_that_were_not_looked_at_keep_their_entries(tmp_path: Path) -> None:
    root = baselined(tmp_path, a=OLD, b=MOVE)
    before = (root / FILE).read_bytes()
    tree(root, {"b.py": PLAIN})
    assert invoke(root, "check", "a.py", "--baseline", FILE).code == 0
    assert invoke(root, "check", ".", "--baseline", FILE, "--select", "FL103").code == 0
    assert (root / FILE).read_bytes() == before


def test_strict_fails_on_what_is_fixed_and_writes_nothing(tmp_path: Path) -> None:
    root = baselined(tmp_path, a=MOVE)
    before = (root / FILE).read_bytes()
    (root / "a.py").unlink()
    tree(root, {"b.py": PLAIN})
    run = invoke(root, "check", ".", "--baseline", FILE, "--strict-baseline")
    assert run.code == 1
    assert run.text == f"{FILE}: a.py: FL106 is fixed 1x: x.cuda()\n"
    assert (root / FILE).read_bytes() == before


def test_settings_name_it(tmp_path: Path) -> None:
    tree(tmp_path, {"pyproject.toml": '[tool.flmigrate.check]\nbaseline = "ci/known.json"\n'})
    tree(tmp_path, {"src/a.py": MOVE, "ci/readme.txt": ""})
    assert invoke(tmp_path, "baseline", "src").code == 0
    assert json.loads((tmp_path / "ci/known.json").read_text())["files"].keys() == {"../src/a.py"}
    assert invoke(tmp_path / "src", "check", "a.py").code == 0
    tree(tmp_path, {"src/b.py": MOVE})
    assert invoke(tmp_path, "check", "src").code == 1


def test_with_only_new_lines_old_ones_use_up_their_places_first(tmp_path: Path) -> None:
    text = "def f(x):\n    y = x.cuda()\n    return y\n"
    root = repository(tmp_path, {"a.py": text})
    invoke(root, "baseline", ".")
    tree(root, {"a.py": text.replace("def f(x):\n", "def f(x):\n    z = x.cuda()\n")})
    git(root, "add", "-A")
    run = flmigrate(root, "check", "--staged", "--baseline", FILE)
    assert (run.code, run.text.split(" ")[0]) == (1, "a.py:2:11:")
    tree(root, {"a.py": text.replace("y = x.cuda()", "y = x.cuda( )")})
    git(root, "add", "-A")
    assert flmigrate(root, "check", "--staged", "--baseline", FILE).code == 0


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", ":1: not JSON"),
        (b"{\n", ":2: not JSON"),
        (b"\xff", ": not UTF-8"),
        (b"[]", 'not a baseline: "version" is not 1'),
        (b'{"version": 2, "files": {}}', '"version" is not 1'),
        (b'{"version": 1, "files": []}', '"files" must be an object'),
        (b'{"version": 1, "files": {"a.py": [{"code": 1}]}}', '"a.py": not a place: {"code": 1}'),
        (b'{"version": 1, "files": {"a.py": 7}}', '"a.py": not a place: 7'),
    ],
)
def test_a_bad_file_is_named(tmp_path: Path, content: bytes, said: str) -> None:
    tree(tmp_path, {"a.py": MOVE, FILE: content})
    run = invoke(tmp_path, "check", ".", "--baseline", FILE)
    assert run.code == 2
    assert f"flmigrate: {FILE}" in run.err
    assert said in run.err


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    tree(tmp_path, {"a.py": MOVE})
    run = invoke(tmp_path, "check", ".", "--baseline", "gone.json")
    assert (run.code, run.err) == (2, "flmigrate: gone.json: No such file or directory\n")
    run = invoke(tmp_path, "baseline", ".", "-o", "gone/x.json")
    assert (run.code, run.err) == (2, "flmigrate: gone/x.json: No such file or directory\n")


def test_files_that_cannot_be_looked_at_fail_it(tmp_path: Path) -> None:
    tree(tmp_path, {"a.py": MOVE, "old.py": "print torch.cuda\n"})
    run = invoke(tmp_path, "baseline", ".")
    assert run.code == 1
    assert "old.py: FL902 skipped" in run.err
    assert json.loads((tmp_path / FILE).read_text())["files"].keys() == {"a.py"}
