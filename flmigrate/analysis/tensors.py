"""What a value is, as far as operators are concerned: a tensor, a module, something else.

Only what the file shows is believed: annotations, results of torch's functions, members of the
class, arithmetic with tensors. Anything else is unknown.
"""

from __future__ import annotations

import ast
from collections.abc import Collection
from functools import cached_property

from flmigrate.analysis.bindings import Binding, Scope
from flmigrate.analysis.names import LOCAL, Names
from flmigrate.analysis.scopes import Scopes

TENSOR = "tensor"
TENSORS = "tensors"
"""A tuple or list of tensors; its elements are tensors."""
OTHER = "other"
"""Anything that torch has no operators for: numbers, text, containers, modules of the project."""
UNKNOWN = ""

SELF = "self"
"""The value that is being asked about: ``x = x[1:]`` is what ``x`` was before."""

MODULE = "module:"
"""An instance of one of torch's modules, followed by its class."""

_PARAMETERS = frozenset({"torch.nn.Parameter", "torch.nn.parameter.Parameter", "torch.nn.Buffer"})
_TENSOR_CLASSES = frozenset(
    {"torch.Tensor", "torch.FloatTensor", "torch.LongTensor", "torch.BoolTensor", *_PARAMETERS}
)
_OTHER_CLASSES = frozenset(
    f"builtins.{name}" for name in "int float bool str bytes list dict tuple set complex".split()
)
_NOT_TENSORS = frozenset(
    "torch.device torch.dtype torch.Size torch.is_tensor torch.is_floating_point torch.numel "
    "torch.is_grad_enabled torch.no_grad torch.enable_grad torch.inference_mode torch.autocast "
    "torch.get_default_dtype torch.set_default_dtype torch.manual_seed torch.seed torch.finfo "
    "torch.iinfo torch.Generator torch.compile torch.load torch.save torch.is_complex "
    "torch.result_type torch.promote_types torch.can_cast torch.allclose torch.equal "
    "torch.broadcast_shapes torch.get_rng_state torch.is_autocast_enabled".split()
)
_SEVERAL = frozenset(
    "split chunk unbind tensor_split hsplit vsplit topk sort kthvalue mode meshgrid "
    "broadcast_tensors unique_consecutive aminmax frexp svd eig eigh qr slogdet lu cummax cummin "
    "nonzero_tuple var_mean std_mean split_with_sizes unsafe_chunk unsafe_split".split()
)
"""Functions and methods that give several tensors."""

_NUMBERS = frozenset(
    "size dim numel item tolist stride is_contiguous is_floating_point element_size nelement "
    "ndimension get_device storage_offset data_ptr is_complex is_pinned numpy storage "
    "untyped_storage type backward register_hook has_names allclose equal is_same_size "
    "is_shared retain_grad __len__".split()
)
"""Methods of tensors that give none."""

_TENSOR_ATTRIBUTES = frozenset("T mT H mH grad data real imag values indices".split())
_FUNCTIONS = ("torch.nn.functional.", "torch.linalg.", "torch.fft.")
"""Where every function gives tensors, whether its operators are known or not."""
_SEVERAL_MODULES = frozenset({"LSTM", "GRU", "RNN", "MultiheadAttention", "LSTMCell"})


_NONE_OPEN = 1_000_000  # deeper than anything


