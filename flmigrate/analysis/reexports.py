"""Imports that stay for other files alone: the file's own code read them once, and reads no more.

Such a name is used, but the file does not show it. Written as ``name as name`` it does, to readers
and to linters: https://typing.python.org/en/latest/spec/distributing.html#import-conventions
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from flmigrate.analysis.leftovers import Leftovers, is_kept_import

_WHOLE_FILE = re.compile(r"(?m)^\s*#\s*(?:ruff|flake8)\s*:\s*noqa\s*(?:$|:.*\bF401\b)")


def reexports(
    leftovers: Leftovers, used_elsewhere: frozenset[str]
) -> Iterator[tuple[ast.stmt, tuple[str, ...]]]:
    """Import statements of the module, each with those of its names that only others use now.

    ``used_elsewhere`` are names that other files are known to use; of a package's ``__init__.py``
    all public ones count. A name that the file itself did not read before is none of our business.
    """
    scopes, source = leftovers.scopes, leftovers.after.source
    if _WHOLE_FILE.search(source.text):
        return
    found: dict[ast.stmt, list[str]] = {}
    for name, bindings in scopes.module.bindings.items():
        is_public = leftovers.is_package and not name.startswith("_")
        if scopes.module.loads.get(name) or not (is_public or name in used_elsewhere):
            continue
        if not leftovers.was_read(scopes.module, name) or leftovers.stands_in_text(name):
            continue
        for binding in bindings:
            alias, statement = binding.node, scopes.parents.get(binding.node)
            if not isinstance(alias, ast.alias) or alias.name != name or alias.asname is not None:
                continue  # ``a as b`` and ``a.b`` have no name of their own to be bound to
            if isinstance(statement, ast.Import | ast.ImportFrom):
                if not is_kept_import(source, statement):
                    found.setdefault(statement, []).append(name)
    for statement, names in found.items():
        yield statement, tuple(names)
