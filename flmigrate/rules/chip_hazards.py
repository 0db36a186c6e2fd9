"""Findings of hazards that are bound to a pattern in the code, not to an operator."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from flmigrate.analysis.context import Context
from flmigrate.findings import Finding, Severity
from flmigrate.manifests.hazards import Hazard, load_hazards
from flmigrate.manifests.model import Manifest


def hazards_of(
    rule: str, manifests: Sequence[Manifest]
) -> tuple[tuple[Hazard, tuple[str, ...]], ...]:
    """The hazards of a rule that concern some of the configurations, with these."""
    found = []
    for hazard in load_hazards().of(rule):
        chips = tuple(m.name for m in manifests if hazard.concerns(m))
        if chips:
            found.append((hazard, chips))
    return tuple(found)


def findings(
    context: Context, rule: str, node: ast.AST, subject: str, manifests: Sequence[Manifest]
) -> Iterator[Finding]:
    """A finding at ``node`` for each hazard of the rule; ``subject`` begins the message."""
    for hazard, chips in hazards_of(rule, manifests):
        severity = Severity(hazard.severity)
        found = context.finding(
            rule,
            f"{subject} {hazard.what}",
            node,
            severity=severity,
            note=severity is not Severity.INFO,
            detail=hazard.advice,
        )
        everywhere = len(chips) > 3 and len(chips) == len(manifests)
        yield found._replace(chips=("all",) if everywhere else chips)
