"""The Python in Markdown files: its fenced blocks as one text, and back into the same file.

All blocks of a file are one program, since the later ones build on the imports of the first. What
is not code becomes comments, so that lines have the numbers they have in the file. A block that
does not parse by itself (an excerpt with ``...`` in odd places, an interactive session) is no code.
"""

from __future__ import annotations

import ast
import re
import warnings
from typing import NamedTuple

from flmigrate.encoding import Decoded, UndecodableError, decode, encode

_OPENING = re.compile(r"(?P<indent>[ \t]*)(?P<fence>`{3,}|~{3,})[ \t]*\{?\.?(?P<language>[\w-]*)")
_LANGUAGES = frozenset({"python", "python3", "py"})
_BEGIN, _END = "# %% [flmigrate: block {}]", "# %% [flmigrate: end of block {}]"
_BLOCK = re.compile(
    r"# %% \[flmigrate: block (\d+)\](?:\r\n|[\r\n])(.*?)^# %% \[flmigrate: end of block \1\]",
    re.DOTALL | re.MULTILINE,
)


class _Block(NamedTuple):
    """The lines of a block, from 0 and without its fences, and what all of them start with."""

    first: int
    end: int
    indent: str


class Markdown(NamedTuple):
    """A Markdown file: what was read of it, its lines, its blocks, and their Python text."""

    whole: Decoded
    lines: tuple[str, ...]
    blocks: tuple[_Block, ...]
    text: str


def read_markdown(data: bytes) -> Markdown:
    """The Markdown file in a file's bytes. Raises ``UndecodableError``."""
    whole = decode(data)
    lines = tuple(whole.text.splitlines(keepends=True))
    blocks = tuple(block for block in _fenced(lines) if parses(_code(lines, block)))
    shown = [f"#{_line_end(line)}" for line in lines]
    for number, (first, end, indent) in enumerate(blocks, 1):
        shown[first - 1] = _BEGIN.format(number) + _line_end(lines[first - 1])
        shown[first:end] = [line.removeprefix(indent) for line in lines[first:end]]
        shown[end] = _END.format(number) + _line_end(lines[end])
    return Markdown(whole, lines, blocks, "".join(shown) if blocks else "")


def write_markdown(markdown: Markdown, text: str) -> bytes:
    """The bytes of a Markdown file whose blocks have become ``text``.

    Raises ``UndecodableError`` when the blocks are not all there any more, or when the new text
    does not fit the file's encoding.
    """
    found = {int(number): body for number, body in _BLOCK.findall(text)}
    if list(found) != list(range(1, len(markdown.blocks) + 1)):
        raise UndecodableError(0, 1, "a change went across the blocks of the file")
    lines = list(markdown.lines)
    for number in reversed(found):
        block, body = markdown.blocks[number - 1], found[number]
        if body != _code(markdown.lines, block):
            lines[block.first : block.end] = [
                block.indent + line if line.strip() else line
                for line in body.splitlines(keepends=True)
            ]
    return encode(markdown.whole, "".join(lines))


def _fenced(lines: tuple[str, ...]) -> list[_Block]:
    """The closed blocks that say they are Python, as CommonMark delimits them."""
    found: list[_Block] = []
    opened: tuple[int, re.Match[str]] | None = None
    for number, line in enumerate(lines):
        match = _OPENING.match(line)
        if opened is None:
            if match is not None and "`" not in line[match.end("fence") :]:
                opened = number, match
            continue
        first, start = opened
        fence = start["fence"]
        content = line.strip()
        if content.startswith(fence) and not content.strip(fence[0]):
            if start["language"].lower() in _LANGUAGES and number > first + 1:
                found.append(_Block(first + 1, number, start["indent"]))
            opened = None
    return found


def _code(lines: tuple[str, ...], block: _Block) -> str:
    return "".join(line.removeprefix(block.indent) for line in lines[block.first : block.end])


def parses(code: str) -> bool:
    """Whether some text is Python by itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(code)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True


def _line_end(line: str) -> str:
    return line[len(line.rstrip("\r\n")) :]
