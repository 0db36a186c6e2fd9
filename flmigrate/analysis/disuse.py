"""Which statements can go together with names that nothing reads.

A name goes with all its bindings or not at all. What only they read goes too: a flag, then the
import that it was made with. So does an ``if`` or ``try`` of which nothing is left, where that
changes nothing else.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from flmigrate.analysis.leftovers import Key, Leftovers
from flmigrate.analysis.purity import is_pure

_TRY = (ast.Try, *((ast.TryStar,) if hasattr(ast, "TryStar") else ()))
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_IMPORTS = (ast.Import, ast.ImportFrom)
#: Managers around code that may fail without consequence.
_SUPPRESSING = frozenset({"contextlib.suppress", "warnings.catch_warnings"})


class Group(NamedTuple):
    """Names that go together.

    ``whole`` are the outermost statements that go, ``parts`` are imports that lose some of
    their names, as these are written there.
    """

    names: tuple[str, ...]
    whole: tuple[ast.stmt, ...]
    parts: tuple[tuple[ast.stmt, tuple[str, ...]], ...]


class Disuse:
    """The names of one file that can go, by what each of them needs to go with it."""

    def __init__(self, leftovers: Leftovers) -> None:
        self.leftovers = leftovers
        self.scopes = leftovers.scopes
        self.candidates = leftovers.find()
        self.kept: set[Key] = set()
        self.dead: set[Key] = set()
        self.gone: set[ast.AST] = set()

    def settle(self) -> None:
        """Find all names that can go, those in ``kept`` aside."""
        while True:
            self._grow()
            stuck = {key for key in self.dead if any(map(self._is_stuck, self.candidates[key]))}
            if not stuck:
                return
            self.kept |= stuck

    def exported(self) -> frozenset[str]:
        """Names of the module that would go, and that other files may use."""
        module = self.scopes.module
        found = {name for scope, name in self.dead if scope is module}
        for statement in self.gone:
            if isinstance(statement, _TRY):
                bystanders = (key for child in statement.body for key in self._bound(child))
                found |= {name for scope, name in bystanders if scope is module}
        return frozenset(found)

    def keep(self, names: frozenset[str]) -> None:
        """Let names of the module stay, because other files use them."""
        self.kept |= {(self.scopes.module, name) for name in names}

    # --- growing ---------------------------------------------------------------------------

    def _grow(self) -> None:
        self.dead, self.gone = set(), set()
        while True:
            new = {
                key
                for key in self.candidates
                if key not in self.dead and key not in self.kept and not self._is_read(key)
            }
            if not new:
                return
            self.dead |= new
            for key in new:
                for statement in self.candidates[key]:
                    if all(bound in self.dead for bound in self._bound(statement)):
                        self._take(statement)

    def _take(self, statement: ast.AST) -> None:
        """Let a statement go, and the ``if`` or ``try`` around it that nothing is left of."""
        self.gone.add(statement)
        parent = self.scopes.parents.get(statement)
        if isinstance(parent, ast.ExceptHandler):
            parent = self.scopes.parents.get(parent)
        if isinstance(parent, ast.stmt) and parent not in self.gone and self._vanishes(parent):
            self._take(parent)

    def _is_read(self, key: Key) -> bool:
        scope, name = key
        own = self.candidates.get(key, [])
        return any(self._stays(load, own) for load in scope.loads.get(name, ()))

    def _stays(self, node: ast.AST, own: list[ast.stmt]) -> bool:
        """Whether a node is in nothing that goes, nor in the definition of the name itself."""
        current: ast.AST | None = node
        while current is not None:
            if current in self.gone or current in own:
                return False
            current = self.scopes.parents.get(current)
        return True

    def _bound(self, statement: ast.AST) -> Iterator[Key]:
        """The names that a simple statement or a definition binds."""
        scope = self.scopes.around(self.scopes.parents.get(statement, statement))
        match statement:
            case ast.Import() | ast.ImportFrom():
                for alias in statement.names:
                    name = alias.asname or alias.name
                    if isinstance(statement, ast.Import) and not alias.asname:
                        name = name.partition(".")[0]
                    yield scope.owner(name) or scope, name
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                yield scope.owner(name) or scope, name
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield scope.owner(statement.name) or scope, statement.name

    def _vanishes(self, statement: ast.stmt) -> bool:
        """Whether nothing is left of a compound statement, and nobody misses its header."""
        if not self.leftovers.may_go(statement):
            return False
        names = self.leftovers.after.names
        match statement:
            case ast.If():
                suite = [*statement.body, *statement.orelse]
                return is_pure(statement.test, names) and all(map(self._is_idle, suite))
            case ast.With():
                calls = [item.context_expr for item in statement.items]
                return all(map(self._suppresses, calls)) and all(map(self._is_idle, statement.body))
        if not isinstance(statement, _TRY):
            return False
        rest = [*statement.orelse, *statement.finalbody]
        rest += [child for handler in statement.handlers for child in handler.body]
        return all(map(self._is_idle, rest)) and all(
            self._is_idle(child) or self._is_probe(child) for child in statement.body
        )

    def _suppresses(self, call: ast.expr) -> bool:
        names = self.leftovers.after.names
        return isinstance(call, ast.Call) and names.resolve(call.func).only in _SUPPRESSING

    def _is_idle(self, statement: ast.stmt) -> bool:
        if statement in self.gone or isinstance(statement, ast.Pass):
            return True
        return isinstance(statement, (ast.If, ast.With, *_TRY)) and self._vanishes(statement)

    def _is_probe(self, statement: ast.stmt) -> bool:
        """An import that was only tried to see whether it can be done."""
        if not isinstance(statement, _IMPORTS) or not self.leftovers.may_go(statement):
            return False
        modules = [alias.name for alias in statement.names]
        if isinstance(statement, ast.ImportFrom):
            modules = [self.scopes.absolute(statement)]
        if "*" in modules or any(map(self.leftovers.registers, modules)):
            return False
        return all(
            key not in self.kept and not self._is_read(key) and self.leftovers.may_be_dropped(*key)
            for key in self._bound(statement)
        )

    # --- what does not work out ------------------------------------------------------------

    def _is_stuck(self, statement: ast.stmt) -> bool:
        """Whether a binding cannot go where it stands."""
        top = self._outermost(statement)
        if top is None:  # an import of which other names stay
            return self._decides(statement)
        if self._decides(top):
            return True
        owner, suite = self._suite(top)
        if isinstance(owner, (ast.Module, *_FUNCTIONS)):
            return False
        return all(sibling in self.gone or isinstance(sibling, ast.Pass) for sibling in suite)

    def _outermost(self, statement: ast.AST) -> ast.stmt | None:
        found: ast.stmt | None = None
        current: ast.AST | None = statement
        while current is not None:
            if current in self.gone and isinstance(current, ast.stmt):
                found = current
            current = self.scopes.parents.get(current)
        return found

    def _suite(self, statement: ast.stmt) -> tuple[ast.AST | None, list[ast.stmt]]:
        owner = self.scopes.parents.get(statement)
        for name in ("body", "orelse", "finalbody"):
            suite = getattr(owner, name, None)
            if isinstance(suite, list) and statement in suite:
                return owner, suite
        return owner, []

    def _decides(self, statement: ast.stmt) -> bool:
        """Whether a ``try`` that stays may go another way for want of a statement."""
        if isinstance(statement, (*_FUNCTIONS, ast.ClassDef)):
            return False
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant):
            return False
        current: ast.AST = statement
        parent = self.scopes.parents.get(current)
        while isinstance(parent, ast.stmt) and not isinstance(parent, _FUNCTIONS):
            if isinstance(parent, _TRY) and current in parent.body and parent.handlers:
                return True
            current, parent = parent, self.scopes.parents.get(parent)
        return False

    # --- groups ----------------------------------------------------------------------------

    def groups(self) -> list[Group]:
        """What goes, in groups that share no statement, in source order."""
        groups: list[tuple[set[Key], set[ast.stmt], set[ast.stmt]]] = []
        for key in self.dead:
            whole: set[ast.stmt] = set()
            parts: set[ast.stmt] = set()
            for statement in self.candidates[key]:
                top = self._outermost(statement)
                if top is None:
                    parts.add(statement)
                else:
                    whole.add(top)
            keys = {key}
            for other in [g for g in groups if not g[1].isdisjoint(whole) or g[2] & parts]:
                groups.remove(other)
                keys, whole, parts = keys | other[0], whole | other[1], parts | other[2]
            groups.append((keys, whole, parts))
        found = [self._group(*group) for group in groups]
        return sorted(found, key=_line)

    def _group(self, keys: set[Key], whole: set[ast.stmt], parts: set[ast.stmt]) -> Group:
        return Group(
            tuple(sorted({name for _, name in keys})),
            tuple(sorted(whole, key=lambda statement: statement.lineno)),
            tuple(
                (statement, self._leaving(statement))
                for statement in sorted(parts, key=lambda statement: statement.lineno)
            ),
        )

    def _leaving(self, statement: ast.stmt) -> tuple[str, ...]:
        """The dead names of an import, as it writes them."""
        assert isinstance(statement, _IMPORTS)
        bound = zip(statement.names, self._bound(statement), strict=True)
        return tuple(alias.name for alias, key in bound if key in self.dead)


def _line(group: Group) -> int:
    return min(s.lineno for s in (*group.whole, *(part for part, _ in group.parts)))
