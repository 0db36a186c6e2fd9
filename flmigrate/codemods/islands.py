"""Where LibCST looks: the statements, and the headers of statements, that are edited.

LibCST parses ten times slower than `ast` and refuses some files that Python accepts. So it
sees *islands* only: one simple statement, or the header of a compound statement from its
first decorator or keyword to the colon. Everything else in a file is never printed anew.

`apply_edits` is the way in: it finds the islands, has `surgery` edit each with LibCST, and
splices the outcome back into the text.
"""

from __future__ import annotations

import ast
import bisect
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from flmigrate.analysis.source import first_line_end, line_starts
from flmigrate.codemods.changes import Change, minimal, splice
from flmigrate.codemods.errors import EditError
from flmigrate.codemods.layout import Layout, Outcome
from flmigrate.codemods.nesting import check_nesting
from flmigrate.codemods.positions import Positioned, Positions, is_positioned, positioned_below
from flmigrate.findings import Branch, Edit, Import, Removal, Span

_COLON = re.compile(r"(?:[^:#]|#[^\r\n]*)*:")
_LONE_CR = re.compile(r"\r(?!\n)")


@dataclass(frozen=True, slots=True)
class Applied:
    """A text after its edits.

    ``changes`` lead from the old text to ``text``: spans of the old text with what stands
    there now, sorted, disjoint, and cut down to the lines or tokens that differ. ``tree`` is that
    of ``text``, where it was parsed already.
    """

    text: str
    changes: tuple[Change, ...]
    tree: ast.Module | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Suite:
    """A run of statements: the module's, or one below a header.

    ``owner`` is the offset of the keyword of the statement that the suite belongs to;
    ``None`` for the module.
    """

    statements: Sequence[ast.stmt]
    owner: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Island:
    """A piece of source that LibCST parses by itself.

    ``before`` and ``after`` are put around ``span``'s text to make a module of it. ``edits``
    are positions in the sequence that `find_islands` was given. ``suite`` and ``index`` say
    which simple statement this is; a header has no suite.
    """

    span: Span
    edits: tuple[int, ...]
    before: str = ""
    after: str = ""
    suite: Suite | None = None
    index: int = 0


def find_islands(
    text: str, tree: ast.Module, starts: Sequence[int], spans: Sequence[Span]
) -> list[Island]:
    """The islands that hold ``spans``, in source order.

    ``tree`` is ``ast.parse(text)`` and ``starts`` are the offsets of its lines. Raises
    ``EditError`` for a span that is not inside one simple statement or one header.
    """
    positions = Positions(text, starts)
    order = sorted(range(len(spans)), key=lambda i: spans[i])
    found: list[Island] = []
    todo = [(Suite(tree.body), order)]
    # A stack, not recursion: a chain of elifs is as deep as it is long.
    while todo:
        suite, members = todo.pop()
        for index, inside in _by_statement(suite, members, spans, positions):
            statement = suite.statements[index]
            if isinstance(statement, _COMPOUND):
                headers, suites = _split(statement, inside, spans, positions)
                found += headers
                todo += suites
            else:
                span = Span(positions.start(statement), positions.end(statement))
                found.append(Island(span, tuple(inside), suite=suite, index=index))
    found.sort(key=lambda island: island.span)
    for island in found:
        for i in island.edits:
            if not island.span.contains(spans[i]):
                raise EditError("the edit crosses the border of a statement", spans[i])
    return found


