"""From spans of the text to LibCST nodes.

LibCST's own position providers work by printing the module and noting where the printer
is, for every node, as lines and columns; that takes three times as long as parsing. This
does the same, but notes character offsets, and only of the nodes that are asked for. The
printed code proves on the way that LibCST has understood the source exactly.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import libcst as cst
from libcst.metadata import ByteSpanPositionProvider
from libcst.metadata.span_provider import SpanProvidingCodegenState

from flmigrate.codemods.errors import EditError
from flmigrate.findings import Arguments, Edit, Expression, Members, Rename, Span, Statement, Text

_KINDS: dict[type[Edit], tuple[type[cst.CSTNode], ...]] = {
    Rename: (cst.Name, cst.Attribute),
    Text: (cst.SimpleString, cst.FormattedString, cst.ConcatenatedString),
    Expression: (cst.BaseExpression,),
    Arguments: (cst.Call,),
    Members: (cst.List, cst.Tuple, cst.Set, cst.Dict, cst.BooleanOperation),
}
#: `ast` counts the parentheses of these as theirs, LibCST does not.
_OWNERS = (cst.Tuple, cst.GeneratorExp)
_INSIDE_PARENTHESES = re.compile(r"(?:\s|\\|#[^\r\n]*)*")


@dataclass(frozen=True, slots=True, eq=False)
class Find:
    """A node at a span and the nodes around it, outermost first.

    ``owns_parentheses``: the span includes the node's innermost parentheses.
    """

    node: cst.CSTNode
    ancestors: tuple[cst.CSTNode, ...]
    owns_parentheses: bool = False


class Finder:
    """The nodes of one module at the spans of some edits."""

    def __init__(
        self, module: cst.Module, source: str, edits: Sequence[Edit], shift: int = 0
    ) -> None:
        """Find the nodes of ``edits`` in ``source``, which stands at ``shift`` in their text.

        Raises ``EditError`` when ``module`` does not print as the ``source`` it was read from.
        """
        self.module = module
        self.source = source
        self.shift = shift
        self.owners: list[tuple[int, int, Find]] = []
        self.extents: dict[cst.CSTNode, tuple[int, int]] = {}
        self.at: dict[tuple[int, int], list[Find]] = {}
        for edit in edits:
            spans = [edit.span]
            if isinstance(edit, (Expression, Statement)):
                spans += edit.holes
            for span in spans:
                self.at[span.start - shift, span.end - shift] = []
        printer = _Printer(self)
        module._codegen(printer)
        if "".join(printer.tokens) != source:
            raise EditError("LibCST would print the statement differently", edits[0].span)

    def target(self, edit: Edit) -> Find:
        """The node that ``edit`` is about."""
        return self._at(edit.span, _KINDS[type(edit)], type(edit).__name__)

    def hole(self, span: Span) -> Find:
        """The expression, or the starred argument, at ``span``."""
        return self._at(span, (cst.BaseExpression, cst.Arg), "hole")

    def _at(self, span: Span, kinds: tuple[type[cst.CSTNode], ...], what: str) -> Find:
        start, end = span.start - self.shift, span.end - self.shift
        for kind in kinds:
            for find in self.at.get((start, end), ()):
                if isinstance(find.node, kind):
                    return find
        if self.source[start:end].startswith("("):
            for inner_start, inner_end, find in self.owners:
                if (
                    start < inner_start
                    and inner_end < end
                    and isinstance(find.node, kinds)
                    and _INSIDE_PARENTHESES.fullmatch(self.source, start + 1, inner_start)
                    and _INSIDE_PARENTHESES.fullmatch(self.source, inner_end, end - 1)
                ):
                    return find
        raise EditError(f"there is no expression here for this edit ({what})", span)

    def is_glued(self, node: cst.CSTNode) -> bool:
        """Whether a word touches ``node`` or its parentheses, as in ``not(a)``."""
        start, end = self.extents[node]
        around = self.source[max(start - 1, 0) : start], self.source[end : end + 1]
        return any(f"a{character}".isidentifier() for character in around if character)

    def note(self, node: cst.CSTNode, start: int, end: int, around: Sequence[cst.CSTNode]) -> None:
        """Remember ``node``, printed from ``start`` to ``end``, if it is asked for."""
        if type(node) in _OWNERS:  # isinstance() is slow for classes with abstract bases
            assert isinstance(node, (cst.Tuple, cst.GeneratorExp))
            # The only argument of a call may be a generator without parentheses of its own.
            find = Find(node, tuple(around), owns_parentheses=bool(node.lpar))
            self.owners.append((start, end, find))
        found = self.at.get((start, end))
        if found is not None:
            found.append(Find(node, tuple(around)))


class _Printer(SpanProvidingCodegenState):
    """Prints a module and tells a finder where each node starts and ends."""

    def __init__(self, finder: Finder) -> None:
        module = finder.module
        super().__init__(module.default_indent, module.default_newline, ByteSpanPositionProvider())
        self.finder = finder
        self.stack: list[cst.CSTNode] = []
        self.starts: list[int] = []

    def add_token(self, value: str) -> None:
        self.tokens.append(value)
        self.position += len(value)

    def before_codegen(self, node: cst.CSTNode) -> None:
        self.stack.append(node)
        self.starts.append(self.position)

    def after_codegen(self, node: cst.CSTNode) -> None:
        self.stack.pop()
        self.finder.extents[node] = self.starts.pop(), self.position

    def record_syntactic_position(  # type: ignore[override]
        self, node: cst.CSTNode, **kwargs: Any
    ) -> _Record:
        return _Record(self, node)


class _Record:
    """Around the printing of one node, without the whitespace that belongs to it."""

    __slots__ = ("node", "printer", "start")

    def __init__(self, printer: _Printer, node: cst.CSTNode) -> None:
        self.printer = printer
        self.node = node

    def __enter__(self) -> None:
        self.start = self.printer.position

    def __exit__(self, *exception: object) -> None:
        printer = self.printer
        printer.finder.note(self.node, self.start, printer.position, printer.stack[:-1])
