"""Names that nothing reads any more, and whose bindings may go: imports, flags, private functions.

The question is asked about a file whose other code was changed, with the file as it was beside
it: what nothing read before is none of our business.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from functools import cached_property

from flmigrate.analysis.bindings import Binding, Scope
from flmigrate.analysis.context import Context
from flmigrate.analysis.mentions import local_names_in_text, looks_names_up, names_in_text
from flmigrate.analysis.purity import is_pure, is_pure_definition
from flmigrate.analysis.source import Source

Key = tuple[Scope, str]
"""A name and the scope that binds it."""

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_PACKAGE = re.compile(r"(?:^|[/\\])__init__\.py$")
_KEPT_IMPORT = re.compile(r"#.*(?:\bnoqa\b(?!\s*:)|\bnoqa\s*:.*\bF401\b|unused-import)")
_OURS = re.compile(r"#\s*flmigrate:\s*(?:ignore|keep)\b")


def loses_reads(before: Context, after: Context) -> bool:
    """Whether some name is read less often than before: only then can it have lost its use."""
    was, now = _reads(before), _reads(after)
    return any(now[key] < count for key, count in was.items())


def _reads(context: Context) -> Counter[tuple[str, str]]:
    """How often names are read, by the name of the function or class that binds them."""
    found: Counter[tuple[str, str]] = Counter()
    for scope in context.scopes.all():
        owner = getattr(scope.node, "name", "")
        for name, loads in scope.loads.items():
            found[owner, name] += len(loads)
    return found


class Leftovers:
    """The names of one file that were read before its rewriting and may go now, if unread."""

    def __init__(self, before: Context, after: Context, is_project: bool) -> None:
        """``is_project`` says that files which may use the module's names can be asked."""
        self.before = before
        self.after = after
        self.scopes = after.scopes
        self.is_package = after.is_package or bool(_PACKAGE.search(after.source.path))
        self._is_project = is_project

    def find(self) -> dict[Key, list[ast.stmt]]:
        """Names with the statements that bind them and do nothing else."""
        found: dict[Key, list[ast.stmt]] = {}
        if looks_names_up(self.scopes):
            return found
        for scope in self.scopes.all():
            if not isinstance(scope.node, (ast.Module, *_FUNCTIONS)):
                continue
            for name, bindings in scope.bindings.items():
                if not self.was_read(scope, name) or not self.may_be_dropped(scope, name):
                    continue
                statements = [s for s in map(self._statement, bindings) if s is not None]
                if len(statements) == len(bindings) and all(map(self.may_go, statements)):
                    found[scope, name] = statements
        return found

    def may_be_dropped(self, scope: Scope, name: str) -> bool:
        """Whether a name, once unread, has no other claim to stay that the file shows."""
        if name in self._declared or name.startswith("__"):
            return False
        if scope is not self.scopes.module:
            return name not in self._locals_in_text
        if name in self._in_text:
            return False
        kinds = {binding.kind for binding in scope.bindings[name]}
        if self.is_package and "import" in kinds:
            return False
        if name.startswith("_") or kinds == {"import"}:
            return True
        # Public functions and tables are the module's interface, wherever their users are; a
        # flag for one vendor is not, once the project has no use for it.
        flags = all(_is_flag(binding.value) for binding in scope.bindings[name])
        return "def" not in kinds and flags and self._is_project and not self.is_package

    def was_read(self, scope: Scope, name: str) -> bool:
        """Whether the file read a name before its rewriting."""
        path = self.after.names.scope_path(scope)
        return name in self._used_before.get(path, frozenset())

    def stands_in_text(self, name: str) -> bool:
        """Whether text of the file names it, ``__all__`` say, or a function declares it."""
        return name in self._declared or name in self._in_text

    @cached_property
    def _used_before(self) -> dict[str, frozenset[str]]:
        """Names by the function that binds them, if all its functions of that name read them."""
        used: dict[str, set[str]] = {}
        unused: dict[str, set[str]] = {}
        for scope in self.before.scopes.all():
            path = self.before.names.scope_path(scope)
            for name in scope.bindings:
                where = used if scope.loads.get(name) else unused
                where.setdefault(path, set()).add(name)
        return {path: frozenset(names - unused.get(path, set())) for path, names in used.items()}

    @cached_property
    def _in_text(self) -> frozenset[str]:
        return names_in_text(self.scopes)

    @cached_property
    def _locals_in_text(self) -> frozenset[str]:
        return local_names_in_text(self.scopes)

    @cached_property
    def _declared(self) -> frozenset[str]:
        """Names that some function declares ``global`` or ``nonlocal``."""
        return frozenset(name for scope in self.scopes.all() for name in scope.outer)

    def _statement(self, binding: Binding) -> ast.stmt | None:
        """The statement that binds the name and has no other effect, or ``None``."""
        node, names = binding.node, self.after.names
        statement = self.scopes.parents.get(node)
        match binding.kind:
            case "import":
                assert isinstance(node, ast.alias)
                if isinstance(statement, ast.Import | ast.ImportFrom):
                    if self._is_only_imported_to_be_used(statement, node):
                        return statement
            case "def":
                if isinstance(node, ast.stmt) and is_pure_definition(node, names):
                    return node
            case "assign":
                if isinstance(statement, ast.Assign) and statement.targets == [node]:
                    return statement if is_pure(statement.value, names) else None
                if isinstance(statement, ast.AnnAssign) and statement.target is node:
                    pure = statement.value is None or is_pure(statement.value, names)
                    return statement if pure else None
        return None

    def _is_only_imported_to_be_used(
        self, statement: ast.Import | ast.ImportFrom, alias: ast.alias
    ) -> bool:
        if alias.asname is not None and alias.asname == alias.name:
            return False  # ``import a as a`` passes the name on
        module = alias.name
        if isinstance(statement, ast.ImportFrom):
            module = self.scopes.absolute(statement)
        return not self.registers(module)

    def registers(self, module: str) -> bool:
        """Whether importing a module does something to torch or to Python that stays wanted.

        Plug-ins of served vendors do too, but what they do is not wanted any more.
        """
        vocabulary, root = self.after.vocabulary, module.partition(".")[0]
        unserved = (
            v for v in vocabulary.vendors.values() if v.name not in vocabulary.target.serves
        )
        plugins = {plugin.partition(".")[0] for vendor in unserved for plugin in vendor.plugins}
        own = (vocabulary.target.import_statement or "").split()
        return root in plugins or root in own or root == "__future__"

    def may_go(self, statement: ast.stmt) -> bool:
        """Whether a statement has its lines to itself, and no comment keeps it."""
        source, span = self.after.source, self.after.source.span(statement)
        if any(protected.overlaps(span) for protected in self.after.protected):
            return False
        if not source.has_own_lines(statement):
            return False
        if isinstance(statement, ast.Import | ast.ImportFrom) and is_kept_import(source, statement):
            return False
        return not any(map(_OURS.search, _lines(source, statement)))


def is_kept_import(source: Source, statement: ast.stmt) -> bool:
    """Whether a comment tells linters that an import is unused on purpose."""
    return any(map(_KEPT_IMPORT.search, _lines(source, statement)))


def _lines(source: Source, statement: ast.stmt) -> list[str]:
    span = source.span(statement)
    first, _ = source.position(span.start)
    last, _ = source.position(max(span.start, span.end - 1))
    return [source.line_text(line) for line in range(first, last + 1)]


def _is_flag(value: ast.expr | None) -> bool:
    """Whether a value is a flag or constant, and no table that others may look things up in."""
    return not isinstance(value, ast.Dict | ast.List | ast.Set)
