"""Comments: which ones a piece of code has, and whether an edit keeps them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import libcst as cst

from flmigrate.codemods.errors import EditError
from flmigrate.findings import Span


class _Comments(cst.CSTVisitor):
    def __init__(self) -> None:
        super().__init__()
        self.found: Counter[str] = Counter()

    def visit_Comment(self, node: cst.Comment) -> None:
        self.found[node.value] += 1


def comments_in(node: cst.CSTNode) -> Counter[str]:
    """The comments inside a node, each with how often it is there."""
    visitor = _Comments()
    node.visit(visitor)
    return visitor.found


def keep_comments(old: cst.CSTNode, new: Iterable[cst.CSTNode], source: str, span: Span) -> None:
    """Raise ``EditError`` when a comment of ``old`` is missing in ``new``.

    ``source`` is the text of ``old``, ``span`` where it stands.
    """
    if "#" not in source:
        return
    lost = comments_in(old)
    for node in new:
        lost -= comments_in(node)
    if lost:
        raise EditError(f"the comment {next(iter(lost))!r} would be lost", span)
