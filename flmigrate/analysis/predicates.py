"""What the conditions of one file ask, and which of them the target decides.

On the target, the canonical vendor's code runs (`Context.canonical_vendor`). So what asks for
another served vendor is false there, whatever the program does: ``is_npu_available()``,
``device.type == "npu"``, a flag that was set from one of them, a helper that returns it. What
asks for the canonical vendor, for hardware, for a version or for a user's wish is left open.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from flmigrate.analysis.kinds import Verdict
from flmigrate.analysis.names import LOCAL
from flmigrate.analysis.questions import (
    AskFlag,
    Atom,
    Fact,
    Question,
    question_of_name,
    words_in,
)
from flmigrate.analysis.settled import Settled
from flmigrate.analysis.suspects import places_of_suspects
from flmigrate.tables import Vendor

if TYPE_CHECKING:
    from flmigrate.analysis.context import Context

_PROBES = ("is_available", "is_built")
_COUNT = "torch.cuda.device_count"
_NEGATED = (ast.NotEq, ast.NotIn, ast.IsNot)
_TENSORS = ("", "Tensor", "Parameter", "Module")
_LOOKS = ("startswith", "count")


class Predicates:
    """The conditions of one file."""

    def __init__(self, context: Context, ask: AskFlag) -> None:
        """``ask`` answers for names that other files of the project define."""
        self.context = context
        self.ask = ask
        self.settled = Settled(self)
        self._atoms: dict[ast.expr, Atom] = {}

    # --- whole conditions ------------------------------------------------------------------

    def holds(self, node: ast.expr) -> bool | None:
        """The value of a condition on the target, or ``None`` where only a run can tell."""
        parts = operands(node)
        if parts is None:
            return self.atom(node).holds
        if isinstance(node, ast.UnaryOp):
            value = self.holds(node.operand)
            return None if value is None else not value
        values = [self.holds(part) for part in parts]
        stops = not is_and(node)
        if stops in values:
            return stops
        return None if None in values or not values else not stops

    def atoms(self, node: ast.expr) -> Iterator[Atom]:
        """The operands of a condition, taken apart at and, or, not, any and all."""
        stack = [node]
        while stack:
            current = stack.pop()
            parts = operands(current)
            if parts is None:
                yield self.atom(current)
            else:
                stack.extend(reversed(parts))

    def settles(self, node: ast.expr) -> bool:
        """Whether a condition is decided, and deciding it runs nothing that could be missed."""
        if self.holds(node) is None:
            return False
        parts = operands(node)
        if parts is None:
            return self.is_pure(node)
        if isinstance(node, ast.UnaryOp):
            return self.settles(node.operand)
        for part in parts:
            if self.holds(part) is (not is_and(node)):
                return self.settles(part)
            if not self.is_pure(part):
                return False
        return True

    def is_pure(self, node: ast.expr) -> bool:
        """Whether evaluating an operand does nothing but ask."""
        for part in ast.walk(node):
            if isinstance(part, ast.Call):
                name = self.context.names.called_name(part)
                if name in _HARMLESS:
                    continue
                asked = self.atom(part)
                if asked.question not in _ASKED and not asked.is_quiet:
                    return False
            if isinstance(part, _ACTS):
                return False
        return True

    def is_gone(self, vendor: Vendor | str | None) -> bool:
        """Whether the target never is this vendor's: another served one, or a dropped one."""
        context = self.context
        name = vendor.name if isinstance(vendor, Vendor) else vendor
        if name is None or name == context.canonical_vendor:
            return False
        if name in context.drop_vendors:
            return True
        # ROCm answers to torch.cuda, and chips under the target do so as ROCm builds.
        known = context.vocabulary.vendors[name]
        return name in context.vocabulary.target.serves and bool(known.namespaces)

    def may_be_decided(self, node: ast.expr) -> bool:
        """Whether a condition names a vendor that is gone, or what is made from such a name.

        This is cheap, and spares most conditions a look at what they ask.
        """
        return self.context.names_gone_word(node) or self.context.source.has_one_in(
            node, self._suspects
        )

    @cached_property
    def _suspects(self) -> list[int]:
        return places_of_suspects(self.context, self.settled)

    # --- one operand -----------------------------------------------------------------------

    def atom(self, node: ast.expr) -> Atom:
        """What one operand asks; the classification is kept."""
        found = self._atoms.get(node)
        if found is None:
            cycles = self.settled.cycles
            found = self._classified(node)
            if cycles == self.settled.cycles:  # else it may lack what is still open
                self._atoms[node] = found
        return found

    def _classified(self, node: ast.expr) -> Atom:
        match node:
            case ast.NamedExpr():
                inner = self.atom(node.value)
                return Atom(node, inner.question, inner.vendors, None, inner.facts)
            case ast.Compare():
                return self._comparison(node)
            case ast.Call():
                return self._call(node)
            case ast.Attribute():
                return self._attribute(node)
            case ast.Name():
                return self.settled.name(node)
        return Atom(node, Question.NOTHING)

    def of_vendor(
        self,
        node: ast.expr,
        vendor: Vendor,
        holds: bool | None,
        what: str = "",
        at: ast.AST | None = None,
        moves: bool = False,
    ) -> Atom:
        """An operand that asks for a vendor, and its value where that vendor is gone.

        ``what`` is the reason, ``at`` the place of it, which is ``node`` unless given.
        """
        vocabulary = self.context.vocabulary
        is_canonical = vendor.name == self.context.canonical_vendor
        question = Question.VENDOR if vendor.name in vocabulary.target.serves else Question.UNSERVED
        if is_canonical:
            question = Question.ACCELERATOR
        facts = [self.fact(what or f"asks for {vendor.name}", at or node)]
        if self.is_gone(vendor):
            facts.append(Fact(f"{self.context.canonical_vendor}'s code runs on the target"))
        else:
            holds = None
        return Atom(node, question, frozenset({vendor.name}), holds, tuple(facts), moves)

    def fact(self, what: str, node: ast.AST) -> Fact:
        """A reason with the line of ``node``; what stands in no file has none."""
        if not hasattr(node, "lineno"):
            return Fact(what)
        return Fact(what, self.context.source.position(self.context.source.start(node))[0])

    def other(self, node: ast.expr, name: str, what: str = "") -> Atom:
        """An operand that is known by no more than a name."""
        question = question_of_name(name)
        vendors = self.vendors_in(node)
        if question is Question.UNKNOWN and not vendors and not _mentions_gpu(node):
            question = Question.NOTHING
        facts = (self.fact(what or f"{name} is not defined here", node),) if name else ()
        return Atom(node, question, vendors, None, facts)

    def vendors_in(self, node: ast.expr) -> frozenset[str]:
        """The vendors that the words of an expression name."""
        words = self.context.vocabulary.vendor_words
        found: set[str] = set()
        for part in ast.walk(node):
            for text in _texts(part):
                found.update(words[word].name for word in words_in(text) if word in words)
        return frozenset(found)

    # --- comparisons -----------------------------------------------------------------------

    def _comparison(self, node: ast.Compare) -> Atom:
        sides = [node.left, *node.comparators]
        version = self._version(node, sides)
        if version is not None:
            return version
        if len(node.ops) == 1:
            is_negated = isinstance(node.ops[0], _NEGATED)
            presence = self._presence(node, sides, is_negated)
            if presence is not None:
                return presence
            device = self._device(node, sides, is_negated)
            if device is not None:
                return device
        texts = [c.value for side in sides for c in ast.walk(side) if isinstance(c, ast.Constant)]
        if any(text in self.context.vocabulary.all_backends for text in texts):
            return Atom(node, Question.BACKEND, self.vendors_in(node))
        words = self.context.vocabulary.vendor_members
        members = [s for s in sides if isinstance(s, ast.Attribute) and s.attr in words]
        if members:
            what = f"{ast.unparse(members[0])} is a member of an enumeration"
            facts = (self.fact(what, members[0]),)
            return Atom(node, Question.CHOICE, self.vendors_in(node), None, facts)
        names = [n.attr if isinstance(n, ast.Attribute) else n.id for n in _names_in(sides)]
        questions = [question_of_name(name) for name in names]
        for question in (Question.CAPABILITY, Question.COUNT):
            if question in questions:
                return Atom(node, question, self.vendors_in(node))
        return self.other(node, "")

    def _version(self, node: ast.expr, sides: list[ast.expr]) -> Atom | None:
        """``torch.version.hip``, ``get_device_capability() >= (8, 0)``."""
        context = self.context
        for side in sides:
            for part in ast.walk(side):
                if not isinstance(part, ast.Attribute | ast.Name):
                    continue
                path = context.names.resolve(part).only
                if path.startswith(("torch.version.", "torch.__version__", "sys.version")):
                    facts = (self.fact(f"{path} tells a build", part),)
                    return Atom(node, Question.VERSION, self.vendors_in(node), None, facts)
                reference = context.reference_at.get(part)
                if reference is not None and reference.entry is not None:
                    if reference.entry.capability:
                        facts = (self.fact(f"{reference.path} tells a capability", part),)
                        return Atom(node, Question.CAPABILITY, frozenset(), None, facts)
        return None

    def _presence(self, node: ast.expr, sides: list[ast.expr], is_negated: bool) -> Atom | None:
        """``find_spec("torch_npu") is None``, ``torch_npu is not None``, ``x in sys.modules``."""
        left, right = sides
        context = self.context
        if isinstance(right, ast.Constant) and right.value is None:
            found = self._plugin_of(left)
            if found is not None:
                holds = not is_negated if self.is_gone(found) else None
                moves = isinstance(left, ast.Call) and context.names.called_name(left) == "getattr"
                what = "asks for a vendor's plug-in"
                return self.of_vendor(node, found, holds, what, moves=moves)
            if isinstance(left, ast.Call) and self.context.names.called_name(left) == "find_spec":
                return Atom(node, Question.PACKAGE)
        if self.context.names.resolve(right).only == "sys.modules":
            if isinstance(left, ast.Constant) and isinstance(left.value, str):
                vendor = self.context.vocabulary.vendors.vendor_of_plugin(left.value)
                if vendor is not None:
                    return self.of_vendor(node, vendor, is_negated, "asks for a vendor's plug-in")
                return Atom(node, Question.PACKAGE)
        return self._count(node, left, right)

    def _plugin_of(self, node: ast.expr) -> Vendor | None:
        """The vendor of a plug-in, or of a module that it adds, which may be ``None``."""
        context, vendors = self.context, self.context.vocabulary.vendors
        if isinstance(node, ast.Call):
            name = context.names.called_name(node)
            first = node.args[0] if node.args else None
            if name == "find_spec" and isinstance(first, ast.Constant):
                return vendors.vendor_of_plugin(str(first.value))
            if name != "getattr" or len(node.args) != 3:
                return None
        paths = context.names.resolve(node).paths
        for path in sorted(paths):
            found = vendors.vendor_of_namespace(path)
            if found is None and path in context.vocabulary.plugins:
                found = vendors.vendor_of_plugin(path)
            if found is not None:
                return found
        return None

    def _count(self, node: ast.expr, left: ast.expr, right: ast.expr) -> Atom | None:
        """``torch.npu.device_count() > 1``: there are none of another vendor's."""
        if not isinstance(left, ast.Call) or not isinstance(node, ast.Compare):
            return None
        path = self.context.names.resolve(left.func).only
        if self.context.vocabulary.canonical(path) != _COUNT:
            return None
        vendor = self.context.vocabulary.vendors.split(path)
        if vendor is None or not self.is_gone(vendor[0]):
            return Atom(node, Question.COUNT, self.vendors_in(node))
        limit = right.value if isinstance(right, ast.Constant) else None
        compare = _COMPARED.get(type(node.ops[0]))
        if not isinstance(limit, int) or compare is None:
            return None
        return self.of_vendor(node, vendor[0], compare(0, limit), moves=True)

    def _device(self, node: ast.expr, sides: list[ast.expr], is_negated: bool) -> Atom | None:
        """``x.device.type == "npu"``, ``kind in ("npu", "mlu")``, ``"npu" in device``."""
        literals = []
        for side in sides:
            members = side.elts if isinstance(side, ast.Tuple | ast.List | ast.Set) else [side]
            found = [(m, self.device_type(m)) for m in members]
            literals += [(m, kind) for m, kind in found if kind]
            if isinstance(side, ast.Tuple | ast.List | ast.Set) and len(literals) != len(members):
                return None
        if not literals:
            return None
        vocabulary = self.context.vocabulary
        own = vocabulary.target.device_type
        vendors = [vocabulary.vendors.vendor_of_device(kind) for _, kind in literals]
        names = frozenset(v.name for v in vendors if v is not None)
        if all(vendor is not None and self.is_gone(vendor) for vendor in vendors):
            is_shown = all(
                self.context.devices.verdict(literal) is Verdict.YES for literal, _ in literals
            )
            facts = [self.fact(f'compares with "{kind}"', literal) for literal, kind in literals]
            what = "the value is a device" if is_shown else "nothing shows that it is a device"
            facts.append(Fact(what))
            question = Question.VENDOR if names <= vocabulary.target.serves else Question.UNSERVED
            return Atom(node, question, names, is_negated if is_shown else None, tuple(facts))
        kinds = {kind for _, kind in literals}
        facts = [self.fact(f'compares with "{kind}"', literal) for literal, kind in literals]
        if len(literals) > 1:
            question = Question.DEVICES
        elif kinds <= {"cpu"}:
            question = Question.ACCELERATOR
        elif names and not names <= vocabulary.target.serves and own not in kinds:
            question = Question.UNSERVED
        else:
            question = Question.IDENTITY
        return Atom(node, question, names, None, tuple(facts))

    def device_type(self, node: ast.expr) -> str:
        """The device type that a string literal names, or the empty string."""
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            return ""
        if node.value in ("cpu", "meta"):
            return node.value
        kind, _, index = node.value.partition(":")
        known = self.context.vocabulary.all_device_types
        return kind if kind in known and (index.isdigit() or not index) else ""

    # --- calls and attributes --------------------------------------------------------------

    def _call(self, node: ast.Call) -> Atom:
        context, vendors = self.context, self.context.vocabulary.vendors
        name = context.names.called_name(node)
        path = context.names.resolve(node.func).only
        if name in _PROBES:
            known = next(
                (v for v in vendors.values() for n in v.namespaces if path.startswith(f"{n}.")),
                None,
            )
            if known is not None:
                return self.of_vendor(node, known, False, moves=True)
            if path == f"{context.vocabulary.target.namespace}.is_available":
                return Atom(node, Question.ACCELERATOR)
        version = self._version(node, [node.func])
        if version is not None:
            return version
        if name == "hasattr" and len(node.args) == 2:
            return self._attribute_probe(node)
        if name == "getattr" and len(node.args) == 3:
            module = self._plugin_of(node)
            if module is not None:
                what = "looks for a vendor's module"
                return self.of_vendor(node, module, False, what, moves=True)
        if name == "find_spec":
            plugin = self._plugin_of(node)
            if plugin is not None:
                return self.of_vendor(node, plugin, False, "asks for a vendor's plug-in")
            return Atom(node, Question.PACKAGE)
        if name in _LOOKS and len(node.args) == 1:
            found = self._device(node, [node.args[0]], False)
            if found is not None:
                return found
        if context.vocabulary.canonical(path) == _COUNT:
            split = vendors.split(path)
            if split is not None and self.is_gone(split[0]):
                return self.of_vendor(node, split[0], False, moves=True)
            return Atom(node, Question.COUNT)
        return self.settled.call(node, path)

    def _attribute_probe(self, node: ast.Call) -> Atom:
        owner, name = node.args
        context = self.context
        text = name.value if isinstance(name, ast.Constant) else None
        path = context.names.resolve(owner).only
        if isinstance(text, str):
            vendor = context.vocabulary.vendors.vendor_of_namespace(f"{path}.{text}")
            if vendor is not None and path == "torch":
                what = f"looks for torch.{text}"
                return self.of_vendor(node, vendor, False, what, moves=True)
            vendor = context.vocabulary.vendors.vendor_of_attribute(text)
            if vendor is not None:
                return self.of_vendor(node, vendor, None, f"looks for {text}")
        return Atom(node, Question.PACKAGE if path.startswith("torch") else Question.NOTHING)

    def _attribute(self, node: ast.Attribute) -> Atom:
        version = self._version(node, [node])
        if version is not None:
            return version
        vendor = self.context.vocabulary.vendors.vendor_of_attribute(node.attr)
        known = self.settled.attribute(node)
        if vendor is not None and known is None and not self.context.names.is_self(node.value):
            path = self.context.names.resolve(node).only
            owner = self.context.names.class_of(node.value).rpartition(".")[2]
            if not path and owner in _TENSORS and node.attr == f"is_{vendor.name}":
                return self.of_vendor(node, vendor, False, f"{node.attr} of a tensor")
        if known is not None:
            return known
        path = self.context.names.resolve(node).only
        if path and not path.startswith(LOCAL):
            return self.settled.path(node, path)
        return self.other(node, node.attr)


