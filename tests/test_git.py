"""Which files have changes that git could not bring back."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

from flmigrate.git import GitError, dirty_files, repository_root

IDENTITY = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]


def git(folder: Path, *arguments: str) -> None:
    command = ["git", *IDENTITY, "-c", "protocol.file.allow=always", *arguments]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def repository(folder: Path, files: Iterable[str]) -> Path:
    """A repository in which all the files are committed."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q")
    for name in files:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x = 1\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", "start")
    return folder


def test_the_repository_is_the_innermost_one(tmp_path: Path) -> None:
    outer = repository(tmp_path / "outer", ["a/b/c.py"])
    inner = repository(outer / "inner", ["x.py"])
    assert repository_root(outer / "a" / "b" / "c.py") == outer
    assert repository_root(outer) == outer
    assert repository_root(inner / "x.py") == inner
    assert repository_root(inner / "not" / "there.py") == inner
    assert repository_root(tmp_path) is None
    (tmp_path / "link.py").symlink_to("outer/inner/x.py")
    assert repository_root(tmp_path / "link.py") == inner
    (tmp_path / "outer" / "a" / ".git").mkdir()  # git does not take an empty one either
    assert repository_root(outer / "a" / "b") == outer


def test_clean_files_are_not_dirty(tmp_path: Path) -> None:
    root = repository(tmp_path, ["a.py", "b/c.py"])
    assert dirty_files([root / "a.py", root / "b" / "c.py"]) == set()
    assert dirty_files([]) == set()


def test_every_kind_of_change(tmp_path: Path) -> None:
    names = ["clean.py", "modified.py", "staged.py", "both.py", "old.py", "pkg/inner.py"]
    root = repository(tmp_path, names)
    (root / "modified.py").write_text("x = 2\n")
    (root / "staged.py").write_text("x = 2\n")
    git(root, "add", "staged.py")
    (root / "both.py").write_text("x = 2\n")
    git(root, "add", "both.py")
    (root / "both.py").write_text("x = 1\n")  # as committed, but the index has more
    (root / "added.py").write_text("")
    git(root, "add", "added.py")
    git(root, "mv", "old.py", "renamed.py")
    (root / "untracked.py").write_text("")
    (root / "new").mkdir()
    (root / "new" / "untracked.py").write_text("")
    (root / "pkg" / "inner.py").write_text("x = 3\n")
    everything = set(root.rglob("*.py"))
    assert dirty_files(everything) == everything - {root / "clean.py"}
    assert dirty_files([root / "clean.py", root / "added.py"]) == {root / "added.py"}


def test_a_conflict_is_dirty(tmp_path: Path) -> None:
    root = repository(tmp_path, ["a.py"])
    git(root, "checkout", "-qb", "mine")
    (root / "a.py").write_text("x = 2\n")
    git(root, "commit", "-qam", "mine")
    git(root, "checkout", "-qb", "theirs", "HEAD~1")
    (root / "a.py").write_text("x = 3\n")
    git(root, "commit", "-qam", "theirs")
    with pytest.raises(subprocess.CalledProcessError):
        git(root, "merge", "mine")
    assert dirty_files([root / "a.py"]) == {root / "a.py"}


def test_a_changed_mode_is_dirty(tmp_path: Path) -> None:
    root = repository(tmp_path, ["a.py"])
    (root / "a.py").chmod(0o755)
    assert dirty_files([root / "a.py"]) == {root / "a.py"}


def test_a_new_time_stamp_is_not_a_change(tmp_path: Path) -> None:
    root = repository(tmp_path, ["a.py"])
    os.utime(root / "a.py", (1, 1))
    index = (root / ".git" / "index").read_bytes()
    assert dirty_files([root / "a.py"]) == set()
    assert (root / ".git" / "index").read_bytes() == index


def test_ignored_files_are_not_dirty(tmp_path: Path) -> None:
    root = repository(tmp_path, ["a.py"])
    (root / ".git" / "info" / "exclude").write_text("generated.py\n")
    (root / "generated.py").write_text("")
    assert dirty_files([root / "generated.py"]) == set()


