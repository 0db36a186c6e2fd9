"""``flmigrate explain``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click

from flmigrate.commands.settings import settings
from flmigrate.commands.terminal import say
from flmigrate.discovery import discover
from flmigrate.explaining import ExplainError, explain, lines_of
from flmigrate.runner import Job, with_deep_stack

_PLACE = re.compile(r"(.+):(\d+)(?::\d+)?")


def run(paths: tuple[str, ...], options: dict[str, Any]) -> bool:
    """Explain the conditions at a place, and tell whether there are any."""
    [place] = paths
    found = _PLACE.fullmatch(place)
    if found is None:
        raise click.UsageError(f"{place!r} is not FILE:LINE")
    path, line = Path(found[1]), int(found[2])
    config = settings(found[1], options)
    root = config.root if path.resolve().is_relative_to(config.root.resolve()) else path.parent
    files = list(discover([root], config.exclude, config.root).files)
    known = next((file for file in files if file.resolve() == path.resolve()), None)
    if known is None:
        files.insert(0, path)
    path = known or path
    try:
        explained = with_deep_stack(lambda: explain(path, line, files, Job(config)))
    except ExplainError as error:
        raise click.UsageError(str(error)) from None
    for explanation in explained:
        for text in lines_of(explanation):
            say(text, err=False)
    if not explained:
        say(f"{place}: no condition stands here", err=True)
    return bool(explained)
