"""What can be left out because nobody would notice: code that only computes a value.

The question is asked of values that nothing reads any more. Attributes may be properties and
``==`` may be overloaded, but who writes ``npu = device.type == "npu"`` counts on neither. A
subscript may raise, and so stays.
"""

from __future__ import annotations

import ast
import re

from flmigrate.analysis.names import Names

_CALLS = frozenset(
    "builtins.bool builtins.str builtins.int builtins.float builtins.tuple builtins.list "
    "builtins.dict builtins.set builtins.frozenset builtins.isinstance builtins.hasattr "
    "builtins.getattr importlib.util.find_spec os.environ.get os.getenv torch.device".split()
)
_PROBE = r"_*(?:is|has)_\w+|\w+_available"
_DECORATORS = frozenset(
    "functools.lru_cache functools.cache functools.wraps contextlib.contextmanager "
    "torch.no_grad torch.inference_mode dataclasses.dataclass builtins.staticmethod "
    "builtins.classmethod builtins.property typing.no_type_check".split()
)
# Classes that do nothing when they are derived from.
_BASES = frozenset(
    "builtins.object builtins.Exception builtins.RuntimeError builtins.ValueError enum.Enum "
    "enum.IntEnum typing.NamedTuple typing.Protocol abc.ABC torch.nn.Module "
    "torch.autograd.Function".split()
)
_SAFE_OPERATORS = (ast.Add, ast.Mult, ast.LShift, ast.BitOr, ast.Sub)


def is_pure(value: ast.expr, names: Names) -> bool:
    """Whether evaluating ``value`` has no effect but its result.

    Names, attributes, literals, comparisons and boolean operations are, and so are calls of
    probes: ``is_npu()``, ``torch.npu.is_available()``, ``find_spec("torch_npu")``.
    """
    waiting: list[ast.AST] = [value]
    while waiting:
        node = waiting.pop()
        match node:
            case ast.Constant() | ast.Name() | ast.Lambda():
                continue
            case ast.Attribute() | ast.Starred():
                waiting.append(node.value)
            case ast.Tuple() | ast.List() | ast.Set():
                waiting += node.elts
            case ast.Dict():
                waiting += [part for part in (*node.keys, *node.values) if part is not None]
            case ast.BoolOp():
                waiting += node.values
            case ast.UnaryOp(op=ast.Not()) | ast.UnaryOp(operand=ast.Constant()):
                waiting.append(node.operand)
            case ast.BinOp(left=ast.Constant(), right=ast.Constant()):
                if not isinstance(node.op, _SAFE_OPERATORS):
                    return False
            case ast.Compare():
                waiting += [node.left, *node.comparators]
            case ast.IfExp():
                waiting += [node.test, node.body, node.orelse]
            case ast.JoinedStr():
                waiting += node.values
            case ast.FormattedValue():
                waiting.append(node.value)
            case ast.Call():
                if not _is_pure_call(node, names):
                    return False
                waiting += [*node.args, *(keyword.value for keyword in node.keywords)]
                if isinstance(node.func, ast.Attribute):
                    waiting.append(node.func.value)
            case _:
                return False
    return True


def _is_pure_call(call: ast.Call, names: Names) -> bool:
    if re.fullmatch(_PROBE, names.called_name(call)):
        return True
    return names.resolve(call.func).only in _CALLS


def is_pure_definition(node: ast.stmt, names: Names) -> bool:
    """Whether a function or class does nothing by being defined: nothing registers it."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            defaults = [*node.args.defaults, *node.args.kw_defaults]
            return _are_pure_decorators(node.decorator_list, names) and all(
                is_pure(default, names) for default in defaults if default is not None
            )
        case ast.ClassDef():
            if node.keywords or not _are_pure_decorators(node.decorator_list, names):
                return False
            if any(names.resolve(base).only not in _BASES for base in node.bases):
                return False
            return all(_is_pure_member(member, names) for member in node.body)
    return False


def _are_pure_decorators(decorators: list[ast.expr], names: Names) -> bool:
    for decorator in decorators:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if names.resolve(called).only not in _DECORATORS:
            return False
    return True


def _is_pure_member(member: ast.stmt, names: Names) -> bool:
    match member:
        case ast.Pass():
            return True
        case ast.Expr():
            return isinstance(member.value, ast.Constant)
        case ast.Assign():
            simple = all(isinstance(target, ast.Name) for target in member.targets)
            return simple and is_pure(member.value, names)
        case ast.AnnAssign():
            return member.value is None or is_pure(member.value, names)
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return is_pure_definition(member, names)
    return False
