"""Read the before/after cases of ``corpus/``; ``docs/corpus.md`` describes the format.

This module knows the format only. It does not know flmigrate, so the documentation can
read cases with it as well as the tests do.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

CORPUS = Path(__file__).resolve().parent.parent / "corpus"

_REQUIRED = ("id", "rules", "title", "why", "source")
_OPTIONAL = (
    *("options", "left", "told", "info", "may", "skipped"),
    *("notes", "encoding", "departs"),
)
_SECTION = re.compile(r"--- (before|after|unchanged|generator)(?: (\S+))?\n?$")
_HEADER = re.compile(r"([a-z]+): (\S.*)\n?$")
_PLACE = re.compile(r"(FL\d{3})(?:@(?:(?P<path>[^\s:@]+\.py)(?::|$))?(?P<line>\d+)?)?$")
_ESCAPE = re.compile(rb"\\(x[0-9a-f]{2}|[\\nrt])")
_ESCAPES = {b"\\": b"\\", b"n": b"\n", b"r": b"\r", b"t": b"\t"}
_IMPORT_IN = ("none", "entry-points", "every-file")

DEFAULT_PATH = "case.py"


class CaseError(ValueError):
    """A case file does not follow the format; the message starts with its path and line."""


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A rule code at a line of a file, as a header writes it: ``FL103@4``, ``FL118@lib.py:2``.

    ``line`` counts from 1 in the text after the rewrite, without note lines; 0 is any line.
    """

    code: str
    path: str = DEFAULT_PATH
    line: int = 0

    def matches(self, found: Place) -> bool:
        """Whether a finding at ``found`` (with a line) is the one this place speaks of."""
        return (self.code, self.path) == (found.code, found.path) and self.line in (0, found.line)


@dataclass(frozen=True, slots=True)
class CaseFile:
    """One source file of a case, as bytes, before and after the rewrite."""

    path: str
    before: bytes
    after: bytes

    @property
    def changes(self) -> bool:
        """Whether the rewrite is expected to change the file."""
        return self.before != self.after


@dataclass(frozen=True, slots=True)
class Options:
    """How the rewrite is called; the defaults are those of ``docs/corpus.md``."""

    target: str = "fl"
    import_in: str = "none"
    unsafe_fixes: bool = False
    canonical_vendor: str | None = None
    drop_vendors: tuple[str, ...] = ()
    chips: tuple[str, ...] = ()
    possible: bool = False


@dataclass(frozen=True, slots=True)
class Case:
    """One case: what the header says, and the files.

    ``left`` are the findings of severity warning and error that must remain, completely;
    ``told`` must remain too, at any severity; ``info`` are remaining findings of severity
    info that must be among the others; ``may`` are findings that may remain or not;
    ``skipped`` are the files that are left as they are because they cannot be read.
    ``exact_notes`` compares note lines too.
    """

    id: str
    rules: tuple[str, ...]
    title: str
    why: str
    source: str
    departs: str
    options: Options
    left: tuple[Place, ...]
    told: tuple[Place, ...]
    info: tuple[Place, ...]
    may: tuple[Place, ...]
    skipped: tuple[Place, ...]
    exact_notes: bool
    files: tuple[CaseFile, ...]
    origin: Path

    @property
    def changes(self) -> bool:
        """Whether any file of the case is expected to change."""
        return any(file.changes for file in self.files)

    @property
    def expected(self) -> tuple[Place, ...]:
        """Everything that must be reported, whatever its severity."""
        return (*self.left, *self.told, *self.info, *self.skipped)

    @property
    def reported(self) -> frozenset[str]:
        """The codes that the case expects to see fixed, left or as a reason for skipping."""
        named = {place.code for place in self.expected}
        return frozenset(named | set(self.rules) if self.changes else named)

    @property
    def near_misses(self) -> frozenset[str]:
        """The codes of rules that must stay silent on a case that nothing changes."""
        if self.changes:
            return frozenset()
        return frozenset(self.rules) - self.reported


