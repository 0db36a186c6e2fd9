"""Which files the paths that a user named stand for.

Paths are strings in here: to make and join ``Path`` objects would take longer than the search.
"""

# ruff: noqa: PTH112, PTH120

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from flmigrate.git import repository_root
from flmigrate.ignores import Ignores, compile_patterns, covers, verdict

SUFFIXES = (".py", ".pyi", ".ipynb")

# The folders ruff leaves out by default (its setting "exclude"), and that of compiled files.
SKIPPED_FOLDERS = frozenset(
    (
        *(".bzr", ".direnv", ".eggs", ".git", ".git-rewrite", ".hg", ".ipynb_checkpoints"),
        *(".mypy_cache", ".nox", ".pants.d", ".pyenv", ".pytest_cache", ".pytype"),
        *(".ruff_cache", ".svn", ".tox", ".venv", ".vscode", "__pycache__", "__pypackages__"),
        *("_build", "buck-out", "build", "dist", "node_modules", "site-packages", "venv"),
    )
)


class Discovery(NamedTuple):
    """The files of a run, sorted, each once; and ``(path, message)`` for what was not read."""

    files: tuple[Path, ...]
    problems: tuple[tuple[Path, str], ...]


class Selection:
    """Which files of a list that was made elsewhere ``paths`` stand for."""

    def __init__(
        self, paths: Sequence[Path], exclude: Sequence[str] = (), root: Path | None = None
    ) -> None:
        """``paths``, ``exclude`` and ``root`` are those of ``discover``."""
        self._named = {_real(path) for path in paths}
        self._exclude = compile_patterns(exclude, _real(root or Path.cwd())) if exclude else None

    def takes(self, file: Path) -> bool:
        """Whether a file is named, or lies in a named folder and nothing leaves it out."""
        real = _real(file)
        if real in self._named:
            return True
        folder, inside = os.path.dirname(real), list[str]()
        while folder not in self._named:
            above, name = os.path.split(folder)
            if above == folder:
                return False
            inside.append(name)
            folder = above
        exclude = self._exclude
        if exclude is not None and not covers(exclude, f"{folder}/") and covers(exclude, real):
            return False
        return SKIPPED_FOLDERS.isdisjoint(inside)


def is_python(name: str) -> bool:
    """Whether a file holds Python, by its name."""
    return name.endswith(SUFFIXES)


def discover(
    paths: Sequence[Path],
    exclude: Sequence[str] = (),
    root: Path | None = None,
    takes: Callable[[str], bool] = is_python,
) -> Discovery:
    """The Python files that ``paths`` stand for.

    A named file is always taken, whatever its suffix and whatever ignores it. A named folder
    stands for the ``*.py``, ``*.pyi`` and ``*.ipynb`` files in it, but for those that a
    ``.gitignore`` (from the repository's root down, nearest first) or ``exclude`` leaves out,
    and those in ``SKIPPED_FOLDERS``; ``takes`` chooses other files by their names.

    ``exclude`` holds gitignore patterns relative to ``root``, the
    configuration's folder (by default the working directory). A folder that is named but
    itself left out by one of the two is walked without that one.

    Links met on the way are followed as far as they stay in the repository (without one: in
    the folder named), and each real file is taken once, under its own path where it has one
    here. A link to a Python file elsewhere is a problem, one to a folder elsewhere is left
    alone. Other problems are a path that does not exist, a dangling link, and a folder that
    cannot be read; none of them ends the search.
    """
    search = _Search(takes)
    outer = compile_patterns(exclude, _real(root or Path.cwd())) if exclude else None
    starts: list[tuple[str, str, _Rules]] = []
    for path in paths:
        if _take_named_file(search, path):
            continue
        real = _real(path)
        repository = repository_root(path)
        top = _real(repository) if repository else real
        search.tops.append(top)
        above = () if _git_ignores(search, real, top, True) else _rules_above(search, real, top)
        exclude_here = None if outer is None or covers(outer, f"{real}/") else outer
        starts.append((os.fspath(path), real, _Rules(exclude_here, above)))
    for shown, real, rules in starts:
        _walk(search, shown, real, rules)
    while search.links:  # last, so that a real path wins over a link to it
        _follow(search, *search.links.pop())
    files = sorted(map(Path, search.files.values()), key=lambda path: path.parts)
    return Discovery(tuple(files), tuple(sorted(search.problems)))


class _Rules(NamedTuple):
    """What leaves out the entries of a folder; ``.gitignore`` files are nearest first."""

    exclude: Ignores | None
    ignore_files: tuple[Ignores, ...]


@dataclass(slots=True, eq=False)
class _Search:
    """What a search has found so far; real paths are strings with slashes."""

    takes: Callable[[str], bool]
    tops: list[str] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)  # real path -> path to show
    folders: set[str] = field(default_factory=set)
    links: list[tuple[str, Ignores | None]] = field(default_factory=list)
    above: dict[tuple[str, str], tuple[Ignores, ...]] = field(default_factory=dict)
    problems: list[tuple[Path, str]] = field(default_factory=list)


