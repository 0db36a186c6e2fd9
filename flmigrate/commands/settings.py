"""The settings of a command: those of the configuration file, overruled by options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flmigrate.config import Config, ConfigError, load_config
from flmigrate.config_checks import (
    Invalid,
    check_chip_names,
    check_codes,
    check_globs,
    check_vendors,
)
from flmigrate.rules import RULES


def settings(first: str, options: dict[str, Any]) -> Config:
    """The settings of a run whose first path is ``first``. Raises ``ConfigError``."""
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
        if options.get("no_notes") or options.get("notes"):
            given["notes"] = "none" if options["no_notes"] else options["notes"]
        if options["exclude"]:
            given["exclude"] = (*config.exclude, *check_globs(options["exclude"], "--exclude"))
    except Invalid as error:
        raise ConfigError(str(error)) from None
    return config._replace(**given)
