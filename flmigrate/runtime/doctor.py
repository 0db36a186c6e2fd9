"""Whether a machine can run Torch-FL: versions, chip, plugins, variables, and a smoke test.

Nothing is imported into this process: versions come from what is installed, and whatever needs
torch runs in a process of its own. So it works where torch is broken or absent.
"""

from __future__ import annotations

import json
import os
import platform
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from flmigrate.runtime.checks import AUTOLOAD, Check
from flmigrate.runtime.platforms import Platform, Requirements, requirements
from flmigrate.runtime.smoke import smoke_test

_VERSION = re.compile(r"\d+\.\d+[\w.+-]*")


@dataclass(frozen=True, slots=True)
class Machine:
    """What is looked at. ``versions`` are those of installed distributions, by module name;
    ``entry_points`` the modules that torch would load by itself; ``root`` is ``/``."""

    python: tuple[int, ...]
    versions: Mapping[str, str]
    entry_points: tuple[str, ...]
    environment: Mapping[str, str]
    root: Path = Path("/")


def this_machine(looked_for: frozenset[str]) -> Machine:
    """This process's machine; ``looked_for`` are distributions whose version matters."""
    from importlib import metadata  # 20 ms

    versions: dict[str, str] = {}
    for name in ("torch", "torch_fl", *sorted(looked_for)):
        with suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    found = metadata.entry_points(group="torch.backends")
    modules = tuple(sorted({point.value.partition(":")[0].partition(".")[0] for point in found}))
    return Machine(sys.version_info[:3], versions, modules, dict(os.environ))


def examine(machine: Machine, chip: str = "", *, smoke: bool = True) -> list[Check]:
    """All checks. ``chip`` is a chip of Torch-FL; without, the one that the machine has counts.

    Raises ``KeyError`` for an unknown chip.
    """
    needed = requirements()
    chips = [needed.platforms[chip]] if chip else _present(machine, needed)
    checks = [_python(machine, needed), *_torch(machine, needed, bool(chips))]
    checks += _chip(machine, chips)
    checks += _owners(machine, needed)
    checks += _order(machine, chips)
    checks += _variables(machine, needed, chips)
    if smoke:
        checks += smoke_test(machine.versions)
    return checks


def _python(machine: Machine, needed: Requirements) -> Check:
    found = ".".join(map(str, machine.python))
    if machine.python[:2] >= needed.python:
        return Check("Python", "ok", found)
    wanted = ".".join(map(str, needed.python))
    return Check("Python", "error", found, f"Torch-FL needs {wanted} or later")


def _torch(machine: Machine, needed: Requirements, has_chip: bool) -> Iterator[Check]:
    wanted = ".".join(map(str, needed.torch))
    after = f"{needed.torch[0]}.{needed.torch[1] + 1}"
    command = f'pip install "torch>={wanted},<{after}"'
    has_fl = "torch_fl" in machine.versions
    version = machine.versions.get("torch")
    if version is None:
        yield Check("torch", "error", "not installed", f"Torch-FL needs torch {wanted}", command)
    else:
        fits = tuple(int(p) for p in re.findall(r"\d+", version)[:2]) == needed.torch
        if fits:
            yield Check("torch", "ok", version)
        else:
            advice = f"Torch-FL is built for torch {wanted}"
            state = "error" if has_fl or has_chip else "info"
            yield Check("torch", state, version, advice, command)
    if has_fl:
        note = "its version is the same since May 2026: it does not tell builds apart"
        yield Check("torch_fl", "ok", machine.versions["torch_fl"], note)
    elif has_chip:
        yield Check(
            "torch_fl",
            "error",
            "not installed",
            "build it for the chip, against the torch that is installed",
            "ACCELERATOR=<chip> pip install --no-build-isolation ./Torch-FL",
        )
    else:
        yield Check("torch_fl", "info", "not installed", "the simulated device stands for it")


def _present(machine: Machine, needed: Requirements) -> list[Platform]:
    return [
        found
        for found in needed.platforms.values()
        if any((machine.root / node).exists() for node in found.nodes)
    ]


def _chip(machine: Machine, chips: list[Platform]) -> Iterator[Check]:
    if not chips:
        yield Check("chip", "info", "none that Torch-FL drives has a device file here")
    for chip in chips:
        nodes = [node for node in chip.nodes if (machine.root / node).exists()]
        if nodes:
            yield Check("chip", "ok", f"{chip.title}: /{nodes[0]}")
        else:
            advice = "load the driver; in a container, pass the device through"
            files = ", ".join(f"/{node}" for node in chip.nodes)
            yield Check("chip", "error", f"{chip.title}: none of {files}", advice)
        yield from _toolkit(machine, chip)
        if chip.driver:
            version = _read_version([machine.root / path for path in chip.driver])
            yield Check(f"{chip.name} driver", "ok" if version else "info", version or "unknown")


