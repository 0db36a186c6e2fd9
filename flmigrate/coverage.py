"""Which operators a project needs, and where each would run on every chip.

The source is read, never run: what only a run shows (operators of libraries, names looked up at
run time) is not in the answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from flmigrate.analysis.context import Context
from flmigrate.analysis.operators import RESOLVED, Operators
from flmigrate.analysis.prefilter import may_use
from flmigrate.analysis.source import Source
from flmigrate.encoding import UndecodableError, decode
from flmigrate.files import discover
from flmigrate.manifests.classes import class_of
from flmigrate.manifests.model import Manifest
from flmigrate.manifests.verdicts import Leaf
from flmigrate.rules.coverage import Facts, facts_for, words_for
from flmigrate.runner import vocabulary_for, with_deep_stack

_CHUNK = 16  # files a process takes at once
_WORTH_A_POOL = 1_500_000  # bytes of files; below, starting processes costs more
_LEVELS = ("native", "cpu", "blocked")


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A line of a file, from 1."""

    path: str
    line: int


@dataclass(slots=True)
class Usage:
    """A public name and where it is used; ``possible`` places are those of unknown receivers.

    At ``forward_only`` places no gradient is wanted.
    """

    name: str
    places: list[Place] = field(default_factory=list)
    possible: list[Place] = field(default_factory=list)
    forward_only: set[Place] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Operator:
    """A leaf operator on one chip, with the names and places that lead to it.

    ``always`` is false where only some arguments lead there.
    """

    op: str
    kind: str
    level: str
    phases: tuple[str, ...]
    always: bool
    apis: tuple[str, ...]
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class ChipCoverage:
    """One chip's answer: every leaf operator, the worst first, and the verdict."""

    chip: str
    title: str
    operators: tuple[Operator, ...]

    def at(self, level: str, *, always: bool = True) -> tuple[Operator, ...]:
        """The operators of a level: those that are always reached, or the others."""
        return tuple(o for o in self.operators if o.level == level and o.always is always)

    @property
    def verdict(self) -> str:
        """``runs natively``, ``runs with N operators on the CPU`` or ``blocked by N operators``."""
        blocked, cpu = len(self.at("blocked")), len(self.at("cpu"))
        if blocked:
            return f"blocked by {_operators(blocked)}"
        return f"runs with {_operators(cpu)} on the CPU" if cpu else "runs natively"

    @property
    def level(self) -> str:
        """The worst level among the operators that are always reached."""
        return max(
            (o.level for o in self.operators if o.always), key=_LEVELS.index, default="native"
        )

    def classes(self) -> dict[str, dict[str, int]]:
        """Class of operators -> level -> how many, of those always reached."""
        found: dict[str, dict[str, int]] = {}
        for operator in self.operators:
            if operator.always:
                levels = found.setdefault(class_of(operator.op), dict.fromkeys(_LEVELS, 0))
                levels[operator.level] += 1
        return found


@dataclass(frozen=True, slots=True)
class Coverage:
    """The answer for a project. ``unknown`` are names of torch that no operator is known of."""

    files: int
    usages: tuple[Usage, ...]
    unknown: tuple[Usage, ...]
    chips: tuple[ChipCoverage, ...]
    skipped: tuple[tuple[str, str], ...]
    torch: str


def _operators(count: int) -> str:
    return f"{count} operator" if count == 1 else f"{count} operators"


def cover(
    paths: Sequence[Path],
    chips: tuple[str, ...],
    *,
    measured: tuple[str, ...] = (),
    exclude: Sequence[str] = (),
    root: Path | None = None,
    possible: bool = False,
    jobs: int = 1,
) -> Coverage:
    """Look through the Python files under ``paths``.

    ``chips`` are configurations as ``check_chips`` gives them; ``jobs`` is the number of
    processes. Raises ``ManifestError`` for a chip that cannot be used. Files that cannot be read
    or parsed are named in ``skipped`` with the reason.
    """
    facts = facts_for(chips, measured)
    found = discover(paths, exclude, root or Path.cwd())
    skipped = [(str(path), message) for path, message in found.problems]
    usages: dict[str, Usage] = {}
    look = partial(_look_at, chips=chips, measured=measured, possible=possible)
    for path, uses, problem in _looked_at(found.files, look, jobs):
        if problem:
            skipped.append((path, problem))
        for name, line, confidence, backward in uses:
            usage = usages.setdefault(name, Usage(name))
            places = usage.places if confidence == RESOLVED else usage.possible
            places.append(Place(path, line))
            if not backward:
                usage.forward_only.add(places[-1])
    known: list[Usage] = []
    unknown: list[Usage] = []
    for usage in sorted(usages.values(), key=lambda usage: usage.name):
        (known if _is_known(usage.name, facts) else unknown).append(usage)
    return Coverage(
        len(found.files),
        tuple(known),
        tuple(usage for usage in unknown if _is_operator_like(usage.name)),
        tuple(_on_chip(known, manifest, facts, possible=possible) for manifest in facts.manifests),
        tuple(skipped),
        facts.table.torch,
    )


def _is_known(name: str, facts: Facts) -> bool:
    return facts.api(name) is not None


def _is_operator_like(name: str) -> bool:
    """Whether a name of torch could have operators: a function of its numeric modules."""
    last = name.rpartition(".")[2]
    homes = ("torch.nn.functional.", "torch.linalg.", "torch.fft.", "torch.special.", "torch.nn.")
    if name.startswith(homes):
        return not name.startswith(_WITHOUT_OPERATORS) and last not in _CONTAINERS
    return name.startswith("torch.") and name.count(".") == 1 and last not in _NOT_OPERATORS


