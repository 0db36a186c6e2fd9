"""``flmigrate rewrite``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from flmigrate import __version__
from flmigrate.choosing import choose
from flmigrate.commands.settings import settings
from flmigrate.commands.terminal import Progress, say
from flmigrate.config import Config
from flmigrate.documents import read_document, write_document
from flmigrate.encoding import UndecodableError
from flmigrate.engine import rewrite_unit
from flmigrate.files import write_atomic
from flmigrate.findings import Result
from flmigrate.guard import is_whole
from flmigrate.migration import Migration, migrate_paths, patch_root, write_results
from flmigrate.patches import PatchError, diff_bytes, diff_name, file_diff, patch, verify
from flmigrate.reports import render
from flmigrate.reports.entries import report_of
from flmigrate.reports.text import finding_lines, summary_lines
from flmigrate.runner import (
    Job,
    checked_for_encoding,
    default_jobs,
    problem,
    vocabulary_for,
    with_deep_stack,
)
from flmigrate.series import series
from flmigrate.units import Settings, Unit

_WAYS = ("diff", "patch", "patch_dir", "interactive")  # what becomes of the changes: one of them


def run(paths: tuple[str, ...], options: dict[str, Any]) -> bool:
    """Rewrite, print, and tell whether nothing is left and nothing was skipped."""
    if not paths:
        raise click.UsageError("Missing argument 'PATH...'.")
    ways = [f"--{way.replace('_', '-')}" for way in _WAYS if options[way]]
    if len(ways) > 1:
        raise click.UsageError(f"{' and '.join(ways)} exclude each other")
    if "-" in paths and (len(paths) > 1 or ways not in ([], ["--diff"])):
        raise click.UsageError("'-' stands alone, and goes with --diff only")
    config = settings(paths[0], options)
    return _rewrite_stdin(config, options) if paths == ("-",) else _rewrite(paths, config, options)


def _rewrite_stdin(config: Config, options: dict[str, Any]) -> bool:
    data = sys.stdin.buffer.read()
    name = options["stdin_filename"]
    out = sys.stdout.buffer
    try:
        document = read_document(name, data)
    except UndecodableError as error:
        if not options["diff"]:
            out.write(data)  # nothing is lost in a pipe
            out.flush()
        skipped = problem(name, "FL901", str(error), error.line)
        return _report(Migration((skipped,)), config, options, wrote=True, err=True)
    path = Path(name)
    settings = Settings(
        vocabulary_for(config.target),
        options["unsafe_fixes"],
        config.notes != "none",
        config.import_in or "",
        config.canonical_vendor or "",
        config.drop_vendors,
        config.codes_for(path.resolve()),
        chips=config.chips,
        measured=config.measured,
        possible=options["possible"],
        notes_at=config.notes,
    )
    result = with_deep_stack(lambda: rewrite_unit(Unit(name, document.text), settings).result)
    result = checked_for_encoding(result, document)
    after = write_document(document, result.after)
    out.write(diff_bytes(path.as_posix(), data, after) if options["diff"] else after)
    out.flush()
    return _report(Migration((result,)), config, options, wrote=not options["diff"], err=True)


def _rewrite(paths: tuple[str, ...], config: Config, options: dict[str, Any]) -> bool:
    job = Job(
        config,
        options["unsafe_fixes"],
        possible=options["possible"],
        code_blocks=options["code_blocks"],
        cache=not options["no_cache"],
    )
    jobs = options["jobs"] or default_jobs()
    with Progress("rewriting", quiet=options["quiet"]) as progress:
        migration = migrate_paths([Path(p) for p in paths], job, jobs=jobs, progress=progress)
    to_output = options["diff"] or options["patch"] == "-"
    wrote = False
    if options["diff"]:
        _print_diff(migration.changed)
    elif options["patch"]:
        data = patch(migration.changed, patch_root(migration.changed))
        if data:
            verify(data)
        _write_patch(options["patch"], data)
    elif options["patch_dir"]:
        written = _write_series(Path(options["patch_dir"]), migration.changed, config)
        for line in () if options["quiet"] else written:
            say(line, err=False)
    else:
        if options["interactive"]:
            migration = choose(migration, vocabulary_for(config.target))
        migration = write_results(migration, allow_dirty=options["allow_dirty"])
        wrote = True
    return _report(migration, config, options, wrote=wrote, err=to_output)


def _write_patch(name: str, data: bytes) -> None:
    if name == "-":
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    try:
        write_atomic(Path(name), data)
    except OSError as error:
        raise PatchError(f"{name}: {error.strerror}") from None


def _write_series(folder: Path, changed: tuple[Result, ...], config: Config) -> list[str]:
    """Write the patches to a folder that holds none yet; what to say of them."""
    vocabulary = vocabulary_for(config.target)

    def holds(before: str, after: str) -> bool:
        return with_deep_stack(lambda: is_whole(before, after, vocabulary))

    patches = series(changed, patch_root(changed), vocabulary.target.title, holds)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.glob("*.patch")):
            raise PatchError(f"{folder}: has patches in it already")
        for item in patches:
            write_atomic(folder / item.name, item.mail)
    except OSError as error:
        raise PatchError(f"{folder}: {error.strerror}") from None
    written = [str(folder / item.name) for item in patches]
    if any(b"\r\n" in item.mail for item in patches):
        written.append("some files have CRLF line ends: apply with `git am --keep-cr`")
    return written


def _print_diff(changed: tuple[Result, ...]) -> None:
    out = sys.stdout.buffer
    for result in changed:
        out.write(file_diff(result, diff_name(result.path)))
    out.flush()


def _report(
    migration: Migration, config: Config, options: dict[str, Any], *, wrote: bool, err: bool
) -> bool:
    """Print findings and summary; true when nothing is left and nothing was skipped."""
    if options["output_format"] != "text":
        out = render(report_of(migration, config.target, __version__), options["output_format"])
        stream = sys.stderr.buffer if err else sys.stdout.buffer
        stream.write(out.encode("utf-8", "backslashreplace"))
        stream.flush()
    elif not options["quiet"]:
        for result in migration.results:
            for line in finding_lines(result, verbose=options["verbose"]):
                say(line, err=err)
        for line in summary_lines(migration, wrote=wrote):
            say(line, err=err)
    return migration.is_clean
