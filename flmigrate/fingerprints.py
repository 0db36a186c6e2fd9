"""What a finding is known by when its file has changed around it.

A place is described by what stands there, as Python would write it, and the function or class
around it: neither line shifts nor a formatter's work change that.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from flmigrate.analysis.source import Source
from flmigrate.findings import Finding, Span

_LONGEST = 160  # characters of a place's text that are kept; longer ones end in a digest


class Place(NamedTuple):
    """One finding's code, the names of the definitions around it, and what stands there."""

    code: str
    scope: str
    text: str


def places_of(text: str, findings: Sequence[Finding]) -> tuple[Place, ...]:
    """The place of each finding of a file, in order. Where it is no Python, lines tell."""
    if not findings:
        return ()
    try:
        source = Source(text)
    except SyntaxError:  # settings, requirements: known by their lines
        lines = text.splitlines() or [""]
        return tuple(Place(f.code, "", _short(lines[f.line - 1].strip())) for f in findings)
    return tuple(_place(source, finding) for finding in findings)


def fingerprint(path: str, place: Place, occurrence: int = 0) -> str:
    """A digest for reports: of the file, the place, and how many alike come before it."""
    parts = "\0".join((path, place.code, place.scope, place.text, str(occurrence)))
    return hashlib.sha256(parts.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _place(source: Source, finding: Finding) -> Place:
    names: list[str] = []
    chain: list[ast.AST] = [source.tree]
    while True:
        inner = next((n for n in _inside(chain[-1]) if _holds(source, n, finding.span)), None)
        if inner is None:
            break
        if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.append(inner.name)
        chain.append(inner)
    return Place(finding.code, ".".join(names), _short(_written(source, finding, chain)))


def _inside(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes directly inside a node that have a position; of others, what is in them."""
    for child in ast.iter_child_nodes(node):
        if hasattr(child, "lineno"):
            yield child
        else:
            yield from _inside(child)


def _holds(source: Source, node: ast.AST, span: Span) -> bool:
    start = source.start(node)
    for decorator in getattr(node, "decorator_list", ()):
        start = min(start, source.start(decorator))
    return start <= span.start and span.end <= source.end(node) and source.end(node) > start


def _written(source: Source, finding: Finding, chain: Sequence[ast.AST]) -> str:
    """The source of the innermost node, with what it is an operand or an argument of."""
    node = chain[-1]
    if len(chain) > 2 and isinstance(node, ast.Constant | ast.Name | ast.Attribute | ast.JoinedStr):
        if isinstance(chain[-2], ast.expr | ast.keyword):
            node = chain[-2]
    try:
        if isinstance(node, ast.stmt):
            return ast.unparse(node).partition("\n")[0]
        return ast.unparse(node)
    except RecursionError:
        return " ".join(source.text[finding.span.start : finding.span.end].split())


def _short(text: str) -> str:
    if len(text) <= _LONGEST:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"{text[: _LONGEST - 13]} {digest}"