def _take_named_file(search: _Search, path: Path) -> bool:
    """Take a named file or note what is wrong with it; ``False`` for a folder."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:
        search.problems.append((path, _why(error, path.is_symlink())))
        return True
    if stat.S_ISREG(mode):
        search.files.setdefault(_real(path), os.fspath(path))
    elif not stat.S_ISDIR(mode):
        search.problems.append((path, "not a file or folder"))
    return not stat.S_ISDIR(mode)


def _walk(search: _Search, shown: str, real: str, rules: _Rules) -> None:
    """Take the Python files below one folder; links are put aside."""
    pending = [(shown, real, rules)]
    while pending:
        shown, real, rules = pending.pop()
        if real in search.folders:
            continue
        search.folders.add(real)
        try:
            with os.scandir(shown) as found:
                entries = list(found)
        except OSError as error:
            search.problems.append((Path(shown), _why(error)))
            continue
        names = {entry.name for entry in entries}
        ignore_files = () if ".git" in names else rules.ignore_files
        if ".gitignore" in names:
            ignore_files = (*_read_ignore_file(search, real), *ignore_files)
        rules = _Rules(rules.exclude, ignore_files)
        shown, real = (path if path.endswith("/") else f"{path}/" for path in (shown, real))
        for entry in entries:
            name = entry.name
            python = search.takes(name)
            link = entry.is_symlink()
            folder = os.path.isdir(shown + name) if link else entry.is_dir(follow_symlinks=False)
            if not (folder or python) or (folder and name in SKIPPED_FOLDERS):
                continue
            if _left_out(rules, real + name, name, folder):
                continue
            if link:
                if not name.startswith(".#"):  # Emacs locks an edited file with a dangling link
                    search.links.append((shown + name, rules.exclude))
            elif folder:
                pending.append((shown + name, real + name, rules))
            elif entry.is_file(follow_symlinks=False):
                search.files.setdefault(real + name, shown + name)


def _follow(search: _Search, shown: str, exclude: Ignores | None) -> None:
    """Take what a link met in a walk leads to, where a walk could have come to it too."""
    path = Path(shown)
    try:
        folder = stat.S_ISDIR(path.stat().st_mode)
    except OSError as error:
        search.problems.append((path, _why(error, link=True)))
        return
    real = _real(path)
    if real in search.files or real in search.folders:
        return
    top = next((top for top in search.tops if real.startswith(f"{top.rstrip('/')}/")), None)
    if top is None:
        if not folder:
            message = f"symbolic link to a file elsewhere; name {real} itself to include it"
            search.problems.append((path, message))
        return
    inside = real[len(top) :].strip("/").split("/")
    if not SKIPPED_FOLDERS.isdisjoint(inside if folder else inside[:-1]):
        return
    if exclude is not None and covers(exclude, f"{real}/" if folder else real):
        return
    if _git_ignores(search, real, top, folder):
        return
    if folder:
        _walk(search, shown, real, _Rules(exclude, _rules_above(search, real, top)))
    elif path.is_file():
        search.files[real] = shown


def _left_out(rules: _Rules, path: str, name: str, folder: bool) -> bool:
    exclude = rules.exclude
    if exclude and path.startswith(exclude.base) and verdict(exclude, path, name, folder):
        return True
    for ignores in rules.ignore_files:
        said = verdict(ignores, path, name, folder)
        if said is not None:
            return said
    return False


def _git_ignores(search: _Search, real: str, top: str, folder: bool) -> bool:
    """Whether a walk from ``top`` down to ``real`` would end at a ``.gitignore`` file."""
    if real == top:
        return False
    above = os.path.dirname(real)
    rules = _Rules(None, _rules_above(search, real, top))
    return _git_ignores(search, above, top, True) or _left_out(
        rules, real, real[len(above.rstrip("/")) + 1 :], folder
    )


def _rules_above(search: _Search, real: str, top: str) -> tuple[Ignores, ...]:
    """The ``.gitignore`` files in the folders above ``real``, up to ``top``, nearest first."""
    if real == top:
        return ()
    folder = os.path.dirname(real)
    known = search.above.get((folder, top))
    if known is None:
        known = _read_ignore_file(search, folder)
        if not Path(folder, ".git").exists():  # a repository of its own
            known = (*known, *_rules_above(search, folder, top))
        search.above[folder, top] = known
    return known


def _read_ignore_file(search: _Search, folder: str) -> tuple[Ignores, ...]:
    path = Path(folder, ".gitignore")
    try:
        text = os.fsdecode(path.read_bytes())
    except (FileNotFoundError, IsADirectoryError):
        return ()
    except OSError as error:
        search.problems.append((path, _why(error)))
        return ()
    patterns = compile_patterns(text.removeprefix("\ufeff").split("\n"), folder)
    return () if patterns is None else (patterns,)


def _real(path: Path) -> str:
    return os.path.realpath(path).replace(os.sep, "/")


def _why(error: OSError | ValueError, link: bool = False) -> str:
    if isinstance(error, FileNotFoundError):
        return "dangling symbolic link" if link else "no such file or folder"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror[0].lower() + error.strerror[1:]
    return str(error)
