"""The vendor and target tables: what is vendor-specific, and what each thing becomes.

The tables are the TOML files in ``vendors/`` and ``targets/`` beside this module, and files
of a user's own. ``docs/tables.md`` documents every key. The packaged files are checked by
the tests and trusted at run time; a user's file is checked whenever it is loaded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from flmigrate.table_model import Api, Target, Vendor, Vendors
from flmigrate.table_schema import SCHEMA, VENDOR_KEYS, Table, TableError, check_keys, read_table

__all__ = ["Api", "TableError", "Target", "Vendor", "Vendors", "load_target", "load_vendors"]

_VENDOR_DIR = Path(__file__).parent / "vendors"
_TARGET_DIR = Path(__file__).parent / "targets"


def load_vendors(extra: Sequence[Path] = ()) -> Vendors:
    """The packaged vendors, and those of ``extra`` files.

    Raises:
        TableError: a file is missing, malformed, or claims a word another vendor has.
    """
    if not extra:
        return _packaged_vendors()
    packaged = [_read_vendor(path) for path in sorted(_VENDOR_DIR.glob("*.toml"))]
    return Vendors([*packaged, *(_read_vendor(path) for path in extra)])


def load_target(
    name_or_path: str, vendors: Vendors | None = None, *, validate: bool | None = None
) -> Target:
    """Load a packaged target by name, or a user's own from a path.

    Args:
        name_or_path: ``fl``, ``accelerator``, or a path: anything that ends in ``.toml`` or
            has a path separator in it.
        vendors: the vendors that ``serves`` may name; the packaged ones when left out.
        validate: whether to check the contents; by default only for a path.

    Raises:
        TableError: there is no such target, or the file is wrong.
    """
    if name_or_path.endswith(".toml") or "/" in name_or_path or "\\" in name_or_path:
        return _read_target(Path(name_or_path), vendors, validate is not False)
    path = _TARGET_DIR / f"{name_or_path}.toml"
    if not path.is_file():
        known = ", ".join(sorted(file.stem for file in _TARGET_DIR.glob("*.toml")))
        raise TableError(name_or_path, f"no such target; known are {known}, or a path to a .toml")
    return _read_target(path, vendors, True) if validate else _packaged_target(path)


@cache
def _packaged_vendors() -> Vendors:
    return Vendors([_read_vendor(path) for path in sorted(_VENDOR_DIR.glob("*.toml"))])


@cache
def _packaged_target(path: Path) -> Target:
    return _read_target(path, None, False)


def _read_vendor(path: Path) -> tuple[Table, Vendor]:
    table = read_table(path)
    check_keys(table, table.data, VENDOR_KEYS, required=("schema", "name", "title", "source"))
    if table.data["schema"] != SCHEMA:
        table.fail(("schema",), f"must be {SCHEMA}, not {table.data['schema']}")
    if table.data["name"] != path.stem:
        table.fail(("name",), f"must be the file's own name, {path.stem!r}")
    return table, Vendor(path=table.path, **_arguments(table.data, drop=("schema",)))


def _read_target(path: Path, vendors: Vendors | None, validate: bool) -> Target:
    table = read_table(path)
    if validate:
        from flmigrate.table_checks import check_shape

        check_shape(table)
    target = _build_target(table)
    if validate:
        from flmigrate.table_checks import check_target

        check_target(table, target, vendors or load_vendors())
    return target


def _build_target(table: Table) -> Target:
    data = table.data
    device, imports = data["device"], data.get("imports", {})
    known = set(Target._fields)
    plain = {f"device_{key}": device.get(key) for key in ("type", "expression")}
    plain |= {
        key.replace("-", "_"): value
        for key, value in device.items()
        if key.replace("-", "_") in known
    }
    return Target(
        name=data["name"],
        title=data["title"],
        source=data["source"],
        torch=data.get("torch", ""),
        path=table.path,
        serves=frozenset(data["serves"]),
        tensor_types=MappingProxyType(data.get("tensor-types", {})),
        memory_stats_keys=MappingProxyType(data.get("memory-stats-keys", {})),
        related=MappingProxyType(data.get("related", {})),
        attributes=MappingProxyType(_entries(table, "attributes")),
        api=MappingProxyType(_entries(table, "api")),
        **plain,
        **{f"import_{key}": value for key, value in imports.items()},
    )


def _entries(table: Table, section: str) -> dict[str, Api]:
    """The section's entries, with one more for every name under ``also``."""
    entries: dict[str, Api] = {}
    for name, data in table.data.get(section, {}).items():
        keys = _arguments(data, drop=("also",))
        keys.setdefault("inline", keys["status"] == "none")
        in_place = keys.get("to") == name
        for alias in (name, *data.get("also", ())):
            if alias in entries:
                table.fail((section, name), f"there is an entry for {alias} already")
            if in_place:
                keys["to"] = alias
            entries[alias] = Api(name=alias, **keys)
    return entries


# Keys that cannot be the name of a field, or not of a tuple's.
_FIELDS = {"import": "import_to", "index": "indices"}


def _arguments(data: Mapping[str, Any], drop: tuple[str, ...]) -> dict[str, Any]:
    """TOML keys and values as keyword arguments of the tables' classes."""
    return {
        _FIELDS.get(key) or key.replace("-", "_"): (
            tuple(value) if isinstance(value, list) else value
        )
        for key, value in data.items()
        if key not in drop
    }
