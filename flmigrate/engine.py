"""One file through the pipeline: analyse, apply fixes, look again, note, guard.

The engine is pure: text in, ``Result`` out. It reads and writes no file; ``runner.py`` does
that for many.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from flmigrate.analysis.context import Context
from flmigrate.analysis.leftovers import loses_reads
from flmigrate.analysis.prefilter import is_ours, may_hold_findings
from flmigrate.analysis.project import Project
from flmigrate.analysis.source import Source, line_starts
from flmigrate.analysis.vocabulary import DEFAULT_VENDOR
from flmigrate.findings import (
    Applicability,
    Branch,
    Finding,
    Fix,
    Outcome,
    Rename,
    Result,
    Severity,
    Span,
    Text,
)
from flmigrate.fixing import (
    Progress,
    applicable,
    apply,
    brought_in,
    key_of,
    moved,
    take_back,
    text_of,
)
from flmigrate.guard import GuardError, guard_compilation, guard_names, guard_notes
from flmigrate.notes import Note, insert_notes
from flmigrate.on_chips import found_on_chips, known_on_chips
from flmigrate.rounds import choose, have
from flmigrate.rules import RULES, check, target_import
from flmigrate.rules.repeats import without_repeats
from flmigrate.suppressions import comment_findings, read_suppressions
from flmigrate.units import Analysed, Settings, Unit

_ROUNDS = 10
_WORD = re.compile(r"[^\W\d]\w*")
_PLAIN = frozenset({Rename, Text})
"""Edits that leave a program what it was for the compiler."""
_LOOKED_FOR = ("FL1", "FL2", "FL3")  # the families whose rules run over every file


def rewrite_unit(unit: Unit, settings: Settings, project: Project | None = None) -> Analysed:
    """Take one file through the pipeline.

    Nothing is raised for a file that cannot be handled: its result is ``SKIPPED`` and says
    why.
    """
    state = Progress(unit.text)
    try:
        if settings.code_blocks:
            _rewrite_examples(unit, settings, state)
        left = _run(unit, settings, project, state)
        if settings.code_blocks:
            left += _in_examples(state.text, unit, settings)
    except SyntaxError as error:
        return Analysed(_skipped(unit, "FL902", _syntax_message(error), error.lineno or 1))
    except (RecursionError, MemoryError):
        message = "too deeply nested for Python's own parser"
        return Analysed(_skipped(unit, "FL902", message))
    except GuardError as error:
        return Analysed(_skipped(unit, "FL904", str(error)))
    changed = state.text != unit.text
    result = Result(
        unit.path,
        Outcome.CHANGED if changed else Outcome.UNCHANGED,
        unit.text,
        state.text,
        tuple(state.fixed),
        tuple(left),
        edited=tuple(state.edited),
        unnoted=state.unnoted,
    )
    return Analysed(result, frozenset(state.pending))


def check_unit(unit: Unit, settings: Settings, project: Project | None = None) -> Analysed:
    """Look at one file once: its findings, fixable or not, and nothing edited.

    An import whose uses are reported is not reported itself: it follows from them. As
    ``rewrite_unit``, nothing is raised for a file that cannot be handled.
    """
    state = Progress(unit.text)
    contexts: list[Context] = []
    try:
        concerns = _may_concern(unit, settings)
        told = _in_examples(unit.text, unit, settings) if settings.code_blocks else []
        known = None if concerns else known_on_chips(settings, unit.text)
        if known is not None:
            left = (*told, *(finding for finding in known if settings.enabled(finding.code)))
            return Analysed(Result(unit.path, Outcome.UNCHANGED, unit.text, unit.text, left=left))
        source = Source(unit.text, unit.path)
        context = _context(unit, settings, project, source)
        contexts.append(context)
        findings = told
        if concerns:
            findings += without_repeats(context, _findings(unit, settings, context, state))
        findings += found_on_chips(settings, context)
        findings += _about_comments(unit, settings, context, project)
        pending = context.devices.pending | context.backends.pending
    except SyntaxError as error:
        return Analysed(_skipped(unit, "FL902", _syntax_message(error), error.lineno or 1))
    except (RecursionError, MemoryError):
        message = "too deeply nested for Python's own parser"
        return Analysed(_skipped(unit, "FL902", message))
    finally:
        for context in contexts:
            context.release()
    result = Result(unit.path, Outcome.UNCHANGED, unit.text, unit.text, left=tuple(findings))
    return Analysed(result, frozenset(pending))


def _rewrite_examples(unit: Unit, settings: Settings, state: Progress) -> None:
    """Rewrite the code in docstrings: the round before the first."""
    from flmigrate.codemods.changes import splice
    from flmigrate.examples import examples  # for runs that ask for it

    source = Source(unit.text, unit.path)
    changes: list[tuple[Span, str]] = []
    for example in examples(source):
        result = rewrite_unit(Unit(unit.path, example.text), _for_examples(settings)).result
        made = example.changes(result.after, source) if result.fixed else None
        if made:
            changes += made
            state.fixed += (example.moved(finding, source) for finding in result.fixed)
            for spans in result.edited:
                state.edited.append(tuple(example.place(span, source) for span in spans))
    if changes:
        changes.sort()
        state.rounds.append(changes)
        state.text = splice(unit.text, changes)


def _in_examples(text: str, unit: Unit, settings: Settings) -> list[Finding]:
    """What is found in the code of a text's docstrings."""
    from flmigrate.examples import examples

    source, found = Source(text, unit.path), list[Finding]()
    for example in examples(source):
        result = check_unit(Unit(unit.path, example.text), _for_examples(settings)).result
        for finding in result.left:
            placed = example.moved(finding, source)
            if finding.fix is not None:  # an edit of the example, which only a rewrite can make
                placed = placed._replace(fix=None, severity=Severity.WARNING)
            found.append(placed)
    return found


