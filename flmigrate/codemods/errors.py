"""The one error that codemods raise."""

from __future__ import annotations

from flmigrate.findings import Span


class EditError(Exception):
    """An edit cannot be carried out exactly as it was asked for.

    ``span`` is where, in characters of the text that was to be edited. Whoever catches this
    still holds that text unchanged: edits are made all together or not at all.
    """

    def __init__(self, message: str, span: Span) -> None:
        super().__init__(message)
        self.message = message
        self.span = span
