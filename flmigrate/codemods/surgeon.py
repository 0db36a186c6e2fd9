"""The one LibCST transformer: makes all edits of expressions in one pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from flmigrate.codemods import codemod_for
from flmigrate.codemods.errors import EditError
from flmigrate.codemods.finder import Find, Finder
from flmigrate.codemods.nesting import application_order, wraps_itself
from flmigrate.codemods.precedence import field_of, in_brackets, parenthesized_for
from flmigrate.codemods.quotes import keep_quotes_apart
from flmigrate.codemods.site import Hole, Site
from flmigrate.findings import Edit, Expression, Import, Members, Span, Statement


class Surgeon(cst.CSTTransformer):
    """Makes the edits of expressions, innermost first, visiting the way to them only.

    Edits of whole statements are not made here, but what they keep is at hand afterwards:
    ask `site`.
    """

    def __init__(self, edits: Sequence[Edit], finder: Finder, text: str, indent_unit: str) -> None:
        super().__init__()
        self.finder = finder
        self.text = text
        self.indent_unit = indent_unit
        self.finds: dict[Edit, Find] = {}
        self.targets: dict[cst.CSTNode, list[Edit]] = {}
        self.holes: dict[Span, Find] = {}
        self.results: dict[cst.CSTNode, cst.CSTNode] = {}
        way: set[cst.CSTNode] = set()
        for edit in edits:
            if not isinstance(edit, (Import, Statement)):
                find = self.finds[edit] = finder.target(edit)
                self.targets.setdefault(find.node, []).append(edit)
                way.update(find.ancestors, (find.node,))
        self.touched = frozenset(way)
        for edit in edits:
            for span in _holes(edit):
                find = self.holes[span] = finder.hole(span)
                way.update(find.ancestors, (find.node,))
        self.way = frozenset(way)
        self.watched = {find.node for find in self.holes.values()}
        self.watched.update(
            find.ancestors[-1]
            for find in self.holes.values()
            if isinstance(find.ancestors[-1], cst.Arg)
        )

    def roots(self) -> Iterator[cst.CSTNode]:
        """The outermost nodes that change: those of edits, and f-strings around them."""
        seen: set[cst.CSTNode] = set()
        for find in self.finds.values():
            root = next(
                node
                for node in (*find.ancestors, find.node)
                if node in self.targets or type(node) is cst.FormattedString
            )
            if root not in seen:
                seen.add(root)
                yield root

    def on_visit(self, node: cst.CSTNode) -> bool:
        """Go on only where an edit or a hole lies ahead."""
        return node in self.way

    def on_visit_attribute(self, node: cst.CSTNode, attribute: str) -> None:
        """Nothing to do; LibCST's own method would look for a method by name."""

    def on_leave_attribute(self, original_node: cst.CSTNode, attribute: str) -> None:
        """Nothing to do; LibCST's own method would look for a method by name."""

    def on_leave(  # type: ignore[override]
        self, original_node: cst.CSTNode, updated_node: cst.CSTNode
    ) -> cst.CSTNode:
        """Make the edits of this node; those below have been made."""
        if original_node not in self.way:
            return updated_node
        node = updated_node
        edits = self.targets.get(original_node, [])
        for edit in application_order(edits):
            node = self._edited(original_node, node, edit)
        if isinstance(node, cst.FormattedString) and original_node in self.touched:
            node = self._quoted(original_node, node)
        if original_node in self.watched:
            self.results[original_node] = node
        if edits and isinstance(node, cst.BaseExpression):
            parent = self.finds[edits[0]].ancestors[-1]
            node = parenthesized_for(node, parent, field_of(parent, original_node))
        return node

    def _edited(self, original: cst.CSTNode, node: cst.CSTNode, edit: Edit) -> cst.CSTNode:
        site = self.site(original, node, edit)
        keeps = wraps_itself(edit) or isinstance(edit, Members)
        if self.finds[edit].owns_parentheses and not keeps:
            assert isinstance(node, cst.BaseExpression)
            node = node.with_changes(lpar=node.lpar[:-1], rpar=node.rpar[1:])
        result: cst.CSTNode = codemod_for(type(edit))(node, edit, site)
        return result

    def _quoted(self, original: cst.CSTNode, node: cst.FormattedString) -> cst.FormattedString:
        """An edited f-string in a form that Python before 3.12 reads, too."""
        parts = original.parts if isinstance(original, cst.FormattedString) else ()
        quoted = keep_quotes_apart(node, parts)
        if quoted is None:
            edit = next(
                edit
                for edit, find in self.finds.items()
                if find.node is original or original in find.ancestors
            )
            raise EditError("no quotes are left inside the f-string", edit.span)
        return quoted

    def site(self, original: cst.CSTNode, node: cst.CSTNode, edit: Edit) -> Site:
        """What the codemod of ``edit`` is told when it gets ``node``, once ``original``."""
        find = self.finds.get(edit)
        holes = [
            Hole(node)
            if span == edit.span and isinstance(node, cst.BaseExpression)
            else self._hole(span, original)
            for span in _holes(edit)
        ]
        return Site(
            original,
            self.text[edit.span.start : edit.span.end],
            tuple(holes),
            self.touched,
            find is not None and in_brackets(find.ancestors),
            find is not None and self.finder.is_glued(find.node),
            self.indent_unit,
        )

    def _hole(self, span: Span, within: cst.CSTNode) -> Hole:
        find = self.holes[span]
        argument: cst.CSTNode = find.node
        around = find.ancestors
        if not isinstance(argument, cst.Arg):
            argument, around = around[-1], around[:-1]
        value = self.results[find.node]
        if isinstance(value, cst.Arg):
            value = value.value
        assert isinstance(value, cst.BaseExpression)
        if not isinstance(argument, cst.Arg) or within not in around:
            return Hole(value)
        result = self.results[argument]
        assert isinstance(result, cst.Arg)
        index = None
        if isinstance(within, cst.Call) and around[-1] is within:
            index = next(i for i, each in enumerate(within.args) if each is argument)
        return Hole(value, result, index)


def _holes(edit: Edit) -> tuple[Span, ...]:
    return edit.holes if isinstance(edit, (Expression, Statement)) else ()
