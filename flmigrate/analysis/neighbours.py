"""Which names of a module other files use.

Asked before a module loses a name. The other files are those of the run and those of the
module's package (or, outside of one, of its folder), for a run may be given a single file.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

_WORD = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True, slots=True)
class _Uses:
    """Names that a file uses of a module, and identifiers that it has as text."""

    names: frozenset[str]
    texts: frozenset[str] = frozenset()


class Neighbours:
    """The files around those of a run, by the modules that they name."""

    def __init__(self, files: Iterable[Path], read: Callable[[Path], str]) -> None:
        """``read`` gives a file's text; it may raise ``OSError`` or ``ValueError``."""
        self._files = frozenset(files)
        self._read = read
        self._around: dict[Path, dict[str, list[Path]]] = {}
        self._uses: dict[tuple[Path, str], _Uses] = {}

    def used(self, path: Path, names: frozenset[str], texts: frozenset[str]) -> frozenset[str]:
        """Which of the ``names`` that the file at ``path`` binds other files use.

        ``texts`` are those of them that also count as used where a string is the name
        (``{"module": ["name"]}``, ``getattr(module, "name")``).
        """
        stem = _module(path)
        found: set[str] = set()
        for other in self._naming(path).get(stem, ()):
            if other == path:
                continue
            try:
                text = self._read(other)
            except (OSError, ValueError):
                continue  # a file that cannot be read is reported in its turn
            if "*" in text or any(name in text for name in names):
                uses = self._uses_in(other, text, stem)
                found |= names & uses.names
                found |= texts & uses.texts
                if "*" in uses.names:
                    found |= {name for name in names if not name.startswith("_")}
        return frozenset(found)

    def _naming(self, path: Path) -> dict[str, list[Path]]:
        """The files around one, by the words in them that are names of modules there."""
        top = path.parent
        inside = (top / "__init__.py").is_file()
        while inside and (top.parent / "__init__.py").is_file() and top.parent != top:
            top = top.parent
        known = self._around.get(top)
        if known is None:
            files = self._files | frozenset(top.rglob("*.py") if inside else top.glob("*.py"))
            modules = {_module(file) for file in files}
            known = {}
            for file in sorted(files):
                try:
                    words = modules.intersection(_WORD.findall(self._read(file)))
                except (OSError, ValueError):
                    continue
                for word in words:
                    known.setdefault(word, []).append(file)
            self._around[top] = known
        return known

    def _uses_in(self, path: Path, text: str, stem: str) -> _Uses:
        known = self._uses.get((path, stem))
        if known is None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    known = _uses(ast.parse(text), stem)
                except (ValueError, SyntaxError, RecursionError, MemoryError):
                    known = _Uses(frozenset(_WORD.findall(text)))  # what it names may be used
            self._uses[path, stem] = known
        return known


def _module(path: Path) -> str:
    """The last part of the dotted name under which a file is imported."""
    return path.parent.name if path.stem == "__init__" else path.stem


def _uses(tree: ast.Module, stem: str) -> _Uses:
    nodes = list(ast.walk(tree))
    names = set(_imported(nodes, stem))
    modules = {stem, *_aliases(nodes, stem)}
    texts: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Attribute):
            owner = node.value
            if getattr(owner, "id", getattr(owner, "attr", "")) in modules:
                names.add(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if node.value.isidentifier():
                texts.add(node.value)
            elif stem in (parts := _WORD.findall(node.value)):
                names.update(parts)  # ``patch("package.module.name")``
    return _Uses(frozenset(names), frozenset(texts))


def _imported(nodes: Iterable[ast.AST], stem: str) -> Iterator[str]:
    """Names that ``from ... import`` takes out of a module."""
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            if not node.module or node.module.rpartition(".")[2] == stem:
                yield from (alias.name for alias in node.names)


def _aliases(nodes: Iterable[ast.AST], stem: str) -> Iterator[str]:
    """Names that a file gives to a module."""
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                if alias.asname and alias.name.rpartition(".")[2] == stem:
                    yield alias.asname
