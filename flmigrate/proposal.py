"""What a configuration for the project at hand would be: found, shown, and written on consent."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from flmigrate.analysis.project import module_names
from flmigrate.analysis.vocabulary import DEFAULT_VENDOR, Vocabulary, words_of
from flmigrate.discovery import discover
from flmigrate.files import write_atomic

_FOREIGN = ("third_party", "thirdparty", "3rdparty", "vendor", "vendored", "extern", "external")
_HOOK = """\
  - repo: https://example.org/flmigrate   # where flmigrate is cloned from
    rev: v{version}
    hooks:
      - id: flmigrate-check
"""
_ITEM = re.compile(r"^( *)- +repo:", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Proposal:
    """What was found in a project, and the settings that fit it.

    ``vendors`` are the numbers of files that name a vendor, the most frequent first;
    ``packages`` the top-level packages, ``entry_points`` the files that a process may start
    at. ``settings`` are lines of TOML without the table's header.
    """

    root: Path
    files: int
    vendors: tuple[tuple[str, int], ...]
    packages: tuple[str, ...]
    entry_points: tuple[str, ...]
    settings: tuple[str, ...]

    @property
    def configuration(self) -> Path:
        """The file that the settings belong in."""
        pyproject = self.root / "pyproject.toml"
        return pyproject if pyproject.is_file() else self.root / "flmigrate.toml"

    @property
    def text(self) -> str:
        """The settings as they are written there."""
        header = "[tool.flmigrate]\n" if self.configuration.name == "pyproject.toml" else ""
        return header + "".join(f"{line}\n" for line in self.settings)


def propose(root: Path, vocabulary: Vocabulary) -> Proposal:
    """Look through the Python files of a project; nothing is parsed."""
    files = discover([root]).files
    vendors: Counter[str] = Counter()
    entry_points: list[str] = []
    for path in files:
        try:
            data = path.read_bytes()
        except OSError:
            continue  # a check names it
        found = set(words_of(data))
        for vendor in vocabulary.vendors.values():
            words = {*vendor.device_types, *vendor.plugins}
            if any(word.encode() in found for word in words):
                vendors[vendor.name] += 1
        if data.startswith(b"#!") or b"__main__" in data or path.stem == "__main__":
            entry_points.append(path.relative_to(root).as_posix())
    packages = sorted({name.partition(".")[0] for name in module_names(files) if "." in name})
    served = {vendor.name for vendor in vocabulary.served}
    settings = [f'target = "{vocabulary.target.name}"']
    foreign = [f"{name}/" for name in _FOREIGN if (root / name).is_dir()]
    if foreign:
        settings.append(f"exclude = {_list(foreign)}")
    ours = [name for name, _ in vendors.most_common() if name in served]
    if ours and DEFAULT_VENDOR not in ours:
        settings.append(f'canonical-vendor = "{ours[0]}"')
    return Proposal(
        root,
        len(files),
        tuple(vendors.most_common()),
        tuple(packages),
        tuple(entry_points),
        tuple(settings),
    )


def write_settings(proposal: Proposal) -> None:
    """Put the settings at the end of their file, which is made if it is not there."""
    path = proposal.configuration
    before = path.read_bytes() if path.is_file() else b""
    gap = b"\n" if before else b""
    if before and not before.endswith(b"\n"):
        gap = b"\n\n"
    write_atomic(path, before + gap + proposal.text.encode("utf-8"))


def write_hook(root: Path, version: str) -> Path | None:
    """Add the check to the project's pre-commit hooks; ``None`` if it is there, or cannot be.

    An existing file gets one more item behind the last of its list, indented as they are.
    """
    path = root / ".pre-commit-config.yaml"
    item = _HOOK.format(version=version)
    if not path.is_file():
        write_atomic(path, f"repos:\n{item}".encode())
        return path
    text = path.read_bytes().decode("utf-8")
    items = list(_ITEM.finditer(text))
    if "flmigrate" in text or not items:
        return None
    indent = items[-1][1]
    lines = text[items[-1].end() :].splitlines(keepends=True)
    end = items[-1].end() + len(lines[0])
    for line in lines[1:]:
        if line.strip() and not line.startswith(f"{indent} "):
            break
        end += len(line)
    head = text[:end].rstrip("\n") + "\n"
    moved = "".join(f"{indent}{line[2:]}\n" for line in item.splitlines())
    write_atomic(path, f"{head}{moved}{text[end:]}".encode())
    return path


def _list(items: Sequence[str]) -> str:
    return "[" + ", ".join(f'"{item}"' for item in items) + "]"
