"""``flmigrate explain FILE:LINE``: what a condition asks, by which facts, and what follows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import flmigrate, tree

FILES = {
    "env.py": "import torch\n\n\ndef is_npu():\n    return hasattr(torch, 'npu')\n",
    "train.py": (
        "import torch\nfrom env import is_npu\n\nON_NPU = is_npu()\n\n\n"
        "def f(x, args):\n"
        "    if ON_NPU and x.is_cuda:\n        return 2\n"
        "    if args.fast:\n        return 3\n"
        "    return 4 if torch.backends.mps.is_available() else 5\n"
    ),
}


def test_a_flag_is_followed_to_its_definition_in_another_file(tmp_path: Path) -> None:
    tree(tmp_path, FILES)
    told = flmigrate(tmp_path, "explain", "train.py:8")
    assert told.code == 0
    assert "ON_NPU asks: vendor that the target serves (npu)" in told.text
    assert "set to is_npu() (line 4)" in told.text
    assert "env.py:4" in told.text
    assert "looks for torch.npu" in told.text
    assert "x.is_cuda asks: accelerator or CPU (cuda)" in told.text
    assert "the condition is false on the target" in told.text
    assert "FL201: what runs for npu alone goes" in told.text
    assert "[safe fix]" in told.text


def test_what_is_open_says_so(tmp_path: Path) -> None:
    tree(tmp_path, FILES)
    option = flmigrate(tmp_path, "explain", "train.py:10").text
    assert "args.fast asks: user option" in option
    assert "args.fast is a user's option" in option
    assert "the condition is open" in option
    mps = flmigrate(tmp_path, "explain", "train.py:12").text
    assert "asks: vendor that the target does not serve (mps)" in mps
    dropped = flmigrate(tmp_path, "explain", "train.py:12", "--drop-vendor", "mps").text
    assert "the condition is false on the target" in dropped


def test_a_line_without_a_condition(tmp_path: Path) -> None:
    tree(tmp_path, FILES)
    told = flmigrate(tmp_path, "explain", "train.py:9")
    assert (told.code, told.err.strip()) == (1, "train.py:9: no condition stands here")


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("train.py", "'train.py' is not FILE:LINE"),
        ("train.py:99", "has no line 99"),
        ("none.py:1", "none.py"),
        ("broken.py:1", "cannot be read as Python 3"),
    ],
)
def test_a_place_that_is_none(tmp_path: Path, place: str, message: str) -> None:
    tree(tmp_path, {**FILES, "broken.py": "def (:\n"})
    told = flmigrate(tmp_path, "explain", place)
    assert told.code == 2
    assert message in told.err
    assert "Traceback" not in told.err
