"""Which names of a module other files use, on disk and in a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from flmigrate import rewrite_paths, rewrite_source
from flmigrate.analysis.neighbours import Neighbours
from tests.command_line import tree

NAMES = frozenset({"_flag", "LIMIT", "probe"})


def used(tmp_path: Path, users: dict[str, str], own: str = "pkg/mod.py") -> frozenset[str]:
    """The ``NAMES`` of the file ``own`` that the others use; none of them is part of a run."""
    tree(tmp_path, {"pkg/__init__.py": "", own: "", **users})
    around = Neighbours([tmp_path / own], lambda path: path.read_text("utf-8"))
    return around.used(tmp_path / own, NAMES, NAMES - {"probe"})


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("from pkg.mod import _flag\n", {"_flag"}),
        ("from ..mod import _flag as f, LIMIT\n", {"_flag", "LIMIT"}),
        ("from .. import mod\nmod.LIMIT\n", {"LIMIT"}),
        ("from .. import mod as m\nm.LIMIT\n", {"LIMIT"}),
        ("import pkg.mod\npkg.mod.LIMIT\n", {"LIMIT"}),
        ("import pkg.mod as m\nm.LIMIT = 1\n", {"LIMIT"}),
        ("from ..mod import *\n", {"LIMIT", "probe"}),
        ("def f():\n    from pkg.mod import probe\n", {"probe"}),
        ("patch('pkg.mod.probe')\n", {"probe"}),
        ("import pkg.mod\ngetattr(pkg.mod, '_flag')\n", {"_flag"}),
        ("names = {'mod': ['LIMIT', 'probe']}\n", {"LIMIT"}),  # a file may import a probe itself
        ("from mod import LIMIT\n", {"LIMIT"}),
        ("from .mod import LIMIT\n", set()),  # pkg.sub.mod
        ("from pkg.sub.mod import *\n", set()),
        ("'mod: _flag and LIMIT'\n", set()),
        ("from .mod import (\n", set()),
        ("from .mod import _flag (\n", {"_flag"}),
        ("from other import _flag, LIMIT, probe\nimport pkg.mod\n", set()),
        ("_flag = LIMIT = probe = 1\n", set()),
        ("import pkg.mod\nother.LIMIT\n", set()),
    ],
)
def test_uses(tmp_path: Path, text: str, names: set[str]) -> None:
    assert used(tmp_path, {"pkg/sub/__init__.py": "", "pkg/sub/user.py": text}) == names


def test_the_names_of_a_package_are_used_through_the_package(tmp_path: Path) -> None:
    users = {"pkg/sub/user.py": "from pkg.sub import LIMIT\n"}
    assert used(tmp_path, users, own="pkg/sub/__init__.py") == {"LIMIT"}


def test_a_script_is_used_by_the_files_beside_it(tmp_path: Path) -> None:
    users = {"tools/user.py": "from mod import LIMIT\n", "other/user.py": "from mod import probe\n"}
    assert used(tmp_path, users, own="tools/mod.py") == {"LIMIT"}


ARM = """\
import torch
from probes import probe

LIMIT = 1
_flag = 2

def pick():
    if torch.npu.is_available():
        kind = (LIMIT, _flag, probe)
    else:
        kind = torch.cuda.current_device()
    return kind
"""


def test_a_run_over_one_file_asks_the_package(tmp_path: Path) -> None:
    user = "from pkg.mod import _flag, pick\n"
    tree(tmp_path, {"pkg/__init__.py": "", "pkg/mod.py": ARM, "pkg/user.py": user})
    [result] = rewrite_paths([tmp_path / "pkg" / "mod.py"]).results
    assert "_flag = 2" in result.after
    assert "LIMIT" not in result.after
    assert "probe" not in result.after


def test_without_a_project_public_names_stay() -> None:
    after = rewrite_source(ARM, import_in="none").after
    assert "LIMIT = 1" in after
    assert "_flag" not in after
    assert "probe" not in after


def test_without_a_project_a_package_keeps_its_imports() -> None:
    after = rewrite_source(ARM, path="lib/__init__.py", import_in="none").after
    assert "from probes import probe" in after
    assert "_flag" not in after


def test_a_run_inside_the_package_asks_it_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = "from pkg.mod import _flag, pick\n"
    tree(tmp_path, {"pkg/__init__.py": "", "pkg/mod.py": ARM, "pkg/user.py": user})
    monkeypatch.chdir(tmp_path / "pkg")
    [result] = rewrite_paths([Path("mod.py")]).results
    assert "_flag = 2" in result.after
    assert "LIMIT" not in result.after


def test_a_word_of_any_kind_mentions_a_name(tmp_path: Path) -> None:
    files = {"pkg/__init__.py": "", "pkg/mod.py": "LIMIT", "pkg/a.py": "# about _flag\n"}
    tree(tmp_path, {**files, "pkg/sub/b.py": "x = 'probes'\n", "other/c.py": "probe = 1\n"})
    around = Neighbours([tmp_path / "pkg/mod.py"], lambda path: path.read_text("utf-8"))
    assert around.mentioned(tmp_path / "pkg/mod.py", NAMES) == {"_flag"}
