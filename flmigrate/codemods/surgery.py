"""LibCST at work on one island: parse, run the codemods, print."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import libcst as cst

from flmigrate.codemods import codemod_for
from flmigrate.codemods.changes import Change, splice
from flmigrate.codemods.errors import EditError
from flmigrate.codemods.finder import Finder
from flmigrate.codemods.islands import Island
from flmigrate.codemods.layout import Layout, Outcome
from flmigrate.codemods.site import Replacement
from flmigrate.codemods.surgeon import Surgeon
from flmigrate.findings import Edit, Import, Span, Statement


def operate(text: str, island: Island, edits: Sequence[Edit], layout: Layout) -> str | Outcome:
    """Carry out ``edits`` on one island of ``text``.

    Returns the island's new source, or what becomes of a statement that is replaced as a
    whole. Raises ``EditError``.
    """
    whole = [edit for edit in edits if isinstance(edit, (Import, Statement))]
    for edit in whole:
        if island.suite is None or edit.span != island.span:
            raise EditError("the edit is not of one whole simple statement", edit.span)
    before, after = (part.replace("\n", layout.newline) for part in (island.before, island.after))
    if whole and isinstance(whole[0], Statement):
        # What replaces a statement is indented relative to it, so its indentation counts.
        indent = layout.indentation(island)
        before = f"if 1:{layout.newline}{indent}" if indent else ""
    source = before + text[island.span.start : island.span.end] + after
    try:
        module = cst.parse_module(source)
        if "\n" not in source:  # otherwise LibCST has seen what ends the lines here
            module = module.with_changes(default_newline=layout.newline)
        finder = Finder(module, source, edits, island.span.start - len(before))
        surgeon = Surgeon(edits, finder, text, layout.indent_unit if whole else "")
        if whole:
            return _outcome(module, surgeon, whole[0], before)
        code = _valid(_edited(module, surgeon, source, before), island.span)
    except cst.ParserSyntaxError as error:
        raise EditError("LibCST does not understand the statement", island.span) from error
    except cst.CSTValidationError as error:
        raise _invalid(error, island.span) from error
    return code[len(before) : len(code) - len(after)]


def _edited(module: cst.Module, surgeon: Surgeon, source: str, before: str) -> str:
    """The source of ``module`` with the edits made."""
    if before:  # in an indented block nodes do not know all of their indentation
        code = module.visit(surgeon).code
        assert isinstance(code, str)
        return code
    # Printing only what changed saves half the time.
    changes: list[Change] = []
    for root in surgeon.roots():
        start, end = surgeon.finder.extents[root]
        new = root.visit(surgeon)
        assert isinstance(new, cst.CSTNode)
        code = module.code_for_node(new)
        if _merge(source[start - 1 : start], code) or _merge(code, source[end : end + 1]):
            span = Span(start + surgeon.finder.shift, end + surgeon.finder.shift)
            raise EditError("the new code needs a blank between it and its neighbour", span)
        changes.append((Span(start, end), code))
    return splice(source, sorted(changes))


def _merge(left: str, right: str) -> bool:
    """Whether the last token of one text and the first of the other would become one."""
    return bool(left and right) and f"a{left[-1]}{right[0]}".isidentifier()


def _outcome(
    module: cst.Module, surgeon: Surgeon, edit: Import | Statement, before: str
) -> Outcome:
    """Have the codemod replace the only statement of a module, and print what it answers."""
    edited = module.visit(surgeon)
    original, statement = _only(module), _only(edited)
    site = surgeon.site(original, statement, edit)
    replacement: Replacement = codemod_for(type(edit))(statement, edit, site)

    def source(*new: cst.BaseStatement) -> str:
        code = _valid(_with_body(edited, new).code, edit.span)
        assert code.startswith(before)
        return code[len(before) :]

    here = replacement.here
    return Outcome(
        tuple(map(source, replacement.above)),
        (source(*here),) if replacement.block and here else tuple(map(source, here)),
        tuple(map(source, replacement.below)),
        replacement.block,
    )


def _only(module: cst.Module) -> cst.BaseSmallStatement:
    line = module.body[0]
    if isinstance(line, cst.If):  # the line that stands for the indentation
        block = line.body.body[0]
        assert isinstance(block, cst.SimpleStatementLine)
        line = block
    assert isinstance(line, cst.SimpleStatementLine)
    return line.body[0]


def _with_body(module: cst.Module, statements: Sequence[cst.BaseStatement]) -> cst.Module:
    line = module.body[0]
    if isinstance(line, cst.If):
        block = line.body.with_changes(body=statements)
        return module.with_changes(body=[line.with_changes(body=block)])
    return module.with_changes(body=statements)


def _valid(code: str, span: Span) -> str:
    try:
        ast.parse(code)
    except (SyntaxError, ValueError) as error:
        raise _invalid(error, span) from error
    return code


def _invalid(error: Exception, span: Span) -> EditError:
    return EditError(f"the edited statement would not be valid Python: {error}", span)
