"""Names that a file has as text: in ``__all__``, for ``getattr``, in type comments, in doctests.

A name that stands in such a place may be used without being read as a name.
"""

from __future__ import annotations

import ast
import re

from flmigrate.analysis.scopes import Scopes

_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_SPACE = re.compile(r"\s")
_DOCTEST = re.compile(r"^[ \t]*(?:>>>|\.\.\.)(.*)$", re.MULTILINE)
_TYPE_COMMENT = re.compile(r"#[ \t]*type:(.*)$", re.MULTILINE)
#: Calls that run text, or that look names up in a whole namespace.
_RUN_TEXT = frozenset({"eval", "exec", "compile"})
_NAMESPACES = frozenset({"globals", "locals", "vars", "dir"})


def names_in_text(scopes: Scopes) -> frozenset[str]:
    """Identifiers in strings without a blank, in doctests, and in type comments.

    Where the file runs text (``eval``), all its strings count.
    """
    runs = _calls(scopes, _RUN_TEXT)
    found: set[str] = set()
    for node in scopes.nodes[ast.Constant]:
        if not isinstance(node.value, str):
            continue
        if runs or not _SPACE.search(node.value):
            found.update(_IDENTIFIER.findall(node.value))
        elif ">>>" in node.value:
            for line in _DOCTEST.findall(node.value):
                found.update(_IDENTIFIER.findall(line))
    return frozenset(found) | _names_in_type_comments(scopes)


def local_names_in_text(scopes: Scopes) -> frozenset[str]:
    """Identifiers in text that may stand for names of a function: type comments, text that runs.

    Nothing outside of a function reads its names, so other strings do not count.
    """
    if _calls(scopes, _RUN_TEXT):
        return names_in_text(scopes)
    return _names_in_type_comments(scopes)


def _names_in_type_comments(scopes: Scopes) -> frozenset[str]:
    if "type:" not in scopes.source.text:
        return frozenset()
    lines = _TYPE_COMMENT.findall(scopes.source.text)
    return frozenset(name for line in lines for name in _IDENTIFIER.findall(line))


def looks_names_up(scopes: Scopes) -> bool:
    """Whether the file asks for all its names: ``globals()``; ``vars(x)`` asks an object."""
    return _calls(scopes, _NAMESPACES, without_arguments=True)


def _calls(scopes: Scopes, functions: frozenset[str], *, without_arguments: bool = False) -> bool:
    return any(
        isinstance(call.func, ast.Name)
        and call.func.id in functions
        and not (without_arguments and call.args)
        for call in scopes.nodes[ast.Call]
    )
