"""Jupyter notebooks: their code cells as one Python text, and back into the same JSON.

Each cell stands below a line that marks it. What IPython adds to Python (``%time``, ``!ls``,
``x?``) becomes a ``pass`` that remembers its line. On the way back only the strings of changed
lines are written anew: outputs, metadata, spacing and escapes stay byte by byte.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import NamedTuple

from flmigrate.encoding import UndecodableError
from flmigrate.hunks import Hunk, hunks_between

_MARK = "# %% [flmigrate: cell {}]"
_MARKED = re.compile(r"# %% \[flmigrate: cell (\d+)\]\n")
_MORE = "# flmigrate: and its next line"
_HIDDEN = re.compile(rf"pass  # flmigrate: line (\d+)(?:\n{_MORE})*(?=\n|$)")
_MAGIC = re.compile(r"\s*(?:[%!?]|[\w., ]+=\s*[%!])|.*\?\s*$")
# Cell magics whose cells are still Python; all others hold something else.
_PYTHON_MAGICS = frozenset("%%time %%timeit %%capture %%prun %%python3 %%python".split())
_SPACE = re.compile(r"[ \t\r\n]*")
_ATOM = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null|NaN|-?Infinity")


class _Source(NamedTuple):
    """The ``source`` of a code cell: its number, its place in the file, and its strings.

    ``span`` is the JSON value; ``strings`` are the spans of the strings in a list, or the
    value itself.
    """

    cell: int
    span: tuple[int, int]
    strings: tuple[tuple[int, int], ...]
    text: str


class Notebook(NamedTuple):
    """A notebook: its JSON, the Python text of its code cells, and the lines that it hides."""

    raw: str
    text: str
    sources: tuple[_Source, ...]
    hidden: tuple[str, ...]


def read_notebook(data: bytes) -> Notebook:
    """The notebook in a file's bytes. Raises ``UndecodableError`` for what is none."""
    try:
        raw = data.decode("utf-8")
        sources = tuple(_sources(raw))
    except UnicodeDecodeError as error:
        line = 1 + data.count(b"\n", 0, error.start)
        raise UndecodableError(error.start, line, f"not utf-8: {error.reason}") from None
    except (ValueError, KeyError, RecursionError) as error:
        raise UndecodableError(0, 1, f"not a notebook: {error}") from None
    parts: list[str] = []
    hidden: list[str] = []
    for source in sources:
        body = _hide(source.text, hidden)
        if body is not None:
            parts.append(f"{_MARK.format(source.cell)}\n{body}\n")
    return Notebook(raw, "".join(parts), sources, tuple(hidden))


def write_notebook(notebook: Notebook, text: str) -> bytes:
    """The bytes of a notebook whose code cells have become ``text``.

    Raises ``UndecodableError`` when the cells are not all there any more.
    """
    old, new = _cells(notebook.text), _cells(text)
    if old.keys() != new.keys() or (not text.startswith(_MARK.partition("{")[0]) and text):
        raise UndecodableError(0, 1, "a change went across the cells of the notebook")
    pieces: list[str] = []
    at = 0
    for source in notebook.sources:
        body = new.get(source.cell)
        if body is None or body == old[source.cell]:
            continue
        cell = _HIDDEN.sub(lambda match: notebook.hidden[int(match[1])], body.removesuffix("\n"))
        pieces += [notebook.raw[at : source.span[0]], _written(notebook.raw, source, cell)]
        at = source.span[1]
    pieces.append(notebook.raw[at:])
    return "".join(pieces).encode("utf-8", "surrogatepass")


def place_in_cell(text: str, line: int) -> tuple[int, int] | None:
    """The number of a cell, from 1, and the line in it, for a line of a notebook's text."""
    found: tuple[int, int] | None = None
    for number, content in enumerate(text.split("\n")[:line], 1):
        marked = _MARKED.fullmatch(f"{content}\n")
        if marked is not None:
            found = int(marked[1]), number
    return None if found is None else (found[0], line - found[1])


def line_in_file(notebook: Notebook, line: int) -> int:
    """The line of the JSON file that holds a line of the notebook's text."""
    cell, number = place_in_cell(notebook.text, line) or (0, 0)
    source = next((source for source in notebook.sources if source.cell == cell), None)
    if source is None:
        return 1
    # A list has a string per line, but for what others than Jupyter may write.
    at = source.strings[min(number, len(source.strings)) - 1][0] if source.strings else 0
    return 1 + notebook.raw.count("\n", 0, at)


def _cells(text: str) -> dict[int, str]:
    parts = _MARKED.split(text)
    return {int(number): body for number, body in zip(parts[1::2], parts[2::2], strict=True)}


def _hide(text: str, hidden: list[str]) -> str | None:
    """A cell's text as Python; ``None`` for one in another language."""
    lines = text.split("\n")
    first = next((line for line in lines if line.strip()), "")
    if first.startswith("%%") and first.split()[0] not in _PYTHON_MAGICS:
        return None
    shown: list[str] = []
    open_lines: list[str] = []
    for line in lines:
        if open_lines or _is_magic(line, shown):
            open_lines.append(line)
            if line.endswith("\\"):
                continue
            whole = "\n".join(open_lines)
            indent = whole[: len(whole) - len(whole.lstrip())]
            shown.append(f"{indent}pass  # flmigrate: line {len(hidden)}")
            hidden.append(whole[len(indent) :])
            shown += [_MORE] * (len(open_lines) - 1)  # so that lines keep their numbers
            open_lines = []
        else:
            shown.append(line)
    return "\n".join([*shown, *open_lines])


