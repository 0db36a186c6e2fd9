"""The hooks, run by the real pre-commit program in a repository of their user's.

pre-commit installs flmigrate from a clone of this project into an environment of its own, where
there is no torch. Without a package registry that cannot be done, and these tests are skipped.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from flmigrate.cli import main
from tests.command_line import MOVE, MOVED, ROOT, git, repository, tree

IDS = ("flmigrate-check", "flmigrate-rewrite")
BRANCH = """\
import torch


def place(x, device):
    if device == "cuda":
        x = x.pin_memory()
    return x.to(device)
"""


@dataclass(frozen=True, slots=True)
class Project:
    """A user's repository and the environment in which its commands run."""

    root: Path
    variables: dict[str, str]

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the repository; what it says is in ``stdout``."""
        return subprocess.run(
            command,
            cwd=self.root,
            env=self.variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )

    def commit(self) -> subprocess.CompletedProcess[str]:
        """Commit what is in the index."""
        return self.run("git", "commit", "-m", "m")


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone of this project as it is now, for pre-commit to install."""
    clone = tmp_path_factory.mktemp("hooks")
    shutil.copytree(
        ROOT / "flmigrate", clone / "flmigrate", ignore=shutil.ignore_patterns("__pycache__")
    )
    for name in ("pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml"):
        shutil.copy(ROOT / name, clone / name)
    return repository(clone, {})