def _for_examples(settings: Settings) -> Settings:
    """Examples get no notes and no imports, and are looked at by themselves."""
    return settings._replace(code_blocks=False, notes=False, import_in="none", chips=())


def _about_comments(
    unit: Unit, settings: Settings, context: Context, project: Project | None
) -> list[Finding]:
    """What is wrong with the comments that suppress, told by looking without them."""
    suppressions = read_suppressions(context)
    if not suppressions.comments:
        return []
    silenced: list[Finding] = []
    # A part of a project may not show which vendor's code stands for all.
    for vendor in {context.canonical_vendor, DEFAULT_VENDOR}:
        asked = settings._replace(canonical_vendor=vendor)
        bare = _context(unit, asked, project, context.source)
        try:
            silenced += check(bare)
            silenced += _import_findings(settings, bare, uses_target=_uses_target(bare))
        finally:
            bare.release()

    def unknown(code: str) -> bool:
        """Whether the rule exists but did not run: what it would find is not known."""
        return code in RULES and not (code[:3] in _LOOKED_FOR and settings.enabled(code))

    comments = suppressions.comments
    required = settings.require_reason
    found = comment_findings(context, comments, silenced, unknown, require_reason=required)
    return [finding for finding in found if settings.enabled(finding.code)]


def _run(unit: Unit, settings: Settings, project: Project | None, state: Progress) -> list[Finding]:
    contexts: list[Context] = []
    try:
        return _rounds(unit, settings, project, state, contexts)
    finally:
        for context in contexts:
            context.release()


