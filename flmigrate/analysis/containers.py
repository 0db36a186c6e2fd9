"""Literal lists, sets and dictionaries: whether their members and keys are devices."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from flmigrate.analysis.kinds import Verdict
from flmigrate.analysis.options import is_parametrize, option_name, parametrized_names
from flmigrate.analysis.slots import Slot

if TYPE_CHECKING:
    from flmigrate.analysis.flow import Flow


class Containers:
    """Follows the members and keys of containers through one file."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self._slots = flow.slots
        self.names = flow.names
        self.scopes = flow.names.scopes

    def member_goes(self, display: ast.List | ast.Tuple | ast.Set, node: ast.expr) -> Verdict:
        """Where a member of a literal collection goes."""
        position = next(i for i, element in enumerate(display.elts) if element is node)
        parent = self.scopes.parents.get(display)
        if isinstance(parent, ast.Call) and _joins_at_colon(parent) and display.elts[0] is node:
            return self._flow.destinations.goes(parent)
        if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Mod):
            # ``"%s:%d" % ("cuda", rank)``
            return (
                self._flow.destinations.goes(parent) if parent.right is display else Verdict.UNKNOWN
            )
        if isinstance(parent, ast.Assign) and isinstance(display, ast.Tuple | ast.List):
            if any(isinstance(t, ast.Name) and t.id == "__all__" for t in parent.targets):
                return Verdict.NO
            for target in parent.targets:
                if isinstance(target, ast.Tuple | ast.List) and len(target.elts) == len(
                    display.elts
                ):
                    return self._flow.destinations.target(target.elts[position])
        if isinstance(parent, ast.Return) and self._returned_goes(parent, display, position):
            return Verdict.YES
        if self.row_goes(display, position) is Verdict.YES:
            return Verdict.YES
        found = self.display_goes(display)
        if found is Verdict.UNKNOWN and self.all_of_kind(display):
            return Verdict.YES
        return found

    def _returned_goes(self, returned: ast.Return, display: ast.expr, position: int) -> bool:
        """Whether callers unpack a member of a returned tuple into a place of this kind."""
        function = self.names.enclosing(returned, ast.FunctionDef, ast.AsyncFunctionDef)
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            return False
        for call in self._slots.calls_of(function):
            assign = self.scopes.parents.get(call)
            for target in assign.targets if isinstance(assign, ast.Assign) else ():
                if isinstance(target, ast.Tuple | ast.List) and position < len(target.elts):
                    if self._flow.destinations.target(target.elts[position]) is Verdict.YES:
                        return True
        return False

    def all_of_kind(self, display: ast.List | ast.Tuple | ast.Set) -> bool:
        """Whether a literal collection lists nothing but known values, two or more of them."""
        texts = {e.value for e in display.elts if isinstance(e, ast.Constant)}
        return len(texts) == len(display.elts) > 1 and all(
            isinstance(text, str) and text.partition(":")[0] in self._flow.kind.values
            for text in texts
        )

    def item_goes(self, display: ast.Dict, node: ast.expr) -> Verdict:
        """Where a key or a value of a literal dictionary goes."""
        for key, value in zip(display.keys, display.values, strict=True):
            if key is node:
                return self.keys_go(display)
            if value is node:
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    if self._flow.hinted(key.value):
                        return Verdict.YES
                    found = self.entry_goes(display, key.value)
                    return found if found is Verdict.YES else self._like_others(display, value)
                return self.display_goes(display)
        return Verdict.UNKNOWN

    def display_goes(self, display: ast.expr) -> Verdict:
        """Where the elements (or dictionary values) of a literal container go."""
        parent = self.scopes.parents.get(display)
        match parent:
            case ast.Compare() if display is not parent.left:
                return Verdict.YES if self._flow.values.is_one(parent.left) else Verdict.UNKNOWN
            case ast.keyword():
                call = self.scopes.parents.get(parent)
                assert isinstance(call, ast.Call)
                if parent.arg == "choices" and isinstance(display, ast.List | ast.Tuple | ast.Set):
                    option = option_name(call)
                    hinted = option is not None and self._flow.hinted(option)
                    return Verdict.YES if hinted else Verdict.UNKNOWN
                return self._flow.destinations.keyword(parent, display)
            case ast.Call():
                if is_parametrize(parent):
                    return self._parametrized(parent, 0)
                path = self.names.resolve(parent.func).only
                if path in (
                    "builtins.set",
                    "builtins.tuple",
                    "builtins.list",
                    "builtins.frozenset",
                ):
                    return self.display_goes(parent)
                return self._flow.destinations.argument(parent, display)
            case ast.Assign():
                found = [self._container_target(target) for target in parent.targets]
                return Verdict.YES if Verdict.YES in found else Verdict.UNKNOWN
            case ast.AnnAssign():
                return self._container_target(parent.target)
            case ast.Starred() if isinstance(self.scopes.parents.get(parent), ast.List | ast.Tuple):
                return self.display_goes(self.scopes.parents[parent])  # type: ignore[arg-type]
            case ast.For() | ast.comprehension() if display is parent.iter:
                return self._loop_target(parent.target)
            case ast.Subscript() if display is parent.value:
                return self._flow.destinations.goes(parent)
            case ast.Attribute() if parent.attr == "get":
                call = self.scopes.parents.get(parent)
                return (
                    self._flow.destinations.goes(call)
                    if isinstance(call, ast.Call)
                    else Verdict.UNKNOWN
                )
            case ast.BinOp() | ast.IfExp() | ast.BoolOp() | ast.List() | ast.Tuple():
                return self.display_goes(parent)
            case ast.arguments():
                return self._flow.destinations.default(parent, display)
        return Verdict.UNKNOWN

    def _parametrized(self, call: ast.Call, position: int) -> Verdict:
        """What the parameter of a test is that ``pytest.mark.parametrize`` fills."""
        names = parametrized_names(call)
        if position >= len(names):
            return Verdict.UNKNOWN
        if self._flow.hinted(names[position]):
            return Verdict.YES
        function = self.scopes.parents.get(call)
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            return Verdict.UNKNOWN
        return self._flow.destinations.stored((self.scopes.scope_of[function], names[position]))

    def row_goes(self, row: ast.expr, position: int) -> Verdict:
        """Where an element of a row of test parameters goes: ``[("cuda", 1), ("cpu", 2)]``."""
        rows = self.scopes.parents.get(row)
        call = self.scopes.parents.get(rows) if isinstance(rows, ast.List | ast.Tuple) else None
        if isinstance(call, ast.Call) and rows in call.args[1:2] and is_parametrize(call):
            return self._parametrized(call, position)
        return Verdict.UNKNOWN

    def _like_others(self, display: ast.Dict, value: ast.expr) -> Verdict:
        """An indexed device among others (``{"a": "cuda:0", "b": "cuda:1"}``) is what they are."""
        if not _is_indexed(value):
            return Verdict.UNKNOWN
        for key, other in zip(display.keys, display.values, strict=True):
            if other is not value and _is_indexed(other) and isinstance(key, ast.Constant):
                if self.entry_goes(display, str(key.value)) is Verdict.YES:
                    return Verdict.YES
        return Verdict.UNKNOWN

    def entry_goes(self, display: ast.Dict, key: str) -> Verdict:
        """Where the value that a literal dictionary keeps under a key goes."""
        parent = self.scopes.parents.get(display)
        targets: list[ast.expr] = []
        if isinstance(parent, ast.Assign):
            targets = parent.targets
        elif isinstance(parent, ast.AnnAssign):
            targets = [parent.target]
        for target in targets:
            name = target.id if isinstance(target, ast.Name) else ""
            name = target.attr if isinstance(target, ast.Attribute) else name
            if name and self._flow.hinted(name):
                return Verdict.YES
            slot = self._slots.slot_of(target)
            if isinstance(target, ast.Name):
                slot = self._slots.variable(target)
            if slot is not None and self._reads_entry(slot, key):
                return Verdict.YES
        return Verdict.UNKNOWN if targets else self.display_goes(display)

    def _reads_entry(self, slot: Slot, key: str) -> bool:
        """Whether what a dictionary keeps under a key is read as a value of this kind."""

        def look() -> bool:
            reads = (self._read_of(use, key) for use in self._slots.uses(slot))
            goes = self._flow.destinations.goes
            return any(read is not None and goes(read) is Verdict.YES for read in reads)

        return self._flow.search((slot, f"[{key}]"), look)

    def _read_of(self, use: ast.expr, key: str) -> ast.expr | None:
        """The expression that reads ``key`` (or a key not known here) from a dictionary."""
        read = self.scopes.parents.get(use)
        looked_up: ast.expr | None = None
        if isinstance(read, ast.Attribute) and read.attr in ("get", "pop"):
            read = self.scopes.parents.get(read)
            looked_up = read.args[0] if isinstance(read, ast.Call) and read.args else None
        elif isinstance(read, ast.Subscript) and read.value is use:
            looked_up = read.slice
        if looked_up is None or not isinstance(read, ast.expr):
            return None
        other = isinstance(looked_up, ast.Constant) and looked_up.value != key
        return None if other else read

    def _loop_target(self, target: ast.expr) -> Verdict:
        if not isinstance(target, ast.Name):
            return Verdict.UNKNOWN
        return self._flow.destinations.stored(self._slots.variable(target))

    def _container_target(self, target: ast.expr) -> Verdict:
        if isinstance(target, ast.Name):
            if self._flow.hinted(target.id):
                return Verdict.YES
            return self._container_slot(self._slots.variable(target))
        if isinstance(target, ast.Attribute):
            slot = self._slots.attribute(target)
            return Verdict.YES if self._flow.hinted(target.attr) else self._container_slot(slot)
        return Verdict.UNKNOWN

    def container(self, node: ast.expr) -> Verdict:
        """Whether the container that ``node`` stands for keeps values of this kind."""
        slot = self._slots.slot_of(node)
        if slot is None:
            return Verdict.UNKNOWN
        if self._flow.hinted(slot[1]):
            return Verdict.YES
        return self._container_slot(slot)

    def _container_slot(self, slot: Slot) -> Verdict:
        def look() -> bool:
            return any(self.display_goes(use) is Verdict.YES for use in self._slots.uses(slot))

        found = self._flow.search((slot, "elements"), look)
        return Verdict.YES if found else Verdict.UNKNOWN

    def keys_go(self, display: ast.Dict) -> Verdict:
        """Whether the keys of a literal dictionary are looked up with values of this kind."""
        parent = self.scopes.parents.get(display)
        match parent:
            case ast.keyword():
                # The keys of a map_location are the places named in the checkpoint.
                return Verdict.NO if parent.arg == "map_location" else Verdict.UNKNOWN
            case ast.Assign():
                slots = [self._slots.slot_of(target) for target in parent.targets]
            case ast.AnnAssign():
                slots = [self._slots.slot_of(parent.target)]
            case ast.Subscript():
                return Verdict.YES if self._flow.values.is_one(parent.slice) else Verdict.UNKNOWN
            case ast.Attribute():
                return self._key_use(display)
            case _:
                return Verdict.UNKNOWN
        if any(slot is not None and self._keyed(slot) for slot in slots):
            return Verdict.YES
        return Verdict.UNKNOWN

    def contains_keys(self, node: ast.expr) -> Verdict:
        """Whether the dictionary that ``node`` stands for is looked up with values of this kind."""
        slot = self._slots.slot_of(node)
        if slot is None or not self._keyed(slot):
            return Verdict.UNKNOWN
        return Verdict.YES

    def _keyed(self, slot: Slot) -> bool:
        def look() -> bool:
            return any(self._key_use(use) is Verdict.YES for use in self._slots.uses(slot))

        return self._flow.search((slot, "keys"), look)

    def _key_use(self, use: ast.expr) -> Verdict:
        parent = self.scopes.parents.get(use)
        looked_up: ast.expr | None = None
        if isinstance(parent, ast.Subscript) and parent.value is use:
            looked_up = parent.slice
        elif isinstance(parent, ast.Attribute) and parent.attr in ("get", "pop"):
            call = self.scopes.parents.get(parent)
            if isinstance(call, ast.Call) and call.args:
                looked_up = call.args[0]
        elif isinstance(parent, ast.Compare) and use is not parent.left:
            looked_up = parent.left
        elif isinstance(parent, ast.Call) and use in parent.args:
            return self._keyed_parameter(parent, parent.args.index(use))
        elif isinstance(parent, ast.keyword) and parent.arg is not None:
            call = self.scopes.parents.get(parent)
            if isinstance(call, ast.Call):
                return self._keyed_parameter(call, parent.arg)
        if looked_up is None or isinstance(looked_up, ast.Constant):
            return Verdict.UNKNOWN
        return Verdict.YES if self._flow.values.is_one(looked_up) else Verdict.UNKNOWN

    def _keyed_parameter(self, call: ast.Call, which: int | str) -> Verdict:
        """A dictionary that is handed on: whether the function looks it up by a device."""
        slot = self._slots.filled_by(call, which)
        return Verdict.YES if slot is not None and self._keyed(slot) else Verdict.UNKNOWN


def _is_indexed(node: ast.expr) -> bool:
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return False
    return node.value.partition(":")[2].isdigit()


def _joins_at_colon(call: ast.Call) -> bool:
    """``":".join(["cuda", index])`` puts a device together."""
    join = call.func
    if not isinstance(join, ast.Attribute) or join.attr != "join":
        return False
    return isinstance(join.value, ast.Constant) and join.value.value == ":"