def _toolkit(machine: Machine, chip: Platform) -> Iterator[Check]:
    if not chip.home:
        return
    name = f"{chip.name} toolkit"
    named = machine.environment.get(chip.variable, "")
    home = Path(named) if named else machine.root / chip.home
    if not home.is_dir():
        state = "error" if named or chip.library else "warning"
        where = f"{chip.variable}={named}" if named else f"/{chip.home}"
        advice = f"install the toolkit, or name its folder in {chip.variable}"
        yield Check(name, state, f"no folder {where}", advice, f"export {chip.variable}=/path")
        return
    if chip.library and not (home / chip.library).exists():
        advice = f"{chip.variable} must name the folder that has it"
        yield Check(name, "error", f"{home}: no {chip.library}", advice)
        return
    version = _read_version([home / path for path in chip.versions])
    if version and chip.measured and not (version + ".").startswith(f"{chip.measured}."):
        advice = f"Torch-FL reports results for {chip.measured}; others are not known to work"
        yield Check(name, "warning", f"{version} in {home}", advice)
    else:
        yield Check(name, "ok", f"{version or 'unknown version'} in {home}")


def _read_version(files: list[Path]) -> str:
    """The first number with a dot in the first of the files that has one."""
    for path in files:
        try:
            found = _VERSION.search(path.read_text(encoding="utf-8", errors="replace"))
        except OSError:
            continue
        if found is not None:
            return found[0]
    return ""


def _owners(machine: Machine, needed: Requirements) -> Iterator[Check]:
    """PrivateUse1 has one owner; a vendor's plugin that torch loads by itself takes it first."""
    off = machine.environment.get(AUTOLOAD) == "0"
    loaded = [name for name in machine.entry_points if name != "torch_fl"]
    installed = sorted(needed.plugins & machine.versions.keys())
    if loaded and not off:
        yield Check(
            "device key",
            "error",
            f"torch loads {', '.join(loaded)} by itself",
            "it claims PrivateUse1 before torch_fl can",
            f"export {AUTOLOAD}=0",
        )
    elif installed or loaded:
        names = ", ".join(dict.fromkeys([*loaded, *installed]))
        advice = "do not import it in the same process as torch_fl"
        yield Check("device key", "info", f"{names} is installed, and not loaded", advice)
    else:
        yield Check("device key", "ok", "no other plugin")


def _order(machine: Machine, chips: list[Platform]) -> Iterator[Check]:
    for chip in chips:
        if chip.first:
            yield Check("import order", "info", "torch_fl before torch", chip.first)


def _variables(machine: Machine, needed: Requirements, chips: list[Platform]) -> Iterator[Check]:
    for chip in chips:
        for text in chip.needs:
            name, _, value = text.partition("=")
            if machine.environment.get(name) != value:
                advice = f"{chip.title} needs {text}"
                yield Check(name, "error", "not set", advice, f"export {text}")
    for setting in needed.settings:
        value = machine.environment.get(setting.name, "")
        if not value:
            continue
        elsewhere = any(chip.name in setting.unless for chip in chips) or (
            bool(setting.unless) and not chips
        )
        if setting.file and not Path(value).is_file():
            advice = "the file is not there"
            yield Check(setting.name, "error", value, advice, f"unset {setting.name}")
        elif setting.warn in ("*", value) and setting.warn and not elsewhere:
            yield Check(setting.name, "warning", value, setting.advice, setting.command)
        else:
            yield Check(setting.name, "info", value, setting.what)
    overrides = sorted(n for n in machine.environment if n.startswith("FLAGOS_OP_"))
    if overrides:
        advice = "each counts only for an operator that the loaded configuration lists"
        yield Check("FLAGOS_OP_*", "info", ", ".join(overrides), advice)


# --- telling -------------------------------------------------------------------------------


def text_lines(checks: list[Check]) -> Iterator[str]:
    """A line per check, with advice and command below what is not in order."""
    width = max(len(check.name) for check in checks)
    for check in checks:
        yield f"{check.state:7}  {check.name:{width}}  {check.found}"
        if check.advice:
            yield f"{'':7}  {'':{width}}  {check.advice}"
        if check.command and check.state in ("warning", "error"):
            yield f"{'':7}  {'':{width}}  $ {check.command}"
    errors = sum(check.state == "error" for check in checks)
    yield ""
    if not errors:
        yield "nothing stands in the way"
    else:
        yield f"{errors} thing{'s' if errors > 1 else ''} to mend"


def json_text(checks: list[Check]) -> str:
    """The checks for programs; ``state`` is ok, info, warning or error."""
    entries = [
        {
            "name": check.name,
            "state": check.state,
            "found": check.found,
            "advice": check.advice,
            "command": check.command,
        }
        for check in checks
    ]
    data = {"schema": 1, "kind": "flmigrate-doctor", "machine": platform.machine()}
    return json.dumps({**data, "checks": entries}, indent=1, ensure_ascii=False) + "\n"
