"""The codemods: one module, and one kind of edit, each.

A codemod receives a LibCST node and an edit of `flmigrate.findings`, and returns the node
that takes the first one's place. `flmigrate.codemods.islands.apply_edits` drives them; it
imports LibCST and the codemods when the first edit is made, because that import costs more
than checking a file does. Importing this package loads neither.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from flmigrate.codemods.errors import EditError
from flmigrate.findings import (
    Arguments,
    Branch,
    Edit,
    Expression,
    Import,
    Members,
    Removal,
    Rename,
    Statement,
    Text,
)

__all__ = ["CODEMODS", "EditError", "codemod_for"]

#: Where the codemod of each kind of edit lives, as ``module:function``.
CODEMODS: dict[type[Edit], str] = {
    Rename: "flmigrate.codemods.rename:rename",
    Text: "flmigrate.codemods.strings:change_text",
    Expression: "flmigrate.codemods.expression:replace_expression",
    Arguments: "flmigrate.codemods.arguments:change_arguments",
    Import: "flmigrate.codemods.imports:change_import",
    Statement: "flmigrate.codemods.statement:replace_statement",
    Branch: "flmigrate.codemods.branches:take_branches",
    Removal: "flmigrate.codemods.removal:remove_statements",
    Members: "flmigrate.codemods.members:drop_members",
}


def codemod_for(kind: type[Edit]) -> Callable[..., Any]:
    """Import and return the codemod that carries out edits of this type.

    The codemods of expressions take ``(node, edit, site)`` and return an expression; those
    of statements (``Import``, ``Statement``) return a ``site.Replacement``. Those
    of ``Branch`` and ``Removal`` work on the text and take all edits at once.
    """
    module, _, function = CODEMODS[kind].partition(":")
    codemod: Callable[..., Any] = getattr(importlib.import_module(module), function)
    return codemod
