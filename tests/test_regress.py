"""flmigrate regress: what moved between two runs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from flmigrate.runtime.compare_report import CaseReport, CompareReport, OperatorScore, Row
from flmigrate.runtime.regress_moves import Move, moves
from flmigrate.runtime.regress_runs import Outcome, StoredRun, last_stored, store
from flmigrate.runtime.regress_set import RegressError, read_set
from tests.command_line import flmigrate, invoke, tree

CASE = CaseReport(
    4,
    "float32",
    "eager",
    "ok",
    (Row("first", "output", "ok", 1.0, 0.0), Row("last", "output", "ok", 2.0, 0.0)),
    operators=(OperatorScore("mm", 1, "ok", 1.0, 0.0),),
    seconds=0.1,
)


def stored(case: CaseReport = CASE, fallbacks: tuple[tuple[str, int], ...] = ()) -> StoredRun:
    report = CompareReport("m:f", "cpu", "flagos", "gcu", "2.10.0", "2026-11-30", (case,))
    outcome = Outcome("small", report, "", fallbacks)
    return StoredRun("2026-11-30T10:00:00", "flagos", "gcu", (("torch", "2.10.0"),), (outcome,))


def told(before: StoredRun, after: StoredRun) -> list[tuple[str, str]]:
    return [(move.direction, move.kind) for move in moves(before, after)]


def test_the_same_run_twice_moves_nothing() -> None:
    assert moves(stored(), stored()) == []


@pytest.mark.parametrize(
    ("case", "kind", "text"),
    [
        (replace(CASE, status="off", first="last"), "status", "ok -> off: first at last"),
        (
            replace(CASE, rows=(CASE.rows[0], replace(CASE.rows[1], score=900.0))),
            "numerics",
            "last (output): score 2.0 -> 900.0",
        ),
        (replace(CASE, seconds=0.16), "time", "0.100 s -> 0.160 s"),
        (
            CaseReport(4, "float32", "eager", "raises", note="no kernel"),
            "status",
            "ok -> raises: no kernel",
        ),
    ],
)
def test_what_gets_worse_gets_better_the_other_way_round(
    case: CaseReport, kind: str, text: str
) -> None:
    where = "small, batch 4, float32, eager"
    assert moves(stored(), stored(case)) == [Move(kind, "worse", where, text)]
    assert told(stored(case), stored()) == [("better", kind)]


@pytest.mark.parametrize(
    "case",
    [
        replace(CASE, rows=(CASE.rows[0], replace(CASE.rows[1], score=7.9))),  # still rounding
        replace(CASE, seconds=0.14),
        replace(CASE, status="skipped", rows=()),
    ],
)
def test_small_changes_are_not_worse(case: CaseReport) -> None:
    assert all(direction == "other" for direction, _ in told(stored(), stored(case)))


def test_times_too_short_to_measure_do_not_count() -> None:
    short, longer = replace(CASE, seconds=0.001), replace(CASE, seconds=0.01)
    assert moves(stored(short), stored(longer)) == []


def test_fallbacks_are_told_by_operator() -> None:
    before = stored(fallbacks=(("nonzero", 2), ("sort", 1)))
    after = stored(fallbacks=(("nonzero", 5), ("unique2", 1)))
    assert [(m.direction, m.text) for m in moves(before, after)] == [
        ("worse", "aten::unique2 runs on the CPU now, 1 calls"),
        ("worse", "aten::nonzero runs on the CPU 2 -> 5 times"),
        ("better", "aten::sort no longer runs on the CPU"),
    ]


def test_operators_that_came_and_went_are_neither() -> None:
    other = replace(CASE, operators=(OperatorScore("addmm", 1, "ok", 1.0, 0.0),))
    [move] = moves(stored(), stored(other))
    assert (move.kind, move.direction, move.text) == ("operators", "other", "+addmm, -mm")


def test_a_crash_is_worse_and_its_end_is_better() -> None:
    crashed = replace(stored(), outcomes=(Outcome("small", None, "exit code -11: "),))
    assert told(stored(), crashed) == [("worse", "status")]
    assert told(crashed, stored()) == [("better", "status")]
    assert told(crashed, crashed) == []


def test_a_stored_run_is_read_again_and_none_is_overwritten(tmp_path: Path) -> None:
    assert last_stored(tmp_path / "none") is None
    first = store(tmp_path / "r", stored(fallbacks=(("nonzero", 2),)))
    second = store(tmp_path / "r", stored())
    assert first != second
    assert last_stored(tmp_path / "r") == (second, stored())


@pytest.mark.parametrize("text", ["{", "[]", '{"kind": "other", "schema": 1}', '{"schema": 1}'])
def test_a_folder_with_something_else_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(RegressError, match=r"a\.json"):
        last_stored(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"write \[\[model\]\]"),
        ("[[model]]\nname = 'a'", ':1: "factory" is missing'),
        ("[[model]]\nname = 'a'\nfactory = 'm:f'\nbatch = ['1']", '"batch" must be a list of int'),
        ("[[model]]\nname = 'a'\nfactory = 'm:f'\nspeed = 1", '"speed" is no key'),
        ("[[model]]\nname='a'\nfactory='m:f'\n[[model]]\nname='a'\nfactory='m:f'", ":4: .*twice"),
        ("=", "not TOML"),
    ],
)
def test_a_set_that_is_wrong_is_refused_with_its_line(
    tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "set.toml").write_text(text)
    with pytest.raises(RegressError, match=f"set.toml.*{message}"):
        read_set(tmp_path / "set.toml")


def test_without_a_set_the_command_names_the_file(tmp_path: Path) -> None:
    run = invoke(tmp_path, "regress", "--results", "r")
    assert run.code == 2
    assert "flmigrate-regress.toml" in run.err
    assert not (tmp_path / "r").exists()


MODEL = """\
import torch
from torch import nn

print("a word of the project's own")


def small():
    return nn.Sequential(nn.Linear(4, 4), nn.ReLU(), {last}), torch.randn(2, 4)
"""
SET = '[[model]]\nname = "small"\nfactory = "models:small"\nbatch = [2]\n'


def test_a_model_that_goes_wrong_after_a_stored_run(tmp_path: Path) -> None:
    broken = """\

class Broken(nn.Linear):
    def forward(self, x):
        return super().forward(x) * (1.01 if x.device.type == "flagos" else 1)
"""
    good = MODEL.format(last="nn.Linear(4, 4)")
    tree(tmp_path, {"flmigrate-regress.toml": SET, "models.py": good})
    first = flmigrate(tmp_path, "regress", "--results", "r", "--slower", "1000")
    assert first.code == 0, first.said
    assert "no stored run to compare with" in first.text
    (tmp_path / "models.py").write_text(MODEL.format(last="Broken(4, 4)") + broken)
    second = flmigrate(tmp_path, "regress", "--results", "r", "--json", "--no-store")
    assert second.code == 1, second.said
    found = json.loads(second.text)["moves"]
    assert any(m["kind"] == "status" and m["text"] == "ok -> off: first at 2" for m in found)
    assert len(list((tmp_path / "r").iterdir())) == 1
