"""``flmigrate init``: settings for the project at hand, and the hook."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from flmigrate.config import load_config
from tests.command_line import MOVE, PLAIN, contents, invoke, tree

NPU = "import torch_npu\n\nx = y.npu()\n"
OTHER = """\
default_stages: [pre-commit]
repos:
- repo: https://example.org/one
  rev: v1
  hooks:
  - id: one  # first

ci:
  skip: [one]
"""


def test_it_tells_what_it_found_and_writes_nothing_unasked(tmp_path: Path) -> None:
    files = {"pkg/__init__.py": "", "pkg/a.py": MOVE, "pkg/b.py": NPU, "run.py": "#!/bin/sh\n"}
    tree(tmp_path, files)
    before = contents(tmp_path)
    run = invoke(tmp_path, "init", stdin=b"n\nn\n")
    assert run.code == 0
    assert run.text.startswith(
        "4 Python files\n  cuda: named in 1\n  npu: named in 1\npackages: pkg\n"
    )
    assert "entry points: run.py\n" in run.text
    assert 'target = "fl"\n' in run.text
    assert contents(tmp_path) == before
    assert invoke(tmp_path, "init", stdin=b"").code == 1  # an answer is needed
    assert contents(tmp_path) == before


def test_settings_go_where_the_project_has_its_own(tmp_path: Path) -> None:
    tree(
        tmp_path,
        {"pyproject.toml": '[project]\nname = "x"', "a.py": NPU, "third_party/b.py": PLAIN},
    )
    assert invoke(tmp_path, "init", stdin=b"y\nn\n").code == 0
    text = (tmp_path / "pyproject.toml").read_text()
    assert text.startswith('[project]\nname = "x"\n\n[tool.flmigrate]\n')
    config = load_config(tmp_path)
    assert (config.target, config.exclude, config.canonical_vendor) == (
        "fl",
        ("third_party/",),
        "npu",
    )
    assert not (tmp_path / ".pre-commit-config.yaml").exists()


def test_without_a_pyproject_there_is_a_file_of_its_own(tmp_path: Path) -> None:
    tree(tmp_path, {"sub/a.py": MOVE})
    assert invoke(tmp_path, "init", "sub", "--yes").code == 0
    assert load_config(tmp_path / "sub").path == tmp_path / "sub" / "flmigrate.toml"
    hooks = yaml.safe_load((tmp_path / "sub" / ".pre-commit-config.yaml").read_text())
    assert hooks["repos"][0]["hooks"] == [{"id": "flmigrate-check"}]


def test_the_hook_joins_those_that_are_there(tmp_path: Path) -> None:
    tree(tmp_path, {"a.py": MOVE, ".pre-commit-config.yaml": OTHER})
    assert invoke(tmp_path, "init", "--yes").code == 0
    text = (tmp_path / ".pre-commit-config.yaml").read_text()
    data = yaml.safe_load(text)
    assert [repo["hooks"][0]["id"] for repo in data["repos"]] == ["one", "flmigrate-check"]
    assert data["ci"] == {"skip": ["one"]}
    assert "  - id: one  # first\n" in text


@pytest.mark.parametrize("content", ["repos: []\n", f"{OTHER}# flmigrate is coming\n"])
def test_a_list_that_it_does_not_understand_is_left(tmp_path: Path, content: str) -> None:
    tree(tmp_path, {"a.py": MOVE, ".pre-commit-config.yaml": content})
    run = invoke(tmp_path, "init", "--yes")
    assert "left as it is" in run.err
    assert (tmp_path / ".pre-commit-config.yaml").read_text() == content


def test_settings_that_are_there_stay(tmp_path: Path) -> None:
    tree(tmp_path, {"a.py": MOVE, "flmigrate.toml": ""})
    before = contents(tmp_path)
    run = invoke(tmp_path, "init", "--yes")
    assert (run.code, "has settings already" in run.err) == (2, True)
    assert contents(tmp_path) == before
    assert invoke(tmp_path, "init", "gone").code == 2
