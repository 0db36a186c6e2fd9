"""The one walk over a file's tree, which fills the tables of ``Scopes``.

It is iterative, so that a sum of 3,000 terms cannot exhaust the stack.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from flmigrate.analysis.annotations import is_annotation, parse_text
from flmigrate.analysis.bindings import Binding, Scope, outer_names
from flmigrate.analysis.fstrings import with_exact_positions

if TYPE_CHECKING:
    from flmigrate.analysis.scopes import Function, Scopes

Handler = Callable[[Any, Scope], bool]
"""Deals with a node in a scope; true when its parts have been dealt with too."""

# Fields that hold no nodes, or only operator and context markers.
_SKIPPED_FIELDS = frozenset(
    "ctx op ops id attr arg level module asname type_comment kind conversion is_async "
    "simple rest kwd_attrs type_ignores".split()
)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_NAMING = (
    *(ast.ExceptHandler, ast.MatchAs, ast.MatchStar),
    # Python 3.12: type parameters.
    *(getattr(ast, k) for k in ("TypeVar", "ParamSpec", "TypeVarTuple") if hasattr(ast, k)),
)
"""Node types that bind the name in their field ``name``."""


_DECLARATION = re.compile(r"(?:global|nonlocal)[ \t\f\\]+\w")


def walk(scopes: Scopes) -> None:
    """Fill the tables of ``scopes`` from the tree of its source."""
    _Walk(scopes).run()


class _Walk:
    def __init__(self, scopes: Scopes) -> None:
        self.scopes = scopes
        self.source = scopes.source
        self.parents = scopes.parents
        self.scope_of = scopes.scope_of
        self.names: list[tuple[ast.Name, Scope]] = []
        self.nonlocals: list[tuple[Scope, str, Binding]] = []
        self.stack: list[tuple[ast.AST, Scope]] = [(self.source.tree, scopes.module)]
        declares = _DECLARATION.search(self.source.text) is not None
        self.outer = outer_names(self.source.tree) if declares else {}

    def run(self) -> None:
        self._visit_all()
        for scope, name, binding in self.nonlocals:
            scope.bind(name, binding)  # only now are the bindings outside known
        self._read_text_annotations()
        owners: dict[tuple[Scope, str], Scope | None] = {}
        for node, scope in self.names:
            key = scope, node.id
            if key not in owners:
                owners[key] = scope.owner(node.id)
            owner = owners[key]
            if owner is not None:
                owner.loads.setdefault(node.id, []).append(node)
            else:
                self.scopes.unbound.add(node.id)

    def _visit_all(self) -> None:
        # This loop sees every node of every file: local names throughout, and leaves, which are
        # half of all nodes, are dealt with where they are found.
        parents, nodes, stack = self.parents, self.scopes.nodes, self.stack
        push, names, scope_of = stack.append, self.names.append, self.scope_of
        anything, name_class, constant_class, load = ast.AST, ast.Name, ast.Constant, ast.Load
        all_names, all_constants = nodes[name_class].append, nodes[constant_class].append
        handlers = self._handlers()
        plans: dict[type[ast.AST], tuple[list[Any] | None, Handler | None, tuple[str, ...]]] = {}
        while stack:
            node, scope = stack.pop()
            cls = node.__class__
            plan = plans.get(cls)
            if plan is None:
                fields = tuple(name for name in cls._fields if name not in _SKIPPED_FIELDS)
                plan = plans[cls] = nodes.get(cls), handlers.get(cls), fields
            collected, handler, fields = plan
            if collected is not None:
                collected.append(node)
            if handler is not None and handler(node, scope):
                continue
            for name in fields:
                value: Any = getattr(node, name, None)
                for child in value if value.__class__ is list else (value,):
                    kind = child.__class__
                    if kind is name_class and child.ctx.__class__ is load:
                        parents[child] = node
                        scope_of[child] = scope
                        names((child, scope))
                        all_names(child)
                    elif kind is constant_class:
                        parents[child] = node
                        all_constants(child)
                    elif isinstance(child, anything):
                        parents[child] = node
                        push((child, scope))

    def _visit(self, child: ast.AST | None, parent: ast.AST, scope: Scope) -> None:
        if child is not None:
            self.parents[child] = parent
            self.stack.append((child, scope))

    def _handlers(self) -> dict[type[ast.AST], Handler]:
        found: dict[type[ast.AST], Handler] = {
            ast.Name: self._name,
            ast.JoinedStr: self._joined,
            ast.FunctionDef: self._function,
            ast.AsyncFunctionDef: self._function,
            ast.Lambda: self._function,
            ast.ClassDef: self._class,
            **dict.fromkeys(_COMPREHENSIONS, self._comprehension),
            ast.Import: self._import,
            ast.ImportFrom: self._import_from,
            ast.Assign: self._assign,
            ast.AnnAssign: self._annotated,
            ast.AugAssign: self._augmented,
            ast.NamedExpr: self._walrus,
            ast.For: self._for,
            ast.AsyncFor: self._for,
            ast.withitem: self._with,
            ast.MatchMapping: self._mapping,
            **dict.fromkeys(_NAMING, self._named),
        }
        if hasattr(ast, "TypeAlias"):  # Python 3.12: ``type X = ...``
            found[ast.TypeAlias] = self._type_alias
        return found

    # --- names and bindings ----------------------------------------------------------------

    def _name(self, node: ast.Name, scope: Scope) -> bool:
        self.scope_of[node] = scope
        context = node.ctx.__class__
        if context is ast.Load:
            self.names.append((node, scope))
        elif context is ast.Del:
            self._bind(scope, node.id, Binding("del", node))
        return True

    def _joined(self, node: ast.JoinedStr, scope: Scope) -> bool:
        if getattr(self.parents[node], "format_spec", None) is not node:
            with_exact_positions(node, self.source)
        return False

    def _bind(self, scope: Scope, name: str, binding: Binding) -> None:
        if scope.outer and scope.outer.get(name) == "nonlocal":
            self.nonlocals.append((scope, name, binding))
        else:
            scope.bind(name, binding)

    def _bind_target(
        self, target: ast.expr, scope: Scope, kind: str, value: ast.expr | None, index: int = -1
    ) -> None:
        if isinstance(target, ast.Name):
            self._bind(scope, target.id, Binding(kind, target, value, index=index))
        elif isinstance(target, ast.Starred):
            self._bind_target(target.value, scope, "other", None)
        elif isinstance(target, ast.Tuple | ast.List):
            for position, element in enumerate(target.elts):
                if kind == "assign" and isinstance(value, ast.Tuple | ast.List):
                    if len(value.elts) == len(target.elts):
                        self._bind_target(element, scope, "assign", value.elts[position])
                        continue
                unpacked = "unpack" if kind == "assign" else "other"
                self._bind_target(element, scope, unpacked, value, position)

    def _assign(self, node: ast.Assign, scope: Scope) -> bool:
        for target in node.targets:
            self._bind_target(target, scope, "assign", node.value)
        return False

    def _annotated(self, node: ast.AnnAssign, scope: Scope) -> bool:
        if isinstance(node.target, ast.Name):
            binding = Binding("assign", node.target, node.value, annotation=node.annotation)
            self._bind(scope, node.target.id, binding)
        return False

    def _augmented(self, node: ast.AugAssign, scope: Scope) -> bool:
        self._bind_target(node.target, scope, "other", None)
        return False

    def _walrus(self, node: ast.NamedExpr, scope: Scope) -> bool:
        while isinstance(scope.node, _COMPREHENSIONS):
            assert scope.parent is not None
            scope = scope.parent
        self._bind_target(node.target, scope, "assign", node.value)
        return False

    def _for(self, node: ast.For | ast.AsyncFor, scope: Scope) -> bool:
        self._bind_target(node.target, scope, "loop", node.iter)
        return False

    def _with(self, node: ast.withitem, scope: Scope) -> bool:
        if node.optional_vars is not None:
            self._bind_target(node.optional_vars, scope, "other", node.context_expr)
        return False

    def _named(self, node: Any, scope: Scope) -> bool:
        if node.name is not None:
            self._bind(scope, node.name, Binding("other", node))
        return False

    def _mapping(self, node: ast.MatchMapping, scope: Scope) -> bool:
        if node.rest is not None:
            self._bind(scope, node.rest, Binding("other", node))
        return False

    def _type_alias(self, node: Any, scope: Scope) -> bool:
        self._bind_target(node.name, scope, "other", None)
        return False

    def _import(self, node: ast.Import, scope: Scope) -> bool:
        for alias in node.names:
            path = alias.name if alias.asname else alias.name.partition(".")[0]
            self._bind(scope, alias.asname or path, Binding("import", alias, path=path))
            self.parents[alias] = node
        return True

    def _import_from(self, node: ast.ImportFrom, scope: Scope) -> bool:
        module = self.scopes.absolute(node)
        prefix = module if module.endswith(".") else f"{module}."
        for alias in node.names:
            self.parents[alias] = node
            if alias.name == "*":
                self.scopes.stars.append(module)
            else:
                binding = Binding("import", alias, path=prefix + alias.name)
                self._bind(scope, alias.asname or alias.name, binding)
        return True

    def _read_text_annotations(self) -> None:
        """Names in annotations that are written as text are read like any other."""
        parents = self.parents
        for node in self.scopes.nodes[ast.Constant]:
            if node.value.__class__ is not str or not is_annotation(node, parents):
                continue
            expression = parse_text(node.value)
            if expression is None:
                continue
            self.scopes.text_annotations[node] = expression
            scope = self.scopes.around(node)
            parents[expression] = node
            for part in ast.walk(expression):
                ast.copy_location(part, node)
                for child in ast.iter_child_nodes(part):
                    if isinstance(child, ast.expr):
                        parents[child] = part
                if isinstance(part, ast.Name):
                    self.scope_of[part] = scope
                    self.scopes.in_text.add(part)
                    self.names.append((part, scope))

    # --- nodes that open a scope -----------------------------------------------------------

    def _open(self, node: ast.AST, scope: Scope) -> Scope:
        inner = Scope(node, scope, outer=self.outer.get(node, {}))
        self.scopes.open(inner)
        return inner

    def _function(self, node: Function, scope: Scope) -> bool:
        inner = self._open(node, scope)
        arguments = node.args
        self.parents[arguments] = node
        for argument in self.scopes.parameters(node):
            inner.bind(argument.arg, Binding("param", argument, annotation=argument.annotation))
            self.parents[argument] = arguments
            self._visit(argument.annotation, argument, scope)
        for default in (*arguments.defaults, *arguments.kw_defaults):
            self._visit(default, arguments, scope)
        if isinstance(node, ast.Lambda):
            self._visit(node.body, node, inner)
            return True
        self._bind(scope, node.name, Binding("def", node))
        for outside in (*node.decorator_list, node.returns):
            self._visit(outside, node, scope)
        for inside in (*getattr(node, "type_params", ()), *node.body):
            self._visit(inside, node, inner)
        return True

    def _class(self, node: ast.ClassDef, scope: Scope) -> bool:
        inner = self._open(node, scope)
        self._bind(scope, node.name, Binding("def", node))
        for outside in (*node.decorator_list, *node.bases, *node.keywords):
            self._visit(outside, node, scope)
        for inside in (*getattr(node, "type_params", ()), *node.body):
            self._visit(inside, node, inner)
        return True

    def _comprehension(self, node: Any, scope: Scope) -> bool:
        inner = self._open(node, scope)
        for position, generator in enumerate(node.generators):
            self.parents[generator] = node
            self.scopes.nodes[ast.comprehension].append(generator)
            self._bind_target(generator.target, inner, "loop", generator.iter)
            self._visit(generator.target, generator, inner)
            # Only the first iterable is evaluated outside the comprehension.
            self._visit(generator.iter, generator, inner if position else scope)
            for condition in generator.ifs:
                self._visit(condition, generator, inner)
        for part in ("elt", "key", "value"):
            self._visit(getattr(node, part, None), node, inner)
        return True
