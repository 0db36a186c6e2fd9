"""flmigrate moves PyTorch projects off vendor code and onto Torch-FL, and keeps them there.

The library's public functions; everything else may change. Importing this package imports
neither torch nor LibCST.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flmigrate.checking import Check
    from flmigrate.config import Config
    from flmigrate.findings import Finding, Result
    from flmigrate.migration import Migration

__all__ = ["__version__", "check_paths", "check_source", "rewrite_paths", "rewrite_source"]
__version__ = "0.1.0"


def rewrite_source(
    text: str,
    *,
    path: str = "<stdin>",
    target: str = "fl",
    unsafe_fixes: bool = False,
    import_in: str | None = None,
    notes: bool = True,
    chips: Sequence[str] = (),
    possible: bool = False,
) -> Result:
    """Rewrite one file's text.

    ``path`` is only used in messages. ``import_in`` says where the target's import goes
    (``entry-points``, ``every-file``, ``none``; ``None`` is the target's own default);
    ``notes`` switches inline notes; ``chips`` are the chips whose operators are looked at, and
    ``possible`` asks for what is not certain about them. A text that cannot be parsed or safely
    edited gives a result with outcome ``SKIPPED`` and a reason. Raises ``TableError`` for a bad
    target, ``ManifestError`` for an unknown chip.
    """
    from flmigrate.engine import rewrite_unit
    from flmigrate.runner import vocabulary_for, with_deep_stack
    from flmigrate.units import Settings, Unit

    settings = Settings(
        vocabulary_for(target),
        unsafe_fixes,
        notes,
        import_in or "",
        chips=_configurations(chips),
        possible=possible,
    )
    return with_deep_stack(lambda: rewrite_unit(Unit(path, text), settings).result)


def check_source(
    text: str, *, path: str = "<stdin>", target: str = "fl", chips: Sequence[str] = ()
) -> tuple[Finding, ...]:
    """The findings of one file's text, fixable or not; the text is not rewritten.

    As ``flmigrate check``: comments that suppress are heeded, and an import is not reported
    beside its uses. Findings of severity ``INFO`` without a safe fix are remarks only. Raises
    ``SyntaxError`` for a text that does not parse, ``TableError`` for a bad target,
    ``ManifestError`` for an unknown chip; ``chips`` are those whose operators are looked at.
    """
    from flmigrate.engine import check_unit
    from flmigrate.runner import vocabulary_for, with_deep_stack
    from flmigrate.units import Settings, Unit

    settings = Settings(vocabulary_for(target), chips=_configurations(chips))
    result = with_deep_stack(lambda: check_unit(Unit(path, text), settings).result)
    if result.reason is not None:
        raise SyntaxError(result.reason.message)
    return result.left


def check_paths(paths: Sequence[Path | str], *, target: str = "fl", jobs: int = 1) -> Check:
    """What ``flmigrate check`` finds in the Python files under ``paths``, taken as one project.

    The configuration file nearest to the first path applies, but for ``target``. Raises
    ``ConfigError`` or ``TableError``.
    """
    from flmigrate.checking import check_paths as check
    from flmigrate.runner import Job

    places, config = _settings(paths, target)
    return check(places, Job(config, check_only=True), jobs=jobs)


def _configurations(chips: Sequence[str]) -> tuple[str, ...]:
    if not chips:
        return ()
    from flmigrate.manifests.store import check_chips

    return check_chips(chips)


def rewrite_paths(
    paths: Sequence[Path | str],
    *,
    target: str = "fl",
    unsafe_fixes: bool = False,
    write: bool = False,
    allow_dirty: bool = False,
    jobs: int = 1,
) -> Migration:
    """Rewrite the Python files under ``paths``, which are taken as one project.

    With ``write`` the files are rewritten in place; those with uncommitted changes are left
    alone unless ``allow_dirty``. The configuration file nearest to the first path applies,
    but for ``target``. Raises ``ConfigError`` or ``TableError``.
    """
    from flmigrate.migration import migrate_paths, write_results
    from flmigrate.runner import Job

    places, config = _settings(paths, target)
    migration = migrate_paths(places, Job(config, unsafe_fixes), jobs=jobs)
    return write_results(migration, allow_dirty=allow_dirty) if write else migration


def _settings(paths: Sequence[Path | str], target: str) -> tuple[list[Path], Config]:

    from flmigrate.config import load_config
    from flmigrate.rules import RULES

    places = [Path(path) for path in paths]
    start = places[0] if places else Path()
    return places, load_config(start, RULES)._replace(target=target)
