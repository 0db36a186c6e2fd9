"""Take arms out of an ``if`` chain or a ``match``, or dissolve a statement into one suite.

    if is_npu():                     ->  backend = "flagos"
        backend = "npu"
    else:
        backend = "flagos"

This works on the text: LibCST would leave continuation lines where they were, and drop
comments. What comes of it is parsed and compared with the statements that were to stay.

A comment belongs to the suite or the header that it is indented like. The comments above a
statement go only if all of it does.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from flmigrate.analysis.source import Source, first_line_end, parsed
from flmigrate.codemods.arms import Arm, arms_of, is_branch
from flmigrate.codemods.changes import Change, splice
from flmigrate.codemods.errors import EditError
from flmigrate.codemods.indentation import (
    Tokens,
    blank_start,
    indentation_at,
    lines_in,
    moved,
    tokens_of,
    width,
)
from flmigrate.codemods.positions import Positions
from flmigrate.codemods.removal import check_docstrings, comments_above, without
from flmigrate.codemods.suites import Place, find_place
from flmigrate.findings import Branch, Span

_LONE_CR = re.compile(r"\r(?!\n)")


def take_branches(
    positions: Positions, tree: ast.Module, edits: Sequence[Branch]
) -> tuple[list[Change], ast.Module]:
    """The changes that carry out ``edits`` of disjoint statements, in source order, and the tree
    of the text that comes of them.

    Raises ``EditError`` when a span is not one whole ``if`` chain or ``try``, when arms are
    not asked for as `Branch` says, when a statement shares its lines with another, when a
    comment in a replaced test would be lost, and when the result would mean something else.
    """
    changes: list[Change] = []
    removed: dict[Place, Span] = {}
    staying: dict[Place, list[ast.stmt]] = {}
    for edit in edits:
        place = find_place(tree, positions, edit.span)
        statement = _Statement(positions, place, edit)
        pieces = statement.pieces()
        if pieces is None:
            removed[place] = statement.lines_with_comments()
        else:
            changes += pieces
        staying[place] = statement.staying()
    check_docstrings(positions, staying)
    changes += without(positions, removed)
    changes.sort()
    try:
        return changes, parsed(splice(positions.text, changes))
    except (SyntaxError, RecursionError, MemoryError) as error:
        message = f"the edited statement would not be valid Python: {error}"
        raise EditError(message, edits[0].span) from error


def place_of(source: Source, edit: Branch) -> Place | None:
    """Where the statement of an edit is, if it is of a whole one."""
    try:
        return find_place(source.tree, Positions(source.text, source.starts), edit.span)
    except EditError:
        return None


def kept_suites(source: Source, edit: Branch) -> list[Span]:
    """The suites of the arms that stay; none where the edit is not of a whole statement."""
    place, positions = place_of(source, edit), Positions(source.text, source.starts)
    if place is None:
        return []
    try:
        arms = arms_of(place.suite[place.index], positions)
    except EditError:
        return []
    kept = [arms[number] for number, _ in edit.arms]
    return [Span(arm.start, positions.end(arm.body[-1])) for arm in kept]


# --- one statement -------------------------------------------------------------------------


class _Statement:
    """One statement, its arms, and those that are to stay."""

    def __init__(self, positions: Positions, place: Place, edit: Branch) -> None:
        statement = place.suite[place.index]
        if not is_branch(statement):
            raise EditError("the edit is not of one whole 'if' or 'try' statement", edit.span)
        self.positions = positions
        self.edit = edit
        self.arms = arms_of(statement, positions)
        self.lines = Span(positions.line_start(edit.span.start), self.arms[-1].lines.end)
        self.match = statement if isinstance(statement, ast.Match) else None
        if _LONE_CR.search(positions.text, self.lines.start, self.lines.end):
            raise EditError("the statement contains a lone carriage return", edit.span)
        self.indent = indentation_at(positions, edit.span.start) or ""
        self.newline = first_line_end(positions.text)
        self.chosen = self._chosen()
        self.dissolves = self.arms[0].keyword == "try" or (
            len(self.chosen) == 1 and self.chosen[0][1] is None
        )

    def _chosen(self) -> list[tuple[Arm, str | None]]:
        """The arms that stay with their new tests. Raises ``EditError`` for a wrong choice."""
        numbers = [number for number, _ in self.edit.arms]
        if numbers != sorted(set(numbers)):
            raise EditError("arms are listed in source order", self.edit.span)
        if numbers and not 0 <= numbers[0] <= numbers[-1] < len(self.arms):
            raise EditError("the statement has no such arm", self.edit.span)
        chosen = [(self.arms[number], test) for number, test in self.edit.arms]
        if self.match is not None:
            if not chosen or any(test != "" for _, test in chosen):
                raise EditError("a 'match' keeps cases as they are", self.edit.span)
            return chosen
        if self.arms[0].keyword == "try":
            keywords = [arm.keyword for arm, _ in chosen]
            if any(test for _, test in chosen):
                raise EditError("the arms of a 'try' have no test", self.edit.span)
            if len(chosen) > 1 and keywords != ["try", "else"]:
                raise EditError("a 'try' keeps one suite, or body and 'else'", self.edit.span)
            return chosen
        chosen = [(arm, None if arm.test is None and not test else test) for arm, test in chosen]
        if any(test is None for _, test in chosen[:-1]):
            raise EditError("only the last arm can have no test", self.edit.span)
        return chosen

    def pieces(self) -> list[Change] | None:
        """The changes inside the statement's lines; ``None`` when nothing of it stays."""
        if self.dissolves:
            self.chosen = [(arm, test) for arm, test in self.chosen if not _is_idle(arm.body)]
        if not self.chosen:
            return None
        tokens = tokens_of(self.positions, self.lines)
        changes: list[Change] = []
        done = self.arms[0].lines.start
        for number, (arm, test) in enumerate(self.chosen):
            if done < arm.lines.start:
                changes.append((Span(done, arm.lines.start), ""))
            if self.dissolves:
                changes += self._dissolved(arm, number == 0, tokens)
            else:
                changes += self._header(arm, number == 0, test, tokens)
            done = arm.lines.end
        if done < self.lines.end:
            changes.append((Span(done, self.lines.end), ""))
        self._check(changes)
        return changes

    def _above(self, arm: Arm, first: bool) -> Iterator[Change]:
        """The lines above a header; no blank ones stay where the statement starts."""
        line = self.positions.line_start(arm.head.start)
        above = Span(arm.lines.start, line)
        blank = Span(above.start, blank_start(self.positions, above))
        if first and blank.start < blank.end:
            yield blank, ""

    def _header(self, arm: Arm, first: bool, test: str | None, tokens: Tokens) -> Iterator[Change]:
        """Give an arm the keyword and the test that it has from now on."""
        yield from self._above(arm, first)
        if self.match is not None:
            return
        keyword = "if" if first else "elif"
        head = arm.head
        if test is None:
            if arm.test is not None:
                yield head, "else:"
        elif test:
            for comment in tokens.comments:
                if head.contains(comment):
                    lost = self.positions.text[comment.start : comment.end]
                    raise EditError(f"the comment {lost!r} would be lost", comment)
            yield head, f"{keyword} {test}:"
        elif keyword != arm.keyword:
            keyword_end = head.start + len(arm.keyword)
            yield Span(head.start, keyword_end), keyword
            yield from self._aligned(Span(keyword_end, head.end), tokens)

    def _aligned(self, head: Span, tokens: Tokens) -> Iterator[Change]:
        """Move what is aligned behind an ``elif`` that becomes ``if``."""
        positions = self.positions
        column = width(self.indent) + len("elif ")
        first, *others = lines_in(positions, head)
        ends = [c.start for c in tokens.comments if first.contains(c)]
        opened = positions.text[first.start : ends[0] if ends else first.end].rstrip()
        if opened.endswith(("(", "[", "{")):
            return  # what is inside stands on lines of its own
        for line in others:
            content = positions.text[line.start : line.end]
            blanks = content[: len(content) - len(content.lstrip(" "))]
            if line.start not in tokens.strings and len(blanks) >= column and content.strip():
                yield Span(line.start, line.start + len("el")), ""

    def _dissolved(self, arm: Arm, first: bool, tokens: Tokens) -> Iterator[Change]:
        """Move the suite of an arm to the place of the statement."""
        yield from self._above(arm, first)
        text, positions = self.positions.text, self.positions
        line = positions.line_start(arm.head.start)
        # A form feed in front of the statement stays in front of what takes its place.
        feed, form_feed, _ = text[line : arm.head.start].rpartition("\f")
        lead = feed + form_feed
        if arm.inline:
            yield Span(line, arm.start), lead + self.indent
            return
        body = Span(positions.line_end(arm.head.end), arm.lines.end)
        comment = text[arm.head.end : body.start].strip()
        if comment:
            lead += self.indent + comment + self.newline
        else:
            body = Span(blank_start(positions, body), body.end)
        old = indentation_at(positions, arm.start)
        if old is None:
            raise EditError("the suite shares its line", Span(arm.start, arm.start + 1))
        yield Span(line, body.start), lead
        yield body, moved(positions, body, tokens.strings, old, self.indent)

    def _check(self, changes: Sequence[Change]) -> None:
        """Raise ``EditError`` unless the new lines are the statements that are to stay."""
        start = self.lines.start
        inside = [(Span(s.start - start, s.end - start), new) for s, new in changes]
        source = splice(self.positions.text[start : self.lines.end], inside)
        if self.indent:
            source = f"if 1:\n{source}"
        try:
            found = ast.parse(source).body
            expected = self.staying()
        except (SyntaxError, ValueError) as error:
            message = f"the edited statement would not be valid Python: {error}"
            raise EditError(message, self.edit.span) from error
        if self.indent:
            assert isinstance(found[0], ast.If)
            found = found[0].body
        try:
            same = list(map(ast.dump, found)) == list(map(ast.dump, expected))
        except RecursionError as error:
            raise EditError("the statement is nested too deeply", self.edit.span) from error
        if not same:
            raise EditError("the statement would mean something else", self.edit.span)

    def staying(self) -> list[ast.stmt]:
        """The statements that take the place of this one."""
        if self.dissolves:
            return [statement for arm, _ in self.chosen for statement in arm.body]
        if self.match is not None:
            numbers = [number for number, _ in self.edit.arms]
            return [ast.Match(self.match.subject, [self.match.cases[n] for n in numbers])]
        below: list[ast.stmt] = []
        for arm, test in reversed(self.chosen):
            if test is None:
                below = list(arm.body)
                continue
            new = ast.parse(f"({test}\n)", mode="eval").body if test else arm.test
            assert new is not None
            below = [ast.If(new, list(arm.body), below)]
        return below

    def lines_with_comments(self) -> Span:
        """All lines of the statement, and the comments directly above it."""
        start = comments_above(self.positions, self.lines.start, self.indent)
        return Span(start, self.lines.end)


def _is_idle(body: Sequence[ast.stmt]) -> bool:
    """Whether a suite is nothing but ``pass``, or a constant that stands for it."""
    [only] = body if len(body) == 1 else [None]
    return isinstance(only, ast.Pass) or (
        isinstance(only, ast.Expr) and isinstance(only.value, ast.Constant)
    )
