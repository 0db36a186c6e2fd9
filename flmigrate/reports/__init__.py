"""What a run prints: one module per format, each with ``render(report)``."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flmigrate.reports.entries import Report

_MODULES = {
    "json": "as_json",
    "sarif": "sarif",
    "github": "github",
    "gitlab": "gitlab",
    "markdown": "markdown",
    "rdjson": "rdjson",
}
FORMATS = ("text", *_MODULES)
"""The names of the formats; ``text`` is for a terminal, and made line by line."""


def render(report: Report, name: str) -> str:
    """A report in one of the formats but ``text``."""
    module = importlib.import_module(f"flmigrate.reports.{_MODULES[name]}")
    rendered: str = module.render(report)
    return rendered
