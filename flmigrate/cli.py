"""The command line: options in, the library called, results printed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flmigrate import __version__

if TYPE_CHECKING:
    from flmigrate.checking import Check
    from flmigrate.config import Config
    from flmigrate.findings import Result
    from flmigrate.migration import Migration
    from flmigrate.runner import Job

_DONE, _LEFT, _USAGE = 0, 1, 2


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="flmigrate")
def main() -> None:
    """Move PyTorch code off vendor APIs and onto Torch-FL."""


def _shared(command: Callable[..., None]) -> Callable[..., None]:
    """Options that mean the same to every command that looks at files."""
    options = (
        click.argument("paths", nargs=-1, metavar="PATH..."),
        click.option(
            "--target", metavar="NAME|FILE", help="fl (default), accelerator, or a .toml file."
        ),
        click.option(
            "--select", multiple=True, metavar="CODE", help="Only these rules (FL105, FL1, ALL)."
        ),
        click.option("--ignore", multiple=True, metavar="CODE", help="Not these rules."),
        click.option(
            "--exclude", multiple=True, metavar="PATTERN", help="Leave out, as in .gitignore."
        ),
        click.option(
            "--import-in",
            type=click.Choice(["entry-points", "every-file", "none"]),
            help="Where the target's import is added.",
        ),
        click.option(
            "--drop-vendor", multiple=True, metavar="NAME", help="Take out arms for NAME."
        ),
        click.option("--canonical-vendor", metavar="NAME", help="Whose arm stands for all (cuda)."),
        click.option(
            *("-j", "--jobs"),
            type=click.IntRange(min=0),
            default=0,
            help="Processes; 0: one per core.",
        ),
        click.option(
            "--stdin-filename", default="<stdin>", metavar="PATH", help="The name of '-'."
        ),
        click.option("-q", "--quiet", is_flag=True, help="No findings and no summary."),
        click.option("--exit-zero", is_flag=True, help="Exit with 0 although something is left."),
    )
    for option in reversed(options):
        command = option(command)
    return command


@main.command()
@_shared
@click.option("--diff", is_flag=True, help="Print a unified diff; write nothing.")
@click.option("--patch", metavar="FILE", help="Write one patch for `git apply`; change no file.")
@click.option("--unsafe-fixes", is_flag=True, help="Also apply fixes that may change meaning.")
@click.option("--notes/--no-notes", default=True, help="Inline notes at places left for a human.")
@click.option("--allow-dirty", is_flag=True, help="Also write files with uncommitted changes.")
@click.option("-v", "--verbose", is_flag=True, help="Every fix and every remark too.")
def rewrite(paths: tuple[str, ...], **options: Any) -> None:
    """Rewrite the Python files under PATH for a target; '-' reads standard input.

    Exit code 0: done, or nothing to do. 1: something is left for a human, or a file was
    skipped. 2: usage or configuration error.
    """
    from flmigrate.config import ConfigError
    from flmigrate.patches import PatchError
    from flmigrate.tables import TableError

    if not paths:
        raise click.UsageError("Missing argument 'PATH...'.")
    if options["diff"] and options["patch"]:
        raise click.UsageError("--diff and --patch exclude each other")
    if "-" in paths and (len(paths) > 1 or options["patch"]):
        raise click.UsageError("'-' stands alone, and goes with --diff only")
    try:
        config = _config(paths[0], options)
        clean = _rewrite_stdin(config, options) if paths == ("-",) else _run(paths, config, options)
    except (ConfigError, TableError, PatchError) as error:
        click.echo(f"flmigrate: {error}", err=True)
        sys.exit(_USAGE)
    sys.exit(_DONE if clean or options["exit_zero"] else _LEFT)


@main.command()
@_shared
@click.option("--staged", is_flag=True, help="Only what the next commit adds (default PATH: all).")
@click.option("--diff-base", metavar="REF", help="Only what was added since the branch left REF.")
@click.option("--statistics", is_flag=True, help="How often each rule reports, not where.")
@click.option("-v", "--verbose", is_flag=True, help="Remarks too; they do not count.")
def check(paths: tuple[str, ...], **options: Any) -> None:
    """Report vendor code in the Python files under PATH; '-' reads standard input.

    Nothing is written. What `rewrite` would change is marked [*]. Exit code 0: nothing found.
    1: something was. 2: usage or configuration error.
    """
    from flmigrate.config import ConfigError
    from flmigrate.git import GitError
    from flmigrate.patches import PatchError
    from flmigrate.tables import TableError

    if options["staged"] and options["diff_base"]:
        raise click.UsageError("--staged and --diff-base exclude each other")
    only_new = options["staged"] or options["diff_base"]
    if "-" in paths and (len(paths) > 1 or only_new):
        raise click.UsageError("'-' stands alone, without --staged and --diff-base")
    if not paths and not only_new:
        raise click.UsageError("Missing argument 'PATH...'.")
    try:
        checked = _check(paths, _config(paths[0] if paths else "", options), options)
    except (ConfigError, TableError, GitError, PatchError) as error:
        click.echo(f"flmigrate: {error}", err=True)
        sys.exit(_USAGE)
    if not options["quiet"]:
        _print_check(checked, options)
    sys.exit(_DONE if checked.is_clean or options["exit_zero"] else _LEFT)


def _check(paths: tuple[str, ...], config: Config, options: dict[str, Any]) -> Check:
    from flmigrate.checking import check_paths, check_text
    from flmigrate.runner import Job, default_jobs

    job = Job(config, check_only=True)
    if paths == ("-",):
        return check_text(sys.stdin.buffer.read(), options["stdin_filename"], job)
    if options["staged"] or options["diff_base"]:
        return _check_additions(paths, job, options)
    with _Progress("checking", quiet=options["quiet"]) as progress:
        jobs = options["jobs"] or default_jobs()
        return check_paths([Path(p) for p in paths], job, jobs=jobs, progress=progress)


def _check_additions(paths: tuple[str, ...], job: Job, options: dict[str, Any]) -> Check:
    from flmigrate.additions import since, staged
    from flmigrate.checking import check_additions
    from flmigrate.discovery import Selection
    from flmigrate.git import repository_root
    from flmigrate.runner import default_jobs

    here = Path.cwd()
    named = [Path(path) for path in paths] or [repository_root(here) or here]
    selection = Selection(named, job.config.exclude, job.config.root)
    ref = options["diff_base"]
    additions = since(ref, named, selection) if ref else staged(named, selection)
    return check_additions(additions, job, jobs=options["jobs"] or default_jobs())


def _print_check(checked: Check, options: dict[str, Any]) -> None:
    from flmigrate.reports import text

    if options["statistics"]:
        lines = text.statistics_lines(checked)
    else:
        lines = text.check_lines(checked, verbose=options["verbose"])
    for line in lines:
        _say(line, err=False)
    _say(text.check_summary(checked), err=True)


def _config(first: str, options: dict[str, Any]) -> Config:
    """The configuration file's settings, overruled by the command line's."""
    from dataclasses import replace

    from flmigrate.config import ConfigError, load_config
    from flmigrate.config_checks import Invalid, check_codes, check_globs, check_vendors
    from flmigrate.rules import RULES

    start = Path(options["stdin_filename"]) if first == "-" else Path(first)
    config = load_config(start, RULES)
    given: dict[str, Any] = {}
    for name in ("target", "import_in"):
        if options[name] is not None:
            given[name] = options[name]
    try:
        for name in ("select", "ignore"):
            codes = [c.strip() for text in options[name] for c in text.split(",") if c.strip()]
            if codes:
                given[name] = check_codes(codes, RULES, f"--{name}")
        if options["drop_vendor"]:
            dropped = check_vendors(options["drop_vendor"], "--drop-vendor")
            given["drop_vendors"] = (*config.drop_vendors, *dropped)
        if options["canonical_vendor"]:
            [vendor] = check_vendors([options["canonical_vendor"]], "--canonical-vendor")
            given["canonical_vendor"] = vendor
        if options["exclude"]:
            given["exclude"] = (*config.exclude, *check_globs(options["exclude"], "--exclude"))
    except Invalid as error:
        raise ConfigError(str(error)) from None
    return replace(config, **given)


def _rewrite_stdin(config: Config, options: dict[str, Any]) -> bool:
    from flmigrate.encoding import UndecodableError, decode, encode
    from flmigrate.engine import Settings, Unit, rewrite_unit
    from flmigrate.migration import Migration
    from flmigrate.patches import diff_bytes
    from flmigrate.runner import checked_for_encoding, problem, vocabulary_for, with_deep_stack

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


def _run(paths: tuple[str, ...], config: Config, options: dict[str, Any]) -> bool:
    from flmigrate.files import write_atomic
    from flmigrate.migration import migrate_paths, patch_root, write_results
    from flmigrate.patches import PatchError, patch
    from flmigrate.runner import Job, default_jobs

    job = Job(config, options["unsafe_fixes"], options["notes"])
    jobs = options["jobs"] or default_jobs()
    with _Progress("rewriting", quiet=options["quiet"]) as progress:
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
    from flmigrate.patches import diff_name, file_diff

    out = sys.stdout.buffer
    for result in changed:
        out.write(file_diff(result, diff_name(result.path)))
    out.flush()


def _report(migration: Migration, options: dict[str, Any], *, wrote: bool, err: bool) -> bool:
    """Print findings and summary; true when nothing is left and nothing was skipped."""
    from flmigrate.reports.text import finding_lines, summary_lines

    if not options["quiet"]:
        for result in migration.results:
            for line in finding_lines(result, verbose=options["verbose"]):
                _say(line, err=err)
        for line in summary_lines(migration, wrote=wrote):
            _say(line, err=err)
    return migration.is_clean


def _say(line: str, *, err: bool) -> None:
    """Print a line; what the stream cannot show (in a file's name) is escaped."""
    encoding = (sys.stderr if err else sys.stdout).encoding or "utf-8"
    click.echo(line.encode(encoding, "backslashreplace").decode(encoding), err=err)


class _Progress:
    """A bar on standard error, only on a terminal, and only once a run takes a while."""

    _AFTER = 1.0  # seconds

    def __init__(self, label: str, *, quiet: bool) -> None:
        self._label = label
        self._shown = sys.stderr.isatty() and not quiet
        self._bar: Any = None
        self._last = 0

    def __enter__(self) -> Any:
        import time

        self._start = time.monotonic()
        return self._advance

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.render_finish()

    def _advance(self, done: int, total: int) -> None:
        import time

        if not self._shown:
            return
        if self._bar is None and time.monotonic() - self._start > self._AFTER:
            self._bar = click.progressbar(length=total, label=self._label, file=sys.stderr)
        if self._bar is not None:
            self._bar.update(done - self._last)
            self._last = done
