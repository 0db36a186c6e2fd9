"""What every test of a codemod checks besides the text that it expects.

`check` carries out edits and asserts, silently, that the result parses; that the changes it
reports are what leads from the old text to the new; that no comment is lost but those the
case names; that lines without an edit are the same; and that LibCST, given the whole module
at once and nothing but its tree to put statements in, comes to the same text.
"""

from __future__ import annotations

import ast
import io
import itertools
import re
import tokenize
from collections import Counter
from collections.abc import Sequence

import libcst as cst
import pytest

from flmigrate.analysis.source import line_starts
from flmigrate.codemods import EditError, codemod_for
from flmigrate.codemods.finder import Finder
from flmigrate.codemods.islands import Applied, apply_edits
from flmigrate.codemods.layout import Layout
from flmigrate.codemods.positions import Positions
from flmigrate.codemods.site import Replacement
from flmigrate.codemods.surgeon import Surgeon
from flmigrate.findings import Edit, Import, Span, Statement

_BLANK = r"(?:[ \t]|\\\r?\n)*"


def at(text: str, part: str, nth: int = 0) -> Span:
    """The span of the ``nth`` time (from 0) that ``part`` stands in ``text``."""
    start = -1
    for _ in range(nth + 1):
        start = text.index(part, start + 1)
    return Span(start, start + len(part))


def marked(source: str) -> tuple[str, list[Span]]:
    """A text and its spans from a source that has ``«`` and ``»`` around each, outer first."""
    text = ""
    starts: list[int] = []
    spans: list[Span] = []
    for character in source:
        if character == "«":
            starts.append(len(text))
        elif character == "»":
            spans.append(Span(starts.pop(), len(text)))
        else:
            text += character
    return text, sorted(spans, key=lambda span: (span.start, -span.end))


def check(
    before: str,
    edits: Sequence[Edit],
    after: str,
    *,
    loses: Sequence[str] = (),
    gains: Sequence[str] = (),
    whole_module: bool = True,
) -> Applied:
    """Assert that ``edits`` make ``after`` of ``before``, and all that goes without saying.

    ``loses`` and ``gains`` are the comments that go and come. ``whole_module=False`` is for
    files that LibCST does not read.
    """
    applied = apply_edits(before, ast.parse(before), edits)
    assert applied.text == after
    ast.parse(applied.text)
    _check_changes(before, applied)
    kept = Counter(_comments(before)) - Counter(loses) + Counter(gains)
    assert Counter(_comments(after)) == kept
    _check_other_lines(before, edits, after)
    if whole_module:
        oracle = edit_whole_module(before, edits)
        if any(isinstance(edit, (Import, Statement)) for edit in edits):
            assert _without_blanks(after) == _without_blanks(oracle)
        else:
            assert after == oracle
    return applied


def refuses(before: str, edits: Sequence[Edit], message: str) -> EditError:
    """Assert that ``edits`` are refused with ``message`` (a regular expression)."""
    with pytest.raises(EditError, match=message) as caught:
        apply_edits(before, ast.parse(before), edits)
    error = caught.value
    assert 0 <= error.span.start <= error.span.end <= len(before)
    return error


def _check_changes(before: str, applied: Applied) -> None:
    done = 0
    pieces = []
    for span, new in applied.changes:
        assert done <= span.start <= span.end <= len(before)
        old = before[span.start : span.end]
        assert old != new
        # Nothing is reported that is the same at both ends, down to single tokens.
        assert not old[:1] or not new[:1] or old[0] != new[0] or old[0].isidentifier()
        pieces += [before[done : span.start], new]
        done = span.end
    assert "".join([*pieces, before[done:]]) == applied.text


def _comments(text: str) -> list[str]:
    tokens = tokenize.generate_tokens(io.StringIO(text, newline="").readline)
    return [token.string.rstrip() for token in tokens if token.type == tokenize.COMMENT]


def _lines(text: str) -> list[str]:
    starts = [*line_starts(text), len(text)]
    return [text[a:b] for a, b in itertools.pairwise(starts)]


def _check_other_lines(before: str, edits: Sequence[Edit], after: str) -> None:
    """Lines that no edit touches are there, as they were and in the same order."""
    remaining = iter(_lines(after))
    start = 0
    for line in _lines(before):
        end = start + len(line)
        edited = any(edit.span.start < end and start <= edit.span.end for edit in edits)
        if not edited and line.strip():
            content = line.rstrip("\r\n")
            assert any(other.rstrip("\r\n") == content for other in remaining), line
        start = end


def _without_blanks(text: str) -> list[str]:
    """Lines without what LibCST's tree of statements does not tell.

    These are the blank lines between statements, and the blanks around semicolons.
    """
    text = re.sub(rf"{_BLANK};{_BLANK}", "; ", text)
    text = re.sub(r"(; )?[ \t]*#", "  #", text)
    return [line.rstrip("; \t\r\n") for line in _lines(text) if line.strip()]


# --- the oracle ----------------------------------------------------------------------------


def edit_whole_module(before: str, edits: Sequence[Edit]) -> str:
    """Carry out ``edits`` on the tree of the whole module."""
    module = cst.parse_module(before)
    layout = Layout(Positions(before, line_starts(before)), ast.parse(before))
    finder = Finder(module, before, edits)
    return module.visit(_Whole(edits, finder, before, layout.indent_unit)).code


