"""Every case of ``corpus/`` does what it says.

A case is rewritten as a project in a folder of its own. The comparison is by bytes, so it
also holds every line that is not expected to change. ``_rewrite`` is the only place that
calls the tool.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from flmigrate.config import Config
from flmigrate.encoding import decode, encode
from flmigrate.findings import Finding, Outcome, Severity
from flmigrate.manifests.store import check_chips
from flmigrate.runner import Job, rewrite_files, with_deep_stack
from tests.corpus_cases import Case, CaseError, Place, load_cases, read_case

CASES = load_cases()
RULES = frozenset(f"FL1{number:02}" for number in range(1, 23))
_FAMILIES = frozenset(
    {"FL201", "FL202", "FL203", "FL204", "FL301", "FL302", "FL303", "FL304", "FL305"}
)
_CHIPS = frozenset(
    [*(f"FL40{n}" for n in range(1, 6)), *(f"FL50{n}" for n in range(1, 5))]
    + [f"FL60{n}" for n in range(1, 9)]
)

_NOTE = re.compile(r"[ \t\f]*# flmigrate: FL\d{3}\b")
_MARKED_IMPORT = re.compile(rb"(?m)^([ \t]*import torch_fl)[ \t]*#[^\r\n]*")


@dataclass(frozen=True, slots=True)
class Output:
    """What the tool made of one file.

    ``text`` is that of ``data``, with notes, and empty for a file that was skipped; the
    findings that are left have their places in it.
    """

    data: bytes
    text: str
    fixed: tuple[Finding, ...]
    left: tuple[Finding, ...]
    reason: Finding | None


def _rewrite(case: Case, files: dict[str, bytes], folder: Path) -> dict[str, Output]:
    """Rewrite ``files`` (relative path -> bytes) as one project below ``folder``."""
    paths = {folder / name: name for name in sorted(files)}
    for path, name in paths.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(files[name])
    options = case.options
    config = Config(
        root=folder,
        target=options.target,
        import_in=options.import_in,
        canonical_vendor=options.canonical_vendor,
        drop_vendors=options.drop_vendors,
        chips=check_chips(options.chips),
    )
    outputs: dict[str, Output] = {}
    job = Job(config, unsafe_fixes=options.unsafe_fixes, possible=options.possible)
    for result in rewrite_files(list(paths), job):
        name = paths[Path(result.path)]
        data, text = files[name], ""
        if result.outcome is Outcome.CHANGED:
            data = encode(decode(data), result.after)
        if result.outcome is not Outcome.SKIPPED:
            text = decode(data).text
        outputs[name] = Output(data, text, result.fixed, result.left, result.reason)
    return outputs


def _lines(text: str) -> list[str]:
    """The lines of a source, with their ends, as Python counts them."""
    return re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", text)


def _without_notes(text: str) -> str:
    return "".join(line for line in _lines(text) if not _NOTE.match(line))


def _comparable(case: Case, before: bytes, output: Output) -> bytes:
    """The bytes to compare: without notes, and without the mark of an import that was added."""
    data = output.data
    if not case.exact_notes and output.reason is None:
        data = encode(decode(data), _without_notes(output.text))
    if b"import torch_fl" not in before:
        data = _MARKED_IMPORT.sub(rb"\1", data)
    return data


def _places(path: str, output: Output) -> tuple[list[Place], list[Place]]:
    """What remains in a file: (warnings and errors, infos), at lines without note lines.

    A note that has no finding beside it counts too: it tells of something that the new text
    no longer shows.
    """
    lines = _lines(output.text)
    is_note = [bool(_NOTE.match(line)) for line in lines]

    def place(code: str, line: int) -> Place:
        return Place(code, path, line - sum(is_note[: line - 1]))

    infos = [place(f.code, f.line) for f in output.left if f.severity is Severity.INFO]
    others = [place(f.code, f.line) for f in output.left if f.severity is not Severity.INFO]
    for number, line in enumerate(lines, start=1):
        if not is_note[number - 1]:
            continue
        last = _end_of_statement(output.text, number)
        for code in _codes_of(line):
            if not any(f.code == code and number < f.line <= last for f in output.left):
                others.append(place(code, number + 1))
    return others, infos


def _end_of_statement(text: str, note: int) -> int:
    """The last line of the statement that follows a note line, decorators included."""
    starts: dict[int, int] = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.stmt):
            first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
            starts[first] = max(starts.get(first, 0), node.end_lineno or first)
    following = min((line for line in starts if line > note), default=0)
    return starts.get(following, note + 1)


def _unmatched(expected: Iterable[Place], found: Iterable[Place]) -> list[Place]:
    return [place for place in expected if not any(place.matches(other) for other in found)]


def _unexpected(found: Iterable[Place], expected: Iterable[Place]) -> list[Place]:
    return [place for place in found if not any(other.matches(place) for other in expected)]


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in CASES])
def test_case(case: Case, tmp_path: Path) -> None:
    with_deep_stack(lambda: _check(case, tmp_path))


def _check(case: Case, folder: Path) -> None:
    files = {file.path: file.before for file in case.files}
    outputs = _rewrite(case, files, folder / "first")
    skipped = {place.path for place in case.skipped}
    warnings: list[Place] = []
    infos: list[Place] = []
    codes: set[str] = set()
    for file in case.files:
        output = outputs[file.path]
        assert _shown(_comparable(case, file.before, output)) == _shown(file.after), file.path
        if output.reason is not None:
            assert Place(output.reason.code, file.path) in case.skipped
            continue
        assert file.path not in skipped
        assert ast.parse(output.data) is not None
        others, told = _places(file.path, output)
        warnings += others
        infos += told
        codes |= {finding.code for finding in (*output.fixed, *output.left)}
        codes |= {place.code for place in others}
        codes |= set(_noted(file.before))
    assert _unmatched(case.left, warnings) == [], "expected to be left"
    allowed = (*case.left, *case.told, *case.may)
    assert _unexpected(warnings, allowed) == [], "not expected to be left"
    assert _unmatched(case.told, (*warnings, *infos)) == [], "expected to be told"
    assert _unmatched(case.info, infos) == [], "expected as information"
    codes |= {place.code for place in case.skipped}
    if case.changes:
        assert set(case.rules) <= codes, "rules that took no part"
    assert not case.near_misses & (codes - {place.code for place in case.may}), "near misses"

    again = _rewrite(case, {name: output.data for name, output in outputs.items()}, folder / "2")
    for name, output in outputs.items():
        assert _shown(again[name].data) == _shown(output.data), "the second run changes it"
        if output.reason is None:
            first, second = _places(name, output)[0], _places(name, again[name])[0]
            assert sorted(first) == sorted(second), "the second run reports something else"


def _noted(before: bytes) -> list[str]:
    """The codes of notes that the file had before: removing one needs no finding."""
    text = before.decode("utf-8", "replace")
    return [code for line in _lines(text) if _NOTE.match(line) for code in _codes_of(line)]


def _codes_of(note: str) -> list[str]:
    return re.findall(r"(?:# flmigrate: |; )(FL\d{3})\b", note)


def _shown(data: bytes) -> str | bytes:
    """Text where it is text, so that a failure shows a readable difference."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data


