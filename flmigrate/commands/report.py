"""``flmigrate report``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from flmigrate import __version__
from flmigrate.commands.settings import settings
from flmigrate.commands.terminal import Progress, say
from flmigrate.config import Config
from flmigrate.files import write_atomic
from flmigrate.migration import migrate_paths
from flmigrate.patches import PatchError
from flmigrate.reports.entries import report_of
from flmigrate.reports.html import Heat, render
from flmigrate.runner import Job, default_jobs


def run(paths: tuple[str, ...], options: dict[str, Any]) -> bool:
    """Rewrite in memory, and write the page about it."""
    if not paths:
        raise click.UsageError("Missing argument 'PATH...'.")
    config = settings(paths[0], options)
    jobs = options["jobs"] or default_jobs()
    with Progress("rewriting", quiet=options["quiet"]) as progress:
        places = [Path(path) for path in paths]
        migration = migrate_paths(
            places,
            Job(config, notes=False, code_blocks=options["code_blocks"]),
            jobs=jobs,
            progress=progress,
        )
    name = places[0].resolve().name
    heat = _heat(places, config, options) if config.chips else None
    page = render(report_of(migration, config.target, __version__), f"Migration of {name}", heat)
    output = Path(options["output"])
    try:
        write_atomic(output, page.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise PatchError(f"{output}: {error.strerror}") from None
    if not options["quiet"]:
        say(f"{output}: {len(migration.results)} files", err=True)
    return True


def _heat(places: list[Path], config: Config, options: dict[str, Any]) -> Heat:
    from flmigrate.coverage import cover  # and the tables of chips, where one is named
    from flmigrate.reports.heat import heat_of

    return heat_of(
        cover(
            places,
            config.chips,
            measured=config.measured,
            exclude=config.exclude,
            root=config.root,
            possible=options["possible"],
            jobs=options["jobs"] or default_jobs(),
        )
    )
