"""Replace or remove one whole simple statement.

    torch.cuda.set_device(rank)      ->  (nothing)
    model.cuda()                     ->  model = wrap(model)
                                         model.to("flagos")

The lines around it are arranged by `flmigrate.codemods.layout`: a comment on the line of a
removed statement goes with it, those above it stay, and a suite is never left empty.
"""

from __future__ import annotations

import libcst as cst

from flmigrate.codemods.comments import comments_in, keep_comments
from flmigrate.codemods.errors import EditError
from flmigrate.codemods.site import Replacement, Site
from flmigrate.codemods.templates import fill
from flmigrate.findings import Statement


def replace_statement(node: cst.BaseSmallStatement, edit: Statement, site: Site) -> Replacement:
    """Put ``edit.new`` in the place of a statement, or nothing.

    Raises ``EditError`` when ``new`` is not Python, and when a comment inside the old
    statement would be lost.
    """
    if edit.new is None:
        return Replacement()
    try:
        template = cst.parse_module(edit.new)
    except cst.ParserSyntaxError as error:
        raise EditError(f"{edit.new!r} is not Python source", edit.span) from error
    if any(line.comment for line in template.footer):
        raise EditError("a comment ends the new source", edit.span)
    indented = template.visit(_Indent(site.indent_unit))
    module, _ = fill(indented, site.holes, edit.span, bracketed=False)
    keep_comments(node, [module], site.source, edit.span)
    body = list(module.body)
    if not body:
        raise EditError("the new source has no statement", edit.span)
    comments = [line for line in module.header if line.comment]
    body[0] = body[0].with_changes(leading_lines=[*comments, *_leading(body[0])])
    block = bool(comments_in(template)) or not all(
        isinstance(each, cst.SimpleStatementLine) and not each.leading_lines for each in body
    )
    return Replacement(here=tuple(body), block=block)


def _leading(statement: cst.BaseStatement) -> list[cst.EmptyLine]:
    assert isinstance(statement, (cst.SimpleStatementLine, cst.BaseCompoundStatement))
    return list(statement.leading_lines)


class _Indent(cst.CSTTransformer):
    """Indents the blocks of new source as the file indents its own."""

    def __init__(self, unit: str) -> None:
        super().__init__()
        self.unit = unit

    def leave_IndentedBlock(
        self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock
    ) -> cst.IndentedBlock:
        return updated_node.with_changes(indent=self.unit)

    def leave_EmptyLine(
        self, original_node: cst.EmptyLine, updated_node: cst.EmptyLine
    ) -> cst.EmptyLine:
        return updated_node if updated_node.comment else cst.EmptyLine(indent=False)
