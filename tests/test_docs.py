"""The documentation holds: examples are run, every code has its section, links lead somewhere.

An example on a rule page is a pair of fenced blocks, ``python title="before"`` and
``python title="after"``, or one ``python title="unchanged"``. A comment above it gives options:

    <!-- example: unsafe-fixes, target=accelerator -->

``silent`` says that the section's code must not be reported: a near miss.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner

from flmigrate import check_source, rewrite_source, rules
from flmigrate.cli import main
from flmigrate.encoding import UndecodableError, decode
from flmigrate.findings import Finding, Outcome, Result
from flmigrate.rules import RULES
from tests.corpus_cases import load_cases

ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs" / "rules").glob("*.md"))
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PARTS = ["What it does", "Why it matters", "Example", "Fix safety", "References"]

_OPTIONS = re.compile(r"<!-- example: (.+) -->")
_SECTION = re.compile(r"## (FL\d{3}) (\S+?)(?:: .+)?")
_CODE = re.compile(r"\bFL\d{3}\b")
_LINK = re.compile(r"\[[^\]]+\]\(([^)\s]+)\)")
_ROW = re.compile(r"\| \[(FL\d{3})\]\((\S+)\) \| (\S+) \| (.+) \| (.+) \| (.+) \|")
_LARGE = 20_000  # bytes; larger corpus files are about size, not about rules


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its info string, its text, and the line of its first fence."""

    info: str
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Example:
    """One example of a rule page; ``after`` equals ``before`` where nothing changes."""

    page: str
    line: int
    code: str
    before: str
    after: str
    options: frozenset[str]


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table in docs/rules.md."""

    code: str
    link: str
    name: str
    fixes: frozenset[str]
    severities: frozenset[str]


# --- reading the pages ---------------------------------------------------------------------


def _blocks(text: str) -> Iterator[Block]:
    lines = text.splitlines()
    number = 0
    while number < len(lines):
        if lines[number].startswith("```"):
            end = lines.index("```", number + 1)
            body = "".join(f"{line}\n" for line in lines[number + 1 : end])
            yield Block(lines[number][3:], body, number + 1)
            number = end
        number += 1


def _prose(text: str) -> list[str]:
    """The lines of a page; those of fenced blocks are empty."""
    lines = text.splitlines()
    for block in _blocks(text):
        inside = range(block.line - 1, block.line + block.text.count("\n") + 1)
        for number in inside:
            lines[number] = ""
    return lines


def _examples(page: Path) -> Iterator[Example]:
    text = page.read_text()
    prose = _prose(text)
    blocks = [block for block in _blocks(text) if block.info.startswith("python")]
    while blocks:
        block = blocks.pop(0)
        above = prose[: block.line]
        code = next((m[1] for line in reversed(above) if (m := _SECTION.fullmatch(line))), "")
        last = next((line for line in reversed(above) if line), "")
        options = _OPTIONS.fullmatch(last)
        chosen = frozenset(options[1].split(", ")) if options else frozenset[str]()
        after = block
        if block.info == 'python title="before"':
            assert blocks and blocks[0].info == 'python title="after"', f"{page}:{block.line}"
            after = blocks.pop(0)
        else:
            assert block.info == 'python title="unchanged"', f"{page}:{block.line}"
        yield Example(page.name, block.line, code, block.text, after.text, chosen)


def _rewritten(example: Example) -> Result:
    options = dict(option.partition("=")[::2] for option in example.options)
    known = {"target", "import-in", "unsafe-fixes", "silent", "chip"}
    assert options.keys() <= known, f"unknown options: {options.keys() - known}"
    return rewrite_source(
        example.before,
        target=options.get("target", "fl"),
        import_in=options.get("import-in", "none"),
        unsafe_fixes="unsafe-fixes" in options,
        notes=False,
        chips=[options["chip"]] if "chip" in options else [],
    )


def _sections(page: Path) -> list[tuple[str, str, list[str]]]:
    """The sections of a rule page: code, name, and the headings of their parts."""
    found: list[tuple[str, str, list[str]]] = []
    for line in _prose(page.read_text()):
        section = _SECTION.fullmatch(line)
        if section is not None:
            found.append((section[1], section[2], []))
        elif line.startswith("### ") and found:
            found[-1][2].append(line.removeprefix("### "))
    return found


def _rows() -> list[Row]:
    lines = (ROOT / "docs" / "rules.md").read_text().splitlines()
    found = []
    for line in lines:
        row = _ROW.fullmatch(line)
        if row is not None:
            fixes, severities = (frozenset(re.findall(r"\w+", row[n])) for n in (5, 6))
            found.append(Row(row[1], row[2], row[3], fixes, severities))
    return found


def _slug(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _anchors(text: str) -> set[str]:
    return {_slug(line.lstrip("# ")) for line in _prose(text) if line.startswith("#")}


# --- examples ------------------------------------------------------------------------------

EXAMPLES = [example for page in PAGES for example in _examples(page)]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: f"{e.page}:{e.line}")
def test_example(example: Example) -> None:
    result = _rewritten(example)
    assert result.after == example.after
    if "silent" in example.options:
        assert example.code not in _codes_of(result)


def _codes_of(result: Result) -> set[str]:
    reason = () if result.reason is None else (result.reason,)
    return {finding.code for finding in (*result.fixed, *result.left, *reason)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_sections_show_what_they_are_about(page: Path) -> None:
    """The examples of a section report its code; some codes need a real file, or settings."""
    shown: dict[str, set[str]] = {code: set() for code, _, _ in _sections(page)}
    for example in EXAMPLES:
        if example.page == page.name:
            shown[example.code] |= _codes_of(_rewritten(example))
            if page.name == "suppressions.md":  # check alone speaks of comments
                shown[example.code] |= {finding.code for finding in check_source(example.before)}
    without = {code for code, codes in shown.items() if code not in codes}
    elsewhere = {"files.md": {"FL901", "FL903", "FL904", "FL905"}, "suppressions.md": {"FL702"}}
    elsewhere["project_files.md"] = {"FL801", "FL802", "FL803", "FL804", "FL805"}
    assert without <= elsewhere.get(page.name, set())


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: f"{e.page}:{e.line}")
def test_a_rewritten_example_is_finished(example: Example) -> None:
    result = _rewritten(example)
    if result.outcome is not Outcome.SKIPPED:
        again = replace(example, before=example.after)
        assert _rewritten(again).after == example.after


def test_console_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands of files.md, run beside a Latin-1 file and one that git does not hold."""
    monkeypatch.chdir(tmp_path)
    Path("legacy.py").write_bytes(b"# caf\xe9\nx = x.cuda()\n")
    Path("train.py").write_text("x = x.cuda()\n")
    subprocess.run(["git", "init", "--quiet"], check=True)
    consoles = [
        block.text.splitlines()
        for block in _blocks((ROOT / "docs" / "rules" / "files.md").read_text())
        if block.info == "console"
    ]
    assert len(consoles) == 3
    for command, *expected in consoles:
        done = CliRunner().invoke(main, command.removeprefix("$ flmigrate ").split())
        assert done.exit_code == 1
        assert set(expected) <= set(done.output.splitlines())


