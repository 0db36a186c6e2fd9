"""The command line: the commands and their options. What they do is in ``commands``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from flmigrate import __version__

_DONE, _LEFT, _USAGE = 0, 1, 2
# flmigrate.reports.FORMATS, which is not imported to show a help text.
_FORMATS = ("text", "json", "sarif", "github", "gitlab", "markdown", "rdjson")


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
        click.option("--no-cache", is_flag=True, help="Keep nothing for later runs."),
        click.option(
            "--stdin-filename", default="<stdin>", metavar="PATH", help="The name of '-'."
        ),
        click.option(
            *("--format", "output_format"),
            type=click.Choice(_FORMATS),
            default="text",
            help="How to report.",
        ),
        click.option(
            "--chip", multiple=True, metavar="NAME|FILE|all", help="Look at what these chips run."
        ),
        click.option(
            "--code-blocks", is_flag=True, help="Python in docstrings and in Markdown files, too."
        ),
        click.option("--possible", is_flag=True, help="With --chip: also what is not certain."),
        click.option("-q", "--quiet", is_flag=True, help="No findings and no summary."),
        click.option("--exit-zero", is_flag=True, help="Exit with 0 although something is left."),
    )
    for option in reversed(options):
        command = option(command)
    return command


@main.command()
@_shared
@click.option("--diff", is_flag=True, help="Print a unified diff; write nothing.")
@click.option("--patch", metavar="FILE|-", help="Write one patch for `git apply`; change no file.")
@click.option("--patch-dir", metavar="DIR", help="Write a series of patches for `git am` instead.")
@click.option("-i", "--interactive", is_flag=True, help="Ask about each change, like `git add -p`.")
@click.option("--unsafe-fixes", is_flag=True, help="Also apply fixes that may change meaning.")
@click.option(
    "--notes",
    type=click.Choice(["above", "end", "none"]),
    help="Where inline notes go at places left for a human (above).",
)
@click.option("--no-notes", is_flag=True, help="The same as --notes none.")
@click.option("--allow-dirty", is_flag=True, help="Also write files with uncommitted changes.")
@click.option("-v", "--verbose", is_flag=True, help="Every fix and every remark too.")
def rewrite(paths: tuple[str, ...], **options: Any) -> None:
    """Rewrite the Python files under PATH for a target; '-' reads standard input.

    Exit code 0: done, or nothing to do. 1: something is left for a human, or a file was
    skipped. 2: usage or configuration error.
    """
    _run("rewrite", paths, options)


@main.command()
@_shared
@click.option("--staged", is_flag=True, help="Only what the next commit adds (default PATH: all).")
@click.option("--diff-base", metavar="REF", help="Only what was added since the branch left REF.")
@click.option("--project-files", is_flag=True, help="Requirements, settings, scripts (FL8) too.")
@click.option("--baseline", metavar="FILE", help="Accept the findings that FILE lists.")
@click.option("--strict-baseline", is_flag=True, help="Fail when FILE lists what is fixed.")
@click.option("--statistics", is_flag=True, help="How often each rule reports, not where.")
@click.option("-v", "--verbose", is_flag=True, help="Remarks too; they do not count.")
def check(paths: tuple[str, ...], **options: Any) -> None:
    """Report vendor code in the Python files under PATH; '-' reads standard input.

    Nothing is written. What `rewrite` would change is marked [*]. Exit code 0: nothing found.
    1: something was. 2: usage or configuration error.
    """
    _run("check", paths, options)


@main.command()
@_shared
@click.option("-o", "--output", metavar="FILE", help="Where to (flmigrate-baseline.json).")
def baseline(paths: tuple[str, ...], **options: Any) -> None:
    """Write the findings under PATH to a file that `check --baseline` accepts."""
    _run("baseline", paths, options)


@main.command()
@_shared
@click.option("-o", "--output", required=True, metavar="FILE", help="The page to write.")
def report(paths: tuple[str, ...], **options: Any) -> None:
    """Write an HTML page on what a rewrite of PATH would fix, and what is left for people."""
    _run("report", paths, options)


@main.command()
@click.argument("place", metavar="FILE:LINE")
@click.option("--target", metavar="NAME|FILE", help="fl (default), accelerator, or a .toml file.")
@click.option("--drop-vendor", multiple=True, metavar="NAME", help="As if NAME was dropped.")
@click.option("--canonical-vendor", metavar="NAME", help="Whose arm stands for all (cuda).")
def explain(place: str, **options: Any) -> None:
    """Say what the conditions on a line ask, and why their branches go or stay.

    Exit code 0: there is a condition. 1: there is none. 2: usage or configuration error.
    """
    unset: dict[str, Any] = {
        "import_in": None,
        "select": (),
        "ignore": (),
        "exclude": (),
        "chip": (),
    }
    unset |= {"stdin_filename": "<stdin>", "exit_zero": False}
    _run("explain", (place,), {**unset, **options})


@main.command()
@click.argument("paths", nargs=-1, metavar="[FOLDER]")
@click.option("-y", "--yes", is_flag=True, help="Write without asking.")
def init(paths: tuple[str, ...], **options: Any) -> None:
    """Propose settings for the project in FOLDER (here), and write them if you agree."""
    if len(paths) > 1:
        raise click.UsageError("one folder at a time")
    _run("init", paths, {**options, "exit_zero": False})


@main.command()
@click.argument("paths", nargs=-1, metavar="PATH...")
@click.option("--chip", multiple=True, metavar="NAME|FILE|all", help="Which chips (all).")
@click.option("--measured", multiple=True, metavar="FILE", help="Your own results (TOML).")
@click.option("--explain", metavar="NAME", help="What a name or operator comes to; needs no PATH.")
@click.option(
    "--model", metavar="PKG.MOD:FACTORY", help="Trace this model instead of reading PATH."
)
@click.option("--batch", multiple=True, metavar="N,...", help="With --model: batch sizes.")
@click.option("--dtype", multiple=True, metavar="NAME,...", help="With --model: float32, ...")
@click.option("--optimizer", default="AdamW", show_default=True, help="With --model; or none.")
@click.option("--values", is_flag=True, help="With --model: compute, for models that look at data.")
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
    _run("coverage", paths, options)


@main.group()
def manifest() -> None:
    """What is known of each chip: the route of every operator, and hazards."""


@manifest.command("list")
def manifest_list() -> None:
    """List the configurations that are known."""
    _run("manifest", (), {"what": "list", "exit_zero": False})


@manifest.command("show")
@click.argument("chip", metavar="NAME|FILE")
@click.option("--op", metavar="OP", help="Only the route of this operator (aten::mm, or mm).")
@click.option("--measured", multiple=True, metavar="FILE", help="Your own results (TOML).")
def manifest_show(chip: str, **options: Any) -> None:
    """Show one configuration, or the route of an operator on it."""
    _run("manifest", (chip,), {"what": "show", "exit_zero": False, **options})


@manifest.command("diff")
@click.argument("before", metavar="BEFORE")
@click.argument("after", metavar="AFTER")
@click.option("--ops", is_flag=True, help="Every operator whose route differs.")
def manifest_diff(before: str, after: str, **options: Any) -> None:
    """Compare two configurations, by name or by file."""
    _run("manifest", (before, after), {"what": "diff", "exit_zero": False, **options})


@manifest.command("import")
@click.argument("path", metavar="PATH")
@click.option("--config", metavar="NAME", help="Which of the configuration files in PATH.")
@click.option("--chip", metavar="NAME", help="The chip, where the file does not say.")
@click.option("--since", default="", metavar="VERSION", help="The Torch-FL version or commit.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write here, not to stdout.")
def manifest_import(path: str, **options: Any) -> None:
    """Make a manifest from an installed Torch-FL, or from one of its configuration files."""
    _run("manifest", (path,), {"what": "import", "exit_zero": False, **options})


@main.command()
@click.argument("model", metavar="PKG.MOD:FACTORY")
@click.option("--reference", default="cpu", show_default=True, help="The device that is right.")
@click.option("--device", default="flagos", show_default=True, help="The device in question.")
@click.option("--chip", metavar="NAME", help="The chip behind the device, for the report.")
@click.option("--batch", multiple=True, metavar="N,...", help="Batch sizes (own, 1, 7 and 0).")
@click.option("--dtype", multiple=True, metavar="NAME,...", help="float32, bfloat16, ...")
@click.option("--mode", multiple=True, metavar="MODE,...", help="eager, compile:BACKEND.")
@click.option("--rtol", type=float, help="Instead of the type's relative tolerance.")
@click.option("--atol", type=float, help="Instead of the type's absolute tolerance.")
@click.option("--train", is_flag=True, help="In training mode, without dropout.")
@click.option("--forward-only", is_flag=True, help="No gradients.")
@click.option("--substitute", is_flag=True, help="Try each layer alone although nothing is off.")
@click.option("--repeat", type=click.IntRange(0), default=0, help="Time the best of N more runs.")
@click.option("--dump", type=click.Path(path_type=Path), help="Only write the references here.")
@click.option("--against", type=click.Path(path_type=Path), help="References from --dump.")
@click.option("--plot", type=click.Path(path_type=Path), help="Write error by layer (SVG) here.")
@click.option("--json", "as_json", is_flag=True, help="A report that other commands read.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write here, not to stdout.")
@click.option("-v", "--verbose", is_flag=True, help="All layers.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 although something is off.")
def compare(model: str, **options: Any) -> None:
    """Run a model on two devices and find the first layer and operator that differ.

    The factory returns a module and its inputs. Its code is run. Exit code 0: every case is
    within its tolerance. 1: one is not, or raises on the device. 2: usage error, or no model.
    """
    _run("compare", (model,), options)


@main.command()
@click.option("--set", "declared", type=click.Path(path_type=Path), help="Which models to run.")
@click.option("--results", type=click.Path(path_type=Path), required=True, help="The folder.")
@click.option("--device", default="flagos", show_default=True, help="The device in question.")
@click.option("--chip", metavar="NAME", help="The chip behind the device.")
@click.option("--slower", type=float, default=1.5, show_default=True, help="This is worse.")
@click.option("--timeout", type=float, default=1800.0, show_default=True, help="Seconds a model.")
@click.option("--no-store", is_flag=True, help="Compare with the last run, and keep nothing.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 although something got worse.")
def regress(**options: Any) -> None:
    """Run the project's declared models, and say what moved since the last stored run.

    Exit code 0: nothing got worse. 1: something did. 2: usage error.
    """
    _run("regress", (), options)


@main.command(
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="SCRIPT|pytest [ARG]...")
@click.option("-m", "module", metavar="MODULE", help="Run a module, as `python -m` does.")
@click.option("--chip", metavar="NAME|FILE", help="Have the operators of this chip, no others.")
@click.option("--devices", type=click.IntRange(1, 16), default=1, help="Simulated devices (1).")
@click.option(
    *("--numerics", "numerics"),
    type=click.Choice(("tf32", "bf16", "reordered")),
    multiple=True,
    help="Round products' operands, or sum in another order.",
)
@click.option("--asynchronous", is_flag=True, help="Do nothing before the program waits for it.")
@click.option(
    *("--timeout", "timeout"),
    type=click.FloatRange(min=0),
    default=600.0,
    metavar="SECONDS",
    help="End the program after this time (600); 0: never.",
)
@click.option(
    *("--memory", "memory"),
    type=click.IntRange(min=0),
    default=0,
    metavar="MIB",
    help="Memory for each process; 0: no limit.",
)
@click.option("--json", "as_json", is_flag=True, help="A report that other commands read.")
@click.option("-v", "--verbose", is_flag=True, help="All operators and all places.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 although something went wrong.")
def verify(command: tuple[str, ...], **options: Any) -> None:
    """Run a migrated program on the device, or where there is none on a simulated one.

    Options come before the program. Exit code 0: it ran, and nothing was wrong. 1: something
    was. 2: usage error, or something that a run needs is not here.
    """
    _run("verify", command, options)


@main.command()
@click.argument("paths", nargs=-1, required=True, metavar="FILE...")
@click.option("--chip", metavar="NAME|FILE", help="The chip it ran on, for routes not logged.")
@click.option("--json", "as_json", is_flag=True, help="A report that other commands read.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write here, not to stdout.")
@click.option("-v", "--verbose", is_flag=True, help="All operators and all places.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 although something raised.")
def log(paths: tuple[str, ...], **options: Any) -> None:
    """Read logs of Torch-FL, traces of torch.profiler and reports, together as one run.

    Exit code 0: nothing raised. 1: something did. 2: usage error, or a file that is no such.
    """
    _run("log", paths, options)


@main.command()
@click.option("--chip", metavar="NAME", help="The chip that should be here (the one that is).")
@click.option("--smoke/--no-smoke", default=True, help="Also compute on the device (default).")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def doctor(**options: Any) -> None:
    """Say whether this machine can run Torch-FL, what is wrong, and which command mends it.

    Exit code 0: nothing stands in the way. 1: something does. 2: usage error.
    """
    _run("doctor", (), {"exit_zero": False, **options})


@main.group()
def chip() -> None:
    """What a chip can do: operators by class, types, features, hazards, measured results."""


@chip.command("show")
@click.argument("name", metavar="NAME|FILE")
@click.option("--measured", multiple=True, metavar="FILE", help="Your own results (TOML).")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def chip_show(name: str, **options: Any) -> None:
    """Show the profile of a chip."""
    _run("chip", (name,), {"what": "show", "exit_zero": False, **options})


@chip.command("diff")
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@click.option("--measured", multiple=True, metavar="FILE", help="Your own results (TOML).")
def chip_diff(before: str, after: str, **options: Any) -> None:
    """Compare the profiles of two chips or configurations."""
    _run("chip", (before, after), {"what": "diff", "exit_zero": False, **options})


@chip.command("learn")
@click.argument("paths", nargs=-1, required=True, metavar="REPORT...")
@click.option("--chip", metavar="NAME", help="The chip, where the report does not say.")
@click.option("--overlay", type=click.Path(path_type=Path), help="Where to (the settings' own).")
def chip_learn(paths: tuple[str, ...], **options: Any) -> None:
    """Add what runs on a real chip showed to the project's own results."""
    _run("chip", paths, {"what": "learn", "exit_zero": False, **options})


@main.command()
@click.argument("code", metavar="CODE")
def rule(code: str) -> None:
    """Explain a rule: what it does, why, examples, what to do."""
    _run("rule", (code,), {"exit_zero": False})


@main.command()
def rules() -> None:
    """List the rules."""
    _run("rules", (), {"exit_zero": False})


def _run(name: str, paths: tuple[str, ...], options: dict[str, Any]) -> None:
    """Carry out a command and leave with its exit code."""
    import gc
    import importlib

    gc.disable()  # a tenth of the start, and modules leave no garbage
    command = importlib.import_module(f"flmigrate.commands.{name}")
    gc.freeze()  # and stay: no collection has to look at them
    gc.enable()
    try:
        clean = command.run(paths, options)
    except (click.ClickException, click.exceptions.Exit, click.Abort):
        raise
    except Exception as error:
        from flmigrate.commands.errors import is_expected

        if not is_expected(error):
            raise
        click.echo(f"flmigrate: {error}", err=True)
        sys.exit(_USAGE)
    sys.exit(_DONE if clean or options["exit_zero"] else _LEFT)
