"""flmigrate coverage --model: the operators of a model, without its values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import flmigrate, run_python, tree

MODELS = """\
import torch
from torch import nn
import torch.nn.functional as F


class Picks(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x):
        y = self.linear(x)
        return y * (x > 0).nonzero().shape[0]


class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x):
        return F.hardswish(self.linear(x))


class Mixed(Plain):
    def forward(self, x):
        return torch.stack([self.linear(x), x[:1]])


def mixed():
    return Mixed(), torch.randn(2, 8)


def picks():
    return Picks(), torch.randn(2, 8)


def plain():
    return Plain(), torch.randn(2, 8)


def up():
    model = nn.Sequential(nn.ConvTranspose2d(4, 2, 2, 2), nn.Conv2d(2, 6, 3, groups=2))
    return model, torch.randn(2, 4, 5, 5)


def copied():
    return nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 2), torch.randn(3, 2, 8)


def vast():
    return nn.Linear(300_000, 300_000, bias=False), torch.randn(1, 300_000)
"""


@pytest.fixture
def models(tmp_path: Path) -> Path:
    tree(tmp_path, {"models.py": MODELS})
    return tmp_path


def chips(folder: Path, *arguments: str) -> dict[str, Any]:
    run = flmigrate(folder, "coverage", *arguments, "--format", "json", "--exit-zero")
    assert run.code == 0, run.said
    return {chip["chip"]: chip for chip in json.loads(run.text)["chips"]}


def test_a_model_is_judged_by_its_own_operators_in_every_phase(models: Path) -> None:
    found = chips(models, "--model", "models:plain", "--chip", "ascend,gcu", "--optimizer", "Adam")
    operators = {op["op"]: op for op in found["ascend"]["operators"]}
    assert operators["aten::hardswish"]["level"] == "blocked"
    assert operators["aten::hardswish"]["places"] == [["models.py", 22]]
    assert operators["aten::addmm"]["phases"] == ["forward"]
    assert operators["aten::hardswish_backward"]["phases"] == ["backward"]
    assert any(op["phases"] == ["optimizer"] for op in operators.values())
    assert "aten::nonzero" not in operators
    assert found["gcu"]["level"] == "cpu"


def test_a_model_larger_than_memory_is_traced(models: Path) -> None:
    found = chips(models, "--model", "models:vast", "--chip", "cuda", "--batch", "1,64")
    assert found["cuda"]["verdict"] == "runs natively"


@pytest.mark.parametrize("model", ["up", "copied"])
def test_shapes_alone_lead_to_the_same_operators_as_values(models: Path, model: str) -> None:
    arguments = ("--model", f"models:{model}", "--chip", "gcu")
    assert chips(models, *arguments) == chips(models, *arguments, "--values")
    run = flmigrate(models, "coverage", *arguments, "--exit-zero")
    assert "FakeTensor" not in run.err
    assert "skipped" not in run.text


def test_a_model_that_looks_at_values_is_named_with_its_line(models: Path) -> None:
    run = flmigrate(models, "coverage", "--model", "models:picks", "--chip", "cuda")
    assert run.code == 1
    assert "models.py:13: " in run.text
    assert "--values computes them" in run.text
    run = flmigrate(models, "coverage", "--model", "models:picks", "--chip", "cuda", "--values")
    assert run.code == 0, run.said


def test_a_model_with_an_error_is_told_in_one_line(models: Path) -> None:
    done = flmigrate(models, "coverage", "--model", "models:mixed", "--chip", "ascend")
    assert done.code == 1
    assert "models.py:27: RuntimeError: stack expects each tensor to be equal size" in done.said
    assert "fake_tensor.py" not in done.said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "models:plain", "."], "--model stands alone"),
        (["--model", "models:absent"], 'has no "absent"'),
        (["--model", "models:plain", "--batch", "x"], "--batch"),
        (["--model", "models:plain", "--dtype", "int"], "--dtype"),
        (["--model", "models:plain", "--optimizer", "Best"], 'torch.optim has no "Best"'),
    ],
)
def test_wrong_options_are_usage_errors(models: Path, arguments: list[str], message: str) -> None:
    run = flmigrate(models, "coverage", *arguments, "--chip", "cuda")
    assert run.code == 2
    assert message in run.err


def test_the_limit_is_told_without_torch(models: Path) -> None:
    script = (
        "import importlib.util as u; find = u.find_spec\n"
        "u.find_spec = lambda n, *a: None if n == 'torch' else find(n, *a)\n"
        "from flmigrate.cli import main; main()"
    )
    run = run_python(models, ["-c", script, "coverage", "--model", "models:plain"])
    assert run.code == 2
    assert "flmigrate[runtime]" in run.err
