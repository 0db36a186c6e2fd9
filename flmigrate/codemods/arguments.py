"""Change the arguments of a call and leave its layout alone.

    autocast(enabled)            ->  autocast("flagos", enabled=enabled)
    memory_stats(device, True)   ->  memory_stats(device)

New arguments get a line of their own where the others have one; a trailing comma stays one.
"""

from __future__ import annotations

import libcst as cst

from flmigrate.codemods.errors import EditError
from flmigrate.codemods.precedence import parenthesized_for
from flmigrate.codemods.rows import call_with, row_of_call
from flmigrate.codemods.site import Site
from flmigrate.codemods.templates import (
    parse_argument,
    parse_template,
    with_generators_apart,
)
from flmigrate.findings import Arguments


def change_arguments(node: cst.Call, edit: Arguments, site: Site) -> cst.Call:
    """Name, exchange, drop and add arguments, in this order.

    Raises ``EditError`` for a position that the call does not have, for naming an argument
    that has a keyword or a star, and when another edit lies in an argument that goes.
    """
    row = row_of_call(node)
    for position in (*(p for p, _ in (*edit.names, *edit.values)), *edit.drop):
        if not 0 <= position < len(row.items):
            raise EditError(f"the call has no argument {position}", edit.span)
    assert isinstance(site.original, cst.Call)
    for position in (*(p for p, _ in edit.values), *edit.drop):
        if site.original.args[position] in site.touched:
            raise EditError(f"argument {position} goes, but is edited, too", edit.span)
    for position, name in edit.names:
        argument = row.items[position]
        if argument.keyword or argument.star or not name.isidentifier():
            raise EditError(f"argument {position} cannot be named {name!r}", edit.span)
        named = parse_argument(f"{name}=_", edit.span).with_changes(value=argument.value)
        value = parenthesized_for(argument.value, named, "value")
        row.items[position] = named.with_changes(value=value)
    for position, source in edit.values:
        argument = row.items[position]
        value = parenthesized_for(parse_template(source, edit.span), argument, "value")
        row.items[position] = argument.with_changes(value=value)
    for position in sorted(set(edit.drop), reverse=True):
        row.drop(position)
    for source in edit.last:
        row.insert(len(row.items), parse_argument(source, edit.span))
    if edit.first is not None:
        row.insert(0, parse_argument(edit.first, edit.span))
    changed = call_with(node, row)
    return changed.with_changes(args=with_generators_apart(changed.args))
