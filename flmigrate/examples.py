"""The Python in docstrings: sessions with prompts, fenced blocks and code directives.

All code of a docstring is one program, since later lines use what the first ones import. It is
laid out with the line numbers of its file, so that what is found in it has a place there; each
line of it is a line of the file without what stands before the code. Blocks that do not parse
are no code, and the lines on which the docstring begins and ends hold none.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from flmigrate.analysis.source import Source, line_starts
from flmigrate.code_blocks import parses
from flmigrate.findings import Finding, Span

_OWNERS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_HINT = re.compile(r">>>|```|~~~|code")
_PROMPT = re.compile(r"[ \t]*(?:>>>|\.\.\.)(?: |$)")
_FIRST_PROMPT = re.compile(r"[ \t]*>>>(?: |$)")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})[ \t]*\{?\.?(?:python3?|py)\b")
_DIRECTIVE = re.compile(
    r"([ \t]*)\.\. (?:code|code-block|sourcecode)::[ \t]*(?:python3?|py)[ \t]*$"
)


class Example(NamedTuple):
    """The code of one docstring: a program, and how much stands before it on each line."""

    text: str
    before: Mapping[int, int]

    def place(self, span: Span, source: Source) -> Span:
        """Where a span of the program stands in the file."""
        starts = line_starts(self.text)
        return Span(*(self._offset(at, starts, source) for at in (span.start, span.end)))

    def moved(self, finding: Finding, source: Source) -> Finding:
        """A finding in the program as one in the file."""
        column = finding.column + self.before.get(finding.line, 0)
        return finding._replace(span=self.place(finding.span, source), column=column)

    def changes(self, new: str, source: Source) -> list[tuple[Span, str]] | None:
        """What has to change in the file for the program to become ``new``.

        ``None`` if lines were added or taken: nobody knows their prompts.
        """
        old_lines, new_lines = self.text.split("\n"), new.split("\n")
        if len(old_lines) != len(new_lines):
            return None
        found: list[tuple[Span, str]] = []
        for number, (old, line) in enumerate(zip(old_lines, new_lines, strict=True), 1):
            if old != line:
                start = source.starts[number - 1] + self.before[number]
                found.append((Span(start, start + len(old)), line))
        return found

    def _offset(self, at: int, starts: list[int], source: Source) -> int:
        line = self.text.count("\n", 0, at)
        return source.starts[line] + self.before.get(line + 1, 0) + at - starts[line]


def examples(source: Source) -> Iterator[Example]:
    """The programs in the docstrings of a file."""
    for node in ast.walk(source.tree):
        if isinstance(node, _OWNERS) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                text = first.value.value
                if isinstance(text, str) and _HINT.search(text):
                    yield from _example(source, first.lineno + 1, (first.end_lineno or 0) - 1)


def _example(source: Source, first: int, last: int) -> Iterator[Example]:
    """The program in some lines of a file, which are counted from 1."""
    lines = {number: source.line_text(number) for number in range(first, last + 1)}
    before: dict[int, int] = {}
    for block in _blocks(lines):
        if parses("\n".join(lines[number][cut:] for number, cut in block.items())):
            before.update(block)
    if before:
        code = [lines[n][before[n] :] if n in before else "" for n in range(1, last + 1)]
        text = "\n".join(code) + "\n"
        if parses(text):
            yield Example(text, before)


def _blocks(lines: Mapping[int, str]) -> Iterator[dict[int, int]]:
    """The lines of each block of code, with how many characters stand before the code."""
    session: dict[int, int] = {}
    fence = ""
    for number, line in lines.items():
        prompt = (_PROMPT if session else _FIRST_PROMPT).match(line)
        if prompt is not None:
            session[number] = prompt.end()
            continue
        if session:
            yield session
            session = {}
        opening = _FENCE.match(line)
        if fence:
            fence = "" if line.strip() == fence else fence
        elif opening is not None:
            fence = opening[1]
            yield _dedented(lines, list(_fenced(lines, number, fence)))
        elif directive := _DIRECTIVE.match(line):
            yield _dedented(lines, list(_deeper(lines, number, len(directive[1]))))
    if session:
        yield session


def _fenced(lines: Mapping[int, str], opening: int, fence: str) -> Iterator[int]:
    """The lines between a fence and the one that closes it."""
    for number in range(opening + 1, max(lines) + 1):
        if lines[number].strip() == fence:
            return
        yield number


def _deeper(lines: Mapping[int, str], opening: int, depth: int) -> Iterator[int]:
    """The lines that belong to a directive with an indent of ``depth``."""
    for number in range(opening + 1, max(lines) + 1):
        if lines[number].strip() and _depth(lines[number]) <= depth:
            return
        yield number


def _dedented(lines: Mapping[int, str], numbers: Sequence[int]) -> dict[int, int]:
    """Some lines without their common indent."""
    common = min((_depth(lines[n]) for n in numbers if lines[n].strip()), default=0)
    return {n: min(common, len(lines[n])) for n in numbers}


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))
