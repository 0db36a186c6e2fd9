"""Names that may stand for another vendor: what a cheap look at a condition asks for.

``_is_npu = torch.npu.is_available()`` makes ``_is_npu`` a suspect, and so is what is made from it.
Most conditions name no suspect and no vendor, and need no look at what they ask.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from flmigrate.analysis import occurrences

if TYPE_CHECKING:
    from flmigrate.analysis.context import Context
    from flmigrate.analysis.settled import Settled

_LONGEST_HELPER = 100  # lines; longer functions do more than answer


def places_of_suspects(context: Context, settled: Settled) -> list[int]:
    """Where in the text names stand that are bound to what names a vendor that is gone.

    In order. ``settled`` says which imports fail on the target.
    """
    text, names = context.source.text, _suspects(context, settled)
    return sorted(at for name in names for at in occurrences.of_name(name, text))


def _suspects(context: Context, settled: Settled) -> frozenset[str]:
    nodes = context.scopes.nodes
    bound: dict[ast.expr, list[str]] = {}
    for scope in context.scopes.all():
        for name, bindings in scope.bindings.items():
            for binding in bindings:
                if binding.value is not None:
                    bound.setdefault(binding.value, []).append(name)
    for attribute in nodes[ast.Attribute]:
        parent = context.scopes.parents.get(attribute)
        if isinstance(attribute.ctx, ast.Store) and isinstance(parent, ast.Assign):
            bound.setdefault(parent.value, []).append(attribute.attr)
    found = {f.name for f in nodes[ast.FunctionDef] if _may_answer(context, f)}
    for guard in nodes[ast.Try]:  # a flag may be set behind an import that fails
        if any(settled.fails(statement) for statement in guard.body):
            found.update(_set_in(guard))
    for value, names in bound.items():
        if context.names_gone_word(value):
            found.update(names)
    return frozenset(found | _made_from(context, found, bound))


def _may_answer(context: Context, function: ast.FunctionDef) -> bool:
    """Whether a function may be a helper that asks for a vendor: those are short."""
    lines = (function.end_lineno or 0) - function.lineno
    return lines < _LONGEST_HELPER and context.names_gone_word(function)


def _made_from(context: Context, names: set[str], bound: Mapping[ast.expr, list[str]]) -> set[str]:
    """Names whose values read one of ``names``, or what is made from it in turn."""
    if not names:
        return set()
    scopes = context.scopes
    reads: dict[str, list[ast.AST]] = {}
    for read in scopes.nodes[ast.Name]:
        reads.setdefault(read.id, []).append(read)
    for attribute in scopes.nodes[ast.Attribute]:
        reads.setdefault(attribute.attr, []).append(attribute)
    found: set[str] = set()
    new = list(names)
    while new:
        for read in reads.get(new.pop(), ()):
            node: ast.AST | None = read
            while node is not None and not isinstance(node, ast.stmt):
                for name in bound.get(node, ()) if isinstance(node, ast.expr) else ():
                    if name not in found and name not in names:
                        found.add(name)
                        new.append(name)
                node = scopes.parents.get(node)
    return found


def _set_in(guard: ast.Try) -> Iterator[str]:
    """Names and attributes that get a value somewhere in a ``try`` statement."""
    for node in ast.walk(guard):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            yield node.attr
        elif isinstance(node, ast.alias):
            yield node.asname or node.name.partition(".")[0]
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
