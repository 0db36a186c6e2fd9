"""FL101 for imports: what happens to a local name that an import binds to vendor API.

``from torch.cuda.amp import GradScaler`` moves to ``from torch.amp import GradScaler`` and the
name stays in use; ``from torch import cuda`` becomes ``from torch import flagos`` with its
uses; an import whose uses are all spelled out goes. A name that is still needed for API
without a counterpart keeps its import.
"""

from __future__ import annotations

import ast
import enum
import re
from collections.abc import Iterator
from dataclasses import dataclass

from flmigrate.analysis.context import Context, Reference
from flmigrate.analysis.indices import Index, index_of
from flmigrate.analysis.scopes import Scope
from flmigrate.analysis.vocabulary import CANONICAL
from flmigrate.findings import Finding, Fix, Import, Rename, Severity
from flmigrate.rules.templates import bound_arguments
from flmigrate.tables import Api


class Mode(enum.Enum):
    """What becomes of an import's local name."""

    MOVE = "the import moves, the name stays"
    RENAME = "the import moves, the name and its uses take the new module's name"
    REMOVE = "its uses are spelled out, the import goes"
    STAY = "the import stays as it is"


@dataclass(slots=True, eq=False)
class _Alias:
    """One alias of an import statement, the name it stands for, and what becomes of it."""

    node: ast.alias
    statement: ast.Import | ast.ImportFrom
    path: str
    entry: Api | None
    mode: Mode
    spelled_out: bool = False


