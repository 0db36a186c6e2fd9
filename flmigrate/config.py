"""The project's settings: ``[tool.flmigrate]`` in pyproject.toml, or flmigrate.toml.

The nearest folder at or above the first path that has either decides alone; settings are not
merged. In one folder flmigrate.toml, whose settings are top-level keys, goes before
pyproject.toml. A pyproject.toml without the table does not end the search.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, NamedTuple

import tomli

from flmigrate.config_checks import CHECKS, CheckSettings, Invalid, Settings, check_key, line_of
from flmigrate.ignores import Ignores, compile_patterns, covers


class ConfigError(ValueError):
    """Settings that cannot be used; the message names file, line and key."""


class Config(NamedTuple):
    """The settings of a run. Codes are rule codes, prefixes of them, or ``ALL``.

    ``root`` is the folder that ``exclude`` and ``per_file_ignores`` are relative to, and
    ``path`` the file the settings came from, if any. ``target`` is a table's name or the
    absolute path of a user's own. ``canonical_vendor`` is ``None`` unless configured: the
    vendor is then chosen by what the project has. ``chips`` are the configurations whose
    operators are looked at, ``measured`` absolute paths of files with the user's own results;
    ``notes`` is where inline notes go: ``above``, ``end`` or ``none``.
    """

    root: Path
    path: Path | None = None
    target: str = "fl"
    exclude: tuple[str, ...] = ()
    select: tuple[str, ...] = ("ALL",)
    ignore: tuple[str, ...] = ()
    drop_vendors: tuple[str, ...] = ()
    import_in: str | None = None
    canonical_vendor: str | None = None
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    check: CheckSettings = CheckSettings()
    chips: tuple[str, ...] = ()
    measured: tuple[str, ...] = ()
    notes: str = "above"

    def is_enabled(self, code: str, path: Path) -> bool:
        """Whether findings with this rule code are reported, and fixed, in the file.

        The longest of the matching codes in ``select`` and ``ignore`` decides, so that one
        rule of an ignored family can be selected; of two alike, ``ignore`` wins. A code in
        ``per_file_ignores`` under a glob that matches the file is off in any case.
        """
        return self.codes_for(path)(code)

    def codes_for(self, path: Path) -> Callable[[str], bool]:
        """``is_enabled`` for one file, with the globs tried once."""
        off: tuple[str, ...] = ()
        if self.per_file_ignores:
            off = _ignored_in(os.fspath(self.root), self.per_file_ignores, os.fspath(path))

        def enabled(code: str) -> bool:
            chosen = _specificity(code, self.select)
            return chosen > _specificity(code, self.ignore) and _specificity(code, off) < 0

        return enabled

    def checked_codes_for(self, path: Path) -> Callable[[str], bool]:
        """``codes_for`` as ``flmigrate check`` asks: allowed files may hold vendor code.

        That such a file cannot be read is reported all the same.
        """
        enabled = self.codes_for(path)
        allow = self.check.allow
        if allow and _matches_any(os.fspath(self.root), allow, os.fspath(path)):
            return lambda code: code.startswith("FL9") and enabled(code)
        return enabled


def load_config(start: Path, known_codes: Collection[str] | None = None) -> Config:
    """The settings for a run whose first path is ``start`` (a file or folder).

    With ``known_codes``, every code or prefix in the settings must match one of them;
    without, only its shape is checked. Where no settings are found the defaults hold, with
    the working directory as ``root``. Raises ``ConfigError``.
    """
    folder = Path(os.path.normpath(Path.cwd() / start))
    if not folder.is_dir():
        folder = folder.parent
    for parent in (folder, *folder.parents):
        for name, table in (("flmigrate.toml", ()), ("pyproject.toml", ("tool", "flmigrate"))):
            settings = _read(parent / name, table)
            if settings is not None:
                return _checked(settings, known_codes)
    return Config(root=Path.cwd())


def _read(path: Path, table: tuple[str, ...]) -> Settings | None:
    """The settings in a file; ``None`` where there is no such file or no such table."""
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    if table and table[-1].encode() not in data:
        return None  # most pyproject.toml files; an error in them is for others to report
    text = _decoded(path, data)
    values: Any = _parsed(path, text)
    for at, key in enumerate(table):
        if key not in values:
            return None
        values = values[key]
        if not isinstance(values, dict):
            name = ".".join(table[: at + 1])
            raise ConfigError(f'{path}:{line_of(text, (), key)}: "{name}" must be a table')
    return Settings(path, text, table, values)


def _decoded(path: Path, data: bytes) -> str:
    try:
        return data.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = 1 + data.count(b"\n", 0, error.start)
        raise ConfigError(f"{path}:{line}: TOML must be UTF-8: {error.reason}") from None


def _parsed(path: Path, text: str) -> dict[str, Any]:
    try:
        return tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        # The position is part of the message: "... (at line 3, column 5)".
        message, _, where = str(error).rpartition(" (at ")
        line = where.removeprefix("line ").partition(",")[0]
        line = line if line.isdecimal() else str(1 + text.rstrip().count("\n"))
        raise ConfigError(f"{path}:{line}: not TOML: {message or error}") from None


def _checked(settings: Settings, known_codes: Collection[str] | None) -> Config:
    found: dict[str, Any] = {}
    key = ""
    try:
        for key, value in settings.values.items():
            check_key(key)
            found[key.replace("-", "_")] = CHECKS[key](value, settings.path.parent, known_codes)
    except Invalid as error:
        line = line_of(settings.text, settings.table, key, error.at)
        raise ConfigError(f"{settings.path}:{line}: {error}") from None
    return Config(root=settings.path.parent, path=settings.path, **found)


def _specificity(code: str, choices: tuple[str, ...]) -> int:
    """The length of the longest choice that matches the code; 0 for ``ALL``, -1 for none."""
    lengths = (0 if c == "ALL" else len(c) for c in choices if c == "ALL" or code.startswith(c))
    return max(lengths, default=-1)


@functools.lru_cache(maxsize=1024)
def _ignored_in(
    root: str, table: tuple[tuple[str, tuple[str, ...]], ...], path: str
) -> tuple[str, ...]:
    real = os.path.realpath(path).replace(os.sep, "/")
    base = os.path.realpath(root).replace(os.sep, "/")
    off: list[str] = []
    for glob, codes in table:
        ignores = _compiled(glob.removeprefix("!"), base)
        matched = ignores is not None and covers(ignores, real)
        if matched != glob.startswith("!"):
            off += codes
    return tuple(off)


@functools.lru_cache(maxsize=1024)
def _matches_any(root: str, globs: tuple[str, ...], path: str) -> bool:
    real = os.path.realpath(path).replace(os.sep, "/")
    patterns = compile_patterns(globs, os.path.realpath(root).replace(os.sep, "/"))
    return patterns is not None and covers(patterns, real)


@functools.lru_cache(maxsize=256)
def _compiled(glob: str, base: str) -> Ignores | None:
    return compile_patterns([glob], base)
