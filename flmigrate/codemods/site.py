"""What codemods are told, and what those of whole statements answer."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst


@dataclass(frozen=True, slots=True)
class Hole:
    """A sub-expression that an edit keeps, with all edits inside it made.

    ``value`` is the expression; ``argument`` the argument of the replaced code that it is
    the value of; ``index`` its position when it is an argument of the replaced call itself.
    """

    value: cst.BaseExpression
    argument: cst.Arg | None = None
    index: int | None = None


@dataclass(frozen=True, slots=True)
class Site:
    """What a codemod may know besides its node and its edit.

    ``original`` is the node before the edits inside it, ``source`` its text. ``touched``
    holds the original nodes that edits lie in. ``bracketed``: a line may end here without
    ending the statement. ``glued``: the expression touches a keyword, with nothing between
    the two but its parentheses. ``indent_unit`` is what the file indents blocks by.
    """

    original: cst.CSTNode
    source: str
    holes: tuple[Hole, ...]
    touched: frozenset[cst.CSTNode]
    bracketed: bool
    glued: bool
    indent_unit: str


@dataclass(frozen=True, slots=True)
class Replacement:
    """The statements that take the place of one; ``layout.Outcome`` explains the fields."""

    above: tuple[cst.BaseStatement, ...] = ()
    here: tuple[cst.BaseStatement, ...] = ()
    below: tuple[cst.BaseStatement, ...] = ()
    block: bool = False
