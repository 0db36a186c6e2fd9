"""Files of data that flmigrate wrote or a user wrote for it: read, with errors that name them.

What is wrong is raised as the caller's own kind of error, whose message begins with the path.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

Failure = Callable[[str], Exception]
"""Makes the error to raise of its message."""


def read_json(path: Path, failure: Failure) -> Any:
    """What a JSON file holds. Raises a ``failure`` with the path, and the line if there is one."""
    import json

    text = _text(path, failure)
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise failure(f"{path}:{error.lineno}: not JSON: {error.msg}") from None


def read_toml(path: Path, failure: Failure) -> tuple[str, dict[str, Any]]:
    """The text of a TOML file, and what it holds. Raises a ``failure`` with the path."""
    import tomli

    text = _text(path, failure)
    try:
        return text, tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        raise failure(f"{path}: not TOML: {error}") from None


def of_kind(
    data: Any, kind: str, schema: int, what: str, where: str, failure: Failure
) -> dict[str, Any]:
    """Stored data without its ``kind`` and ``schema``, both of which are checked.

    ``what`` names the data in the ``failure`` that is raised, ``where`` its origin.
    """
    if not isinstance(data, dict) or data.get("kind") != kind:
        raise failure(f'{where}: no {what} ("kind" is not "{kind}")')
    if data.get("schema") != schema:
        raise failure(f"{where}: schema is {data.get('schema')!r}; this version reads {schema}")
    return {key: value for key, value in data.items() if key not in ("schema", "kind")}


def _text(path: Path, failure: Failure) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise failure(f"{path}: {getattr(error, 'strerror', None) or error}") from None