@pytest.mark.parametrize("code", sorted(RULES | _FAMILIES | _CHIPS))
def test_rule_has_a_case_and_two_near_misses(code: str) -> None:
    assert any(code in case.reported for case in CASES)
    assert sum(code in case.near_misses for case in CASES) >= 2


def test_added_import_is_marked_for_other_tools(tmp_path: Path) -> None:
    case = next(case for case in CASES if case.id == "RV-002")
    outputs = _rewrite(case, {file.path: file.before for file in case.files}, tmp_path)
    line = next(line for line in _lines(outputs["case.py"].text) if "import torch_fl" in line)
    assert "noqa: F401" in line
    assert "isort: skip" in line


def test_ids_are_unique_and_name_their_files() -> None:
    assert [case_id for case_id, n in Counter(c.id for c in CASES).items() if n > 1] == []
    assert [c.id for c in CASES if not c.origin.name.startswith(f"{c.id}-")] == []


def test_two_cases_never_have_one_title() -> None:
    titles = Counter((case.origin.parent.name, case.title) for case in CASES)
    assert [title for title, n in titles.items() if n > 1] == []


def test_places_lie_in_the_text_after_the_rewrite() -> None:
    lost = []
    for case in CASES:
        sizes = {f.path: f.after.count(b"\n") + (not f.after.endswith(b"\n")) for f in case.files}
        for place in (*case.expected, *case.may):
            if place.line > sizes.get(place.path, -1):
                lost.append((case.id, place))
    assert lost == []


def test_expected_texts_parse() -> None:
    def check() -> list[str]:
        broken = []
        for case in CASES:
            skipped = {place.path for place in case.skipped}
            for file in case.files:
                if file.path not in skipped:
                    try:
                        ast.parse(file.after)
                    except SyntaxError as error:
                        broken.append(f"{case.id} {file.path}: {error}")
        return broken

    assert with_deep_stack(check) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id: X-1\n--- unchanged\nx = 1\n", ":1: missing rules, title, why, source"),
        ("id: X-1\nid: X-2\n", ":2: not a header line, unknown, or given twice"),
        ("colour: red\n", ":1: not a header line, unknown, or given twice"),
    ],
)
def test_bad_header_is_named_by_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bad.case"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(CaseError, match=re.escape(f"{path}{message}")):
        read_case(path)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("--- before\nx = 1\n", "a before section without its after"),
        ("--- after\nx = 1\n", "each before section is followed by its after"),
        ("--- before\nx = 1\n--- after\nx = 1\n", "differ in path or not at all"),
        ("--- generator nothing\n", "unknown generator nothing"),
        ("left: 4\n--- unchanged\nx = 1\n", "'4' is not CODE"),
        ("options: fast\n--- unchanged\nx = 1\n", "unknown option"),
        ("notes: loose\n--- unchanged\nx = 1\n", "notes can only be exact"),
    ],
)
def test_bad_case_is_refused(tmp_path: Path, body: str, message: str) -> None:
    path = tmp_path / "bad.case"
    header = "id: X-001\nrules: FL101\ntitle: t\nwhy: w\nsource: s\n"
    path.write_text(header + body, encoding="utf-8")
    with pytest.raises(CaseError, match=re.escape(message)):
        read_case(path)


def test_place_without_a_line_is_any_line() -> None:
    place = Place("FL120", "a.py")
    assert place.matches(Place("FL120", "a.py", 7))
    assert not place.matches(Place("FL120", "b.py", 7))
    assert not replace(place, line=3).matches(Place("FL120", "a.py", 7))
