"""Where a file uses operators of torch: calls, methods, Python's own operators, indexing.

Each use has a public name, as the API -> leaf op table has them, and a confidence: ``resolved``
where the name or the receiver is known, ``possible`` where only the method's name speaks for it.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache

from flmigrate.analysis.context import Context
from flmigrate.analysis.gradients import Gradients
from flmigrate.analysis.names import LOCAL
from flmigrate.analysis.tensors import MODULE, OTHER, TENSOR, TENSORS, UNKNOWN, Tensors

RESOLVED, POSSIBLE = "resolved", "possible"

_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "truediv",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.MatMult: "matmul",
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.BitXor: "xor",
}
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
}
_UNARY: dict[type[ast.unaryop], str] = {ast.USub: "neg", ast.Invert: "invert"}

_OF_NUMPY = frozenset(
    "all any argmax argmin argpartition argsort astype base byteswap choose clip compress conj "
    "conjugate copy ctypes cumprod cumsum data device diagonal dot dtype dump dumps fill flags "
    "flat flatten getfield imag item itemset itemsize mT max mean min nbytes ndim newbyteorder "
    "nonzero partition prod ptp put ravel real repeat reshape resize round searchsorted setfield "
    "setflags shape size sort squeeze std strides sum swapaxes take to_device tobytes tofile "
    "tolist tostring trace transpose var view".split()
)
_OF_PANDAS = frozenset(
    "abs add diff div eq eval floor_divide ge gt isin isna le lt map median mod mode mul ne pow "
    "rank rsub sub unique where xor quantile corr cov".split()
)
_OF_MODULES = frozenset(
    # modules, distributions, paths, images, loggers, queues, generators, file objects
    "apply float half double bfloat16 int long short bool char train zero_grad share_memory type "
    "split expand sample rename new set_ save histogram exp stride names crop rotate record_stream "
    "norm detach clone contiguous get_device put take fill size view repeat numpy resize scatter "
    "to cuda cpu data_ptr storage seed initial_seed".split()
)
_BUILTIN_NAMES = frozenset(
    name for kind in (str, bytes, list, dict, set, tuple, int, float) for name in dir(kind)
)
_ARRAYS = frozenset({"numpy", "scipy", "jax", "cupy", "tensorflow", "paddle", "mindspore"})


def ambiguous_methods(imported: Collection[str]) -> frozenset[str]:
    """Method names that other things than tensors have too, in a file with these imports."""
    found = _OF_MODULES | _BUILTIN_NAMES
    if not _ARRAYS.isdisjoint(imported):
        found |= _OF_NUMPY
    if "pandas" in imported or "polars" in imported:
        found |= _OF_PANDAS | _OF_NUMPY
    return found


_SILENT = frozenset(
    "to cpu cuda flagos size dim numel stride is_contiguous element_size get_device type_as "
    "requires_grad_ register_hook backward retain_grad data_ptr storage untyped_storage "
    "is_floating_point is_complex nelement ndimension share_memory_ pin_memory".split()
)
"""Methods that move or describe a tensor: not what coverage is about."""


@dataclass(frozen=True, slots=True, eq=False)
class Use:
    """One use of an operator. ``name`` is public (``torch.Tensor.__mul__[number]``), or, for a
    call of ``torch.ops``, the operator itself (``aten::mm``). ``backward`` is false where no
    gradient is wanted."""

    node: ast.AST
    name: str
    confidence: str
    backward: bool = True


@cache
def _methods_in(known: frozenset[str]) -> frozenset[str]:
    """Names of tensors' methods among public names: the same for every file of a run."""
    prefix = "torch.Tensor."
    return frozenset(n[len(prefix) :].partition("[")[0] for n in known if n.startswith(prefix))


