"""Which models a project runs after each change of torch, Torch-FL or a driver. Needs no torch.

[[model]]
name = "small"               # what reports call it
factory = "mypackage.models:small"
batch = [8, 1, 0]            # without: the factory's own, 1, 7 and 0
dtype = ["float32", "bfloat16"]
mode = ["eager", "compile:aot_eager"]
train = true
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flmigrate.stored import read_toml

DEFAULT = "flmigrate-regress.toml"


class RegressError(ValueError):
    """A set, or a folder of results, that cannot be used; names the file."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One model of the set; the lists are those of ``flmigrate compare``."""

    name: str
    factory: str
    batch: tuple[int, ...] = ()
    dtype: tuple[str, ...] = ()
    mode: tuple[str, ...] = ()
    train: bool = False

    def arguments(self) -> list[str]:
        """The options of ``flmigrate compare`` that run it."""
        found = [self.factory]
        for option, words in (
            ("--batch", [str(size) for size in self.batch]),
            ("--dtype", list(self.dtype)),
            ("--mode", list(self.mode)),
        ):
            if words:
                found += [option, ",".join(words)]
        return [*found, "--train"] if self.train else found


def read_set(path: Path) -> tuple[Entry, ...]:
    """The models in a file. Raises ``RegressError`` with file and line of what is wrong."""
    text, data = read_toml(path, RegressError)
    models = data.get("model")
    if set(data) != {"model"} or not isinstance(models, list) or not models:
        raise RegressError(f"{path}: write [[model]] for each model, and nothing else")
    lines = [at for at, line in enumerate(text.splitlines(), 1) if line.strip() == "[[model]]"]
    found: list[Entry] = []
    for at, model in enumerate(models):
        where = f"{path}:{lines[at]}" if at < len(lines) else str(path)
        entry = _entry(model, where)
        if entry.name in {other.name for other in found}:
            raise RegressError(f'{where}: the name "{entry.name}" is there twice')
        found.append(entry)
    return tuple(found)


_LISTS: dict[str, type] = {"batch": int, "dtype": str, "mode": str}


def _entry(model: Any, where: str) -> Entry:
    if not isinstance(model, dict):
        raise RegressError(f"{where}: must be a table")
    values: dict[str, Any] = {}
    for key, value in model.items():
        is_text = key in ("name", "factory") and isinstance(value, str) and bool(value)
        if is_text or (key == "train" and isinstance(value, bool)):
            values[key] = value
        elif key in _LISTS and isinstance(value, list):
            if not all(type(part) is _LISTS[key] for part in value):
                raise RegressError(f'{where}: "{key}" must be a list of {_LISTS[key].__name__}')
            values[key] = tuple(value)
        else:
            raise RegressError(f'{where}: "{key}" is no key of a model, or of the wrong type')
    for key in ("name", "factory"):
        if key not in values:
            raise RegressError(f'{where}: "{key}" is missing')
    return Entry(**values)
