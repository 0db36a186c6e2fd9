"""What each setting may hold, and where in its file it stands.

The checks are also for options of the command line that mean the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from flmigrate.ignores import compile_patterns

IMPORT_IN = ("entry-points", "every-file", "none")
NOTES = ("above", "end", "none")

_TABLES = Path(__file__).parent
_CODE = r"ALL|FL\d{0,3}"
_TYPES = {bool: "a boolean", int: "an integer", float: "a float", str: "a string"}
_TYPES |= {list: "a list", dict: "a table"}


class Settings(NamedTuple):
    """A file's settings as they stand there; ``table`` is where in it (empty: the top)."""

    path: Path
    text: str
    table: tuple[str, ...]
    values: dict[str, Any]


class CheckSettings(NamedTuple):
    """The table ``check``: what holds for ``flmigrate check`` only.

    ``allow`` are gitignore patterns, relative to the configuration's folder, of files that may
    hold vendor code. ``require_reason`` makes a suppression without a reason a finding.
    ``baseline`` is the absolute path of the file with the accepted findings, or empty.
    """

    allow: tuple[str, ...] = ()
    require_reason: bool = False
    baseline: str = ""


class Invalid(ValueError):
    """A setting that cannot be used. ``at`` is the part of its text to point to, if any."""

    def __init__(self, message: str, at: str | None = None) -> None:
        super().__init__(message)
        self.at = at


def check_key(key: str) -> None:
    """Raises ``Invalid`` for a setting that does not exist."""
    if key not in CHECKS:
        raise Invalid(f'unknown key "{key}"{_suggestion(key, CHECKS)}')


def check_codes(
    codes: Iterable[str], known: Collection[str] | None, key: str = "select"
) -> tuple[str, ...]:
    """The rule codes and prefixes, as a tuple.

    Raises ``Invalid``, which names ``key``, for what is neither ``ALL`` nor shaped like
    ``FL``, ``FL1`` or ``FL101``, and for what matches none of the ``known`` codes.
    """
    codes = tuple(codes)
    for code in codes:
        good = re.fullmatch(_CODE, code) is not None
        if good and known is not None and code != "ALL":
            good = any(name.startswith(code) for name in known)
        if not good:
            likely = _suggestion(code.upper(), ("ALL", *(known or ())))
            raise Invalid(f'{key}: unknown rule code "{code}"{likely}', code)
    return codes


def check_vendors(vendors: Iterable[str], key: str = "drop-vendors") -> tuple[str, ...]:
    """The vendors' names, as a tuple. Raises ``Invalid`` for one that has no table."""
    vendors = tuple(vendors)
    for vendor in vendors:
        _one_of(vendor, _table_names("vendors"), key, "vendor")
    return vendors


def check_target(target: str, root: Path, key: str = "target") -> str:
    """A target table's name, or the absolute path of a file that is relative to ``root``.

    What has a slash or ends in ``.toml`` is a path. Raises ``Invalid`` for a name without a
    table and for a path without a file.
    """
    if "/" not in target and "\\" not in target and not target.endswith(".toml"):
        return _one_of(target, _table_names("targets"), key, "target")
    path = root.absolute() / target
    if not path.is_file():
        raise Invalid(f"{key}: no such file: {path}", target)
    return str(path)


def check_import_in(place: str, key: str = "import-in") -> str:
    """One of ``IMPORT_IN``. Raises ``Invalid`` for anything else."""
    return _one_of(place, IMPORT_IN, key, "value")


def check_notes(place: str, key: str = "notes") -> str:
    """One of ``NOTES``. Raises ``Invalid`` for anything else."""
    return _one_of(place, NOTES, key, "value")


def check_chip_names(chips: Iterable[str], root: Path) -> tuple[str, ...]:
    """The configurations that names of chips, ``all`` and paths of manifests stand for.

    Raises ``Invalid`` for a name that is none.
    """
    found = [name for chip in chips for name in _configurations(chip, root)]
    return tuple(dict.fromkeys(found))


def _configurations(chip: str, root: Path) -> tuple[str, ...]:
    from flmigrate.manifests.model import ManifestError
    from flmigrate.manifests.store import check_chips

    try:
        return check_chips([chip], root)
    except ManifestError as error:
        raise Invalid(str(error), chip) from None


def check_files(paths: Iterable[str], root: Path, key: str) -> tuple[str, ...]:
    """Absolute paths of files that are relative to ``root``. Raises ``Invalid`` for one missing."""
    found = []
    for path in paths:
        whole = root.absolute() / path
        if not whole.is_file():
            raise Invalid(f"{key}: no such file: {whole}", path)
        found.append(str(whole))
    return tuple(found)


def check_globs(globs: Iterable[str], key: str) -> tuple[str, ...]:
    """The gitignore patterns, as a tuple. Raises ``Invalid`` for one that git would not take."""
    globs = tuple(globs)
    for glob in globs:
        # Only these can go wrong; the library that compiles patterns is slow to import.
        if "\\" in glob or "[" in glob or not glob.strip(" !/") or glob.startswith("#"):
            invalid: list[str] = []
            if compile_patterns([glob], "/", invalid) is None:
                raise Invalid(f'{key}: "{glob}" is not a gitignore pattern', glob)
    return globs