class Operators:
    """Finds the uses in one file. ``known`` are the names that the table has."""

    def __init__(self, context: Context, known: frozenset[str], foreign: Collection[str]) -> None:
        """``foreign`` are names outside torch, or prefixes of them, that count as uses."""
        self.context = context
        self.names = context.names
        self.scopes = context.scopes
        self._foreign = tuple(foreign)
        self._methods = _methods_in(known)
        own = {
            node.name
            for node in context.scopes.nodes[ast.FunctionDef]
            if isinstance(context.scopes.parents.get(node), ast.ClassDef)
        }
        self._telling = self._methods - ambiguous_methods(context.imported) - own
        """Methods that only a tensor has, as far as this file goes."""
        self.tensors = Tensors(context.names, known, self._telling)
        self._gradients = Gradients(context.names)

    def uses(self, *, possible: bool) -> Iterator[Use]:
        """All uses, in no particular order; with ``possible`` those of unknown receivers too."""
        for use in self._all():
            if possible or use.confidence == RESOLVED:
                if self._gradients.are_off(use.node):
                    use = Use(use.node, use.name, use.confidence, backward=False)
                yield use

    def _all(self) -> Iterator[Use]:
        nodes = self.scopes.nodes
        for call in nodes[ast.Call]:
            use = self._call(call)
            if use is not None:
                yield use
        for operation in nodes[ast.BinOp]:
            yield from self._operation(operation, operation.left, operation.right, operation.op, "")
        for change in nodes[ast.AugAssign]:
            yield from self._operation(change, change.target, change.value, change.op, "i")
            if isinstance(change.target, ast.Subscript):
                yield from self._stored(change.target, change.value)
        for operation in nodes[ast.UnaryOp]:
            name = _UNARY.get(operation.op.__class__)
            if name and self.tensors.kind(operation.operand) == TENSOR:
                yield Use(operation, f"torch.Tensor.__{name}__", RESOLVED)
        for comparison in nodes[ast.Compare]:
            yield from self._comparison(comparison)
        for subscript in nodes[ast.Subscript]:
            yield from self._subscript(subscript)

    # --- calls -----------------------------------------------------------------------------

    def _call(self, call: ast.Call) -> Use | None:
        function = call.func
        path = self.names.resolve(function).only
        if path.startswith("torch.ops."):
            space, _, op = path[len("torch.ops.") :].partition(".")
            return Use(call, f"{space}::{op}", RESOLVED) if op else None
        if path.startswith("torch."):
            return self._of_torch(call, path)
        if path and not path.startswith((LOCAL, "builtins.")):
            if any(path == name or path.startswith(f"{name}.") for name in self._foreign):
                return Use(call, path, RESOLVED)
            return None
        if isinstance(function, ast.Attribute) and not path:
            return self._method(call, function)
        return None

    def _of_torch(self, call: ast.Call, path: str) -> Use | None:
        path = _PUBLIC.get(path, path)
        if path.startswith("torch.Tensor."):
            return Use(call, path, RESOLVED)
        if path in ("torch.where", "torch.Tensor.where") and len(call.args) == 1:
            return Use(call, "torch.where[condition]", RESOLVED)
        if path.startswith("torch.optim."):
            return Use(call, path + _optimizer_variant(call), RESOLVED)
        if path == "torch.pow" and len(call.args) > 1:
            return Use(call, f"torch.pow{_exponent(call.args[1])}", RESOLVED)
        return Use(call, path + way_of_calling(call, path.rpartition(".")[2], 1), RESOLVED)

    def _method(self, call: ast.Call, function: ast.Attribute) -> Use | None:
        name = function.attr
        if name not in self._methods or name in _SILENT:
            return None
        kind = self.tensors.kind(function.value)
        if kind == TENSOR:
            confidence = RESOLVED
        elif kind != UNKNOWN:
            return None
        elif name not in self._telling:
            confidence = POSSIBLE
        else:
            confidence = RESOLVED
        if name == "pow" and call.args:
            return Use(call, f"torch.Tensor.pow{_exponent(call.args[0])}", confidence)
        return Use(call, f"torch.Tensor.{name}{way_of_calling(call, name, 0)}", confidence)

    # --- Python's operators ----------------------------------------------------------------

    def _operation(
        self, node: ast.AST, left: ast.expr, right: ast.expr, op: ast.operator, prefix: str
    ) -> Iterator[Use]:
        name = _BINARY.get(op.__class__)
        if name is None:
            return
        first, second = self.tensors.kind(left), self.tensors.kind(right)
        if first == TENSOR:
            api = f"torch.Tensor.__{prefix}{name}__{_operand(right, second)}"
        elif second == TENSOR and first not in (TENSORS,):
            if not prefix and first == OTHER:
                api = f"torch.Tensor.__r{name}__[number]"
            else:
                api = f"torch.Tensor.__{prefix}{name}__"
        elif first == UNKNOWN and second != TENSORS and not second.startswith(MODULE):
            api = f"torch.Tensor.__{prefix}{name}__{_operand(right, second)}"
            if isinstance(op, ast.Mod) and isinstance(left, ast.Constant | ast.JoinedStr):
                return
            yield Use(node, _spelled(api, left, right, op), self._of_unknown(op))
            return
        else:
            return
        yield Use(node, _spelled(api, left, right, op), RESOLVED)

    def _of_unknown(self, op: ast.operator) -> str:
        """``a @ b`` is between tensors unless the file has numpy's arrays too."""
        is_tensors = isinstance(op, ast.MatMult) and "numpy" not in self.context.imported
        return RESOLVED if is_tensors and "torch" in self.context.imported else POSSIBLE

    def _comparison(self, node: ast.Compare) -> Iterator[Use]:
        left = node.left
        for op, right in zip(node.ops, node.comparators, strict=True):
            name = _COMPARISONS.get(op.__class__)
            kinds = self.tensors.kind(left), self.tensors.kind(right)
            if name is not None and TENSOR in kinds:
                operand = _operand(right, kinds[1]) if kinds[0] == TENSOR else ""
                yield Use(node, f"torch.Tensor.__{name}__{operand}", RESOLVED)
            left = right

    # --- indexing --------------------------------------------------------------------------

    def _subscript(self, node: ast.Subscript) -> Iterator[Use]:
        if isinstance(node.ctx, ast.Del) or self.tensors.kind(node.value) != TENSOR:
            if isinstance(node.ctx, ast.Store):
                index = self._index(node.slice)
                if index in ("tensor", "mask"):  # containers are not indexed by tensors
                    yield from self._assigned(node, index)
            return
        if isinstance(node.ctx, ast.Store):
            yield from self._assigned(node, self._index(node.slice))
        else:
            index = self._index(node.slice)
            yield Use(node, "torch.Tensor.__getitem__" + (f"[{index}]" if index else ""), RESOLVED)

    def _assigned(self, node: ast.Subscript, index: str) -> Iterator[Use]:
        parent = self.scopes.parents.get(node)
        value = parent.value if isinstance(parent, ast.Assign | ast.AugAssign) else None
        yield from self._stored(node, value, index)

    def _stored(
        self, node: ast.Subscript, value: ast.expr | None, index: str | None = None
    ) -> Iterator[Use]:
        index = self._index(node.slice) if index is None else index
        if index not in ("tensor", "mask") and self.tensors.kind(node.value) != TENSOR:
            return
        number = isinstance(value, ast.Constant) or (
            isinstance(value, ast.UnaryOp) and isinstance(value.operand, ast.Constant)
        )
        variants = {
            "basic": "[number]" if number else "[basic]",
            "tensor": "[tensor,number]" if number else "[tensor]",
            "list": "[tensor,number]" if number else "[tensor]",
            "mask": "[mask,number]" if number else "[mask]",
        }
        yield Use(node, f"torch.Tensor.__setitem__{variants.get(index, '')}", RESOLVED)

    def _index(self, index: ast.expr) -> str:
        """``basic``, ``list``, ``mask``, ``tensor``, or empty where it may be any of these."""
        parts = index.elts if isinstance(index, ast.Tuple) else [index]
        found = {self._index_part(part) for part in parts}
        for kind in ("mask", "tensor", "list"):
            if kind in found:
                return kind
        return "" if "" in found else "basic"

    def _index_part(self, part: ast.expr) -> str:
        if isinstance(part, ast.Slice | ast.Constant):
            return "basic"
        if isinstance(part, ast.UnaryOp) and isinstance(part.operand, ast.Constant):
            return "basic"
        if isinstance(part, ast.List):
            return "list"
        if isinstance(part, ast.Compare) and self.tensors.kind(part) == TENSOR:
            return "mask"
        if isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.Invert):
            return "mask" if self.tensors.kind(part) == TENSOR else ""
        kind = self.tensors.kind(part)
        if kind == TENSOR:
            return "tensor"
        return "basic" if kind and not kind.startswith(MODULE) else ""


