"""Whether names have a value where they are read: definite assignment over one scope.

The question is asked to compare a scope before and after an edit, so what both get wrong does
not matter: conditions are taken to hold or not, whatever they say, and no call is taken to raise
or to end the process outside of a ``try``.
"""

from __future__ import annotations

import ast
import enum
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from flmigrate.analysis.bindings import Scope
from flmigrate.analysis.context import Context
from flmigrate.analysis.scopes import Scopes

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_TRY = (ast.Try, *((ast.TryStar,) if hasattr(ast, "TryStar") else ()))


class Assigned(enum.IntEnum):
    """How surely a name has a value where it is read; the least over all its reads."""

    NEVER = 0
    MAYBE = 1
    ALWAYS = 2


def unassigned(before: Context, after: Context) -> dict[str, frozenset[str]]:
    """Names that are read with less certainty of a value than before, by the path of their scope.

    Only names that lost a binding are looked at: a rewrite that takes none away costs nothing.
    """
    found: dict[str, frozenset[str]] = {}
    old, new = _by_path(before), _by_path(after)
    for path, scopes in old.items():
        if path not in new:
            continue  # the function is gone, and all that it read
        counts, left = _counts(scopes), _counts(new[path])
        lost = frozenset(name for name, count in counts.items() if left[name] < count)
        if not lost:
            continue
        was, now = _least(before, scopes, lost), _least(after, new[path], lost)
        worse = frozenset(name for name, known in now.items() if known < was.get(name, known))
        if worse:
            found[path] = worse
    return found


def _by_path(context: Context) -> dict[str, list[Scope]]:
    found: dict[str, list[Scope]] = {}
    for scope in context.scopes.all():
        if isinstance(scope.node, (ast.Module, ast.ClassDef, *_FUNCTIONS)):
            found.setdefault(context.names.scope_path(scope), []).append(scope)
    return found


