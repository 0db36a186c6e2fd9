"""What a name or attribute chain stands for.

``resolve`` answers with dotted names: ``tc.synchronize`` is ``torch.cuda.synchronize`` after
``import torch.cuda as tc``. A name keeps *all* its bindings: detection needs one of them, a
safe fix needs all (``try: import torch_npu / except ImportError: torch_npu = None``).
Definitions of the file itself resolve to ``local:`` plus their qualified name.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from flmigrate.analysis.scopes import Binding, Scope, Scopes

_BUILTINS = frozenset(dir(builtins))
LOCAL = "local:"
_NAMED_SCOPES = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


class Origins(NamedTuple):
    """The dotted names that an expression may stand for.

    ``certain`` is true when it can stand for nothing else (``None`` aside).
    """

    paths: frozenset[str] = frozenset()
    certain: bool = False

    @property
    def only(self) -> str:
        """The one dotted name, or the empty string where there are several or none."""
        return next(iter(self.paths)) if len(self.paths) == 1 else ""


_LOOKUPS = frozenset(
    {"getattr", "get_device_module", "device_module", "import_module", "__import__"}
)
UNKNOWN = Origins()
_NOTHING = Origins(certain=True)


class Names:
    """Resolution of names in one file."""

    def __init__(self, scopes: Scopes) -> None:
        self.scopes = scopes
        self._cache: dict[tuple[Scope, str], Origins] = {}
        self._called_names: dict[ast.Name, str] = {}
        # Names that are being resolved; what was found on the way is partial if it met one.
        self._active: set[tuple[Scope, str]] = set()
        self._partial: dict[tuple[Scope, str], Origins] = {}
        self._is_partial = False

    def resolve(self, node: ast.AST) -> Origins:
        """The dotted names that a name, attribute chain or module look-up may stand for."""
        attributes: list[str] = []
        while isinstance(node, ast.Attribute):
            attributes.append(node.attr)
            node = node.value
        if isinstance(node, ast.Name):
            base = self._resolve_name(node)
            if not base.paths and attributes and attributes[-1] in self._kept_modules:
                base = self._resolve_kept(node, attributes.pop())
        elif isinstance(node, ast.Call):
            base = self._resolve_lookup(node)
        elif isinstance(node, ast.IfExp):
            base = _union([self.resolve(node.body), self.resolve(node.orelse)])
        elif isinstance(node, ast.BoolOp):
            base = _union([self.resolve(value) for value in node.values])
        elif isinstance(node, ast.Constant) and node.value is None:
            base = _NOTHING
        else:
            return UNKNOWN
        if not attributes or not base.paths:
            return base
        tail = "".join("." + name for name in reversed(attributes))
        return Origins(frozenset(path + tail for path in base.paths), base.certain)

    @cached_property
    def _kept_modules(self) -> dict[str, list[tuple[ast.Attribute, ast.expr]]]:
        """Attributes in which an object may keep a module: ``self.torch = torch``."""
        found: dict[str, list[tuple[ast.Attribute, ast.expr]]] = {}
        for attribute in self.scopes.nodes[ast.Attribute]:
            if isinstance(attribute.ctx, ast.Store) and isinstance(attribute.value, ast.Name):
                parent = self.scopes.parents.get(attribute)
                if isinstance(parent, ast.Assign) and self._may_be_module(parent.value):
                    found.setdefault(attribute.attr, []).append((attribute, parent.value))
        return found

    def module_keepers(self) -> Iterator[ast.Attribute]:
        """Reads of an instance's attribute that keeps a module (``self.torch``)."""
        if not self._kept_modules:
            return
        for attribute in self.scopes.nodes[ast.Attribute]:
            if attribute.attr in self._kept_modules and isinstance(attribute.ctx, ast.Load):
                if isinstance(attribute.value, ast.Name) and self.is_self(attribute.value):
                    yield attribute

    @staticmethod
    def _may_be_module(value: ast.expr) -> bool:
        while isinstance(value, ast.Attribute):
            value = value.value
        return isinstance(value, ast.Name) and value.id in ("torch", "cuda", "torch_npu")

    def _resolve_kept(self, instance: ast.Name, attribute: str) -> Origins:
        owner = self.own_class(instance)
        if owner is None:
            return UNKNOWN
        values = [
            self.resolve(value)
            for store, value in self._kept_modules[attribute]
            if self.own_class(store.value) is owner
        ]
        return _union(values)

    def _resolve_name(self, node: ast.Name) -> Origins:
        scope = self.scopes.scope_of.get(node)
        if scope is None:
            return UNKNOWN
        owner = scope.owner(node.id)
        if owner is not None:
            return self.binding_origins(owner, node.id)
        stars = self.scopes.stars
        if node.id in _BUILTINS:
            # A star import may hide a builtin, but seldom does.
            return Origins(frozenset({f"builtins.{node.id}"}), certain=not stars)
        candidates = frozenset(f"{module}.{node.id}" for module in stars)
        if node.id == "torch":
            # Nothing here binds it; where a star import or an earlier cell does, it is torch.
            return Origins(candidates | {"torch"}, certain=False)
        return Origins(candidates, certain=len(stars) == 1)

    def binding_origins(self, owner: Scope, name: str) -> Origins:
        """What the bindings of ``name`` in the scope ``owner`` stand for, taken together."""
        key = (owner, name)
        found = self._cache.get(key) or self._partial.get(key)
        if found is not None:
            return found
        if key in self._active:
            self._is_partial = True
            return _NOTHING  # ``a = a or b`` adds nothing to what ``a`` may be
        bindings = owner.bindings[name]
        if len(bindings) == 1 and bindings[0].kind != "assign":  # most are, and lead nowhere
            found = self._cache[key] = self._binding(bindings[0])
            return found
        self._active.add(key)
        try:
            found = _union([self._binding(binding) for binding in bindings])
        finally:
            self._active.discard(key)
        if self._active and self._is_partial:
            self._partial[key] = found  # it may lack what the names still open stand for
        else:
            self._cache[key] = found
        if not self._active:
            self._is_partial = False
            self._partial.clear()
        return found

    def _binding(self, binding: Binding) -> Origins:
        if binding.kind == "import":
            return Origins(frozenset({binding.path}), certain=True)
        if binding.kind == "assign":
            return self.resolve(binding.value) if binding.value is not None else _NOTHING
        if binding.kind == "del":
            return _NOTHING
        if binding.kind == "def":
            name = LOCAL + self.qualified_name(binding.node)
            return Origins(frozenset({name}), certain=True)
        return UNKNOWN

    def called_name(self, call: ast.Call) -> str:
        """The last part of the name of what a call runs, also where that is not known."""
        if isinstance(call.func, ast.Attribute):
            return call.func.attr
        if not isinstance(call.func, ast.Name):
            return self.resolve(call.func).only.rpartition(".")[2].removeprefix(LOCAL)
        name = self._called_names.get(call.func)
        if name is None:
            known = self.resolve(call.func).only.rpartition(".")[2].removeprefix(LOCAL)
            name = known or call.func.id
            if not self._active:  # what is found on the way to another name may be partial
                self._called_names[call.func] = name
        return name

    def qualified_name(self, node: ast.AST) -> str:
        """The dotted name of a definition inside its file: ``Class.method``."""
        parts: list[str] = []
        current: ast.AST | None = node
        while current is not None:
            if isinstance(current, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                parts.append(current.name)
            current = self.scopes.parents.get(current)
        return ".".join(reversed(parts))

    def scope_path(self, scope: Scope) -> str:
        """The dotted name of a function or class, by which its scope is known after an edit."""
        name = self.qualified_name(scope.node)
        return name if isinstance(scope.node, _NAMED_SCOPES) else f"{name}:"

    def _resolve_lookup(self, node: ast.Call) -> Origins:
        """``getattr(torch, "cuda")``, ``torch.get_device_module("cuda")``, ``import_module``."""
        arguments = node.args
        if not arguments or node.keywords:
            return UNKNOWN
        if isinstance(node.func, ast.Attribute) and node.func.attr not in _LOOKUPS:
            return UNKNOWN  # most calls; an attribute has no other name
        texts = [_text(argument) for argument in arguments[:2]]
        if texts[0] is None and texts[-1] is None:
            return UNKNOWN
        function = self.resolve(node.func).only
        if function == "builtins.getattr" and len(arguments) > 1:
            base, name = self.resolve(arguments[0]), texts[1]
            if base.paths and name is not None:
                paths = frozenset(f"{path}.{name}" for path in base.paths)
                found = Origins(paths, base.certain)
                return _union([found, *(self.resolve(default) for default in arguments[2:])])
        text = texts[0]
        if text is None:
            return UNKNOWN
        if function in ("torch.get_device_module", "torch.device_module"):
            return Origins(frozenset({f"torch.{text.partition(':')[0]}"}), certain=True)
        if function == "importlib.import_module":
            return Origins(frozenset({text}), certain=True)
        if function == "builtins.__import__":  # which gives the topmost package
            return Origins(frozenset({text.partition(".")[0]}), certain=True)
        return UNKNOWN

    # --- types of values, as far as the file shows them ------------------------------------

    def enclosing(self, node: ast.AST, *kinds: type[ast.AST]) -> ast.AST | None:
        """The nearest node of one of the ``kinds`` that ``node`` stands in."""
        current = self.scopes.parents.get(node)
        while current is not None and not isinstance(current, kinds):
            current = self.scopes.parents.get(current)
        return current

    def enclosing_class(self, node: ast.AST) -> ast.ClassDef | None:
        """The class whose method ``node`` stands in, however deeply nested."""
        found = self.enclosing(node, ast.ClassDef)
        return found if isinstance(found, ast.ClassDef) else None

    def own_class(self, node: ast.AST) -> ast.ClassDef | None:
        """The class of ``self`` (or ``cls``), if ``node`` is that parameter of a method."""
        if not isinstance(node, ast.Name):
            return None
        scope = self.scopes.binder(node)
        if scope is None or not isinstance(scope.node, ast.FunctionDef | ast.AsyncFunctionDef):
            return None
        first = (*scope.node.args.posonlyargs, *scope.node.args.args)[:1]
        owner = self.scopes.parents.get(scope.node)
        if not first or first[0].arg != node.id or not isinstance(owner, ast.ClassDef):
            return None
        decorators = scope.node.decorator_list
        is_static = any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in decorators)
        return None if is_static else owner

    def is_self(self, node: ast.AST) -> bool:
        """Whether ``node`` is the instance (or class) parameter of a method around it."""
        return self.own_class(node) is not None

    def class_of(self, node: ast.AST) -> str:
        """The dotted name of the class that a value belongs to, or the empty string.

        Known for ``self``, annotated parameters and names, and names bound to one call of a
        class.
        """
        if isinstance(node, ast.Call):
            return self._class_of_result(node)
        if not isinstance(node, ast.Name):
            return ""
        owner = self.own_class(node)
        if owner is not None:
            return LOCAL + self.qualified_name(owner)
        owner_scope = self.scopes.binder(node)
        if owner_scope is None:
            return ""
        found: set[str] = set()
        for binding in owner_scope.bindings[node.id]:
            if binding.annotation is not None:
                found.add(self.annotation_path(binding.annotation))
            elif binding.kind == "assign" and isinstance(binding.value, ast.Call):
                found.add(self.class_of(binding.value))
            else:
                found.add("")
        return found.pop() if len(found) == 1 else ""

    def _class_of_result(self, call: ast.Call) -> str:
        """The class that a call makes: by its name, or by the annotation of a function here."""
        path = self.resolve(call.func).only
        if path.rpartition(".")[2].removeprefix(LOCAL)[:1].isupper():
            return path
        if path.startswith(LOCAL):
            for kind in (ast.FunctionDef, ast.AsyncFunctionDef):
                for function in self.scopes.nodes[kind]:
                    if LOCAL + self.qualified_name(function) == path:
                        return self.annotation_path(function.returns)
        return ""

    def annotation_path(self, annotation: ast.AST | None) -> str:
        """The dotted name an annotation stands for; ``Optional[X]`` and the like give X's."""
        if isinstance(annotation, ast.Constant):
            return self._text_annotation_path(annotation)
        choices: list[ast.expr] = []
        if isinstance(annotation, ast.Subscript):
            outer = self.resolve(annotation.value).only.rpartition(".")[2]
            if outer in ("Optional", "Union"):
                inner = annotation.slice
                choices = inner.elts if isinstance(inner, ast.Tuple) else [inner]
        elif isinstance(annotation, ast.BinOp):
            choices = [annotation.left, annotation.right]
        if choices:
            known = [path for path in map(self.annotation_path, choices) if path]
            return known[0] if len(known) == 1 else ""
        return self.resolve(annotation).only if annotation is not None else ""

    def _text_annotation_path(self, text: ast.Constant) -> str:
        expression = self.scopes.text_annotations.get(text)
        found = self.annotation_path(expression)
        if found or not isinstance(expression, ast.Name | ast.Attribute):
            return found
        root: ast.expr = expression
        while isinstance(root, ast.Attribute):
            root = root.value
        unbound = isinstance(root, ast.Name) and self.scopes.binder(root) is None
        return ast.unparse(expression) if unbound else ""  # never imported, but says enough


def _text(node: ast.AST) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _union(parts: list[Origins]) -> Origins:
    if len(parts) == 1:
        return parts[0]
    paths = frozenset[str]().union(*(part.paths for part in parts))
    return Origins(paths, bool(parts) and all(part.certain for part in parts))
