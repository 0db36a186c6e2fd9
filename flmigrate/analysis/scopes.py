"""Scopes and bindings of one file, and who reads what.

One walk over the tree (``walk.py``) fills the tables here; every later question (who reads this
name? what is this node part of?) is answered from them.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from flmigrate.analysis.bindings import Binding, Scope
from flmigrate.analysis.source import Source
from flmigrate.analysis.walk import walk

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

# What rules look for; other node types are reached through parents.
_COLLECTED = (
    *(ast.Attribute, ast.Call, ast.Compare, ast.Constant, ast.JoinedStr, ast.Name),
    *(ast.Import, ast.ImportFrom, ast.BoolOp, ast.If, ast.IfExp, ast.Dict, ast.ClassDef),
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.Return, ast.Subscript),
    *(ast.Set, ast.Tuple, ast.List, ast.Match, ast.Expr, ast.Assert, ast.Try),
    *(ast.While, ast.comprehension),
    *(ast.BinOp, ast.AugAssign, ast.UnaryOp),
)


class Scopes:
    """Every scope, binding and parent of one file.

    ``parents`` maps each node to the node it is part of, ``scope_of`` each scope-opening node
    to its scope and each name to the scope it stands in, ``nodes`` lists the nodes of the types
    that rules ask for, in no particular order, ``stars`` the modules of star imports.
    ``text_annotations`` maps each string that is an annotation to what it says; nodes in there
    have the position of the string. ``in_text`` are the names among them: they count as reads,
    but cannot be edited. ``unbound`` are names that are read where nothing in the file binds them.
    """

    def __init__(self, source: Source, package: str = "") -> None:
        """Walk the tree of ``source``; ``package`` is what relative imports start from."""
        self.source = source
        self.package = package
        self.module = Scope(source.tree, None)
        self._all = [self.module]
        self.parents: dict[ast.AST, ast.AST] = {}
        self.scope_of: dict[ast.AST, Scope] = {source.tree: self.module}
        self.nodes: dict[type[ast.AST], list[Any]] = {kind: [] for kind in _COLLECTED}
        self.stars: list[str] = []
        self.text_annotations: dict[ast.AST, ast.expr] = {}
        self.in_text: set[ast.Name] = set()
        self.unbound: set[str] = set()
        walk(self)

    def open(self, scope: Scope) -> None:
        """Add the scope of a function, class or comprehension."""
        self.scope_of[scope.node] = scope
        self._all.append(scope)

    def around(self, node: ast.AST) -> Scope:
        """The scope in which ``node`` stands; a scope-opening node gives its own."""
        current: ast.AST | None = node
        while current is not None:
            scope = self.scope_of.get(current)
            if scope is not None:
                return scope
            current = self.parents.get(current)
        return self.module

    def all(self) -> Sequence[Scope]:
        """All scopes of the file, the module's first."""
        return self._all

    def binder(self, name: ast.Name) -> Scope | None:
        """The scope whose binding a name reads or sets, or ``None`` for an unbound name."""
        scope = self.scope_of.get(name)
        return scope.owner(name.id) if scope is not None else None

    def binds(self, name: str) -> bool:
        """Whether the module itself gives a value to ``name``."""
        return name in self.module.bindings

    def absolute(self, node: ast.ImportFrom) -> str:
        """The absolute dotted module of a ``from`` import; unknown packages stay dots."""
        if not node.level:
            return node.module or ""
        parts = self.package.split(".") if self.package else []
        climbed = node.level - 1
        if climbed >= len(parts):
            return "." * node.level + (node.module or "")
        base = ".".join(parts[: len(parts) - climbed])
        return f"{base}.{node.module}" if node.module else base

    @staticmethod
    def parameters(node: Function) -> list[ast.arg]:
        """All parameters of a function, in the order in which they are declared."""
        arguments = node.args
        found = [*arguments.posonlyargs, *arguments.args]
        if arguments.vararg:
            found.append(arguments.vararg)
        found.extend(arguments.kwonlyargs)
        if arguments.kwarg:
            found.append(arguments.kwarg)
        return found


__all__ = ["Binding", "Function", "Scope", "Scopes"]
