"""FL203: what only the rewrite left unused.

Once an arm for one vendor is gone, nothing may be left that reads ``is_npu_available`` or
``_is_npu``. A careful engineer takes such an import, flag, constant or private helper out in the
same patch, and nothing else: what was unused before stays, and so does what other files use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from flmigrate.analysis.context import Context
from flmigrate.analysis.disuse import Disuse, Group
from flmigrate.analysis.leftovers import Leftovers
from flmigrate.findings import Finding, Fix, Import, Removal, Severity

UsedElsewhere = Callable[[frozenset[str], frozenset[str]], frozenset[str]]
"""Which of the module's names other files use; the second set are those that text may name."""


def check(
    before: Context, after: Context, used_elsewhere: UsedElsewhere | None = None
) -> Iterator[Finding]:
    """Findings for names that ``before`` read and ``after``, the same file rewritten, does not.

    ``used_elsewhere`` is ``None`` where no other file can be asked; public names of the module
    stay then.
    """
    leftovers = Leftovers(before, after, used_elsewhere is not None)
    disuse = Disuse(leftovers)
    asked: set[str] = set()
    while True:
        disuse.settle()
        names = disuse.exported() - asked
        if not names or used_elsewhere is None:
            break
        asked |= names
        bindings = after.scopes.module.bindings
        own = frozenset(n for n in names if any(b.kind != "import" for b in bindings[n]))
        disuse.keep(used_elsewhere(names, own))
    for group in disuse.groups():
        yield _finding(after, group)


def _finding(context: Context, group: Group) -> Finding:
    edits: list[Removal | Import] = [Removal(context.source.span(s)) for s in group.whole]
    edits += [Import(context.source.span(s), remove=names) for s, names in group.parts]
    edits.sort(key=lambda edit: edit.span)
    message = f"nothing reads {', '.join(group.names)} any more"
    fix = Fix("Remove what was left unused", tuple(edits))
    return context.finding("FL203", message, edits[0].span, severity=Severity.INFO, fix=fix)