def _is_magic(line: str, before: Sequence[str]) -> bool:
    """Whether a line is IPython's: looks like it, and is not the inside of a statement."""
    if not _MAGIC.match(line) or line.lstrip().startswith("#"):
        return False
    try:
        compile(f"{chr(10).join([*before, line])}\n", "<cell>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return not line.rstrip().endswith(("'", '"'))
    return False  # Python after all, such as the inside of a string


def _written(raw: str, source: _Source, cell: str) -> str:
    """A cell's new source in JSON, in the style of the old one."""
    plain = any(not character.isascii() for character in raw)

    def string(text: str) -> str:
        return json.dumps(text, ensure_ascii=not plain)

    start, end = source.span
    if not raw.startswith("[", start):
        return string(cell)
    spans = source.strings
    old = [scanstring(raw, first + 1)[0] for first, _ in spans]
    if "".join(old) != source.text or not spans:
        return string(cell)
    # Where every string is a line, those of lines that stay are kept as they are spelled.
    hunks = hunks_between("".join(old), cell)
    new = [line.decode("utf-8", "surrogatepass") for line in hunks.new]
    if len(hunks.old) != len(spans):
        kept: dict[int, int] = {}
    else:
        kept = dict(_unchanged(hunks.hunks, len(spans)))
    strings = [
        raw[slice(*spans[kept[number]])] if number in kept else string(line)
        for number, line in enumerate(new)
    ]
    opening = raw[start : spans[0][0]]
    between = raw[spans[0][1] : spans[1][0]] if len(spans) > 1 else f",{opening[1:]}"
    return opening + between.join(strings) + raw[spans[-1][1] : end]


def _unchanged(hunks: Sequence[Hunk], count: int) -> Iterator[tuple[int, int]]:
    """Pairs of new and old numbers of the lines outside of all hunks."""
    at = new_at = 0
    for start, end, new_end in [
        *((hunk.block.start, hunk.block.end, hunk.block.new_end) for hunk in hunks),
        (count, count, 0),
    ]:
        yield from ((new_at + n, at + n) for n in range(start - at))
        at, new_at = end, new_end


# --- JSON with positions -------------------------------------------------------------------


def _sources(raw: str) -> Iterator[_Source]:
    """The sources of the code cells, in order. Raises ``ValueError`` for no notebook."""
    top = _Reader(raw).document()
    cells = top.get("cells")
    if not isinstance(cells, _Value) or not isinstance(cells.value, list):
        raise ValueError('no list "cells"')
    for number, cell in enumerate(cells.value, 1):
        fields = cell.value
        if not isinstance(fields, dict) or "cell_type" not in fields:
            raise ValueError(f"cell {number} has no type")
        source = fields.get("source")
        if fields["cell_type"].value != "code" or source is None:
            continue
        if isinstance(source.value, str):
            yield _Source(number, source.span, (source.span,), source.value)
        elif isinstance(source.value, list):
            if not all(isinstance(part.value, str) for part in source.value):
                raise ValueError(f"cell {number}: the source is not text")
            spans = tuple(part.span for part in source.value)
            yield _Source(number, source.span, spans, "".join(p.value for p in source.value))


class _Value(NamedTuple):
    value: object
    span: tuple[int, int]


class _Reader:
    """Reads JSON and remembers where in the text each value is."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def document(self) -> dict[str, _Value]:
        """The object that is the whole document."""
        value = self._value().value
        self._skip()
        if self._at != len(self._text) or not isinstance(value, dict):
            raise ValueError("not one JSON object")
        return value

    def _skip(self) -> str:
        found = _SPACE.match(self._text, self._at)
        assert found is not None
        self._at = found.end()
        return self._text[self._at : self._at + 1]

    def _value(self) -> _Value:
        mark = self._skip()
        start = self._at
        value: object
        if mark == '"':
            value, self._at = scanstring(self._text, start + 1)
        elif mark == "[":
            value = list(self._items("]"))
        elif mark == "{":
            value = self._fields()
        else:
            atom = _ATOM.match(self._text, start)
            if atom is None:
                raise ValueError(f"not JSON at character {start}")
            value, self._at = None, atom.end()
        return _Value(value, (start, self._at))

    def _items(self, closing: str) -> Iterator[_Value]:
        self._at += 1
        if self._skip() == closing:
            self._at += 1
            return
        while True:
            yield self._value()
            if self._next(closing):
                return

    def _fields(self) -> dict[str, _Value]:
        fields: dict[str, _Value] = {}
        self._at += 1
        if self._skip() == "}":
            self._at += 1
            return fields
        while True:
            if self._skip() != '"':
                raise ValueError(f"not JSON at character {self._at}")
            key, self._at = scanstring(self._text, self._at + 1)
            if self._skip() != ":":
                raise ValueError(f"not JSON at character {self._at}")
            self._at += 1
            fields[key] = self._value()
            if self._next("}"):
                return fields

    def _next(self, closing: str) -> bool:
        """Go behind a comma (false) or the closing bracket (true)."""
        mark = self._skip()
        if mark not in (",", closing):
            raise ValueError(f"not JSON at character {self._at}")
        self._at += 1
        return mark == closing
