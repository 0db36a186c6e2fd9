"""A file's bytes as Python text, and back: source files and notebooks."""

from __future__ import annotations

from flmigrate.encoding import Decoded, decode, encode
from flmigrate.notebooks import SUFFIX, Notebook, read_notebook, write_notebook

Document = Decoded | Notebook


def read_document(name: str, data: bytes) -> Document:
    """The file ``name`` with the content ``data``. Raises ``UndecodableError``."""
    return read_notebook(data) if name.endswith(SUFFIX) else decode(data)


def write_document(document: Document, text: str) -> bytes:
    """The file's bytes when its text becomes ``text``. Raises ``UndecodableError``."""
    if isinstance(document, Notebook):
        return write_notebook(document, text)
    return encode(document, text)
