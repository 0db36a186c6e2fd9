"""What the engine is given and gives back: the settings of a run, one file, and its outcome."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from flmigrate.analysis.project import Fact
from flmigrate.analysis.vocabulary import Vocabulary
from flmigrate.findings import Result

if TYPE_CHECKING:
    from flmigrate.verdicts import Verdicts


def _always(code: str) -> bool:
    return True


class Settings(NamedTuple):
    """What a run does, apart from which files it looks at.

    ``enabled`` says for a code whether it is selected; ``import_in`` is ``entry-points``,
    ``every-file``, ``none`` or empty for the target's own default. ``vendor_at_rest`` is the
    canonical vendor that a second run will find in the project, where that is known to be
    another than this run finds; empty leaves it to the file. ``require_reason`` asks, in a
    check, for the reason of every suppression. ``chips`` are the configurations
    whose operators are looked at (none: operators are not), ``measured`` files with the user's
    own results, ``possible`` asks for findings that are not certain; ``notes_at`` is ``above``
    (the statement) or ``end`` (of its last line). ``code_blocks`` asks for the code in docstrings
    too. ``verdicts`` knows what was found about operators in texts seen before.
    """

    vocabulary: Vocabulary
    unsafe_fixes: bool = False
    notes: bool = True
    import_in: str = ""
    canonical_vendor: str = ""
    drop_vendors: tuple[str, ...] = ()
    enabled: Callable[[str], bool] = _always
    vendor_at_rest: str = ""
    require_reason: bool = False
    chips: tuple[str, ...] = ()
    measured: tuple[str, ...] = ()
    possible: bool = False
    notes_at: str = "above"
    code_blocks: bool = False
    verdicts: Verdicts | None = None


class Unit(NamedTuple):
    """One file to look at: its text and its place in the project.

    ``has_words`` is false where the text is known to have no word of a vendor's.
    """

    path: str
    text: str
    module: str = ""
    is_package: bool = False
    package_uses_target: bool = False
    has_words: bool = True


class Analysed(NamedTuple):
    """A result, and what only other files can tell about the file's undecided literals."""

    result: Result
    pending: frozenset[Fact] = frozenset()