def test_everything_in_a_repository_without_a_commit_is_dirty(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "a.py").write_text("")
    assert dirty_files([tmp_path / "a.py"]) == {tmp_path / "a.py"}


def test_odd_names(tmp_path: Path) -> None:
    names = ["a b.py", "模型/训练.py", "[x]*.py", ':"quoted".py', "-n.py", "tab\tand\nline.py"]
    names.append(os.fsdecode(b"latin-\xe9.py"))
    root = repository(tmp_path, [*names, "x.py"])
    for name in names:
        (root / name).write_text("x = 2\n")
    paths = {root / name for name in names}
    assert dirty_files([*paths, root / "x.py"]) == paths
    for path in paths:
        assert dirty_files([path]) == {path}


def test_paths_come_back_as_they_were_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = repository(tmp_path / "r", ["src/a.py"])
    (root / "src" / "a.py").write_text("")
    (tmp_path / "link").symlink_to("r/src")
    (tmp_path / "one.py").symlink_to("r/src/a.py")
    monkeypatch.chdir(root / "src")
    given = {Path("a.py"), Path("../src/a.py"), tmp_path / "link" / "a.py", tmp_path / "one.py"}
    assert dirty_files(given) == given


def test_several_repositories_and_none(tmp_path: Path) -> None:
    one = repository(tmp_path / "one", ["a.py"])
    two = repository(tmp_path / "two", ["a.py"])
    inner = repository(one / "inner", ["a.py", "b.py"])
    (tmp_path / "free.py").write_text("")
    for path in (two / "a.py", inner / "a.py"):
        path.write_text("x = 2\n")
    paths = [one / "a.py", two / "a.py", inner / "a.py", inner / "b.py", tmp_path / "free.py"]
    assert dirty_files(paths) == {two / "a.py", inner / "a.py"}


def test_worktrees_and_submodules(tmp_path: Path) -> None:
    main = repository(tmp_path / "main", ["a.py", "b.py"])
    library = repository(tmp_path / "library", ["l.py", "m.py"])
    git(main, "worktree", "add", "-q", str(tmp_path / "tree"))
    git(main, "submodule", "add", "-q", str(library), "sub")
    git(main, "commit", "-qm", "module")
    changed = [tmp_path / "tree" / "a.py", main / "sub" / "l.py"]
    for path in changed:
        path.write_text("x = 2\n")
    clean = [main / "a.py", tmp_path / "tree" / "b.py", main / "sub" / "m.py"]
    assert repository_root(main / "sub" / "l.py") == main / "sub"
    assert repository_root(tmp_path / "tree" / "b.py") == tmp_path / "tree"
    assert dirty_files([*changed, *clean]) == set(changed)


def test_inside_a_hook_of_another_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = repository(tmp_path / "one", ["a.py"])
    two = repository(tmp_path / "two", ["a.py"])
    (one / "a.py").write_text("x = 2\n")
    monkeypatch.setenv("GIT_DIR", str(two / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(two / ".git" / "index"))
    monkeypatch.setenv("GIT_WORK_TREE", str(two))
    assert dirty_files([one / "a.py", two / "a.py"]) == {one / "a.py"}


def test_no_program_of_the_repository_is_started(tmp_path: Path) -> None:
    root = repository(tmp_path, ["a.py"])
    git(root, "config", "core.fsmonitor", f"touch '{root}/started'; false")
    (root / "a.py").write_text("x = 2\n")
    assert dirty_files([root / "a.py"]) == {root / "a.py"}
    assert not (root / "started").exists()


def test_without_git_nothing_is_dirty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = repository(tmp_path, ["a.py"])
    (root / "a.py").write_text("x = 2\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert dirty_files([root / "a.py"]) == set()


def test_a_repository_that_git_refuses_is_named(tmp_path: Path) -> None:
    root = repository(tmp_path, ["a.py"])
    (root / ".git" / "config").write_text("[core\n")
    with pytest.raises(GitError, match=r"git status failed: bad config line 1") as caught:
        dirty_files([root / "a.py"])
    assert str(caught.value).startswith(str(root))
