"""Which statements can never run, because what stands before them never comes to its end."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_LEAVING = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_TRY = (ast.Try, *((ast.TryStar,) if hasattr(ast, "TryStar") else ()))
_SUITES = ("body", "orelse", "finalbody")


def leaves(suite: Sequence[ast.stmt], *, ending: ast.stmt | None = None) -> bool:
    """Whether the flow never comes to the end of a suite.

    ``ending`` is a statement that is taken never to come to its end, whatever it is. Loops and
    ``with`` are taken to come to theirs: a manager may swallow what its body raises.
    """
    return any(_leaves(statement, ending) for statement in suite)


def _leaves(statement: ast.stmt, ending: ast.stmt | None) -> bool:
    if statement is ending or isinstance(statement, _LEAVING):
        return True
    if isinstance(statement, ast.If):
        while leaves(statement.body, ending=ending):  # along the elifs
            below = statement.orelse
            if len(below) != 1 or not isinstance(below[0], ast.If) or below[0] is ending:
                return leaves(below, ending=ending)
            statement = below[0]
        return False
    if isinstance(statement, _TRY):
        if leaves(statement.finalbody, ending=ending):
            return True
        suites = [[*statement.body, *statement.orelse]]
        suites += [handler.body for handler in statement.handlers]
        return all(leaves(suite, ending=ending) for suite in suites)
    if isinstance(statement, ast.Match):
        last = statement.cases[-1]
        catches = last.guard is None and isinstance(last.pattern, ast.MatchAs)
        if not catches or getattr(last.pattern, "pattern", None) is not None:
            return False
        return all(leaves(case.body, ending=ending) for case in statement.cases)
    return False


def unreached(function: ast.AST) -> Iterator[list[ast.stmt]]:
    """Runs of statements of a function that can never run, those of functions inside aside."""
    waiting: list[ast.AST] = [function]
    while waiting:
        owner = waiting.pop()
        for suite in _suites(owner):
            end = next((i for i, s in enumerate(suite) if _leaves(s, None)), len(suite) - 1)
            if suite[end + 1 :]:
                yield suite[end + 1 :]
            inside = suite[: end + 1]
            waiting += [s for s in inside if not isinstance(s, (*_FUNCTIONS, ast.ClassDef))]


def cut_off(parents: Mapping[ast.AST, ast.AST], statement: ast.stmt) -> list[ast.stmt]:
    """What could never run if a statement never came to its end; in no particular order.

    This is what follows it in its suite, and what follows the statements around it where none
    of their other suites comes to its end.
    """
    found: list[ast.stmt] = []
    current: ast.stmt = statement
    while True:
        owner = parents.get(current)
        suite = next((s for s in _suites(owner) if current in s), None)
        if suite is None or owner is None:
            return found
        found += suite[suite.index(current) + 1 :]
        if isinstance(owner, ast.ExceptHandler | ast.match_case):
            owner = parents.get(owner)
        if not isinstance(owner, ast.stmt) or not _leaves(owner, statement):
            return found
        current = owner


def _suites(owner: ast.AST | None) -> Iterator[list[ast.stmt]]:
    for name in _SUITES:
        suite = getattr(owner, name, None)
        if isinstance(suite, list):
            yield suite
    for part in (*getattr(owner, "handlers", ()), *getattr(owner, "cases", ())):
        yield part.body
