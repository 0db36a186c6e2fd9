"""What a value is: whether an expression or a slot holds a device (or backend)."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flmigrate.analysis import places
from flmigrate.analysis.kinds import Verdict
from flmigrate.analysis.scopes import Binding, Scope
from flmigrate.analysis.slots import Slot

if TYPE_CHECKING:
    from flmigrate.analysis.flow import Flow


class Values:
    """Looks back from values to where they come from, through one file."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self._slots = flow.slots
        self.names = flow.names
        self.scopes = flow.names.scopes
        self.kind = flow.kind

    def is_one(self, node: ast.expr) -> bool:
        """Whether the value of an expression is of this kind."""
        match node:
            case ast.Name():
                slot = self._slots.slot_of(node)
                if slot is not None:
                    return self.is_kept(slot)
                return self._flow.hinted(node.id) or self._flow.asked(self._path(node), "")
            case ast.Attribute():
                return self._typed_attribute(node)
            case ast.Call():
                return self._typed_call(node)
            case ast.Subscript():
                key = node.slice
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    return self._flow.hinted(key.value)
                if isinstance(node.value, ast.Name | ast.Attribute):
                    if self._flow.containers.container(node.value) is Verdict.YES:
                        return True
                return self.is_one(node.value)
            case ast.IfExp():
                return self.is_one(node.body) or self.is_one(node.orelse)
            case ast.BoolOp():
                return any(self.is_one(value) for value in node.values)
            case ast.NamedExpr() | ast.Await():
                return self.is_one(node.value)
            case ast.BinOp(op=ast.Add()):
                return self.is_one(node.left)
            case ast.JoinedStr() if self.kind.name == "device":
                return self._typed_joined(node)
        return False

    def _typed_joined(self, node: ast.JoinedStr) -> bool:
        first = node.values[0] if node.values else None
        if isinstance(first, ast.Constant):
            return str(first.value).endswith(":") and str(first.value)[:-1] in self.kind.values
        return isinstance(first, ast.FormattedValue) and self.is_one(first.value)

    def _typed_attribute(self, node: ast.Attribute) -> bool:
        if node.attr == "type" and self.kind.name == "device":
            return self.is_one(node.value)
        if self._flow.hinted(node.attr):
            paths = self.names.resolve(node).paths
            return not any(path.startswith("torch.") for path in paths)
        slot = self._slots.attribute(node)
        return self.is_kept(slot) or self._flow.asked(self._path(node), "")

    def _path(self, node: ast.expr) -> str:
        return self.names.resolve(node).only

    def _typed_call(self, node: ast.Call) -> bool:
        path = self._flow.canonical(self.names.resolve(node.func).only)
        if path in self.kind.results:
            return True
        if path in ("builtins.str", "builtins.repr", "builtins.list", "builtins.set") and node.args:
            return self.is_one(node.args[0])
        if path == "builtins.getattr" and len(node.args) > 1:
            name = node.args[1]
            return isinstance(name, ast.Constant) and self._flow.hinted(str(name.value))
        if isinstance(node.func, ast.Attribute):
            if node.func.attr in places.TEXT_METHODS:
                return self.is_one(node.func.value)
            if node.func.attr in places.LOOKUPS and node.args:
                key = node.args[0]
                if isinstance(key, ast.Constant):
                    return self._flow.hinted(str(key.value))
                return self._flow.containers.container(node.func.value) is Verdict.YES
        function = self._slots.function(node)
        if function is not None and self.is_kept((function, "return")):
            return True
        called = self.names.called_name(node)
        if self._flow.hinted(called) and not called.startswith(("set_", "_set_")):
            return not path.startswith("torch.")
        return self._flow.asked(path, "")

    def is_kept(self, slot: Slot) -> bool:
        """Whether values of this kind are kept in a slot."""
        if slot[1] != "return" and self._flow.hinted(slot[1]):
            return True
        return self._flow.search(slot, lambda: self._keeps_one(slot))

    def _keeps_one(self, slot: Slot) -> bool:
        if self._gets_one(slot):
            return True
        goes = self._flow.destinations.goes
        if any(goes(use) is Verdict.YES for use in self._slots.uses(slot)):
            return True
        return any(self._flow.asked(path, "") for path in self._public_paths(slot))

    def _public_paths(self, slot: Slot) -> list[str]:
        """The dotted names by which other files may read a slot or call a function."""
        holder, name = slot
        module = self._flow.module_name
        if not module:
            return []
        if holder is self.scopes.module:
            return [f"{module}.{name}"]
        if isinstance(holder, ast.FunctionDef | ast.AsyncFunctionDef):
            return [f"{module}.{self.names.qualified_name(holder)}"]
        if isinstance(holder, ast.ClassDef):
            owners = map(self.names.qualified_name, self._slots.classes_of(holder))
            return [f"{module}.{owner}.{name}" for owner in owners]
        return []

    def _gets_one(self, slot: Slot) -> bool:
        """Whether something of this kind is put into a slot."""
        holder, name = slot
        if isinstance(holder, Scope):
            return any(self._binding_is_one(holder, name, b) for b in holder.bindings.get(name, ()))
        if name == "return":
            assert isinstance(holder, ast.FunctionDef | ast.AsyncFunctionDef)
            if self.annotated(holder.returns) or self._flow.hinted(
                holder.name.removeprefix("get_")
            ):
                return True
            return any(
                returned.value is not None and self.is_one(returned.value)
                for returned in self.scopes.nodes[ast.Return]
                if self.names.enclosing(returned, ast.FunctionDef, ast.AsyncFunctionDef) is holder
            )
        for attribute in self._slots.attributes_of(slot):
            if isinstance(attribute.ctx, ast.Store):
                parent = self.scopes.parents.get(attribute)
                if isinstance(parent, ast.Assign | ast.AnnAssign) and parent.value is not None:
                    if self.is_one(parent.value):
                        return True
        if isinstance(holder, ast.ClassDef):
            return any(
                self._binding_is_one(scope, name, binding)
                for scope in self._slots.class_scopes(holder)
                for binding in scope.bindings.get(name, ())
            )
        return False

    def _binding_is_one(self, scope: Scope, name: str, binding: Binding) -> bool:
        if binding.annotation is not None and self.annotated(binding.annotation):
            return True
        if binding.kind == "assign" and binding.value is not None:
            return self.is_one(binding.value)
        if binding.kind == "loop" and binding.value is not None:
            return (
                self.is_one(binding.value)
                or self._flow.containers.container(binding.value) is Verdict.YES
            )
        if binding.kind == "unpack" and isinstance(binding.value, ast.Call):
            return self.is_one(binding.value) and binding.index == 0
        if binding.kind == "import":
            return self._flow.asked(binding.path, "")
        if binding.kind == "param":
            return self._parameter_gets_one(scope, name)
        return False

    def _parameter_gets_one(self, scope: Scope, name: str) -> bool:
        function = scope.node
        assert isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for call in self._slots.calls_of(function):
            argument = self._slots.argument_for(call, function, name)
            if argument is not None and self.is_one(argument):
                return True
        if isinstance(function, ast.Lambda) or not self._flow.module_name:
            return False
        # Other files may call it, a constructor by the name of its class.
        qualified = self.names.qualified_name(function).removesuffix(".__init__")
        path = f"{self._flow.module_name}.{qualified}"
        names = [argument.arg for argument in self.scopes.parameters(function)]
        position = names.index(name) - self._slots.filled(function, by_class=True)
        return self._flow.asked(path, name) or self._flow.asked(path, str(position))

    def annotated(self, annotation: ast.expr | None) -> bool:
        """Whether an annotation promises a value of this kind."""
        if annotation is None or self.kind.name != "device":
            return False
        annotation = self.scopes.text_annotations.get(annotation, annotation)
        if isinstance(annotation, ast.BinOp):
            return self.annotated(annotation.left) or self.annotated(annotation.right)
        if isinstance(annotation, ast.Subscript):
            inner = annotation.slice
            parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            return any(self.annotated(part) for part in parts)
        return self.names.annotation_path(annotation) in ("torch.device", "torch.types.Device")
