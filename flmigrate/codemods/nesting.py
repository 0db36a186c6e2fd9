"""Which edits can be made together: those that lie apart, or in each other's holes."""

from __future__ import annotations

from collections.abc import Sequence

from flmigrate.codemods.errors import EditError
from flmigrate.findings import Arguments, Edit, Expression, Import, Members, Statement, Text


def wraps_itself(edit: Edit) -> bool:
    """Whether an edit keeps the whole expression that it replaces as one of its holes."""
    return isinstance(edit, Expression) and edit.span in edit.holes


def application_order(edits: Sequence[Edit]) -> list[Edit]:
    """Edits of one and the same expression in the order in which they are made."""
    return sorted(edits, key=wraps_itself)


def check_nesting(edits: Sequence[Edit]) -> None:
    """Raise ``EditError`` when carrying out one edit would lose or tear another.

    In statements that are moved (``Branch``) nothing else is edited.
    """
    around: list[Edit] = []
    for edit in sorted(edits, key=_outermost_first):
        while around and around[-1].span.end <= edit.span.start:
            around.pop()
        for outer in around:
            if not _keeps(outer, edit):
                raise EditError("two edits change the same code", edit.span)
        around.append(edit)


def _outermost_first(edit: Edit) -> tuple[int, int, int]:
    if isinstance(edit, (Import, Statement)):
        rank = 0
    elif wraps_itself(edit):
        rank = 1
    else:
        rank = 2
    return edit.span.start, -edit.span.end, rank


def _keeps(outer: Edit, inner: Edit) -> bool:
    """Whether ``inner``, which starts inside ``outer``, survives it."""
    span = inner.span
    if not outer.span.contains(span):
        return False
    if isinstance(outer, (Expression, Statement)):
        return any(hole.contains(span) for hole in outer.holes)
    if isinstance(outer, (Arguments, Members)):
        # Edits inside what goes are told by the codemod, which knows where they are.
        return outer.span != span
    # Expressions inside an f-string keep their own edits when its text changes.
    return isinstance(outer, Text) and outer.span != span
