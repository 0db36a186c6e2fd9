"""Everything the rules may know about one file."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from flmigrate.analysis import occurrences, places
from flmigrate.analysis.bindings import Binding, Scope
from flmigrate.analysis.flow import Flow
from flmigrate.analysis.kinds import Asker, Kind, backend_kind, device_kind
from flmigrate.analysis.names import Names
from flmigrate.analysis.predicates import Predicates
from flmigrate.analysis.questions import AskFlag, Atom
from flmigrate.analysis.scopes import Scopes
from flmigrate.analysis.slots import Slots
from flmigrate.analysis.source import Source
from flmigrate.analysis.vocabulary import Vocabulary
from flmigrate.findings import Finding, Fix, Severity, Span
from flmigrate.tables import Api

# What a name may be bound to that stands for another name (see ``Names.resolve``).
_LEADING = (ast.Name, ast.Attribute, ast.Call, ast.IfExp, ast.BoolOp)
# Calls that give a module by its name.
_LOOKUPS = frozenset({"getattr", "get_device_module", "import_module", "__import__"})


def _nobody_knows(kind: str, path: str, parameter: str) -> bool:
    return False


def _nobody_tells(path: str) -> Atom | None:
    return None


def _nobody_defines(path: str) -> None:
    return None


def _may_lead(binding: Binding) -> bool:
    """Whether a binding may stand for a name outside of the file, as most do not."""
    if binding.kind == "assign":
        return isinstance(binding.value, _LEADING)
    return binding.kind == "import"  # parameters and definitions lead nowhere


class Reference(NamedTuple):
    """A name or attribute chain that stands for something a table knows.

    ``node`` is the part of the chain that the entry covers, ``path`` the dotted name it
    stands for, ``written`` how the source spells it. ``certain`` says that it can stand for
    nothing else. ``entry`` is ``None`` for a name in a vendor namespace that no table knows.
    """

    node: ast.expr
    path: str
    written: str
    entry: Api | None
    certain: bool


@dataclass(eq=False)
class Context:
    """One file as the rules see it: source, names, flows of values, and the vocabulary.

    ``protected`` are spans in which no fix is offered, ``pinned`` are imports that stay as they
    are, whatever becomes of their uses, and tests of arms that a later read needs.
    """

    source: Source
    vocabulary: Vocabulary
    module_name: str = ""
    is_package: bool = False
    ask: Asker = _nobody_knows
    ask_flag: AskFlag = _nobody_tells
    canonical_vendor: str = ""
    drop_vendors: tuple[str, ...] = ()
    protected: list[Span] = field(default_factory=list)
    pinned: set[Span] = field(default_factory=set)
    find_function: Callable[[str], tuple[Context, ast.FunctionDef] | None] = _nobody_defines

    def __post_init__(self) -> None:
        package = self.module_name
        if package and not self.is_package:
            package = package.rpartition(".")[0]
        self.scopes = Scopes(self.source, package)
        self.names = Names(self.scopes)
        if not self.canonical_vendor:
            words = self.source.text.encode("utf-8", "surrogatepass")
            self.canonical_vendor = self.vocabulary.canonical_vendor([words])

    @cached_property
    def slots(self) -> Slots:
        """Where values are kept in the file."""
        return Slots(self.names)

    @cached_property
    def devices(self) -> Flow:
        """Follows device strings."""
        return self._flow(device_kind(self.vocabulary.all_device_types))

    @cached_property
    def backends(self) -> Flow:
        """Follows process-group backends."""
        return self._flow(backend_kind(self.vocabulary.all_backends))

    def _flow(self, kind: Kind) -> Flow:
        return Flow(self.slots, kind, self.vocabulary.canonical, self.ask, self.module_name)

    @cached_property
    def predicates(self) -> Predicates:
        """What the file's conditions ask."""
        return Predicates(self, self.ask_flag)

    @cached_property
    def names_gone_vendor(self) -> bool:
        """Whether a word for a vendor that the target never is stands anywhere in the file."""
        return bool(self._gone_words)

    def names_gone_word(self, node: ast.AST) -> bool:
        """Whether a word for a vendor that the target never is stands in a node's text."""
        return self.source.has_one_in(node, self._gone_words)

    @cached_property
    def _gone_words(self) -> list[int]:
        """Where words for vendors that the target never is stand in the text."""
        known = self.vocabulary.vendor_words.items()
        text = self.source.text
        lower = text.lower()  # most words are in no form in a text
        words = (w for w, vendor in known if w in lower and self.predicates.is_gone(vendor))
        return sorted(at for word in words for at in occurrences.of_word(word, text))

    @cached_property
    def canonical_types(self) -> frozenset[str]:
        """Device types of the vendor whose code stands for all served ones."""
        return frozenset(self.vocabulary.vendors[self.canonical_vendor].device_types)

    @cached_property
    def other_types(self) -> frozenset[str]:
        """Device types of the other served vendors."""
        return self.vocabulary.device_types - self.canonical_types

    @cached_property
    def same_vendor(self) -> re.Pattern[str]:
        """Matches, in a dumped tree, what names a served vendor and becomes one name.

        Only whole names, the beginning of strings and words of sentences: ``forward_npu`` is a
        name of its own.
        """
        vocabulary, target = self.vocabulary, self.vocabulary.target
        words = {*vocabulary.device_types, *vocabulary.backends, *vocabulary.attributes}
        words |= {w for w in (target.device_type, target.backend, target.attribute) if w}
        words |= {word.upper() for word in vocabulary.device_types}
        plugins = "|".join(map(re.escape, vocabulary.plugins))
        names = "|".join(map(re.escape, words))
        return re.compile(
            rf"(?<=Name\(id=')(?:{plugins}|torch)(?=', ctx=Load\(\)\), attr='(?:{names})')"
            rf"|(?<=')(?:{names})(?=[': ])"
            rf"|(?<= )(?:{names})(?=[ .,;!?'\"])"
        )

    def definition_of(self, call: ast.Call) -> tuple[Context, ast.FunctionDef] | None:
        """The function that a call runs and the file that defines it, if it is the project's."""
        own = self.slots.callee(call)
        if own is not None:
            return (self, own) if isinstance(own, ast.FunctionDef) else None
        return self.find_function(self.names.resolve(call.func).only)

    def vendor_of(self, path: str) -> str | None:
        """The served vendor whose namespace a dotted name lies in."""
        for vendor in self.vocabulary.served:
            if any(path.startswith(f"{namespace}.") for namespace in vendor.namespaces):
                return vendor.name
        return None

    @cached_property
    def imported(self) -> frozenset[str]:
        """The top-level packages that the file imports anywhere."""
        found: set[str] = set()
        for node in self.scopes.nodes[ast.Import]:
            found.update(alias.name.partition(".")[0] for alias in node.names)
        for node in self.scopes.nodes[ast.ImportFrom]:
            if not node.level and node.module:
                found.add(node.module.partition(".")[0])
        return frozenset(found)

    @cached_property
    def is_foreign(self) -> bool:
        """Whether the file is written for another framework and never for PyTorch."""
        torch = {"torch", *self.vocabulary.plugins}
        return bool(self.imported & places.FRAMEWORKS) and not self.imported & torch

    @cached_property
    def references(self) -> list[Reference]:
        """Every topmost chain that stands for a name in the tables, in source order."""
        found = []
        for root in self._roots_of_references():
            node: ast.expr = root
            parent = self.scopes.parents.get(node)
            while isinstance(parent, ast.Attribute):
                node, parent = parent, self.scopes.parents.get(parent)
            reference = self._reference(node)
            if reference is not None:
                found.append(reference)
        found.sort(key=lambda reference: self.source.start(reference.node))
        return found

    def _roots_of_references(self) -> Iterator[ast.expr]:
        """Names, and look-ups such as ``getattr(torch, "cuda")``, that a reference may start at.

        Most names of a file stand for nothing in the tables, so the search starts at bindings
        and not at names.
        """
        scopes = self.scopes
        for scope in scopes.all():
            for name, loads in scope.loads.items():
                if self._may_refer(scope, name):
                    yield from (load for load in loads if load not in scopes.in_text)
        yield from self.names.module_keepers()
        if scopes.stars or "torch" not in scopes.module.bindings:
            for node in scopes.nodes[ast.Name]:
                if isinstance(node.ctx, ast.Load) and scopes.binder(node) is None:
                    star = (f"{module}.{node.id}" for module in scopes.stars)
                    if node.id == "torch" or any(map(self.vocabulary.lookup, star)):
                        yield node
        for call in scopes.nodes[ast.Call]:
            if self.names.called_name(call) in _LOOKUPS:
                yield call

    @cached_property
    def reference_at(self) -> dict[ast.AST, Reference]:
        """The references by the node that the entry covers.

        Names that are annotations in text are here too, though nothing there is edited: they
        stay right as long as their import keeps the name.
        """
        found: dict[ast.AST, Reference] = {r.node: r for r in self.references}
        for node in self.scopes.in_text:
            whole = not isinstance(self.scopes.parents.get(node), ast.Attribute)
            reference = self._reference(node) if whole else None
            if reference is not None:
                found[node] = reference
        return found

    def _reference(self, node: ast.expr) -> Reference | None:
        root: ast.expr = node
        depth = 0
        while isinstance(root, ast.Attribute):
            root = root.value
            depth += 1
        if isinstance(root, ast.Name):
            if not isinstance(root.ctx, ast.Load):
                return None
        elif not isinstance(root, ast.Call) or depth == 0:
            return None
        origins = self.names.resolve(node)
        if not origins.paths:
            return None
        found = [(path, self.vocabulary.meaning(path)) for path in sorted(origins.paths)]
        known = [(path, meaning) for path, meaning in found if meaning is not None]
        if not known:
            return None
        full, (entry, covered) = known[0]
        same = len(known) == len(found) and len({id(entry) for _, (entry, _) in known}) == 1
        surplus = full[len(covered) :].count(".") if entry is not None else 0
        if surplus > depth:
            return None  # the surplus lies inside an alias: ``w = torch.cuda.Stream.wait_event``
        for _ in range(surplus):
            assert isinstance(node, ast.Attribute)
            node = node.value
        return Reference(node, covered, self.source.segment(node), entry, origins.certain and same)

    def _may_refer(self, scope: Scope, name: str) -> bool:
        """Whether a binding may stand for anything that the tables know."""
        if not any(map(_may_lead, scope.bindings[name])):
            return False
        paths = self.names.binding_origins(scope, name).paths
        return any(path.partition(".")[0] in self._roots for path in paths)

    @cached_property
    def _roots(self) -> frozenset[str]:
        names = (*self.vocabulary.target.api, *self.vocabulary.namespaces)
        return frozenset(name.partition(".")[0] for name in names)

    def release(self) -> None:
        """Let go of the tree: its parts know each other, and only a collection would free them."""
        for name in ("devices", "backends"):
            flow = self.__dict__.get(name)
            if flow is not None:
                for part in (flow.values, flow.destinations, flow.containers, flow.slots, flow):
                    part.__dict__.clear()
        self.__dict__.clear()

    # --- making findings -------------------------------------------------------------------

    def finding(
        self,
        code: str,
        message: str,
        node: ast.AST | Span,
        *,
        severity: Severity = Severity.WARNING,
        fix: Fix | None = None,
        note: bool = False,
        detail: str = "",
    ) -> Finding:
        """A finding at ``node``."""
        span = node if isinstance(node, Span) else self.source.span(node)
        line, column = self.source.position(span.start)
        end_line, _ = self.source.position(max(span.start, span.end - 1))
        return Finding(code, message, span, line, column, end_line, severity, fix, note, detail)

    def protect(self, *nodes: ast.AST) -> None:
        """Let no other rule touch what stands at these nodes."""
        self.protected.extend(self.source.span(node) for node in nodes)

    def is_protected(self, node: ast.AST) -> bool:
        """Whether a node stands in code that no rule may touch."""
        span = self.source.span(node)
        return any(protected.contains(span) for protected in self.protected)

    def reads_of(self, name: str, inside: ast.AST) -> list[ast.Name]:
        """The reads of a name in a part of the tree."""
        found = (n for n in ast.walk(inside) if isinstance(n, ast.Name) and n.id == name)
        return [node for node in found if isinstance(node.ctx, ast.Load)]

    def suite_of(self, statement: ast.stmt) -> list[ast.stmt]:
        """The suite that a statement stands in."""
        parent = self.scopes.parents.get(statement)
        for name in ("body", "orelse", "finalbody"):
            suite = getattr(parent, name, None)
            if isinstance(suite, list) and statement in suite:
                return suite
        return [statement]

    def statement(self, node: ast.AST) -> ast.stmt | None:
        """The innermost statement that ``node`` is part of."""
        current: ast.AST | None = node
        while current is not None and not isinstance(current, ast.stmt):
            current = self.scopes.parents.get(current)
        return current

    def is_called(self, node: ast.AST) -> ast.Call | None:
        """The call whose function ``node`` is, or ``None``."""
        parent = self.scopes.parents.get(node)
        return parent if isinstance(parent, ast.Call) and parent.func is node else None
