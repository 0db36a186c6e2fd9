"""The rules: what each finds, by code, and how they run over one file.

One module per rule family; each has a ``check(context)`` that yields findings. To add a rule,
write a module, give its code a line in ``RULES`` and add three corpus cases.

The rules FL4xx to FL6xx are about chips. They have no fix, and run where a chip is named:
``coverage.check``, which is not imported here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from flmigrate.analysis.context import Context
from flmigrate.findings import Finding, Import, Span
from flmigrate.rules import (
    api,
    backends,
    branches,
    conditions,
    default_device,
    environment,
    libraries,
    memory_stats,
    methods,
    parameters,
    plugins,
    profiling,
    slices,
    strings,
    tensor_types,
    unserved,
    vendor_choices,
)

RULES: Mapping[str, str] = {
    "FL101": "vendor-api",
    "FL102": "vendor-api-differs",
    "FL103": "no-equivalent",
    "FL104": "capability-or-version",
    "FL105": "device-string",
    "FL106": "device-method",
    "FL107": "tensor-type",
    "FL108": "process-group-backend",
    "FL109": "undecided-device-string",
    "FL110": "vendor-module-as-value",
    "FL111": "nvidia-only-condition",
    "FL112": "vendor-monkeypatch",
    "FL113": "device-slice",
    "FL114": "memory-stats-key",
    "FL115": "data-parallel",
    "FL116": "visible-devices",
    "FL117": "command-line-contract",
    "FL118": "own-device-method",
    "FL119": "discarded-move",
    "FL120": "default-device-generator",
    "FL121": "hard-coded-index",
    "FL122": "device-compared-with-str",
    "FL123": "replaced-parameters",
    "FL201": "vendor-branch",
    "FL202": "unserved-vendor",
    "FL203": "left-unused",
    "FL204": "left-unreachable",
    "FL301": "target-import",
    "FL302": "vendor-plugin-import",
    "FL303": "vendor-only-library",
    "FL304": "vendor-attention",
    "FL305": "cuda-source",
    "FL401": "operator-raises",
    "FL402": "operator-on-cpu",
    "FL403": "type-limit",
    "FL404": "operator-hazard",
    "FL405": "seen-at-run-time",
    "FL501": "compile-backend",
    "FL502": "dynamic-shapes",
    "FL503": "graphs-by-mode",
    "FL504": "attention-switch",
    "FL601": "own-streams",
    "FL602": "timing-without-waiting",
    "FL603": "blocking-copy",
    "FL604": "memory-counters",
    "FL605": "out-of-memory",
    "FL606": "pinning-device",
    "FL607": "device-properties",
    "FL608": "process-group-device",
    "FL701": "unused-suppression",
    "FL702": "suppression-without-reason",
    "FL801": "vendor-requirement",
    "FL802": "vendor-setting",
    "FL803": "vendor-variable",
    "FL804": "vendor-build",
    "FL805": "torch-pin",
    "FL901": "undecodable",
    "FL902": "does-not-parse",
    "FL903": "unreadable",
    "FL904": "guard-refused",
    "FL905": "uncommitted-changes",
    "FL906": "not-editable",
}
"""Every code and its name; codes are stable."""

# The first two protect spans that no other rule may touch.
_CHECKS = (
    conditions,
    vendor_choices,
    plugins,
    api,
    tensor_types,
    slices,
    methods,
    strings,
    backends,
    memory_stats,
    environment,
    default_device,
    parameters,
    libraries,
    profiling,
    unserved,
)


def _always(finding: Finding) -> bool:
    return True


def check(context: Context, may_fix: Callable[[Finding], bool] = _always) -> list[Finding]:
    """All findings of one file, in source order.

    A finding inside a protected span keeps its message only where it reports something that
    the protecting finding does not: fixes there are never offered. ``may_fix`` says which
    fixes have a chance to be made, and may pin what has to stay. An import whose fix has none
    stays as it is, and so its uses are spelled out: moved half, a name would be taken for the
    old one again and again.
    """
    protected = len(context.protected)
    while True:
        pinned = set(context.pinned)
        found = _findings(context)
        kept = list(branches.withhold(context, found))
        made = {span for finding in kept if may_fix(finding) for span in _moved(finding)}
        context.pinned |= {span for finding in found for span in _moved(finding)} - made
        if context.pinned == pinned:
            break
        del context.protected[protected:]
    kept.sort(key=lambda finding: (finding.span, finding.code))
    return _unique(kept)


def _moved(finding: Finding) -> list[Span]:
    """The imports that a finding's fix moves to the target."""
    edits = finding.fix.edits if finding.fix is not None else ()
    return [edit.span for edit in edits if isinstance(edit, Import) and edit.move]


def _findings(context: Context) -> list[Finding]:
    found: list[Finding] = []
    for rule in _CHECKS:
        for finding in rule.check(context):
            if rule not in (conditions, vendor_choices):
                if any(span.contains(finding.span) for span in context.protected):
                    continue
            found.append(finding)
    return found


def _unique(findings: list[Finding]) -> list[Finding]:
    """One finding per code and place; a string inside a rewritten call is reported once."""
    seen: set[tuple[str, int, int]] = set()
    kept = []
    for finding in findings:
        key = (finding.code, finding.span.start, finding.span.end)
        if key not in seen:
            seen.add(key)
            kept.append(finding)
    return kept


__all__ = ["RULES", "check"]
