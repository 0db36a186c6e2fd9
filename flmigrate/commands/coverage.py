"""``flmigrate coverage``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from flmigrate.commands.terminal import say
from flmigrate.config import load_config
from flmigrate.coverage import cover
from flmigrate.explain import explain
from flmigrate.manifests.store import check_chips
from flmigrate.reports.coverage import html_text, json_text, text_lines
from flmigrate.rules import RULES
from flmigrate.rules.coverage import facts_for
from flmigrate.runner import default_jobs


def run(paths: tuple[str, ...], options: dict[str, Any]) -> bool:
    """Cover or explain, print, and tell whether no chip is blocked and no file skipped."""
    if not paths and options["explain"] is None:
        raise click.UsageError("name a PATH, or something to --explain")
    try:
        return _explain(options) if options["explain"] else _cover(paths, options)
    except OSError as error:
        raise click.FileError(str(error.filename), error.strerror) from None


def _chips(options: dict[str, Any], configured: tuple[str, ...]) -> tuple[str, ...]:
    """The chips that are named, else those of the settings, else all."""
    named = [c.strip() for text in options["chip"] for c in text.split(",") if c.strip()]
    return check_chips(named or ["all"]) if named or not configured else configured


def _explain(options: dict[str, Any]) -> bool:

    facts = facts_for(_chips(options, ()), options["measured"])
    for line in explain(options["explain"], facts.manifests, facts.table):
        say(line, err=False)
    return True


def _cover(paths: tuple[str, ...], options: dict[str, Any]) -> bool:

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
        say(text.removesuffix("\n"), err=False)
    return not found.skipped and all(chip.level != "blocked" for chip in found.chips)
