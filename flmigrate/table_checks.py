"""What a target table may say: every rule about its contents, beyond the types of its values.

Run on a user's own target whenever it is loaded and, by the tests, on the packaged ones.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator, Set
from dataclasses import dataclass
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from flmigrate.table_model import Api, Target, Vendor, Vendors
from flmigrate.table_schema import (
    API_KEYS,
    DEVICE_KEYS,
    IMPORT_KEYS,
    PLACES,
    SCHEMA,
    STATUSES,
    TARGET_KEYS,
    Table,
    check_choice,
    check_keys,
)

HOLE = re.compile(r"\$(\*|[A-Za-z_]\w*)")
_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")

Place = tuple[str, ...]
Rule = tuple[str, object, str]  # a key, what must hold, and what is wrong if it does not


@dataclass(frozen=True, slots=True)
class _Context:
    """What every check of one file needs: ``roots`` are the names a template may start from."""

    table: Table
    target: Target
    served: tuple[Vendor, ...]
    roots: frozenset[str]


def check_shape(table: Table) -> None:
    """Check keys, types and fixed choices of a target file, before it is built.

    Raises:
        TableError: for the first thing that is wrong.
    """
    data = table.data
    required = ("schema", "name", "title", "source", "serves", "device")
    check_keys(table, data, TARGET_KEYS, required=required)
    if data["schema"] != SCHEMA:
        table.fail(("schema",), f"must be {SCHEMA}, not {data['schema']}")
    device, imports = data["device"], data.get("imports", {})
    check_keys(table, device, DEVICE_KEYS, ("device",), ("namespace", "move"))
    if ("type" in device) == ("expression" in device):
        table.fail(("device", "type"), "exactly one of type and expression is needed")
    if "backend" in device and "backend-expression" in device:
        table.fail(("device", "backend"), "only one of backend and backend-expression may be set")
    if "attribute" not in device and "test" not in device:
        table.fail(("device", "test"), "is required when there is no attribute")
    check_keys(table, imports, IMPORT_KEYS, ("imports",))
    if imports and "statement" not in imports:
        table.fail(("imports", "statement"), "is required")
    check_choice(table, ("imports", "where"), imports.get("where", PLACES[0]), PLACES)
    for name, status in data.get("related", {}).items():
        check_choice(table, ("related", name), status, STATUSES)
    for section in ("attributes", "api"):
        for name, entry in data.get(section, {}).items():
            where = (section, name)
            if not isinstance(entry, dict):
                table.fail(where, "must be a table with at least a status")
            check_keys(table, entry, API_KEYS, where, ("status",))
            check_choice(table, (*where, "status"), entry["status"], STATUSES)


def check_target(table: Table, target: Target, vendors: Vendors) -> None:
    """Check what a target says: spellings, templates, and that it never maps onto a source.

    Raises:
        TableError: for the first thing that is wrong.
    """
    if not target.serves:
        table.fail(("serves",), "must name at least one vendor")
    for name in table.data["serves"]:
        if name not in vendors:
            table.fail(("serves",), f"{name!r} is no vendor; known are {', '.join(vendors)}")
    try:
        SpecifierSet(target.torch)
    except InvalidSpecifier:
        table.fail(("torch",), f"{target.torch!r} are no versions as pip takes them (>=2.9,<2.11)")
    context = _Context(
        table,
        target,
        served=tuple(vendors[name] for name in table.data["serves"]),
        roots=frozenset({"torch", *_imported(table, target)}),
    )
    _check_device(context)
    for section, entries in (("attributes", target.attributes), ("api", target.api)):
        for name in table.data.get(section, {}):
            where = (section, name)
            if not _NAME.fullmatch(name):
                table.fail(where, "is not a dotted name")
            _check_entry(table, where, entries[name])
            _check_spellings(context, where, entries[name])


def _imported(table: Table, target: Target) -> Iterator[str]:
    """The names that the target's own import statement binds."""
    if target.import_statement is None:
        return
    where = ("imports", "statement")
    for node in _parse(table, where, target.import_statement, "exec").body:
        if not isinstance(node, ast.Import | ast.ImportFrom):
            table.fail(where, "must be an import statement")
        for alias in node.names:
            yield alias.asname or alias.name.partition(".")[0]
    if target.import_marker and not target.import_marker.startswith("#"):
        table.fail(("imports", "marker"), "must be a comment, starting with #")


def _check_device(context: _Context) -> None:
    table, target, device = context.table, context.target, context.table.data["device"]
    for vendor in context.served:
        for key, value, sources in (
            ("type", target.device_type, vendor.device_types),
            ("method", target.method, vendor.methods),
            ("attribute", target.attribute, vendor.attributes),
            ("backend", target.backend, vendor.backends),
        ):
            if value in sources:
                table.fail(("device", key), _again(repr(value), vendor))
    for key in ("method", "attribute"):
        if not device.get(key, "x").isidentifier():
            table.fail(("device", key), f"{device[key]!r} is not a Python name")
    for key in ("expression", "namespace", "move", "test", "backend-expression"):
        if key in device:
            where = ("device", key)
            bound = frozenset({"__0__"} if key == "test" else ())
            _check_names(context, where, _parse(table, where, device[key], "eval"), bound)


