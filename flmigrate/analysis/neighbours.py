"""Which names of a module other files use.

Asked before a module loses a name. The other files are those of the run and those of the
module's package (or, outside of one, of its folder), for a run may be given a single file.
"""

from __future__ import annotations

import ast
import contextlib
import os
import re
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from flmigrate.analysis.vocabulary import words_of
from flmigrate.encoding import read_whole

_WORD = re.compile(r"[^\W\d]\w*")
_STAR_IMPORTS = (b"import *", b"import*", b"import  *")
_FROM_IMPORT = re.compile(r"from\s+([.\w]+)\s+import\s*(\([^)]*\)|[^\n;]*(?:\\\r?\n[^\n;]*)*)")
_OWNER = re.compile(r"[\w.\s]+\Z")
_REACH = 300  # characters before a name in which what it is read from is looked for
_SPACE = re.compile(r"\s")


@dataclass(slots=True, eq=False)
class _Uses:
    """What a file uses of other modules.

    ``taken`` are names by the dotted module that a ``from`` import takes them out of, ``read``
    attributes by the last name of what they are read from, ``aliases`` the names that modules
    are given by their last name. ``texts`` are strings that are identifiers, ``paths`` the
    words of strings such as ``"package.module.name"``.
    """

    taken: dict[str, set[str]] = field(default_factory=dict)
    read: dict[str, set[str]] = field(default_factory=dict)
    aliases: dict[str, set[str]] = field(default_factory=dict)
    texts: set[str] = field(default_factory=set)
    paths: list[list[str]] = field(default_factory=list)

    def of(self, module: str) -> set[str]:
        """Names that are used of a module; ``*`` for all of them."""
        found: set[str] = set()
        for other, names in self.taken.items():
            # One of the two may be written from further inside: ``mod`` of ``package.mod``.
            one, two = f".{module}", f".{other}"
            if one.endswith(two) or two.endswith(one):
                found |= names
        stem = module.rpartition(".")[2]
        for name in (stem, *self.aliases.get(stem, ())):
            found |= self.read.get(name, set())
        return found.union(*(words for words in self.paths if stem in words))


class Neighbours:
    """The files around those of a run, by the modules that they name."""

    def __init__(self, files: Iterable[Path], read: Callable[[Path], str]) -> None:
        """``read`` gives a file's text; it may raise ``OSError`` or ``ValueError``."""
        self._files = frozenset(file.absolute() for file in files)
        self._modules = frozenset(map(_last_name, self._files))
        self._named: dict[Path, frozenset[bytes]] = {}
        self._read = read
        self._around: dict[Path, dict[bytes, list[Path]]] = {}
        self._uses: dict[Path, _Uses | None] = {}
        self._packages: dict[Path, str] = {}
        self._stars: dict[Path, bool] = {}

    def note(self, path: Path, words: Iterable[bytes]) -> None:
        """Remember which modules of the run a file's words name, so that it is read once less."""
        self._named[path.absolute()] = self._modules.intersection(words)

    def used(self, path: Path, names: frozenset[str], texts: frozenset[str]) -> frozenset[str]:
        """Which of the ``names`` that the file at ``path`` binds other files use.

        ``texts`` are those of them that also count as used where a string is the name
        (``{"module": ["name"]}``, ``getattr(module, "name")``).
        """
        path = path.absolute()
        module = self._module(path)
        written = [name.encode() for name in names]
        last = os.fsencode(module.rpartition(".")[2])
        found: set[str] = set()
        for other in self._naming(path).get(last, ()):
            if other == path:
                continue
            try:
                data = read_whole(other)
                if not (any(name in data for name in written) or self._has_star(other, data)):
                    continue  # most files end here, neither decoded nor parsed
                text = self._read(other)
            except (OSError, ValueError):
                continue  # a file that cannot be read is reported in its turn
            if other not in self._uses and not _may_use(text, module, names, texts):
                continue
            uses = self._uses_in(other, text)
            if uses is None:
                found |= names.intersection(_WORD.findall(text))  # any of them may be used
                continue
            used = uses.of(module)
            found |= names & used | texts & uses.texts
            if "*" in used:
                found |= {name for name in names if not name.startswith("_")}
        return frozenset(found)

    def _has_star(self, path: Path, data: bytes) -> bool:
        """Whether a file takes all names of some module; looked for once."""
        known = self._stars.get(path)
        if known is None:
            known = self._stars[path] = any(form in data for form in _STAR_IMPORTS)
        return known

    def mentioned(self, path: Path, names: frozenset[str]) -> frozenset[str]:
        """Which of the ``names`` stand as a word in another file around the one at ``path``."""
        path, wanted = path.absolute(), frozenset(name.encode() for name in names)
        found: set[bytes] = set()
        for other in self._files_around(path):
            if other != path and len(found) < len(wanted):
                with contextlib.suppress(OSError):  # it is reported in its turn
                    found |= wanted.intersection(words_of(read_whole(other)))
        return frozenset(name.decode() for name in found)

    def _naming(self, path: Path) -> dict[bytes, list[Path]]:
        """The files around one, by the words in them that are names of the run's modules.

        All of them are read once, which costs less than to read them again for each question.
        """
        top = self._top(path)
        known = self._around.get(top)
        if known is None:
            known = self._around[top] = {}
            for file in self._files_around(path):
                with contextlib.suppress(OSError):  # it is reported in its turn
                    if file not in self._named:
                        self.note(file, words_of(read_whole(file)))
                    for word in self._named[file]:
                        known.setdefault(word, []).append(file)
        return known

    def _top(self, path: Path) -> Path:
        """The folder of the outermost package that a file is in, or of the file."""
        return path.parents[len(self._package(path.parent).split(".")) - 1]

    def _files_around(self, path: Path) -> list[Path]:
        """The files of the run, of the package that a file is in, or of its folder."""
        top = self._top(path)
        inside = bool(self._package(path.parent))
        return sorted(self._files.union(top.rglob("*.py") if inside else top.glob("*.py")))

    def _module(self, path: Path) -> str:
        """The dotted name under which a file is imported."""
        package = self._package(path.parent)
        if path.stem == "__init__":
            return package or path.parent.name
        return f"{package}.{path.stem}" if package else path.stem

    def _package(self, folder: Path) -> str:
        """The dotted name of the package that a folder is, or the empty string."""
        known = self._packages.get(folder)
        if known is None:
            known = ""
            if (folder / "__init__.py").is_file():
                outer = self._package(folder.parent) if folder.parent != folder else ""
                known = f"{outer}.{folder.name}" if outer else folder.name
            self._packages[folder] = known
        return known

    def _uses_in(self, path: Path, text: str) -> _Uses | None:
        """What a file uses; ``None`` if it does not parse."""
        if path not in self._uses:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    self._uses[path] = _uses(ast.parse(text), self._package(path.parent))
                except (ValueError, SyntaxError, RecursionError, MemoryError):
                    self._uses[path] = None
        return self._uses[path]