def _rounds(
    unit: Unit,
    settings: Settings,
    project: Project | None,
    state: Progress,
    contexts: list[Context],
) -> list[Finding]:
    """Fix and look again until nothing is left to fix; keeps every look in ``contexts``."""
    worth = unit.package_uses_target or _may_concern(unit, settings)
    if not worth and known_on_chips(settings, unit.text) == []:
        return []
    source = Source(state.text, unit.path)
    original = Source(unit.text, unit.path) if state.rounds else source
    if not worth:
        # Nothing of a vendor's: only what the chips make of it is to be said.
        contexts.append(_context(unit, settings, project, source))
        return _finish(settings, contexts[0], found_on_chips(settings, contexts[0]), state)
    is_given = bool(settings.canonical_vendor)
    if not is_given:
        settings = settings._replace(canonical_vendor=_vendor_of(unit.text, settings))
    left = _ROUNDS
    while left:
        try:
            if contexts:
                source = Source(state.text, unit.path, state.tree)
        except SyntaxError as error:
            raise GuardError(f"the new text would not parse: {error.msg}") from error
        context = _context(unit, settings, project, source)
        is_done = bool(state.applied) and not state.postponed
        if contexts and take_back(contexts[-1], context, state):
            context.release()
            continue
        left -= 1
        contexts.append(context)
        leftovers: list[Finding] | None = None
        if is_done:
            # All fixes are made: what they left unused goes before the rules look again.
            leftovers = _leftovers(unit, settings, project, contexts[0], context)
            chosen, state.postponed = _chosen(leftovers, context, settings, state)
            if chosen:
                apply(context, original, chosen, state)
                continue
        findings = _findings(unit, settings, context, state)
        state.pending |= context.devices.pending | context.backends.pending
        chosen, state.postponed = _chosen(findings, context, settings, state)
        if chosen and not state.fixed:
            findings += _import_along(unit, settings, context)
            chosen, state.postponed = _chosen(findings, context, settings, state)
        arms_went = Branch in state.kinds and not have(chosen, Branch)
        if leftovers is None and ((not chosen and state.fixed) or (chosen and arms_went)):
            leftovers = _leftovers(unit, settings, project, contexts[0], context)
            # What arms left unused goes in the round of the other fixes: a look less.
            brought = brought_in(chosen)
            apart = [f for f in leftovers if brought.isdisjoint(_WORD.findall(text_of(f, context)))]
            if apart:
                taken = [finding for finding, _ in chosen]
                chosen, postponed = _chosen([*taken, *apart], context, settings, state)
                state.postponed |= postponed
        if not chosen and not is_given:
            vendor = settings.vendor_at_rest or _vendor_of(state.text, settings)
            if vendor != settings.canonical_vendor:
                # Its names are gone; what is left is seen as a second run will see it.
                settings = settings._replace(canonical_vendor=vendor)
                continue
        if not chosen:
            if state.fixed:
                guard_names(contexts[0], context)
                if not state.kinds <= _PLAIN:
                    guard_compilation(contexts[0], context)
            findings += found_on_chips(settings, context)
            return _finish(settings, context, findings, state)
        apply(context, original, chosen, state)
    raise GuardError(f"the rules did not come to rest within {_ROUNDS} rounds")


def _chosen(
    findings: Sequence[Finding], context: Context, settings: Settings, state: Progress
) -> tuple[list[tuple[Finding, Fix]], bool]:
    return choose(applicable(findings, state, unsafe=settings.unsafe_fixes), context)


def _import_along(unit: Unit, settings: Settings, context: Context) -> list[Finding]:
    """The import of the target, in the round of the fixes that call for it."""
    if unit.package_uses_target or _uses_target(context):
        return []  # asked for already
    suppressions = read_suppressions(context)
    found = _import_findings(settings, context, uses_target=True)
    return [f for f in found if settings.enabled(f.code) and not suppressions.silences(f)]


def _import_findings(
    settings: Settings, context: Context, *, uses_target: bool
) -> Iterator[Finding]:
    where = settings.import_in or settings.vocabulary.target.import_where
    return target_import.check(context, where, uses_target=uses_target)


def _vendor_of(text: str, settings: Settings) -> str:
    return settings.vocabulary.canonical_vendor([text.encode("utf-8", "surrogatepass")])


def _may_concern(unit: Unit, settings: Settings) -> bool:
    if not unit.has_words:
        return is_ours(unit.text, settings.vocabulary)
    return may_hold_findings(unit.text, settings.vocabulary)


def _context(unit: Unit, settings: Settings, project: Project | None, source: Source) -> Context:
    context = Context(
        source,
        settings.vocabulary,
        unit.module,
        unit.is_package,
        canonical_vendor=settings.canonical_vendor,
        drop_vendors=settings.drop_vendors,
    )
    if project is not None:
        context.ask = project.asker(unit.module)
        context.ask_flag = project.flag_asker(unit.module)
        context.find_function = project.finder(unit.module)
    return context


def _findings(unit: Unit, settings: Settings, context: Context, state: Progress) -> list[Finding]:
    suppressions = read_suppressions(context)
    context.protected.extend(suppressions.kept)
    for line, codes in suppressions.ignored.items():
        if codes:
            continue  # silences these, not what other rules do on the line
        start = context.source.starts[line - 1]
        context.protected.append(Span(start, start + len(context.source.line_text(line))))

    def may_fix(finding: Finding) -> bool:
        if not settings.enabled(finding.code) or suppressions.silences(finding):
            return False
        why = state.refused.get(key_of(finding, finding.fix)) if finding.fix is not None else None
        if why:
            context.pinned.add(finding.span)
        return why is None

    ignored = len(context.protected)
    findings = check(context, may_fix)
    del context.protected[ignored:]
    uses = bool(state.fixed) or unit.package_uses_target or _uses_target(context)
    findings += _import_findings(settings, context, uses_target=uses)
    return [f for f in findings if settings.enabled(f.code) and not suppressions.silences(f)]