def _check_entry(table: Table, where: Place, api: Api) -> None:
    """Check that the keys of one entry go together."""
    for key, holds, message in (*_status_rules(api), *_argument_rules(api)):
        if not holds:
            table.fail((*where, key), message)


def _status_rules(api: Api) -> Iterator[Rule]:
    changes = ("to", "call", "value", "statement", "first", "append", "keyword")
    used = [key for key in changes if getattr(api, key)]
    if api.status in ("keep", "none"):
        for key in used:
            yield key, False, f"has no place in an entry with status {api.status}"
    if api.status == "exact":
        yield "to", api.to, "is required by status exact"
    elif api.status == "none":
        yield "note", api.note, "is required by status none"
    elif api.status == "partial":
        yield "note", api.note or api.indices, "is required by status partial, unless index is set"
    elif api.status == "respell" and api.group != "tensor-type":
        known = used or api.note or api.capability
        yield "to", known, "status respell needs to, call, value, statement or a note"


def _argument_rules(api: Api) -> Iterator[Rule]:
    for key in ("first", "append", "keyword"):
        if getattr(api, key):
            yield "to", api.to, f"is required by {key}"
            yield "call", not api.call, f"cannot be combined with {key}"
    if api.in_place and (api.first or api.append):
        yield "unless", api.unless, "is required where arguments are added to the same name"
    if api.keyword:
        yield "params", api.params, "is required by keyword"
    if api.positional:
        limit = len(api.params)
        yield "positional", api.keyword, "needs keyword = true"
        yield "positional", 0 < api.positional <= limit, f"must be from 1 to {limit}"
    if api.index_to:
        yield "index-to", api.indices, "needs index"
    for key, names in (("index", api.indices), ("unless", (api.unless,) if api.unless else ())):
        for name in names:
            yield key, name in api.params, f"{name!r} is none of params"
    for key, value in (("to", api.to), ("index-to", api.index_to), ("import", api.import_to)):
        yield key, value is None or _NAME.fullmatch(value), f"{value!r} is not a dotted name"


def _check_spellings(context: _Context, where: Place, api: Api) -> None:
    """Check the Python in one entry: it parses, its holes exist, its names are bound."""
    table = context.table
    for key in ("call", "value", "statement"):
        if not (template := getattr(api, key)):
            continue
        place, used = (*where, key), set(HOLE.findall(template))
        if key == "value" and used:
            table.fail(place, "may have no holes: there are no arguments to fill them with")
        for hole in sorted(used - {"*", *api.params}):
            table.fail(place, f"${hole} is none of params")
        tree = _parse(table, place, template, "exec" if key == "statement" else "eval")
        _check_names(context, place, tree)
    for key, texts in (("first", (api.first,) if api.first else ()), ("append", api.append)):
        for text in texts:
            place = (*where, key)
            tree = _parse(table, place, f"f({text})", "eval")
            call = tree.body
            if not isinstance(call, ast.Call) or len(call.args) + len(call.keywords) != 1:
                table.fail(place, f"{text!r} is not one argument")
            if key == "append" and not (call.keywords and call.keywords[0].arg):
                table.fail(place, f"{text!r} is not of the form name=expression")
            _check_names(context, place, tree, {"f"})
    if where[0] == "attributes" or api.in_place:
        return
    for key, value in (("to", api.to), ("index-to", api.index_to), ("import", api.import_to)):
        if value is not None:
            _check_names(context, (*where, key), _parse(table, where, value, "eval"))


def _check_names(
    context: _Context, where: Place, tree: ast.AST, bound: Set[str] = frozenset()
) -> None:
    """Refuse names that are unbound where the text lands, and names that are a source again."""
    fail, known = context.table.fail, context.roots | bound | _bound_in(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            if node.id not in known and not hasattr(builtins, node.id):
                fail(where, f"{node.id!r} is not bound by torch, Python or [imports]")
        elif isinstance(node, ast.Attribute):
            path = ast.unparse(node)
            for vendor in context.served:
                if path in vendor.namespaces:
                    fail(where, _again(path, vendor))
            entry = context.target.lookup(path)
            if entry and not entry.in_place and entry.status not in ("keep", "none"):
                fail(where, f"{path} is itself a name that this table changes")
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            for vendor in context.served:
                if node.value.partition(":")[0] in vendor.device_types:
                    fail(where, _again(repr(node.value), vendor))


def _bound_in(tree: ast.AST) -> set[str]:
    """Names the text binds itself (loop variables, parameters) and its holes."""
    names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    stored = {
        n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    parameters = {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}
    return stored | parameters | {name for name in names if name.startswith("_hole_")}


def _again(what: str, vendor: Vendor) -> str:
    return f"{what} belongs to vendor {vendor.name}, which is served: it would be migrated again"


def _parse(table: Table, where: Place, source: str, mode: str) -> Any:
    """Parse a piece of Python in which every hole has become a name."""
    text = HOLE.sub(lambda m: "*_hole_rest" if m[1] == "*" else f"_hole_{m[1]}", source)
    try:
        return ast.parse(text, mode=mode)
    except (SyntaxError, ValueError) as error:
        reason = getattr(error, "msg", None) or str(error)
        table.fail(where, f"is not valid Python ({reason}): {source!r}")
