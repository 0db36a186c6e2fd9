"""Which versions of torch a requirement allows, and whether a target runs with one of them (FL805).

Requirements are written as pip takes them, as Poetry does (``torch = "^2.1"``) or as conda does
(``pytorch=2.4``). Versions are compared by ``packaging``, which is what pip compares them with.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version

_SPECIFIERS = re.compile(
    r"\s*(?:\[[^\]]*\])?\s*\(?(?P<specifiers>(?:\s*,?\s*(?:[<>!~=]=|[<>])\s*[\w.*+!-]+)+)"
)
_CONDA = re.compile(r"\s*=\s*(?P<version>\d[\w.]*\*?)(?:=[\w*.]+)?\s*[\"']?\s*$")
_OF_POETRY = r"\s*=\s*(?:\{.*?\bversion\s*=\s*)?[\"']\s*"
_POETRY = re.compile(rf"{_OF_POETRY}(?P<sign>[\^~]?)\s*(?P<version>\d+(?:\.\d+)*(?:\.\*)?)[\"']")
_POETRY_RANGE = re.compile(rf"{_OF_POETRY}(?P<specifiers>(?:[<>!=]|~=)[^\"']*)")


class Pin(NamedTuple):
    """What a line asks of torch: the text that says it, and the versions that it allows."""

    text: str
    allowed: SpecifierSet


def pin_behind(rest: str) -> Pin | None:
    """The pin that the text behind a package's name makes; ``None`` where it makes none."""
    found = _of_pip(rest) or _of_conda(rest) or _of_poetry(rest)
    if found is None:
        return None
    text, specifiers = found
    try:
        return Pin(text.strip(), SpecifierSet(specifiers))
    except InvalidSpecifier:
        return None  # some other notation; nothing is known of it


def _of_pip(rest: str) -> tuple[str, str] | None:
    match = _SPECIFIERS.match(rest) or _POETRY_RANGE.match(rest)
    return None if match is None else (match["specifiers"], match["specifiers"])


def _of_conda(rest: str) -> tuple[str, str] | None:
    match = _CONDA.match(rest)
    if match is None:
        return None
    return f"={match['version']}", f"=={match['version'].removesuffix('*').rstrip('.')}.*"


def _of_poetry(rest: str) -> tuple[str, str] | None:
    match = _POETRY.match(rest)
    if match is None:
        return None
    sign, written = match["sign"], match["version"]
    text = f"{sign}{written}"
    if not sign:
        return text, f"=={written}"
    release = Version(written.removesuffix(".*")).release
    # "^" keeps the first number that is not 0, "~" the first two; the next one is the end.
    kept = next((i for i, n in enumerate(release) if n), len(release) - 1) if sign == "^" else 1
    kept = min(kept, len(release) - 1)
    end = (*release[:kept], release[kept] + 1)
    return text, f">={written},<{'.'.join(map(str, end))}"


def allows(pin: Pin, versions: str) -> bool:
    """Whether a pin allows some of the ``versions``, which are written as pip takes them.

    If it does, then also the lowest of them: what a specifier names, or what is next behind it.
    """
    both = pin.allowed & SpecifierSet(versions)
    return any(both.contains(version, prereleases=True) for version in _lowest(both))


def _lowest(specifiers: Iterable[object]) -> Iterator[Version]:
    yield Version("0")
    for specifier in specifiers:
        named = Version(str(specifier).lstrip("<>=!~").removesuffix(".*"))
        yield named
        release = (*named.release, 0, 0)[: max(3, len(named.release))]
        yield Version(".".join(map(str, (*release[:-1], release[-1] + 1))))