def _leftovers(
    unit: Unit, settings: Settings, project: Project | None, before: Context, after: Context
) -> list[Finding]:
    """What the fixes so far have left without use."""
    if not loses_reads(before, after):
        return []  # nor is anything unreachable: an arm goes together with its test
    suppressions = read_suppressions(after)
    from flmigrate.rules import unreachable, unused  # what only a rewrite needs

    findings = list(unreachable.check(before, after))
    if not findings:  # what only they use is looked for when they are gone
        path = Path(unit.path)
        elsewhere = project.users(path) if project is not None else None
        mentioned = project.mentions(path) if project is not None else None
        findings = list(unused.check(before, after, elsewhere, mentioned))
    return [f for f in findings if settings.enabled(f.code) and not suppressions.silences(f)]


def _uses_target(context: Context) -> bool:
    """Whether the code, not a comment or a sentence, names the target's device or module."""
    target = context.vocabulary.target
    word = target.device_type or target.namespace
    if word not in context.source.text:
        return False
    nodes, name = context.scopes.nodes, re.findall(r"\w+", word)[-1]
    imports = (*nodes[ast.Import], *nodes[ast.ImportFrom])
    words = [node.attr for node in nodes[ast.Attribute]]
    words += [node.id for node in nodes[ast.Name]]
    words += [alias.name for statement in imports for alias in statement.names]
    texts = [node.value for node in nodes[ast.Constant] if isinstance(node.value, str)]
    words += [text for text in texts if not re.search(r"\s", text)]
    return any(name in word for word in words)


def _finish(
    settings: Settings, context: Context, findings: list[Finding], state: Progress
) -> list[Finding]:
    """Insert notes, check the outcome, and give the remaining findings their final places."""
    state.unnoted = state.text
    left = [_as_left(finding, settings, state) for finding in findings]
    if not settings.notes:
        return left
    notes = [Note(f.span.start, f.label, f.message) for f in left if f.note]
    text, growth = insert_notes(
        context, notes, lambda code: _decides_on(code, settings), at_end=settings.notes_at == "end"
    )
    if text == state.text:
        return left
    guard_notes(context.source, text, growth)
    state.text = text
    starts = line_starts(text)
    return [_shifted(finding, growth, starts) for finding in left]


def _decides_on(code: str, settings: Settings) -> bool:
    """Whether notes with a code are this run's to keep up to date.

    Those about chips are another run's where this one looks at no chip.
    """
    if code not in RULES or not settings.enabled(code):
        return False
    return bool(settings.chips) or code[2] not in "456"


def _as_left(finding: Finding, settings: Settings, state: Progress) -> Finding:
    """A finding whose fix was not taken, as the reader should see it."""
    fix = finding.fix
    if fix is None:
        return finding
    if fix.applicability is Applicability.UNSAFE and not settings.unsafe_fixes:
        return finding
    why = state.refused.get(key_of(finding, fix))
    if why:
        return finding._replace(
            code="FL201", message=f"kept: {why}", severity=Severity.WARNING, note=True
        )
    message = f"{finding.message}; this place could not be edited"
    return finding._replace(code="FL906", message=message, severity=Severity.WARNING, note=False)


def _shifted(finding: Finding, growth: Sequence[tuple[int, int]], starts: Sequence[int]) -> Finding:
    shift = sum(size for at, size in growth if at <= finding.span.start)
    return moved(finding, Span(finding.span.start + shift, finding.span.end + shift), starts)


def _skipped(unit: Unit, code: str, message: str, line: int = 1) -> Result:
    reason = Finding(code, message, Span(0, 0), line, 1, line, Severity.WARNING)
    return Result(unit.path, Outcome.SKIPPED, unit.text, unit.text, reason=reason)


def _syntax_message(error: SyntaxError) -> str:
    return f"does not parse as Python 3: {error.msg}"
