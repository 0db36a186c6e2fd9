"""What is imported when: start-up stays lean, and dependencies point one way."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.command_line import ASK, MOVE, PLAIN, ROOT, run_python, tree

PACKAGE = ROOT / "flmigrate"
SOURCES = sorted(PACKAGE.rglob("*.py"))

# What no short command needs, and what is never needed.
HEAVY = {"libcst", "torch", "multiprocessing", "concurrent.futures.process", "unidiff"}
HEAVY |= {"importlib.metadata", "rich"}
FOR_OTHERS = {"flmigrate.analysis.assignment", "flmigrate.rules.unused", "flmigrate.notebooks"}
FOR_OTHERS |= {"flmigrate.code_blocks", "flmigrate.project_files", "packaging", "tomllib"}
NEVER = {"torch", "libcst.matchers", "libcst.codemod"}


def imported(folder: Path, *arguments: str) -> set[str]:
    """The modules that a run of Python imports, those of its standard start-up aside."""
    bare = run_python(folder, ["-X", "importtime", "-c", ""])
    run = run_python(folder, ["-X", "importtime", *arguments])
    pattern = re.compile(r"^import time:.*\| +(\S+)$", re.MULTILINE)
    return set(pattern.findall(run.err)) - set(pattern.findall(bare.err))


def heavy(modules: set[str]) -> set[str]:
    return {module for module in modules if module in HEAVY or module.split(".")[0] in HEAVY}


def test_importing_the_package_imports_next_to_nothing(tmp_path: Path) -> None:
    modules = imported(tmp_path, "-c", "import flmigrate")
    assert "flmigrate" in modules
    assert {module for module in modules if module.startswith("flmigrate.")} == set()
    assert heavy(modules) == set()


@pytest.mark.parametrize(
    "arguments", [["--help"], ["rewrite", "--help"], ["check", "--help"], ["--version"]]
)
def test_help_imports_only_the_command_line(tmp_path: Path, arguments: list[str]) -> None:
    modules = imported(tmp_path, "-m", "flmigrate", *arguments)
    ours = {module for module in modules if module.startswith("flmigrate")}
    assert ours == {"flmigrate", "flmigrate.cli"}
    assert heavy(modules) == set()


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (PLAIN, []),
        (PLAIN, ["--diff"]),
        (PLAIN, ["-j", "2"]),
        ('import logging\n\nlog = logging.getLogger("cuda")\n', []),
        ('import torch\n\nx = torch.ones(1, device="flagos")\n', ["--import-in", "none"]),
        ("torch.cuda(\n", ["--exit-zero"]),
    ],
)
def test_a_file_with_nothing_to_do_costs_no_import(
    tmp_path: Path, text: str, options: list[str]
) -> None:
    tree(tmp_path, {"a.py": text})
    modules = imported(tmp_path, "-m", "flmigrate", "rewrite", "a.py", *options)
    assert "flmigrate.runner" in modules
    assert heavy(modules) == set()
    assert (tmp_path / "a.py").read_text() == text


def test_a_note_needs_no_libcst(tmp_path: Path) -> None:
    tree(tmp_path, {"a.py": ASK})
    modules = imported(tmp_path, "-m", "flmigrate", "rewrite", "a.py", "--exit-zero")
    assert "# flmigrate: FL103" in (tmp_path / "a.py").read_text()
    assert heavy(modules) == set()


def test_a_check_needs_no_libcst(tmp_path: Path) -> None:
    script = f"from flmigrate import check_source; assert len(check_source({MOVE + ASK!r})) == 2"
    assert heavy(imported(tmp_path, "-c", script)) == set()


@pytest.mark.parametrize("options", [[], ["--statistics"], ["--verbose"]])
def test_the_check_command_needs_no_libcst(tmp_path: Path, options: list[str]) -> None:
    tree(tmp_path, {"a.py": MOVE + ASK})
    modules = imported(tmp_path, "-m", "flmigrate", "check", "a.py", "--exit-zero", *options)
    assert "flmigrate.checking" in modules
    assert heavy(modules) == set()
    assert modules & FOR_OTHERS == set()


def test_without_a_chip_no_manifest_is_read(tmp_path: Path) -> None:
    tree(tmp_path, {"a.py": ASK})
    modules = imported(tmp_path, "-m", "flmigrate", "rewrite", "a.py", "--exit-zero")
    tables = {name for name in modules if name.startswith("flmigrate.manifests")}
    assert tables <= {"flmigrate.manifests", "flmigrate.manifests.model"}
    assert "flmigrate.rules.coverage" not in modules


def test_coverage_needs_neither_libcst_nor_torch(tmp_path: Path) -> None:
    tree(tmp_path, {"a.py": "import torch\n\nx = torch.nonzero(torch.ones(1))\n"})
    modules = imported(tmp_path, "-m", "flmigrate", "coverage", "a.py", "--chip", "ascend")
    assert "flmigrate.coverage" in modules
    assert heavy(modules) == set()


def test_an_edit_needs_libcst_but_none_of_its_slow_parts(tmp_path: Path) -> None:
    tree(tmp_path, {"a.py": MOVE})
    modules = imported(tmp_path, "-m", "flmigrate", "rewrite", "a.py")
    assert "libcst" in modules
    assert modules & NEVER == set()


# --- the sources ---------------------------------------------------------------------------


def imports(path: Path) -> Iterator[str]:
    """The modules that a source file imports, wherever in it the import stands."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            assert node.module is not None
            for alias in node.names:
                inner = ROOT.joinpath(*node.module.split("."), alias.name)
                is_module = inner.with_suffix(".py").is_file() or inner.is_dir()
                yield f"{node.module}.{alias.name}" if is_module else node.module