_WITHOUT_OPERATORS = ("torch.nn.utils.", "torch.nn.init.calculate", "torch.nn.parallel.")
_CONTAINERS = frozenset(
    "Module ModuleList ModuleDict Sequential ParameterList ParameterDict Parameter Identity Buffer "
    "DataParallel UninitializedParameter".split()
)
_NOT_OPERATORS = frozenset(
    "device dtype Size Generator load save compile no_grad enable_grad inference_mode is_tensor "
    "manual_seed seed finfo iinfo set_default_dtype get_default_dtype set_num_threads "
    "get_num_threads is_grad_enabled set_grad_enabled is_floating_point is_complex numel "
    "use_deterministic_algorithms set_printoptions get_rng_state set_rng_state "
    "is_autocast_enabled get_autocast_dtype set_float32_matmul_precision Stream Event "
    "broadcast_shapes result_type promote_types can_cast typename is_storage autocast Tensor "
    "LongTensor FloatTensor BoolTensor IntTensor HalfTensor ByteTensor DoubleTensor "
    "set_default_device get_default_device get_device_module is_inference_mode_enabled "
    "are_deterministic_algorithms_enabled initial_seed default_generator SymInt vmap "
    "is_deterministic_algorithms_warn_only_enabled cond set_warn_always".split()
)


# --- reading -------------------------------------------------------------------------------

_Uses = tuple[str, list[tuple[str, int, str, bool]], str]
"""A file's path, its uses (name, line, confidence, whether there is a backward pass), and why it
could not be read, if so."""


def _look_at(
    path: Path, *, chips: tuple[str, ...], measured: tuple[str, ...], possible: bool
) -> _Uses:
    facts = facts_for(chips, measured)
    try:
        decoded = decode(path.read_bytes())
        words = words_for(chips, measured)
        if not possible and not may_use(decoded.text, words):
            return str(path), [], ""
        context = Context(Source(decoded.text, str(path)), vocabulary_for("fl"))
    except (UndecodableError, OSError) as error:
        return str(path), [], getattr(error, "strerror", None) or str(error)
    except SyntaxError as error:
        return str(path), [], f"line {error.lineno or 1}: does not parse: {error.msg}"
    except (RecursionError, MemoryError):
        return str(path), [], "too deeply nested for Python's own parser"
    found = []
    for use in Operators(context, facts.names, facts.foreign).uses(possible=possible):
        line = context.source.position(context.source.start(use.node))[0]
        found.append((use.name, line, use.confidence, use.backward))
    context.release()
    return str(path), found, ""


def _looked_at(files: Sequence[Path], look: partial[_Uses], jobs: int) -> Iterator[_Uses]:
    chunks = [files[at : at + _CHUNK] for at in range(0, len(files), _CHUNK)]
    size = sum(path.stat().st_size for path in files if path.is_file())
    if jobs < 2 or size < _WORTH_A_POOL:
        for chunk in chunks:
            yield from _chunk(look, chunk)
        return
    from concurrent.futures import ProcessPoolExecutor  # 30 ms, for large projects only

    with ProcessPoolExecutor(jobs) as pool:
        for uses in pool.map(partial(_chunk, look), chunks):
            yield from uses


def _chunk(look: partial[_Uses], files: Iterable[Path]) -> list[_Uses]:
    return with_deep_stack(lambda: [look(path) for path in files])


# --- answering -----------------------------------------------------------------------------


@dataclass(slots=True)
class _Gathered:
    kind: str
    level: str
    phases: set[str] = field(default_factory=set)
    always: bool = False
    apis: dict[str, None] = field(default_factory=dict)
    places: dict[Place, None] = field(default_factory=dict)


def _on_chip(
    usages: Iterable[Usage], manifest: Manifest, facts: Facts, *, possible: bool
) -> ChipCoverage:
    def reached() -> Iterator[Reached]:
        for usage in usages:
            places = usage.places + (usage.possible if possible else [])
            if not places:
                continue
            with_gradient = [place for place in places if place not in usage.forward_only]
            name = usage.name.partition("[")[0]
            for leaf in facts.leaves(usage.name, manifest):
                at = places if leaf.phase == "forward" else with_gradient
                if at:
                    yield Reached(leaf, name, at, leaf.always and bool(usage.places))

    return on_chip(reached(), manifest)


@dataclass(frozen=True, slots=True)
class Reached:
    """A leaf operator that a name leads to, at some places; ``always`` is false where only some
    arguments lead there."""

    leaf: Leaf
    name: str
    places: Sequence[Place]
    always: bool


def on_chip(found: Iterable[Reached], manifest: Manifest) -> ChipCoverage:
    """One chip's answer for leaf operators, whoever found them; measured results count first."""
    gathered: dict[str, _Gathered] = {}
    for reached in found:
        leaf = reached.leaf
        measured = manifest.measured.get(leaf.op)
        level = leaf.route.level
        if measured is not None:
            level = {"ok": "native", "slow": "cpu"}.get(measured.status, "blocked")
        entry = gathered.setdefault(leaf.op, _Gathered(leaf.route.kind, level))
        entry.phases.add(leaf.phase)
        if reached.always:
            entry.always = True
        entry.apis[reached.name] = None
        entry.places.update(dict.fromkeys(reached.places))
    operators = [
        Operator(
            op,
            entry.kind,
            entry.level,
            tuple(sorted(entry.phases, reverse=True)),
            entry.always,
            tuple(entry.apis),
            tuple(sorted(entry.places)),
        )
        for op, entry in gathered.items()
    ]
    operators.sort(key=lambda o: (-_LEVELS.index(o.level), not o.always, -len(o.places), o.op))
    return ChipCoverage(manifest.name, manifest.title, tuple(operators))
