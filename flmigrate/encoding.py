"""The bytes of a Python file and its text, exactly, in both directions.

Line ends are kept as they are: nothing here translates ``\\r\\n``. The rules for finding the
encoding are those of PEP 263 and of CPython's tokenizer.
"""

from __future__ import annotations

import codecs
import re
from pathlib import Path
from typing import NamedTuple

_COOKIE = re.compile(rb"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", re.DOTALL)
_BLANK = re.compile(rb"[ \t\f]*(?:#|$)")
_LINE_END = re.compile(rb"\r\n|\r|\n")
_LATIN_1 = ("latin-1", "iso-8859-1", "iso-latin-1")
# Every character that the grammar gives a meaning; an encoding that spells one of them
# differently cannot be the encoding of Python source. The backslash is tried before an "x",
# so that codecs that read escapes fail instead of warning.
_ASCII = bytes([0x09, 0x0A, 0x0C, 0x0D, *range(0x20, 0x5C), *range(0x5D, 0x7F)]) + b"\\x;"


class UndecodableError(ValueError):
    """Bytes that are not text in the file's encoding, or text that its encoding cannot hold.

    ``offset`` counts bytes from the start of the file (the BOM included), ``line`` counts
    from 1; ``reason`` is a sentence without position.
    """

    def __init__(self, offset: int, line: int, reason: str) -> None:
        super().__init__(offset, line, reason)
        self.offset = offset
        self.line = line
        self.reason = reason

    def __str__(self) -> str:
        return f"line {self.line}, byte {self.offset}: {self.reason}"


class Decoded(NamedTuple):
    """The text of a file and all that is needed to write it back.

    ``text`` has no BOM and the file's own line ends. ``encoding`` is a name that
    ``str.encode`` takes. ``newline`` is the line end that most lines have: ``"\\n"``,
    ``"\\r\\n"`` or ``"\\r"`` (``"\\n"`` for a file without any).
    """

    text: str
    encoding: str
    bom: bool
    newline: str


def read_whole(path: Path) -> bytes:
    """The bytes of a file, read at once; raises ``OSError``.

    There is nothing to buffer in one read, and `Path.open` costs as much as the read itself.
    """
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123
        return file.readall()


def decode(data: bytes) -> Decoded:
    """The text of a Python file.

    Raises ``UndecodableError`` when the encoding is unknown or cannot be that of Python
    source, when a byte is invalid in it, and when the bytes have another spelling in it that
    would replace them on the way back.
    """
    bom = data.startswith(codecs.BOM_UTF8)
    body = data[len(codecs.BOM_UTF8) :] if bom else data
    encoding = _declared(data, body, bom)
    try:
        text = body.decode(encoding)
    except UnicodeDecodeError as error:
        offset = len(data) - len(body) + error.start
        raise _undecodable(data, offset, _reason(data, encoding, error)) from None
    except ValueError as error:
        raise _undecodable(data, 0, f"not {encoding}: {error}") from None
    if encoding not in ("utf-8", "iso8859-1", "ascii"):
        _check_exact(data, body, text, encoding)
    return Decoded(text, encoding, bom, _dominant_newline(text))


def encode(decoded: Decoded, text: str) -> bytes:
    """The bytes of ``text`` in the encoding, and with the BOM, that ``decoded`` had.

    ``encode(decode(data), decode(data).text) == data`` for all ``data``. Raises
    ``UndecodableError`` when a character is missing from the encoding, or when the bytes
    would not be read back as ``text`` (an edit of the coding line does that).
    """
    prefix = codecs.BOM_UTF8 if decoded.bom else b""
    try:
        data = prefix + text.encode(decoded.encoding)
    except UnicodeEncodeError as error:
        before = text[: error.start]
        offset = len(prefix) + len(before.encode(decoded.encoding, "ignore"))
        line = 1 + len(re.findall(r"\r\n|\r|\n", before))
        character = ascii(text[error.start])
        reason = f"{character} cannot be written in {decoded.encoding}"
        raise UndecodableError(offset, line, reason) from None
    again = decode(data)
    if (again.text, again.encoding, again.bom) != (text, decoded.encoding, decoded.bom):
        raise UndecodableError(0, 1, f"the new text does not read back as {decoded.encoding}")
    return data


def _declared(data: bytes, body: bytes, bom: bool) -> str:
    """The encoding by BOM and PEP 263 cookie, as a name of Python's codec registry."""
    cookie, offset = _cookie(body)
    if cookie is None:
        return "utf-8"
    offset += len(data) - len(body)
    # CPython takes "utf-8-unix" for utf-8 and "latin-1-dos" for latin-1, as Emacs writes them.
    plain = cookie.lower().replace("_", "-")
    if plain == "utf-8" or plain.startswith("utf-8-"):
        return "utf-8"
    if plain in _LATIN_1 or plain.startswith(tuple(f"{name}-" for name in _LATIN_1)):
        plain = "iso-8859-1"
    try:
        same = _ASCII.decode(plain) == _ASCII.decode("ascii")
        name = codecs.lookup(plain).name
    except LookupError:  # not known, or not an encoding of text (rot13, zlib)
        raise _undecodable(data, offset, f"unknown encoding: {cookie}") from None
    except ValueError:
        same, name = False, plain
    if not same:
        reason = f"{cookie} cannot be the encoding of Python source: it is not a superset of ASCII"
        raise _undecodable(data, offset, reason)
    if bom and name != "utf-8":
        reason = f"the file has a UTF-8 byte order mark, but its coding line says {cookie}"
        raise _undecodable(data, offset, reason)
    return name


def _cookie(body: bytes) -> tuple[str | None, int]:
    """The encoding that line 1 or 2 declares, and the byte offset of its name."""
    start = 0
    for _ in range(2):
        end = _LINE_END.search(body, start)
        line = body[start : end.start() if end else len(body)]
        found = _COOKIE.match(line)
        if found:
            return found.group(1).decode("ascii"), start + found.start(1)
        if end is None or not _BLANK.match(line):
            break
        start = end.end()
    return None, 0


def _check_exact(data: bytes, body: bytes, text: str, encoding: str) -> None:
    """Refuse bytes that decode but would be written back as other bytes."""
    try:
        again = text.encode(encoding)
    except UnicodeError:
        again = b""
    if again != body:
        pairs = enumerate(zip(body, again, strict=False))
        first = next((at for at, (old, new) in pairs if old != new), min(len(body), len(again)))
        offset = len(data) - len(body) + first
        raise _undecodable(data, offset, f"not the bytes that {encoding} writes for this text")


def _reason(data: bytes, encoding: str, error: UnicodeDecodeError) -> str:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "the file begins with a UTF-16 byte order mark; Python source cannot be UTF-16"
    bad = " ".join(f"0x{byte:02x}" for byte in error.object[error.start : error.end][:4])
    return f"not {encoding}: {bad}: {error.reason}"


def _undecodable(data: bytes, offset: int, reason: str) -> UndecodableError:
    line = 1 + len(_LINE_END.findall(data[:offset]))
    return UndecodableError(offset, line, reason)


def _dominant_newline(text: str) -> str:
    if "\r" not in text:
        return "\n"
    both = text.count("\r\n")
    counts = {"\n": text.count("\n") - both, "\r\n": both, "\r": text.count("\r") - both}
    return max(counts, key=counts.__getitem__)
