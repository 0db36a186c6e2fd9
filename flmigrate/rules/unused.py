"""FL203: what only the rewrite left unused.

Once an arm for one vendor is gone, nothing may be left that reads ``is_npu_available`` or
``_is_npu``. A careful engineer takes such an import, flag, constant or private helper out in the
same patch, and nothing else: what was unused before stays, and so does what other files use. An
import that stays for other files alone is written so that it shows: ``is_npu as is_npu``.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from flmigrate.analysis.context import Context
from flmigrate.analysis.disuse import Disuse, Group
from flmigrate.analysis.leftovers import Leftovers
from flmigrate.analysis.reexports import reexports
from flmigrate.analysis.unused_methods import Mentioned, unused_methods
from flmigrate.findings import Finding, Fix, Import, Removal, Severity
from flmigrate.rules.emptied import emptied

UsedElsewhere = Callable[[frozenset[str], frozenset[str]], frozenset[str]]
"""Which of the module's names other files use; the second set are those that text may name."""


def check(
    before: Context,
    after: Context,
    used_elsewhere: UsedElsewhere | None = None,
    mentioned: Mentioned | None = None,
) -> Iterator[Finding]:
    """Findings for names that ``before`` read and ``after``, the same file rewritten, does not.

    ``used_elsewhere`` and ``mentioned`` are ``None`` where no other file can be asked; public names
    of the module, and methods, stay then.
    """
    idle = list(emptied(before, after))
    if idle:  # what only their tests read is looked for when they are gone
        yield from idle
        return
    leftovers = Leftovers(before, after, used_elsewhere is not None)
    disuse = Disuse(leftovers)
    asked: set[str] = set()
    used: frozenset[str] = frozenset()
    while True:
        disuse.settle()
        names = disuse.exported() - asked
        if not names or used_elsewhere is None:
            break
        asked |= names
        bindings = after.scopes.module.bindings
        own = frozenset(n for n in names if any(b.kind != "import" for b in bindings[n]))
        found = used_elsewhere(names, own)
        used |= found
        disuse.keep(found)
    if mentioned is not None:
        for method in unused_methods(leftovers, mentioned):
            yield _finding(after, Group((method.name,), (method,), ()))
    groups = disuse.groups()
    for group in groups:
        yield _finding(after, group)
    if not groups:  # else the same import may lose other names first
        for statement, again in reexports(leftovers, used):
            yield _passed_on(after, statement, again)


def _finding(context: Context, group: Group) -> Finding:
    edits: list[Removal | Import] = [Removal(context.source.span(s)) for s in group.whole]
    edits += [Import(context.source.span(s), remove=names) for s, names in group.parts]
    edits.sort(key=lambda edit: edit.span)
    message = f"nothing reads {', '.join(group.names)} any more"
    fix = Fix("Remove what was left unused", tuple(edits))
    return context.finding("FL203", message, edits[0].span, severity=Severity.INFO, fix=fix)


def _passed_on(context: Context, statement: ast.stmt, names: tuple[str, ...]) -> Finding:
    span = context.source.span(statement)
    message = f"{', '.join(names)} stays for other files alone, and is written so"
    fix = Fix("Say that the name is passed on", (Import(span, again=names),))
    return context.finding("FL203", message, span, severity=Severity.INFO, fix=fix)
