"""The shape of the TOML tables: which keys there are, what each holds, where an error sits.

Nothing here knows what a key means for a rewrite; ``tables`` builds the objects and
``table_checks`` judges their contents.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import tomli

SCHEMA = 1
STATUSES = ("exact", "respell", "partial", "keep", "none")
PLACES = ("entry-points", "every-file")

VENDOR_KEYS: Mapping[str, str] = {
    "schema": "number",
    "name": "string",
    "title": "string",
    "source": "string",
    "device-types": "names",
    "namespaces": "names",
    "plugins": "names",
    "methods": "names",
    "attributes": "names",
    "backends": "names",
    "environment": "names",
    "helpers": "names",
    "versions": "names",
    "libraries": "names",
    "words": "names",
}
TARGET_KEYS: Mapping[str, str] = {
    "schema": "number",
    "name": "string",
    "title": "string",
    "source": "string",
    "torch": "string",
    "serves": "names",
    "device": "table",
    "imports": "table",
    "tensor-types": "texts",
    "memory-stats-keys": "texts",
    "related": "texts",
    "attributes": "table",
    "api": "table",
}
DEVICE_KEYS: Mapping[str, str] = {
    "type": "string",
    "expression": "string",
    "namespace": "string",
    "method": "string",
    "move": "string",
    "attribute": "string",
    "test": "string",
    "backend": "string",
    "backend-expression": "string",
}
IMPORT_KEYS: Mapping[str, str] = {"statement": "string", "marker": "string", "where": "string"}
API_KEYS: Mapping[str, str] = {
    "status": "string",
    "to": "string",
    "call": "string",
    "value": "string",
    "statement": "string",
    "params": "names",
    "first": "string",
    "append": "names",
    "keyword": "flag",
    "positional": "number",
    "unless": "string",
    "index": "names",
    "index-to": "string",
    "import": "string",
    "capability": "flag",
    "group": "string",
    "note": "string",
    "inline": "flag",
    "since": "string",
    "until": "string",
    "also": "names",
}

_EXPECTED = {
    "string": "a non-empty string",
    "flag": "true or false",
    "number": "a whole number",
    "names": "a list of different, non-empty strings",
    "texts": "a table of strings",
    "table": "a table",
}
_PART = r"""[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*'"""
_DOTTED = rf"(?:{_PART})(?:\s*\.\s*(?:{_PART}))*"
# Compiled on the first error only: most runs never need them.
_HEADER = rf"\s*\[\s*({_DOTTED})\s*\]\s*(?:#.*)?$"
_KEY = rf"\s*({_DOTTED})\s*="


class TableError(ValueError):
    """A vendor or target table that cannot be used, and the place that is wrong.

    The text reads ``path:line: key: what is wrong``; ``line`` is 0 and left out when the
    file as a whole is meant (it is missing, say).
    """

    def __init__(self, path: str, message: str, line: int = 0, key: str = "") -> None:
        self.path, self.line, self.key, self.message = path, line, key, message
        place = f"{path}:{line}" if line else path
        super().__init__(": ".join(part for part in (place, key, message) if part))


class Table(NamedTuple):
    """One parsed TOML file together with its text, which error messages point into."""

    path: str
    text: str
    data: Mapping[str, Any]

    def fail(self, keys: Sequence[str], message: str) -> NoReturn:
        """Raise ``TableError`` for the value at ``keys``, from the outermost table inwards."""
        raise TableError(self.path, message, line_of(self.text, keys), _spelled(keys))


def read_table(path: Path) -> Table:
    """Read and parse a TOML file.

    Raises:
        TableError: the file is missing, not UTF-8, or not TOML.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    except OSError as error:
        raise TableError(str(path), f"cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise TableError(str(path), f"is not UTF-8 text: {error.reason}") from None
    try:
        return Table(str(path), text, tomli.loads(text))
    except ValueError as error:
        found = re.search(r" \(at line (\d+), column \d+\)", str(error))
        line = int(found[1]) if found else text.count("\n") + 1
        reason = str(error)[: found.start()] if found else str(error)
        raise TableError(str(path), f"is not TOML: {reason}", line, _key_at(text, line)) from None


def check_keys(
    table: Table,
    data: Mapping[str, Any],
    kinds: Mapping[str, str],
    where: tuple[str, ...] = (),
    required: Iterable[str] = (),
) -> None:
    """Refuse a key that is missing, unknown, or of the wrong type.

    Args:
        table: the file, for the error message.
        data: the part of it to look at, found at ``where``.
        kinds: the known keys and the kind of value of each.
        required: keys that must be there.

    Raises:
        TableError: naming the first offending key.
    """
    for key, value in data.items():
        if key not in kinds:
            table.fail((*where, key), f"unknown key; known here are {', '.join(kinds)}")
        if not _is_a(kinds[key], value):
            table.fail((*where, key), f"must be {_EXPECTED[kinds[key]]}, not {value!r}")
    for key in required:
        if key not in data:
            table.fail((*where, key), "is required")


def check_choice(table: Table, keys: tuple[str, ...], value: str, choices: Sequence[str]) -> None:
    """Refuse a value that is none of ``choices``."""
    if value not in choices:
        table.fail(keys, f"must be one of {', '.join(choices)}, not {value!r}")


def line_of(text: str, keys: Sequence[str]) -> int:
    """The line, from 1, that defines ``keys``, or the nearest table around it.

    The TOML parser keeps no positions, so the text is scanned for headers and keys.
    """
    best, best_line, header, fence = 0, 1, [], ""
    for number, line in enumerate(text.split("\n"), 1):
        if fence:
            fence = "" if fence in line else fence
            continue
        if found := re.match(_HEADER, line):
            path = header = _parts(found[1])
        elif found := re.match(_KEY, line):
            path = header + _parts(found[1])
            fence = next((q for q in ('"""', "'''") if line.count(q) == 1), "")
        else:
            continue
        if best < len(path) <= len(keys) and path == list(keys[: len(path)]):
            best, best_line = len(path), number
    return best_line


def _is_a(kind: str, value: Any) -> bool:
    match kind:
        case "string":
            good = isinstance(value, str) and value != ""
        case "flag":
            good = isinstance(value, bool)
        case "number":
            good = isinstance(value, int) and not isinstance(value, bool)
        case "names":
            strings = isinstance(value, list) and all(_is_a("string", item) for item in value)
            good = strings and len(set(value)) == len(value)
        case "texts":
            good = isinstance(value, dict) and all(isinstance(v, str) for v in value.values())
        case _:
            good = isinstance(value, dict)
    return good


def _parts(dotted: str) -> list[str]:
    return [part.strip("\"'") for part in re.findall(_PART, dotted)]


def _key_at(text: str, line: int) -> str:
    lines = text.split("\n")
    content = lines[line - 1] if line <= len(lines) else ""
    found = re.match(_HEADER, content) or re.match(_KEY, content)
    return _spelled(_parts(found[1])) if found else ""


def _spelled(keys: Sequence[str]) -> str:
    return ".".join(key if re.fullmatch(r"[\w-]+", key) else f'"{key}"' for key in keys)
