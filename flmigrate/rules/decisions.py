"""What is said of conditions that the target decides, and of what they guard."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from flmigrate.analysis.context import Context
from flmigrate.findings import Finding, Severity
from flmigrate.rules import collapse


@dataclass(slots=True, eq=False)
class Decided:
    """What was found: findings, tests that were dealt with, and code that others may not touch."""

    findings: list[Finding] = field(default_factory=list)
    tests: set[ast.AST] = field(default_factory=set)


def holds_of(context: Context, test: ast.expr) -> bool | None:
    """What the target decides of a test; most are told open without a look at what they ask."""
    predicates = context.predicates
    return predicates.holds(test) if predicates.may_be_decided(test) else None


def keep(context: Context, test: ast.expr, decided: Decided) -> None:
    """Leave what a test asks about vendors that are gone; the rest of it moves like other code."""
    for atom in context.predicates.atoms(test):
        if atom.holds is not None:
            decided.tests.add(atom.node)
            context.protect(atom.node)


def severity_of(context: Context, test: ast.expr) -> Severity:
    """How much it matters that a test stays: one that raises on the target is an error."""
    return Severity.ERROR if collapse.raises(context, test) else Severity.WARNING


def vendor_names(context: Context, test: ast.expr) -> set[str]:
    """The vendors that the decided operands of a test name, or all that it names."""
    atoms = list(context.predicates.atoms(test))
    found = {v for atom in atoms if atom.holds is not None for v in atom.vendors}
    return found or {v for atom in atoms for v in atom.vendors}


def vendors_of(context: Context, test: ast.expr) -> str:
    """The vendors of a test, for a message."""
    return ", ".join(sorted(vendor_names(context, test)))
