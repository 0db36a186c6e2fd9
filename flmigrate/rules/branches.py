"""FL201: constructs in which moving every vendor makes two members the same.

``if npu: ... elif cuda: ...`` would get two equal tests, ``{"cuda": a, "npu": b}`` two equal
keys. Until such a construct is collapsed as a whole it stays as it is: half of it moved would
be the worst result.
"""

from __future__ import annotations

import ast
import bisect
from collections.abc import Iterator, Sequence

from flmigrate.analysis.context import Context
from flmigrate.analysis.kinds import Verdict
from flmigrate.findings import (
    Edit,
    Expression,
    Finding,
    Fix,
    Members,
    Rename,
    Severity,
    Span,
    Statement,
    Text,
)


def withhold(context: Context, findings: Sequence[Finding]) -> Iterator[Finding]:
    """Pass findings on; inside a colliding construct they give way to one that names it."""
    edits = sorted(
        ((edit, finding) for finding in findings if finding.fix for edit in finding.fix.edits),
        key=lambda pair: pair[0].span,
    )
    blocked: list[tuple[Span, str]] = []
    for span, members, what in _constructs(context):
        texts = [_after(context, member, edits) for member in members]
        before = [context.source.text[m.start : m.end] for m in members]
        if _collide(texts) and not _collide(before):
            blocked.append((span, what))
    blocked = [
        (span, what)
        for span, what in blocked
        if not any(other.contains(span) and other != span for other, _ in blocked)
    ]
    yield from _equal_entries(context)
    reported: set[Span] = set()
    for finding in findings:
        around = next((b for b in blocked if b[0].contains(finding.span)), None)
        if around is None:
            yield finding
        elif around[0] not in reported:
            reported.add(around[0])
    for span, what in blocked:
        message = f"{what} become equal on the target; merge them by hand"
        header = Span(span.start, min(span.end, _line_end(context, span.start)))
        yield context.finding("FL201", message, header, note=True)


def _equal_entries(context: Context) -> Iterator[Finding]:
    """``{"flagos": a, "npu": a}``: entries that say the same as the one that moved go."""
    own = context.vocabulary.target.device_type
    for display in context.scopes.nodes[ast.Dict]:
        keys = [key.value if isinstance(key, ast.Constant) else None for key in display.keys]
        kept = next((i for i, key in enumerate(keys) if key == own), None)
        others = [i for i, key in enumerate(keys) if key in context.other_types]
        if kept is None or not others:
            continue
        key = display.keys[kept]
        if key is None or context.devices.verdict(key) is not Verdict.YES:
            continue
        value = context.source.segment(display.values[kept])
        drop = tuple(i for i in others if context.source.segment(display.values[i]) == value)
        if drop:
            fix = Fix("Drop the equal entries", (Members(context.source.span(display), drop),))
            message = "entries of other vendors say the same as the target's own, and go"
            yield context.finding("FL201", message, display, severity=Severity.INFO, fix=fix)


def _collide(texts: Sequence[str]) -> bool:
    """Whether two members are the same, or one is the negation of another."""
    bare = [text.removeprefix("not ").strip() for text in texts]
    return len(set(bare)) < len(bare)


def _line_end(context: Context, offset: int) -> int:
    line, _ = context.source.position(offset)
    starts = context.source.starts
    end = starts[line] if line < len(starts) else len(context.source.text)
    return offset + len(context.source.text[offset:end].rstrip())


def _constructs(context: Context) -> Iterator[tuple[Span, list[Span], str]]:
    span = context.source.span
    nodes, parents = context.scopes.nodes, context.scopes.parents
    for node in nodes[ast.If]:
        parent = parents.get(node)
        if isinstance(parent, ast.If) and parent.orelse == [node]:
            continue
        tests, current = [node.test], node
        while len(current.orelse) == 1 and isinstance(current.orelse[0], ast.If):
            current = current.orelse[0]
            tests.append(current.test)
        if len(tests) > 1:
            yield span(node), [span(test) for test in tests], "tests of this chain"
    for node in nodes[ast.IfExp]:
        if isinstance(node.orelse, ast.IfExp):
            tests = [span(node.test), span(node.orelse.test)]
            yield span(node), tests, "tests of this expression"
    for node in nodes[ast.BoolOp]:
        yield span(node), [span(value) for value in node.values], "operands of this condition"
    for node in nodes[ast.Dict]:
        keys = [span(key) for key in node.keys if key is not None]
        yield span(node), keys, "keys of this dictionary"
    for kind in (ast.Set, ast.Tuple, ast.List):
        for node in nodes[kind]:
            texts = [
                e for e in node.elts if isinstance(e, ast.Constant) and isinstance(e.value, str)
            ]
            if len(texts) > 1:
                yield span(node), [span(e) for e in texts], "members of this collection"
    for node in nodes[ast.Match]:
        patterns = [span(case.pattern) for case in node.cases]
        yield span(node), patterns, "cases of this match"


def _after(context: Context, member: Span, edits: Sequence[tuple[Edit, Finding]]) -> str:
    """The text of a member after its edits, near enough to see whether two are equal."""
    text = context.source.text
    parts, at = [], member.start
    first = bisect.bisect_left(edits, member.start, key=lambda pair: pair[0].span.start)
    for position in range(first, len(edits)):
        edit = edits[position][0]
        if edit.span.start >= member.end:
            break
        if edit.span.start < at or not member.contains(edit.span):
            continue
        parts.append(text[at : edit.span.start])
        old = text[edit.span.start : edit.span.end]
        match edit:
            case Rename():
                parts.append(edit.new)
            case Text():
                parts.append(old.replace(edit.old, edit.new, 1).replace("'", '"'))
            case Expression() | Statement():
                parts.append(str(edit))
            case _:
                parts.append(old)
        at = edit.span.end
    parts.append(text[at : member.end])
    return "".join(parts)
