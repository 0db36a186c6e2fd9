"""Plain data that rules hand to codemods, reports and patches.

A rule and a codemod never meet anywhere else: the rule says *where* and *what* with the
classes of this module, the codemod carries it out.

They are named tuples, as those of other modules that every command imports: a frozen dataclass
with slots takes six times as long to define, and there are fifty of them in a start.

All offsets count characters of the decoded text, from 0, end exclusive. Lines and columns
count from 1, as compilers and editors print them.
"""

from __future__ import annotations

import enum
from typing import NamedTuple


class Span(NamedTuple):
    """A half-open range of characters of the decoded source."""

    start: int
    end: int

    def contains(self, other: Span) -> bool:
        """Whether ``other`` lies completely inside this span (equal spans do)."""
        return self.start <= other.start and other.end <= self.end

    def overlaps(self, other: Span) -> bool:
        """Whether the two spans share at least one character."""
        return self.start < other.end and other.start < self.end


class Applicability(enum.Enum):
    """When a fix is applied, with the words ruff uses.

    ``SAFE``: the program means on the target what it meant before; applied by default.
    ``UNSAFE``: the meaning may change; applied with ``--unsafe-fixes`` only.
    """

    SAFE = "safe"
    UNSAFE = "unsafe"


class Severity(enum.Enum):
    """How much a finding matters once its fix, if any, has been applied.

    ``ERROR``: the migrated program would fail when imported or started.
    ``WARNING``: a place that a human must look at.
    ``INFO``: worth knowing; never counted as left for a human.
    """

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


# --- edits: one class per codemod ----------------------------------------------------------


class Rename(NamedTuple):
    """Give a name another spelling (``codemods/rename.py``).

    ``span`` is either one identifier inside an attribute chain (``cuda`` in
    ``torch.cuda.Stream``; ``new`` is then one identifier) or a whole name or attribute
    chain (``new`` is then a dotted name).
    """

    span: Span
    new: str


class Text(NamedTuple):
    """Change how the text of a string literal begins (``codemods/strings.py``).

    ``span`` is a string expression: plain, f-string or implicitly concatenated. Its first
    non-empty piece of text starts with ``old``, which becomes ``new``; quotes, prefix and
    the rest stay. With ``expression``, ``new`` is a Python expression: a literal that is
    nothing but ``old`` becomes that expression, any other becomes an f-string that
    interpolates it.
    """

    span: Span
    old: str
    new: str
    expression: bool = False


class Expression(NamedTuple):
    """Put another expression in place of one (``codemods/expression.py``).

    ``template`` is Python source in which the names ``__0__``, ``__1__``, ... stand for the
    sub-expressions at ``holes``; these keep their own text, comments and nested edits. A
    hole in argument position takes the whole argument with its keyword or star. A hole may be
    ``span`` itself: the template then wraps the expression, whatever other edits make of it.
    """

    span: Span
    template: str
    holes: tuple[Span, ...] = ()


class Arguments(NamedTuple):
    """Change the argument list of a call and leave its layout alone (``codemods/arguments.py``).

    ``span`` is the call. ``first`` is put before the first argument; ``last`` are put after
    the last one. ``names`` pairs positions in the original list with the keyword that the
    positional argument there gets; ``values`` pairs positions with a new value expression;
    ``drop`` lists positions to remove.
    """

    span: Span
    first: str | None = None
    last: tuple[str, ...] = ()
    names: tuple[tuple[int, str], ...] = ()
    values: tuple[tuple[int, str], ...] = ()
    drop: tuple[int, ...] = ()


class Import(NamedTuple):
    """Change an import statement (``codemods/imports.py``).

    ``span`` is the statement. ``remove`` lists aliases to drop, written as in the statement
    (``"torch_npu"``, ``"torch.cuda"``, ``"autocast"``). ``move`` gives aliases a new home:
    ``(alias, new module or None for a plain import, new name)``; the local name stays bound,
    with ``as`` where it would change, except for the aliases in ``free``, whose uses are renamed
    too. ``again`` lists names that are bound to themselves once more, ``a as a``, which says that
    they are imported for others. ``add`` are complete import statements put on lines of their own
    directly before the statement; they may end in a comment.
    An import left with no alias is removed; a suite left empty gets ``pass``.
    """

    span: Span
    remove: tuple[str, ...] = ()
    move: tuple[tuple[str, str | None, str], ...] = ()
    add: tuple[str, ...] = ()
    free: tuple[str, ...] = ()
    again: tuple[str, ...] = ()