def _last_name(file: Path) -> bytes:
    """The last name of the module that a file is."""
    return os.fsencode(file.parent.name if file.stem == "__init__" else file.stem)


def _may_use(text: str, module: str, names: frozenset[str], texts: frozenset[str]) -> bool:
    """Whether a file's text shows anything that ``_uses`` could tell to be a use of the names.

    It may see too much, never too little, and spares most files that share a word with the
    module the parser.
    """
    stem = module.rpartition(".")[2]
    for found in _FROM_IMPORT.finditer(text):
        source, taken = found.groups()
        if source.rpartition(".")[2] in (stem, ""):
            if "*" in taken or not names.isdisjoint(_WORD.findall(taken)):
                return True
    owners = {stem, *re.findall(rf"{re.escape(stem)}\s+as\s+(\w+)", text)}
    for name in (name for name in names if name in text):
        for found in re.finditer(rf"\.\s*{re.escape(name)}\b", text):
            owner = _OWNER.search(text, max(0, found.start() - _REACH), found.start())
            if owner is not None and not owners.isdisjoint(_WORD.findall(owner.group())):
                return True
    return any(f'"{name}"' in text or f"'{name}'" in text for name in texts)


def _uses(tree: ast.Module, package: str) -> _Uses:
    """What a file uses whose relative imports start from ``package``."""
    found = _Uses()
    parts = package.split(".")
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom():
                module = node.module or ""
                if node.level:
                    base = parts[: max(len(parts) - node.level + 1, 0)]
                    module = ".".join([*base, module] if module else base)
                found.taken.setdefault(module, set()).update(alias.name for alias in node.names)
                _name_modules(found, node.names)
            case ast.Import():
                _name_modules(found, node.names)
            case ast.Attribute():
                owner = getattr(node.value, "id", getattr(node.value, "attr", ""))
                found.read.setdefault(owner, set()).add(node.attr)
            case ast.Constant(value=str(value)):
                if value.isidentifier():
                    found.texts.add(value)
                elif "." in value and not _SPACE.search(value):
                    found.paths.append(_WORD.findall(value))
    return found


def _name_modules(found: _Uses, names: Iterable[ast.alias]) -> None:
    for alias in names:
        if alias.asname:
            last = alias.name.rpartition(".")[2]
            found.aliases.setdefault(last, set()).add(alias.asname)
