"""``flmigrate rewrite``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from flmigrate.commands.settings import settings
from flmigrate.commands.terminal import Progress, say
from flmigrate.config import Config
from flmigrate.encoding import UndecodableError, decode, encode
from flmigrate.engine import Settings, Unit, rewrite_unit
from flmigrate.files import write_atomic
from flmigrate.findings import Result
from flmigrate.migration import Migration, migrate_paths, patch_root, write_results
from flmigrate.patches import PatchError, diff_bytes, diff_name, file_diff, patch
from flmigrate.reports.text import finding_lines, summary_lines
from flmigrate.runner import (
    Job,
    checked_for_encoding,
    default_jobs,
    problem,
    vocabulary_for,
    with_deep_stack,
)


def run(paths: tuple[str, ...], options: dict[str, Any]) -> bool:
    """Rewrite, print, and tell whether nothing is left and nothing was skipped."""
    if not paths:
        raise click.UsageError("Missing argument 'PATH...'.")
    if options["diff"] and options["patch"]:
        raise click.UsageError("--diff and --patch exclude each other")
    if "-" in paths and (len(paths) > 1 or options["patch"]):
        raise click.UsageError("'-' stands alone, and goes with --diff only")
    config = settings(paths[0], options)
    return _rewrite_stdin(config, options) if paths == ("-",) else _rewrite(paths, config, options)


def _rewrite_stdin(config: Config, options: dict[str, Any]) -> bool:
    data = sys.stdin.buffer.read()
    name = options["stdin_filename"]
    out = sys.stdout.buffer
    try:
        decoded = decode(data)
    except UndecodableError as error:
        if not options["diff"]:
            out.write(data)  # nothing is lost in a pipe
            out.flush()
        skipped = problem(name, "FL901", str(error), error.line)
        return _report(Migration((skipped,)), options, wrote=True, err=True)
    path = Path(name)
    settings = Settings(
        vocabulary_for(config.target),
        options["unsafe_fixes"],
        options["notes"],
        config.import_in or "",
        config.canonical_vendor or "",
        config.drop_vendors,
        config.codes_for(path.resolve()),
    )
    result = with_deep_stack(lambda: rewrite_unit(Unit(name, decoded.text), settings).result)
    result = checked_for_encoding(result, decoded)
    after = encode(decoded, result.after)
    out.write(diff_bytes(path.as_posix(), data, after) if options["diff"] else after)
    out.flush()
    return _report(Migration((result,)), options, wrote=not options["diff"], err=True)


def _rewrite(paths: tuple[str, ...], config: Config, options: dict[str, Any]) -> bool:
    job = Job(config, options["unsafe_fixes"], options["notes"])
    jobs = options["jobs"] or default_jobs()
    with Progress("rewriting", quiet=options["quiet"]) as progress:
        migration = migrate_paths([Path(p) for p in paths], job, jobs=jobs, progress=progress)
    wrote = False
    if options["diff"]:
        _print_diff(migration.changed)
    elif options["patch"]:
        data = patch(migration.changed, patch_root(migration.changed))
        try:
            write_atomic(Path(options["patch"]), data)
        except OSError as error:
            raise PatchError(f"{options['patch']}: {error.strerror}") from None
    else:
        migration = write_results(migration, allow_dirty=options["allow_dirty"])
        wrote = True
    return _report(migration, options, wrote=wrote, err=options["diff"])


def _print_diff(changed: tuple[Result, ...]) -> None:
    out = sys.stdout.buffer
    for result in changed:
        out.write(file_diff(result, diff_name(result.path)))
    out.flush()


def _report(migration: Migration, options: dict[str, Any], *, wrote: bool, err: bool) -> bool:
    """Print findings and summary; true when nothing is left and nothing was skipped."""
    if not options["quiet"]:
        for result in migration.results:
            for line in finding_lines(result, verbose=options["verbose"]):
                say(line, err=err)
        for line in summary_lines(migration, wrote=wrote):
            say(line, err=err)
    return migration.is_clean
