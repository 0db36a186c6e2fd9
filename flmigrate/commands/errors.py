"""The errors that are the user's to mend: told in one line, with exit code 2."""

from __future__ import annotations

from flmigrate.baseline import BaselineError
from flmigrate.config import ConfigError
from flmigrate.git import GitError
from flmigrate.patches import PatchError
from flmigrate.tables import TableError

EXPECTED = (BaselineError, ConfigError, GitError, PatchError, TableError)
