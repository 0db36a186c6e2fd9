"""``flmigrate regress``."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from flmigrate.commands.needs import needs_torch
from flmigrate.commands.terminal import say
from flmigrate.manifests.store import check_chips, load
from flmigrate.runtime.doctor import examine, this_machine
from flmigrate.runtime.regress_moves import moves, text_lines
from flmigrate.runtime.regress_runs import last_stored, run_set, store
from flmigrate.runtime.regress_set import DEFAULT, read_set


def run(paths: tuple[str, ...], options: dict[str, Any]) -> bool:
    """Run the set, store it, print what moved, and tell whether nothing got worse."""
    needs_torch("regress")
    entries = read_set(options["declared"] or Path(DEFAULT))
    folder: Path = options["results"]
    last = last_stored(folder)
    chips = check_chips([options["chip"]]) if options["chip"] else ()
    manifest = load(chips[0]) if chips else None
    done = run_set(
        entries,
        options["device"],
        manifest.name if manifest is not None else "",
        _versions(),
        timeout=options["timeout"],
        manifest=manifest,
    )
    before = last[1] if last is not None else None
    found = moves(before, done, slower=options["slower"]) if before is not None else []
    if not options["no_store"]:
        say(f"stored in {store(folder, done)}", err=True)
    if options["as_json"]:
        data = {
            "schema": 1,
            "kind": "flmigrate-moves",
            "before": before.date if before is not None else None,
            "after": done.date,
            "moves": [asdict(move) for move in found],
        }
        say(json.dumps(data, indent=1, ensure_ascii=False), err=False)
    else:
        for line in text_lines(before, done, found):
            say(line, err=False)
    return all(move.direction != "worse" for move in found)


def _versions() -> tuple[tuple[str, str], ...]:
    """What may have changed: Python's packages, toolkit and driver."""
    machine = this_machine(frozenset({"flag_gems", "triton"}))
    found = dict(machine.versions)
    for check in examine(machine, smoke=False):
        if check.name.endswith((" toolkit", " driver")):
            found[check.name] = check.found
    return tuple(sorted(found.items()))