def apply_edits(text: str, tree: ast.Module, edits: Sequence[Edit]) -> Applied:
    """Carry out ``edits``, all of them, on a text without BOM whose tree is ``tree``.

    Raises ``EditError`` when one of them cannot be carried out exactly; nothing is changed
    then.
    """
    if not edits:
        return Applied(text, ())
    starts = line_starts(text)
    check_nesting(edits)
    branches = [edit for edit in edits if isinstance(edit, Branch)]
    if branches:
        from flmigrate.codemods.branches import take_branches

        moved, after = take_branches(Positions(text, starts), tree, branches)
        rest = [edit for edit in edits if not isinstance(edit, Branch)]
        others = apply_edits(text, tree, rest).changes
        moved = [small for change in moved for small in minimal(text, change)]
        made = sorted([*moved, *others])
        return Applied(splice(text, made), tuple(made), None if others else after)
    whole = [edit for edit in edits if isinstance(edit, Removal)]
    edits = [edit for edit in edits if not isinstance(edit, Removal)]
    added, edits = _additions(Positions(text, starts), tree, edits)
    if whole:
        from flmigrate.codemods.removal import remove_statements

        added += remove_statements(Positions(text, starts), tree, whole)
    if not edits:
        added = [small for change in sorted(added) for small in minimal(text, change)]
        return Applied(splice(text, added), tuple(added))
    from flmigrate.codemods.surgery import operate  # imports LibCST

    islands = find_islands(text, tree, starts, [edit.span for edit in edits])
    layout = Layout(Positions(text, starts), tree)
    changes: list[Change] = []
    outcomes: list[tuple[Island, Outcome]] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # invalid escapes are the author's business
        for island in islands:
            _refuse_lone_cr(text, island.span)
            try:
                outcome = operate(text, island, [edits[i] for i in island.edits], layout)
            except (RecursionError, MemoryError) as error:
                raise EditError("the statement is nested too deeply", island.span) from error
            if isinstance(outcome, str):
                changes.append((island.span, outcome))
            else:
                outcomes.append((island, outcome))
    changes = layout.place(outcomes, changes)
    changes = [small for change in sorted([*changes, *added]) for small in minimal(text, change)]
    return Applied(splice(text, changes), tuple(changes))


def _additions(
    positions: Positions, tree: ast.Module, edits: Sequence[Edit]
) -> tuple[list[Change], list[Edit]]:
    """Imports put before a compound statement of the module, and the edits that are left.

    Such an edit changes nothing of the statement, so its lines are simply put above it.
    """
    compound = {positions.start(s): s for s in tree.body if isinstance(s, _COMPOUND)}
    newline = first_line_end(positions.text)
    added: list[Change] = []
    rest: list[Edit] = []
    for edit in edits:
        only_adds = isinstance(edit, Import) and not (edit.remove or edit.move or edit.free)
        if only_adds and isinstance(edit, Import) and edit.span.start in compound:
            start = positions.line_start(edit.span.start)
            if positions.text[start : edit.span.start].strip():
                raise EditError("the statement shares its line", edit.span)
            added.append((Span(start, start), "".join(line + newline for line in edit.add)))
        else:
            rest.append(edit)
    return added, rest


def _refuse_lone_cr(text: str, span: Span) -> None:
    # LibCST reads a lone carriage return as a line end and prints another one.
    found = _LONE_CR.search(text, span.start, span.end)
    if found:
        raise EditError("the statement contains a lone carriage return", span)


# --- statements and headers ----------------------------------------------------------------

_COMPOUND = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.If,
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.With,
    ast.AsyncWith,
    ast.Try,
    *((ast.TryStar,) if hasattr(ast, "TryStar") else ()),
    ast.Match,
)


def _by_statement(
    suite: Suite, members: Sequence[int], spans: Sequence[Span], positions: Positions
) -> Iterator[tuple[int, list[int]]]:
    """Which statement of a suite each span lies in."""
    statements = suite.statements
    last_lines = [statement.end_lineno or 0 for statement in statements]
    groups: dict[int, list[int]] = {}
    for member in members:
        start = spans[member].start
        line = bisect.bisect_right(positions.starts, start)
        index = bisect.bisect_left(last_lines, line)
        # Statements that share a line are told apart by their columns.
        while index < len(statements) and positions.end(statements[index]) <= start:
            index += 1
        if index == len(statements) or first_offset(statements[index], positions) > start:
            raise EditError("there is no statement here", spans[member])
        groups.setdefault(index, []).append(member)
    yield from groups.items()


