"""What the chips of a run make of a file: looked up, or found out and remembered.

The tables of chips are loaded for runs that name a chip, and only then.
"""

from __future__ import annotations

from flmigrate.analysis.context import Context
from flmigrate.analysis.prefilter import may_use
from flmigrate.findings import Finding
from flmigrate.suppressions import read_suppressions
from flmigrate.units import Settings


def known_on_chips(settings: Settings, text: str) -> list[Finding] | None:
    """What the chips make of a text, if that is known without a look at its tree."""
    if not settings.chips:
        return []
    found = settings.verdicts.get(text) if settings.verdicts is not None else None
    if found is None and not settings.possible:
        from flmigrate.rules import coverage

        if not may_use(text, coverage.words_for(settings.chips, settings.measured)):
            found = []
            if settings.verdicts is not None:
                settings.verdicts.put(text, found)
    return found


def found_on_chips(settings: Settings, context: Context) -> list[Finding]:
    """What the chips make of the finished code: it has no fix, so one look is enough."""
    if not settings.chips:
        return []
    from flmigrate.rules import coverage  # and its tables, for runs that name a chip

    text, verdicts = context.source.text, settings.verdicts
    found = verdicts.get(text) if verdicts is not None else None
    if found is None:
        found = coverage.check(
            context, settings.chips, possible=settings.possible, measured=settings.measured
        )
        if verdicts is not None:
            verdicts.put(text, found)
    suppressions = read_suppressions(context)
    return [
        finding
        for finding in found
        if settings.enabled(finding.code)
        and not suppressions.silences(finding)
        and not any(span.contains(finding.span) for span in suppressions.kept)
    ]
