"""``flmigrate doctor``."""

from __future__ import annotations

from typing import Any

import click

from flmigrate.commands.terminal import say
from flmigrate.runtime.doctor import examine, json_text, text_lines, this_machine
from flmigrate.runtime.platforms import requirements


def run(paths: tuple[str, ...], options: dict[str, Any]) -> bool:
    """Examine this machine, print what was found, and tell whether nothing is to mend."""
    needed = requirements()
    chip = options["chip"] or ""
    if chip and chip not in needed.platforms:
        raise click.UsageError(f'unknown chip "{chip}"; known: {", ".join(needed.platforms)}')
    checks = examine(this_machine(needed.plugins), chip, smoke=options["smoke"])
    if options["as_json"]:
        say(json_text(checks).removesuffix("\n"), err=False)
    else:
        for line in text_lines(checks):
            say(line, err=False)
    return all(check.state != "error" for check in checks)
