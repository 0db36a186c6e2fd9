"""Change how the text of a string literal begins.

    torch.device("cuda:0")         ->  torch.device("flagos:0")
    f"cuda:{rank}"                 ->  f"flagos:{rank}"
    "cuda:0"                       ->  f"{platform.device}:0"      (with ``expression``)

The literal keeps its quotes, its prefix and its escapes.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

import libcst as cst

from flmigrate.codemods.comments import keep_comments
from flmigrate.codemods.errors import EditError
from flmigrate.codemods.precedence import parenthesized
from flmigrate.codemods.quotes import code_of, keep_quotes_apart
from flmigrate.codemods.site import Site
from flmigrate.codemods.templates import parse_template
from flmigrate.findings import Text

_ESCAPE = r"\\(?:\r\n|[0-7]{1,3}|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|N\{[^}]*\}|.)"
_UNIT = re.compile(rf"{_ESCAPE}|.", re.DOTALL)
_UNIT_OF_F_STRING = re.compile(rf"{_ESCAPE}|\{{\{{|\}}\}}|.", re.DOTALL)
_RAW_UNIT = re.compile(r".", re.DOTALL)
_RAW_UNIT_OF_F_STRING = re.compile(r"\{\{|\}\}|.", re.DOTALL)

_Literal = cst.SimpleString | cst.FormattedString
_String = _Literal | cst.ConcatenatedString


def change_text(node: _String, edit: Text, site: Site) -> cst.BaseExpression:
    """Put ``edit.new`` in place of ``edit.old`` at the start of a string's text.

    Raises ``EditError`` for bytes, for a text that does not start with ``old``, and where
    ``new`` cannot be written inside the literal.
    """
    if not edit.old:
        raise EditError("there is no text to replace", edit.span)
    literals = list(_literals(node))
    first = next((literal for literal in literals if not _is_empty(literal)), None)
    if first is None:
        raise EditError(f"the string is empty, not {edit.old!r}", edit.span)
    rest = _rest(first, edit)
    if not edit.expression:
        return _with_literal(node, first, _respelled(first, rest, edit))
    if (
        not rest
        and all(_is_empty(each) for each in literals if each is not first)
        and (isinstance(first, cst.SimpleString) or len(first.parts) == 1)
    ):
        new = parse_template(edit.new, edit.span)
        keep_comments(node, [new], site.source, edit.span)
        return new.with_changes(lpar=node.lpar, rpar=node.rpar) if node.lpar else new
    return _with_literal(node, first, _interpolated(first, rest, edit))


def _literals(node: _String) -> Iterator[_Literal]:
    while isinstance(node, cst.ConcatenatedString):
        assert isinstance(node.left, (cst.SimpleString, cst.FormattedString))
        yield node.left
        assert isinstance(
            node.right, (cst.SimpleString, cst.FormattedString, cst.ConcatenatedString)
        )
        node = node.right
    yield node


def _is_empty(literal: _Literal) -> bool:
    return not (literal.raw_value if isinstance(literal, cst.SimpleString) else literal.parts)


def _with_literal(node: _String, old: _Literal, new: _Literal) -> _String:
    """``node`` with one of its literals exchanged."""
    if node is old:
        return new
    assert isinstance(node, cst.ConcatenatedString)
    if node.left is old:
        return node.with_changes(left=new)
    assert isinstance(node.right, (cst.SimpleString, cst.FormattedString, cst.ConcatenatedString))
    return node.with_changes(right=_with_literal(node.right, old, new))


def _text(literal: _Literal) -> str:
    """The source of the text that a literal begins with."""
    if isinstance(literal, cst.SimpleString):
        return literal.raw_value
    head = literal.parts[0]
    return head.value if isinstance(head, cst.FormattedStringText) else ""


def _units(literal: _Literal, source: str) -> Iterator[str]:
    """The characters and escapes of a literal's text."""
    raw = "r" in literal.prefix.lower()
    if isinstance(literal, cst.FormattedString):
        pattern = _RAW_UNIT_OF_F_STRING if raw else _UNIT_OF_F_STRING
    else:
        pattern = _RAW_UNIT if raw else _UNIT
    return (match.group() for match in pattern.finditer(source))


def _rest(literal: _Literal, edit: Text) -> str:
    """The source of a literal's text after ``edit.old``."""
    if "b" in literal.prefix.lower():
        raise EditError("the string is bytes", edit.span)
    source = _text(literal)
    read, done = "", 0
    for unit in _units(literal, source):
        if read == edit.old:
            break
        done += len(unit)
        if unit.startswith("\\") and len(unit) > 1:
            read += str(ast.literal_eval(f'"""{unit}"""'))
        else:
            read += unit[0]  # one brace of a doubled one
        if not edit.old.startswith(read):
            break
    if read != edit.old:
        raise EditError(f"the string does not start with {edit.old!r}", edit.span)
    return source[done:]


def _respelled(literal: _Literal, rest: str, edit: Text) -> _Literal:
    """A literal whose text starts with ``edit.new`` and goes on with ``rest``."""
    quote = literal.quote if isinstance(literal, cst.SimpleString) else literal.end
    new = edit.new
    if "r" in literal.prefix.lower():
        if not new.isprintable() or "\\" in new or quote[0] in new:
            raise EditError(f"a raw string cannot hold {new!r}", edit.span)
    else:
        new = new.replace("\\", "\\\\").replace(quote[0], "\\" + quote[0])
        new = new.replace("\n", "\\n").replace("\r", "\\r")
    if isinstance(literal, cst.SimpleString):
        start = literal.value[: len(literal.prefix) + len(quote)]
        return literal.with_changes(value=f"{start}{new}{rest}{quote}")
    new = new.replace("{", "{{").replace("}", "}}")
    return literal.with_changes(parts=_parts(new + rest, literal.parts[1:]))


def _interpolated(literal: _Literal, rest: str, edit: Text) -> _Literal:
    """An f-string that starts with the value of ``edit.new`` and goes on with ``rest``."""
    expression = parse_template(edit.new, edit.span)
    if isinstance(expression, (cst.Lambda, cst.NamedExpr)) and not expression.lpar:
        expression = parenthesized(expression)
    # A brace right after the opening one would be a doubled brace.
    blank = cst.SimpleWhitespace(" " if code_of(expression).startswith("{") else "")
    field = cst.FormattedStringExpression(expression, whitespace_before_expression=blank)
    if isinstance(literal, cst.FormattedString):
        old = literal.parts
        candidates = [literal.with_changes(parts=[field, *_parts(rest, old[1:])])]
    else:
        old = ()
        prefix = literal.value[: len(literal.prefix)]
        start = ("" if prefix in "uU" else prefix) + "f"
        quote = literal.quote
        quotes = [quote, *(other for other in "'\"" if other not in rest and other != quote)]
        rest = "".join(2 * unit if unit in "{}" else unit for unit in _units(literal, rest))
        candidates = [
            cst.FormattedString(
                [field, *_parts(rest)], lpar=literal.lpar, rpar=literal.rpar
            ).with_changes(start=start + end, end=end)
            for end in quotes
        ]
    for candidate in candidates:
        apart = keep_quotes_apart(candidate, old)
        if apart is not None:
            return apart
    raise EditError(f"the f-string has no quotes left for {edit.new!r}", edit.span)


def _parts(
    text: str, more: Sequence[cst.BaseFormattedStringContent] = ()
) -> list[cst.BaseFormattedStringContent]:
    return [cst.FormattedStringText(text), *more] if text else list(more)
