"""Facts that cross file borders: what a function of another file takes and gives.

74% of the device comparisons in real projects compare a value that the file does not define.
Files are looked into on demand: only where a vendor literal of one file meets a name that
another file defines.
"""

from __future__ import annotations

import ast
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from flmigrate.analysis.context import Context
from flmigrate.analysis.kinds import METHODS, Verdict
from flmigrate.analysis.names import LOCAL
from flmigrate.analysis.neighbours import Neighbours
from flmigrate.analysis.questions import CYCLE, Atom
from flmigrate.analysis.slots import Definition, Slot
from flmigrate.analysis.source import Source
from flmigrate.analysis.vocabulary import Vocabulary

Fact = tuple[str, str, str]
"""(kind, dotted name of a function or constant, parameter name, position, or "")."""

_NOT = "not "
_KEPT = 48  # parsed files held at once; bounds memory, not correctness
_REEXPORTS = 4


def module_names(files: Iterable[Path]) -> dict[str, Path]:
    """Dotted module names of files, by the packages (folders with ``__init__.py``) they are in."""
    packages: dict[Path, str] = {}

    def package_of(folder: Path) -> str:
        known = packages.get(folder)
        if known is None:
            inside = (folder / "__init__.py").is_file()
            outer = package_of(folder.parent) if inside and folder.parent != folder else ""
            known = f"{outer}.{folder.name}" if outer else folder.name if inside else ""
            packages[folder] = known
        return known

    found: dict[str, Path] = {}
    for file in files:
        package = package_of(file.parent)
        if file.stem == "__init__":
            name = package
        else:
            name = f"{package}.{file.stem}" if package else file.stem
        if name:
            found.setdefault(name, file)
    return found


class _Place(NamedTuple):
    """Where a dotted name leads: a module, the name in it, and its definition, if it has one."""

    context: Context
    module: str
    name: str
    definition: Definition | None


def settled(wanted: Iterable[Fact], told: Iterable[Fact]) -> frozenset[Fact]:
    """The wanted facts that are told and that nothing told denies."""
    known = frozenset(told)
    return frozenset(
        (kind, path, which)
        for kind, path, which in wanted
        if (kind, path, which) in known and (kind, f"{_NOT}{path}", which) not in known
    )


def _takes_no_text(context: Context, function: ast.FunctionDef, name: str) -> bool:
    """Whether a parameter is annotated with a type that is neither a string nor a device."""
    for argument in context.scopes.parameters(function):
        if argument.arg == name:
            path = context.names.annotation_path(argument.annotation)
            return path not in ("", "builtins.str", "str", "torch.device", "typing.Any")
    return False