def operands(node: ast.expr) -> list[ast.expr] | None:
    """What a condition combines by and, or, not, any, all or ``bool``; ``None`` for an operand."""
    if isinstance(node, ast.BoolOp):
        return node.values
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return [node.operand]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 1:
        [argument] = node.args
        if node.func.id == "bool":
            return [argument]
        if node.func.id in ("any", "all") and isinstance(argument, ast.List | ast.Tuple):
            if not any(isinstance(element, ast.Starred) for element in argument.elts):
                return argument.elts or None
    return None


def is_and(node: ast.expr) -> bool:
    """Whether what combines operands (see ``operands``) holds only if all of them do."""
    if isinstance(node, ast.BoolOp):
        return isinstance(node.op, ast.And)
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "all"


def _names_in(sides: list[ast.expr]) -> Iterator[ast.Attribute | ast.Name]:
    for side in sides:
        for part in ast.walk(side):
            if isinstance(part, ast.Attribute | ast.Name):
                yield part


def _texts(part: ast.AST) -> Iterator[str]:
    if isinstance(part, ast.Attribute):
        yield part.attr
    elif isinstance(part, ast.Name):
        yield part.id
    elif isinstance(part, ast.Constant) and isinstance(part.value, str):
        yield part.value


def _mentions_gpu(node: ast.expr) -> bool:
    return any("gpu" in words_in(text) for part in ast.walk(node) for text in _texts(part))


_COMPARED: dict[type[ast.cmpop], Callable[[int, int], bool]] = {
    ast.Gt: lambda count, limit: count > limit,
    ast.GtE: lambda count, limit: count >= limit,
    ast.Lt: lambda count, limit: count < limit,
    ast.LtE: lambda count, limit: count <= limit,
    ast.Eq: lambda count, limit: count == limit,
    ast.NotEq: lambda count, limit: count != limit,
}
_HARMLESS = frozenset(
    "isinstance issubclass hasattr getattr len str int bool type any all callable startswith "
    "endswith lower upper strip split get find_spec device_count is_available is_built parse "
    "Version".split()
)
_ASKED = frozenset(
    {
        *(Question.ACCELERATOR, Question.VENDOR, Question.UNSERVED, Question.COUNT),
        *(Question.CAPABILITY, Question.VERSION, Question.PACKAGE),
    }
)
_ACTS = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)
