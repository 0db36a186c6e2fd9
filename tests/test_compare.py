"""flmigrate compare: which layer is off, and whether it is rounding."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from flmigrate.runtime.compare_report import (
    CompareReportError,
    as_data,
    from_data,
    read_json,
)
from flmigrate.runtime.comparison import Case, Setup, compare
from flmigrate.runtime.devices import DeviceError, open_device
from flmigrate.runtime.scoring import score
from flmigrate.runtime.subject import SubjectError, load_factory, make
from tests.command_line import flmigrate, invoke, run_python, tree
from tests.test_twin import needs_compiler

MODEL = '''\
import torch
from torch import nn


class Faulty(nn.Linear):
    """Wrong by a thousandth, on the device only."""

    def forward(self, x):
        y = super().forward(x)
        return y * 1.001 if x.device.type == "flagos" else y


class Net(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.first = nn.Linear(6, 8)
        self.body = nn.Sequential(nn.ReLU(), kind(8, 8), nn.Tanh())
        self.last = nn.Linear(8, 3)

    def forward(self, x):
        return self.last(self.body(self.first(x)))


def good():
    return Net(nn.Linear), torch.randn(4, 6)


def faulty():
    return Net(Faulty), torch.randn(4, 6)


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(context, value):
        return value.clone()

    @staticmethod
    def backward(context, gradient):
        return gradient * (1.01 if gradient.device.type == "flagos" else 1)


class Backward(nn.Module):
    def forward(self, x):
        return Scale.apply(x)


class Between(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(6, 6), nn.Linear(6, 6)

    def forward(self, x):
        y = self.one(x)
        return self.two(y + 0.01 if y.device.type == "flagos" else y)


class Doubled(nn.Module):
    def forward(self, x):
        return x * 2.0


def noisy():
    return nn.Sequential(nn.Linear(6, 6), nn.Dropout(0.5)), torch.randn(4, 6)


def backward():
    return nn.Sequential(nn.Linear(6, 6), Backward(), nn.ReLU(inplace=True)), torch.randn(4, 6)


def between():
    model = nn.Sequential()
    model.add_module("first", nn.Linear(6, 6))
    model.add_module("body", Between())
    return model, torch.randn(4, 6)


def twice():
    return nn.Sequential(Faulty(6, 6), nn.Tanh(), Faulty(6, 6)), torch.randn(4, 6)


library = torch.library.Library("aten", "IMPL")


def operator():
    """The kernel of a product with a number is wrong on the device."""
    library.impl("mul.Tensor", lambda a, b: (a.cpu() * 2.002).to(a.device), "PrivateUse1")
    return nn.Sequential(nn.Linear(6, 6), Doubled()), torch.randn(4, 6)


def broken():
    raise KeyError("weights")


def nothing():
    return 3
'''


@pytest.fixture
def models(tmp_path: Path) -> Path:
    tree(tmp_path, {"models.py": MODEL})
    return tmp_path


def test_a_model_without_a_fault_is_in_order_for_all_its_shapes(models: Path) -> None:
    run = flmigrate(models, "compare", "models:good")
    assert run.code == 0, run.said
    for batch in (4, 1, 7, 0):
        assert f"batch {batch}, float32, eager: ok, 7 layers" in run.text


def test_the_faulty_layer_is_named_and_not_those_behind_it(models: Path) -> None:
    run = flmigrate(models, "compare", "models:faulty", "--batch", "4", "--json")
    assert run.code == 1
    [case] = json.loads(run.text)["cases"]
    assert case["first"] == "body.1"
    assert [culprit["layer"] for culprit in case["culprits"]] == ["body.1"]
    off = {row["layer"] for row in case["rows"] if row["status"] == "off"}
    assert {"body.1", "last"} <= off  # what follows is off as well
    assert {op["op"] for op in case["operators"] if op["status"] == "off"} == set()
    alone = {step["layer"]: step["alone"] for step in case["substitutions"]}
    assert {layer for layer, status in alone.items() if status == "off"} == {"body.1"}
    prefix = {step["layer"]: step["prefix"] for step in case["substitutions"]}
    assert [prefix[layer] == "off" for layer in ("first", "body.0", "body.1", "last")] == [
        *(False, False, True, True)
    ]


def test_table_and_picture_name_the_layer(models: Path) -> None:
    run = flmigrate(models, "compare", "models:faulty", "--batch", "4", "--plot", "a.svg")
    assert "batch 4, float32, eager: off, first at body.1" in run.text
    assert "off by itself: body.1" in run.text
    picture = (models / "a.svg").read_text()
    assert picture.startswith("<svg")
    assert picture.count("body.1</text>") == 1
    assert "http" not in picture.replace("http://www.w3.org/2000/svg", "")


def test_a_compiled_model_is_compared_as_a_whole(models: Path) -> None:
    run = flmigrate(
        models,
        "compare",
        "models:good",
        "--device",
        "cpu",
        "--batch",
        "4",
        "--mode",
        "compile:eager",
    )
    assert run.code == 0, run.said
    assert "batch 4, float32, compile:eager: ok" in run.text


def test_references_of_another_machine_come_with_weights_and_inputs(models: Path) -> None:
    run = flmigrate(models, "compare", "models:good", "--batch", "4,0", "--dump", "ref.pt")
    assert run.code == 0
    assert "references for 2 cases" in run.err
    text = MODEL.replace("torch.randn(4, 6)", "torch.zeros(4, 6)")  # must not matter
    (models / "models.py").write_text(text.replace("Net(nn.Linear)", "Net(Faulty)"))
    run = flmigrate(models, "compare", "models:good", "--against", "ref.pt", "--json")
    assert run.code == 1
    full, empty = json.loads(run.text)["cases"]
    assert [culprit["layer"] for culprit in full["culprits"]] == ["body.1"]
    assert empty["status"] == "ok"


def test_references_of_another_model_are_refused(models: Path) -> None:
    flmigrate(models, "compare", "models:good", "--batch", "4", "--dump", "ref.pt")
    run = flmigrate(models, "compare", "models:faulty", "--against", "ref.pt")
    assert run.code == 2
    assert "ref.pt: is of models:good, not of models:faulty" in run.err
    (models / "models.py").write_text(MODEL.replace("nn.Linear(8, 3)", "nn.Linear(8, 5)"))
    run = flmigrate(models, "compare", "models:good", "--against", "ref.pt")
    assert run.code == 2
    assert "ref.pt: models:good has changed" in run.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["models:absent"], 'models has no "absent"'),
        (["absent:f"], "no module absent"),
        (["models"], "write pkg.mod:factory"),
        (["models:broken"], "models.py:91: KeyError: 'weights'"),
        (["models:nothing"], "must return a module and its inputs"),
        (["models:good", "--device", "cuda"], 'device "cuda"'),
        (["models:good", "--dtype", "int8"], '"int8" is none of'),
        (["models:good", "--batch", "many"], "--batch"),
        (["models:good", "--mode", "graph"], "neither eager nor compile"),
        (["models:good", "--against", "models.py"], "models.py: no references"),
    ],
)
def test_what_cannot_be_compared_is_said_in_a_line(
    models: Path, arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "models", raising=False)
    device = () if "--device" in arguments else ("--device", "cpu")
    run = invoke(models, "compare", *arguments, *device)
    monkeypatch.delitem(sys.modules, "models", raising=False)
    assert run.code == 2
    assert message in run.err
    assert len(run.err.strip().splitlines()) <= 4


def test_without_torch_the_command_says_what_it_needs(models: Path) -> None:
    script = (
        "import importlib.util as u; find = u.find_spec\n"
        "u.find_spec = lambda n, *a: None if n == 'torch' else find(n, *a)\n"
        "from flmigrate.cli import main; main()"
    )
    run = run_python(models, ["-c", script, "compare", "models:good"])
    assert run.code == 2
    assert "flmigrate[runtime]" in run.err


# --- scores --------------------------------------------------------------------------------


def products(precision: Any) -> Any:
    """A product, by float64 and in float32 with its factors rounded to a precision first."""
    generator = torch.Generator().manual_seed(1)
    a, b = (torch.randn(64, 64, generator=generator) for _ in range(2))
    got = precision(a) @ precision(b)
    return got, a @ b, a.double() @ b.double()


def rounded(bits: int) -> Any:
    def to(values: Any) -> Any:
        scale = 2.0 ** (bits - torch.floor(torch.log2(values.abs())))
        return torch.round(values * scale) / scale

    return to


def test_exact_arithmetic_scores_one() -> None:
    got, same, truth = products(lambda values: values)
    assert score(got, same, truth).score == pytest.approx(1.0)
    assert score(got, same, truth).status != "off"


def test_another_order_of_summation_is_rounding() -> None:
    a = torch.randn(8, 4096, generator=torch.Generator().manual_seed(1))
    found = score(a.flip(1).cumsum(1)[:, -1], a.sum(1), a.double().sum(1))
    assert found.status != "off"


@pytest.mark.parametrize("bits", [10, 7])  # tf32 and bfloat16
def test_reduced_precision_is_off(bits: int) -> None:
    found = score(*products(rounded(bits)))
    assert found.status == "off"
    assert found.score > 500


def test_an_error_that_hides_below_the_absolute_tolerance_is_off() -> None:
    truth = torch.full((100,), 1e-6, dtype=torch.float64)
    same = truth.float()
    assert score(same * 1.01, same, truth).status == "off"
    assert torch.allclose(same * 1.01, same, rtol=1.3e-6, atol=1e-5)


@pytest.mark.parametrize(
    ("got", "same", "status"),
    [
        ([1.0, float("nan")], [1.0, float("nan")], "ok"),
        ([1.0, float("nan")], [1.0, 2.0], "off"),
        ([1.0, float("inf")], [1.0, float("-inf")], "off"),
        ([1.0, 5.0], [1.0, float("inf")], "off"),
        ([], [], "ok"),
    ],
)
def test_values_that_are_no_numbers(got: list[float], same: list[float], status: str) -> None:
    reference = torch.tensor(same)
    assert score(torch.tensor(got), reference, reference.double()).status == status


def test_another_shape_or_type_is_off() -> None:
    two = torch.ones(2)
    assert score(torch.ones(1), two, two.double()).why == "shape 1, not 2"
    assert "float16" in score(two.half(), two, two.double()).why
    assert score(torch.tensor([1, 3]), torch.tensor([1, 2]), torch.tensor([1, 2])).status == "off"


# --- subjects and reports ------------------------------------------------------------------


def test_a_batch_size_is_asked_of_the_factory_or_cut_from_the_inputs() -> None:
    def asked(batch_size: int = 2) -> Any:
        return torch.nn.Linear(3, 3), torch.zeros(batch_size, 3)

    def cut() -> Any:
        return torch.nn.Linear(3, 3), {"input": torch.arange(6.0).reshape(2, 3)}

    assert make("a", asked, 5).args[0].shape == (5, 3)
    assert make("a", cut, 3).kwargs["input"].tolist() == [[0, 1, 2], [3, 4, 5], [0, 1, 2]]
    assert make("a", cut).batch == 2
    with pytest.raises(SubjectError, match="take a parameter batch_size"):
        make("a", lambda: (torch.nn.Identity(), torch.tensor(1.0)), 2)


def test_a_model_that_the_reference_refuses_is_skipped() -> None:
    class Picky(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            if not len(x):
                raise ValueError("empty batch")
            return x * 2

    cpu = open_device("cpu")
    report = compare("m", lambda: (Picky(), torch.ones(2)), [Case(0)], Setup(cpu, cpu))
    [case] = report.cases
    assert (case.status, report.clean) == ("skipped", True)
    assert "empty batch" in case.note


def test_dropout_does_not_count_in_training_mode(models: Path) -> None:
    run = flmigrate(models, "compare", "models:noisy", "--batch", "4", "--train")
    assert run.code == 0, run.said


@pytest.mark.parametrize(
    ("factory", "blamed", "operator"),
    [
        ("backward", ["1"], ""),  # a layer without parameters, wrong in its gradient only
        ("between", ["body"], ""),  # a container's own code, between its layers
        ("twice", ["0", "2"], ""),  # two faults at once
        ("operator", ["1"], "mul.Tensor"),  # a kernel that is wrong by itself
    ],
)
def test_who_is_to_blame(models: Path, factory: str, blamed: list[str], operator: str) -> None:
    run = flmigrate(models, "compare", f"models:{factory}", "--batch", "4", "--json")
    assert run.code == 1, run.said
    [case] = json.loads(run.text)["cases"]
    assert [culprit["layer"] for culprit in case["culprits"]] == blamed
    assert case["culprits"][0]["operator"] == operator


@needs_compiler
def test_the_twin_stands_for_the_device_and_is_the_chip(models: Path) -> None:
    (models / "moved.py").write_text("import torch_fl\nfrom models import good\n")
    run = flmigrate(models, "compare", "moved:good", "--batch", "4", "--json")
    assert run.code == 0, run.said
    assert json.loads(run.text)["device"] == "flagos (twin)"
    run = flmigrate(
        models, "compare", "moved:good", "--batch", "4", "--chip", "tsingmicro", "--json"
    )
    [case] = json.loads(run.text)["cases"]
    assert (run.code, case["status"]) == (1, "raises")
    assert "backend not registered" in case["note"]
    run = flmigrate(models, "compare", "moved:good", "--chip", "unheard")
    assert run.code == 2
    assert "unheard" in run.err


def test_without_a_compiler_python_stands_for_the_device(models: Path) -> None:
    nothing = {"PATH": str(models), "CXX": ""}
    run = flmigrate(models, "compare", "models:faulty", "--batch", "4", "--json", variables=nothing)
    assert run.code == 1, run.said
    report = json.loads(run.text)
    assert report["device"] == "flagos (simulated in Python)"
    assert [culprit["layer"] for culprit in report["cases"][0]["culprits"]] == ["body.1"]


def test_a_report_survives_being_stored(tmp_path: Path, models: Path) -> None:
    flmigrate(models, "compare", "models:faulty", "--batch", "4", "--json", "-o", "r.json")
    report = read_json(models / "r.json")
    assert from_data(json.loads(json.dumps(as_data(report))), "r") == report


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "no comparison"),
        ({"kind": "flmigrate-compare", "schema": 2}, "schema is 2"),
        ({"kind": "flmigrate-compare", "schema": 1, "cases": [{"batch": "4"}]}, r"cases\[0\]: "),
    ],
)
def test_another_file_is_refused(data: dict[str, Any], message: str) -> None:
    with pytest.raises(CompareReportError, match=f"^x.json: .*{message}"):
        from_data(data, "x.json")


def test_a_factory_is_found_by_its_name(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(models)
    model, _ = load_factory("models:good")()
    assert isinstance(model, torch.nn.Module)


def test_a_device_that_is_not_here() -> None:
    with pytest.raises(DeviceError, match='device "nowhere"'):
        open_device("nowhere")
