"""The documentation of each rule: what it does, why, examples, what to do, sources."""

from __future__ import annotations

import re
from pathlib import Path

_HEADING = re.compile(r"## (FL\d{3}) \S+")
_PLACES = (Path(__file__).parent / "pages", Path(__file__).parent.parent / "docs" / "rules")
"""Where the pages are: in an installed package, and in the repository."""

_COMMENT = re.compile(r"<!-- example: .*? -->\n")


class UnknownRuleError(LookupError):
    """There is no rule with that code."""


def page_of(code: str) -> str:
    """The section about a rule, as Markdown. Raises ``UnknownRuleError`` for no code of a rule."""
    for folder in _PLACES:
        for path in sorted(folder.glob("*.md")):
            section = _section(path.read_text(encoding="utf-8"), code)
            if section:
                return section
    raise UnknownRuleError(code)


def _section(text: str, code: str) -> str:
    lines = text.splitlines(keepends=True)
    starts = [at for at, line in enumerate(lines) if line.startswith("## ")]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        heading = _HEADING.match(lines[start])
        if heading is not None and heading[1] == code:
            return _COMMENT.sub("", "".join(lines[start:end])).strip() + "\n"
    return ""