def read_case(path: Path) -> Case:
    """Read one ``.case`` file. Raises ``CaseError`` where it does not follow the format."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    header: dict[str, str] = {}
    number = 0
    while number < len(lines) and not lines[number].startswith("--- "):
        match = _HEADER.match(lines[number])
        number += 1
        if match is None or match[1] not in _REQUIRED + _OPTIONAL or match[1] in header:
            raise CaseError(f"{path}:{number}: not a header line, unknown, or given twice")
        header[match[1]] = match[2].strip()
    missing = [key for key in _REQUIRED if key not in header]
    if missing:
        raise CaseError(f"{path}:1: missing {', '.join(missing)}")
    escaped = _choice(path, header, "encoding", "escaped")
    files = _read_files(path, lines, number, escaped)
    default = files[0].path if len(files) == 1 else ""
    return Case(
        id=header["id"],
        rules=tuple(code.strip() for code in header["rules"].split(",")),
        title=header["title"],
        why=header["why"],
        source=header["source"],
        departs=header.get("departs", ""),
        options=_read_options(path, header.get("options", "")),
        left=_read_places(path, header.get("left", ""), default),
        told=_read_places(path, header.get("told", ""), default),
        info=_read_places(path, header.get("info", ""), default),
        may=_read_places(path, header.get("may", ""), default),
        skipped=_read_places(path, header.get("skipped", ""), default),
        exact_notes=_choice(path, header, "notes", "exact"),
        files=files,
        origin=path,
    )


def load_cases(root: Path = CORPUS) -> tuple[Case, ...]:
    """Read every case below ``root``, in the order of their paths."""
    return tuple(read_case(path) for path in sorted(root.rglob("*.case")))


def _read_files(path: Path, lines: list[str], start: int, escaped: bool) -> tuple[CaseFile, ...]:
    """Read the sections from line index ``start`` on and pair ``before`` with ``after``."""
    files: list[CaseFile] = []
    waiting: tuple[str, bytes] | None = None
    number = start
    while number < len(lines):
        match = _SECTION.match(lines[number])
        number += 1
        if match is None:
            raise CaseError(f"{path}:{number}: expected --- before, after, unchanged or generator")
        kind, name = match[1], match[2]
        end = number
        while end < len(lines) and not lines[end].startswith("--- "):
            end += 1
        content = _decode("".join(lines[number:end]), escaped)
        if (kind == "after") != (waiting is not None):
            raise CaseError(f"{path}:{number}: each before section is followed by its after")
        if kind == "generator":
            if name not in GENERATORS:
                raise CaseError(f"{path}:{number}: unknown generator {name}")
            files.append(CaseFile(DEFAULT_PATH, *GENERATORS[name]()))
        elif kind == "before":
            waiting = (name or DEFAULT_PATH, content)
        elif kind == "unchanged":
            files.append(CaseFile(name or DEFAULT_PATH, content, content))
        elif waiting is not None:
            if waiting[0] != (name or DEFAULT_PATH) or waiting[1] == content:
                raise CaseError(f"{path}:{number}: before and after differ in path or not at all")
            files.append(CaseFile(*waiting, content))
            waiting = None
        number = end
    if waiting is not None or not files:
        raise CaseError(f"{path}:{number}: no files, or a before section without its after")
    return tuple(files)


def _decode(content: str, escaped: bool) -> bytes:
    """Bytes of a section. Escaped ones have their line breaks written out as ``\\n``."""
    if not escaped:
        return content.encode("utf-8")
    raw = content.replace("\n", "").encode("utf-8")
    return _ESCAPE.sub(lambda m: _ESCAPES.get(m[1]) or bytes([int(m[1][1:], 16)]), raw)


def _read_places(path: Path, text: str, default: str) -> tuple[Place, ...]:
    places = []
    for item in filter(None, (part.strip() for part in text.split(","))):
        match = _PLACE.match(item)
        where = match and (match["path"] or default)
        if match is None or not where:
            raise CaseError(f"{path}:1: {item!r} is not CODE, CODE@LINE or CODE@PATH:LINE")
        places.append(Place(match[1], where, int(match["line"] or 0)))
    return tuple(places)


def _read_options(path: Path, text: str) -> Options:
    values: dict[str, str] = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        key, _, value = item.partition("=")
        values[key] = value
    import_in = values.pop("import-in", "none")
    target = values.pop("target", "fl")
    unsafe_fixes = values.pop("unsafe-fixes", None) is not None
    canonical = values.pop("canonical-vendor", None)
    dropped = tuple(filter(None, values.pop("drop-vendors", "").split("+")))
    chips = tuple(filter(None, values.pop("chip", "").split("/")))
    possible = values.pop("possible", None) is not None
    if values or import_in not in _IMPORT_IN:
        raise CaseError(f"{path}:1: unknown option in {text!r}")
    return Options(target, import_in, unsafe_fixes, canonical, dropped, chips, possible)


def _choice(path: Path, header: dict[str, str], key: str, word: str) -> bool:
    if header.get(key, word) != word:
        raise CaseError(f"{path}:1: {key} can only be {word}")
    return key in header


# --- sources too large to be written down ---------------------------------------------------


def _pair(text: str, old: str, new: str) -> tuple[bytes, bytes]:
    before = text.encode("utf-8")
    return before, text.replace(old, new).encode("utf-8")


def _long_sum() -> tuple[bytes, bytes]:
    """A sum of 3,000 terms above one move."""
    terms = " + ".join(["1"] * 3000)
    return _pair(f"import torch\nX = {terms}\ny = torch.ones(1).cuda()\n", ".cuda()", _MOVED)


def _long_text() -> tuple[bytes, bytes]:
    """A text of 1,200 joined literals above one device."""
    pieces = " ".join(['"a"'] * 1200)
    return _pair(f'import torch\nS = {pieces}\nd = torch.device("cuda")\n', '"cuda"', '"flagos"')


def _long_chain() -> tuple[bytes, bytes]:
    """A chain of 1,500 calls that ends in a move."""
    links = ".a()" * 1500
    return _pair(f"def f(x):\n    return x{links}.cuda()\n", ".cuda()", _MOVED)


def _long_file() -> tuple[bytes, bytes]:
    """80,000 lines with a move in the first, a middle and the last statement."""
    filler = [f"v{i} = {i}" for i in range(1, 79_998)]
    middle = len(filler) // 2
    lines = ["a = t.cuda()", *filler[:middle], "b = t.cuda()", *filler[middle:], "c = t.cuda()"]
    return _pair("\n".join(lines) + "\n", ".cuda()", _MOVED)


_MOVED = '.to("flagos")'

GENERATORS: dict[str, Callable[[], tuple[bytes, bytes]]] = {
    "long_chain": _long_chain,
    "long_file": _long_file,
    "long_sum": _long_sum,
    "long_text": _long_text,
}
