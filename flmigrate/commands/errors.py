"""The errors that are the user's to mend: told in one line, with exit code 2."""

from __future__ import annotations


def is_expected(error: Exception) -> bool:
    """Whether an error says what is wrong with the call, the settings or the project.

    Asked when something went wrong only: what can raise these is not imported before.
    """
    from flmigrate.baseline import BaselineError
    from flmigrate.config import ConfigError
    from flmigrate.git import GitError
    from flmigrate.manifests.model import ManifestError
    from flmigrate.patches import PatchError
    from flmigrate.runtime.compare_report import CompareReportError
    from flmigrate.runtime.regress_set import RegressError
    from flmigrate.runtime.run_report import RunReportError
    from flmigrate.tables import TableError

    expected = (BaselineError, ConfigError, GitError, ManifestError, PatchError, TableError)
    return isinstance(error, (*expected, CompareReportError, RegressError, RunReportError))
