"""``flmigrate check``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from flmigrate.checking import Check, check_additions, check_paths, check_text
from flmigrate.commands.settings import settings
from flmigrate.commands.terminal import Progress, say
from flmigrate.discovery import Selection
from flmigrate.git import repository_root
from flmigrate.reports import text
from flmigrate.runner import Job, default_jobs


def run(paths: tuple[str, ...], options: dict[str, Any]) -> bool:
    """Check, print, and tell whether nothing was found."""
    only_new = options["staged"] or options["diff_base"]
    if options["staged"] and options["diff_base"]:
        raise click.UsageError("--staged and --diff-base exclude each other")
    if "-" in paths and (len(paths) > 1 or only_new):
        raise click.UsageError("'-' stands alone, without --staged and --diff-base")
    if not paths and not only_new:
        raise click.UsageError("Missing argument 'PATH...'.")
    config = settings(paths[0] if paths else "", options)
    checked = _check(paths, Job(config, check_only=True), options)
    if not options["quiet"]:
        _print(checked, options)
    return checked.is_clean


def _check(paths: tuple[str, ...], job: Job, options: dict[str, Any]) -> Check:
    if paths == ("-",):
        return check_text(sys.stdin.buffer.read(), options["stdin_filename"], job)
    if options["staged"] or options["diff_base"]:
        return _check_additions(paths, job, options)
    with Progress("checking", quiet=options["quiet"]) as progress:
        jobs = options["jobs"] or default_jobs()
        return check_paths([Path(p) for p in paths], job, jobs=jobs, progress=progress)


def _check_additions(paths: tuple[str, ...], job: Job, options: dict[str, Any]) -> Check:
    from flmigrate.additions import since, staged  # for what asks git only

    here = Path.cwd()
    named = [Path(path) for path in paths] or [repository_root(here) or here]
    selection = Selection(named, job.config.exclude, job.config.root)
    ref = options["diff_base"]
    additions = since(ref, named, selection) if ref else staged(named, selection)
    return check_additions(additions, job, jobs=options["jobs"] or default_jobs())


def _print(checked: Check, options: dict[str, Any]) -> None:
    if options["statistics"]:
        lines = text.statistics_lines(checked)
    else:
        lines = text.check_lines(checked, verbose=options["verbose"])
    for line in lines:
        say(line, err=False)
    say(text.check_summary(checked), err=True)