# --- pages and the table -------------------------------------------------------------------


def test_every_rule_module_has_its_page() -> None:
    modules = set()
    for found in pkgutil.iter_modules(rules.__path__):
        module = importlib.import_module(f"flmigrate.rules.{found.name}")
        if hasattr(module, "check") or hasattr(module, "withhold"):
            modules.add(found.name)
    assert {page.stem for page in PAGES} == modules | {"files", "project_files", "suppressions"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_sections_have_all_parts(page: Path) -> None:
    sections = _sections(page)
    assert sections
    for code, name, parts in sections:
        assert RULES[code] == name
        assert parts == PARTS, code


def test_every_code_has_a_row_that_leads_to_its_section() -> None:
    rows = _rows()
    assert [row.code for row in rows] == list(RULES)
    for row in rows:
        assert row.name == RULES[row.code]
        page, _, anchor = row.link.partition("#")
        assert row.code in [code for code, _, _ in _sections(ROOT / "docs" / page)]
        assert anchor == _slug(f"{row.code} {row.name}")


@cache
def _findings() -> list[Finding]:
    """What the rules say about the corpus, before and after its rewriting, and the examples."""
    found: list[Finding] = []
    for target, text in _texts():
        with suppress(SyntaxError):
            found += check_source(text, target=target)
    return found


def _texts() -> Iterator[tuple[str, str]]:
    for case in load_cases():
        for file in case.files:
            for data in {file.before, file.after}:
                if len(data) < _LARGE:
                    with suppress(UndecodableError):
                        yield case.options.target, decode(data).text
    for example in EXAMPLES:
        yield "fl", example.before


@pytest.mark.parametrize("row", _rows(), ids=lambda row: row.code)
def test_the_table_tells_fixes_and_severities(row: Row) -> None:
    for finding in _findings():
        if finding.code == row.code:
            fix = finding.fix.applicability.value if finding.fix is not None else "none"
            assert fix in row.fixes, finding
            if fix != "safe":
                assert finding.severity.value in row.severities, finding


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_no_document_names_an_unknown_code(path: Path) -> None:
    assert set(_CODE.findall(path.read_text())) <= RULES.keys()


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    for link in _LINK.findall("\n".join(_prose(path.read_text()))):
        if "://" in link:
            continue
        name, _, anchor = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        assert target.exists(), link
        if anchor:
            assert anchor in _anchors(target.read_text()), link


def test_the_layout_names_every_module() -> None:
    """The tree in docs/design.md: the modules below ``flmigrate/``, by folder."""
    text = (ROOT / "docs" / "design.md").read_text()
    tree = next(b.text for b in _blocks(text) if b.text.startswith("flmigrate/"))
    listed: list[str] = []
    folders: list[str] = []
    for line in tree.splitlines():
        depth = (len(line) - len(line.lstrip())) // 2
        name = line.split()[0]
        folders[depth:] = [name]
        if name.endswith(".py"):
            listed.append("".join(folders))
    package = ROOT / "flmigrate"
    modules = {path.relative_to(ROOT).as_posix() for path in package.rglob("*.py")}
    empty = {name for name in modules if name.endswith("/__init__.py")} - {"flmigrate/__init__.py"}
    assert sorted(listed) == sorted(modules - empty)


# --- the README ----------------------------------------------------------------------------


def test_the_diff_of_the_readme_is_what_the_example_gives() -> None:
    path = ROOT / "examples" / "train" / "train.py"
    result = rewrite_source(path.read_text(), path=str(path))
    readme = (ROOT / "README.md").read_text()
    diff = next(block.text for block in _blocks(readme) if block.info == "diff")
    lines = [line for line in diff.splitlines() if line != "..."]
    assert {line[0] for line in lines} == {"-", "+", " "}
    _assert_in_order([line[1:] for line in lines if line[0] != "+"], result.before)
    _assert_in_order([line[1:] for line in lines if line[0] != "-"], result.after)


def _assert_in_order(wanted: Iterable[str], text: str) -> None:
    """Each line occurs behind the one before it; one that ends in dots may go on."""
    rest = iter(text.splitlines())
    for line in wanted:
        start = line.removesuffix("...")
        found = any(o == line or (line != start and o.startswith(start)) for o in rest)
        assert found, f"not in the example: {line!r}"
