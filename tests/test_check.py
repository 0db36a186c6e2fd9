"""``flmigrate check``: findings, their form, counts and exit codes; and the library's functions."""

from __future__ import annotations

from pathlib import Path

import pytest

from flmigrate import check_paths, check_source
from flmigrate.checking import counts
from flmigrate.config import Config
from flmigrate.migration import for_a_human
from flmigrate.runner import Job, rewrite_files
from tests.command_line import ASK, MOVE, MOVED, PLAIN, contents, flmigrate, invoke, tree
from tests.corpus_cases import Case, load_cases

HOOKED = """\
import torch
# torch.cuda.set_rng_state is mirrored below
y = torch.cuda.device_count()  # flmigrate: ignore[FL101] CI job


def put(x):
    return x.cuda()
"""


def lines_found(text: str) -> list[int]:
    """The lines on which something counts."""
    return sorted({finding.line for finding in check_source(text) if counts(finding)})


# --- the command ---------------------------------------------------------------------------


def test_each_finding_is_one_line_and_nothing_is_written(tmp_path: Path) -> None:
    tree(tmp_path, {"a.py": MOVE + ASK, "sub/b.py": MOVE, "c.py": PLAIN})
    before = contents(tmp_path)
    run = flmigrate(tmp_path, "check", ".")
    assert run.code == 1
    first, second, third = run.text.splitlines()
    assert (
        first == 'a.py:5:25: FL106 [*] .cuda() moves to the device of one vendor; use .to("flagos")'
    )
    assert second.startswith("a.py:10:12: FL103 Torch-FL has no torch.cuda.mem_get_info: ")
    assert third.startswith("sub/b.py:5:25: FL106 [*] ")
    assert run.err == "3 findings in 2 files of 3; 2 [*] fixed by `flmigrate rewrite`\n"
    assert contents(tmp_path) == before


def test_a_project_without_vendor_code_passes(tmp_path: Path) -> None:
    tree(tmp_path, {"a.py": PLAIN, "b.py": MOVED})
    run = flmigrate(tmp_path, "check", ".")
    assert (run.code, run.text, run.err) == (0, "", "no findings in 2 files\n")


def test_quiet_says_nothing_and_exit_zero_blocks_nothing(tmp_path: Path) -> None:
    tree(tmp_path, {"a.py": MOVE})
    assert invoke(tmp_path, "check", "a.py", "--quiet").said == ""
    assert invoke(tmp_path, "check", "a.py", "--quiet").code == 1
    assert invoke(tmp_path, "check", "a.py", "--exit-zero").code == 0


def test_statistics_count_by_rule(tmp_path: Path) -> None:
    tree(tmp_path, {"a.py": MOVE + ASK, "b.py": MOVE})
    run = invoke(tmp_path, "check", ".", "--statistics")
    assert run.text.splitlines() == ["2  FL106  [*] device-method", "1  FL103  [ ] no-equivalent"]
    assert run.code == 1


def test_remarks_are_shown_on_request_and_never_count(tmp_path: Path) -> None:
    tree(
        tmp_path, {"a.py": 'import os\nimport torch\n\nos.environ["CUDA_VISIBLE_DEVICES"] = "0"\n'}
    )
    run = invoke(tmp_path, "check", "a.py")
    assert (run.code, run.text) == (0, "")
    run = invoke(tmp_path, "check", "a.py", "--verbose")
    assert run.code == 0
    assert "a.py:4:12: FL116 " in run.text


def test_standard_input_is_checked_under_its_name(tmp_path: Path) -> None:
    tree(tmp_path, {"flmigrate.toml": 'per-file-ignores = { "tools/**" = ["FL106"] }\n'})
    run = flmigrate(tmp_path, "check", "-", "--stdin-filename", "src/a.py", stdin=MOVE.encode())
    assert run.code == 1
    assert run.text.startswith("src/a.py:5:25: FL106 ")
    run = flmigrate(tmp_path, "check", "-", "--stdin-filename", "tools/a.py", stdin=MOVE.encode())
    assert (run.code, run.text) == (0, "")


def test_settings_and_options_are_those_of_rewrite(tmp_path: Path) -> None:
    tree(tmp_path, {"pyproject.toml": '[tool.flmigrate]\nignore = ["FL103"]\n'})
    tree(tmp_path, {"a.py": MOVE + ASK, "third_party/b.py": MOVE})
    run = invoke(tmp_path, "check", ".", "--exclude", "third_party/")
    assert [line.split()[1] for line in run.text.splitlines()] == ["FL106"]
    run = invoke(tmp_path, "check", ".", "--select", "FL2")
    assert (run.code, run.text) == (0, "")
    run = invoke(tmp_path, "check", ".", "--select", "FL106", "--target", "accelerator")
    assert "use .to(torch.accelerator.current_accelerator())" in run.text


