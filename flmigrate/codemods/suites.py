"""Where in its suite a whole statement is."""

from __future__ import annotations

import ast
import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from flmigrate.codemods.errors import EditError
from flmigrate.codemods.positions import Positions
from flmigrate.findings import Span


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """The statement ``suite[index]``; ``owner`` has the suite, and is ``None`` for the module."""

    suite: Sequence[ast.stmt]
    index: int
    owner: ast.AST | None


def find_place(tree: ast.Module, positions: Positions, span: Span) -> Place:
    """The place of the statement at ``span``.

    Raises ``EditError`` when no statement has that span, or when it is an ``elif``.
    """
    suite: Sequence[ast.stmt] = tree.body
    owner: ast.AST | None = None
    while True:
        index = bisect.bisect_right(suite, span.start, key=positions.start) - 1
        if index < 0:
            break
        statement = suite[index]
        if Span(positions.start(statement), positions.end(statement)) == span:
            if positions.text.startswith("elif", span.start) and isinstance(statement, ast.If):
                raise EditError("an 'elif' is a part of its chain", span)
            return Place(suite, index, owner)
        below = [
            (positions.start(body[0]), part, body) for part, body in _suites(statement) if body
        ]
        inside = [each for each in below if each[0] <= span.start]
        if not inside:
            break
        _, owner, suite = inside[-1]
    raise EditError("the edit is not of one whole statement", span)


def _suites(statement: ast.stmt) -> Iterator[tuple[ast.AST, Sequence[ast.stmt]]]:
    """The suites of a compound statement in source order, with the nodes that have them."""
    yield statement, getattr(statement, "body", ())
    for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield part, part.body
    yield statement, getattr(statement, "orelse", ())
    yield statement, getattr(statement, "finalbody", ())
