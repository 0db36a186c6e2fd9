"""FL401 to FL405, FL601, FL604, FL607: what a chip does with the operators and names of torch.

Each use of torch is followed to the operators that reach the device (the table of
``flmigrate/manifests``), and each of those is looked up in the manifest of every chip. Findings
are made per statement: what is said of several operators of a statement in the same words is one
finding. Nothing is looked at when no chip is configured.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property

from flmigrate.analysis.context import Context
from flmigrate.analysis.operators import POSSIBLE, RESOLVED, Operators, Use
from flmigrate.findings import Finding, Severity
from flmigrate.manifests.hazards import Hazard, load_hazards
from flmigrate.manifests.model import Manifest, Measured
from flmigrate.manifests.optable import Api, OpTable, load_table
from flmigrate.manifests.store import load_all
from flmigrate.manifests.verdicts import Leaf, leaves
from flmigrate.rules import compilation, execution

_SEVERITY = {
    "FL401": Severity.ERROR,
    "FL402": Severity.WARNING,
    "FL403": Severity.WARNING,
    "FL404": Severity.WARNING,
    "FL405": Severity.WARNING,
}
_BY_NAME = {"error": Severity.ERROR, "warning": Severity.WARNING, "info": Severity.INFO}
_SHOWN = 4  # operators in one message
_RULES = frozenset({"FL401", "FL403", "FL404", "FL405", "FL601", "FL604", "FL607"})
"""The rules whose hazards are about names or operators, wherever these are used."""


@dataclass(frozen=True, slots=True)
class Issue:
    """Something to say about one operator or name on some chips.

    ``subject`` is what the message begins with; ``what`` follows it. ``needs`` are types of
    values that the statement has to name for the issue to count.
    """

    code: str
    severity: Severity
    chips: tuple[str, ...]
    subject: str
    what: str
    advice: str = ""
    needs: frozenset[str] = frozenset()
    always: bool = True
    hazard: str = ""
    backward: bool = False


class Facts:
    """What is known of some chips, ready to be asked about public names."""

    def __init__(self, manifests: tuple[Manifest, ...]) -> None:
        self.manifests = manifests
        newest = max((m.torch for m in manifests), key=_version, default="2.10")
        self.table: OpTable = load_table(newest)
        self._issues: dict[str, tuple[Issue, ...]] = {}
        self._leaves: dict[tuple[str, str], tuple[Leaf, ...]] = {}

    @cached_property
    def hazards(self) -> tuple[Hazard, ...]:
        """The hazards that are reported here and concern one of the chips."""
        found = (h for h in load_hazards().all if h.rule in _RULES)
        return tuple(h for h in found if any(h.concerns(m) for m in self.manifests))

    @cached_property
    def names(self) -> frozenset[str]:
        """Public names that have operators or hazards."""
        apis = (api for hazard in self.hazards for api in hazard.apis if api.startswith("torch."))
        return self.table.names | frozenset(apis)

    @cached_property
    def foreign(self) -> frozenset[str]:
        """Names outside torch that have hazards."""
        apis = frozenset(api for hazard in self.hazards for api in hazard.apis)
        return frozenset(api for api in apis if not api.startswith("torch."))

    @cached_property
    def without_kernels(self) -> frozenset[str]:
        """Configurations that compute nothing by themselves: said once, not at each operator."""
        return frozenset(
            m.name
            for m in self.manifests
            if not any(route in _COMPUTING for route in m.routes.values())
        )

    def api(self, name: str) -> Api | None:
        """What a name, or an operator called by ``torch.ops``, asks a device for."""
        if "::" not in name:
            return self.table.api(name) or self._same_named(name)
        space, _, op = name.partition("::")
        return Api(name, (op.removesuffix(".default"),)) if space == "aten" else None

    def _same_named(self, name: str) -> Api | None:
        """What no sample reached: the operator of the same name, in whatever overload."""
        last = name.partition("[")[0].rpartition(".")[2]
        found = self._overloads.get(last) if name.count(".") == 1 else None
        return Api(name, (), tuple(found), origin="derived") if found else None

    @cached_property
    def _overloads(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for op in self.manifests[0].routes if self.manifests else ():
            if not op.endswith("out"):
                found.setdefault(op.partition(".")[0], []).append(op)
        return found

    def leaves(self, name: str, manifest: Manifest) -> tuple[Leaf, ...]:
        """The leaf operators of a name on a configuration."""
        key = name, manifest.name
        found = self._leaves.get(key)
        if found is None:
            api = self.api(name)
            found = leaves(api, manifest, self.table) if api is not None else ()
            self._leaves[key] = found
        return found

    def issues(self, name: str) -> tuple[Issue, ...]:
        """Everything to say about a public name on the chips."""
        found = self._issues.get(name)
        if found is None:
            gathered: dict[tuple[str, str, str, str], tuple[Issue, list[str]]] = {}
            for manifest in self.manifests:
                for issue in self._issues_on(name, manifest):
                    key = issue.code, issue.subject, issue.what, str(issue.always)
                    gathered.setdefault(key, (issue, []))[1].append(manifest.name)
            found = tuple(_on(issue, tuple(chips)) for issue, chips in gathered.values())
            self._issues[name] = found
        return found

    def _issues_on(self, name: str, manifest: Manifest) -> Iterator[Issue]:
        found = self.leaves(name, manifest)
        for leaf in found:
            yield from self._of_leaf(leaf, manifest)
        for hazard in self.hazards:
            if hazard.concerns(manifest):
                yield from self._of_hazard(hazard, name, found)
        if not found and "::" in name and not name.startswith("aten::"):
            yield Issue(
                *("FL405", Severity.WARNING, (), name.replace(".", "::", 0)),
                "is an operator of another library: no kernel for flagos is known",
            )

    def _of_leaf(self, leaf: Leaf, manifest: Manifest) -> Iterator[Issue]:
        level = leaf.route.level
        after = " in the backward pass" if leaf.phase == "backward" else ""
        measured = manifest.measured.get(leaf.op)
        if measured is not None:
            if measured.status != "ok":
                yield _measured(leaf, measured, after)
            return
        bare = manifest.name in self.without_kernels
        if level == "blocked" and not (bare and leaf.route.kind == "raises"):
            what = "raises" if leaf.route.kind == "raises" else "has no kernel and raises"
            advice = _advice(leaf.op)
            yield Issue(
                *("FL401", Severity.ERROR, (), f"aten::{leaf.op}", what + after, advice),
                always=leaf.always,
                backward=bool(after),
            )
        elif level == "cpu" and not bare:
            yield Issue(
                *("FL402", Severity.WARNING, (), f"aten::{leaf.op}", f"runs on the CPU{after}"),
                _advice(leaf.op),
                always=leaf.always,
                backward=bool(after),
            )

    def _of_hazard(self, hazard: Hazard, name: str, found: tuple[Leaf, ...]) -> Iterator[Issue]:
        if hazard.when and not name.endswith(f"[{hazard.when}]"):
            return
        severity = _BY_NAME[hazard.severity]
        plain = name.partition("[")[0]
        if any(plain == api or plain.startswith(f"{api}.") for api in hazard.apis):
            subject = plain.removeprefix("torch.nn.functional.").removeprefix("torch.nn.")
            subject = subject.removeprefix("torch.Tensor.")
            yield Issue(
                *(hazard.rule, severity, (), subject, hazard.what, hazard.advice),
                hazard=hazard.id,
            )
            return
        for leaf in found:
            if leaf.phase != "forward" or not leaf.always:
                continue
            routed = leaf.route.kind in hazard.routes
            if hazard.covers(leaf.op) or routed or any(map(hazard.covers, leaf.path)):
                yield Issue(
                    *(hazard.rule, severity, (), f"aten::{leaf.op}", hazard.what, hazard.advice),
                    needs=hazard.dtypes,
                    hazard=hazard.id,
                )


_COMPUTING = frozenset({"native", "boxed", "flaggems", "flaggems_cpp"})


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdecimal())


def _on(issue: Issue, chips: tuple[str, ...]) -> Issue:
    return replace(issue, chips=chips)


def _measured(leaf: Leaf, result: Measured, after: str) -> Issue:
    code = {"raises": "FL401", "slow": "FL402", "wrong": "FL404"}[result.status]
    words = {"raises": "raised", "slow": "was slow", "wrong": "was wrong"}[result.status]
    note = f": {result.note}" if result.note else ""
    what = f"{words} as measured on {result.date}{note}{after}"
    subject, severity = f"aten::{leaf.op}", _SEVERITY[code]
    return Issue(*(code, severity, (), subject, what), always=leaf.always, backward=bool(after))


_ADVICE = (
    ("_foreach_", "pass foreach=False to the optimizer"),
    ("_fused_ada", "pass fused=False to the optimizer"),
    ("_fused_sgd", "pass fused=False to the optimizer"),
    ("index_put", "write it with torch.where, masked_fill or scatter"),
    ("_index_put", "write it with torch.where, masked_fill or scatter"),
    ("nonzero", "use a mask and torch.where instead of indices"),
    ("masked_select", "keep the shape: multiply by the mask, or torch.where"),
    ("_thnn_fused_lstm_cell", "write the cell with linear, sigmoid and tanh"),
    ("_thnn_fused_gru_cell", "write the cell with linear, sigmoid and tanh"),
    ("grid_sampler", "compute it on the CPU, or with gather and weights"),
    ("_linalg_", "compute it on the CPU and move the result"),
    ("linalg_", "compute it on the CPU and move the result"),
    ("_fft_", "compute it on the CPU and move the result"),
)


def _advice(op: str) -> str:
    return next((advice for start, advice in _ADVICE if op.startswith(start)), "")


@cache
def facts_for(chips: tuple[str, ...], measured: tuple[str, ...] = ()) -> Facts:
    """The facts of some configurations; raises ``ManifestError`` for one that cannot be used."""
    return Facts(load_all(chips, measured))


@cache
def words_for(chips: tuple[str, ...], measured: tuple[str, ...] = ()) -> frozenset[bytes]:
    """Words of which a file must contain one to hold anything for these rules."""
    if not chips:
        return frozenset()
    facts = facts_for(chips, measured)
    found = {"torch", "torchdata", *(name.partition(".")[0] for name in facts.foreign)}
    methods = (name.rpartition(".")[2] for name in facts.table.names)
    found.update(name for name in methods if name.endswith("_") and not name.endswith("__"))
    found.discard("apply_")
    return frozenset(word.encode() for word in found)


def check(
    context: Context,
    chips: tuple[str, ...],
    *,
    possible: bool = False,
    measured: tuple[str, ...] = (),
) -> list[Finding]:
    """Findings about operators of one file on some chips, in source order; none without chips.

    ``chips`` are names of configurations or paths of manifests, as ``check_chips`` gives them.
    With ``possible``, uses that only a method's name speaks for are reported too, and operators
    that only some arguments lead to. Raises ``ManifestError`` for a chip without a manifest.
    """
    if not chips:
        return []
    facts = facts_for(chips, measured)
    statements: dict[ast.AST, list[tuple[Use, Issue]]] = {}
    for use in Operators(context, facts.names, facts.foreign).uses(possible=possible):
        issues = facts.issues(use.name)
        if issues:
            statement = context.statement(use.node) or use.node
            statements.setdefault(statement, []).extend((use, issue) for issue in issues)
    found: list[Finding] = []
    for statement, pairs in statements.items():
        found.extend(_of_statement(context, statement, pairs, facts, possible))
    for rule in (compilation, execution):
        found.extend(rule.check(context, facts.manifests))
    found.sort(key=lambda finding: (finding.span, finding.code))
    return found


def _of_statement(
    context: Context,
    statement: ast.AST,
    pairs: list[tuple[Use, Issue]],
    facts: Facts,
    possible: bool,
) -> Iterator[Finding]:
    """One finding for what is said in the same words of several operators."""
    groups: dict[tuple[object, ...], list[tuple[Use, Issue]]] = {}
    types: frozenset[str] | None = None
    for use, issue in pairs:
        if (not issue.always and not possible) or (issue.backward and not use.backward):
            continue
        if issue.needs:
            types = _types_in(statement) if types is None else types
            if not issue.needs & types and issue.code == "FL403":
                continue
        confidence = use.confidence if issue.always else POSSIBLE
        key = (issue.code, issue.chips, issue.what, issue.severity, confidence)
        groups.setdefault(key, []).append((use, issue))
    for members in groups.values():
        yield _finding(context, members, facts, possible)


def _finding(
    context: Context, members: list[tuple[Use, Issue]], facts: Facts, possible: bool
) -> Finding:
    members = sorted(members, key=lambda member: context.source.span(member[0].node))
    use, issue = members[0]
    sure = use.confidence == RESOLVED and issue.always
    subjects = list(dict.fromkeys(member.subject for _, member in members))
    ops = tuple(s.removeprefix("aten::") for s in subjects if s.startswith("aten::"))
    others = sum(m.name not in facts.without_kernels for m in facts.manifests)
    chips = ("all",) if len(issue.chips) > 3 and len(issue.chips) >= others else issue.chips
    verb, _, rest = issue.what.partition(" ")
    verb = _OF_SEVERAL.get(verb, verb) if len(subjects) > 1 else verb
    message = f"{listed(subjects)} {verb} {rest}".rstrip()
    if not sure:
        message = f"possibly: {message}"
    advice = next((member.advice for _, member in members if member.advice), "")
    found = context.finding(
        issue.code,
        message,
        use.node,
        severity=issue.severity,
        note=sure and issue.severity is not Severity.INFO,
        detail=advice,
    )
    return Finding(
        *(found.code, found.message, found.span, found.line, found.column, found.end_line),
        *(found.severity, None, found.note, found.detail, chips, ops),
        RESOLVED if sure else POSSIBLE,
    )


_OF_SEVERAL = {"runs": "run", "raises": "raise", "has": "have", "was": "were", "makes": "make"}


def listed(subjects: Iterable[str]) -> str:
    """``aten::a, b and 3 more``: a few names in one line, the prefix once."""
    names = list(subjects)
    shown = names[:_SHOWN]
    if shown and all(name.startswith("aten::") for name in shown):
        shown = [shown[0], *(name.removeprefix("aten::") for name in shown[1:])]
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(shown) + more


_TYPE_METHODS = {"double": "float64", "long": "int64", "int": "int32", "short": "int16"}


def _types_in(statement: ast.AST) -> frozenset[str]:
    """The types of values that a statement names: ``torch.float64``, ``.double()``."""
    found = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Attribute):
            found.add(_TYPE_METHODS.get(node.attr, node.attr))
    return frozenset(found)
