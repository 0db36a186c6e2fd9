"""The last look at a rewritten file: what must hold, or the file stays as it was."""

from __future__ import annotations

import ast
import builtins
import sys
import warnings
from collections.abc import Iterator, Sequence

from flmigrate.analysis.context import Context
from flmigrate.analysis.source import Source, parsed
from flmigrate.analysis.vocabulary import Vocabulary


class GuardError(Exception):
    """The guard refused a rewrite; the file stays as it was."""


def guard_names(before: Context, after: Context) -> None:
    """Refuse a rewrite that leaves a name without the import that bound it."""
    lost = _unbound_names(after) - _unbound_names(before)
    if lost:
        raise GuardError(f'the rewrite would leave "{min(lost)}" without its import')


def _unbound_names(context: Context) -> set[str]:
    """Names that are read where nothing binds them; none are known behind a star import."""
    scopes = context.scopes
    if scopes.stars:
        return set()
    return {name for name in scopes.unbound if not hasattr(builtins, name)}


def is_whole(before: str, after: str, vocabulary: Vocabulary) -> bool:
    """Whether a text made of some of a rewrite's changes is a program, with all its names."""
    contexts: list[Context] = []
    try:
        contexts += (Context(Source(text), vocabulary) for text in (before, after))
        guard_names(*contexts)
        guard_compilation(*contexts)
    except (SyntaxError, GuardError):
        return False
    finally:
        for context in contexts:
            context.release()
    return True


def guard_compilation(before: Context, after: Context) -> None:
    """Refuse a rewrite that parses but is not a program any more (a keyword given twice)."""
    why = _not_compiled(after)
    if why is not None and _not_compiled(before) is None:
        raise GuardError(f"the new text would not compile: {why}")


def _not_compiled(context: Context) -> str | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            # The cells of a notebook may wait, and so may what ``python -m asyncio`` is given.
            flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
            compile(context.source.tree, context.source.path, "exec", flags, dont_inherit=True)
        except (SyntaxError, ValueError) as error:
            return getattr(error, "msg", None) or str(error)
        except (RecursionError, MemoryError):
            return None  # deeper than the compiler goes, before the rewrite as well as after
    return None


def guard_notes(source: Source, text: str, growth: Sequence[tuple[int, int]]) -> None:
    """Refuse notes that would be more than comments.

    ``text`` is that of ``source`` with the notes; ``growth`` says by how many characters it grew
    up to which offsets of ``source``. Only what stands around notes is parsed again.
    """
    for start, end, body in _segments(source):
        if not any(start <= at < end for at, _ in growth):
            continue
        first, last = (
            offset + sum(size for at, size in growth if at < offset) for offset in (start, end)
        )
        try:
            noted = parsed(text[first:last], source.path)
        except (SyntaxError, RecursionError, MemoryError) as error:
            raise GuardError(f"the text with notes does not parse: {error}") from error
        if _statements(noted.body) != _statements(body):
            raise GuardError("a note would have changed the program")


def _segments(source: Source) -> Iterator[tuple[int, int, list[ast.stmt]]]:
    """The module cut between logical lines: start, end (the last is open), statements."""
    start, body = 0, list[ast.stmt]()
    for statement in source.tree.body:
        last = body[-1].end_lineno or 0 if body else 0
        decorators = getattr(statement, "decorator_list", ())
        line = min(node.lineno for node in (statement, *decorators))
        if body and line > last and not source.line_text(last).endswith("\\"):
            yield start, source.starts[last], body
            start, body = source.starts[last], []
        body.append(statement)
    yield start, sys.maxsize, body


def _statements(body: Sequence[ast.stmt]) -> list[tuple[type, int]]:
    """Kinds and lengths of all statements: what a comment in the wrong place would change."""
    found: list[tuple[type, int]] = []
    stack: list[ast.AST] = list(body)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            value = node.value.value
            found.append((type(value), len(value) if isinstance(value, str) else 0))
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                stack.extend(block)
        found.append((type(node), len(getattr(node, "targets", ()))))
    return found
