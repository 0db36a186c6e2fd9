"""How many vendor branches real packages have, and what became of them.

    python -m benchmarks.branches

A branch is an ``if`` chain, conditional expression, loop, filter or assertion that asks about
devices: all arms of a chain are one. It is counted where it stands before the rewrite, by what
it asks, and looked for again in the rewritten file.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks.packages import package
from flmigrate.analysis.context import Context
from flmigrate.analysis.project import Project, module_names
from flmigrate.analysis.questions import Atom, Question
from flmigrate.analysis.reachability import leaves
from flmigrate.analysis.source import Source
from flmigrate.analysis.vocabulary import DEFAULT_VENDOR, may_concern
from flmigrate.config import Config
from flmigrate.encoding import decode
from flmigrate.findings import Outcome
from flmigrate.rules.chains import arms_of, is_elif
from flmigrate.runner import Job, rewrite_files, vocabulary_for, with_deep_stack

PACKAGES = ("accelerate", "transformers", "diffusers", "mmengine", "ultralytics")
SERVED = "between served vendors"
ALONE = "for one served vendor alone"
_CLASSES: Mapping[str, frozenset[Question]] = {
    "hardware the target does not serve": frozenset({Question.UNSERVED}),
    "capability or version": frozenset({Question.CAPABILITY, Question.VERSION}),
    "member of an enumeration": frozenset({Question.CHOICE}),
    SERVED: frozenset({Question.VENDOR}),
    ALONE: frozenset(),
    "accelerator or CPU": frozenset(
        {Question.ACCELERATOR, Question.IDENTITY, Question.DEVICES, Question.COUNT}
    ),
    "backend": frozenset({Question.BACKEND}),
    "user option": frozenset({Question.OPTION}),
    "package presence": frozenset({Question.PACKAGE}),
    "undecided": frozenset({Question.UNKNOWN}),
}
"""The class of a branch is the first one of which it asks a question."""

_SILENT = frozenset({Question.NOTHING, Question.OPTION, Question.PACKAGE, Question.CAPABILITY})


def _branches_of(context: Context) -> Iterator[tuple[list[ast.expr], bool]]:
    """The conditions of each branch of a file, and whether other code runs where none holds."""
    for node in ast.walk(context.source.tree):
        if isinstance(node, ast.If):
            if not is_elif(context, node):
                arms = arms_of(context, node)
                tests = [arm.test for arm in arms if arm.test is not None]
                yield tests, len(arms) > 1 or leaves(node.body)
        elif isinstance(node, ast.IfExp):
            yield [node.test], True
        elif isinstance(node, ast.While | ast.Assert):
            yield [node.test], False
        elif isinstance(node, ast.comprehension):
            yield from (([condition], False) for condition in node.ifs)


def _class_of(atoms: list[Atom]) -> str | None:
    """The class of a branch, or ``None`` for one that does not ask about devices."""
    atoms = [a for a in atoms if a.vendors or a.question not in _SILENT]
    asked = {atom.question for atom in atoms} - {Question.NOTHING}
    if any(a.question is Question.VENDOR and a.holds is None for a in atoms):
        return "undecided"
    return next((name for name, members in _CLASSES.items() if members & asked), None)


def _branches(texts: Mapping[Path, str]) -> Counter[str]:
    """The branches of a project by class."""
    vocabulary = vocabulary_for("fl")
    names = module_names(texts)
    project = Project(names, vocabulary, lambda path: texts[path])
    project.canonical_vendor = DEFAULT_VENDOR
    found: Counter[str] = Counter()
    for path, text in texts.items():
        if not may_concern(text.encode(), vocabulary.words):
            continue
        module = project.names.get(path, "")
        context = Context(
            Source(text, str(path)),
            vocabulary,
            module,
            path.stem == "__init__",
            project.asker(module),
            project.flag_asker(module),
            DEFAULT_VENDOR,
        )
        for conditions, has_other in _branches_of(context):
            atoms = [a for test in conditions for a in context.predicates.atoms(test)]
            name = _class_of(atoms)
            if name == SERVED and not has_other:
                name = ALONE  # a work-around for a chip, or something that only it has
            if name is not None:
                found[name] += 1
        context.release()
    return found


def _texts(root: Path) -> dict[Path, str]:
    found = {}
    for path in sorted(root.rglob("*.py")):
        try:
            text = decode(path.read_bytes()).text
            ast.parse(text)
        except (ValueError, SyntaxError, RecursionError):
            continue
        found[path] = text
    return found


#: Names without a value, redefinitions, equal keys, names and locals that nothing reads.
_RULES = "F601,F811,F821,F822,F823,F401,F841,PLR0133"


def _lint(texts: Mapping[Path, str], root: Path) -> Counter[tuple[str, str, str]]:
    """What ruff says of a project: (file, code, message), which lines do not matter to."""
    with tempfile.TemporaryDirectory() as folder:
        for path, text in texts.items():
            copy = Path(folder) / path.relative_to(root)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(text, "utf-8", "surrogatepass")
        command = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "-q"]
        command += ["--preview", "--select", _RULES, "--output-format", "json", folder]
        done = subprocess.run(command, capture_output=True, check=False)
        found = json.loads(done.stdout or b"[]")
        return Counter(
            (str(Path(f["filename"]).relative_to(Path(folder).resolve())), f["code"], f["message"])
            for f in found
        )


def _measure(name: str) -> tuple[Counter[str], Counter[str], Counter[str]]:
    """Branches before and after the rewrite of one package, and what ruff finds new in it."""
    root = package(name)
    before = _texts(root)
    after = dict(before)
    job = Job(Config(root=root, target="fl"), notes=False)
    for result in rewrite_files(list(before), job):
        if result.outcome is Outcome.CHANGED:
            after[Path(result.path)] = result.after
    changed = {path: text for path, text in before.items() if after[path] != text}
    new = _lint({path: after[path] for path in changed}, root) - _lint(changed, root)
    for file, code, message in new:
        print(f"  {file}: {code} {message}")
    return _branches(before), _branches(after), Counter(code for _, code, _ in new.elements())


def main() -> int:
    """Measure and print; 1 if a figure is missed."""
    introduced: Counter[str] = Counter()
    total: Counter[str] = Counter()
    left: Counter[str] = Counter()
    for name in PACKAGES:
        before, after, new = with_deep_stack(lambda name=name: _measure(name))  # type: ignore[misc]
        total += before
        left += after
        gone = before[SERVED] - after[SERVED]
        print(
            f"{name}: {before.total()} branches, {before[SERVED]} {SERVED}: {gone} collapsed, "
            f"{after[SERVED]} kept"
        )
        introduced += new
    for name in _CLASSES:
        print(f"  {name}: {total[name]} before, {left[name]} after")
    undecided = total["undecided"] / total.total()
    collapsed = (total[SERVED] - left[SERVED]) / total[SERVED]
    print(f"undecided: {undecided:.1%} of {total.total()} (under 15%)")
    print(f"{SERVED}: {collapsed:.1%} collapsed or merged (at least 90%)")
    print(f"introduced, by ruff's {_RULES}: {introduced.total()} (0)")
    return int(introduced.total() > 0 or undecided >= 0.15 or collapsed < 0.9)


if __name__ == "__main__":
    sys.exit(main())
