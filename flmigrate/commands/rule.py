"""``flmigrate rule``."""

from __future__ import annotations

from typing import Any

from flmigrate.commands.terminal import say
from flmigrate.config import ConfigError
from flmigrate.config_checks import Invalid, check_codes
from flmigrate.rule_pages import UnknownRuleError, page_of
from flmigrate.rules import RULES


def run(paths: tuple[str, ...], options: dict[str, Any]) -> bool:
    """Print the page of the rule with the code ``paths[0]``."""
    [code] = paths
    try:
        if code.upper() not in RULES:
            check_codes([code], [*RULES], "rule")
        say(page_of(code.upper()).removesuffix("\n"), err=False)
    except Invalid as error:
        raise ConfigError(str(error)) from None
    except UnknownRuleError:
        raise ConfigError(f'"{code}" is no single rule; `flmigrate rules` lists them') from None
    return True
