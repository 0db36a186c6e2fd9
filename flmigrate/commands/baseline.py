"""``flmigrate baseline``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from flmigrate.baseline import baseline_of, write_baseline
from flmigrate.checking import check_paths
from flmigrate.commands.settings import settings
from flmigrate.commands.terminal import Progress, say
from flmigrate.runner import Job, default_jobs

_NAME = "flmigrate-baseline.json"


def run(paths: tuple[str, ...], options: dict[str, Any]) -> bool:
    """Write the findings under the paths to a baseline; files that were skipped fail it."""
    if not paths:
        raise click.UsageError("Missing argument 'PATH...'.")
    config = settings(paths[0], options)
    jobs = options["jobs"] or default_jobs()
    with Progress("checking", quiet=options["quiet"]) as progress:
        places = [Path(path) for path in paths]
        checked = check_paths(
            places,
            Job(config, check_only=True, code_blocks=options["code_blocks"]),
            jobs=jobs,
            progress=progress,
        )
    named = options["output"] or config.check.baseline
    baseline = baseline_of(checked, Path(named) if named else config.root / _NAME)
    write_baseline(baseline)
    skipped = checked.migration.skipped
    for path, reason in skipped:
        say(f"{path}: {reason.code} skipped: {reason.message}", err=True)
    if not options["quiet"]:
        files = len({name for name, _ in baseline.places})
        say(f"{baseline.path}: {baseline.places.total()} findings in {files} files", err=True)
    return not skipped
