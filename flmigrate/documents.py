"""A file's bytes as Python text, and back: source files and notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flmigrate.encoding import Decoded, decode, encode

if TYPE_CHECKING:
    from flmigrate.notebooks import Notebook

NOTEBOOK = ".ipynb"
"""How the names of notebooks end."""


def read_document(name: str, data: bytes) -> Decoded | Notebook:
    """The file ``name`` with the content ``data``. Raises ``UndecodableError``."""
    if not name.endswith(NOTEBOOK):
        return decode(data)
    from flmigrate.notebooks import read_notebook  # 20 ms, for notebooks only

    return read_notebook(data)


def write_document(document: Decoded | Notebook, text: str) -> bytes:
    """The file's bytes when its text becomes ``text``. Raises ``UndecodableError``."""
    if isinstance(document, Decoded):
        return encode(document, text)
    from flmigrate.notebooks import write_notebook

    return write_notebook(document, text)