class _Whole(Surgeon):
    """Puts whole statements in and out of the tree, too."""

    def __init__(self, edits: Sequence[Edit], finder: Finder, text: str, unit: str) -> None:
        super().__init__(edits, finder, text, unit)
        self.statements: dict[cst.CSTNode, Import | Statement] = {}
        self.replaced: dict[cst.CSTNode, Replacement] = {}
        way = set(self.way)
        for edit in edits:
            if isinstance(edit, (Import, Statement)):
                find = next(
                    find
                    for find in finder.at[edit.span.start, edit.span.end]
                    if isinstance(find.node, cst.BaseSmallStatement)
                )
                self.statements[find.node] = edit
                way.update(find.ancestors, [find.node])
        self.way = frozenset(way)

    def on_leave(  # type: ignore[override]
        self, original_node: cst.CSTNode, updated_node: cst.CSTNode
    ) -> cst.CSTNode:
        node = super().on_leave(original_node, updated_node)
        edit = self.statements.get(original_node)
        if edit is not None:
            site = self.site(original_node, node, edit)
            self.replaced[original_node] = codemod_for(type(edit))(node, edit, site)
        if isinstance(original_node, cst.SimpleStatementSuite):
            return self._suite(original_node, node)
        if isinstance(original_node, (cst.Module, cst.IndentedBlock)):
            return self._block(original_node, node)
        return node

    def _lines_of(
        self, original: cst.SimpleStatementLine | cst.SimpleStatementSuite, node: cst.CSTNode
    ) -> tuple[list[cst.BaseStatement], bool]:
        """The statements in the place of a line, and whether its comment stays."""
        assert isinstance(node, (cst.SimpleStatementLine, cst.SimpleStatementSuite))
        rows: list[list[cst.BaseSmallStatement]] = [[]]
        lines: list[cst.BaseStatement] = []
        comment_stays = False

        def flush() -> None:
            if rows[-1]:
                row = [
                    each.with_changes(semicolon=cst.MaybeSentinel.DEFAULT)
                    if each is rows[-1][-1]
                    else each
                    for each in rows[-1]
                ]
                lines.append(cst.SimpleStatementLine(row))
                rows.append([])

        for old, small in zip(original.body, node.body, strict=True):
            replacement = self.replaced.get(old)
            if replacement is None:
                rows[-1].append(small)
                comment_stays = True
                continue
            alone = len(original.body) == 1
            for part in (replacement.above, replacement.here, replacement.below):
                comment_stays = comment_stays or (bool(part) and part is not replacement.above)
                for statement in part:
                    own_line = part is replacement.above or alone or replacement.block
                    if own_line:
                        flush()
                        lines.append(statement)
                    else:
                        assert isinstance(statement, cst.SimpleStatementLine)
                        rows[-1] += statement.body
        flush()
        return lines, comment_stays

    def _suite(self, original: cst.SimpleStatementSuite, node: cst.CSTNode) -> cst.CSTNode:
        assert isinstance(node, cst.SimpleStatementSuite)
        if not any(small in self.replaced for small in original.body):
            return node
        lines, _ = self._lines_of(original, node)
        replaced = [self.replaced[small] for small in original.body if small in self.replaced]
        if any(replacement.block or replacement.above for replacement in replaced):
            lines[-1] = _with_comment(lines[-1], node.trailing_whitespace)
            return cst.IndentedBlock(lines, indent=self.indent_unit)
        small: list[cst.BaseSmallStatement] = []
        for line in lines:
            assert isinstance(line, cst.SimpleStatementLine)
            small += line.body
        return node.with_changes(body=small or [cst.Pass()])

    def _block(self, original: cst.Module | cst.IndentedBlock, node: cst.CSTNode) -> cst.CSTNode:
        assert isinstance(node, (cst.Module, cst.IndentedBlock))
        assert isinstance(original, (cst.Module, cst.IndentedBlock))
        body: list[cst.BaseStatement] = []
        above: list[cst.EmptyLine] = []
        for old, statement in zip(original.body, node.body, strict=True):
            assert isinstance(statement, (cst.SimpleStatementLine, cst.BaseCompoundStatement))
            above += statement.leading_lines
            new: Sequence[cst.BaseStatement] = [statement]
            if isinstance(old, cst.SimpleStatementLine) and any(
                small in self.replaced for small in old.body
            ):
                new = self._line(old, statement)
            if new:
                first = new[0]
                assert isinstance(first, (cst.SimpleStatementLine, cst.BaseCompoundStatement))
                own = first.leading_lines if first is not statement else ()
                body += [first.with_changes(leading_lines=[*above, *own]), *new[1:]]
                above = []
        if isinstance(node, cst.Module):
            return node.with_changes(body=body, footer=[*above, *node.footer])
        if not body:
            body, above = [cst.SimpleStatementLine([cst.Pass()], leading_lines=above)], []
        return node.with_changes(body=body, footer=[*above, *node.footer])

    def _line(
        self, original: cst.SimpleStatementLine, node: cst.CSTNode
    ) -> Sequence[cst.BaseStatement]:
        assert isinstance(node, cst.SimpleStatementLine)
        lines, comment_stays = self._lines_of(original, node)
        if not comment_stays or not lines:
            return lines
        # The comment stays where the statement was: above what only came to stand below.
        below = sum(
            len(self.replaced[small].below)
            for small in original.body
            if small in self.replaced and len(original.body) == 1
        )
        at = len(lines) - 1 - below
        lines[at] = _with_comment(lines[at], node.trailing_whitespace)
        return lines


def _with_comment(line: cst.BaseStatement, trailing: cst.TrailingWhitespace) -> cst.BaseStatement:
    """``line`` with the comment of the line that it replaces, if it has none of its own."""
    if isinstance(line, cst.SimpleStatementLine) and not line.trailing_whitespace.comment:
        return line.with_changes(trailing_whitespace=trailing)
    return line
