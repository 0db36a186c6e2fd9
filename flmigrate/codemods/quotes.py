"""Quotes inside f-strings, by the rules that held before Python 3.12.

Since PEP 701 an expression inside an f-string may use any quotes; the versions before
accept neither the quotes of the f-string around it, nor a backslash, nor a ``#``. What
codemods put into an f-string must run on all of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst


def keep_quotes_apart(
    edited: cst.FormattedString, original: Sequence[cst.BaseFormattedStringContent]
) -> cst.FormattedString | None:
    """Give strings that came into an f-string other quotes than its own.

    ``original`` are the f-string's parts before the edits; the author of one that broke
    these rules already writes for newer versions only, and is left alone. Returns ``None``
    where no quotes are left.
    """
    if any(_clashes(part, edited.end) for part in original):
        return edited
    parts: list[cst.BaseFormattedStringContent] = []
    for part in edited.parts:
        new = part
        if _clashes(part, edited.end):
            changed = part.visit(_Requote(edited.end))
            assert isinstance(changed, cst.BaseFormattedStringContent)
            new = changed
            if _clashes(new, edited.end):
                return None
        parts.append(new)
    return edited.with_changes(parts=parts)


def code_of(node: cst.CSTNode) -> str:
    """A node's source."""
    return cst.Module([]).code_for_node(node)


def _clashes(part: cst.BaseFormattedStringContent, end: str) -> bool:
    """Whether an expression in an f-string that ends with ``end`` breaks the old rules."""
    if not isinstance(part, cst.FormattedStringExpression):
        return False
    code = code_of(part)
    if end in code or "\\" in code or "#" in code or (len(end) == 1 and "\n" in code):
        return True
    if "'" not in code and '"' not in code:
        return False
    inner = _Inner()
    part.visit(inner)
    return inner.clashes


class _Inner(cst.CSTVisitor):
    """Looks at the f-strings inside an expression."""

    clashes = False

    def visit_FormattedString(self, node: cst.FormattedString) -> None:
        self.clashes = self.clashes or any(_clashes(part, node.end) for part in node.parts)


class _Requote(cst.CSTTransformer):
    """Gives other quotes to the strings that contain ``end``."""

    def __init__(self, end: str) -> None:
        super().__init__()
        self.end = end

    def leave_SimpleString(
        self, original_node: cst.SimpleString, updated_node: cst.SimpleString
    ) -> cst.SimpleString:
        if self.end not in updated_node.value:
            return updated_node
        prefix, quote = updated_node.prefix, updated_node.quote
        text = updated_node.raw_value
        for other in ("'", '"'):
            if self.end != other and other not in text and quote != other and "\n" not in text:
                return updated_node.with_changes(value=f"{prefix}{other}{text}{other}")
        return updated_node

    def leave_FormattedString(
        self, original_node: cst.FormattedString, updated_node: cst.FormattedString
    ) -> cst.FormattedString:
        code = code_of(updated_node)
        if self.end not in code:
            return updated_node
        inside = "".join(code_of(part) for part in updated_node.parts)
        start, end = updated_node.start, updated_node.end
        for other in ("'", '"'):
            if self.end != other and other not in inside and end != other and "\n" not in inside:
                return updated_node.with_changes(start=start[: -len(end)] + other, end=other)
        return updated_node
