"""Small sources, analysed: what the tests of ``flmigrate/analysis`` have in common."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path

from flmigrate.analysis.context import Context
from flmigrate.analysis.project import Project
from flmigrate.analysis.source import Source
from flmigrate.config import Config
from flmigrate.encoding import decode
from flmigrate.findings import Outcome
from flmigrate.runner import Job, rewrite_files, vocabulary_for


def context_of(
    text: str, module: str = "", *, is_package: bool = False, project: Project | None = None
) -> Context:
    """The context of a source, alone or as a module of a project."""
    vocabulary = vocabulary_for("fl")
    if project is None:
        return Context(Source(text), vocabulary, module, is_package)
    return Context(Source(text), vocabulary, module, is_package, project.asker(module))


def find(context: Context, text: str) -> ast.expr:
    """The last expression of a source that is written as ``text``."""
    kinds = (ast.Name, ast.Attribute, ast.Call, ast.Constant, ast.JoinedStr, ast.Compare)
    found = [
        node
        for kind in kinds
        for node in context.scopes.nodes[kind]
        if context.source.segment(node) == text
    ]
    assert found, f"{text!r} is not in the source"
    last: ast.expr = max(found, key=context.source.start)
    return last


def project_of(files: Mapping[str, str]) -> Project:
    """A project that is held in memory: path (``pkg/mod.py``) -> text."""
    modules = {
        path.removesuffix(".py").removesuffix("/__init__").replace("/", "."): Path(path)
        for path in files
    }
    return Project(modules, vocabulary_for("fl"), lambda path: files[path.as_posix()])


def rewritten(folder: Path, files: Mapping[str, str]) -> dict[str, str]:
    """The texts of a project on disk after a run over all of it."""
    paths = {folder / name: name for name in files}
    for path, name in paths.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(files[name].encode())
    job = Job(Config(root=folder, target="fl", import_in="none"))
    after = dict(files)
    for result in rewrite_files(list(paths), job):
        assert result.outcome is not Outcome.SKIPPED, result.reason
        if result.outcome is Outcome.CHANGED:
            after[paths[Path(result.path)]] = result.after
        else:
            assert result.before in ("", decode(Path(result.path).read_bytes()).text)
    return after
