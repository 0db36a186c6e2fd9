"""flmigrate chip: profiles, and what runs add to them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flmigrate.manifests.overlay import read_overlay
from flmigrate.manifests.profile import profile
from flmigrate.manifests.store import load, names
from flmigrate.runtime.compare_report import CaseReport, CompareReport, OperatorScore
from flmigrate.runtime.compare_report import json_text as compare_json
from flmigrate.runtime.run_report import OperatorRun, RunReport, json_text
from tests.command_line import invoke, tree

REAL = "flagos (torch_fl 0.1.0)"


def written(folder: Path, *operators: OperatorRun, device: str = REAL) -> None:
    report = RunReport("verify", device, "ascend", date="2026-11-30", operators=operators)
    (folder / "run.json").write_text(json_text(report))


def results(folder: Path, name: str = "flmigrate-measured.toml") -> list[tuple[str, str, str]]:
    return [(chip, r.op, r.status) for chip, r in read_overlay(folder / name)]


@pytest.mark.parametrize("name", names())
def test_every_configuration_has_a_profile(name: str) -> None:
    found = profile(load(name))
    total = sum(sum(levels.values()) for levels in found.classes.values())
    assert total == sum(not op.endswith("out") for op in found.manifest.routes)
    assert set(found.features) == {"compile", "distributed", "profiler", "AMP"}


def test_a_profile_tells_mixed_precision_by_its_operators() -> None:
    # Torch-FL registers no kernel for it anywhere, and torch has one for the CPU.
    assert profile(load("cuda")).features["AMP"] == (
        "autocast: native; GradScaler: _amp_update_scale_ on the CPU"
    )
    assert "GradScaler: _amp_" in profile(load("musa")).features["AMP"]
    assert "raises" in profile(load("tsingmicro")).features["AMP"]


def test_show_has_classes_features_hazards_and_types(tmp_path: Path) -> None:
    text = invoke(tmp_path, "chip", "show", "ascend").text
    assert "matmul" in text
    assert "compile: fails" in text
    assert "FL403 ascend-wide-matmul" in text
    assert "float64: " in text


def test_show_as_json_agrees_with_the_manifest(tmp_path: Path) -> None:
    data = json.loads(invoke(tmp_path, "chip", "show", "gcu", "--json").text)
    assert data["routes"] == load("gcu").counts()
    assert "gcu-wide-integers" in data["dtypes"]["int64"]


def test_diff_leaves_out_what_is_alike(tmp_path: Path) -> None:
    assert invoke(tmp_path, "chip", "diff", "gcu", "gcu").text == "gcu -> gcu\n"
    text = invoke(tmp_path, "chip", "diff", "ascend", "gcu").text
    assert "hazards only on gcu" in text
    assert "distributed" not in text  # the same words on both
    assert "profiler: runs; copies need LD_PRELOAD -> builds" in text


def test_learning_adds_what_raised_and_what_ran_elsewhere(tmp_path: Path) -> None:
    assert load("ascend").route("mm") is not None
    written(
        tmp_path,
        OperatorRun("mm", "native", "ascend", 3),
        OperatorRun("nonzero", "cpu_fallback", "", 2, 0.004),
        OperatorRun("hardswish", "raises", error='"no" kernel'),
        OperatorRun("diagonal", "native", "ascend", 1),
    )
    run = invoke(tmp_path, "chip", "learn", "run.json")
    assert run.code == 0
    assert sorted(results(tmp_path)) == [
        ("ascend", "diagonal", "ok"),  # the manifest says that it raises
        ("ascend", "hardswish", "raises"),
        ("ascend", "nonzero", "slow"),
    ]
    assert 'add measured = ["flmigrate-measured.toml"]' in run.text
    shown = invoke(tmp_path, "chip", "show", "ascend", "--measured", "flmigrate-measured.toml")
    assert 'aten::hardswish raises on 2026-11-30: "no" kernel' in shown.text


def test_learning_keeps_what_is_there_and_adds_nothing_twice(tmp_path: Path) -> None:
    mine = '# by hand\n[[result]]\nchip = "ascend"  # card 3\nop = "aten::nonzero"\n'
    mine += 'status = "ok"\ndate = 2026-01-01\n'
    settings = '[tool.flmigrate]\nmeasured = ["mine.toml"]\n'
    tree(tmp_path, {"mine.toml": mine, "pyproject.toml": settings})
    written(tmp_path, OperatorRun("nonzero", "cpu_fallback", "", 2))
    first = invoke(tmp_path, "chip", "learn", "run.json")
    assert "1 results, 1 new" in first.text
    assert (tmp_path / "mine.toml").read_text().startswith(mine)
    assert results(tmp_path, "mine.toml")[-1] == ("ascend", "nonzero", "slow")
    before = (tmp_path / "mine.toml").read_bytes()
    assert "1 results, 0 new" in invoke(tmp_path, "chip", "learn", "run.json").text
    assert (tmp_path / "mine.toml").read_bytes() == before
    assert not (tmp_path / "flmigrate-measured.toml").exists()


def test_a_comparison_teaches_what_is_right_and_what_is_wrong(tmp_path: Path) -> None:
    operators = (
        OperatorScore("mm", 2, "off", 2100.0, 0.1),
        OperatorScore("add.Tensor", 1, "ok", 1.0, 0.0),
    )
    case = CaseReport(4, "float32", "eager", "off", operators=operators)
    report = CompareReport("m:f", "cpu", REAL, "", "2.10.0", "2026-11-30", (case,))
    (tmp_path / "compare.json").write_text(compare_json(report))
    assert invoke(tmp_path, "chip", "learn", "compare.json").code == 2  # which chip?
    assert invoke(tmp_path, "chip", "learn", "compare.json", "--chip", "gcu").code == 0
    assert results(tmp_path) == [("gcu", "mm", "wrong"), ("gcu", "add.Tensor", "ok")]


@pytest.mark.parametrize("device", ["flagos (twin)", "flagos (simulated in Python)", "cpu", ""])
def test_nothing_is_learned_from_a_device_that_is_none(tmp_path: Path, device: str) -> None:
    written(tmp_path, OperatorRun("mm", "raises", error="no"), device=device)
    run = invoke(tmp_path, "chip", "learn", "run.json")
    assert run.code == 2
    assert "measures no chip" in run.err
    assert not (tmp_path / "flmigrate-measured.toml").exists()


def test_a_report_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("[]")
    run = invoke(tmp_path, "chip", "learn", "x.json", "--chip", "gcu")
    assert run.code == 2
    assert "x.json: no report of a run" in run.err
