"""What flags and helpers are on the target: names, attributes and functions, by definition.

_is_npu = is_npu()                 false, where the canonical vendor is another
def is_npu(): ...                  false, if every way out of it is
from pkg.env import IS_NPU         what that file of the project says
from transformers.utils import is_torch_npu_available    by its name alone
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from flmigrate.analysis.names import LOCAL
from flmigrate.analysis.questions import CYCLE, Atom, Fact, Question, asked_vendor, question_of_name
from flmigrate.analysis.scopes import Binding, Scope
from flmigrate.analysis.slots import Method
from flmigrate.tables import Vendor

if TYPE_CHECKING:
    from flmigrate.analysis.predicates import Predicates

_LEAVE = (ast.Return, ast.Break, ast.Continue, ast.Raise)
_ENDS = object()  # a suite that runs to its end
_TRY = (ast.Try, *((ast.TryStar,) if hasattr(ast, "TryStar") else ()))
_OPTIONS = frozenset("args opt opts options config cfg hparams hyp flags self_args".split())


class Settled:
    """The flags and helpers that one file sees."""

    def __init__(self, predicates: Predicates) -> None:
        self._predicates = predicates
        self._active: set[object] = set()
        self._functions: dict[ast.AST, Atom] = {}
        # How often a question led back to itself: what was found on the way may be incomplete.
        self.cycles = 0

    # --- names -----------------------------------------------------------------------------

    def name(self, node: ast.Name) -> Atom:
        """What a name in a condition asks."""
        context = self._predicates.context
        scope = context.scopes.binder(node)
        if scope is None:
            if not context.scopes.stars:
                return self._predicates.other(node, node.id)
            return self._by_name(node, node.id, "it comes by a star import")
        return self.binding(node, scope, node.id)

    def binding(self, node: ast.expr, scope: Scope, name: str) -> Atom:
        """What a name that is bound in ``scope`` asks, by all its bindings."""
        bindings = scope.bindings.get(name, [])
        if any(binding.kind == "param" for binding in bindings):
            fact = self._predicates.fact(f"{name} is a parameter", node)
            vendors = self._predicates.vendors_in(node)
            question = Question.OPTION if vendors else question_of_name(name)
            if question in (Question.UNKNOWN, Question.PACKAGE):
                question = Question.NOTHING
            return Atom(node, question, vendors, None, (fact,))
        if len(bindings) == 1 and bindings[0].kind == "import":
            return self.path(node, bindings[0].path)
        return self._together(node, name, (scope, name), [(b.node, b) for b in bindings])

    def attribute(self, node: ast.Attribute) -> Atom | None:
        """What an attribute asks that the file itself sets: ``self.use_npu``."""
        context = self._predicates.context
        base = node.value
        if isinstance(base, ast.Name) and base.id in _OPTIONS:
            fact = self._predicates.fact(f"{ast.unparse(node)} is a user's option", node)
            return Atom(node, Question.OPTION, self._predicates.vendors_in(node), None, (fact,))
        if not context.names.is_self(base):
            return None
        slot = context.slots.attribute(node)
        stores: list[tuple[ast.AST, Binding]] = []
        for found in context.slots.attributes_of(slot):
            if isinstance(found.ctx, ast.Load):
                continue
            parent = context.scopes.parents.get(found)
            value = parent.value if isinstance(parent, ast.Assign | ast.AnnAssign) else None
            stores.append((found, Binding("assign" if value else "other", found, value)))
        if isinstance(slot[0], ast.ClassDef):
            for scope in context.slots.class_scopes(slot[0]):
                for binding in scope.bindings.get(node.attr, []):
                    if isinstance(binding.node, ast.FunctionDef):
                        return _moved(node, self.function(binding.node))
                    # A default of a class is there to be set to something else.
                    stores.append((binding.node, Binding("other", binding.node)))
        if not stores:
            return self._predicates.other(node, node.attr)
        return self._together(node, node.attr, slot, stores)

    def _together(
        self,
        node: ast.expr,
        name: str,
        key: object,
        stores: Sequence[tuple[ast.AST, Binding]],
    ) -> Atom:
        """What several ways to set one flag say, as far as they can be reached."""
        if key in self._active:
            self.cycles += 1
            return Atom(node, Question.UNKNOWN)
        self._active.add(key)
        try:
            atoms = [
                self._stored(node, binding) for place, binding in stores if not self.is_dead(place)
            ]
        finally:
            self._active.discard(key)
        asking = [a for a in atoms if a is not None and a.question is not Question.NOTHING]
        facts = tuple(fact for a in atoms if a is not None for fact in a.facts)
        vendors = frozenset[str]().union(*(a.vendors for a in asking))
        values = {a.holds if a is not None else None for a in atoms}
        named = self.vendor_named(name)
        by_name = named is not None and isinstance(node, ast.Name)
        is_named = by_name and named is not None and self._predicates.is_gone(named)
        moves = any(atom.moves for atom in asking) and not is_named
        if moves:
            values = {None}  # it is set to the target's own answer, once that is moved
        if len(values) == 1 and None not in values and (asking or by_name):
            [value] = values
            if not asking and named is not None:
                # It was set from a probe once; the name still says what for.
                if value or not self._predicates.is_gone(named):
                    return Atom(node, Question.NOTHING, frozenset(), None, facts)
                return Atom(node, Question.VENDOR, frozenset({named.name}), value, facts)
            return Atom(node, asking[0].question, vendors, value, facts)
        if asking:
            question = next(
                (a.question for a in asking if a.question is not Question.UNKNOWN), None
            )
            return Atom(node, question or Question.UNKNOWN, vendors, None, facts)
        return self._predicates.other(node, name, f"{name} is set here")

    def _stored(self, node: ast.expr, binding: Binding) -> Atom | None:
        """What one binding of a flag says; ``holds`` is its truth, where that is decided."""
        predicates = self._predicates
        if binding.kind == "assign" and binding.value is not None:
            value = binding.value
            if isinstance(value, ast.Constant):
                fact = predicates.fact(f"set to {value.value!r}", binding.node)
                return Atom(value, Question.NOTHING, frozenset(), bool(value.value), (fact,))
            atoms = list(predicates.atoms(value))
            asking = [a for a in atoms if a.question is not Question.NOTHING]
            fact = predicates.fact(f"set to {ast.unparse(value)[:60]}", binding.node)
            facts = (fact, *(f for a in asking for f in a.facts))
            vendors = frozenset[str]().union(*(a.vendors for a in asking))
            question = asking[0].question if asking else Question.NOTHING
            moves = any(atom.moves for atom in asking)
            return Atom(value, question, vendors, predicates.holds(value), facts, moves)
        if binding.kind == "import":
            return self.path(node, binding.path)
        if binding.kind == "def" and isinstance(binding.node, ast.FunctionDef):
            return None  # a function is true; what it returns is another question
        return None

    # --- dotted names, helpers -------------------------------------------------------------

    def path(self, node: ast.expr, path: str) -> Atom:
        """What an imported flag, or an imported helper that is called, asks."""
        predicates = self._predicates
        vendors = predicates.context.vocabulary.vendors
        plugin = vendors.vendor_of_plugin(path) if path.partition(".")[0] == path else None
        if plugin is not None:
            return predicates.of_vendor(node, plugin, False, f"{path} is a vendor's plug-in")
        told = predicates.ask(path)
        if told is CYCLE:
            self.cycles += 1
        elif told is not None:
            return _moved(node, told)
        name = path.rpartition(".")[2]
        return self._by_name(node, name, f"{path} is no file of the project")

    def _by_name(self, node: ast.expr, name: str, why: str) -> Atom:
        vendor = self.vendor_named(name)
        if vendor is None:
            return self._predicates.other(node, name, why)
        return self._predicates.of_vendor(node, vendor, False, f"{name}, by its name: {why}")

    def vendor_named(self, name: str) -> Vendor | None:
        """The vendor that a helper or flag of this name asks for."""
        vocabulary = self._predicates.context.vocabulary
        known = vocabulary.vendors.vendor_of_helper(name)
        return known or asked_vendor(name, vocabulary.vendor_words)

    def call(self, node: ast.Call, path: str) -> Atom:
        """What a call of a helper asks: ``is_npu_available()``."""
        context = self._predicates.context
        name = context.names.called_name(node)
        if isinstance(node.func, ast.Name):
            scope = context.scopes.binder(node.func)
            if scope is not None:
                return self._helper(node, name, scope.bindings[node.func.id])
            if node.func.id in _BUILTINS:
                return self._predicates.other(node, "")
            return self._by_name(node, name, "it is defined nowhere in the file")
        if path and not path.startswith(("builtins.", LOCAL)):
            return self.path(node, path)
        definition = context.slots.definition(path.removeprefix(LOCAL)) if path else None
        if isinstance(definition, ast.FunctionDef):
            return _moved(node, self.function(definition))
        vendor = self.vendor_named(name)
        if vendor is not None:  # ``platform.is_npu()``: an object of the project's own answers
            return self._predicates.of_vendor(node, vendor, None, f"{name} of an object")
        return self._predicates.other(node, name)

    def _helper(self, node: ast.Call, name: str, bindings: Sequence[Binding]) -> Atom:
        """What a helper asks by everything that its name may be bound to."""
        found: list[Atom] = []
        for binding in bindings:
            if binding.kind == "import":
                found.append(self.path(node, binding.path))
            elif isinstance(binding.node, ast.FunctionDef):
                found.append(self.function(binding.node))
            else:
                return self._predicates.other(node, name)
        first = found[0]
        if any(atom.holds is not first.holds for atom in found):
            return Atom(node, first.question, first.vendors, None, first.facts)
        return _moved(node, first)

    def function(self, definition: Method) -> Atom:
        """What a helper of this file asks, by every way out of it."""
        found = self._functions.get(definition)
        if found is None:
            cycles = self.cycles
            found = self._function(definition)
            if cycles == self.cycles:
                self._functions[definition] = found
        return found

    def _function(self, definition: Method) -> Atom:
        predicates = self._predicates
        where = predicates.fact(f"{definition.name} is defined", definition)
        marker = ast.Name(definition.name)
        if definition in self._active:
            self.cycles += 1
            return Atom(marker, Question.UNKNOWN)
        self._active.add(definition)
        try:
            atoms: list[Atom] = []
            ways = set(self._ways_out(definition.body, atoms))
            is_quiet = self._is_quiet(definition)
        finally:
            self._active.discard(definition)
        asking = [a for a in atoms if a.question is not Question.NOTHING]
        vendors = frozenset[str]().union(*(a.vendors for a in asking))
        named = self.vendor_named(definition.name)
        facts = (where, *(fact for a in asking for fact in a.facts))
        values = {False if way is _ENDS else way for way in ways}
        if len(values) == 1 and None not in values:
            [value] = values
            if named is not None and predicates.is_gone(named) and not value:
                return Atom(marker, Question.VENDOR, frozenset({named.name}), False, facts)
            moves = any(atom.moves for atom in asking)
            if not moves and any(predicates.is_gone(vendor) for vendor in vendors):
                return Atom(marker, Question.VENDOR, vendors, bool(value), facts)
        if named is not None:
            question = predicates.of_vendor(marker, named, None, at=definition).question
            return Atom(marker, question, frozenset({named.name}), None, facts)
        if asking:
            return Atom(marker, asking[0].question, vendors, None, facts)
        told = predicates.other(marker, definition.name)
        return Atom(marker, told.question, told.vendors, None, facts, is_quiet=is_quiet)

    def _is_quiet(self, definition: Method) -> bool:
        """Whether calling a function runs only tests and ways out that do nothing but ask."""
        if not isinstance(definition, ast.FunctionDef) or definition.decorator_list:
            return False
        return all(map(self._is_quiet_statement, definition.body))

    def _is_quiet_statement(self, statement: ast.stmt) -> bool:
        match statement:
            case ast.Pass() | ast.Expr(value=ast.Constant()):
                return True
            case ast.Return(value=value):
                return value is None or self._predicates.is_pure(value)
            case ast.If(test=test, body=body, orelse=orelse):
                inside = map(self._is_quiet_statement, [*body, *orelse])
                return self._predicates.is_pure(test) and all(inside)
        return False

    def _ways_out(self, suite: Sequence[ast.stmt], atoms: list[Atom]) -> Iterator[object]:
        """How a suite ends: with a value (``None`` where that is open), or at its end."""
        predicates = self._predicates
        for statement in suite:
            inside: Iterator[object] | None = None
            match statement:
                case ast.Return():
                    if statement.value is None:
                        yield False
                    elif (constant := self._constant(statement.value)) is not None:
                        yield constant
                    else:
                        atoms.extend(predicates.atoms(statement.value))
                        yield predicates.holds(statement.value)
                    return
                case ast.Raise():
                    return
                case ast.If():
                    atoms.extend(predicates.atoms(statement.test))
                    holds = predicates.holds(statement.test)
                    arms = [] if holds is False else [statement.body]
                    arms += [] if holds is True else [statement.orelse]
                    inside = chain.from_iterable(self._ways_out(arm, atoms) for arm in arms)
                case ast.Try():
                    inside = self._ways_out_of_try(statement, atoms)
                case ast.Import() | ast.ImportFrom():
                    if self.fails(statement):
                        atoms.append(self._failing(statement))
                        return
                case ast.With():
                    inside = self._ways_out(statement.body, atoms)
                case ast.For() | ast.While() | ast.AsyncFor() | ast.AsyncWith() | ast.Match():
                    if any(isinstance(part, ast.Return) for part in ast.walk(statement)):
                        yield None
            if inside is not None:
                ways = list(inside)
                yield from (way for way in ways if way is not _ENDS)
                if _ENDS not in ways:
                    return
        yield _ENDS

    def _constant(self, value: ast.expr) -> bool | None:
        """The truth of a constant, or of a local name that is never set to anything else."""
        if isinstance(value, ast.Constant):
            return bool(value.value)
        if not isinstance(value, ast.Name):
            return None
        scope = self._predicates.context.scopes.binder(value)
        if scope is None or not isinstance(scope.node, ast.FunctionDef):
            return None
        truths = {
            bool(b.value.value)
            if b.kind == "assign" and isinstance(b.value, ast.Constant)
            else None
            for b in scope.bindings[value.id]
        }
        return truths.pop() if len(truths) == 1 else None

    def _ways_out_of_try(self, statement: ast.Try, atoms: list[Atom]) -> Iterator[object]:
        if any(isinstance(n, _LEAVE) for last in statement.finalbody for n in ast.walk(last)):
            yield None  # it may take the place of every other way out
            return
        failing = next((inner for inner in statement.body if self.fails(inner)), None)
        if failing is not None:
            atoms.append(self._failing(failing))
            handler = self.catcher(statement)
            if handler is not None:
                yield from self._ways_out(handler.body, atoms)
            return
        for way in self._ways_out(statement.body, atoms):
            if way is _ENDS:
                yield from self._ways_out(statement.orelse, atoms)
            else:
                yield way
        for handler in statement.handlers:
            yield from self._ways_out(handler.body, atoms)

    # --- imports that fail on the target ---------------------------------------------------

    def _plugin(self, statement: ast.stmt) -> Vendor | None:
        context = self._predicates.context
        if isinstance(statement, ast.Import):
            modules = [alias.name for alias in statement.names]
        elif isinstance(statement, ast.ImportFrom):
            modules = [context.scopes.absolute(statement)]
        else:
            return None
        found = (context.vocabulary.vendors.vendor_of_plugin(module) for module in modules)
        return next((vendor for vendor in found if vendor is not None), None)

    def fails(self, statement: ast.stmt) -> bool:
        """Whether a statement imports the plug-in of a vendor that the target never is."""
        return self._predicates.is_gone(self._plugin(statement))

    def _failing(self, statement: ast.stmt) -> Atom:
        vendor = self._plugin(statement)
        assert vendor is not None
        what = f"imports the plug-in of {vendor.name}"
        return self._predicates.of_vendor(ast.Name(vendor.name), vendor, False, what, statement)

    def catcher(self, statement: ast.Try) -> ast.ExceptHandler | None:
        """The handler that runs where an import in the body of a ``try`` fails."""
        for handler in statement.handlers:
            caught = handler.type
            if caught is None:
                return handler
            kinds = caught.elts if isinstance(caught, ast.Tuple) else [caught]
            names = {self._predicates.context.names.resolve(k).only for k in kinds}
            if names & _CATCHES:
                return handler
        return None

    def is_dead(self, node: ast.AST) -> bool:
        """Whether a place is behind a test that is false on the target, or a failing import."""
        parents = self._predicates.context.scopes.parents
        current, parent = node, parents.get(node)
        while parent is not None and not isinstance(parent, ast.Module):
            if isinstance(parent, ast.If):
                holds = self._predicates.holds(parent.test)
                if holds is False and current in parent.body:
                    return True
                if holds is True and current in parent.orelse:
                    return True
            elif isinstance(parent, _TRY) and (current in parent.body or current in parent.orelse):
                if current in parent.body:
                    before = parent.body[: parent.body.index(current)]
                else:
                    before = parent.body
                if any(self.fails(statement) for statement in before):
                    return True
            elif isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                return False
            current, parent = parent, parents.get(parent)
        return False


def _moved(node: ast.expr, atom: Atom) -> Atom:
    """What a helper or flag tells, of the place that asks it."""
    return atom._replace(node=node, moves=False)


_BUILTINS = frozenset(dir(builtins))
_CATCHES = frozenset(
    f"builtins.{name}"
    for name in ("ImportError", "ModuleNotFoundError", "Exception", "BaseException")
)

__all__ = ["Fact", "Settled"]
