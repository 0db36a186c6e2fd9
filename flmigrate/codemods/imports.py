"""Take names out of an import statement, move them to another module, put imports before it.

    import torch_npu, torch                          ->  import torch
    from torch.cuda.amp import autocast, GradScaler  ->  from torch.amp import autocast, GradScaler
    from torch.cuda import Event, nvtx               ->  from torch.cuda import nvtx
                                                         from torch.flagos import Event
    from probes import is_npu                        ->  from probes import is_npu as is_npu

Every local name stays bound, with ``as`` where that needs it, unless the edit frees it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeGuard

import libcst as cst

from flmigrate.codemods.comments import comments_in
from flmigrate.codemods.errors import EditError
from flmigrate.codemods.rows import Row, row_of
from flmigrate.codemods.site import Replacement, Site
from flmigrate.codemods.templates import parse_template
from flmigrate.findings import Import, Span

_NOTHING = cst.SimpleWhitespace("")
_BLANK = cst.SimpleWhitespace(" ")


@dataclass(slots=True)
class _Moved:
    """Positions of names that leave the statement for one module, and what they become."""

    positions: list[int] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)


def change_import(node: cst.BaseSmallStatement, edit: Import, site: Site) -> Replacement:
    """Remove, move and add as ``edit`` says.

    Raises ``EditError`` for a statement that is no import, for a name that it does not
    import, for a move that would unbind the local name, and when a comment would be lost.
    """
    if not isinstance(node, (cst.Import, cst.ImportFrom)):
        raise EditError("the statement is not an import", edit.span)
    above = tuple(_parsed(source, edit.span) for source in edit.add)
    here, below = _star(node, edit) if _is_star(node) else _changed(node, edit)
    block = any(comments_in(line) for line in below)
    return Replacement(above, here, below, block)


_Lines = tuple[tuple[cst.BaseStatement, ...], tuple[cst.BaseStatement, ...]]


def _changed(node: cst.Import | cst.ImportFrom, edit: Import) -> _Lines:
    """The statements in the place of an import, and those for lines of their own below."""
    row = _row(node)
    names = [alias.evaluated_name for alias in row.items]
    moves = {name: (module, new) for name, module, new in edit.move}
    _check_names(names, edit)
    elsewhere: dict[str | None, _Moved] = {}
    gone: set[int] = set()
    removed_comments: Counter[str] = Counter()
    for position, name in enumerate(names):
        if name in edit.remove:
            gone.add(position)
            removed_comments.update(_comment(row, position))
        elif name in edit.again:
            row.items[position] = _again(row.items[position], edit.span)
        elif name in moves:
            moved = elsewhere.setdefault(moves[name][0], _Moved())
            moved.positions.append(position)
            moved.comments += _comment(row, position)
    if _changes_module(node, elsewhere, len(names) - len(gone)):
        node = _with_module(node, next(iter(elsewhere)), edit.span)
    # What moves to the statement's own module only changes its name.
    for position in elsewhere.pop(_module(node), _Moved()).positions:
        new = moves[names[position]][1]
        free = names[position] in edit.free
        row.items[position] = _respelled(row.items[position], node, new, edit.span, free)
    for module, moved in elsewhere.items():
        for position in moved.positions:
            new = moves[names[position]][1]
            free = names[position] in edit.free
            moved.names.append(
                new if free else _clause(row.items[position], node, module, new, edit.span)
            )
        gone.update(moved.positions)
    for position in sorted(gone, reverse=True):
        row.drop(position)
    lines = [line for module, moved in elsewhere.items() for line in _lines(module, moved)]
    new_lines = [_parsed(line, edit.span) for line in lines]
    if row.items:
        new_lines.insert(0, cst.SimpleStatementLine([_with_row(node, row, len(names))]))
    if new_lines:
        lost = comments_in(node) - removed_comments
        for statement in new_lines:
            lost -= comments_in(statement)
        if lost:
            raise EditError(f"the comment {next(iter(lost))!r} would be lost", edit.span)
    return tuple(new_lines[:1]), tuple(new_lines[1:])


def _changes_module(
    node: cst.Import | cst.ImportFrom, elsewhere: Mapping[str | None, _Moved], stay: int
) -> TypeGuard[cst.ImportFrom]:
    """Whether all names that stay move to one module, so that only its name changes."""
    if len(elsewhere) != 1 or not isinstance(node, cst.ImportFrom):
        return False
    [(module, moved)] = elsewhere.items()
    return module is not None and len(moved.positions) == stay


# --- reading -------------------------------------------------------------------------------


def _is_star(node: cst.Import | cst.ImportFrom) -> bool:
    return isinstance(node.names, cst.ImportStar)


def _row(node: cst.Import | cst.ImportFrom) -> Row[cst.ImportAlias]:
    assert not isinstance(node.names, cst.ImportStar)
    if isinstance(node, cst.ImportFrom) and node.lpar is not None and node.rpar is not None:
        return row_of(node.names, node.lpar.whitespace_after, node.rpar.whitespace_before)
    return row_of(node.names, _NOTHING, _NOTHING)


def _module(node: cst.Import | cst.ImportFrom) -> str | None:
    """The module of a from-import with its leading dots; ``None`` for a plain import."""
    if isinstance(node, cst.Import):
        return None
    name = "." * len(node.relative)
    return name + _dotted(node.module) if node.module else name


def _dotted(name: cst.BaseExpression) -> str:
    if isinstance(name, cst.Attribute):
        return f"{_dotted(name.value)}.{name.attr.value}"
    assert isinstance(name, cst.Name)
    return name.value


def _comment(row: Row[cst.ImportAlias], position: int) -> list[str]:
    """The comment on the line on which a name ends, if the name has that to itself."""
    after = row.gaps[position].after
    if isinstance(after, cst.ParenthesizedWhitespace) and after.first_line.comment:
        return [after.first_line.comment.value]
    return []


def _check_names(known: Sequence[str], edit: Import) -> None:
    moved = [name for name, _, _ in edit.move]
    wanted = [*edit.remove, *moved, *edit.again]
    for name in wanted:
        if name not in known:
            raise EditError(f"the statement does not import {name!r}", edit.span)
    if len(wanted) != len(set(wanted)):
        raise EditError("two things are to be done with one name", edit.span)
    if not set(edit.free) <= set(moved):
        raise EditError("a name is to be freed that does not move", edit.span)


# --- writing -------------------------------------------------------------------------------


def _parsed(source: str, span: Span) -> cst.SimpleStatementLine:
    """An import statement from its source, which may end in a comment."""
    try:
        line = cst.parse_statement(source)
    except cst.ParserSyntaxError as error:
        raise EditError(f"{source!r} is not an import statement", span) from error
    if not isinstance(line, cst.SimpleStatementLine) or not all(
        isinstance(statement, (cst.Import, cst.ImportFrom)) for statement in line.body
    ):
        raise EditError(f"{source!r} is not an import statement", span)
    return line


def _clause(
    alias: cst.ImportAlias,
    node: cst.Import | cst.ImportFrom,
    module: str | None,
    new: str,
    span: Span,
) -> str:
    """How a name is written in the import that it moves to."""
    written = alias.evaluated_name
    local = alias.evaluated_alias or written
    if isinstance(node, cst.Import) and "." in local:
        raise EditError(f"{module} cannot bind what 'import {written}' binds", span)
    return new if new == local else f"{new} as {local}"


def _lines(module: str | None, moved: _Moved) -> list[str]:
    """The source of the imports of moved names."""
    comment = "".join(f"  {each}" for each in moved.comments)
    if module is not None:
        return [f"from {module} import {', '.join(moved.names)}{comment}"]
    lines = [f"import {name}" for name in moved.names]
    return [lines[0] + comment, *lines[1:]]


def _respelled(
    alias: cst.ImportAlias, node: cst.Import | cst.ImportFrom, new: str, span: Span, free: bool
) -> cst.ImportAlias:
    """An alias of the same statement with another name, bound to the same local name.

    A ``free`` one is bound to its own name.
    """
    name = parse_template(new, span)
    if not isinstance(name, (cst.Name, cst.Attribute)):
        raise EditError(f"{new!r} is not a dotted name", span)
    if free:
        return alias.with_changes(name=name, asname=None)
    written, asname = alias.evaluated_name, alias.evaluated_alias
    local, bound = asname or written, new
    if isinstance(node, cst.Import) and asname is None:
        # "import a.b" binds "a".
        local, bound = written.partition(".")[0], new.partition(".")[0]
        if local != bound and "." in written:
            raise EditError(f"'import {new}' cannot bind {local!r} as {written!r} does", span)
    if local == bound:
        return alias.with_changes(name=name, asname=None)
    if alias.asname is not None:
        return alias.with_changes(name=name)
    return alias.with_changes(name=name, asname=cst.AsName(cst.Name(local)))


def _again(alias: cst.ImportAlias, span: Span) -> cst.ImportAlias:
    """An alias bound to its own name: ``a as a``."""
    if not isinstance(alias.name, cst.Name) or alias.asname is not None:
        raise EditError(f"{alias.evaluated_name!r} cannot be bound to its own name", span)
    return alias.with_changes(asname=cst.AsName(cst.Name(alias.name.value)))


def _with_module(node: cst.ImportFrom, module: str | None, span: Span) -> cst.ImportFrom:
    model = _parsed(f"from {module} import _", span).body[0]
    assert isinstance(model, cst.ImportFrom)
    return node.with_changes(module=model.module, relative=model.relative)


def _with_row(
    node: cst.Import | cst.ImportFrom, row: Row[cst.ImportAlias], before: int
) -> cst.Import | cst.ImportFrom:
    """``node`` with the names of ``row``, of which there were ``before`` before."""
    names, closing = row.spaced()
    if not isinstance(node, cst.ImportFrom) or node.lpar is None or node.rpar is None:
        return node.with_changes(names=names)
    whitespace = (row.opening, closing, *(gap.before for gap in row.gaps))
    if len(names) == 1 < before and all(isinstance(w, cst.SimpleWhitespace) for w in whitespace):
        names = [names[0].with_changes(comma=cst.MaybeSentinel.DEFAULT)]
        return node.with_changes(names=names, lpar=None, rpar=None, whitespace_after_import=_BLANK)
    return node.with_changes(
        names=names,
        lpar=node.lpar.with_changes(whitespace_after=row.opening),
        rpar=node.rpar.with_changes(whitespace_before=closing),
    )


def _star(node: cst.Import | cst.ImportFrom, edit: Import) -> _Lines:
    """What becomes of ``from module import *``."""
    assert isinstance(node, cst.ImportFrom)
    moves = {name: (module, new) for name, module, new in edit.move}
    _check_names(["*"], edit)
    if "*" in edit.remove:
        return (), ()
    module, new = moves.get("*", (_module(node), "*"))
    if module is None or new != "*":
        raise EditError("a star stays a star when it moves", edit.span)
    return (cst.SimpleStatementLine([_with_module(node, module, edit.span)]),), ()
