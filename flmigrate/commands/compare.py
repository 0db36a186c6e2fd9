"""``flmigrate compare``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from flmigrate.commands.needs import needs_torch
from flmigrate.commands.terminal import say
from flmigrate.manifests.store import check_chips
from flmigrate.runtime import twin
from flmigrate.runtime.compare_report import json_text
from flmigrate.runtime.compare_text import svg, text_lines


def run(paths: tuple[str, ...], options: dict[str, Any]) -> bool:
    """Compare, print, and tell whether every case is in order; or write references."""
    needs_torch("compare")
    if "flagos" in {options[name].partition(":")[0] for name in ("device", "reference")}:
        chip = options["chip"] if twin.which() != "real" else ""
        twin.stand_in(check_chips([chip])[0] if chip else "")
    from flmigrate.runtime import compare_runs

    try:
        if options["dump"] is not None:
            written = compare_runs.dump(paths[0], options)
            say(f"{options['dump']}: references for {written} cases", err=True)
            return True
        report = compare_runs.report(paths[0], options)
    except compare_runs.EXPECTED as error:
        raise click.UsageError(str(error)) from None
    text = json_text(report) if options["as_json"] else ""
    if not text:
        lines = text_lines(report, everything=options["verbose"])
        text = "".join(f"{line}\n" for line in lines)
    _write(options["plot"], svg(report) if options["plot"] is not None else "")
    if options["output"] is not None:
        _write(options["output"], text)
    else:
        say(text.removesuffix("\n"), err=False)
    return report.clean


def _write(path: Path | None, text: str) -> None:
    if path is not None:
        try:
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise click.FileError(str(path), error.strerror) from None