class Aliases:
    """The imports of one file that bind names to vendor API."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self._by_name: dict[tuple[Scope, str], _Alias] = {}
        self._all = list(self._imported())
        for scope, name, alias in self._all:
            self._by_name[scope, name] = alias
        for (scope, name), alias in self._by_name.items():
            alias.mode = self._decide(scope, name, alias)

    # --- for rules about references --------------------------------------------------------

    def spelling(self, reference: Reference, new: str) -> str:
        """How the dotted name ``new`` is written in the place of a reference."""
        root = _root(reference.node)
        alias, base = self._alias_of(root), self._module_alias(root)
        if alias is not None and alias.mode in (Mode.MOVE, Mode.RENAME):
            if self._stays_valid(reference, alias.path, alias.entry):
                if alias.mode is Mode.MOVE:
                    return reference.written
                tail = reference.written[len(alias.node.name) :]
                return self._home(alias.path, alias.entry).rpartition(".")[2] + tail
        elif base and self._stays_valid(reference, base, None):
            return reference.written
        elif reference.node is root and self._moves_where_set(reference, root):
            return reference.written  # ``sync = torch.cuda.synchronize`` moves where it is set
        elif alias is None:
            # ``nn.DataParallel``, ``self.torch.cuda``: keep as much of the chain as fits.
            part = reference.node
            while isinstance(part, ast.Attribute | ast.Name):
                path = self.context.names.resolve(part).only
                if path and (new == path or new.startswith(path + ".")):
                    return self.context.source.segment(part) + new[len(path) :]
                if isinstance(part, ast.Name):
                    break
                part = part.value
        return self.localized(root, new)

    def localized(self, node: ast.expr, text: str) -> str:
        """Source text that says ``torch``, with the name that the file has for it."""
        scopes = self.context.scopes
        scope = scopes.scope_of.get(node, scopes.module)
        owner = scope.owner("torch")
        if owner is not None:
            return text
        for name, bindings in scopes.module.bindings.items():
            if any(b.kind == "import" and b.path == "torch" for b in bindings):
                return re.sub(r"\btorch(?=\.)", name, text)
        return text

    def hides_torch(self, node: ast.expr) -> bool:
        """Whether ``torch`` means something else where ``node`` stands."""
        scopes = self.context.scopes
        owner = scopes.scope_of.get(node, scopes.module).owner("torch")
        if owner is None:
            # Only an import that changes brings ``import torch`` along.
            alias = self._alias_of(_root(node) if isinstance(node, ast.expr) else node)
            return alias is not None and alias.mode is Mode.STAY
        return self.context.names.binding_origins(owner, "torch").only != "torch"

    def covers(self, reference: Reference) -> bool:
        """Whether a reference to the module itself is dealt with at its import."""
        root = _root(reference.node)
        alias = self._alias_of(root)
        return alias is not None or bool(self._module_alias(root))

    def renames(self, reference: Reference) -> Rename | None:
        """The rename of a bare module name whose import takes another name."""
        alias = self._alias_of(reference.node)
        if alias is None or alias.mode is not Mode.RENAME:
            return None
        new = self._home(alias.path, alias.entry).rpartition(".")[2]
        return Rename(self.context.source.span(reference.node), new)

    def is_import_guarded(self, reference: Reference) -> bool:
        """Whether the name has another, portable binding in torch (``except ImportError``)."""
        root = _root(reference.node)
        owner = self.context.scopes.binder(root) if isinstance(root, ast.Name) else None
        if owner is None or not isinstance(root, ast.Name):
            return False
        paths = self.context.names.binding_origins(owner, root.id).paths
        return len(paths) > 1 and any(self._is_portable(path) for path in paths)

    def _is_portable(self, path: str) -> bool:
        vocabulary = self.context.vocabulary
        unknown = vocabulary.lookup(path) is None and not vocabulary.in_namespace(path)
        return unknown and path.startswith("torch.")

    # --- deciding --------------------------------------------------------------------------

    def _imported(self) -> Iterator[tuple[Scope, str, _Alias]]:
        context = self.context
        for kind in (ast.Import, ast.ImportFrom):
            for statement in context.scopes.nodes[kind]:
                around = context.scopes.around(statement)
                for alias in statement.names:
                    path = alias.name
                    if isinstance(statement, ast.ImportFrom):
                        path = f"{context.scopes.absolute(statement)}.{alias.name}"
                    elif alias.asname is None:
                        continue
                    looked_up = context.vocabulary.lookup(path)
                    entry = looked_up[0] if looked_up and looked_up[1] == path else None
                    if entry is None and not context.vocabulary.in_namespace(path):
                        continue
                    if entry is not None and (entry.status == "keep" or entry.in_place):
                        continue
                    name = alias.asname or alias.name
                    scope = around.owner(name) or around  # ``global`` binds further out
                    yield scope, name, _Alias(alias, statement, path, entry, Mode.STAY)

    def _alias_of(self, root: ast.expr) -> _Alias | None:
        owner = self.context.scopes.binder(root) if isinstance(root, ast.Name) else None
        if owner is None or not isinstance(root, ast.Name):
            return None
        return self._by_name.get((owner, root.id))

    def _module_alias(self, root: ast.expr) -> str:
        """The vendor module that ``cuda = torch.cuda`` makes a name stand for."""
        owner = self.context.scopes.binder(root) if isinstance(root, ast.Name) else None
        if owner is None or not isinstance(root, ast.Name):
            return ""
        if all(binding.kind == "import" for binding in owner.bindings[root.id]):
            return ""
        for path in sorted(self.context.names.binding_origins(owner, root.id).paths):
            if self.context.vocabulary.canonical(path) == CANONICAL:
                return path
        return ""

    def _moves_where_set(self, reference: Reference, root: ast.expr) -> bool:
        """Whether a name is assigned from API that moves by its name alone."""
        entry = reference.entry
        if entry is None or entry.first or entry.append or entry.keyword or entry.call:
            return False
        owner = self.context.scopes.binder(root) if isinstance(root, ast.Name) else None
        if owner is None or not isinstance(root, ast.Name):
            return False
        return all(binding.kind == "assign" for binding in owner.bindings[root.id])

    def _home(self, path: str, entry: Api | None) -> str:
        """Where an imported name is found on the target; empty where nowhere."""
        if self.context.vocabulary.canonical(path) == CANONICAL:
            namespace = self.context.vocabulary.target.namespace
            return namespace if namespace.replace(".", "").isidentifier() else ""
        return (entry.import_to or entry.to or "") if entry is not None else ""

    def _decide(self, scope: Scope, name: str, alias: _Alias) -> Mode:
        if len(scope.bindings.get(name, ())) != 1 or self._is_protected(alias.statement):
            return Mode.STAY
        uses = scope.loads.get(name, [])
        references = [self._reference_of(use) for use in uses]
        if any(r is None or not self._moves(r) for r in references):
            return Mode.STAY
        home = self._home(alias.path, alias.entry)
        if not uses:
            is_member = alias.entry is not None and not alias.path.endswith((".amp", ".nvtx"))
            return Mode.MOVE if home and is_member else Mode.STAY
        kept = [r for r in references if r and self._stays_valid(r, alias.path, alias.entry)]
        alias.spelled_out = len(kept) < len(references)
        if not kept or not home:
            alias.spelled_out = True
            return Mode.REMOVE
        vendor_word = name in self.context.vocabulary.methods and alias.node.asname is None
        if vendor_word and isinstance(alias.statement, ast.ImportFrom):
            new = home.rpartition(".")[2]
            taken = any(new in s.bindings for s in self.context.scopes.all())
            same_module = home.rpartition(".")[0] == self.context.scopes.absolute(alias.statement)
            return Mode.RENAME if same_module and not taken else Mode.MOVE
        return Mode.MOVE

    def _reference_of(self, use: ast.Name) -> Reference | None:
        node: ast.AST = use
        while isinstance(node, ast.Name | ast.Attribute):
            reference = self.context.reference_at.get(node)
            if reference is not None:
                return reference
            node = self.context.scopes.parents[node]
        return None

    def _moves(self, reference: Reference) -> bool:
        """Whether a use is rewritten at all."""
        if self._is_protected(reference.node):
            return False
        entry = reference.entry
        if entry is None:
            return self.context.vocabulary.canonical(reference.path) == CANONICAL
        if entry.status in ("none", "keep") or entry.capability or entry.group == "tensor-type":
            return False
        if self.context.is_called(reference.node) is None:
            return bool(entry.value or entry.to) and not entry.call
        return bool(entry.call or entry.statement or entry.to)

    def _stays_valid(self, reference: Reference, path: str, alias_entry: Api | None) -> bool:
        """Whether a use stays right when the name it starts from stands for its new home."""
        home, entry = self._home(path, alias_entry), reference.entry
        tail = reference.path[len(path) :]
        if not home:
            return False
        if entry is None:
            return not tail
        if self.context.is_called(reference.node) is None:
            text = entry.value or ""
            if text and not text.startswith((entry.import_to or home, entry.to or home)):
                return False
        elif entry.call or entry.statement or self._goes_elsewhere(reference):
            return False
        return home + tail in (entry.import_to or entry.to, entry.to)

    def _goes_elsewhere(self, reference: Reference) -> bool:
        entry, call = reference.entry, self.context.is_called(reference.node)
        if entry is None or call is None or not entry.index_to:
            return False
        arguments = bound_arguments(call, entry.params) or {}
        given = [arguments[name] for name in entry.indices if name in arguments]
        return any(index_of(self.context, argument) is not Index.NUMBER for argument in given)

    def _is_protected(self, node: ast.AST) -> bool:
        span = self.context.source.span(node)
        if span in self.context.pinned:
            return True
        return any(protected.overlaps(span) for protected in self.context.protected)

    # --- the imports themselves ------------------------------------------------------------

    def findings(self) -> Iterator[Finding]:
        """Findings for the import statements, one for each statement that changes."""
        moving: dict[ast.stmt, list[_Alias]] = {}
        for scope, name, alias in self._all:
            if alias.mode is not Mode.STAY:
                moving.setdefault(alias.statement, []).append(alias)
            elif alias.entry is not None and alias.entry.status == "none":
                ours = self.context.vocabulary.in_namespace(alias.path)
                if ours or not scope.loads.get(name):
                    message = f"{self.context.vocabulary.target.title} has no {alias.path}"
                    yield self.context.finding("FL103", message, alias.statement, note=True)
        needs_torch = not self.context.scopes.binds("torch")
        for statement, aliases in moving.items():
            add: tuple[str, ...] = ()
            if needs_torch and any(alias.spelled_out for alias in aliases):
                add, needs_torch = ("import torch",), False
            kept = [alias for alias in aliases if alias.mode is not Mode.REMOVE]
            edit = Import(
                self.context.source.span(statement),
                remove=tuple(a.node.name for a in aliases if a.mode is Mode.REMOVE),
                move=tuple(self._move(alias) for alias in kept),
                add=add,
                free=tuple(a.node.name for a in kept if a.mode is Mode.RENAME),
            )
            names = ", ".join(alias.path for alias in aliases)
            fix = Fix("Import from the target", (edit,))
            yield self.context.finding("FL101", f"import of {names}", statement, fix=fix)
        yield from self._plain_imports()
        yield from self._star_imports()

    def _move(self, alias: _Alias) -> tuple[str, str | None, str]:
        home = self._home(alias.path, alias.entry)
        if isinstance(alias.statement, ast.Import):
            return alias.node.name, None, home
        module, _, name = home.rpartition(".")
        return alias.node.name, module, name

    def _plain_imports(self) -> Iterator[Finding]:
        """``import torch.cuda`` binds only ``torch``; the module it loads is not needed."""
        context = self.context
        for statement in context.scopes.nodes[ast.Import]:
            names = [
                alias.name
                for alias in statement.names
                if alias.asname is None
                and alias.name.startswith("torch.")
                and context.vocabulary.in_namespace(alias.name)
            ]
            if not names or self._is_protected(statement):
                continue
            imports = [
                binding.node
                for binding in context.scopes.module.bindings.get("torch", ())
                if isinstance(binding.node, ast.alias) and binding.node.name == "torch"
            ]
            span = context.source.span(statement)
            if imports:
                edit = Import(span, remove=tuple(names))
            else:
                first, *rest = names
                edit = Import(span, remove=tuple(rest), move=((first, None, "torch"),))
            fix = Fix("Import torch alone", (edit,))
            yield context.finding("FL101", f"import of {', '.join(names)}", statement, fix=fix)

    def _star_imports(self) -> Iterator[Finding]:
        for statement in self.context.scopes.nodes[ast.ImportFrom]:
            module = self.context.scopes.absolute(statement)
            if statement.names[0].name == "*" and self.context.vocabulary.in_namespace(module):
                message = f"a star import of {module} hides which names come from it"
                yield self.context.finding(
                    "FL101", message, statement, severity=Severity.WARNING, note=True
                )


def _root(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node
