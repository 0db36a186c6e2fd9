"""``check --staged`` and ``check --diff-base``: only what is new counts, as git tells."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import MOVE, PLAIN, flmigrate, git, invoke, repository, tree

OLD = "import torch\n\n\ndef f(x, device):\n" + "    x = x.cuda()\n" * 40 + "    return x\n"


def places(text: str) -> list[str]:
    """``file:line`` of each finding."""
    return [":".join(line.split(":")[:2]) for line in text.splitlines()]


def stage(root: Path, **files: str) -> None:
    """Write files (a name without ``.py``) and add them to the index."""
    tree(root, {f"{name}.py": text for name, text in files.items()})
    git(root, "add", "-A")


# --- staged --------------------------------------------------------------------------------


def test_one_added_line_does_not_pull_in_its_file(tmp_path: Path) -> None:
    root = repository(tmp_path, {"a.py": OLD})
    stage(root, a=OLD.replace("    return x\n", "    y = x.cuda()\n    return x\n"))
    run = flmigrate(root, "check", "--staged", "a.py")
    assert run.code == 1
    assert places(run.text) == ["a.py:45"]


def test_an_edited_line_counts_and_its_neighbours_do_not(tmp_path: Path) -> None:
    root = repository(tmp_path, {"a.py": OLD})
    lines = OLD.splitlines(keepends=True)
    lines[9] = '    x = x.to("cuda")\n'
    stage(root, a="".join(lines))
    assert places(flmigrate(root, "check", "--staged").text) == ["a.py:10"]


def test_a_commit_that_touches_other_lines_passes(tmp_path: Path) -> None:
    root = repository(tmp_path, {"a.py": OLD})
    stage(root, a=OLD.replace("return x", "return x + 1"), b=PLAIN)
    run = flmigrate(root, "check", "--staged")
    assert (run.code, run.text) == (0, "")


def test_renamed_moved_and_indented_code_is_not_new(tmp_path: Path) -> None:
    move = "def put(x):\n    if x:\n        pass\n    return torch.relu(x.cuda())\n"
    root = repository(tmp_path, {"a.py": OLD, "b.py": f"import torch\n\n\n{move}"})
    git(root, "mv", "a.py", "renamed.py")
    (root / "b.py").write_text("import torch\n")
    indented = "".join(f"    {line}" for line in move.splitlines(keepends=True))
    stage(root, c=f"import torch\n\n\nclass A:\n{indented}")
    run = flmigrate(root, "check", "--staged")
    assert (run.code, run.text) == (0, "")


def test_a_copy_of_old_code_is_new(tmp_path: Path) -> None:
    root = repository(tmp_path, {"a.py": MOVE})
    stage(root, b=MOVE)
    assert places(flmigrate(root, "check", "--staged").text) == ["b.py:5"]


def test_a_partially_staged_file_is_read_from_the_index(tmp_path: Path) -> None:
    root = repository(tmp_path, {"a.py": PLAIN})
    stage(root, a="import torch\n\ny = torch.ones(1).cuda()\n")
    tree(root, {"a.py": "# not staged\nz = torch.ones(1).cuda(\n"})
    assert places(flmigrate(root, "check", "--staged").text) == ["a.py:3"]
    (root / "a.py").unlink()
    assert places(flmigrate(root, "check", "--staged").text) == ["a.py:3"]


def test_changes_that_are_not_staged_play_no_part(tmp_path: Path) -> None:
    root = repository(tmp_path, {"a.py": PLAIN})
    tree(root, {"a.py": MOVE, "new.py": MOVE})
    assert flmigrate(root, "check", "--staged").code == 0


def test_the_first_commit_of_a_repository(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    stage(tmp_path, a=MOVE)
    assert places(flmigrate(tmp_path, "check", "--staged").text) == ["a.py:5"]


def test_the_index_of_git_commit_with_files_is_the_one_that_counts(tmp_path: Path) -> None:
    root = repository(tmp_path, {"a.py": PLAIN, "b.py": PLAIN})
    tree(root, {"a.py": MOVE, "b.py": MOVE})
    index = root / "other-index"
    index.write_bytes((root / ".git" / "index").read_bytes())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GIT_INDEX_FILE", str(index))
        git(root, "add", "a.py")
    variables = {"GIT_INDEX_FILE": str(index)}
    run = flmigrate(root, "check", "--staged", variables=variables)
    assert places(run.text) == ["a.py:5"]
    other = repository(tmp_path / "other", {"c.py": PLAIN})
    stage(other, c=MOVE)
    elsewhere = {**variables, "GIT_DIR": str(root / ".git"), "GIT_WORK_TREE": str(root)}
    run = flmigrate(tmp_path, "check", "--staged", "other", variables=elsewhere)
    assert places(run.text) == ["other/c.py:5"]


def test_two_commits_that_pre_commit_compares(tmp_path: Path) -> None:
    root = repository(tmp_path, {"a.py": OLD})
    first = git(root, "rev-parse", "HEAD").decode().strip()
    stage(root, a=OLD + "\n\ny = torch.ones(1).cuda()\n")
    git(root, "commit", "-qm", "m")
    last = git(root, "rev-parse", "HEAD").decode().strip()
    tree(root, {"a.py": PLAIN})
    variables = {"PRE_COMMIT_FROM_REF": first, "PRE_COMMIT_TO_REF": last}
    run = flmigrate(root, "check", "--staged", variables=variables)
    assert places(run.text) == ["a.py:48"]


def test_names_that_git_quotes(tmp_path: Path) -> None:
    names = ["with space.py", "naïve.py", 'quo"te.py', "a\\b.py", "tab\t.py", "sub/[x]*.py"]
    root = repository(tmp_path, dict.fromkeys(names, PLAIN))
    for name in names:
        tree(root, {name: MOVE})
    git(root, "add", "-A")
    run = flmigrate(root, "check", "--staged")
    found = sorted(line.rsplit(":5:", 1)[0] for line in run.text.splitlines())
    assert found == sorted(names)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("diff.noprefix", "true"),
        ("diff.mnemonicPrefix", "true"),
        ("color.ui", "always"),
        ("diff.external", "false"),
        ("diff.renames", "false"),
        ("core.quotePath", "false"),
        ("diff.context", "7"),
        ("diff.interHunkContext", "9"),
        ("diff.algorithm", "patience"),
    ],
)
def test_settings_of_git_change_nothing(tmp_path: Path, key: str, value: str) -> None:
    root = repository(tmp_path, {"é.py": OLD, "b.py": PLAIN + OLD})
    git(root, "config", key, value)
    git(root, "mv", "b.py", "c.py")
    stage(root, é=f"y = 1\n{OLD}y = torch.ones(1).cuda()\n")
    assert places(flmigrate(root, "check", "--staged").text) == ["é.py:47"]


def test_line_ends_of_other_systems(tmp_path: Path) -> None:
    root = repository(tmp_path, {"crlf.py": OLD.replace("\n", "\r\n"), "cr.py": "x = 1\n"})
    more = OLD.replace("    return x\n", "    y = x.cuda()\n    return x\n")
    tree(root, {"crlf.py": more.replace("\n", "\r\n").encode(), "cr.py": MOVE.replace("\n", "\r")})
    git(root, "add", "-A")
    assert places(flmigrate(root, "check", "--staged").text) == ["cr.py:5", "crlf.py:45"]


def test_paths_and_settings_choose_among_the_files(tmp_path: Path) -> None:
    root = repository(tmp_path, {"pyproject.toml": '[tool.flmigrate]\nexclude = ["gen/"]\n'})
    names = ["a.py", "src/b.py", "src/x.txt", "gen/c.py", "build/d.py", "src/k.cpp"]
    tree(root, dict.fromkeys(names, MOVE))
    git(root, "add", "-Af")
    assert places(flmigrate(root, "check", "--staged").text) == ["a.py:5", "src/b.py:5"]
    assert places(flmigrate(root, "check", "--staged", "src").text) == ["src/b.py:5"]
    assert places(flmigrate(root, "check", "--staged", "gen/c.py").text) == ["gen/c.py:5"]
    assert places(flmigrate(root, "check", "--staged", "gen").text) == ["gen/c.py:5"]
    here = flmigrate(root / "src", "check", "--staged")
    assert sorted(places(here.text)) == [f"{root}/a.py:5", "b.py:5"]


def test_a_link_is_not_read(tmp_path: Path) -> None:
    root = repository(tmp_path, {"a.py": MOVE})
    (root / "link.py").symlink_to("a.py")
    git(root, "add", "-A")
    assert flmigrate(root, "check", "--staged").code == 0


# --- since a commit ------------------------------------------------------------------------


def test_what_a_branch_adds(tmp_path: Path) -> None:
    root = repository(tmp_path, {"a.py": OLD, "b.py": PLAIN})
    git(root, "branch", "-M", "main")
    git(root, "checkout", "-q", "-b", "topic")
    stage(root, a=OLD.replace("    return x\n", "    y = x.cuda()\n    return x\n"))
    git(root, "commit", "-qm", "m")
    git(root, "checkout", "-q", "main")
    stage(root, b=MOVE)  # what main adds meanwhile is not the branch's
    git(root, "commit", "-qm", "m")
    git(root, "checkout", "-q", "topic")
    tree(root, {"new.py": MOVE, "ignored.py": MOVE, ".gitignore": "ignored.py\n"})
    run = flmigrate(root, "check", "--diff-base", "main")
    assert run.code == 1
    assert places(run.text) == ["a.py:45", "new.py:5"]
    assert places(flmigrate(root, "check", "--diff-base", "HEAD").text) == ["new.py:5"]


@pytest.mark.parametrize("ref", ["no-such", "--output=x", "HEAD~9"])
def test_a_base_that_git_does_not_know(tmp_path: Path, ref: str) -> None:
    root = repository(tmp_path, {"a.py": OLD})
    run = flmigrate(root, "check", "--diff-base", ref)
    assert run.code == 2
    assert f'git knows no commit "{ref}"' in run.err
    assert not (root / "x").exists()


def test_a_base_without_common_history(tmp_path: Path) -> None:
    root = repository(tmp_path, {"a.py": OLD})
    git(root, "branch", "old")
    git(root, "checkout", "-q", "--orphan", "other")
    git(root, "commit", "-qm", "another root")
    run = flmigrate(root, "check", "--diff-base", "old")
    assert run.code == 2
    assert "no common ancestor here (is the clone shallow?)" in run.err


def test_outside_of_a_repository(tmp_path: Path) -> None:
    tree(tmp_path, {"a.py": MOVE})
    run = flmigrate(tmp_path, "check", "--staged", "a.py")
    assert run.code == 2
    assert "a.py: not in a git repository" in run.err


def test_the_options_exclude_each_other(tmp_path: Path) -> None:
    run = invoke(tmp_path, "check", "--staged", "--diff-base", "HEAD")
    assert (run.code, "exclude each other" in run.err) == (2, True)
    run = invoke(tmp_path, "check", "-", "--staged")
    assert (run.code, "stands alone" in run.err) == (2, True)


def test_a_check_without_paths_needs_to_be_told_what_is_new(tmp_path: Path) -> None:
    run = invoke(tmp_path, "check")
    assert (run.code, "Missing argument" in run.err) == (2, True)
