"""The smallest program that still differs: parts are taken out for as long as it does."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

_ATTEMPTS = 150  # programs that are tried before the smallest so far is taken


def shrunk(text: str, still: Callable[[str], bool]) -> str:
    """A program that is as small as it gets while ``still`` holds for it.

    The text itself is returned where the difference hangs on its layout.
    """
    try:
        smallest = ast.unparse(ast.parse(text)) + "\n"
    except SyntaxError:
        return text
    if not still(smallest):
        return text
    attempts = at = last = 0
    while attempts < _ATTEMPTS:
        # After a success the search goes on where it was; it ends after a round without one.
        count, candidate = _smaller(smallest, at)
        if at >= count:
            if last == 0:
                break
            at, last = 0, 0
            continue
        attempts += 1
        if candidate and len(candidate) < len(smallest) and still(candidate):
            smallest, last = candidate, last + 1
        else:
            at += 1
    return smallest


def _smaller(text: str, at: int) -> tuple[int, str]:
    """How many parts can be taken out, and the program without part ``at``; larger parts first.

    The program is empty where it would not parse.
    """
    tree = ast.parse(text)
    changes = [(node, change) for node in ast.walk(tree) for change in _changes(node)]
    if at >= len(changes):
        return len(changes), ""
    node, change = changes[at]
    change(node)
    try:
        candidate = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
        compile(candidate, "candidate.py", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        candidate = ""
    return len(changes), candidate


_Change = Callable[[ast.AST], None]


def _changes(node: ast.AST) -> Iterator[_Change]:
    """What can be done to a node to make it smaller."""
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        suite = getattr(node, name, None)
        if not isinstance(suite, list):
            continue
        for at, statement in enumerate(suite):
            required = name in ("body", "cases") and len(suite) == 1
            if not required:
                yield _without(name, at)
            for inner in ("body", "orelse", "finalbody"):
                if isinstance(statement, ast.stmt) and isinstance(
                    getattr(statement, inner, None), list
                ):
                    yield _replaced_by(name, at, inner)
            if required and isinstance(statement, ast.stmt) and not isinstance(statement, ast.Pass):
                yield _passed(name, at)
    for name, value in ast.iter_fields(node):
        if isinstance(value, ast.BoolOp):
            for operand in value.values:
                yield _set(name, operand)
        elif isinstance(value, ast.IfExp):
            yield _set(name, value.body)
            yield _set(name, value.orelse)
        elif isinstance(value, ast.UnaryOp):
            yield _set(name, value.operand)


def _without(name: str, at: int) -> _Change:
    def change(node: ast.AST) -> None:
        del getattr(node, name)[at]

    return change


def _replaced_by(name: str, at: int, inner: str) -> _Change:
    def change(node: ast.AST) -> None:
        suite = getattr(node, name)
        suite[at : at + 1] = getattr(suite[at], inner)

    return change


def _passed(name: str, at: int) -> _Change:
    def change(node: ast.AST) -> None:
        getattr(node, name)[at] = ast.Pass()

    return change


def _set(name: str, value: ast.expr) -> _Change:
    def change(node: ast.AST) -> None:
        setattr(node, name, value)

    return change