def test_allowed_files_may_hold_vendor_code(tmp_path: Path) -> None:
    tree(tmp_path, {"pyproject.toml": '[tool.flmigrate.check]\nallow = ["pkg/platform/**"]\n'})
    other = MOVE.replace(".cuda()", ".npu()")
    tree(tmp_path, {"pkg/platform/a.py": MOVE, "pkg/platform/b/c.py": other, "pkg/d.py": other})
    tree(tmp_path, {"pkg/platform/old.py": "print torch.cuda\n"})
    run = invoke(tmp_path, "check", ".")
    found = [line.split(" ")[0] for line in run.text.splitlines()]
    assert found == ["pkg/platform/old.py:1:1:", "pkg/d.py:5:25:"]
    # rewrite is not held back: a platform layer is left alone with "exclude".
    assert "+++ b/pkg/platform/a.py" in invoke(tmp_path, "rewrite", ".", "--diff").text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Missing argument"),
        (["a.py", "--select", "FL7X"], 'unknown rule code "FL7X"'),
        (["a.py", "-"], "'-' stands alone"),
        (["a.py", "--target", "no-such"], "no-such"),
        (["a.py", "--diff"], "No such option"),
    ],
)
def test_a_wrong_call_gives_exit_code_2(tmp_path: Path, arguments: list[str], said: str) -> None:
    tree(tmp_path, {"a.py": MOVE})
    run = invoke(tmp_path, "check", *arguments)
    assert run.code == 2
    assert said in run.err


def test_what_cannot_be_read_is_named_and_fails_the_check(tmp_path: Path) -> None:
    tree(tmp_path, {"old.py": 'print "x".cuda\n', "bytes.py": b"x = '\xe9'.cuda\n", "a.py": PLAIN})
    run = invoke(tmp_path, "check", ".", "gone.py")
    assert run.code == 1
    places = [line.partition(" ")[0] + " " + line.split()[1] for line in run.text.splitlines()]
    assert places == ["gone.py:1:1: FL903", "bytes.py:1:1: FL901", "old.py:1:1: FL902"]


def test_processes_find_the_same(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {f"p/m{n}.py": MOVE + ASK for n in range(40)}
    files["p/large.py"] = "x = 1\n" * 300_000
    tree(tmp_path, files)
    alone = flmigrate(tmp_path, "check", ".", "-j", "1")
    assert len(alone.text.splitlines()) == 80
    assert flmigrate(tmp_path, "check", ".", "-j", "2") == alone


# --- what is found -------------------------------------------------------------------------


def test_comments_and_plain_strings_never_fire() -> None:
    assert (
        lines_found(
            "x = 1  # .cuda() is not allowed here\ns = 'please call torch.cuda.synchronize()'\n"
        )
        == []
    )
    assert lines_found(HOOKED) == [7]


def test_aliases_and_look_ups_are_seen_and_their_imports_not_repeated() -> None:
    text = "from torch import cuda\nimport torch as t\nt.cuda.empty_cache()\ncuda.empty_cache()\n"
    text += 'getattr(t, "cuda").empty_cache()\n'
    assert lines_found(text) == [3, 4, 5]


def test_an_import_without_reported_uses_is_reported_itself() -> None:
    assert lines_found("from torch.cuda.amp import autocast\n") == [1]
    used = "from torch.cuda.amp import autocast\n\nwith autocast():\n    pass\n"
    assert lines_found(used) == [3]
    silenced = used.replace("autocast():", "autocast():  # flmigrate: ignore[FL101] legacy")
    assert lines_found(silenced) == [1]


def test_a_skip_condition_is_a_vendor_branch_too() -> None:
    text = (
        "import pytest, torch\n\n@pytest.mark.skipif(not torch.cuda.is_available(), reason='x')\n"
    )
    text += "def test_new():\n    assert torch.ones(1).cuda().sum() == 1\n"
    assert lines_found(text) == [3, 5]


def test_the_target_import_is_asked_for_only_where_the_target_is_used() -> None:
    script = 'import torch\n\nif __name__ == "__main__":\n    print(torch.ones(1, device="{}"))\n'
    assert [f.code for f in check_source(script.format("cuda"))] == ["FL105"]
    assert [f.code for f in check_source(script.format("flagos"))] == ["FL301"]


# What only unsafe fixes change is left for a human by default.
@pytest.mark.parametrize(
    "case", [case for case in load_cases() if not case.options.unsafe_fixes], ids=lambda c: c.id
)
def test_check_finds_something_exactly_where_rewrite_has_work(case: Case, tmp_path: Path) -> None:
    tree(tmp_path, {file.path: file.before for file in case.files})
    files = sorted(path for path in tmp_path.rglob("*") if path.is_file())
    config = Config(root=tmp_path, target=case.options.target, import_in="none")
    rewritten = list(rewrite_files(files, Job(config, notes=False)))
    checked = list(rewrite_files(files, Job(config, check_only=True)))
    for result, found in zip(rewritten, checked, strict=True):
        work = result.after != result.before or any(map(for_a_human, result.left))
        assert any(map(counts, found.left)) == work, result.path
        assert (found.reason is None) == (result.reason is None), result.path


# --- the library ---------------------------------------------------------------------------


def test_check_paths_gives_results_by_file(tmp_path: Path) -> None:
    tree(tmp_path, {"a.py": MOVE + ASK, "b.py": PLAIN})
    checked = check_paths([tmp_path])
    assert not checked.is_clean
    assert [(Path(path).name, f.code) for path, f in checked.findings] == [
        ("a.py", "FL106"),
        ("a.py", "FL103"),
    ]
    assert checked.counts == {"FL106": 1, "FL103": 1}
    assert check_paths([tmp_path / "b.py"]).is_clean


def test_check_source_refuses_what_does_not_parse() -> None:
    with pytest.raises(SyntaxError, match="does not parse"):
        check_source("torch.cuda(\n")