def _counts(scopes: Iterable[Scope]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for scope in scopes:
        counts.update({name: len(bindings) for name, bindings in scope.bindings.items()})
    return counts


def _least(context: Context, scopes: Iterable[Scope], names: frozenset[str]) -> dict[str, Assigned]:
    least: dict[str, Assigned] = {}
    for scope in scopes:
        for name, known in assigned(context.scopes, scope, names).items():
            least[name] = min(known, least.get(name, known))
    return least


def assigned(scopes: Scopes, scope: Scope, names: frozenset[str]) -> dict[str, Assigned]:
    """How surely each of the ``names`` that ``scope`` binds has a value when it is read.

    Names without a read that can be reached are left out. A read by a function inside runs at
    a time that nobody knows: there, a name is only told to have no value at all.
    """
    return _Flow(scopes, scope, names).run()


_Bits = int
_UNSET, _SET = 1, 2
_State = dict[str, _Bits] | None
"""What is known of each name where the flow has come to; ``None`` where it never comes."""

_OF_BITS = {_UNSET: Assigned.NEVER, _SET: Assigned.ALWAYS, _UNSET | _SET: Assigned.MAYBE}


@dataclass(slots=True)
class _Loop:
    """States with which a loop is left early, and with which its head is reached again."""

    breaks: list[_State] = field(default_factory=list)
    continues: list[_State] = field(default_factory=list)


class _Flow:
    def __init__(self, scopes: Scopes, scope: Scope, names: frozenset[str]) -> None:
        self.scopes = scopes
        self.scope = scope
        self.names = names
        # A loop's body is gone through twice; what holds at a read is what both turns bring.
        self.reads: dict[ast.Name, _Bits] = {}
        self.loops: list[_Loop] = []
        self.raising: list[list[_State]] = []
        self.bindings: dict[ast.AST, list[str]] = {}
        for name in names:
            for binding in scope.bindings.get(name, ()):
                self.bindings.setdefault(binding.node, []).append(name)
        # What holds no such read or binding is passed over: most of a scope.
        self.relevant: set[ast.AST] = set()
        self.reads_below: dict[ast.AST, list[ast.Name]] = {}
        self._find_relevant()

    def _find_relevant(self) -> None:
        parents, below = self.scopes.parents, self.reads_below
        reads = [n for n in self.scopes.nodes[ast.Name] if n.id in self.names]
        for node in (*reads, *self.bindings):
            above: ast.AST | None = node
            while above is not None and above is not self.scope.node:
                self.relevant.add(above)
                if isinstance(node, ast.Name) and isinstance(above, ast.stmt | ast.expr):
                    below.setdefault(above, []).append(node)
                above = parents.get(above)

    def run(self) -> dict[str, Assigned]:
        start: dict[str, _Bits] = {}
        for name in self.names:
            given = any(b.kind == "param" for b in self.scope.bindings.get(name, ()))
            start[name] = _SET if given else _UNSET
        node = self.scope.node
        self._suite(getattr(node, "body", []), start)
        found = {
            name: Assigned.NEVER
            for name in self.names
            if name not in self.scope.bindings and self._is_read_further_out(name)
        }
        for read, bits in self.reads.items():
            known = _OF_BITS[bits]
            found[read.id] = min(known, found.get(read.id, known))
        return found

    def _is_read_further_out(self, name: str) -> bool:
        """Whether a read in the scope sees another scope's binding of the name, or none."""
        for node in self.scopes.nodes[ast.Name]:
            if node.id != name or not isinstance(node.ctx, ast.Load):
                continue
            owner, scope = self.scopes.binder(node), self.scopes.scope_of.get(node)
            while scope is not None and scope is not owner:
                if scope is self.scope:
                    return True
                scope = scope.parent
        return False

    # --- statements ------------------------------------------------------------------------

    def _suite(self, suite: Sequence[ast.stmt], state: _State) -> _State:
        for statement in suite:
            if state is None:
                return None
            state = self._statement(statement, state)
        return state

    def _statement(self, node: ast.stmt, state: _State) -> _State:
        if isinstance(node, ast.If):
            return self._if(node, state)
        if isinstance(node, ast.While | ast.For | ast.AsyncFor):
            return self._loop(node, state)
        if isinstance(node, _TRY):
            return self._try(node, state)
        if isinstance(node, ast.With | ast.AsyncWith):
            return self._with(node, state)
        if isinstance(node, ast.Match):
            return self._match(node, state)
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            return self._definition(node, state)
        state = self._visit([node], state)
        if isinstance(node, ast.Return | ast.Raise):
            return None
        if isinstance(node, ast.Break | ast.Continue) and self.loops:
            loop = self.loops[-1]
            (loop.breaks if isinstance(node, ast.Break) else loop.continues).append(state)
            return None
        return state

    def _if(self, node: ast.If, state: _State) -> _State:
        ends: list[_State] = []
        while True:  # along the elifs, of which there may be thousands
            state = self._visit([node.test], state)
            ends.append(self._suite(node.body, state))
            below = node.orelse
            if len(below) != 1 or not isinstance(below[0], ast.If):
                return _join([*ends, self._suite(below, state)])
            node = below[0]

    def _loop(self, node: ast.While | ast.For | ast.AsyncFor, state: _State) -> _State:
        endless = isinstance(node, ast.While) and _is_true(node.test)
        head = state
        if not isinstance(node, ast.While):
            head = self._visit([node.iter], state)
        loop = _Loop()
        for _ in range(2):  # what the first turn sets, the second one may read
            self.loops.append(loop)
            if isinstance(node, ast.While):
                inside = self._visit([node.test], head)
            else:
                inside = self._visit([node.target], head)
            end = self._suite(node.body, inside)
            self.loops.pop()
            head = _join([head, end, *loop.continues])
        exhausted: _State = None if endless else self._suite(node.orelse, head)
        return _join([exhausted, *loop.breaks])

    def _try(self, node: ast.Try, state: _State) -> _State:
        self.raising.append([state])
        end = self._suite(node.body, state)
        states = self.raising.pop()
        raised = _join(states)
        if self.raising:
            self.raising[-1] += states
        end = self._suite(node.orelse, end)
        ends = [end]
        for handler in node.handlers:
            inside = self._visit([handler.type] if handler.type else [], raised)
            inside = self._bind(handler, inside)
            ends.append(self._unbind(handler, self._suite(handler.body, inside)))
        joined = _join(ends)
        self._suite(node.finalbody, _join([raised, *ends]))
        return self._suite(node.finalbody, joined)

    def _with(self, node: ast.With | ast.AsyncWith, state: _State) -> _State:
        for item in node.items:
            state = self._visit([item.context_expr], state)
            if item.optional_vars is not None:
                state = self._visit([item.optional_vars], state)
        self.raising.append([state])
        end = self._suite(node.body, state)
        raised = self.raising.pop()
        if self.raising:
            self.raising[-1] += raised
        return _join([end, *raised]) if any(map(_suppresses, node.items)) else end

    def _match(self, node: ast.Match, state: _State) -> _State:
        state = self._visit([node.subject], state)
        ends: list[_State] = []
        for case in node.cases:
            inside = self._visit([case.pattern], state)
            if case.guard is not None:
                inside = self._visit([case.guard], inside)
            ends.append(self._suite(case.body, inside))
            pattern = case.pattern
            if case.guard is None and isinstance(pattern, ast.MatchAs) and not pattern.pattern:
                return _join(ends)
        return _join([*ends, state])

    def _definition(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, state: _State
    ) -> _State:
        outside: list[ast.AST] = list(node.decorator_list)
        if isinstance(node, ast.ClassDef):
            outside += [*node.bases, *node.keywords]
            state = self._visit(outside, state)
            # A class body runs at once.
            state = self._suite(node.body, state)
        else:
            state = self._visit([*outside, node.args], state)
            for child in node.body:
                self._visit_later(child)
        return self._bind(node, state)

    # --- parts of statements ---------------------------------------------------------------

    def _visit(self, nodes: Iterable[ast.AST], state: _State) -> _State:
        """Note the reads in some nodes, then what they bind."""
        if state is None:
            return None
        bound: list[ast.AST] = []
        stack = list(nodes)
        while stack:
            node = stack.pop()
            if node not in self.relevant:
                continue
            if node in self.bindings:
                bound.append(node)
            if isinstance(node, ast.Name):
                augmented = isinstance(self.scopes.parents.get(node), ast.AugAssign)
                if isinstance(node.ctx, ast.Load) or (augmented and node in self.bindings):
                    self._read(node, state)
            elif isinstance(node, ast.Lambda):
                stack.append(node.args)
                self._visit_later(node.body)
                continue
            stack.extend(ast.iter_child_nodes(node))
        for node in bound:
            state = self._bind(node, state)
        return state

    def _read(self, node: ast.Name, state: Mapping[str, _Bits]) -> None:
        if self._is_read_of_ours(node):
            self._note(node, state[node.id])

    def _is_read_of_ours(self, node: ast.Name) -> bool:
        return node.id in self.names and self.scopes.binder(node) in (self.scope, None)

    def _visit_later(self, node: ast.AST) -> None:
        """Reads in the body of a function, which runs later."""
        for read in self.reads_below.get(node, ()):
            if isinstance(read.ctx, ast.Load) and self._is_read_of_ours(read):
                kept = any(b.kind != "del" for b in self.scope.bindings.get(read.id, ()))
                self._note(read, _SET if kept else _UNSET)

    def _note(self, read: ast.Name, bits: _Bits) -> None:
        self.reads[read] = self.reads.get(read, 0) | bits

    def _bind(self, node: ast.AST, state: _State) -> _State:
        if state is None:
            return None
        for name in self.bindings.get(node, ()):
            bits = _SET
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Del):
                bits = _UNSET
            parent = self.scopes.parents.get(node)
            if isinstance(parent, ast.AnnAssign) and parent.value is None:
                continue
            state = {**state, name: bits}
            if self.raising:
                self.raising[-1].append(state)
        return state

    def _unbind(self, handler: ast.ExceptHandler, state: _State) -> _State:
        """``except E as e`` takes its name away at the end."""
        if state is None:
            return None
        return {**state, **dict.fromkeys(self.bindings.get(handler, ()), _UNSET)}


def _join(states: Iterable[_State]) -> _State:
    joined: dict[str, _Bits] | None = None
    for state in states:
        if state is None:
            continue
        if joined is None:
            joined = dict(state)
        else:
            for name, bits in state.items():
                joined[name] |= bits
    return joined


def _is_true(test: ast.expr) -> bool:
    return isinstance(test, ast.Constant) and bool(test.value)


def _suppresses(item: ast.withitem) -> bool:
    """Whether a manager may end what its body raises (``suppress``, ``assertRaises``)."""
    call = item.context_expr
    if not isinstance(call, ast.Call):
        return False
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    name = call.func.id if isinstance(call.func, ast.Name) else name
    return name in ("suppress", "raises", "assertRaises", "assertRaisesRegex")
