"""``flmigrate manifest list``, ``show``, ``diff`` and ``import``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from flmigrate.commands.terminal import say
from flmigrate.manifests import conf
from flmigrate.manifests.model import ManifestError
from flmigrate.manifests.store import check_chips, load, load_all, names
from flmigrate.reports.manifests import diff_lines, list_lines, op_lines, show_lines


def run(paths: tuple[str, ...], options: dict[str, Any]) -> bool:
    """Carry out one of the commands on manifests, named by ``options["what"]``."""
    if options["what"] == "import":
        try:
            _import(Path(paths[0]), options)
        except OSError as error:
            raise click.FileError(str(error.filename), error.strerror) from None
        return True
    lines = {"list": _list, "show": _show, "diff": _diff}[options["what"]]
    for line in lines(paths, options):
        say(line, err=False)
    return True


def _list(paths: tuple[str, ...], options: dict[str, Any]) -> Iterator[str]:
    yield from list_lines([load(name) for name in names()])


def _show(paths: tuple[str, ...], options: dict[str, Any]) -> Iterator[str]:
    op = options["op"]
    for found in load_all(check_chips([paths[0]]), options["measured"]):
        lines = list(show_lines(found) if op is None else op_lines(found, op))
        if not lines:
            raise ManifestError(f'{found.name}: no operator "{op}"')
        yield from lines


def _diff(paths: tuple[str, ...], options: dict[str, Any]) -> Iterator[str]:
    old, new = (load(check_chips([name])[0]) for name in paths)
    yield from diff_lines(old, new, ops=options["ops"])


def _import(path: Path, options: dict[str, Any]) -> None:
    config, output = options["config"], options["output"]
    files = conf.find_configurations(path)
    read = conf.choices(conf.read_configuration(file) for file in files)
    if config is not None:
        read = [c for c in read if config in (c.path.name, c.path.stem)]
    if len(read) != 1:
        known = "".join(f"\n  {c.path.name} ({conf.chip_of(c) or '?'})" for c in read)
        raise ManifestError(f"{path}: choose a file by --config{known}")
    [configuration] = read
    chosen = options["chip"] or conf.chip_of(configuration)
    if not chosen:
        raise ManifestError(f"{configuration.path}: does not say its chip; give --chip")
    name = output.stem if output is not None else configuration.path.stem
    text = conf.imported(configuration, chip=chosen, name=name, since=options["since"])
    for problem in configuration.problems:
        say(f"flmigrate: left out: {problem}", err=True)
    if output is None:
        click.echo(text, nl=False)
    else:
        output.write_text(text, encoding="utf-8")
