"""Reading an installed Torch-FL: its configuration files become a manifest of that build.

A configuration file has lines ``operator = backend``, comments after ``#``, and lines
``include FILE``. What counts is what a file says, not how it is called: files were split and
renamed between versions. Lines that cannot be read are named, and left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from flmigrate.manifests.files import DATA, manifest_text, read_manifest
from flmigrate.manifests.model import ManifestError
from flmigrate.manifests.store import CHIPS

_LINE = re.compile(r"(?P<op>[A-Za-z_]\w*(?:\.\w+)?)\s*=\s*(?P<backend>\w+)")
_INCLUDE = re.compile(r"[@!%]?include\s*=?\s*[\"'<]?(?P<file>[^\"'>\s]+)[\"'>]?")
_PLATFORM = re.compile(r"#.*\bconfig for (?P<platform>\w+)")

ROUTE_OF_BACKEND: Mapping[str, str] = {
    "cuda": "boxed",
    "flagos_python": "flaggems",
    "flaggems": "flaggems",
    "flaggems_python": "flaggems",
    "tileops": "flaggems",
    "flagos": "flaggems_cpp",
    "flaggems_cpp": "flaggems_cpp",
    "none": "cpu_fallback",
    "dcu_sdk": "native",
    **dict.fromkeys(
        ("ascend", "aclnn", "gcu", "topsaten", "musa", "mudnn", "metax", "bpu", "tsingmicro"),
        "native",
    ),
}
"""What a backend's name in a configuration file means for an operator."""

_CHIP_OF_BACKEND = {"aclnn": "ascend", "topsaten": "gcu", "mudnn": "musa", "dcu_sdk": "dcu"}
_CHIP_WORDS = {"kunlun": "kunlunxin", "kunlunxin": "kunlunxin", "tileops": "cuda"}


@dataclass(slots=True)
class Configuration:
    """One configuration file with everything that it includes.

    ``backends`` maps overloads to the backend's name; ``problems`` names what could not be read,
    with file and line. ``platform`` is what a file says that it is for, if one does.
    """

    path: Path
    backends: dict[str, str] = field(default_factory=dict)
    platform: str = ""
    problems: list[str] = field(default_factory=list)
    included: list[Path] = field(default_factory=list)


def choices(read: Iterable[Configuration]) -> list[Configuration]:
    """The configurations that stand for themselves: no other one includes them."""
    everything = list(read)
    included = {path for configuration in everything for path in configuration.included}
    return [c for c in everything if c.path not in included]


def find_configurations(folder: Path) -> list[Path]:
    """The configuration files of an installed ``torch_fl``, or of a folder that holds some.

    Raises ``ManifestError`` where there are none.
    """
    if folder.is_file():
        return [folder]
    for place in (folder / "configs", folder / "torch_fl" / "configs", folder):
        found = sorted(place.glob("*.conf"))
        if found:
            return found
    raise ManifestError(f"{folder}: no configuration files (*.conf) of Torch-FL in here")


def read_configuration(path: Path) -> Configuration:
    """Read one file. Raises ``ManifestError`` if it is not there or says nothing at all."""
    found = Configuration(path)
    _read(path, found, [])
    if not found.backends:
        problem = f": {found.problems[0]}" if found.problems else ""
        raise ManifestError(f"{path}: no line says `operator = backend`{problem}")
    return found


def _read(path: Path, into: Configuration, above: list[Path]) -> None:
    if path in above:
        into.problems.append(f"{path}: includes itself")
        return
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        if not above:
            raise ManifestError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
        into.problems.append(f"{path}: {getattr(error, 'strerror', None) or error}")
        return
    for number, line in enumerate(lines, 1):
        platform = _PLATFORM.match(line)
        if platform and not into.platform:
            into.platform = platform["platform"].lower()
        text = line.partition("#")[0].strip()
        if not text:
            continue
        included = _INCLUDE.fullmatch(text)
        entry = _LINE.fullmatch(text)
        if included:
            into.included.append(path.parent / included["file"])
            _read(into.included[-1], into, [*above, path])
        elif entry and entry["backend"].lower() in ROUTE_OF_BACKEND:
            into.backends[entry["op"]] = entry["backend"].lower()
        elif entry:
            into.problems.append(f'{path}:{number}: unknown backend "{entry["backend"]}"')
        else:
            into.problems.append(f"{path}:{number}: neither `operator = backend` nor an include")


def chip_of(configuration: Configuration) -> str:
    """The chip that a configuration is for: what it says, else the vendor kernels it names.

    The empty string where it says neither, and only then is the file's name looked at.
    """
    named = {_CHIP_OF_BACKEND.get(b, b) for b in configuration.backends.values()}
    for candidate in (configuration.platform, *sorted(named & set(CHIPS) - {"cuda"})):
        candidate = _CHIP_WORDS.get(candidate, candidate)
        if candidate in CHIPS or candidate in _CHIP_WORDS.values():
            return candidate
    words = configuration.path.stem.split("_")
    by_name = [_CHIP_WORDS.get(w, w) for w in words if w in CHIPS or w in _CHIP_WORDS]
    if by_name:
        return by_name[0]
    return "cuda" if "cuda" in named else ""


def imported(configuration: Configuration, *, chip: str, name: str, since: str) -> str:
    """The text of the manifest that a configuration amounts to.

    ``since`` is the version or commit of the installation. Operators that the file does not
    list keep what the shipped layer of Torch-FL says. Where the file lists ``none``, unlisted
    claims reach the CPU too; in older files a claim without a kernel raises.
    """
    layer = _layer()
    says_none = "none" in configuration.backends.values()
    has_own = any(ROUTE_OF_BACKEND[b] == "native" for b in configuration.backends.values())
    facts = {
        "name": name,
        "chip": chip,
        "title": f"{chip}, as {configuration.path.name} of an installed Torch-FL says",
        "build": f"FLAGOS_BACKEND_CONFIG={configuration.path.name}",
        "source": f"imported from {configuration.path.name}",
        "torch": _torch_of(layer),
        "since": since,
        "until": "",
        "extends": layer,
    }
    if _claims_all(chip, has_own=has_own) and not says_none:
        facts["claimed"] = "raises"
    routes: dict[str, list[str]] = {}
    for op, backend in configuration.backends.items():
        routes.setdefault(ROUTE_OF_BACKEND[backend], []).append(op)
    if says_none:
        routes["cpu_fallback"] = _without_composite(routes.get("cpu_fallback", []))
    return manifest_text(facts, routes)


def _claims_all(chip: str, *, has_own: bool) -> bool:
    """Whether builds for a chip register every operator, kernel or not."""
    return chip not in ("gcu", "musa", "bpu") or not has_own


def _without_composite(ops: Iterable[str]) -> list[str]:
    """``none`` unregisters: an operator that torch itself can break up never reaches the CPU."""
    bare = read_manifest(DATA / "bpu.json")
    found = []
    for op in ops:
        route = bare.route(op)
        if route is None or (route.kind == "cpu_fallback" and not route.via):
            found.append(op)
    return found


def _layer() -> str:
    return max(path.stem for path in DATA.glob("torch_fl-*.json"))


def _torch_of(layer: str) -> str:
    import json

    torch: str = json.loads((DATA / f"{layer}.json").read_text(encoding="utf-8"))["torch"]
    return torch
