"""What git knows about files: their repository, and whether a change could be lost.

The git command is asked, never a library; without it every file counts as clean.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

# Set while git runs a hook; they would point a question about one repository at another.
_REPOSITORY_VARIABLES = frozenset(
    {
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_PREFIX",
        "GIT_COMMON_DIR",
        "GIT_OBJECT_DIRECTORY",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_NAMESPACE",
    }
)


class GitError(Exception):
    """git is there but could not answer; the message names the repository and git's reason."""


def repository_root(path: Path) -> Path | None:
    """The folder of the innermost git repository or worktree that ``path`` lies in.

    Found by its ``.git`` (a folder, or a file in worktrees and submodules), links resolved,
    without running git. ``None`` outside any repository. ``path`` need not exist.
    """
    real = Path(os.path.realpath(path))
    return _root_of(real if real.is_dir() else real.parent, {})


def dirty_files(paths: Iterable[Path]) -> set[Path]:
    """Those of ``paths`` (files) whose present content git could not bring back.

    A file is dirty when it is tracked and differs from the last commit, staged or not, when
    it is in conflict, and when it is untracked in a repository and not ignored: no commit
    has it. Ignored files are not dirty: the project has declared them expendable. Files
    outside any repository are not dirty either; git protects nothing there, so there is
    nothing to ask for. A link stands for the file it leads to.

    One ``git status`` runs per repository; it takes no lock and starts no monitor. Raises
    ``GitError`` when git refuses to answer (a repository of another owner, a broken one).
    """
    by_root: dict[Path, dict[Path, list[Path]]] = {}
    roots: dict[Path, Path | None] = {}
    for path in paths:
        real = Path(os.path.realpath(path))
        root = _root_of(real.parent, roots)
        if root is not None:
            by_root.setdefault(root, {}).setdefault(real, []).append(path)
    dirty: set[Path] = set()
    for root, files in by_root.items():
        folder = os.path.commonpath([real.parent for real in files])
        for real in _uncommitted(root, folder):
            dirty.update(files.get(real, ()))
    return dirty


def _root_of(folder: Path, known: dict[Path, Path | None]) -> Path | None:
    """The repository that a real folder lies in; ``known`` remembers folders already asked."""
    asked: list[Path] = []
    root: Path | None = None
    for candidate in (folder, *folder.parents):
        if candidate in known:
            root = known[candidate]
            break
        asked.append(candidate)
        mark = candidate / ".git"
        if mark.is_file() or os.path.lexists(mark / "HEAD"):
            root = candidate
            break
    known.update(dict.fromkeys(asked, root))
    return root


def _uncommitted(root: Path, folder: str) -> list[Path]:
    """Real paths of the files below ``folder`` that git status lists."""
    command = ["--no-optional-locks", "--literal-pathspecs", "status", "--porcelain=v1", "-z"]
    command += ["--no-renames", "--untracked-files=all", "--ignore-submodules=all", "--", folder]
    try:
        answer = ask(root, *command)
    except FileNotFoundError:
        return []
    entries = os.fsdecode(answer).split("\0")
    # Each entry is two status letters, a space, and the path from the root.
    return [root / entry[3:] for entry in entries if entry]


def ask(root: Path, *arguments: str, data: bytes = b"", in_hook: bool = False) -> bytes:
    """What a git command says about the repository at ``root``; ``data`` is its input.

    With ``in_hook``, what git tells its hooks about the same repository is heeded: while
    ``git commit FILE`` runs, the index to look at is another one than usual. Raises
    ``GitError`` when git refuses, and ``FileNotFoundError`` where it is not installed.
    """
    import subprocess  # 20 ms, for what asks git only

    kept = {k: v for k, v in os.environ.items() if k not in _REPOSITORY_VARIABLES}
    if in_hook and len(kept) < len(os.environ) and _ambient_root() == root:
        kept = dict(os.environ)
    # A repository's own configuration may name a program as its monitor: not ours to start.
    command = ["git", "-c", "core.fsmonitor=false", "-C", os.fspath(root), *arguments]
    answer = subprocess.run(
        command, input=data, capture_output=True, env={**kept, "LC_ALL": "C"}, check=False
    )
    if answer.returncode != 0:
        said = os.fsdecode(answer.stderr).strip().splitlines()
        why = next((line for line in said if line.startswith("fatal: ")), said[0] if said else "")
        verb = next(word for word in arguments if not word.startswith("-"))
        raise GitError(f"{root}: git {verb} failed: {why.removeprefix('fatal: ')}")
    return answer.stdout


def _ambient_root() -> Path | None:
    """The worktree that git would take by itself, with what the environment tells it."""
    import subprocess

    command = ["git", "rev-parse", "--show-toplevel"]
    answer = subprocess.run(command, capture_output=True, check=False)
    shown = os.fsdecode(answer.stdout).rstrip("\n")
    return Path(os.path.realpath(shown)) if answer.returncode == 0 and shown else None