class Tensors:
    """Kinds of values in one file."""

    def __init__(self, names: Names, known: Collection[str], telling: Collection[str]) -> None:
        """``known`` are the dotted names that have operators; ``telling`` are names of methods
        that only tensors have."""
        self.names = names
        self.scopes: Scopes = names.scopes
        self._known = known
        self._telling = telling
        self._kinds: dict[ast.AST, str] = {}
        # Values that are being asked about, with how deep; what met one of them; the least deep.
        self._open: dict[ast.AST, int] = {}
        self._partial: dict[ast.AST, str] = {}
        self._lowest = _NONE_OPEN

    def kind(self, node: ast.AST | None) -> str:
        """``TENSOR``, ``TENSORS``, ``OTHER``, ``MODULE`` with a class, or ``UNKNOWN``."""
        if node is None:
            return UNKNOWN
        found = self._kinds.get(node)
        if found is None:
            found = self._partial.get(node)
        if found is not None:
            return found
        if node in self._open:
            self._lowest = min(self._lowest, self._open[node])
            return SELF
        depth = self._open[node] = len(self._open)
        above, self._lowest = self._lowest, depth
        try:
            found = self._kind(node)
        finally:
            del self._open[node]
        # What met a value that is still being asked about may be partial.
        is_whole = self._lowest >= depth
        self._lowest = min(above, self._lowest)
        if is_whole:
            found = UNKNOWN if found == SELF else found
            self._kinds[node] = found
        else:
            self._partial[node] = found
        if not self._open:
            self._partial.clear()
            self._lowest = _NONE_OPEN
        return found

    def _kind(self, node: ast.AST) -> str:
        match node:
            case ast.Name():
                return self._name(node)
            case ast.Call():
                return self._call(node)
            case ast.Attribute():
                return self._attribute(node)
            case ast.BinOp():
                return self._either(node.left, node.right)
            case ast.UnaryOp():
                return OTHER if isinstance(node.op, ast.Not) else self.kind(node.operand)
            case ast.Compare():
                if any(isinstance(op, ast.Is | ast.IsNot | ast.In | ast.NotIn) for op in node.ops):
                    return OTHER
                return self._either(node.left, *node.comparators)
            case ast.Subscript():
                base = self.kind(node.value)
                return TENSOR if base in (TENSOR, TENSORS) else base if base == SELF else UNKNOWN
            case ast.IfExp():
                return self._same(node.body, node.orelse)
            case ast.BoolOp():
                return self._same(*node.values)
            case ast.Tuple() | ast.List():
                kinds = {self.kind(element) for element in node.elts}
                return TENSORS if kinds == {TENSOR} else OTHER
            case ast.NamedExpr() | ast.Await() | ast.Starred():
                return self.kind(node.value)
            case ast.Constant() | ast.JoinedStr() | ast.Dict() | ast.Set() | ast.Lambda():
                return OTHER
            case ast.ListComp() | ast.GeneratorExp() | ast.SetComp():
                return TENSORS if self.kind(node.elt) == TENSOR else OTHER
            case ast.DictComp():
                return OTHER
        return UNKNOWN

    def _either(self, *operands: ast.expr) -> str:
        kinds = [self.kind(operand) for operand in operands]
        if TENSOR in kinds:
            return TENSOR
        if SELF in kinds:
            return SELF
        return OTHER if all(kind == OTHER for kind in kinds) else UNKNOWN

    def _same(self, *values: ast.expr) -> str:
        """The kind of a choice; ``None`` and numbers beside a tensor do not count."""
        kinds = {self.kind(value) for value in values if not isinstance(value, ast.Constant)}
        kinds = kinds - {SELF} or kinds
        return kinds.pop() if len(kinds) == 1 else UNKNOWN

    def _name(self, node: ast.Name) -> str:
        if self.names.is_self(node):
            return OTHER
        scope = self.scopes.binder(node)
        if scope is None:
            return UNKNOWN
        kinds: set[str] = set()
        for binding in scope.bindings[node.id]:
            value = binding.value
            if isinstance(value, ast.Constant) and value.value is None:
                continue
            if isinstance(self.scopes.parents.get(binding.node), ast.AugAssign):
                continue  # stays what it was
            if binding.annotation is not None and value is None:
                kinds.add(self._annotated(binding.annotation))
            elif binding.kind == "assign" and value is not None:
                kinds.add(self.kind(value))
            elif binding.kind in ("unpack", "loop"):
                whole = self.kind(value)
                is_tensor = whole in (TENSOR, TENSORS)
                kinds.add(TENSOR if is_tensor else self._unpacked(value, binding.index))
            elif binding.kind in ("import", "def"):
                kinds.add(OTHER)
            elif binding.kind == "param":
                kinds.add(self._parameter(scope, node.id, binding))
            else:
                kinds.add(UNKNOWN)
        kinds = kinds - {SELF} or kinds or {UNKNOWN}
        if len(kinds) == 1:
            return kinds.pop()
        # One value that is no tensor may be a first setting: ``loss = 0`` before a loop.
        return TENSOR if kinds == {TENSOR, OTHER} else UNKNOWN

    def _parameter(self, scope: Scope, name: str, binding: Binding) -> str:
        """A parameter is what it is annotated as, else what its uses show."""
        if binding.annotation is not None:
            return self._annotated(binding.annotation)
        loads = scope.loads.get(name, ())
        uses = [self.scopes.parents.get(load) for load in loads]
        if any(isinstance(use, ast.Attribute) and use.attr in self._telling for use in uses):
            return TENSOR
        return TENSOR if self._is_input(scope.node, name, loads) else UNKNOWN

    def _is_input(self, function: ast.AST, name: str, loads: Collection[ast.Name]) -> bool:
        """Whether it is a positional parameter of a module's ``forward`` that is used as one."""
        if not isinstance(function, ast.FunctionDef) or function.name != "forward":
            return False
        owner = self.scopes.parents.get(function)
        if not isinstance(owner, ast.ClassDef) or not self._is_module(owner):
            return False
        plain = function.args.args[: len(function.args.args) - len(function.args.defaults)]
        if name not in [parameter.arg for parameter in plain[1:]]:
            return False
        return not any(self._speaks_against(load) for load in loads)

    def _is_module(self, owner: ast.ClassDef) -> bool:
        return any(self.names.resolve(base).only.startswith("torch.nn.") for base in owner.bases)

    def _speaks_against(self, load: ast.Name) -> bool:
        """Whether a use shows a dictionary, a sequence or a function."""
        use = self.scopes.parents.get(load)
        if isinstance(use, ast.Subscript) and use.value is load:
            return isinstance(use.slice, ast.Constant) and isinstance(use.slice.value, str)
        if isinstance(use, ast.Attribute):
            return use.attr in ("items", "keys", "values", "get", "append", "update")
        if isinstance(use, ast.For | ast.comprehension):
            return use.iter is load
        return isinstance(use, ast.Call) and use.func is load

    def _unpacked(self, value: ast.expr | None, index: int) -> str:
        if isinstance(value, ast.Tuple | ast.List) and 0 <= index < len(value.elts):
            return self.kind(value.elts[index])
        if isinstance(value, ast.Attribute) and value.attr == "shape":
            return OTHER
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            if value.func.attr in ("size", "items", "keys"):
                return OTHER if value.func.attr == "size" else UNKNOWN
        return UNKNOWN

    def _annotated(self, annotation: ast.expr) -> str:
        path = self.names.annotation_path(annotation)
        if path in _TENSOR_CLASSES:
            return TENSOR
        if path in _OTHER_CLASSES:
            return OTHER
        if isinstance(annotation, ast.Subscript):
            outer = self.names.annotation_path(annotation.value).rpartition(".")[2]
            inner = annotation.slice
            first = inner.elts[0] if isinstance(inner, ast.Tuple) and inner.elts else inner
            if outer.lower() in ("list", "tuple", "sequence", "iterable"):
                return TENSORS if self._annotated(first) == TENSOR else OTHER
            if outer.lower() in ("dict", "callable", "mapping", "type"):
                return OTHER
        return UNKNOWN

    def _call(self, node: ast.Call) -> str:
        path = self.names.resolve(node.func).only
        if path.startswith("torch."):
            return self._of_torch(path)
        if path in ("builtins.len", "builtins.int", "builtins.float", "builtins.range"):
            return OTHER
        if path.startswith("builtins."):
            return TENSOR if path == "builtins.abs" and self._first(node) == TENSOR else UNKNOWN
        if path.startswith(LOCAL):
            return self._returned(path)
        function = node.func
        if isinstance(function, ast.Attribute):
            receiver = self.kind(function.value)
            if receiver == TENSOR or (receiver == UNKNOWN and function.attr in self._telling):
                return self._of_method(function.attr)
            if receiver == SELF:
                return OTHER if function.attr in _NUMBERS else SELF
        return self._of_module(self.kind(function))

    def _first(self, call: ast.Call) -> str:
        return self.kind(call.args[0]) if call.args else UNKNOWN

    def _of_torch(self, path: str) -> str:
        last = path.rpartition(".")[2]
        if path in _NOT_TENSORS:
            return OTHER
        if path in _TENSOR_CLASSES:
            return TENSOR
        if path.startswith("torch.nn.") and last[:1].isupper():
            return MODULE + path
        if last in _SEVERAL:
            return TENSORS
        is_function = path in self._known or path.startswith(_FUNCTIONS)
        return TENSOR if is_function and last[:1].islower() else UNKNOWN

    @staticmethod
    def _of_method(name: str) -> str:
        if name in _NUMBERS:
            return OTHER
        return TENSORS if name in _SEVERAL else TENSOR

    @staticmethod
    def _of_module(kind: str) -> str:
        if not kind.startswith(MODULE):
            return UNKNOWN
        return TENSORS if kind.rpartition(".")[2] in _SEVERAL_MODULES else TENSOR

    def _returned(self, path: str) -> str:
        annotation = self._results.get(path)
        return self._annotated(annotation) if annotation is not None else UNKNOWN

    @cached_property
    def _results(self) -> dict[str, ast.expr]:
        """What the functions of the file are annotated to return."""
        found = {}
        for kind in (ast.FunctionDef, ast.AsyncFunctionDef):
            for function in self.scopes.nodes[kind]:
                if function.returns is not None:
                    found[LOCAL + self.names.qualified_name(function)] = function.returns
        return found

    def _attribute(self, node: ast.Attribute) -> str:
        owner = self.names.own_class(node.value)
        if owner is not None:
            return self._member(owner, node.attr)
        base = self.kind(node.value)
        if base == TENSOR:
            return TENSOR if node.attr in _TENSOR_ATTRIBUTES else OTHER
        if base == SELF:
            return SELF if node.attr in _TENSOR_ATTRIBUTES else OTHER
        if base.startswith(MODULE):
            return TENSOR if node.attr in ("weight", "bias", "running_mean", "running_var") else ""
        return UNKNOWN

    def _member(self, owner: ast.ClassDef, name: str) -> str:
        """What a class of the file keeps in an attribute."""
        if name in self._registered.get(owner, ()):
            return TENSOR
        return _one({self._kept(value) for value in self._stores.get((owner, name), ())})

    @cached_property
    def _stores(self) -> dict[tuple[ast.ClassDef, str], list[ast.expr | None]]:
        """The values that classes assign to their attributes; ``None`` for any other way."""
        found: dict[tuple[ast.ClassDef, str], list[ast.expr | None]] = {}
        for attribute in self.scopes.nodes[ast.Attribute]:
            if not isinstance(attribute.ctx, ast.Store):
                continue
            owner = self.names.own_class(attribute.value)
            if owner is not None:
                parent = self.scopes.parents.get(attribute)
                value = parent.value if isinstance(parent, ast.Assign | ast.AnnAssign) else None
                if isinstance(parent, ast.Tuple):
                    value = _element(parent, attribute, self.scopes.parents.get(parent))
                found.setdefault((owner, attribute.attr), []).append(value)
        return found

    @cached_property
    def _registered(self) -> dict[ast.ClassDef, set[str]]:
        """Names under which classes register buffers and parameters."""
        found: dict[ast.ClassDef, set[str]] = {}
        for call in self.scopes.nodes[ast.Call]:
            function = call.func
            if isinstance(function, ast.Attribute) and function.attr in _REGISTERING and call.args:
                owner = self.names.own_class(function.value)
                if owner is not None and isinstance(call.args[0], ast.Constant):
                    found.setdefault(owner, set()).add(str(call.args[0].value))
        return found

    def _kept(self, value: ast.expr | None) -> str:
        if isinstance(value, ast.Constant) and value.value is None:
            return ""
        if isinstance(value, ast.Call):
            path = self.names.resolve(value.func).only
            if path in _PARAMETERS:
                return TENSOR
            if path.startswith("torch.nn.") and path.rpartition(".")[2][:1].isupper():
                return MODULE + path
        return self.kind(value) or "?"


_REGISTERING = frozenset({"register_buffer", "register_parameter"})


def _element(target: ast.Tuple, part: ast.expr, statement: ast.AST | None) -> ast.expr | None:
    """The value that one part of a tuple is assigned, where both sides are written out."""
    value = statement.value if isinstance(statement, ast.Assign) else None
    if isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts):
        return value.elts[target.elts.index(part)]
    return None


def _one(kinds: set[str]) -> str:
    kinds = kinds - {""}
    return kinds.pop() if len(kinds) == 1 and "?" not in kinds else UNKNOWN
