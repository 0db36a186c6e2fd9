"""FL301: the import that brings the target, ``import torch_fl``.

It stands in entry points (scripts, ``__main__`` modules, a package's top ``__init__.py``)
before the first import that brings torch: a vendor's plug-in that torch loads by itself would
otherwise take the device slot first. Its comment keeps import sorters and unused-import
linters away.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator

from flmigrate.analysis.context import Context
from flmigrate.findings import Finding, Fix, Import

_STANDARD = sys.stdlib_module_names | {"__future__"}


def check(context: Context, where: str, *, uses_target: bool) -> Iterator[Finding]:
    """The finding that adds the import, where ``where`` wants it and it is missing.

    ``where`` is ``entry-points``, ``every-file`` or ``none``; ``uses_target`` says that the
    file, or for a package's top module some file of the package, was moved to the target.
    """
    statement = context.vocabulary.target.import_statement
    if statement is None or where == "none" or not uses_target:
        return
    if where == "entry-points" and not is_entry_point(context):
        return
    if _is_there(context, statement):
        return
    anchor = _anchor(context)
    if anchor is None:
        return
    marker = context.vocabulary.target.import_marker
    line = f"{statement}  {marker}" if marker else statement
    edit = Import(context.source.span(anchor), add=(line,))
    yield context.finding(
        "FL301", f"{statement} is missing", anchor, fix=Fix(f"Add {statement}", (edit,))
    )


def is_entry_point(context: Context) -> bool:
    """Whether a process may start at this file, or enter its package here."""
    if context.is_package:
        return "." not in context.module_name
    if context.module_name.rpartition(".")[2] == "__main__" or context.source.text.startswith("#!"):
        return True
    if "." not in context.module_name and _runs_on_target(context):
        return True  # not inside a package, and does something when it is run: a script
    if any(node.level for node in context.scopes.nodes[ast.ImportFrom]):
        return False  # cannot be run by its path, and its package comes first
    return any(_is_main_guard(statement) for statement in context.source.tree.body)


def _runs_on_target(context: Context) -> bool:
    target = context.vocabulary.target
    word = target.device_type or target.namespace
    definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
    return any(
        word in context.source.segment(statement)
        for statement in context.source.tree.body
        if not isinstance(statement, definitions) and not _is_docstring(statement)
    )


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _is_main_guard(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.If) or not isinstance(statement.test, ast.Compare):
        return False
    return isinstance(statement.test.left, ast.Name) and statement.test.left.id == "__name__"


def _is_there(context: Context, statement: str) -> bool:
    wanted = ast.dump(ast.parse(statement).body[0])
    names = statement.split()[1]
    for node in context.scopes.nodes[ast.Import]:
        if statement.startswith("import ") and any(a.name == names for a in node.names):
            return True
    return any(
        ast.dump(node) == wanted
        for kind in (ast.Import, ast.ImportFrom)
        for node in context.scopes.nodes[kind]
    )


def _anchor(context: Context) -> ast.stmt | None:
    """The statement that the import goes before.

    The first one of the module that may bring torch: an import of anything but the standard
    library, on its own or inside a ``try`` or ``if``. Where that guards torch itself, the
    target is guarded along with it.
    """
    for statement in context.source.tree.body:
        nodes = ast.walk(statement) if isinstance(statement, ast.Try | ast.If) else [statement]
        if any(_imported(node) - _STANDARD for node in nodes):
            return _guarded(statement) or statement
    return None


def _guarded(statement: ast.stmt) -> ast.stmt | None:
    """The first import in a body that runs only where torch can be had."""
    if isinstance(statement, ast.If):
        asks = "torch" in ast.unparse(statement.test).lower()
    else:
        asks = isinstance(statement, ast.Try)
    body = statement.body if asks and isinstance(statement, ast.Try | ast.If) else []
    if not any("torch" in _imported(child) for child in body):
        return None
    return next(child for child in body if _imported(child) - _STANDARD)


def _imported(node: ast.AST) -> set[str]:
    """The roots of what a statement imports; ``.`` for its own package."""
    if isinstance(node, ast.Import):
        return {alias.name.partition(".")[0] for alias in node.names}
    if isinstance(node, ast.ImportFrom):
        return {(node.module or "").partition(".")[0] if not node.level else "."}
    return set()
