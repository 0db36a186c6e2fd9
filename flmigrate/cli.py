"""The command line: options in, the library called, results printed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from flmigrate import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable

    from flmigrate.config import Config
    from flmigrate.findings import Result
    from flmigrate.migration import Migration

_DONE, _LEFT, _USAGE = 0, 1, 2


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="flmigrate")
def main() -> None:
    """Move PyTorch code off vendor APIs and onto Torch-FL."""


@main.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--target", metavar="NAME|FILE", help="fl (default), accelerator, or a .toml file.")
@click.option("--diff", is_flag=True, help="Print a unified diff; write nothing.")
@click.option("--patch", metavar="FILE", help="Write one patch for `git apply`; change no file.")
@click.option("--select", multiple=True, metavar="CODE", help="Only these rules (FL105, FL1, ALL).")
@click.option("--ignore", multiple=True, metavar="CODE", help="Not these rules.")
@click.option("--unsafe-fixes", is_flag=True, help="Also apply fixes that may change meaning.")
@click.option("--exclude", multiple=True, metavar="PATTERN", help="Leave out, as in .gitignore.")
@click.option(
    "--import-in",
    type=click.Choice(["entry-points", "every-file", "none"]),
    help="Where the target's import is added.",
)
@click.option("--drop-vendor", multiple=True, metavar="NAME", help="Take out arms for NAME.")
@click.option("--canonical-vendor", metavar="NAME", help="Whose arm stands for all (cuda).")
@click.option(
    "--notes",
    type=click.Choice(["above", "end", "none"]),
    help="Where inline notes go at places left for a human (above).",
)
@click.option("--no-notes", is_flag=True, help="The same as --notes none.")
@click.option(
    "--chip", multiple=True, metavar="NAME|FILE|all", help="Look at what these chips run."
)
@click.option("--possible", is_flag=True, help="With --chip: also what is not certain.")
@click.option("--allow-dirty", is_flag=True, help="Also write files with uncommitted changes.")
@click.option(
    "-j", "--jobs", type=click.IntRange(min=0), default=0, help="Processes; 0: one per core."
)
@click.option("--stdin-filename", default="<stdin>", metavar="PATH", help="The name of '-'.")
@click.option("-q", "--quiet", is_flag=True, help="No findings and no summary.")
@click.option("-v", "--verbose", is_flag=True, help="Every fix and every remark too.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 although something is left.")
def rewrite(paths: tuple[str, ...], **options: Any) -> None:
    """Rewrite the Python files under PATH for a target; '-' reads standard input.

    Exit code 0: done, or nothing to do. 1: something is left for a human, or a file was
    skipped. 2: usage or configuration error.
    """
    from flmigrate.config import ConfigError
    from flmigrate.manifests.model import ManifestError
    from flmigrate.patches import PatchError
    from flmigrate.tables import TableError

    if options["diff"] and options["patch"]:
        raise click.UsageError("--diff and --patch exclude each other")
    if "-" in paths and (len(paths) > 1 or options["patch"]):
        raise click.UsageError("'-' stands alone, and goes with --diff only")
    try:
        config = _config(paths[0], options)
        clean = _rewrite_stdin(config, options) if paths == ("-",) else _run(paths, config, options)
    except (ConfigError, ManifestError, TableError, PatchError) as error:
        click.echo(f"flmigrate: {error}", err=True)
        sys.exit(_USAGE)
    sys.exit(_DONE if clean or options["exit_zero"] else _LEFT)


def _config(first: str, options: dict[str, Any]) -> Config:
    """The configuration file's settings, overruled by the command line's."""
    from dataclasses import replace

    from flmigrate.config import ConfigError, load_config
    from flmigrate.config_checks import (
        Invalid,
        check_chip_names,
        check_codes,
        check_globs,
        check_vendors,
    )
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
        if options["chip"]:
            names = [c.strip() for text in options["chip"] for c in text.split(",") if c.strip()]
            given["chips"] = check_chip_names(names, Path())
        if options["no_notes"] or options["notes"]:
            given["notes"] = "none" if options["no_notes"] else options["notes"]
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

    job = Job(config, options["unsafe_fixes"], possible=options["possible"])
    jobs = options["jobs"] or default_jobs()
    with _Progress(quiet=options["quiet"]) as progress:
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

    def __init__(self, *, quiet: bool) -> None:
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
            self._bar = click.progressbar(length=total, label="rewriting", file=sys.stderr)
        if self._bar is not None:
            self._bar.update(done - self._last)
            self._last = done


@main.group()
def manifest() -> None:
    """What is known of each chip: the route of every operator, and hazards."""


@manifest.command("list")
def manifest_list() -> None:
    """List the configurations that are known."""
    from flmigrate.manifests.store import load, names
    from flmigrate.reports.manifests import list_lines

    _print_lines(list_lines([load(name) for name in names()]))


@manifest.command("show")
@click.argument("chip", metavar="NAME|FILE")
@click.option("--op", metavar="OP", help="Only the route of this operator (aten::mm, or mm).")
@click.option("--measured", multiple=True, metavar="FILE", help="Your own results (TOML).")
def manifest_show(chip: str, op: str | None, measured: tuple[str, ...]) -> None:
    """Show one configuration, or the route of an operator on it."""
    from flmigrate.manifests.model import ManifestError
    from flmigrate.manifests.store import check_chips, load_all
    from flmigrate.reports.manifests import op_lines, show_lines

    try:
        for found in load_all(check_chips([chip]), measured):
            lines = list(show_lines(found) if op is None else op_lines(found, op))
            if not lines:
                raise ManifestError(f'{found.name}: no operator "{op}"')
            _print_lines(lines)
    except ManifestError as error:
        _fail(error)


@manifest.command("diff")
@click.argument("before", metavar="BEFORE")
@click.argument("after", metavar="AFTER")
@click.option("--ops", is_flag=True, help="Every operator whose route differs.")
def manifest_diff(before: str, after: str, *, ops: bool) -> None:
    """Compare two configurations, by name or by file."""
    from flmigrate.manifests.model import ManifestError
    from flmigrate.manifests.store import check_chips, load
    from flmigrate.reports.manifests import diff_lines

    try:
        old, new = (load(check_chips([name])[0]) for name in (before, after))
        _print_lines(diff_lines(old, new, ops=ops))
    except ManifestError as error:
        _fail(error)


@manifest.command("import")
@click.argument("path", type=click.Path(path_type=Path), metavar="PATH")
@click.option("--config", metavar="NAME", help="Which of the configuration files in PATH.")
@click.option("--chip", metavar="NAME", help="The chip, where the file does not say.")
@click.option("--since", default="", metavar="VERSION", help="The Torch-FL version or commit.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write here, not to stdout.")
def manifest_import(
    path: Path, config: str | None, chip: str | None, since: str, output: Path | None
) -> None:
    """Make a manifest from an installed Torch-FL, or from one of its configuration files."""
    from flmigrate.manifests import conf
    from flmigrate.manifests.model import ManifestError

    try:
        files = conf.find_configurations(path)
        read = conf.choices(conf.read_configuration(file) for file in files)
        if config is not None:
            read = [c for c in read if config in (c.path.name, c.path.stem)]
        if len(read) != 1:
            known = "".join(f"\n  {c.path.name} ({conf.chip_of(c) or '?'})" for c in read)
            raise ManifestError(f"{path}: choose a file by --config{known}")
        [configuration] = read
        chosen = chip or conf.chip_of(configuration)
        if not chosen:
            raise ManifestError(f"{configuration.path}: does not say its chip; give --chip")
        name = output.stem if output is not None else configuration.path.stem
        text = conf.imported(configuration, chip=chosen, name=name, since=since)
        for problem in configuration.problems:
            _say(f"flmigrate: left out: {problem}", err=True)
        if output is None:
            click.echo(text, nl=False)
        else:
            output.write_text(text, encoding="utf-8")
    except OSError as error:
        _fail(f"{error.filename}: {error.strerror}")
    except ManifestError as error:
        _fail(error)


def _print_lines(lines: Iterable[str]) -> None:
    for line in lines:
        _say(line, err=False)


def _fail(error: object) -> NoReturn:
    _say(f"flmigrate: {error}", err=True)
    sys.exit(_USAGE)


@main.command()
@click.argument("paths", nargs=-1, metavar="PATH...")
@click.option("--chip", multiple=True, metavar="NAME|FILE|all", help="Which chips (all).")
@click.option("--measured", multiple=True, metavar="FILE", help="Your own results (TOML).")
@click.option("--explain", metavar="NAME", help="What a name or operator comes to; needs no PATH.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "html"]),
    default="text",
    show_default=True,
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write here, not to stdout.")
@click.option("--exclude", multiple=True, metavar="PATTERN", help="Leave out, as in .gitignore.")
@click.option("--possible", is_flag=True, help="Count what may be a tensor too.")
@click.option("-v", "--verbose", is_flag=True, help="All places.")
@click.option(
    "-j", "--jobs", type=click.IntRange(min=0), default=0, help="Processes; 0: one per core."
)
@click.option("--exit-zero", is_flag=True, help="Exit with 0 although a chip is blocked.")
def coverage(paths: tuple[str, ...], **options: Any) -> None:
    """Which operators the code under PATH needs, and where each would run on every chip.

    Exit code 0: it runs on all of them, natively or by the CPU. 1: a chip is blocked, or a file
    was skipped. 2: usage or configuration error.
    """
    from flmigrate.config import ConfigError
    from flmigrate.manifests.model import ManifestError

    if not paths and options["explain"] is None:
        raise click.UsageError("name a PATH, or something to --explain")
    try:
        clean = _explain(options) if options["explain"] else _cover(paths, options)
    except (ConfigError, ManifestError) as error:
        _fail(error)
    except OSError as error:
        _fail(f"{error.filename}: {error.strerror}")
    sys.exit(_DONE if clean or options["exit_zero"] else _LEFT)


def _chips(options: dict[str, Any], configured: tuple[str, ...]) -> tuple[str, ...]:
    """The chips that are named, else those of the settings, else all."""
    from flmigrate.manifests.store import check_chips

    named = [c.strip() for text in options["chip"] for c in text.split(",") if c.strip()]
    return check_chips(named or ["all"]) if named or not configured else configured


def _explain(options: dict[str, Any]) -> bool:
    from flmigrate.explain import explain
    from flmigrate.rules.coverage import facts_for

    facts = facts_for(_chips(options, ()), options["measured"])
    _print_lines(explain(options["explain"], facts.manifests, facts.table))
    return True


def _cover(paths: tuple[str, ...], options: dict[str, Any]) -> bool:
    from flmigrate.config import load_config
    from flmigrate.coverage import cover
    from flmigrate.reports.coverage import html_text, json_text, text_lines
    from flmigrate.rules import RULES
    from flmigrate.runner import default_jobs

    config = load_config(Path(paths[0]), RULES)
    found = cover(
        [Path(path) for path in paths],
        _chips(options, config.chips),
        measured=(*config.measured, *options["measured"]),
        exclude=(*config.exclude, *options["exclude"]),
        root=config.root,
        possible=options["possible"],
        jobs=options["jobs"] or default_jobs(),
    )
    if options["form"] == "text":
        text = "".join(f"{line}\n" for line in text_lines(found, everything=options["verbose"]))
    else:
        text = json_text(found) if options["form"] == "json" else html_text(found)
    if options["output"] is not None:
        options["output"].write_text(text, encoding="utf-8")
    else:
        _say(text.removesuffix("\n"), err=False)
    return not found.skipped and all(chip.level != "blocked" for chip in found.chips)


@main.command()
@click.argument("code", metavar="CODE")
def rule(code: str) -> None:
    """Explain a rule: what it does, why, examples, what to do."""
    from flmigrate.config_checks import Invalid, check_codes
    from flmigrate.rule_pages import UnknownRuleError, page_of
    from flmigrate.rules import RULES

    try:
        if code.upper() not in RULES:
            check_codes([code], [*RULES], "rule")
        _say(page_of(code.upper()).removesuffix("\n"), err=False)
    except Invalid as error:
        _fail(error)
    except UnknownRuleError:
        _fail(f'"{code}" is no single rule; `flmigrate rules` lists them')


@main.command()
def rules() -> None:
    """List the rules."""
    from flmigrate.rules import RULES

    _print_lines(f"{code}  {name}" for code, name in RULES.items())
