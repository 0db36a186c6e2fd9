"""Vendor names outside of Python: requirements, settings, containers, shell scripts (FL8xx).

These files are read line by line and never edited: what a line of a project's own format means
is for its people to decide. Findings carry the line; a comment ``# flmigrate: ignore[FL802]``
on it silences them, where the format has comments.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path, PurePath
from typing import NamedTuple

from flmigrate.analysis.vocabulary import Vocabulary
from flmigrate.discovery import is_python
from flmigrate.findings import Finding, Outcome, Result, Severity, Span
from flmigrate.suppressions import COMMENT

_REQUIREMENTS = ("requirements*.txt", "requirements*.in", "constraints*.txt")
_PACKAGING = (
    *("pyproject.toml", "setup.cfg", "setup.py"),
    *("environment*.yml", "environment*.yaml", "conda*.y*ml"),
)
_SETTINGS = ("*.yaml", "*.yml", "*.json", "*.toml", "*.cfg", "*.ini", "*.conf")
_SHELL = ("*.sh", "*.bash", "Dockerfile", "Dockerfile.*", "*.dockerfile", "*.env", ".env")
_SOURCES = ("*.cu", "*.cuh")
NAMES = tuple(dict.fromkeys((*_REQUIREMENTS, *_PACKAGING, *_SETTINGS, *_SHELL, *_SOURCES)))
"""Patterns of the names of the files that this module reads."""
_TORCH = ("torch", "pytorch")  # as registries and as conda's channels call it
_LARGE = 1_000_000  # bytes; larger ones are data, not settings

_REQUIREMENT = re.compile(r"""(?:^\s*|["'\s=]|-\s+|::)(?P<name>[A-Za-z][\w.-]*)""")
_SETTING = re.compile(
    r"""(?P<key>[\w-]*(?:device|backend|accelerator)[\w-]*)["']?\s*[:=]\s*["']?"""
    r"""(?P<value>[A-Za-z_]+)(?::\d+)?["']?\s*(?:[,}\]#].*)?$""",
    re.IGNORECASE,
)
_IMAGE = re.compile(
    r"^\s*FROM\s+(?:--\S+\s+)*(?P<image>\S*(?:cuda|nvidia|rocm|ascend|musa)\S*)", re.I
)


class _Line(NamedTuple):
    """One line of a file: its number, where it starts, and its text without the line end."""

    number: int
    start: int
    text: str


def is_project_file(name: str) -> bool:
    """Whether a file, by its name, is one that this module reads."""
    return any(fnmatch(name, pattern) for pattern in NAMES)


def check_project_file(
    path: Path, data: bytes, vocabulary: Vocabulary, enabled: Callable[[str], bool]
) -> Result:
    """What a file says of vendors; ``enabled`` tells which codes are asked for."""
    text = data.decode("utf-8", "replace") if len(data) <= _LARGE else ""
    found = [f for f in _findings(path.name, text, vocabulary) if enabled(f.code)]
    left = tuple(sorted(found, key=lambda finding: (finding.span, finding.code)))
    return Result(str(path), Outcome.UNCHANGED, text, text, left=left)


def _findings(name: str, text: str, vocabulary: Vocabulary) -> Iterator[Finding]:
    def matches(patterns: Iterable[str]) -> bool:
        return any(fnmatch(name, pattern) for pattern in patterns)

    if matches(_SOURCES):
        yield Finding(
            "FL804", "CUDA source, which the target does not compile", Span(0, 0), 1, 1, 1
        )
        return
    lines = list(_lines(text))
    if matches((*_REQUIREMENTS, *_PACKAGING)):
        if not is_python(name):
            yield from _shown(lines, _requirements(lines, vocabulary))
        yield from _shown(lines, _torch_pins(lines, vocabulary))
    if matches(_SETTINGS) and not matches(_PACKAGING[:2]):
        yield from _shown(lines, _settings(lines, vocabulary))
    if matches((*_SHELL, *_SETTINGS)):
        yield from _shown(lines, _variables(lines, vocabulary))
    if matches(_SHELL):
        yield from _shown(lines, _images(lines))


def _lines(text: str) -> Iterator[_Line]:
    at = 0
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        yield _Line(number, at, line.rstrip("\r\n"))
        at += len(line)


def _shown(lines: Sequence[_Line], findings: Iterable[Finding]) -> Iterator[Finding]:
    """The findings that no comment on their line silences."""
    for finding in findings:
        comment = COMMENT.search(lines[finding.line - 1].text)
        named = comment is not None and (not comment["codes"] or finding.code in comment["codes"])
        if not named:
            yield finding


def _requirements(lines: Sequence[_Line], vocabulary: Vocabulary) -> Iterator[Finding]:
    names = [
        (line, match, _normal(match["name"]))
        for line in lines
        for match in _REQUIREMENT.finditer(_without_comment(line.text))
    ]
    statement = vocabulary.target.import_statement
    own = _normal(statement.split()[1]) if statement else ""
    together = own and any(name == own for _, _, name in names)
    plugins = {_normal(plugin): vendor for plugin, vendor in vocabulary.plugins.items()}
    libraries = {_normal(library): vendor for library, vendor in vocabulary.libraries.items()}
    for line, match, name in names:
        where = match.start("name"), match.end("name")
        if name in plugins:
            message = f"{match['name']} takes the device slot that the target needs"
            severity = Severity.WARNING
            if together:
                message += f", and stands beside {own}: the process would abort"
                severity = Severity.ERROR
            yield _finding("FL801", message, line, where, severity)
        elif name in libraries:
            message = f"{match['name']} runs on {libraries[name].title} only"
            yield _finding("FL801", message, line, where, Severity.INFO)


def _torch_pins(lines: Sequence[_Line], vocabulary: Vocabulary) -> Iterator[Finding]:
    target = vocabulary.target
    named = [
        (line, match)
        for line in lines
        for match in _REQUIREMENT.finditer(_without_comment(line.text))
        if _normal(match["name"]) in _TORCH
    ]
    if not (target.torch and named):
        return
    from flmigrate.torch_pins import allows, pin_behind  # for files that name torch

    fits: list[bool] = []
    outside: list[tuple[bool, Finding]] = []
    for line, match in named:
        rest = _without_comment(line.text)[match.end() :]
        pin = pin_behind(rest)
        fits.append(pin is None or allows(pin, target.torch))
        if pin is not None and not fits[-1]:
            message = (
                f"{match['name']}{pin.text} allows no version that {target.title} runs with "
                f"({target.torch})"
            )
            finding = _finding("FL805", message, line, match.span("name"))
            outside.append((";" in rest, finding))
    # One line of several with markers is what holds where the target is.
    yield from (f for has_marker, f in outside if not (has_marker and any(fits)))


def _settings(lines: Sequence[_Line], vocabulary: Vocabulary) -> Iterator[Finding]:
    target = vocabulary.target
    for line in lines:
        match = _SETTING.search(_without_comment(line.text))
        if match is None:
            continue
        value, where = match["value"], (match.start("value"), match.end("value"))
        if value in vocabulary.device_types and "backend" not in match["key"].lower():
            new = target.device_type or "the target's device"
            message = f'{match["key"]}: "{value}" is one vendor\'s device; write {new}'
            yield _finding("FL802", message, line, where)
        elif value in vocabulary.backends and "backend" in match["key"].lower():
            new = target.backend or "the target's backend"
            message = f'{match["key"]}: "{value}" is one vendor\'s backend; write {new}'
            yield _finding("FL802", message, line, where)


def _variables(lines: Sequence[_Line], vocabulary: Vocabulary) -> Iterator[Finding]:
    names = re.compile(rf"\b(?:{'|'.join(map(re.escape, vocabulary.environment))})\b")
    for line in lines:
        for match in names.finditer(_without_comment(line.text)):
            vendor = vocabulary.environment[match.group()]
            message = f"{match.group()} is read by {vendor.title} alone"
            yield _finding("FL803", message, line, match.span(), Severity.INFO)


def _images(lines: Sequence[_Line]) -> Iterator[Finding]:
    for line in lines:
        match = _IMAGE.match(line.text)
        if match is not None:
            message = f"the image {match['image']} is one vendor's"
            yield _finding("FL804", message, line, match.span("image"))


def _finding(
    code: str,
    message: str,
    line: _Line,
    where: tuple[int, int],
    severity: Severity = Severity.WARNING,
) -> Finding:
    start, end = where
    span = Span(line.start + start, line.start + end)
    return Finding(code, message, span, line.number, start + 1, line.number, severity)


def _without_comment(text: str) -> str:
    return re.sub(r"(?:^|(?<=\s))(?:#|//).*", "", text)


def _normal(name: str) -> str:
    """A package's name as registries compare names."""
    return re.sub(r"[-_.]+", "-", PurePath(name).name).lower()
