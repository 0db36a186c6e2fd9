"""``flmigrate coverage``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from flmigrate.commands.terminal import say
from flmigrate.config import load_config
from flmigrate.coverage import Coverage, cover
from flmigrate.explain import explain
from flmigrate.manifests.store import check_chips
from flmigrate.reports.coverage import html_text, json_text, text_lines
from flmigrate.rules import RULES
from flmigrate.rules.coverage import facts_for
from flmigrate.runner import default_jobs


def run(paths: tuple[str, ...], options: dict[str, Any]) -> bool:
    """Cover or explain, print, and tell whether no chip is blocked and no file skipped."""
    if options["model"] is not None:
        if paths or options["explain"]:
            raise click.UsageError("--model stands alone, without PATH and --explain")
        return _model(options)
    if not paths and options["explain"] is None:
        raise click.UsageError("name a PATH, a --model, or something to --explain")
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


def _model(options: dict[str, Any]) -> bool:
    from flmigrate.commands.needs import needs_torch

    needs_torch("coverage --model")
    from flmigrate.runtime.model_coverage import cover_model
    from flmigrate.runtime.subject import SubjectError

    try:
        found, head = cover_model(options["model"], _chips(options, ()), options)
    except SubjectError as error:
        raise click.UsageError(str(error)) from None
    return _show(found, options, head)


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
    return _show(found, options)


def _show(found: Coverage, options: dict[str, Any], head: str = "") -> bool:
    if options["form"] == "text":
        lines = text_lines(found, everything=options["verbose"], head=head)
        text = "".join(f"{line}\n" for line in lines)
    else:
        text = json_text(found) if options["form"] == "json" else html_text(found)
    if options["output"] is not None:
        try:
            options["output"].write_text(text, encoding="utf-8")
        except OSError as error:
            raise click.FileError(str(options["output"]), error.strerror) from None
    else:
        say(text.removesuffix("\n"), err=False)
    return not found.skipped and all(chip.level != "blocked" for chip in found.chips)
