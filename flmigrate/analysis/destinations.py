"""Where a value goes, and whether it is a device (or backend) there."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING

from flmigrate.analysis import places
from flmigrate.analysis.kinds import METHODS, Verdict
from flmigrate.analysis.names import LOCAL
from flmigrate.analysis.options import option_name
from flmigrate.analysis.slots import Slot

if TYPE_CHECKING:
    from flmigrate.analysis.flow import Flow


class Destinations:
    """Follows values forward through one file."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self._slots = flow.slots
        self.names = flow.names
        self.scopes = flow.names.scopes
        self.kind = flow.kind

    def goes(self, node: ast.expr) -> Verdict:
        """What the value of ``node`` is, judged by the place that it stands in."""
        parent = self.scopes.parents.get(node)
        match parent:
            case ast.keyword():
                return self.keyword(parent, node)
            case ast.Call():
                return self.argument(parent, node)
            case ast.Assign():
                if self._is_enum_value(parent):
                    return Verdict.NO
                return _any(self.target(target) for target in parent.targets)
            case ast.AnnAssign():
                if self._flow.values.annotated(parent.annotation):
                    return Verdict.YES
                return self.target(parent.target)
            case ast.NamedExpr():
                return _any([self.target(parent.target), self.goes(parent)])
            case ast.arguments():
                return self.default(parent, node)
            case ast.Return():
                function = self.names.enclosing(parent, ast.FunctionDef, ast.AsyncFunctionDef)
                return self.stored((function, "return")) if function else Verdict.UNKNOWN
            case ast.Lambda():
                return self.goes(parent)
            case ast.Compare():
                return self._compared(parent, node)
            case ast.IfExp():
                return Verdict.UNKNOWN if node is parent.test else self.goes(parent)
            case ast.BoolOp() | ast.Await() | ast.Starred():
                return self.goes(parent)
            case ast.BinOp(op=ast.Add() | ast.Mod()) if node is parent.left:
                return self.goes(parent)
            case ast.Attribute():
                return self._method(parent, node)
            case ast.List() | ast.Tuple() | ast.Set():
                return self._flow.containers.member_goes(parent, node)
            case ast.Dict():
                return self._flow.containers.item_goes(parent, node)
            case ast.Subscript() if node is parent.slice:
                return self._flow.containers.contains_keys(parent.value)
            case ast.MatchValue():
                return self._pattern(parent)
            case ast.FormattedValue():
                return self._interpolated(parent)
            case ast.Expr() | ast.Raise() | ast.Assert():
                return Verdict.NO
        return Verdict.UNKNOWN

    def _interpolated(self, field: ast.FormattedValue) -> Verdict:
        """``f"{'cuda' if ok else 'cpu'}:{rank}"``: what begins an f-string is what it is."""
        whole = self.scopes.parents.get(field)
        first = isinstance(whole, ast.JoinedStr) and whole.values[0] is field
        return self.goes(whole) if isinstance(whole, ast.expr) and first else Verdict.NO

    def _is_enum_value(self, statement: ast.Assign) -> bool:
        # A member's value is its identity: two that become equal turn into silent aliases.
        owner = self.scopes.parents.get(statement)
        return isinstance(owner, ast.ClassDef) and any(
            "Enum" in ast.unparse(base) or "Flag" in ast.unparse(base) for base in owner.bases
        )

    def keyword(self, keyword: ast.keyword, node: ast.expr) -> Verdict:
        """What ``node`` is as (part of) the value of a keyword argument."""
        call = self.scopes.parents.get(keyword)
        if isinstance(call, ast.ClassDef) or keyword.arg is None:
            return Verdict.UNKNOWN
        assert isinstance(call, ast.Call)
        function = self.names.resolve(call.func)
        if _root(function.only) in places.FOREIGN or keyword.arg in places.SPOKEN_KEYWORDS:
            return Verdict.NO
        if keyword.arg in ("default", "default_factory", "const"):
            return self._declared(call, node)
        if self._flow.hinted(keyword.arg):
            return Verdict.YES
        return self._parameter(call, keyword.arg)

    def argument(self, call: ast.Call, node: ast.expr) -> Verdict:
        """What ``node`` is as a positional argument of a call."""
        if node is call.func:
            # ``"cuda:{}".format(i)`` is handled at the attribute, a called lambda here.
            return self.goes(call)
        position = next((i for i, a in enumerate(call.args) if a is node), -1)
        function = self.names.resolve(call.func)
        path = self._flow.canonical(function.only)
        if path in self.kind.arguments:
            return Verdict.YES if self.kind.arguments[path] == position else Verdict.NO
        if path == "pytest.param":
            return self._flow.containers.row_goes(call, position)
        if path in ("builtins.str", "builtins.repr") or path in self.kind.results:
            return self.goes(call)
        if path == "builtins.getattr" and position < 2:
            return Verdict.NO  # the name of an attribute
        if path == "builtins.getattr" or path.rpartition(".")[2] in ("getenv", "getattr"):
            return self._lookup_default(call, position)
        if path == "builtins.len":
            return self._measured(call)
        if path in ("builtins.print", "builtins.isinstance", "builtins.hasattr"):
            return Verdict.NO
        name = self.names.called_name(call)
        if name in places.LOOKUPS and isinstance(call.func, ast.Attribute):
            if position == 0:
                return self._flow.containers.contains_keys(call.func.value)
            return self._lookup_default(call, position)
        if _root(path) in places.FOREIGN or name in places.SPOKEN or _is_error(name):
            return Verdict.NO
        if name in places.ASSERTIONS:
            others = [a for a in call.args if a is not node]
            return Verdict.YES if any(map(self._flow.values.is_one, others)) else Verdict.UNKNOWN
        if isinstance(call.func, ast.Attribute):
            receiver = call.func.value
            if name in places.TEXT_TESTS:
                return Verdict.YES if self._flow.values.is_one(receiver) else Verdict.UNKNOWN
            if name in ("join", "encode", "field"):
                return Verdict.NO
            if name in ("append", "add", "insert", "extend"):
                return self._flow.containers.container(receiver)
            is_local = function.only.startswith(LOCAL)
            if name in self.kind.methods and position == 0 and not is_local:
                return Verdict.NO if self._slots.defines_method(receiver, name) else Verdict.YES
        if name in ("DEFINE_string", "DEFINE_enum") and position == 1:
            return self._declared(call, node)
        if name in ("Option", "Argument", "Field") and position == 0:
            return self.goes(call)  # typer's and pydantic's defaults
        if name in ("add_argument", "option", "DEFINE_string", "DEFINE_enum"):
            return Verdict.NO
        if name == "setattr" and position == 2 and isinstance(call.args[1], ast.Constant):
            hinted = self._flow.hinted(str(call.args[1].value))
            return Verdict.YES if hinted else Verdict.UNKNOWN
        return self._parameter(call, position)

    def _measured(self, call: ast.Call) -> Verdict:
        """``device[len("cuda:"):]`` cuts a device by the length of its beginning."""
        cut = self.scopes.parents.get(call)
        sliced = self.scopes.parents.get(cut) if isinstance(cut, ast.Slice) else None
        if isinstance(sliced, ast.Subscript) and self._flow.values.is_one(sliced.value):
            return Verdict.YES
        return Verdict.NO

    def _lookup_default(self, call: ast.Call, position: int) -> Verdict:
        key = call.args[position - 1] if position > 0 else None
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            if self._flow.hinted(key.value.lstrip("-").replace("-", "_")):
                return Verdict.YES
        return self.goes(call) if position > 0 else Verdict.NO

    def _declared(self, call: ast.Call, node: ast.expr) -> Verdict:
        """A ``default=``: of a command-line option, a dataclass field, a model field."""
        option = option_name(call)
        if option is not None:
            if self._flow.hinted(option) or self._attribute_slot(option):
                return Verdict.YES
            choices = next((k.value for k in call.keywords if k.arg == "choices"), None)
            if isinstance(
                choices, ast.List | ast.Tuple | ast.Set
            ) and self._flow.containers.all_of_kind(choices):
                return Verdict.YES
            return Verdict.UNKNOWN
        return self.goes(call)

    def target(self, target: ast.expr) -> Verdict:
        """What is kept where an assignment puts its value."""
        match target:
            case ast.Name():
                return self.stored(self._slots.variable(target))
            case ast.Attribute():
                return self.stored(self._slots.attribute(target))
            case ast.Subscript():
                key = target.slice
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    if self._flow.hinted(key.value):
                        return Verdict.YES
                return self._flow.containers.container(target.value)
        return Verdict.UNKNOWN

    def stored(self, slot: Slot) -> Verdict:
        """What a value is that a slot keeps."""
        return Verdict.YES if self._flow.values.is_kept(slot) else Verdict.UNKNOWN

    def default(self, arguments: ast.arguments, node: ast.expr) -> Verdict:
        """What ``node`` is as the default of a parameter."""
        function = self.scopes.parents[arguments]
        positional = [*arguments.posonlyargs, *arguments.args]
        pairs: list[tuple[ast.arg, ast.expr | None]] = list(
            zip(
                positional[len(positional) - len(arguments.defaults) :],
                arguments.defaults,
                strict=True,
            )
        )
        pairs += zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        for argument, default in pairs:
            if default is node:
                return self.stored((self.scopes.scope_of[function], argument.arg))
        return Verdict.UNKNOWN

    def _compared(self, compare: ast.Compare, node: ast.expr) -> Verdict:
        operands = [compare.left, *compare.comparators]
        at = next(i for i, operand in enumerate(operands) if operand is node)
        neighbours = operands[max(at - 1, 0) : at] + operands[at + 1 : at + 2]
        if any(self._flow.values.is_one(other) for other in neighbours):
            return Verdict.YES
        if self.kind.name == "device" and any(_is_type(other) for other in neighbours):
            return Verdict.YES
        membership = isinstance(compare.ops[0], ast.In | ast.NotIn)
        if membership and at == 0 and self._flow.containers.container(operands[1]) is Verdict.YES:
            return Verdict.YES
        return Verdict.UNKNOWN

    def _method(self, attribute: ast.Attribute, node: ast.expr) -> Verdict:
        call = self.scopes.parents.get(attribute)
        called = isinstance(call, ast.Call) and call.func is attribute
        if called and (attribute.attr == "format" or attribute.attr in places.TEXT_METHODS):
            assert isinstance(call, ast.Call)
            return self.goes(call)
        return Verdict.NO

    def _pattern(self, pattern: ast.MatchValue) -> Verdict:
        parent = self.scopes.parents.get(pattern)
        while isinstance(parent, ast.MatchOr | ast.MatchAs):
            parent = self.scopes.parents.get(parent)
        if isinstance(parent, ast.MatchClass):
            path = self.names.resolve(parent.cls).only
            return Verdict.YES if path in self.kind.results else Verdict.UNKNOWN
        if isinstance(parent, ast.MatchMapping):
            for key, value in zip(parent.keys, parent.patterns, strict=True):
                if value is pattern and isinstance(key, ast.Constant):
                    return Verdict.YES if self._flow.hinted(str(key.value)) else Verdict.UNKNOWN
        if isinstance(parent, ast.match_case):
            statement = self.scopes.parents[parent]
            assert isinstance(statement, ast.Match)
            return Verdict.YES if self._flow.values.is_one(statement.subject) else Verdict.UNKNOWN
        return Verdict.UNKNOWN

    # --- functions of the project ----------------------------------------------------------

    def _attribute_slot(self, name: str) -> bool:
        """Whether some ``args.<name>`` of this file is used as a value of this kind."""
        return any(
            self.goes(attribute) is Verdict.YES
            for attribute in self._slots.attribute_nodes(name)
            if isinstance(attribute.ctx, ast.Load)
        )

    def _parameter(self, call: ast.Call, which: int | str) -> Verdict:
        """What the parameter is that a positional index or keyword of a call fills."""
        slot = self._slots.filled_by(call, which)
        if slot is not None:
            return self.stored(slot)
        callee = self._slots.callee(call)
        if isinstance(callee, ast.ClassDef):
            bases = self._slots.outside_bases(callee)
            if any(self._flow.asked(base, str(which)) for base in bases):
                return Verdict.YES
        path = self.names.resolve(call.func).only
        if not path and isinstance(call.func, ast.Attribute):
            # A method of an object whose class is not known here: what all methods of that
            # name in the project agree on.
            path = f"{METHODS}{call.func.attr}"
        return Verdict.YES if self._flow.asked(path, str(which)) else Verdict.UNKNOWN


def _is_type(node: ast.expr) -> bool:
    """``d.type`` compared with the name of a device type."""
    return isinstance(node, ast.Attribute) and node.attr == "type"


def _root(path: str) -> str:
    return path.partition(".")[0]


def _is_error(name: str) -> bool:
    return name.endswith(("Error", "Exception", "Warning"))


def _any(verdicts: Iterable[Verdict]) -> Verdict:
    found = list(verdicts)
    if Verdict.YES in found:
        return Verdict.YES
    return Verdict.NO if found and all(v is Verdict.NO for v in found) else Verdict.UNKNOWN
