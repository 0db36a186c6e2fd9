"""Comments by which a file's author overrules the tool.

``# flmigrate: ignore[FL103] reason`` silences codes on its line (``ignore`` alone: all of
them), ``# flmigrate: keep`` protects the statement that it stands in or above.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass, field

from flmigrate.analysis.context import Context
from flmigrate.findings import Finding, Span

_COMMENT = re.compile(r"#\s*flmigrate:\s*(?P<verb>ignore|keep)\b(?:\s*\[(?P<codes>[^\]]*)\])?")


@dataclass(slots=True)
class Suppressions:
    """The suppressions of one file: codes by line, and protected spans."""

    ignored: dict[int, frozenset[str]] = field(default_factory=dict)
    kept: list[Span] = field(default_factory=list)

    def silences(self, finding: Finding) -> bool:
        """Whether a comment on one of the finding's lines names its code."""
        for line in range(finding.line, finding.end_line + 1):
            codes = self.ignored.get(line)
            if codes is not None and (not codes or finding.code in codes):
                return True
        return False


def read_suppressions(context: Context) -> Suppressions:
    """Find the suppressions of a file; quick where there are none."""
    found = Suppressions()
    text = context.source.text
    if "flmigrate:" not in text or not _COMMENT.search(text):
        return found
    for token in comments(text):
        line, column = token.start
        # Comments for several tools may share a line: ``# pragma: no cover  # flmigrate: keep``.
        for match in _COMMENT.finditer(token.string):
            if match["verb"] == "keep":
                alone = not context.source.line_text(line)[:column].strip()
                span = _statement_below(context, line) if alone else _statement_at(context, line)
                if span is not None:
                    found.kept.append(span)
            else:
                named = (match["codes"] or "").upper().split(",")
                codes = frozenset(code.strip() for code in named if code.strip())
                known = found.ignored.get(line, codes)
                found.ignored[line] = codes | known if codes and known else frozenset()
    return found


def comments(text: str) -> Iterator[tokenize.TokenInfo]:
    """The comments of a source."""
    try:
        for token in tokenize.generate_tokens(io.StringIO(text, newline="").readline):
            if token.type == tokenize.COMMENT:
                yield token
    except (tokenize.TokenError, SyntaxError):
        return  # what the tokenizer could read before that still counts


def _statement_below(context: Context, line: int) -> Span | None:
    """The statement that follows a comment; blank lines and other comments may come between."""
    source = context.source
    for below in range(line + 1, len(source.starts) + 1):
        text = source.line_text(below).strip()
        if text and not text.startswith("#"):
            return _statement_at(context, below)
    return None


def _statement_at(context: Context, line: int) -> Span | None:
    """The outermost statement that starts on a line, else the innermost that covers it."""
    covering: Span | None = None
    waiting: list[ast.AST] = [context.source.tree]
    while waiting:
        for child in ast.iter_child_nodes(waiting.pop()):
            if isinstance(child, ast.ExceptHandler | ast.match_case):
                waiting.append(child)
            if not isinstance(child, ast.stmt):
                continue
            span = _span(context, child)
            first, last = (context.source.position(at)[0] for at in (span.start, span.end))
            if first == line:
                return span
            if first < line <= last:
                covering, waiting = span, [child]
                break
    return covering


def _span(context: Context, statement: ast.stmt) -> Span:
    """The span of a statement with its decorators."""
    span = context.source.span(statement)
    decorators = getattr(statement, "decorator_list", None)
    if not decorators:
        return span
    first = context.source.start(decorators[0])
    return Span(context.source.text.rindex("@", 0, first), span.end)
