"""Exact positions for the expressions inside f-strings.

Before Python 3.12 (PEP 701) the tree gives expressions inside f-strings positions that can be
wrong, always so where the literal spans lines or is concatenated. Their replacement fields are
found in the text, and those that the tree misplaces are parsed again where they really stand,
so that the rest of the tool can rely on every position.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from flmigrate.analysis.source import Source

_EXACT_SINCE = (3, 12)
_NEXT_TOKEN = re.compile(r"#[^\r\n]*|(?P<prefix>[A-Za-z]*)(?P<quote>'''|\"\"\"|'|\")")
_CLOSING = {
    quote: re.compile(rf"\\.|(?P<close>{quote})", re.DOTALL) for quote in ("'", '"', "'''", '"""')
}
# The next thing in the text of an f-string that is, or looks like, the start of a field.
_MARK = re.compile(r"\\(?:N\{[^}]*\}|[^{}])|\{\{|\}\}|\{", re.DOTALL)
_MARK_RAW = re.compile(r"\{\{|\}\}|\{")
_MARK_SPEC = re.compile(r"\{")  # in a format spec, braces are not doubled
_DEBUG_END = re.compile(r"=\s*[}!:]")


class _Field(NamedTuple):
    """A replacement field: where its expression, its format spec (or ``None``) and it stop."""

    start: int
    stop: int
    spec: int | None
    close: int


def with_exact_positions(node: ast.JoinedStr, source: Source) -> None:
    """Re-parse the replacement fields of ``node`` in place where the tree's positions lie.

    ``node`` is a whole string expression, not a format spec inside one. Where the text cannot
    be read unambiguously the node is left as it is; an edit at a wrong position is refused
    later by the codemods, never made.
    """
    if sys.version_info >= _EXACT_SINCE:
        return
    if any(isinstance(value, ast.FormattedValue) for value in node.values):
        _match(node, _top_fields(source.text, source.start(node), source.end(node)), source)


def _match(node: ast.JoinedStr, found: Iterator[_Field], source: Source) -> None:
    values = [value for value in node.values if isinstance(value, ast.FormattedValue)]
    places = list(found)
    if len(places) != len(values):
        return
    for value, place in zip(values, places, strict=True):
        text = source.text[place.start : place.stop]
        if not _is_exact(value.value, source, place.start, text):
            _relocate(value, source, place.start, text)
        if place.spec is not None and isinstance(value.format_spec, ast.JoinedStr):
            spec = _fields_in(source.text, place.spec, place.close, _MARK_SPEC)
            _match(value.format_spec, spec, source)


def _is_exact(expression: ast.expr, source: Source, start: int, text: str) -> bool:
    """Whether the tree places an expression rightly; if so, all its parts on that line too."""
    stripped = text.strip()
    if stripped != text.strip(" \t") or "\n" in stripped or "\r" in stripped:
        return False
    if expression.lineno > len(source.starts):
        return False
    start += text.index(stripped)
    return source.start(expression) == start and source.end(expression) == start + len(stripped)


def _relocate(value: ast.FormattedValue, source: Source, start: int, text: str) -> None:
    # Parentheses make newlines and leading blanks inside the field harmless; the bytes before
    # the field on its line give the column.
    try:
        expression = ast.parse(f"({text}\n)", mode="eval").body
    except SyntaxError:
        return
    line, column = source.position(start)
    line_start = source.starts[line - 1]
    shift = len(source.text[line_start : line_start + column - 1].encode("utf-8")) - 1
    for child in ast.walk(expression):
        if isinstance(child, ast.expr | ast.arg | ast.keyword):
            assert child.end_lineno is not None and child.end_col_offset is not None
            if child.lineno == 1:
                child.col_offset += shift
            if child.end_lineno == 1:
                child.end_col_offset += shift
            child.lineno += line - 1
            child.end_lineno += line - 1
    value.value = expression


def _top_fields(text: str, start: int, end: int) -> Iterator[_Field]:
    """The replacement fields of a possibly concatenated string expression, in order."""
    at = start
    while token := _NEXT_TOKEN.search(text, at, end):
        at = token.end()
        if token["quote"]:
            close = _closing_quote(text, at, end, token["quote"])
            prefix = token["prefix"].lower()
            if "f" in prefix:
                yield from _fields_in(text, at, close, _MARK_RAW if "r" in prefix else _MARK)
            at = close + len(token["quote"])


def _closing_quote(text: str, at: int, end: int, quote: str) -> int:
    """Where the quote stands that ends a string whose text starts at ``at``."""
    for found in _CLOSING[quote].finditer(text, at, end):
        if found["close"]:
            return found.start()
    return end


def _fields_in(text: str, start: int, end: int, mark: re.Pattern[str]) -> Iterator[_Field]:
    """The fields ``{expression!r:spec}`` between two offsets; ``mark`` finds where they start."""
    at = start
    while found := mark.search(text, at, end):
        at = found.end()
        if found.group() == "{":
            field = _field_at(text, at, end)
            yield field
            at = field.close + 1


def _field_at(text: str, start: int, end: int) -> _Field:
    """The field whose expression starts at ``start``."""
    at, depth = start, 0
    stop: int | None = None
    spec: int | None = None
    while at < end:
        character = text[at]
        if spec is None and character in "'\"":
            quote = character * 3 if text.startswith(character * 3, at) else character
            at = _closing_quote(text, at + len(quote), end, quote) + len(quote)
            continue
        if character in "([{":
            depth += 1
        elif character in ")]}":
            if depth == 0 and character == "}":
                break
            depth -= 1
        elif depth == 0 and spec is None:
            if character == ":":
                spec = at + 1
            if stop is None and _ends_expression(text, at, end):
                stop = at
        at += 1
    return _Field(start, at if stop is None else stop, spec, at)


def _ends_expression(text: str, at: int, end: int) -> bool:
    """Whether ``:``, ``!r`` or the ``=`` of ``{x = }`` at an offset ends the expression."""
    character = text[at]
    if character == "=":
        return text[at - 1] not in "=!<>" and _DEBUG_END.match(text, at, end + 1) is not None
    return character == ":" or (character == "!" and text[at + 1 : at + 2] != "=")