def test_libcst_is_imported_by_codemods_only() -> None:
    for path in SOURCES:
        found = {module for module in imports(path) if module.split(".")[0] == "libcst"}
        if path.parent.name != "codemods":
            assert found == set(), path
            assert not re.search(r"\b(import|from) libcst\b", path.read_text("utf-8")), path
        assert not any(module.startswith(("libcst.matchers", "libcst.codemod")) for module in found)
        assert not re.search(r"\b(cst|libcst)\.(matchers|codemod)\b", path.read_text("utf-8")), path


def test_torch_is_imported_by_the_runtime_only() -> None:
    for path in SOURCES:
        if "runtime" not in path.parts:
            assert "torch" not in {module.split(".")[0] for module in imports(path)}, path


# From the bottom to the top: a module imports what is in lower rows, and, inside of a package
# or of the tables, its neighbours. Rules and codemods are in one row: they do not know each
# other and meet in a finding.
ROWS = (
    ("findings",),
    ("table_schema", "table_model", "table_checks", "tables"),
    ("stored",),
    ("manifests",),
    ("encoding", "git", "ignores", "line_diffs", "origins"),
    ("hunks",),
    ("code_blocks", "notebooks"),
    ("documents",),
    ("config_checks", "discovery"),
    ("config", "files", "patches"),
    ("additions",),
    ("analysis",),
    ("suppressions",),
    ("codemods", "rules", "notes"),
    ("examples", "guard", "rounds"),
    ("fixing",),
    ("verdicts",),
    ("units",),
    ("on_chips",),
    ("engine",),
    ("worker",),
    ("runner",),
    ("migration",),
    ("torch_pins",),
    ("project_files",),
    ("checking", "coverage", "explain", "explaining", "fingerprints", "rule_pages"),
    ("baseline", "choosing", "proposal", "series"),
    ("reports",),
    ("runtime",),
    ("__init__",),
    ("commands",),
    ("cli",),
    ("__main__",),
)
_TABLES = ROWS[1]
_ROW = {name: row for row, names in enumerate(ROWS) for name in names}


def place(module: str) -> str:
    """The part of flmigrate that a module is or lies in."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts if len(parts) < 3 or parts[-1] != "__init__" else parts[:-1])


@pytest.mark.parametrize("path", [pytest.param(p, id=module_of(p)) for p in SOURCES])
def test_dependencies_point_one_way(path: Path) -> None:
    here = place(module_of(path))
    assert here in _ROW, "give the new module a row"
    for module in imports(path):
        if module.split(".")[0] != "flmigrate":
            continue
        there = place(module)
        neighbours = here == there or (here in _TABLES and there in _TABLES)
        assert neighbours or _ROW[there] < _ROW[here], f"{here} imports {there}"


def test_the_tables_import_nothing_else() -> None:
    for name in _TABLES:
        ours = {place(m) for m in imports(PACKAGE / f"{name}.py") if m.startswith("flmigrate")}
        assert ours <= set(_TABLES)
    for folder in ("vendors", "targets"):
        assert {path.suffix for path in (PACKAGE / folder).iterdir()} == {".toml"}
