"""A file's bytes as Python text, and back: source files, notebooks, Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from flmigrate.encoding import Decoded, decode, encode

if TYPE_CHECKING:
    from flmigrate.code_blocks import Markdown
    from flmigrate.notebooks import Notebook

Document: TypeAlias = "Decoded | Notebook | Markdown"

NOTEBOOK = ".ipynb"
"""How the names of notebooks end."""
MARKDOWN = (".md", ".markdown")
"""How the names of Markdown files end."""


def is_markdown(name: str) -> bool:
    """Whether a file holds Markdown, by its name."""
    return name.endswith(MARKDOWN)


def read_document(name: str, data: bytes) -> Document:
    """The file ``name`` with the content ``data``. Raises ``UndecodableError``."""
    if is_markdown(name):
        from flmigrate.code_blocks import read_markdown  # for Markdown only

        return read_markdown(data)
    if not name.endswith(NOTEBOOK):
        return decode(data)
    from flmigrate.notebooks import read_notebook  # 20 ms, for notebooks only

    return read_notebook(data)


def write_document(document: Document, text: str) -> bytes:
    """The file's bytes when its text becomes ``text``. Raises ``UndecodableError``."""
    if isinstance(document, Decoded):
        return encode(document, text)
    from flmigrate.code_blocks import Markdown, write_markdown

    if isinstance(document, Markdown):
        return write_markdown(document, text)
    from flmigrate.notebooks import write_notebook

    return write_notebook(document, text)
