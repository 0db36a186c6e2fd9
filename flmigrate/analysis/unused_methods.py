"""Private methods that nothing names any more, once the arm that called them is gone.

Who calls a method is never certain, so a name counts as used wherever it stands: in another class,
in a string, in a comment, in another file of the project.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from flmigrate.analysis.context import Context
from flmigrate.analysis.leftovers import Leftovers
from flmigrate.analysis.names import LOCAL
from flmigrate.analysis.purity import is_pure_definition

Mentioned = Callable[[frozenset[str]], frozenset[str]]
"""Which of these names stand in other files of the project, as a word of any kind."""

#: Classes that call no private method of their subclasses.
_KNOWN = ("torch.nn.", "torch.autograd.", "builtins.", "abc.", "typing.", "enum.")


def unused_methods(leftovers: Leftovers, mentioned: Mentioned) -> Iterator[ast.FunctionDef]:
    """Methods ``_name`` that ``before`` names beside their definition, and ``after`` does not."""
    before, after = leftovers.before.source.text, leftovers.after.source.text
    found: dict[str, ast.FunctionDef] = {}
    for method in leftovers.scopes.nodes[ast.FunctionDef]:
        name = method.name
        if not name.startswith("_") or name.endswith("__"):
            continue
        if before.count(name) <= after.count(name) or not _may_go(leftovers, method):
            continue  # most names are mentioned as often as before
        word = re.compile(rf"\b{re.escape(name)}\b")
        if len(word.findall(after)) == 1 < len(word.findall(before)):
            found[name] = method
    if found:
        used = mentioned(frozenset(found))
        yield from (method for name, method in found.items() if name not in used)


def _may_go(leftovers: Leftovers, method: ast.FunctionDef) -> bool:
    owner = leftovers.scopes.parents.get(method)
    if not isinstance(owner, ast.ClassDef) or len(owner.body) == 1:
        return False
    if not leftovers.may_go(method) or not is_pure_definition(method, leftovers.after.names):
        return False
    return all(_is_known(leftovers.after, base) for base in owner.bases)


def _is_known(context: Context, base: ast.expr) -> bool:
    """Whether a base class is one whose code is at hand, or that calls no such methods."""
    path = context.names.resolve(base).only
    if path.startswith(_KNOWN):
        return True
    if not path.startswith(LOCAL):
        return bool(path) and path.partition(".")[0] == context.module_name.partition(".")[0]
    found = context.slots.definition(path.removeprefix(LOCAL))
    if not isinstance(found, ast.ClassDef):
        return False
    return all(_is_known(context, each) for each in found.bases)
