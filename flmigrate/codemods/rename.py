"""Give a name another spelling.

    torch.cuda.Stream            ->  torch.flagos.Stream
    torch.cuda.amp.GradScaler    ->  torch.amp.GradScaler

Parentheses, line breaks and comments around and inside the chain stay, as long as the names
that they belong to do.
"""

from __future__ import annotations

import keyword
from collections.abc import Sequence

import libcst as cst

from flmigrate.codemods.comments import keep_comments
from flmigrate.codemods.errors import EditError
from flmigrate.codemods.site import Site
from flmigrate.findings import Rename


def rename(node: cst.Name | cst.Attribute, edit: Rename, site: Site) -> cst.Name | cst.Attribute:
    """Spell a name or a chain of names ``edit.new``.

    Raises ``EditError`` when ``new`` is not a dotted name, when the chain does not start at
    a name, and when a comment would have no place any more.
    """
    new = edit.new.split(".")
    if not all(name.isidentifier() and not keyword.iskeyword(name) for name in new):
        raise EditError(f"{edit.new!r} is not a dotted name", edit.span)
    links = _links(node)
    if not isinstance(links[0], cst.Name):
        raise EditError("the expression is not a chain of names", edit.span)
    head, tail = _common_ends([_name(link) for link in links], new)
    # Links keep what stands around them: those at both ends with their names, those between
    # in order as far as they go.
    middle = links[head : len(links) - tail]
    kept = [*links[:head], *middle[: len(new) - head - tail]]
    missing = len(new) - tail - len(kept)
    aligned = [*kept, *[None] * missing, *links[len(links) - tail :]]
    result: cst.Name | cst.Attribute | None = None
    for link, name in zip(aligned, new, strict=True):
        result = _renamed(link, name, result)
    assert result is not None
    result = result.with_changes(lpar=node.lpar, rpar=node.rpar)
    keep_comments(node, [result], site.source, edit.span)
    return result


def _links(node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """The links of a chain, from its first name on; each contains the one before it."""
    links = [node]
    while isinstance(node, cst.Attribute):
        node = node.value
        links.append(node)
    return links[::-1]


def _name(link: cst.BaseExpression) -> str:
    if isinstance(link, cst.Attribute):
        return link.attr.value
    assert isinstance(link, cst.Name)
    return link.value


def _common_ends(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """How many names both chains share at their start, and at their end behind that."""
    limit = min(len(old), len(new))
    head = 0
    while head < limit and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < limit - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    return head, tail


def _renamed(
    link: cst.BaseExpression | None, name: str, before: cst.Name | cst.Attribute | None
) -> cst.Name | cst.Attribute:
    """The link called ``name`` behind ``before``, laid out as ``link`` was."""
    if before is None:
        return link.with_changes(value=name) if isinstance(link, cst.Name) else cst.Name(name)
    if isinstance(link, cst.Attribute):
        return link.with_changes(value=before, attr=link.attr.with_changes(value=name))
    return cst.Attribute(before, cst.Name(name))