def first_offset(statement: ast.stmt, positions: Positions) -> int:
    """Where a statement starts, its decorators included."""
    decorators = getattr(statement, "decorator_list", None)
    if decorators:
        return _keyword(positions, positions.start(decorators[0]), "@")
    return positions.start(statement)


def _keyword(positions: Positions, offset: int, keyword: str) -> int:
    """Where the line starts with ``keyword`` that leads up to the expression at ``offset``.

    Only opening parentheses, blanks and comments stand between the two.
    """
    pattern = re.compile(rf"[ \t\f]*({keyword})[\s(\\]*(?:#.*)?")
    end = offset
    start = positions.line_start(offset)
    while True:
        found = pattern.fullmatch(positions.text[start:end].rstrip("\r\n"))
        if found:
            return start + found.start(1)
        if start == 0:
            raise EditError(f"no {keyword!r} leads up to this place", Span(offset, offset + 1))
        end, start = start, positions.line_start(start - 1)


def _split(
    statement: ast.stmt, members: Sequence[int], spans: Sequence[Span], positions: Positions
) -> tuple[list[Island], list[tuple[Suite, list[int]]]]:
    """Share the spans inside a compound statement out to its headers and its suites."""
    owner = positions.start(statement)
    # Header (start offset, builder) and suite alternate; a span belongs to the last part
    # that starts at or before it.
    parts: list[tuple[int, ast.AST | Suite]] = [(first_offset(statement, positions), statement)]

    def add_suite(statements: Sequence[ast.stmt], owner: int = owner) -> None:
        if statements:
            parts.append((first_offset(statements[0], positions), Suite(statements, owner)))

    if isinstance(statement, ast.Match):
        for case in statement.cases:
            keyword = _keyword(positions, positions.start(case.pattern), "case")
            parts.append((keyword, case))
            add_suite(case.body, keyword)
    else:
        add_suite(getattr(statement, "body", ()))
        for handler in getattr(statement, "handlers", ()):
            parts.append((positions.start(handler), handler))
            add_suite(handler.body)
        add_suite(getattr(statement, "orelse", ()))
        add_suite(getattr(statement, "finalbody", ()))
    offsets = [offset for offset, _ in parts]
    groups: dict[int, list[int]] = {}
    for member in members:
        part = bisect.bisect_right(offsets, spans[member].start) - 1
        groups.setdefault(part, []).append(member)
    headers: list[Island] = []
    suites: list[tuple[Suite, list[int]]] = []
    for part, inside in groups.items():
        offset, what = parts[part]
        if isinstance(what, Suite):
            suites.append((what, inside))
        else:
            headers.append(_header(what, offset, inside, positions))
    return headers, suites


def _header(node: ast.AST, start: int, members: Sequence[int], positions: Positions) -> Island:
    """The island of a header whose first decorator or keyword is at ``start``."""
    text = positions.text
    last = max(
        [positions.end(child) for child in positioned_below(node) if _is_of_header(child)],
        default=start,
    )
    if is_positioned(node):
        last = max(last, positions.start(node))
    colon = _COLON.match(text, last)
    if colon is None:
        raise EditError("the header has no colon", Span(start, last))
    end = colon.end()
    before, after = "", " pass"
    if isinstance(node, ast.Match):
        after = "\n case _: pass"
    elif isinstance(node, ast.match_case):
        before = "match _:\n "
    elif isinstance(node, ast.ExceptHandler):
        before = "try: pass\n"
    elif isinstance(node, ast.If) and text.startswith("elif", start):
        start += len("el")
    elif getattr(node, "decorator_list", None):
        # The decorators and the keyword stand below each other, so the indentation counts.
        indent = text[positions.line_start(start) : start]
        before = f"if 1:\n{indent}" if indent else ""
    return Island(Span(start, end), tuple(members), before, after)


def _is_of_header(child: Positioned) -> bool:
    return not isinstance(child, (ast.stmt, ast.ExceptHandler))
