"""``flmigrate chip show``, ``diff`` and ``learn``."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from flmigrate.commands.terminal import say
from flmigrate.config import load_config
from flmigrate.manifests.profile import Profile, as_data, profile
from flmigrate.manifests.store import check_chips, load, load_all
from flmigrate.reports.profiles import diff_lines, show_lines
from flmigrate.rules import RULES

_OVERLAY = "flmigrate-measured.toml"


def run(paths: tuple[str, ...], options: dict[str, Any]) -> bool:
    """Carry out one of the commands on chips, named by ``options["what"]``."""
    lines = {"show": _show, "diff": _diff, "learn": _learn}[options["what"]]
    for line in lines(paths, options):
        say(line, err=False)
    return True


def _profiles(names: tuple[str, ...], options: dict[str, Any]) -> list[Profile]:
    measured = (*load_config(Path(), RULES).measured, *options["measured"])
    return [profile(m) for name in names for m in load_all(check_chips([name]), measured)]


def _show(names: tuple[str, ...], options: dict[str, Any]) -> Iterator[str]:
    found = _profiles(names, options)
    if options["as_json"]:
        data = [as_data(one) for one in found]
        yield json.dumps(data[0] if len(data) == 1 else data, indent=1, ensure_ascii=False)
        return
    for at, one in enumerate(found):
        if at:
            yield ""
        yield from show_lines(one)


def _diff(names: tuple[str, ...], options: dict[str, Any]) -> Iterator[str]:
    for name in names:
        if name == "all":
            raise click.UsageError("name two configurations")
    before, after = _profiles(names, options)
    yield from diff_lines(before, after)


def _learn(paths: tuple[str, ...], options: dict[str, Any]) -> Iterator[str]:
    from flmigrate.runtime.learning import add_to_overlay, learned, read_any

    config = load_config(Path(), RULES)
    overlay: Path = options["overlay"] or Path(config.measured[0] if config.measured else _OVERLAY)
    for path in paths:
        report = read_any(Path(path))
        named = options["chip"] or report.chip
        if not named:
            raise click.UsageError(f"{path}: does not say its chip; give --chip")
        [chip] = check_chips([named])[:1]
        manifest = load(chip)
        found = learned(report, path, datetime.date.today(), manifest)
        new = add_to_overlay(overlay, manifest.name, found)
        yield f"{path}: {len(found)} results, {len(new)} new in {overlay}"
        for result in new:
            yield f"  {manifest.name}: aten::{result.op} {result.status}"
    if str(overlay.resolve()) not in {str(Path(m).resolve()) for m in config.measured}:
        yield f'to have it used, add measured = ["{overlay}"] to the settings'