class Statement(NamedTuple):
    """Replace or remove one whole simple statement (``codemods/statement.py``).

    ``new`` is the new statement's source, lines joined by ``\\n`` and indented relative to
    the statement; the names ``__0__``, ... stand for the expressions at ``holes``. ``None``
    removes the statement; a suite left empty gets ``pass``.
    """

    span: Span
    new: str | None
    holes: tuple[Span, ...] = ()


class Branch(NamedTuple):
    """Take arms out of a branching statement, or dissolve it (``codemods/branches.py``).

    ``span`` is the whole statement: the outermost ``if`` with its ``elif``s and ``else``, a
    ``try`` or a ``match``. Arms are numbered in source order, from 0: those of a ``try`` are
    its body, its handlers, its ``else`` and its ``finally``.

    ``arms`` lists those that stay, in order, with the source of their new test: ``""`` is the
    test that they have, ``None`` is no test, for the last one only. The first one becomes
    ``if``, those after it ``elif``, one without a test ``else``. If the only one has no test,
    the statement dissolves into its suite, one indent less. Without arms it is removed; a
    suite left empty gets ``pass``. A ``try`` is removed, or dissolves into one of its suites
    or into its body followed by its ``else``. A ``match`` keeps cases as they are, with the
    test ``""``, and at least one.
    """

    span: Span
    arms: tuple[tuple[int, str | None], ...] = ()


class Removal(NamedTuple):
    """Take one whole statement out, of whatever kind (``codemods/removal.py``).

    ``span`` is the statement, which has its lines to itself; its decorators go too, and so do
    comments above that are about nothing else. A suite left empty gets ``pass``.
    """

    span: Span


class Members(NamedTuple):
    """Drop members of a literal, or operands of ``and``/``or`` (``codemods/members.py``).

    ``span`` is the list, tuple, set or dictionary, or the boolean operation; ``drop`` are
    positions of its members (of key/value pairs in a dictionary), or of its operands. A
    boolean operation left with one operand becomes that operand.
    """

    span: Span
    drop: tuple[int, ...]


Edit = Rename | Text | Expression | Arguments | Import | Statement | Branch | Removal | Members


# --- findings ------------------------------------------------------------------------------


class Fix(NamedTuple):
    """The edits that belong together: all of them are made, or none.

    ``title`` says what the fix does, in the imperative, for reports.
    """

    title: str
    edits: tuple[Edit, ...]
    applicability: Applicability = Applicability.SAFE


class Finding(NamedTuple):
    """One place in a source file that a rule reports.

    ``message`` is short enough for an inline comment; ``detail`` says more in reports.
    ``note`` asks for that comment when the place is left for a human; findings about a whole
    contract (a user-defined method, a third-party runtime) are reported only.
    Findings about operators name the ``chips`` (configurations; empty for all other findings) and
    the leaf ``ops``; their ``confidence`` is ``possible`` where only a method's name speaks for a
    tensor.
    """

    code: str
    message: str
    span: Span
    line: int
    column: int
    end_line: int
    severity: Severity = Severity.WARNING
    fix: Fix | None = None
    note: bool = False
    detail: str = ""
    chips: tuple[str, ...] = ()
    ops: tuple[str, ...] = ()
    confidence: str = "resolved"

    @property
    def label(self) -> str:
        """The code as notes and reports show it: with the chips it is about."""
        return f"{self.code}[{','.join(self.chips)}]" if self.chips else self.code


class Outcome(enum.Enum):
    """What became of one file."""

    UNCHANGED = "unchanged"
    CHANGED = "changed"
    SKIPPED = "skipped"


class Result(NamedTuple):
    """One file after the pipeline.

    ``before`` and ``after`` are the decoded texts (equal unless ``CHANGED``); ``fixed`` are
    the findings whose fix was applied, with positions in ``before``; ``left`` are those that
    remain, with positions in ``after``. ``reason`` says why a file was skipped. ``edited`` tells
    for each of ``fixed`` where in ``before`` its edits were made, and ``unnoted`` is ``after``
    before notes were put in.
    """

    path: str
    outcome: Outcome
    before: str = ""
    after: str = ""
    fixed: tuple[Finding, ...] = ()
    left: tuple[Finding, ...] = ()
    reason: Finding | None = None
    changed_spans: tuple[tuple[Span, str], ...] = ()
    edited: tuple[tuple[Span, ...], ...] = ()
    unnoted: str = ""
