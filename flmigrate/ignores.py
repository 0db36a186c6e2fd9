"""Lists of gitignore patterns, asked about one file or folder at a time.

pathspec translates the patterns. Its own matching asks about whole paths of files, so that a
folder's verdict already covers what is inside; a walk that goes down folder by folder, as git
does, needs the verdict on each entry alone, and needs it thousands of times: one combined
expression answers "no pattern speaks of this" before the patterns are tried in turn.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

# The group by which pathspec's expressions mark a match that ends at a folder.
_FOLDER_MARK = "ps_d"
_SPECIAL = frozenset("*?[\\")


class Ignores(NamedTuple):
    """Compiled patterns that speak of paths below ``base``.

    ``base`` ends with a slash. ``rules`` are expressions in the file's order, each with
    whether a match ignores (or, for ``!`` patterns, takes back). ``names`` and ``rest``
    hold between them everything that some rule could match.
    """

    base: str
    rules: tuple[tuple[re.Pattern[str], bool], ...]
    names: frozenset[str]
    rest: re.Pattern[str] | None


def compile_patterns(
    lines: Iterable[str], base: str, invalid: list[str] | None = None
) -> Ignores | None:
    """The patterns of a ``.gitignore`` (or of a list like one) in the folder ``base``.

    Lines from which git would make no pattern are left out, as git does, and, comments and
    blank lines aside, appended to ``invalid``. ``None`` when no pattern remains.
    """
    from pathspec import GitIgnoreSpec  # 40 ms, for runs over folders only

    rules: list[tuple[re.Pattern[str], bool]] = []
    names: set[str] = set()
    rest: list[str] = []
    for line in lines:
        if not line.strip() or line.startswith("#"):
            continue
        # For git, "a/**/" is the folders in a; for pathspec it is a.
        exact = f"{line.rstrip()}*/" if line.rstrip().endswith("/**/") else line
        try:
            patterns = list(GitIgnoreSpec.from_lines([exact]).patterns)
        except (ValueError, re.error):
            patterns = []
        if invalid is not None and not any(pattern.regex for pattern in patterns):
            invalid.append(line)
        for pattern in patterns:
            if pattern.regex is None or pattern.include is None:
                continue
            rules.append((pattern.regex, pattern.include))
            literal = line.rstrip().removeprefix("!").removesuffix("/")
            if "/" in literal or not _SPECIAL.isdisjoint(literal):
                rest.append(pattern.regex.pattern.replace(f"(?P<{_FOLDER_MARK}>", "(?:"))
            else:
                names.add(literal)
    if not rules:
        return None
    combined = re.compile("|".join(f"(?:{part})" for part in rest)) if rest else None
    return Ignores(f"{base.rstrip('/')}/", tuple(rules), frozenset(names), combined)


def verdict(ignores: Ignores, path: str, name: str, folder: bool) -> bool | None:
    """What the patterns say of one entry: ignored, taken back, or nothing (``None``).

    ``path`` is absolute, with slashes and without one at its end, and lies below
    ``ignores.base``; ``name`` is its last part. Folders above are not looked at.
    """
    relative = path[len(ignores.base) :]
    if name not in ignores.names:
        if ignores.rest is None:
            return None
        if not ignores.rest.search(f"{relative}/" if folder else relative):
            return None
    for expression, ignored in reversed(ignores.rules):
        if _matches(expression, relative, folder):
            return ignored
    return None


def covers(ignores: Ignores, path: str) -> bool:
    """Whether the patterns ignore ``path`` or a folder above it.

    ``path`` is absolute; a slash at its end says that it is a folder.
    """
    if not path.startswith(ignores.base):
        return False
    at = len(ignores.base)
    while (end := path.find("/", at)) >= 0:
        if verdict(ignores, path[:end], path[at:end], folder=True):
            return True
        at = end + 1
    return at < len(path) and bool(verdict(ignores, path, path[at:], folder=False))


def _matches(expression: re.Pattern[str], relative: str, folder: bool) -> bool:
    """Whether a pattern matches this entry itself, not merely a folder above it."""
    if _FOLDER_MARK not in expression.groupindex:
        return expression.search(relative) is not None
    whole = f"{relative}/" if folder else relative
    found = expression.search(whole)
    while found is not None and found.end() < len(whole):
        found = expression.search(whole, found.end())
    return found is not None
