"""Run what a corpus case defines: the cases were not written to be run.

Names that a case does not define become stand-ins whose every use is an effect; each function
and method is called once with arguments that fit the names of its parameters.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import re
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

from tests.oracle.execution import Inputs, Values, Way, option, place
from tests.oracle.fake_torch import FakeTorch, Tensor
from tests.oracle.trace import BACKENDS

_DEVICES = re.compile(r"(?:\w*_)?(?:device|dev|map_location|where)(?:_type|_name|_str)?")
_NUMBERS = re.compile(r"i|n|j|k|index|rank|local_rank|gpu|gpu_id|step|count")
_OPTIONS = re.compile(r"args|opts?|options|cfg|config|self")
_FLAGS = re.compile(r"use_\w+|no_\w+|is_\w+|fast|verbose|enabled")


class StandIn:
    """Something a program uses and does not define: calls are effects, all else is silent."""

    def __init__(self, fake: FakeTorch, name: str) -> None:
        self._fake = fake
        self._name = name

    def __repr__(self) -> str:
        return f"<{self._name}>"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = stand_in(self._fake, name)
        return found if isinstance(found, Probe) else StandIn(self._fake, f"{self._name}.{name}")

    def __call__(self, *args: object, **options: object) -> StandIn:
        self._fake.trace.add(f"call {self._name}", *args, options)
        return StandIn(self._fake, f"{self._name}()")

    def __getitem__(self, key: object) -> StandIn:
        return StandIn(self._fake, f"{self._name}[]")

    def __iter__(self) -> Iterator[StandIn]:
        return iter(())

    def __enter__(self) -> StandIn:
        return self

    def __exit__(self, *error: object) -> None:
        return None


def free_names(text: str) -> frozenset[str]:
    """Names that a module reads and neither binds anywhere nor finds among the built-in ones."""
    read: set[str] = set()
    bound = set(dir(builtins))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Name):
            (read if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, ast.alias):
            bound.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            bound.add(node.name)
    return frozenset(read - bound)


def way_of(text: str) -> Way:
    """How to run a case: stand-ins for what it does not define, then what it does define.

    Private names are left out: the rewrite may take them away.
    """
    free = free_names(text)
    defined = [name for name in _defined(ast.parse(text)) if not name.startswith("_")]

    def names(fake: FakeTorch) -> Values:
        fake.unknown_module = lambda name: StandIn(fake, name.partition(".")[0])
        return {name: stand_in(fake, name) for name in sorted(free)}

    def entry(fake: FakeTorch, namespace: Values, inputs: Inputs) -> None:
        for name in defined:
            if name in namespace:
                _explore(fake, name, namespace[name], inputs)

    return Way(entry, names)


def _defined(tree: ast.Module) -> list[str]:
    """Names that get their values at module level, imported ones aside."""
    found: dict[str, None] = {}
    for statement in tree.body:
        for node in _outside_functions(statement):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                found[node.name] = None
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found[node.id] = None
    return list(found)


def _outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    scopes = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda | ast.ListComp
    if not isinstance(node, scopes):
        for child in ast.iter_child_nodes(node):
            yield from _outside_functions(child)


def stand_in(fake: FakeTorch, name: str) -> object:
    """What stands for a name that is not defined."""
    vendor = re.fullmatch(r"(?:is|has)_(?:torch_)?(\w+?)(?:_available)?", name)
    if vendor is not None and vendor[1] in BACKENDS:
        return Probe(fake.world.present and vendor[1] == fake.world.vendor)
    return StandIn(fake, name)


class Probe:
    """A helper, or a flag, that asks for one vendor."""

    def __init__(self, answer: bool) -> None:
        self._answer = answer

    def __call__(self, *args: object, **options: object) -> bool:
        return self._answer

    def __bool__(self) -> bool:
        return self._answer

    def __repr__(self) -> str:
        return repr(self._answer)


def _explore(fake: FakeTorch, name: str, value: object, inputs: Inputs) -> None:
    """Record a module's value, call its function, or all methods of its class."""
    if isinstance(value, FunctionType):
        _call(fake, name, value, inputs)
    elif isinstance(value, type) and value.__module__ == "program":
        _explore_class(fake, name, value, inputs)
    elif isinstance(value, str | int | tuple | list | dict | set | type(None)):
        fake.trace.add(f"value {name}", value)


def _explore_class(fake: FakeTorch, name: str, made: type, inputs: Inputs) -> None:
    for attribute, value in vars(made).items():
        if isinstance(value, str | int | tuple | list | dict | set):
            if not attribute.startswith("_"):
                fake.trace.add(f"value {name}.{attribute}", value)
    instance = _call(fake, name, made, inputs)
    for method, function in vars(made).items():
        if (
            isinstance(function, FunctionType)
            and instance is not None
            and not method.startswith("_")
        ):
            _call(fake, f"{name}.{method}", getattr(instance, method), inputs)


def _call(fake: FakeTorch, name: str, function: Callable[..., Any], inputs: Inputs) -> Any:
    """Call with arguments that fit, and record the result or the type of what was raised."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None
    source = getattr(function, "__code__", None)
    wants_text = "type" not in (source.co_names if source is not None else ())
    args = [
        _argument(fake, p.name, inputs, wants_text)
        for p in parameters
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty
    ]
    try:
        result = function(*args)
        if inspect.isgenerator(result):
            result = list(result)
        if inspect.iscoroutine(result):
            result.close()
            return None
    except Exception as error:
        fake.trace.fail(f"{name} ", error)
        return None
    fake.trace.add(f"{name} returned", result)
    return result


def _argument(fake: FakeTorch, name: str, inputs: Inputs, wants_text: bool) -> object:
    if _DEVICES.fullmatch(name):
        chosen = place(fake, inputs.device)
        if "type" in name:
            return chosen.partition(":")[0]
        return chosen if wants_text else fake.device(chosen)
    if _NUMBERS.fullmatch(name):
        return 1
    if _OPTIONS.fullmatch(name):
        return StandIn(fake, name)
    if _FLAGS.fullmatch(name):
        return option(inputs, name)
    return Tensor(fake, fake.device(place(fake, inputs.tensor)), is_open=True)
