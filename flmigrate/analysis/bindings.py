"""Names and where they get their values: the records that ``scopes.py`` fills."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field


@dataclass(slots=True, eq=False)
class Binding:
    """One way in which a name gets its value.

    ``kind`` is ``import`` (of the dotted ``path``), ``assign`` (of ``value``; of nothing for a
    bare annotation), ``unpack`` (element ``index`` of ``value``), ``loop`` (an element of
    ``value``), ``param``, ``def``, ``del`` or ``other``. ``node`` is the alias, target,
    argument or definition.
    """

    kind: str
    node: ast.AST
    value: ast.expr | None = None
    path: str = ""
    annotation: ast.expr | None = None
    index: int = -1


@dataclass(slots=True, eq=False)
class Scope:
    """A namespace of the file: the module, a function, a class body, a comprehension.

    ``outer`` holds what ``global`` and ``nonlocal`` say about names; ``loads`` lists, for names
    bound here, who reads them.
    """

    node: ast.AST
    parent: Scope | None
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    outer: dict[str, str] = field(default_factory=dict)
    loads: dict[str, list[ast.Name]] = field(default_factory=dict)

    def bind(self, name: str, binding: Binding) -> None:
        """Record a binding, in the scope that ``global`` or ``nonlocal`` names."""
        scope = self._owner_or_self(name) if name in self.outer else self
        scope.bindings.setdefault(name, []).append(binding)

    def _owner_or_self(self, name: str) -> Scope:
        if self.outer[name] == "global":
            return self.module
        return self.owner(name) or self

    @property
    def module(self) -> Scope:
        """The scope of the whole file."""
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope

    def owner(self, name: str) -> Scope | None:
        """The scope whose binding a read of ``name`` in this scope sees, if there is one."""
        scope: Scope | None = self
        while scope is not None:
            # What a class body binds or declares is not seen by the functions inside it.
            if scope is self or scope.node.__class__ is not ast.ClassDef:
                declared = scope.outer.get(name)
                if declared == "global":
                    module = scope.module
                    return module if name in module.bindings else None
                if declared is None and name in scope.bindings:
                    return scope
            scope = scope.parent
        return None


def outer_names(tree: ast.Module) -> dict[ast.AST, dict[str, str]]:
    """What ``global`` and ``nonlocal`` declare, by function or class, then by name.

    A declaration may stand below uses of the name in the same function, so these are read
    before anything is bound. Only statements are looked at.
    """
    found: dict[ast.AST, dict[str, str]] = {}
    stack: list[tuple[ast.AST, ast.AST]] = [(tree, tree)]
    while stack:
        node, opener = stack.pop()
        if isinstance(node, ast.Global | ast.Nonlocal):
            kind = "global" if isinstance(node, ast.Global) else "nonlocal"
            found.setdefault(opener, {}).update(dict.fromkeys(node.names, kind))
            continue
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            opener = node
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            children = getattr(node, name, None)
            if isinstance(children, list):
                stack.extend((child, opener) for child in children)
    found.pop(tree, None)  # at module level ``global`` says nothing
    return found