class Project:
    """The files that are migrated together, and what is known across them."""

    def __init__(
        self,
        modules: Mapping[str, Path],
        vocabulary: Vocabulary,
        read: Callable[[Path], str],
    ) -> None:
        """``read`` gives a file's text; it may raise ``OSError`` or ``ValueError``."""
        self.modules = modules
        self.names = {path: name for name, path in modules.items()}
        self.vocabulary = vocabulary
        self.facts: frozenset[Fact] = frozenset()
        self._read = read
        self._contexts: OrderedDict[str, Context | None] = OrderedDict()
        self._active: set[Fact] = set()
        self._answers: dict[tuple[str, Fact], bool] = {}
        self._answered_for = self.facts
        self._neighbours = Neighbours(modules.values(), read)
        self._asked_flags: set[str] = set()
        self._flags: dict[tuple[str, str], Atom | None] = {}
        self._canonical_vendor = ""
        self.drop_vendors: tuple[str, ...] = ()

    @property
    def canonical_vendor(self) -> str:
        """The vendor whose code stands for all served ones; empty leaves it to each file."""
        return self._canonical_vendor

    @canonical_vendor.setter
    def canonical_vendor(self, vendor: str) -> None:
        if vendor != self._canonical_vendor:
            self._canonical_vendor = vendor
            self._contexts.clear()
            self._flags.clear()

    def asker(self, own_module: str) -> Callable[[str, str, str], bool]:
        """The question function for one file, which never looks into that file itself."""

        def ask(kind: str, path: str, parameter: str) -> bool:
            return self._ask(own_module, (kind, path, parameter))

        return ask

    def flag_asker(self, own_module: str) -> Callable[[str], Atom | None]:
        """What other files' flags and helpers tell one file; ``None`` for names of no file."""

        def ask(path: str) -> Atom | None:
            return self._flag(own_module, path)

        return ask

    def finder(self, own_module: str) -> Callable[[str], tuple[Context, ast.FunctionDef] | None]:
        """The functions of other files, each with the file that defines it, by dotted name."""

        def find(path: str) -> tuple[Context, ast.FunctionDef] | None:
            place = self._find(path, own_module)
            if place is None or not isinstance(place.definition, ast.FunctionDef):
                return None
            return place.context, place.definition

        return find

    def _flag(self, own_module: str, path: str) -> Atom | None:
        if path in self._asked_flags:
            return CYCLE
        if not self.owns(path):
            return None
        key = (own_module, path)
        if key in self._flags:
            return self._flags[key]
        found = self._look_up_flag(own_module, path)
        if not self._asked_flags:
            self._flags[key] = found
        return found

    def _look_up_flag(self, own_module: str, path: str) -> Atom | None:
        self._asked_flags.add(path)
        try:
            place = self._find(path, own_module)
            if place is None:
                return None
            predicates = place.context.predicates
            if isinstance(place.definition, ast.FunctionDef):
                atom = predicates.settled.function(place.definition)
            elif place.definition is None and "." not in place.name:
                name = ast.Name(place.name)
                atom = predicates.settled.binding(name, place.context.scopes.module, place.name)
            else:
                return None
        finally:
            self._asked_flags.discard(path)
        file = self.modules[place.module].as_posix()
        facts = tuple(f._replace(path=f.path or file if f.line else f.path) for f in atom.facts)
        return atom._replace(facts=facts)

    def note(self, path: Path, words: Iterable[bytes]) -> None:
        """Remember what a file that was read anyway tells about who uses whom."""
        self._neighbours.note(path, words)

    def users(self, path: Path) -> Callable[[frozenset[str], frozenset[str]], frozenset[str]]:
        """The question which names of the file at ``path`` other files use.

        It takes the names, and those of them that count as used where text names them.
        """

        def used(names: frozenset[str], in_text: frozenset[str]) -> frozenset[str]:
            return self._neighbours.used(path, names, in_text)

        return used

    def mentions(self, path: Path) -> Callable[[frozenset[str]], frozenset[str]]:
        """The question which names stand as words in files around the one at ``path``."""

        def mentioned(names: frozenset[str]) -> frozenset[str]:
            return self._neighbours.mentioned(path, names)

        return mentioned

    def owns(self, path: str) -> bool:
        """Whether a dotted name lies in a module of the project."""
        return self._split(path) is not None

    def _split(self, path: str) -> tuple[str, str] | None:
        module = path
        while module:
            if module in self.modules:
                return module, path[len(module) + 1 :]
            module = module.rpartition(".")[0]
        return None

    def _ask(self, own_module: str, fact: Fact) -> bool:
        if fact in self.facts:
            return True
        if fact in self._active:
            return False
        if self._answered_for is not self.facts:
            self._answered_for = self.facts
            self._answers.clear()
        known = self._answers.get((own_module, fact))
        if known is not None:
            return known
        self._active.add(fact)
        try:
            answer = self._answer(own_module, fact)
        finally:
            self._active.discard(fact)
        if not self._active:  # else it may lack what the facts still open will say
            self._answers[own_module, fact] = answer
        return answer

    def _answer(self, own_module: str, fact: Fact) -> bool:
        kind, path, parameter = fact
        place = self._find(path, own_module)
        if place is None:
            return False
        flow = place.context.backends if kind == "backend" else place.context.devices
        definition = place.definition
        if definition is None:
            slot = None if parameter else self._attribute(place)
            return slot is not None and flow.keeps_one(slot)
        owner = definition if isinstance(definition, ast.ClassDef) else None
        if kind == "method":
            if owner is not None and flow.slots.method_of(owner, parameter) is not None:
                return True
        elif not parameter:
            return owner is None and flow.keeps_one((definition, "return"))
        else:
            which = int(parameter) if parameter.isdigit() else parameter
            slot = flow.slots.parameter(definition, which, by_class=True)
            if slot is not None:
                return flow.keeps_one(slot)
        bases = flow.slots.outside_bases(owner) if owner is not None else []
        return any(self._ask(own_module, (kind, base, parameter)) for base in bases)

    @staticmethod
    def _attribute(place: _Place) -> Slot | None:
        """The slot of a module's constant, or of a class attribute (``Class.NAME``)."""
        owner, _, name = place.name.rpartition(".")
        slots = place.context.devices.slots
        if not owner:
            return (place.context.scopes.module, name)
        found = slots.definition(owner)
        return (slots.family(found), name) if isinstance(found, ast.ClassDef) else None

    def _find(self, path: str, own_module: str, depth: int = _REEXPORTS) -> _Place | None:
        """Where a dotted name is defined; names that modules pass on are followed."""
        split = self._split(path)
        if split is None or split[0] == own_module or not split[1] or not depth:
            return None
        module, name = split
        context = self._context(module)
        if context is None:
            return None
        definition = context.devices.slots.definition(name)
        if definition is not None:
            return _Place(context, module, name, definition)
        root, _, rest = name.partition(".")
        if root not in context.scopes.module.bindings:
            onward = [f"{star}.{name}" for star in context.scopes.stars]
            found = (self._find(path, own_module, depth - 1) for path in onward)
            return next((place for place in found if place is not None), None)
        origin = context.names.binding_origins(context.scopes.module, root).only
        if not origin or origin == LOCAL + root:
            return _Place(context, module, name, None)
        home = f"{module}.{origin.removeprefix(LOCAL)}" if origin.startswith(LOCAL) else origin
        return self._find(f"{home}.{rest}" if rest else home, own_module, depth - 1)

    def _context(self, module: str) -> Context | None:
        if module in self._contexts:
            self._contexts.move_to_end(module)
            return self._contexts[module]
        path = self.modules[module]
        context: Context | None = None
        try:
            source = Source(self._read(path), str(path))
            context = Context(
                source,
                self.vocabulary,
                module,
                path.stem == "__init__",
                self.asker(module),
                self.flag_asker(module),
                self.canonical_vendor,
                self.drop_vendors,
            )
        except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
            context = None  # that file is reported when its own turn comes
        self._contexts[module] = context
        if len(self._contexts) > _KEPT:
            _, oldest = self._contexts.popitem(last=False)
            if oldest is not None and not self._active:
                oldest.release()
        return context

    def testimony(self, context: Context, wanted: frozenset[Fact]) -> frozenset[Fact]:
        """Which of the ``wanted`` facts one file proves by how it uses other files' names."""
        names = {path.rpartition(".")[2] for _, path, _ in wanted}
        found: set[Fact] = set()
        scopes = context.scopes
        for scope in scopes.all():
            for name, bindings in scope.bindings.items():
                if not any(b.kind == "import" and self._split(b.path) for b in bindings):
                    continue
                for use in scope.loads.get(name, ()):
                    chain: ast.expr = use
                    parent = scopes.parents.get(chain)
                    while isinstance(parent, ast.Attribute):
                        chain, parent = parent, scopes.parents.get(parent)
                    path = context.names.resolve(chain).only
                    if path.rpartition(".")[2] in names:
                        found.update(self._seen_at(context, chain, self._home_of(path)))
        methods = [fact for fact in wanted if fact[1].startswith(METHODS)]
        for fact in methods:
            found.update(self._by_method(context, fact))
        return frozenset(found)

    def _by_method(self, context: Context, fact: Fact) -> Iterator[Fact]:
        """What the methods of a name in one file say about a parameter: for, or against."""
        kind, path, which = fact
        flow = context.backends if kind == "backend" else context.devices
        for node in context.scopes.nodes[ast.FunctionDef]:
            owner = context.scopes.parents.get(node)
            if node.name != path.removeprefix(METHODS) or not isinstance(owner, ast.ClassDef):
                continue
            slot = flow.slots.parameter(node, int(which) if which.isdigit() else which, False)
            agrees = slot is not None and flow.keeps_one(slot)
            if not agrees and slot is not None and _takes_no_text(context, node, slot[1]):
                continue  # no literal can be meant for this one
            yield fact if agrees else (kind, f"{_NOT}{path}", which)

    def _seen_at(self, context: Context, chain: ast.expr, path: str) -> Iterator[Fact]:
        parent = context.scopes.parents.get(chain)
        for kind, flow in (("device", context.devices), ("backend", context.backends)):
            if isinstance(parent, ast.Call) and parent.func is chain:
                given = [(str(i), a) for i, a in enumerate(parent.args)]
                given += [(k.arg, k.value) for k in parent.keywords if k.arg]
                for which, argument in given:
                    if not isinstance(argument, ast.Constant | ast.Starred):
                        if flow.is_one(argument):
                            yield (kind, path, which)
                if flow.verdict(parent) is Verdict.YES:
                    yield (kind, path, "")
            elif flow.verdict(chain) is Verdict.YES:
                yield (kind, path, "")

    def _home_of(self, path: str) -> str:
        """The dotted name under which a re-exported name is defined."""
        place = self._find(path, own_module="")
        return f"{place.module}.{place.name}" if place is not None else path
