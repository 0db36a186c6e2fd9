"""Where a file switches gradients off: there, nothing has a backward pass."""

from __future__ import annotations

import ast
from functools import cached_property

from flmigrate.analysis.names import LOCAL, Names

_OFF = frozenset({"torch.no_grad", "torch.inference_mode", "torch.autograd.no_grad"})


class Gradients:
    """Answers for one file; quick where it never switches gradients off."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.scopes = names.scopes
        text = self.scopes.source.text
        self._is_never_off = "no_grad" not in text and "inference_mode" not in text
        self._functions: dict[ast.AST, bool] = {}

    def are_off(self, node: ast.AST) -> bool:
        """Whether a node only runs without gradients.

        It stands below ``with torch.no_grad()``, in a function that is decorated so, or in one
        that the file calls from such places alone.
        """
        if self._is_never_off:
            return False
        below: ast.AST = node
        current = self.scopes.parents.get(node)
        while current is not None:
            if isinstance(current, ast.With | ast.AsyncWith) and below in current.body:
                if any(self._switches(item.context_expr) for item in current.items):
                    return True
            if isinstance(current, ast.FunctionDef | ast.AsyncFunctionDef):
                return self._is_off_in(current)
            below, current = current, self.scopes.parents.get(current)
        return False

    def _switches(self, node: ast.expr) -> bool:
        function = node.func if isinstance(node, ast.Call) else node
        return self.names.resolve(function).only in _OFF

    def _is_off_in(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
        found = self._functions.get(function)
        if found is None:
            self._functions[function] = False  # for a function that calls itself
            calls = self._calls.get(LOCAL + self.names.qualified_name(function), ())
            found = any(map(self._switches, function.decorator_list)) or (
                bool(calls) and all(map(self.are_off, calls))
            )
            self._functions[function] = found
        return found

    @cached_property
    def _calls(self) -> dict[str, list[ast.Call]]:
        """The calls of the file's own functions, by name."""
        found: dict[str, list[ast.Call]] = {}
        for call in self.scopes.nodes[ast.Call]:
            if isinstance(call.func, ast.Name):
                path = self.names.resolve(call.func).only
                if path.startswith(LOCAL):
                    found.setdefault(path, []).append(call)
        return found
