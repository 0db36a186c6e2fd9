"""Comments by which a file's author overrules the tool.

``# flmigrate: ignore[FL103] reason`` silences codes on its line (``ignore`` alone: all of
them), ``ignore-file`` does so in the whole file, and ``# flmigrate: keep`` protects the
statement that it stands in or above.

Codes FL701 and FL702 are about these comments themselves.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from flmigrate.analysis.context import Context
from flmigrate.findings import Finding, Span

if TYPE_CHECKING:
    from tokenize import TokenInfo

COMMENT = re.compile(
    r"#\s*flmigrate:\s*(?P<verb>ignore-file|ignore|keep)(?![\w-])"
    r"(?:\s*\[(?P<codes>[^\]]*)\])?(?P<reason>[^#]*)"
)


class Comment(NamedTuple):
    """One overruling comment: where it is, what it names, and what it protects.

    ``codes`` is empty for a comment that is about all of them. ``protects`` is the statement
    of a ``keep``; for an ``ignore`` it is ``None``.
    """

    verb: str
    codes: frozenset[str]
    reason: str
    line: int
    span: Span
    protects: Span | None = None

    def silences(self, finding: Finding) -> bool:
        """Whether the comment speaks of the finding."""
        if self.verb == "keep":
            return self.protects is not None and self.protects.contains(finding.span)
        here = self.verb == "ignore-file" or finding.line <= self.line <= finding.end_line
        return here and (not self.codes or finding.code in self.codes)


@dataclass(slots=True, eq=False)
class Suppressions:
    """The suppressions of one file: codes by line, protected spans, and each comment.

    ``everywhere`` are the codes that are silent in the whole file; ``None`` where no comment
    says so, and empty for all of them.
    """

    ignored: dict[int, frozenset[str]] = field(default_factory=dict)
    kept: list[Span] = field(default_factory=list)
    everywhere: frozenset[str] | None = None
    comments: list[Comment] = field(default_factory=list)

    def silences(self, finding: Finding) -> bool:
        """Whether a comment on one of the finding's lines, or for the file, names its code."""
        if self.everywhere is not None and _names(self.everywhere, finding):
            return True
        for line in range(finding.line, finding.end_line + 1):
            codes = self.ignored.get(line)
            if codes is not None and _names(codes, finding):
                return True
        return False


def _names(codes: frozenset[str], finding: Finding) -> bool:
    return not codes or finding.code in codes


def read_suppressions(context: Context) -> Suppressions:
    """Find the suppressions of a file; quick where there are none."""
    found = Suppressions()
    text = context.source.text
    if "flmigrate:" not in text or not COMMENT.search(text):
        return found
    for token in comments(text):
        line, column = token.start
        # Comments for several tools may share a line: ``# pragma: no cover  # flmigrate: keep``.
        for match in COMMENT.finditer(token.string):
            found.comments.append(_comment(context, line, column, match))
    for comment in found.comments:
        if comment.protects is not None:
            found.kept.append(comment.protects)
        elif comment.verb == "ignore":
            known = found.ignored.get(comment.line, comment.codes)
            found.ignored[comment.line] = _both(known, comment.codes)
        elif comment.verb == "ignore-file":
            everywhere = comment.codes if found.everywhere is None else found.everywhere
            found.everywhere = _both(everywhere, comment.codes)
    if found.everywhere is not None and not found.everywhere:
        found.kept.append(Span(0, len(text)))
    return found


def _both(one: frozenset[str], other: frozenset[str]) -> frozenset[str]:
    """The codes of two comments; no codes are all of them."""
    return one | other if one and other else frozenset()


def _comment(context: Context, line: int, column: int, match: re.Match[str]) -> Comment:
    start = context.source.starts[line - 1] + column + match.start()
    text = match.group().rstrip()
    named = (match["codes"] or "").upper().split(",")
    protects = None
    if match["verb"] == "keep":
        alone = not context.source.line_text(line)[:column].strip()
        protects = _statement_below(context, line) if alone else _statement_at(context, line)
    return Comment(
        match["verb"],
        frozenset(code.strip() for code in named if code.strip()),
        match["reason"].strip(" \t\f:-"),
        line,
        Span(start, start + len(text)),
        protects,
    )


def comment_findings(
    context: Context,
    comments: Sequence[Comment],
    silenced: Collection[Finding],
    unknown: Callable[[str], bool],
    *,
    require_reason: bool,
) -> Iterator[Finding]:
    """What is wrong with the comments of a file: FL701 (unused), FL702 (no reason).

    ``silenced`` are the findings that the file would have without them, ``unknown`` says of a
    code that nobody looked for it.
    """
    for comment in comments:
        useful = [finding for finding in silenced if comment.silences(finding)]
        used = {finding.code for finding in useful}
        unused = sorted(code for code in comment.codes - used if not unknown(code))
        if comment.codes and unused:
            message = f"nothing to {comment.verb} here: {', '.join(unused)}"
            yield context.finding("FL701", message, comment.span)
        elif not comment.codes and not useful:
            yield context.finding("FL701", f"nothing to {comment.verb} here", comment.span)
        if require_reason and not comment.reason:
            message = f"{comment.verb} without a reason; write it behind the comment"
            yield context.finding("FL702", message, comment.span)


def comments(text: str) -> Iterator[TokenInfo]:
    """The comments of a source."""
    import io
    import tokenize  # 10 ms, for files with suppressions only

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
