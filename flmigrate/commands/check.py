"""``flmigrate check``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flmigrate import __version__
from flmigrate.checking import (
    Check,
    check_additions,
    check_paths,
    check_text,
    is_new,
    only_new,
    with_project_files,
)
from flmigrate.commands.settings import settings
from flmigrate.commands.terminal import Progress, say
from flmigrate.config import Config
from flmigrate.discovery import Selection, is_python
from flmigrate.documents import MARKDOWN
from flmigrate.git import repository_root
from flmigrate.reports import text
from flmigrate.runner import Job, default_jobs

if TYPE_CHECKING:
    from flmigrate.additions import Additions


def run(paths: tuple[str, ...], options: dict[str, Any]) -> bool:
    """Check, print, and tell whether nothing was found."""
    wants_new = options["staged"] or options["diff_base"]
    if options["staged"] and options["diff_base"]:
        raise click.UsageError("--staged and --diff-base exclude each other")
    if "-" in paths and (len(paths) > 1 or wants_new):
        raise click.UsageError("'-' stands alone, without --staged and --diff-base")
    if not paths and not wants_new:
        raise click.UsageError("Missing argument 'PATH...'.")
    job = Job(
        settings(paths[0] if paths else "", options),
        check_only=True,
        possible=options["possible"],
        code_blocks=options["code_blocks"],
        cache=not options["no_cache"],
    )
    additions = _additions(paths, job, options) if wants_new else None
    checked = _check(paths, job, additions, options)
    baseline = options["baseline"] or job.config.check.baseline
    listed_wrongly = False
    if baseline and paths != ("-",):
        checked, listed_wrongly = _accept(checked, Path(baseline), job.config, additions, options)
    if additions is not None:
        checked = only_new(checked, additions)
    if options["output_format"] != "text":
        _print_report(checked, job.config.target, options["output_format"])
    elif not options["quiet"]:
        _print(checked, options)
    return checked.is_clean and not listed_wrongly


def _additions(paths: tuple[str, ...], job: Job, options: dict[str, Any]) -> Additions:
    from flmigrate.additions import PYTHON_NAMES, since, staged  # for what asks git only

    here = Path.cwd()
    named = [Path(path) for path in paths] or [repository_root(here) or here]
    others = {path.resolve() for path in named if _is_other(path)}
    names: tuple[str, ...] = PYTHON_NAMES
    if job.code_blocks:
        names += tuple(f"*{suffix}" for suffix in MARKDOWN)
    if others or options["project_files"]:
        from flmigrate.project_files import NAMES

        names += NAMES
    selection = Selection(named, job.config.exclude, job.config.root)
    ref = options["diff_base"]
    additions = since(ref, named, selection, names) if ref else staged(named, selection, names)
    if options["project_files"]:
        return additions
    lines = {
        path: new
        for path, new in additions.lines.items()
        if job.takes(path.name) or path.resolve() in others
    }
    return additions._replace(lines=lines)


def _check(
    paths: tuple[str, ...], job: Job, additions: Additions | None, options: dict[str, Any]
) -> Check:
    if paths == ("-",):
        return check_text(sys.stdin.buffer.read(), options["stdin_filename"], job)
    jobs = options["jobs"] or default_jobs()
    if additions is not None:
        return check_additions(additions, job, jobs=jobs, project_files=options["project_files"])
    places = [Path(path) for path in paths]
    python = [place for place in places if not _is_other(place)]
    with Progress("checking", quiet=options["quiet"]) as progress:
        checked = check_paths(python, job, jobs=jobs, progress=progress)
    folders = options["project_files"]
    if folders or len(python) < len(places):
        checked = with_project_files(checked, places, job, folders=folders)
    return checked


def _is_other(path: Path) -> bool:
    """Whether a path that was named is a file that holds no Python, but may name vendors."""
    if is_python(path.name):
        return False
    from flmigrate.project_files import is_project_file  # for these only

    return is_project_file(path.name) and not path.is_dir()


def _accept(
    checked: Check,
    path: Path,
    config: Config,
    additions: Additions | None,
    options: dict[str, Any],
) -> tuple[Check, bool]:
    """The check without known findings, and whether the baseline lists what is fixed.

    The baseline loses what is fixed, unless it has to be up to date already. Where only new
    lines count, nothing is said of the old ones.
    """
    from flmigrate.baseline import judge, read_baseline, without, write_baseline

    baseline = read_baseline(path)
    if additions is not None:
        new = additions
        judged = judge(
            checked, baseline, config.checked_codes_for, lambda *found: is_new(new, *found)
        )
        return judged.check, False
    judged = judge(checked, baseline, config.checked_codes_for)
    number = judged.fixed.total()
    if not number:
        return judged.check, False
    if options["strict_baseline"]:
        for (name, place), count in sorted(judged.fixed.items()):
            say(f"{path}: {name}: {place.code} is fixed {count}x: {place.text}", err=False)
        return judged.check, True
    write_baseline(without(baseline, judged.fixed))
    if not options["quiet"]:
        say(f"{path}: {number} fixed, taken out", err=True)
    return judged.check, False


def _print_report(checked: Check, target: str, output_format: str) -> None:
    from flmigrate.reports import render  # not for a terminal
    from flmigrate.reports.entries import report_of

    out = render(report_of(checked.migration, target, __version__), output_format)
    sys.stdout.buffer.write(out.encode("utf-8", "backslashreplace"))
    sys.stdout.buffer.flush()


def _print(checked: Check, options: dict[str, Any]) -> None:
    if options["statistics"]:
        lines = text.statistics_lines(checked)
    else:
        lines = text.check_lines(checked, verbose=options["verbose"])
    for line in lines:
        say(line, err=False)
    say(text.check_summary(checked), err=True)