def _operand(node: ast.expr, kind: str) -> str:
    if kind == TENSOR:
        return "[tensor]"
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return "[number]"
    return ""


def _exponent(node: ast.expr) -> str:
    """Which kernel a power takes depends on the type of its exponent."""
    if isinstance(node, ast.Constant) and not isinstance(node.value, bool):
        if isinstance(node.value, int):
            return "[int]"
        if isinstance(node.value, float):
            return "[float]"
    return ""


def _spelled(api: str, left: ast.expr, right: ast.expr, op: ast.operator) -> str:
    """The public name of a Python operator, as its operands make it."""
    if isinstance(op, ast.Pow):
        exponent = _exponent(right)
        return f"torch.Tensor.pow{exponent}" if exponent and "__ipow" not in api else api
    if isinstance(op, ast.MatMult) and (_is_batched(left) or _is_batched(right)):
        return "torch.Tensor.matmul[batch]"
    return api


def _is_batched(node: ast.expr) -> bool:
    """Whether an operand is turned in its last two dimensions, counted from behind."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    if node.func.attr not in ("transpose", "swapaxes", "swapdims"):
        return False
    return {ast.unparse(argument) for argument in node.args} == {"-1", "-2"}


_REDUCTIONS = frozenset("sum mean max min amax amin argmax argmin std var all any".split())
_PLAIN = frozenset(
    "dropout Dropout cross_entropy CrossEntropyLoss Linear binary_cross_entropy_with_logits "
    "binary_cross_entropy smooth_l1_loss mse_loss".split()
)
_BY_NUMBER = frozenset("clamp clamp_ clip clip_ masked_fill masked_fill_".split())
_HARMLESS = frozenset({"ignore_index", "reduction", "device", "dtype", "p", "training", "inplace"})
_POOLS = frozenset({"AdaptiveAvgPool2d", "adaptive_avg_pool2d"})


def way_of_calling(call: ast.Call, name: str, first: int) -> str:
    """The variant of a name that a call's arguments show, in brackets, or the empty string.

    ``first`` is how many arguments come before the options: 1 for a function, 0 for a method.
    The table has entries for these variants where they lead to other operators.
    """
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}
    if None in keywords or any(isinstance(argument, ast.Starred) for argument in call.args):
        return ""
    if name in _REDUCTIONS:
        return "[dim]" if len(call.args) > first or {"dim", "axis"} & keywords.keys() else "[plain]"
    if name == "scaled_dot_product_attention":
        return _attention(call, keywords)
    if name == "argsort":
        return "[plain]"
    if name == "interpolate":
        mode = keywords.get("mode")
        if mode is None:
            return "[nearest]"
        is_text = isinstance(mode, ast.Constant) and isinstance(mode.value, str)
        return f"[{ast.literal_eval(mode)}]" if is_text else ""
    if name in _BY_NUMBER:
        return "[number]"  # bounds and fillings that are tensors are rare
    if name in ("matmul", "bmm") and any(map(_is_batched, call.args)):
        return "[batch]"
    if name in _POOLS and call.args and ast.unparse(call.args[-1]) in ("1", "(1, 1)"):
        return "[1]"
    if name == "Linear" and "bias" in keywords:
        return "[bias=False]" if ast.unparse(keywords["bias"]) == "False" else ""
    return "[plain]" if name in _PLAIN and keywords.keys() <= _HARMLESS else ""


def _attention(call: ast.Call, keywords: dict[str | None, ast.expr]) -> str:
    causal = keywords.get("is_causal")
    if causal is not None and ast.unparse(causal) == "True":
        return "[causal]"
    if "attn_mask" in keywords or len(call.args) > 3:
        return "[mask]"
    return "[plain]" if causal is None else ""


def _optimizer_variant(call: ast.Call) -> str:
    for keyword in call.keywords:
        value = getattr(keyword.value, "value", None)
        if keyword.arg == "fused" and value is True:
            return "[fused=True]"
        if keyword.arg == "foreach" and value is False:
            return "[foreach=False]"
    return ""


_PUBLIC = {
    "torch.nn.parameter.Parameter": "torch.nn.Parameter",
    "torch.functional.einsum": "torch.einsum",
    "torch.amp.autocast": "torch.autocast",
    "torch.amp.autocast_mode.autocast": "torch.autocast",
    "torch.special.softmax": "torch.softmax",
    "torch.concat": "torch.cat",
    "torch.concatenate": "torch.cat",
}
"""Other homes of public names."""
