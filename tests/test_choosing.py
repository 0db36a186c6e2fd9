"""``rewrite --interactive``: changes are made one by one, as the user wants."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import ASK, MOVE, MOVED, flmigrate, invoke, tree

TWO = """\
import torch


def put(x):
    y = torch.zeros(1, device="cuda")
    z = 1
    return x.cuda(), y, z
"""
FIRST = TWO.replace('device="cuda"', 'device="flagos"')
SECOND = TWO.replace(".cuda()", '.to("flagos")')
BOTH = FIRST.replace(".cuda()", '.to("flagos")')


@pytest.mark.parametrize(
    ("answers", "a", "b"),
    [
        ("y\ny\ny\n", BOTH, MOVED),
        ("y\nn\nn\n", FIRST, MOVE),
        ("n\ny\ny\n", SECOND, MOVED),
        ("n\nn\nn\n", TWO, MOVE),
        ("a\ny\n", BOTH, MOVED),
        ("d\ny\n", TWO, MOVED),
        ("y\nq\n", FIRST, MOVE),
        ("q\n", TWO, MOVE),
        ("", TWO, MOVE),
        ("y\n", FIRST, MOVE),
        ("?\nwhat\n\nYES\nno\nno\n", FIRST, MOVE),
    ],
)
def test_the_answers_decide(tmp_path: Path, answers: str, a: str, b: str) -> None:
    tree(tmp_path, {"a.py": TWO, "b.py": MOVE})
    run = invoke(tmp_path, "rewrite", ".", "--interactive", stdin=answers.encode())
    assert run.code == 0
    assert ((tmp_path / "a.py").read_text(), (tmp_path / "b.py").read_text()) == (a, b)


def test_each_change_is_shown_with_its_reason(tmp_path: Path) -> None:
    tree(tmp_path, {"a.py": TWO})
    run = flmigrate(tmp_path, "rewrite", "a.py", "-i", stdin=b"y\nn\n")
    assert "@@ line 5 @@ FL105 Use flagos\n" in run.text
    assert (
        '-    y = torch.zeros(1, device="cuda")\n+    y = torch.zeros(1, device="flagos")\n'
        in run.text
    )
    assert "(1/2) Make this change [y,n,a,d,q,?]? " in run.text
    assert '@@ line 7 @@ FL106 Use .to("flagos")\n' in run.text
    assert run.text.endswith("1 changed, 0 skipped\n  fixes: FL105 device-string 1\n")


def test_notes_are_asked_about_when_every_fix_is_made(tmp_path: Path) -> None:
    tree(tmp_path, {"a.py": MOVE + ASK})
    invoke(tmp_path, "rewrite", "a.py", "-i", stdin=b"y\nn\n")
    assert (tmp_path / "a.py").read_text() == MOVED + ASK
    invoke(tmp_path, "rewrite", "a.py", "-i", stdin=b"y\n")
    assert "# flmigrate: FL103" in (tmp_path / "a.py").read_text()


def test_changes_that_need_each_other_are_not_made_alone(tmp_path: Path) -> None:
    text = (
        "from torch import cuda\n\n\ndef wait():\n    x = 1\n    cuda.synchronize()\n    return x\n"
    )
    tree(tmp_path, {"a.py": text})
    run = invoke(tmp_path, "rewrite", "a.py", "-i", stdin=b"y\nn\n")
    assert run.code == 1
    assert "a.py: FL904 skipped: some of the changes need others that were left" in run.text
    assert (tmp_path / "a.py").read_text() == text
