"""What a condition may ask, and what names alone tell about it.

The questions are those of the corpus study of vendor predicates in 71 projects: 51 shapes make
95% of what real code asks.
"""

from __future__ import annotations

import ast
import enum
import re
from collections.abc import Callable
from typing import NamedTuple

from flmigrate.tables import Vendor


class Question(enum.Enum):
    """What one operand of a condition asks; the value is how it is shown to a reader."""

    ACCELERATOR = "accelerator or CPU"
    IDENTITY = "device identity"
    DEVICES = "device set"
    VENDOR = "vendor that the target serves"
    UNSERVED = "vendor that the target does not serve"
    CAPABILITY = "capability"
    VERSION = "version"
    PACKAGE = "package presence"
    OPTION = "user option"
    BACKEND = "communication backend"
    COUNT = "device count"
    CHOICE = "member of an enumeration"
    NOTHING = "nothing about devices"
    UNKNOWN = "unknown"


class Fact(NamedTuple):
    """One reason for a classification: what was found, and the line (1-based) it stands at.

    ``path`` is the file, empty for the one that is asked about; line 0 is no place.
    """

    what: str
    line: int = 0
    path: str = ""


class Atom(NamedTuple):
    """One operand of a condition and what it asks.

    ``holds`` is its value wherever the migrated program runs, ``None`` where that shows only
    at run time. ``vendors`` are those it names. ``moves`` says that other rules give this very
    expression the target's spelling, so that a value kept from it is the target's own answer.
    ``is_quiet`` says of a helper that calling it does nothing but ask.
    """

    node: ast.expr
    question: Question
    vendors: frozenset[str] = frozenset()
    holds: bool | None = None
    facts: tuple[Fact, ...] = ()
    moves: bool = False
    is_quiet: bool = False


CYCLE = Atom(ast.Name(""), Question.UNKNOWN)
"""What the project tells where a name leads back to itself by way of other files."""

AskFlag = Callable[[str], "Atom | None"]
"""Asks the project what a dotted name of another file tells; ``None`` if it has no such name."""

_FILLER = frozenset(
    "is has have on ok found installed available torch pytorch pt device backend platform "
    "system".split()
)
_ASKING = frozenset("is has have on ok found available".split())
_WISHING = frozenset("use using no enable enabled with want gpu accelerator".split())
_COUNTS = r"_*(?:n|num|ngpu|n_gpus?|num_(?:gpus?|devices?)|device_count|world_size)"
_CAPABILITY = (
    r"(?i)\w*(?:capab|compute_cap|support|_arch|bf16|fp8|tf32|sm_?\d|gfx\d|hopper|ampere|blackwell"
    r"|cuda_?graph|capturing|tensor_?cores?|nvlink)\w*"
)
_PACKAGE = r"(?i)_*(?:is_\w+_available|(?:has|have|with)_\w+|\w+_(?:available|installed))"
_WORD = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+"


def words_in(name: str) -> list[str]:
    """The words that a name is made of, in lower case: ``isNpuAvailable``, ``IS_NPU``."""
    return [word.lower() for word in re.findall(_WORD, name)]


def asked_vendor(name: str, words: dict[str, Vendor]) -> Vendor | None:
    """The vendor that a helper or flag asks for by its name, and by nothing else in it.

    ``is_torch_npu_available`` and ``IS_NPU`` ask for one; ``use_npu`` is a wish, and
    ``is_npu_fp8_supported`` asks for more. ``words`` gives the vendor of each word.
    """
    parts = words_in(name)
    named = {words[part].name: words[part] for part in parts if part in words}
    rest = [part for part in parts if part not in words]
    if len(named) != 1 or not _ASKING.intersection(rest) or not _FILLER.issuperset(rest):
        return None
    return next(iter(named.values()))


def question_of_name(name: str) -> Question:
    """What a name that leads nowhere seems to ask."""
    if re.fullmatch(_COUNTS, name):
        return Question.COUNT
    if re.fullmatch(_CAPABILITY, name):
        return Question.CAPABILITY
    parts = set(words_in(name))
    if parts & _WISHING:
        return Question.OPTION
    if re.fullmatch(_PACKAGE, name):
        return Question.PACKAGE
    return Question.UNKNOWN