@pytest.fixture(scope="module")
def variables(hooks: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which pre-commit has both hooks installed."""
    names = dict.fromkeys(("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"), "n")
    names |= dict.fromkeys(("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"), "e@e")
    kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PRE_COMMIT_HOME")}
    quiet = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    home = {"PRE_COMMIT_HOME": str(tmp_path_factory.mktemp("pre-commit"))}
    found = {**kept, **quiet, **names, **home}
    sample = Project(repository(tmp_path_factory.mktemp("sample"), {"x.txt": "x"}), found)
    configure(sample, hooks, IDS)
    done = sample.run(sys.executable, "-m", "pre_commit", "install-hooks")
    if done.returncode != 0:
        assert "pip" in done.stdout, done.stdout
        pytest.skip(
            f"pre-commit could not install flmigrate, for want of a registry: {done.stdout[-400:]}"
        )
    return found


def configure(project: Project, hooks: Path, ids: tuple[str, ...]) -> None:
    """Make the hooks part of the repository's configuration and commit that."""
    revision = git(hooks, "rev-parse", "HEAD").decode().strip()
    entry = {"repo": str(hooks), "rev": revision, "hooks": [{"id": name} for name in ids]}
    tree(project.root, {".pre-commit-config.yaml": yaml.safe_dump({"repos": [entry]})})
    git(project.root, "add", "-A")
    git(project.root, "commit", "-qm", "m")


@pytest.fixture
def checked(tmp_path: Path, hooks: Path, variables: dict[str, str]) -> Project:
    """A repository with old vendor code whose commits are checked."""
    project = Project(repository(tmp_path, {"old.py": MOVE, "a.py": "import torch\n"}), variables)
    configure(project, hooks, IDS[:1])
    assert project.run(sys.executable, "-m", "pre_commit", "install").returncode == 0
    return project


def test_both_hooks_are_announced() -> None:
    announced = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert tuple(hook["id"] for hook in announced) == IDS


def test_a_new_vendor_branch_is_blocked_and_the_way_out_is_told(checked: Project) -> None:
    tree(checked.root, {"a.py": BRANCH})
    git(checked.root, "add", "-A")
    done = checked.commit()
    assert done.returncode == 1
    assert 'a.py:5:18: FL105 [*] the device "cuda" becomes flagos' in done.stdout
    assert checked.run("git", "status", "--porcelain").stdout == "M  a.py\n"


def test_a_commit_that_only_touches_old_code_passes(checked: Project) -> None:
    tree(checked.root, {"old.py": MOVE.replace("# to the card", "# to the card!") + "\n\nx = 1\n"})
    tree(checked.root, {"a.py": "import torch\n\nx = torch.ones(1)\n"})
    lines = MOVE.splitlines(keepends=True)
    tree(checked.root, {"old.py": "".join([*lines[:-1], "    print(x)\n", lines[-1]])})
    git(checked.root, "add", "-A")
    done = checked.commit()
    assert done.returncode == 0, done.stdout
    assert "Passed" in done.stdout


def test_what_is_not_staged_is_not_looked_at(checked: Project) -> None:
    tree(checked.root, {"a.py": "import torch\n\nx = torch.ones(1)\n"})
    git(checked.root, "add", "-A")
    tree(checked.root, {"a.py": "import torch\n\nx = torch.ones(1).cuda()\n", "new.py": BRANCH})
    done = checked.commit()
    assert done.returncode == 0, done.stdout
    assert "cuda()" in (checked.root / "a.py").read_text()


def test_a_commit_of_named_files_is_checked(checked: Project) -> None:
    tree(checked.root, {"a.py": BRANCH, "old.py": MOVE + "\n"})
    passes = checked.run("git", "commit", "-m", "m", "old.py")
    assert passes.returncode == 0, passes.stdout
    fails = checked.run("git", "commit", "-m", "m", "a.py")
    assert fails.returncode == 1
    assert "a.py:5:18: FL105" in fails.stdout


def test_other_languages_are_not_looked_at(checked: Project) -> None:
    tree(checked.root, {"csrc/a.cpp": 'auto d = torch::Device("cuda");\n'})
    git(checked.root, "add", "-A")
    done = checked.commit()
    assert done.returncode == 0, done.stdout
    assert "(no files to check)Skipped" in done.stdout


def test_two_commits_are_compared(checked: Project) -> None:
    tree(checked.root, {"a.py": BRANCH})
    git(checked.root, "add", "-A")
    git(checked.root, "commit", "-q", "--no-verify", "-m", "m")
    command = (
        sys.executable,
        "-m",
        "pre_commit",
        "run",
        "--from-ref",
        "HEAD~1",
        "--to-ref",
        "HEAD",
    )
    done = checked.run(*command)
    assert done.returncode == 1
    assert "a.py:5:18: FL105" in done.stdout
    assert "old.py" not in done.stdout


def test_the_fixing_hook_rewrites_what_is_committed(
    tmp_path: Path, hooks: Path, variables: dict[str, str]
) -> None:
    project = Project(repository(tmp_path, {"other.py": MOVE}), variables)
    configure(project, hooks, IDS)
    assert project.run(sys.executable, "-m", "pre_commit", "install").returncode == 0
    tree(project.root, {"a.py": MOVE})
    git(project.root, "add", "-A")
    done = project.commit()
    assert done.returncode == 1
    assert "files were modified by this hook" in done.stdout
    assert (project.root / "a.py").read_text() == MOVED
    assert (project.root / "other.py").read_text() == MOVE
    git(project.root, "add", "-A")
    done = project.commit()
    assert done.returncode == 0, done.stdout


def test_the_environment_has_no_torch(variables: dict[str, str]) -> None:
    home = Path(variables["PRE_COMMIT_HOME"])
    [python] = home.glob("repo*/py_env-*/bin/python")
    script = "import flmigrate.cli, importlib.util as u; assert u.find_spec('torch') is None"
    done = subprocess.run([python, "-c", script], env=variables, check=False, capture_output=True)
    assert done.returncode == 0, done.stderr


def _documented() -> dict[str, str]:
    """The YAML files that docs/hooks.md shows, by name."""
    page = (ROOT / "docs" / "hooks.md").read_text()
    return dict(re.findall(r'```yaml title="(.+?)"\n(.+?)```', page, re.DOTALL))


def test_documented_files_name_the_hooks_and_commands_that_there_are() -> None:
    shown = _documented()
    [repo] = yaml.safe_load(shown[".pre-commit-config.yaml"])["repos"]
    assert sorted(hook["id"] for hook in repo["hooks"]) == sorted(IDS)
    steps = yaml.safe_load(shown[".github/workflows/vendor-code.yml"])["jobs"]["check"]["steps"]
    scripts = [step.get("run", "") for step in steps]
    scripts += yaml.safe_load(shown[".gitlab-ci.yml"])["vendor-code"]["script"]
    commands = [script for script in scripts if script.startswith("flmigrate ")]
    assert len(commands) >= 2
    for command in commands:
        name, *arguments = shlex.split(command.partition(" > ")[0])[1:]
        main.commands[name].make_context(name, arguments)  # raises for an unknown option
