"""What is installed: every package of the repository, and the pages of the rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tomli

ROOT = Path(__file__).parent.parent


def setuptools() -> dict[str, Any]:
    data = tomli.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    found: dict[str, Any] = data["tool"]["setuptools"]
    return found


def test_every_package_is_named() -> None:
    folders = {path.parent.relative_to(ROOT) for path in (ROOT / "flmigrate").rglob("*.py")}
    named = {".".join(folder.parts) for folder in folders} | {"flmigrate.pages"}
    assert set(setuptools()["packages"]) == named


def test_every_data_file_is_named() -> None:
    patterns = setuptools()["package-data"]["flmigrate"]
    package = ROOT / "flmigrate"
    named = {path for pattern in patterns for path in package.glob(pattern)}
    files = {path for path in package.rglob("*") if path.is_file() and path.suffix != ".pyc"}
    assert {path for path in files - named if path.suffix != ".py"} == set()


def test_the_pages_are_those_of_the_documentation() -> None:
    assert setuptools()["package-dir"] == {"flmigrate.pages": "docs/rules"}
