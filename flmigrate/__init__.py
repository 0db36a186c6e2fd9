"""flmigrate moves PyTorch projects off vendor code and onto Torch-FL, and keeps them there.

The library's public functions; everything else may change. Importing this package imports
neither torch nor LibCST.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flmigrate.findings import Finding, Result
    from flmigrate.migration import Migration

__all__ = ["__version__", "check_source", "rewrite_paths", "rewrite_source"]
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
    from flmigrate.engine import Settings, Unit, rewrite_unit
    from flmigrate.runner import vocabulary_for, with_deep_stack

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

    ``chips`` are the chips whose operators are looked at. Raises ``SyntaxError`` for a text that
    does not parse, ``TableError`` for a bad target, ``ManifestError`` for an unknown chip.
    """
    from flmigrate.analysis.context import Context
    from flmigrate.analysis.source import Source
    from flmigrate.rules import check
    from flmigrate.runner import vocabulary_for, with_deep_stack

    vocabulary = vocabulary_for(target)
    configurations = _configurations(chips)

    def run() -> tuple[Finding, ...]:
        context = Context(Source(text, path), vocabulary)
        found = check(context)
        if configurations:
            from flmigrate.rules import coverage

            found += coverage.check(context, configurations)
        return tuple(found)

    return with_deep_stack(run)


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
    from dataclasses import replace

    from flmigrate.config import load_config
    from flmigrate.migration import migrate_paths, write_results
    from flmigrate.rules import RULES
    from flmigrate.runner import Job

    places = [Path(path) for path in paths]
    start = places[0] if places else Path()
    config = replace(load_config(start, RULES), target=target)
    migration = migrate_paths(places, Job(config, unsafe_fixes), jobs=jobs)
    return write_results(migration, allow_dirty=allow_dirty) if write else migration
