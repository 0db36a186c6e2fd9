"""Where values are kept in one file, who reads them, and which functions calls run.

A slot is a variable of a scope, an attribute of a class, an option such as ``args.device``,
or what a function returns.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flmigrate.analysis import places
from flmigrate.analysis.names import LOCAL, Names
from flmigrate.analysis.scopes import Function, Scope, Scopes

Slot = tuple[object, str]
"""(scope, name), (class, attribute), (text of an object, attribute), (function, "return")."""

Method = ast.FunctionDef | ast.AsyncFunctionDef
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class Slots:
    """The slots of one file."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.scopes: Scopes = names.scopes
        self._attributes: dict[str, list[ast.Attribute]] = {}
        for attribute in self.scopes.nodes[ast.Attribute]:
            self._attributes.setdefault(attribute.attr, []).append(attribute)
        self._by_slot: dict[str, dict[Slot, list[ast.Attribute]]] = {}
        self._calls: dict[str, dict[Definition, list[ast.Call]]] = {}
        self._definitions: dict[str, Definition] | None = None
        self._families: dict[ast.ClassDef, ast.ClassDef] = {}
        self._members: dict[ast.ClassDef, list[ast.ClassDef]] | None = None

    def variable(self, target: ast.Name) -> Slot:
        """The slot that a name reads or sets; one that is not bound gets a slot all the same."""
        scope = self.scopes.binder(target) or self.scopes.around(target)
        # What a class body binds is read as an attribute.
        holder = self.family(scope.node) if isinstance(scope.node, ast.ClassDef) else scope
        return (holder, target.id)

    def slot_of(self, node: ast.expr) -> Slot | None:
        """The slot that a name or attribute reads, or ``None`` for anything else."""
        if isinstance(node, ast.Name):
            return self.variable(node) if self.scopes.binder(node) is not None else None
        if isinstance(node, ast.Attribute):
            return self.attribute(node)
        return None

    def attribute(self, node: ast.Attribute) -> Slot:
        """The slot of ``self.x`` is its class's; of ``args.x`` it is that name's in this file."""
        owner = self.names.own_class(node.value) or self._local_class(
            self.names.class_of(node.value) or self.names.resolve(node.value).only
        )
        if owner is not None:
            return (self.family(owner), node.attr)
        base = node.value
        while isinstance(base, ast.Attribute):
            base = base.value
        return (ast.unparse(node.value) if isinstance(base, ast.Name) else node.value, node.attr)

    def attribute_nodes(self, name: str) -> list[ast.Attribute]:
        """Every attribute of the file with this name."""
        return self._attributes.get(name, [])

    def attributes_of(self, slot: Slot) -> list[ast.Attribute]:
        """Every attribute of the file that reads or sets a slot."""
        by_slot = self._by_slot.get(slot[1])
        if by_slot is None:
            by_slot = self._by_slot[slot[1]] = {}
            for attribute in self.attribute_nodes(slot[1]):
                by_slot.setdefault(self.attribute(attribute), []).append(attribute)
        return by_slot.get(slot, [])

    def uses(self, slot: Slot) -> Iterator[ast.expr]:
        """The expressions that read a slot."""
        holder, name = slot
        if isinstance(holder, Scope):
            yield from holder.loads.get(name, ())
            return
        wanted = slot
        if isinstance(holder, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from self.calls_of(holder)
            owner = self.scopes.parents.get(holder)
            if not isinstance(owner, ast.ClassDef) or not self._is_property(holder):
                return
            wanted = (self.family(owner), holder.name)
        elif isinstance(holder, ast.ClassDef):
            for scope in self.class_scopes(holder):
                yield from scope.loads.get(name, ())
        for attribute in self.attributes_of(wanted):
            if isinstance(attribute.ctx, ast.Load):
                yield attribute

    def _is_property(self, function: Method) -> bool:
        decorators = (self.names.resolve(d).only for d in function.decorator_list)
        return any(d.rpartition(".")[2] in ("property", "cached_property") for d in decorators)

    def calls_of(self, function: Function) -> Iterator[ast.Call]:
        """The calls of a function of this file that the file shows."""
        if isinstance(function, ast.Lambda):
            return
        owner = self.scopes.parents.get(function)
        if isinstance(owner, ast.ClassDef) and function.name != "__init__":
            yield from self._method_calls(function.name).get(function, ())
            return
        called: list[Definition] = [function]
        if isinstance(owner, ast.ClassDef):
            family = self.classes_of(self.family(owner))
            called = [c for c in family if self.method_of(c, "__init__") is function]
        for definition in called:
            for use in self._binder(definition).loads.get(definition.name, ()):
                call = self.scopes.parents.get(use)
                if isinstance(call, ast.Call) and call.func is use:
                    yield call

    def _method_calls(self, name: str) -> dict[Definition, list[ast.Call]]:
        """The calls ``x.name(...)`` of the file by the method that they run."""
        found = self._calls.get(name)
        if found is None:
            found = self._calls[name] = {}
            for attribute in self.attribute_nodes(name):
                call = self.scopes.parents.get(attribute)
                if isinstance(call, ast.Call) and call.func is attribute:
                    callee = self.callee(call)
                    if callee is not None:
                        found.setdefault(callee, []).append(call)
        return found

    def _binder(self, definition: ast.AST) -> Scope:
        return self.scopes.around(self.scopes.parents[definition])

    def callee(self, call: ast.Call) -> Definition | None:
        """The function or class of this file that a call runs."""
        if isinstance(call.func, ast.Attribute):
            owner = self._local_class(self.names.class_of(call.func.value))
            method = self.method_of(owner, call.func.attr) if owner is not None else None
            if method is not None:
                return method
        path = self.names.resolve(call.func).only
        return self.definition(path.removeprefix(LOCAL)) if path.startswith(LOCAL) else None

    def function(self, call: ast.Call) -> Method | None:
        """The function of this file that a call runs; a class runs its constructor."""
        callee = self.callee(call)
        return self.method_of(callee, "__init__") if isinstance(callee, ast.ClassDef) else callee

    def _local_class(self, path: str) -> ast.ClassDef | None:
        found = self.definition(path.removeprefix(LOCAL)) if path.startswith(LOCAL) else None
        return found if isinstance(found, ast.ClassDef) else None

    def _bases(self, owner: ast.ClassDef) -> Iterator[ast.ClassDef]:
        """A class and those of its base classes that this file defines, the nearest first."""
        seen: list[ast.ClassDef] = []
        waiting = [owner]
        while waiting:
            current = waiting.pop(0)
            if current in seen:
                continue
            seen.append(current)
            yield current
            for base in current.bases:
                known = self._local_class(self.names.resolve(base).only)
                if known is not None:
                    waiting.append(known)

    def outside_bases(self, owner: ast.ClassDef) -> list[str]:
        """The dotted names of base classes that other files define."""
        bases = (base for current in self._bases(owner) for base in current.bases)
        paths = (self.names.resolve(base).only for base in bases)
        return [path for path in paths if path and not path.startswith(LOCAL)]

    def family(self, owner: ast.ClassDef) -> ast.ClassDef:
        """The class of this file that stands for all which share attributes by inheritance."""
        found = self._families.get(owner)
        if found is None:
            *_, found = self._bases(owner)
            self._families[owner] = found
        return found

    def classes_of(self, family: ast.ClassDef) -> list[ast.ClassDef]:
        """The classes of one family."""
        if self._members is None:
            self._members = {}
            for owner in self.scopes.nodes[ast.ClassDef]:
                self._members.setdefault(self.family(owner), []).append(owner)
        return self._members.get(family, [])

    def class_scopes(self, family: ast.ClassDef) -> list[Scope]:
        """The scopes of the class bodies of one family."""
        return [self.scopes.scope_of[owner] for owner in self.classes_of(family)]

    def method_of(self, owner: ast.ClassDef, name: str) -> Method | None:
        """The method that a class has, by itself or from a base class in this file."""
        for current in self._bases(owner):
            for statement in current.body:
                if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
                    if statement.name == name:
                        return statement
        return None

    def definition(self, qualified: str) -> Definition | None:
        """The class or function of this file with a qualified name; methods may be inherited."""
        if self._definitions is None:
            nodes = self.scopes.nodes
            self._definitions = {
                self.names.qualified_name(node): node
                for kind in (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
                for node in nodes[kind]
            }
        found = self._definitions.get(qualified)
        if found is None and "." in qualified:
            outer, _, name = qualified.rpartition(".")
            owner = self._definitions.get(outer)
            found = self.method_of(owner, name) if isinstance(owner, ast.ClassDef) else None
        return found

    def parameter(self, definition: Definition, which: int | str, by_class: bool) -> Slot | None:
        """The slot that an argument fills: the one at a position, or with a keyword.

        ``by_class`` says that the call names the class (``Class.method(x)``), not an object.
        A class without a constructor takes its annotated fields, as a dataclass does.
        """
        if isinstance(definition, ast.ClassDef):
            constructor = self.method_of(definition, "__init__")
            if constructor is None:
                return self._field(definition, which)
            definition = constructor
        name = self._parameter_name(definition, which, by_class)
        return (self.scopes.scope_of[definition], name) if name is not None else None

    def _parameter_name(self, function: Function, which: int | str, by_class: bool) -> str | None:
        if isinstance(which, str):
            names = [argument.arg for argument in self.scopes.parameters(function)]
            return which if which in names else None
        positional = [*function.args.posonlyargs, *function.args.args]
        which += self.filled(function, by_class)
        return positional[which].arg if which < len(positional) else None

    def _field(self, owner: ast.ClassDef, which: int | str) -> Slot | None:
        fields = [
            statement.target.id
            for current in reversed(list(self._bases(owner)))
            for statement in current.body
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
        ]
        if isinstance(which, int):
            if which >= len(fields):
                return None
            which = fields[which]
        return (self.family(owner), which) if which in fields else None

    def filled(self, function: Function, by_class: bool) -> int:
        """How many parameters a call fills by itself: ``self`` of a method, or none."""
        if not isinstance(self.scopes.parents.get(function), ast.ClassDef):
            return 0
        assert not isinstance(function, ast.Lambda)
        decorators = {self.names.resolve(d).only for d in function.decorator_list}
        if "builtins.staticmethod" in decorators:
            return 0
        needs_object = by_class and function.name != "__init__"
        return 0 if needs_object and "builtins.classmethod" not in decorators else 1

    def filled_by(self, call: ast.Call, which: int | str) -> Slot | None:
        """The slot of this file that a positional (or keyword) argument of a call fills."""
        callee = self.callee(call)
        return self.parameter(callee, which, self._is_by_class(call)) if callee else None

    def _is_by_class(self, call: ast.Call) -> bool:
        return isinstance(call.func, ast.Attribute) and bool(self.names.resolve(call.func).paths)

    def argument_for(self, call: ast.Call, function: Function, name: str) -> ast.expr | None:
        """The argument of a call that fills a parameter."""
        for keyword in call.keywords:
            if keyword.arg == name:
                return keyword.value
        by_class = self._is_by_class(call)
        for position, argument in enumerate(call.args):
            if isinstance(argument, ast.Starred):
                return None
            if self._parameter_name(function, position, by_class) == name:
                return argument
        return None

    def defines_method(self, receiver: ast.expr, name: str) -> bool:
        """Whether the receiver is an object whose class in this file defines the method."""
        path = self.names.class_of(receiver)
        if not path:
            while isinstance(receiver, ast.Call | ast.Attribute | ast.Subscript):
                receiver = receiver.func if isinstance(receiver, ast.Call) else receiver.value
            path = self.names.resolve(receiver).only
        if not path.startswith(LOCAL):
            return path.partition(".")[0] in places.FOREIGN
        owner = self._local_class(path)
        return owner is not None and self.method_of(owner, name) is not None
