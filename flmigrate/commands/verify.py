"""``flmigrate verify``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from flmigrate.commands.needs import needs_torch
from flmigrate.commands.terminal import say
from flmigrate.manifests.store import check_chips
from flmigrate.runtime import twin
from flmigrate.runtime.run_report import json_text
from flmigrate.runtime.run_text import text_lines
from flmigrate.runtime.twin.build import missing_tools
from flmigrate.runtime.verify import Limits, Twin, verify


def run(command: tuple[str, ...], options: dict[str, Any]) -> bool:
    """Run the program, print its report, and tell whether nothing went wrong."""
    needs_torch("verify")
    if options["module"]:
        command = ("-m", options["module"], *command)
    elif not command:
        raise click.UsageError("name a script, `-m MODULE`, or pytest")
    elif command[0] != "pytest" and not Path(command[0]).is_file():
        raise click.UsageError(f"{command[0]}: no such file")
    if twin.which() != "real" and (missing := missing_tools()):
        raise click.UsageError(f"the simulated device is built from C++ and needs {missing}")
    chips = check_chips([options["chip"]]) if options["chip"] else ("",)
    limits = Limits(options["timeout"], options["memory"])
    device = Twin(chips[0], options["devices"], options["asynchronous"], options["numerics"])
    report = verify(command, device=device, limits=limits)
    if options["as_json"]:
        say(json_text(report).rstrip(), err=False)
    else:
        for line in text_lines(report, everything=options["verbose"]):
            say(line, err=False)
    return report.clean
