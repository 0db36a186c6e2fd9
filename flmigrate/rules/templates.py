"""From a table entry and a call in the source to the edits that rewrite it."""

from __future__ import annotations

import ast
import re
from typing import Protocol

from flmigrate.analysis.context import Context, Reference
from flmigrate.analysis.indices import Index, index_of
from flmigrate.findings import Arguments, Edit, Expression, Rename, Span
from flmigrate.tables import Api


class Spelling(Protocol):
    """Knows how a dotted name is written where a reference stands."""

    def spelling(self, reference: Reference, new: str) -> str: ...


_HOLE = r"\$(\*|[A-Za-z_]\w*)"
_DANGLING = r"\(\s*,\s*|,\s*(?=[),])"


def bound_arguments(call: ast.Call, params: tuple[str, ...]) -> dict[str, ast.expr] | None:
    """The arguments of a call by parameter name, or ``None`` where stars hide them."""
    found: dict[str, ast.expr] = {}
    for position, argument in enumerate(call.args):
        if isinstance(argument, ast.Starred) or position >= len(params):
            return None
        found[params[position]] = argument
    for keyword in call.keywords:
        if keyword.arg is None:
            return None
        found[keyword.arg] = keyword.value
    return found


def passes(call: ast.Call, params: tuple[str, ...], name: str) -> bool | None:
    """Whether a call passes a parameter; ``None`` where stars may hide it."""
    if any(keyword.arg == name for keyword in call.keywords):
        return True
    position = params.index(name) if name in params else len(call.args)
    before = call.args[: position + 1]
    if any(isinstance(argument, ast.Starred) for argument in before):
        return None
    if len(before) > position:
        return True
    return None if any(keyword.arg is None for keyword in call.keywords) else False


def rename(context: Context, node: ast.expr, new: str) -> Rename:
    """Respell a chain; only the one identifier that differs where the rest stays the same.

    Keeping the edit that small keeps line breaks and comments inside the chain.
    """
    written: list[tuple[str, Span]] = []
    current = node
    while isinstance(current, ast.Attribute):
        end = context.source.end(current)
        written.append((current.attr, Span(end - len(current.attr), end)))
        current = current.value
    if isinstance(current, ast.Name):
        written.append((current.id, context.source.span(current)))
        old, wanted = [name for name, _ in reversed(written)], new.split(".")
        if len(old) == len(wanted):
            differing = [i for i, (a, b) in enumerate(zip(old, wanted, strict=True)) if a != b]
            if len(differing) == 1:
                at = differing[0]
                return Rename(written[-1 - at][1], wanted[at])
    return Rename(context.source.span(node), new)


def fill(
    context: Context, template: str, call: ast.Call, entry: Api
) -> tuple[str, tuple[Span, ...]] | None:
    """Put a call's arguments into a template of the target table.

    Returns the text with ``__0__``, ``__1__``, ... and the spans that stand there, or
    ``None`` where the arguments cannot be told apart.
    """
    holes: list[Span] = []
    arguments = bound_arguments(call, entry.params)
    if arguments is None and "$*" not in template:
        return None
    used: set[str] = set()

    def hole(node: ast.expr) -> str:
        holes.append(context.source.span(node))
        return f"__{len(holes) - 1}__"

    def replacement(match: re.Match[str]) -> str:
        name = match.group(1)
        if name == "*":
            parts = [hole(argument) for argument in call.args]
            parts += [
                f"{k.arg}={hole(k.value)}" if k.arg else f"**{hole(k.value)}" for k in call.keywords
            ]
            return ", ".join(parts)
        assert arguments is not None
        used.add(name)
        argument = arguments.get(name)
        if argument is None:
            return ""
        return _argument(context, entry, name, argument, hole)

    text = re.sub(_HOLE, replacement, template)
    if arguments is not None and "$*" not in template and set(arguments) - used:
        return None  # an argument that the template has no place for must not be lost
    return re.sub(_DANGLING, lambda m: "(" if m.group().startswith("(") else "", text), tuple(holes)


def _argument(context: Context, entry: Api, name: str, argument: ast.expr, hole: object) -> str:
    assert callable(hole)
    if name not in entry.indices:
        return str(hole(argument))
    converted = converted_index(context, argument)
    if converted is None:
        return str(hole(argument))
    return converted.replace("__0__", str(hole(argument))) if "__0__" in converted else converted


def converted_index(context: Context, argument: ast.expr) -> str | None:
    """How a device argument is written where the target takes an int or ``None`` only.

    Returns an expression in which ``__0__`` is the argument, or ``None`` when it can stay.
    ``torch.accelerator._get_device_index`` is what PyTorch itself uses to turn any device
    argument into an index (torch/accelerator/__init__.py, 2.10).
    """
    kind = index_of(context, argument)
    if kind is Index.NUMBER:
        return None
    if kind is Index.TEXT:
        assert isinstance(argument, ast.Constant)
        number = str(argument.value).partition(":")[2]
        return str(int(number)) if number.isdigit() else "None"
    if kind is Index.DEVICE:
        return "__0__.index"
    return "torch.accelerator._get_device_index(__0__, optional=True)"


def call_edits(
    context: Context,
    reference: Reference,
    call: ast.Call,
    entry: Api,
    callee: str,
    aliases: Spelling,
) -> list[Edit] | None:
    """The edits for a call whose callee gets the spelling ``callee``; ``None`` if impossible.

    The callee is left alone where it is spelled so already (an import that moves takes care
    of it).
    """
    edits: list[Edit] = []
    names: list[tuple[int, str]] = []
    arguments = bound_arguments(call, entry.params)
    if entry.unless:
        passed = passes(call, entry.params, entry.unless)
        if passed is None:
            return None
        if passed:
            return []
    if entry.keyword and len(call.args) > entry.positional:
        if arguments is None:
            return None
        names = [(i, entry.params[i]) for i in range(entry.positional, len(call.args))]
    for name in entry.indices:
        if arguments is None:
            return None
        argument = arguments.get(name)
        if argument is None:
            continue
        if entry.index_to and index_of(context, argument) is not Index.NUMBER:
            elsewhere = aliases.spelling(reference, entry.index_to)
            if call.keywords or len(call.args) != 1:
                hole = context.source.span(argument)
                return [Expression(context.source.span(call), f"{elsewhere}(__0__)", (hole,))]
            callee = elsewhere
            continue
        converted = converted_index(context, argument)
        if converted is not None:
            span = context.source.span(argument)
            holes = (span,) if "__0__" in converted else ()
            edits.append(Expression(span, converted, holes))
    if callee != reference.written:
        edits.append(rename(context, reference.node, callee))
    if names or entry.first or entry.append:
        span = context.source.span(call)
        first, last = entry.first, tuple(entry.append)
        if entry.first is not None and call.args and re.match(r"\w+=", entry.first):
            first, last = None, (*last, entry.first)  # a keyword goes behind what has a position
        edits.append(Arguments(span, first, last, tuple(names)))
    return edits