def _check_per_file(
    value: Any, known: Collection[str] | None
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    key = "per-file-ignores"
    table: dict[str, Any] = _typed(value, dict, key)
    check_globs((glob.removeprefix("!") for glob in table), key)
    found: list[tuple[str, tuple[str, ...]]] = []
    for glob, value_of_glob in table.items():
        name = f'{key}."{glob}"'
        codes = _strings(value_of_glob, name, glob)
        found.append((glob, check_codes(codes, known, name)))
    return tuple(found)


def _check_table(value: Any, root: Path) -> CheckSettings:
    table: dict[str, Any] = _typed(value, dict, "check")
    checks: dict[str, Callable[[Any], Any]] = {
        "allow": lambda value: check_globs(_strings(value, "check.allow"), "check.allow"),
        "require-reason": lambda value: _typed(value, bool, "check.require-reason"),
        "baseline": lambda value: str(root.absolute() / _typed(value, str, "check.baseline")),
    }
    for key in table:
        if key not in checks:
            raise Invalid(f'unknown key "check.{key}"{_suggestion(key, checks)}', key)
    return CheckSettings(**{k.replace("-", "_"): checks[k](v) for k, v in table.items()})


# Each check takes the value, the folder of the file, and the known codes.
CHECKS: dict[str, Callable[[Any, Path, Collection[str] | None], Any]] = {
    "target": lambda value, root, _: check_target(_typed(value, str, "target"), root),
    "exclude": lambda value, _, __: check_globs(_strings(value, "exclude"), "exclude"),
    "select": lambda value, _, known: check_codes(_strings(value, "select"), known),
    "ignore": lambda value, _, known: check_codes(_strings(value, "ignore"), known, "ignore"),
    "drop-vendors": lambda value, _, __: check_vendors(_strings(value, "drop-vendors")),
    "import-in": lambda value, _, __: check_import_in(_typed(value, str, "import-in")),
    "canonical-vendor": lambda value, _, __: check_vendors(
        [_typed(value, str, "canonical-vendor")], "canonical-vendor"
    )[0],
    "chips": lambda value, root, _: check_chip_names(_strings(value, "chips"), root),
    "measured": lambda value, root, _: check_files(_strings(value, "measured"), root, "measured"),
    "notes": lambda value, _, __: check_notes(_typed(value, str, "notes")),
    "per-file-ignores": lambda value, _, known: _check_per_file(value, known),
    "check": lambda value, root, _: _check_table(value, root),
}


def line_of(text: str, table: tuple[str, ...], key: str, value: str | None = None) -> int:
    """The line, from 1, of a key's definition in TOML text, or of a value in it.

    A search by eye, so to speak: the first line from the table's header on that assigns the
    key, and from there the first that has the quoted value. Where the key is written in an
    unusual way, the header's line, or 1.
    """
    lines = text.split("\n")
    dotted = r"\s*\.\s*".join(rf"[\"']?{re.escape(part)}[\"']?" for part in table)
    first = _first(rf"^\s*\[+\s*{dotted}\b", lines, 0) if table else 0
    name = rf"[\"']?{re.escape(key)}[\"']?"
    start = first or 0
    at = _first(rf"^[^#]*?(?<![\w-]){name}\s*[=.\]]", lines, start)
    if at is None:
        return start + 1
    if value is not None:
        shown = re.escape(value.replace("\\", "\\\\"))
        literal = _first(rf"[\"'](?:{shown}|{re.escape(value)})[\"']", lines, at)
        at = at if literal is None else literal
    return at + 1


def _first(expression: str, lines: list[str], start: int) -> int | None:
    pattern = re.compile(expression)
    return next((at for at in range(start, len(lines)) if pattern.search(lines[at])), None)


def _typed(value: Any, kind: type, key: str, at: str | None = None) -> Any:
    if not isinstance(value, kind):
        got = _TYPES.get(type(value), f"a {type(value).__name__}")
        raise Invalid(f"{key} must be {_TYPES[kind]}, not {got}", at)
    return value


def _strings(value: Any, key: str, at: str | None = None) -> list[str]:
    for item in _typed(value, list, key, at):
        if not isinstance(item, str):
            got = _TYPES.get(type(item), f"a {type(item).__name__}")
            raise Invalid(f"{key} must be a list of strings, but one item is {got}", at)
    return list(value)


def _one_of(value: str, allowed: Collection[str], key: str, kind: str) -> str:
    if value not in allowed:
        known = ", ".join(allowed)
        likely = _suggestion(value, allowed)
        raise Invalid(f'{key}: unknown {kind} "{value}"{likely or f"; known: {known}"}', value)
    return value


def _table_names(folder: str) -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in (_TABLES / folder).glob("*.toml")))


def _suggestion(word: str, known: Iterable[str]) -> str:
    import difflib  # 10 ms, for errors only

    close = difflib.get_close_matches(word, list(known), n=1)
    return f'; did you mean "{close[0]}"?' if close else ""
