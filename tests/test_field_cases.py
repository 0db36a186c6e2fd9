"""Cases of the field study on hooks and diffs that are more than one file before and after.

Those about a single rewritten file are in the corpus under the same names (PC-005, DQ-002, ...).
"""

from __future__ import annotations

import ast
import json
from pathlib import Path

from tests.command_line import ASK, MOVE, flmigrate, git, invoke, repository, tree


def lines(text: str) -> list[int]:
    """The line of each finding of one file."""
    return [int(line.split(":")[1]) for line in text.splitlines()]


def test_pc_001_one_added_line_among_forty_old_ones(tmp_path: Path) -> None:
    old = "import torch\n\n\ndef f(x):\n" + "    x = x.cuda()\n" * 40 + "    return x\n"
    root = repository(tmp_path, {"a.py": old})
    tree(root, {"a.py": old.replace("    return x\n", "    x = x.cuda()\n    return x\n")})
    git(root, "add", "-A")
    run = flmigrate(root, "check", "--staged")
    assert (run.code, lines(run.text)) == (1, [45])


def test_pc_002_comments_never_fire_and_a_marker_with_a_reason_silences(tmp_path: Path) -> None:
    text = (
        "import torch\n"
        "# torch.cuda.set_rng_state is mirrored below\n"
        "y = torch.cuda.device_count()  # flmigrate: ignore[FL101] CI helper\n"
        "z = x.cuda()\n"
    )
    tree(tmp_path, {"a.py": text})
    assert lines(invoke(tmp_path, "check", "a.py").text) == [4]


def test_pc_003_a_commit_of_other_languages_looks_at_no_file(tmp_path: Path) -> None:
    root = repository(tmp_path, {"old.py": MOVE})
    tree(root, {"csrc/a.cpp": "void torch_cuda();\n", "old.py": MOVE + "y = put(1).cuda()\n"})
    git(root, "add", "csrc/a.cpp")
    run = flmigrate(root, "check", "--staged")
    assert (run.code, run.text, run.err) == (0, "", "no findings in 0 files\n")


def test_pc_004_a_folder_may_hold_vendor_code_and_all_vendors_are_meant(tmp_path: Path) -> None:
    vendors = "import torch\n\n\ndef wait():\n" + "".join(
        f"    torch.{name}.synchronize()\n" for name in ("cuda", "npu", "musa", "tpu")
    )
    settings = '[tool.flmigrate.check]\nallow = ["lmcache/v1/platform/**"]\n'
    tree(
        tmp_path,
        {
            "pyproject.toml": settings,
            "lmcache/v1/platform/npu/a.py": vendors,
            "lmcache/v1/b.py": vendors,
        },
    )
    run = invoke(tmp_path, "check", "lmcache")
    assert {line.split(":")[0] for line in run.text.splitlines()} == {"lmcache/v1/b.py"}
    # No table knows torch.tpu: TPUs are reached through torch_xla.
    assert lines(run.text) == [5, 6, 7]


def test_pc_008_comments_and_plain_strings_hold_no_code(tmp_path: Path) -> None:
    text = 'x = 1  # .cuda() is not allowed here\ns = "please call torch.cuda.synchronize()"\n'
    tree(tmp_path, {"a.py": text})
    run = invoke(tmp_path, "check", "a.py", "--verbose")
    assert (run.code, run.text) == (0, "")


def test_pc_009_a_skip_decorator_is_a_vendor_branch_too(tmp_path: Path) -> None:
    text = (
        "import pytest, torch\n\n"
        '@pytest.mark.skipif(not torch.cuda.is_available(), reason="cuda")\n'
        "def test_new():\n"
        "    assert torch.ones(1).cuda().sum() == 1\n"
    )
    tree(tmp_path, {"test_a.py": text})
    assert lines(invoke(tmp_path, "check", "test_a.py").text) == [3, 5]


def test_dq_005_the_semicolon_at_the_end_of_a_cell_stays(tmp_path: Path) -> None:
    cell: dict[str, object] = {"cell_type": "code", "source": ["ax.plot(x.cuda().cpu());"]}
    cell |= {"outputs": [], "execution_count": None, "metadata": {}}
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    text = json.dumps(notebook, indent=1) + "\n"
    tree(tmp_path, {"a.ipynb": text})
    invoke(tmp_path, "rewrite", "a.ipynb", "--allow-dirty")
    assert (tmp_path / "a.ipynb").read_text() == text.replace("x.cuda()", 'x.to(\\"flagos\\")')


def test_dq_020_a_series_goes_from_mechanical_to_notes_and_parses_at_each_step(
    tmp_path: Path,
) -> None:
    branches = (
        "import torch\n\n\ndef f(x, device):\n"
        '    if device == "npu":\n        return x.npu()\n'
        '    elif device == "cuda":\n        return x.cuda()\n'
        "    return x\n"
    )
    files = {"a.py": MOVE, "b.py": branches, "c.py": ASK}
    root = repository(tmp_path, files)
    invoke(root, "rewrite", ".", "--patch-dir", "../series")
    changed = []
    for patch in sorted((root / "../series").resolve().iterdir()):
        git(root, "am", "-q", str(patch))
        changed.append(git(root, "diff", "--name-only", "HEAD~1").decode().split())
        for name in files:
            ast.parse((root / name).read_text())
    assert changed == [["a.py"], ["b.py"], ["c.py"]]  # names, branches, notes
    made = {name: (root / name).read_text() for name in files}
    git(root, "checkout", "-q", "HEAD~3")
    invoke(root, "rewrite", ".")
    assert {name: (root / name).read_text() for name in files} == made


def test_dq_024_each_edit_and_each_place_left_has_a_place_a_rule_and_a_reason(
    tmp_path: Path,
) -> None:
    text = (
        "import torch\n\n\ndef f(x, kind):\n"
        '    y = x.cuda(), torch.cuda.mem_get_info(), g("cuda")\n'
        '    return y if kind == "cuda" else torch.version.cuda\n'
    )
    tree(tmp_path, {"a.py": text})
    run = invoke(tmp_path, "rewrite", "a.py", "--patch", "x.patch", "--format", "json")
    found = json.loads(run.text)["findings"]
    assert {"FL103", "FL106", "FL109"} <= {finding["code"] for finding in found}
    assert {finding["status"] for finding in found} >= {"fixed", "left"}
    for finding in found:
        assert finding["path"] == "a.py"
        assert finding["start"]["line"] >= 1
        assert finding["start"]["column"] >= 1
        assert finding["message"]
