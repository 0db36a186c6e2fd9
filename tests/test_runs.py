"""Logs of Torch-FL and traces of torch.profiler, read as a run's report."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from flmigrate.manifests.store import load
from flmigrate.runtime.logs import read_log
from flmigrate.runtime.run_report import (
    OperatorRun,
    Place,
    Problem,
    RunReport,
    RunReportError,
    as_data,
    from_data,
    json_text,
    merged,
    read_json,
)
from flmigrate.runtime.traces import read_trace
from tests.command_line import flmigrate, invoke

LOG = """\
epoch 1
[flagos dispatch] mul.Tensor -> flagos_python
[flagos dispatch] mul.Tensor -> flagos_python
loss 0.3 [flagos cpu_fallback] aten::nonzero
[flagos cpu_fallback] aten::nonzero
[flagos dispatch] mm.out -> ascend
[flagos dispatch] hardswish -> flagos
Traceback (most recent call last):
  File "/home/u/train.py", line 12, in <module>
    main()
  File "/home/u/model.py", line 7, in forward
    return F.hardswish(x)
  File "/usr/lib/python3.12/site-packages/torch/nn/functional.py", line 1, in hardswish
    return torch._C._nn.hardswish(input)
RuntimeError: hardswish: backend not registered
"""


def by_name(report: RunReport) -> dict[str, OperatorRun]:
    return {op.op: op for op in report.operators}


def test_a_log_tells_where_each_operator_ran_and_how_often() -> None:
    found = by_name(read_log(LOG.splitlines()))
    assert found["mul.Tensor"] == OperatorRun("mul.Tensor", "flaggems", "flagos_python", 2)
    assert found["nonzero"] == OperatorRun("nonzero", "cpu_fallback", "", 2)
    assert found["mm.out"] == OperatorRun("mm.out", "native", "ascend", 1)


def test_an_operator_that_raises_is_named_once_with_the_users_line() -> None:
    report = read_log(LOG.splitlines())
    [missing] = report.missing
    assert (missing.op, missing.route, missing.calls) == ("hardswish", "raises", 1)
    assert missing.places == (Place("/home/u/model.py", 7),)
    assert [op.op for op in report.operators].count("hardswish") == 1
    assert not report.clean


def test_an_operator_without_any_kernel_and_mixed_devices() -> None:
    lines = [
        "Traceback (most recent call last):",
        '  File "a.py", line 3, in <module>',
        "NotImplementedError: Could not run 'aten::_foo' with arguments from the 'flagos' backend.",
        "Traceback (most recent call last):",
        '  File "a.py", line 9, in <module>',
        "RuntimeError: Expected all tensors to be on the same device, but found two",
    ]
    report = read_log(lines)
    [missing] = report.missing
    assert (missing.op, missing.route) == ("_foo", "unsupported")
    [problem] = report.problems
    assert (problem.kind, problem.place) == ("mixed-device", Place("a.py", 9))


def test_a_line_of_torch_fl_in_another_form_is_named_and_no_fault() -> None:
    report = read_log(["[flagos] cache: 3 hits", "[flagos] cache: 3 hits", "mine"])
    assert report.problems == (Problem("not-understood", "[flagos] cache: 3 hits", None, 2),)
    assert report.clean
    assert "FLAGOS_LOG_DISPATCH=1" in report.notes[0]


def test_the_chip_gives_the_route_that_a_log_leaves_open() -> None:
    line = "[flagos dispatch] mm -> some_new_kernel"
    assert by_name(read_log([line]))["mm"].route == ""
    assert by_name(read_log([line], load("ascend")))["mm"].route == "native"


# --- traces --------------------------------------------------------------------------------


def event(
    name: str, ts: float, dur: float, cat: str = "cpu_op", external: int = 0
) -> dict[str, Any]:
    args = {"External id": external} if external else {}
    return {"ph": "X", "cat": cat, "name": name, "ts": ts, "dur": dur, "tid": 1, "args": args}


EVENTS = [
    event("train.py(4): <module>", 0, 1000, "python_function"),
    event("torch/nn/modules/module.py(1): _call_impl", 5, 900, "python_function"),
    event("aten::linear", 10, 100),
    event("aten::addmm", 20, 60, external=7),
    event("kernel_of_the_chip", 25, 50, "kernel", external=7),
    event("aten::nonzero", 200, 300),
    event("aten::_to_cpu", 210, 40),
    event("aten::_to_copy", 215, 30),
    event("aten::nonzero", 600, 100),
    event("aten::_to_cpu", 605, 40),
]


def written(folder: Path, data: object, name: str = "trace.json") -> Path:
    path = folder / name
    text = json.dumps(data).encode()
    path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    return path


@pytest.mark.parametrize("name", ["trace.json", "trace.json.gz"])
def test_a_trace_tells_costs_fallbacks_and_lines(tmp_path: Path, name: str) -> None:
    report = read_trace(written(tmp_path, {"traceEvents": EVENTS}, name))
    found = by_name(report)
    assert found["addmm"].route == "native"
    assert found["linear"].seconds == pytest.approx(40e-6)  # without addmm
    [fallback] = report.fallbacks
    assert (fallback.op, fallback.calls) == ("nonzero", 2)
    assert fallback.seconds == pytest.approx(400e-6)  # with the copies
    assert fallback.places == (Place("train.py", 4),)
    assert "_to_copy" not in found  # a part of the way to the CPU


def test_a_trace_without_stacks_says_how_to_get_lines(tmp_path: Path) -> None:
    report = read_trace(written(tmp_path, {"traceEvents": EVENTS[2:]}))
    assert report.operators[0].places == ()
    assert "with_stack=True" in report.notes[0]


def test_a_trace_that_torch_writes_is_read(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="needs torch")
    path = tmp_path / "trace.json"
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        torch.nn.functional.linear(torch.ones(4, 4), torch.ones(4, 4))
    profile.export_chrome_trace(str(path))
    found = by_name(read_trace(path))
    assert found["linear"].calls == 1
    assert found["linear"].seconds > 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "x.json:1: not JSON"),
        ('{"a": 1}', "no trace of torch.profiler"),
        ('{"traceEvents": []}', "no operator in the trace"),
        ('{"kind": "flmigrate-run", "schema": 9}', "schema is 9; this version reads 1"),
        ('{"kind": "flmigrate-run", "schema": 1, "source": "log", "x": 1}', 'unknown key "x"'),
    ],
)
def test_what_is_no_run_is_refused_with_its_name(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "x.json").write_text(text)
    run = flmigrate(tmp_path, "log", "x.json")
    assert run.code == 2
    assert "x.json" in run.err
    assert message in run.err


# --- the report ----------------------------------------------------------------------------


def test_a_report_survives_being_stored(tmp_path: Path) -> None:
    report = read_log(LOG.splitlines(), load("ascend"))
    path = tmp_path / "run.json"
    path.write_text(json_text(report))
    assert read_json(path) == report


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"operators": [{"route": "native"}]}, r"operators\[0\]: op: is missing"),
        ({"operators": [{"op": "mm", "route": "fast"}]}, 'unknown route "fast"'),
        ({"operators": [{"op": "mm", "calls": "2"}]}, r"operators\[0\]: calls: is of the wrong"),
        ({"problems": [{"kind": "bad", "message": ""}]}, r"problems\[0\]: needs"),
        ({"operators": [{"op": "mm", "places": [{"path": "a"}]}]}, "needs path and line"),
        ({"seconds": True}, "seconds: is of the wrong type"),
        ({"source": "hearsay"}, "source: must be one of"),
    ],
)
def test_a_changed_report_is_refused_where_it_is_wrong(
    change: dict[str, Any], message: str
) -> None:
    data = {**as_data(RunReport("log")), **change}
    with pytest.raises(RunReportError, match=f"^r.json: .*{message}"):
        from_data(data, "r.json")


def test_two_accounts_of_a_run_add_up() -> None:
    one = RunReport("log", chip="gcu", operators=(OperatorRun("mm", "native", "gcu", 2),))
    two = RunReport("log", torch="2.13", operators=(OperatorRun("mm", "native", "gcu", 3, 0.5),))
    both = merged([one, two])
    assert both.operators == (OperatorRun("mm", "native", "gcu", 5, 0.5),)
    assert (both.chip, both.torch) == ("gcu", "2.13")


def test_the_command_prints_a_log_and_fails_on_what_raised(tmp_path: Path) -> None:
    (tmp_path / "run.log").write_text(LOG)
    run = invoke(tmp_path, "log", "run.log", "--chip", "ascend")
    assert run.code == 1
    assert "aten::hardswish, 1 call, hardswish: backend not registered: /home/u/model.py:7" in (
        run.text
    )
    assert "ran on the CPU: 1\n  aten::nonzero, 2 calls" in run.text


def test_what_the_command_wrote_it_reads_again(tmp_path: Path) -> None:
    (tmp_path / "run.log").write_text("[flagos cpu_fallback] aten::nonzero\n")
    assert invoke(tmp_path, "log", "run.log", "--json", "-o", "run.json").code == 0
    again = invoke(tmp_path, "log", "run.json", "run.json", "--json")
    assert json.loads(again.text)["operators"][0]["calls"] == 2


def test_a_log_needs_no_torch(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise SystemExit('imported')")
    (tmp_path / "run.log").write_text(LOG)
    run = flmigrate(tmp_path, "log", "run.log", "--exit-zero")
    assert run.code == 0
    assert "aten::nonzero" in run.text
