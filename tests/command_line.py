"""The command, run as a user runs it, and what every run must hold to.

`flmigrate` starts `python -m flmigrate` in a process of its own; `invoke` calls the same
command in this process, ten times as fast. Both assert, silently, that no exception comes out
and that the exit code is one of the three documented ones.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner

from flmigrate.cli import main

ROOT = Path(__file__).resolve().parent.parent

# A file with one fix and nothing else: no entry point, so no import is added either.
MOVE = "import torch\n\n\ndef put(x):\n    return torch.relu(x.cuda())  # to the card\n"
MOVED = MOVE.replace(".cuda()", '.to("flagos")')
# A file with nothing to fix and one place for a human.
ASK = "import torch\n\n\ndef free():\n    return torch.cuda.mem_get_info()\n"
# A file that concerns nobody.
PLAIN = "x = 1\n"


@dataclass(frozen=True, slots=True)
class Run:
    """What came out of a command: exit code, standard output and standard error."""

    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        """Standard output as text."""
        return self.out.decode("utf-8", "surrogateescape")

    @property
    def said(self) -> str:
        """All that a user sees."""
        return self.text + self.err


def flmigrate(
    folder: Path,
    *arguments: str,
    stdin: bytes = b"",
    variables: Mapping[str, str] | None = None,
    unprivileged: bool = False,
) -> Run:
    """Run `flmigrate ARGUMENTS` in a folder.

    With `unprivileged`, file permissions hold for the superuser as well.
    """
    return run_python(
        folder,
        ["-m", "flmigrate", *arguments],
        stdin=stdin,
        variables=variables,
        unprivileged=unprivileged,
    )


def invoke(folder: Path, *arguments: str, stdin: bytes = b"") -> Run:
    """Run `flmigrate ARGUMENTS` in a folder, in this process."""
    here = Path.cwd()
    os.chdir(folder)
    try:
        done = CliRunner().invoke(main, arguments, input=stdin)
    finally:
        os.chdir(here)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert done.exit_code in (0, 1, 2)
    return Run(done.exit_code, done.stdout_bytes, done.stderr)


def run_python(
    folder: Path,
    arguments: list[str],
    *,
    stdin: bytes = b"",
    variables: Mapping[str, str] | None = None,
    unprivileged: bool = False,
) -> Run:
    """Run this Python with the repository importable; see `flmigrate`."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        input=stdin,
        capture_output=True,
        env=environment(variables),
        preexec_fn=_give_up_override if unprivileged else None,
        check=False,
    )
    err = done.stderr.decode("utf-8", "surrogateescape")
    assert "Traceback" not in err, err
    assert done.returncode in (0, 1, 2), err
    return Run(done.returncode, done.stdout, err)


def environment(variables: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's environment with the repository importable and git's own settings off."""
    quiet = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    return {**os.environ, "PYTHONPATH": str(ROOT), **quiet, **(variables or {})}


def _give_up_override() -> None:
    """Take from a superuser's next program the right to read and search everything."""
    libc = ctypes.CDLL(None)
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        libc.prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP


def git(folder: Path, *arguments: str, data: bytes = b"") -> bytes:
    """Run git in a folder; it must succeed."""
    command = ["git", "-c", "core.autocrlf=false", "-c", "user.name=n", "-c", "user.email=e@e"]
    done = subprocess.run(
        [*command, *arguments], cwd=folder, input=data, capture_output=True, env=environment()
    )
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")
    return done.stdout


def tree(root: Path, files: Mapping[str, str | bytes]) -> None:
    """Write files (relative path -> content) below a folder."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)


def contents(root: Path) -> dict[str, bytes]:
    """Every file below a folder but git's own (relative path -> bytes)."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".git" not in path.relative_to(root).parts
    }


def repository(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """A git repository with the files committed."""
    tree(root, files)
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "m")
    return root
