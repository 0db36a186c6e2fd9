"""``flmigrate coverage``: the matrix, the verdicts, the formats, and explanations."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from flmigrate.cli import main
from flmigrate.manifests.classes import class_of
from flmigrate.manifests.optable import load_table
from flmigrate.manifests.store import CHIPS, load, names
from flmigrate.manifests.verdicts import leaves, worst

SOURCE = """\
import torch
import torch.nn.functional as F


def f(x, w):
    y = F.linear(x, w)
    return torch.nonzero(y)
"""


def invoke(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["coverage", *(str(argument) for argument in arguments)])


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "a.py"
    path.write_text(SOURCE)
    return path


def test_verdicts_and_places(source: Path) -> None:
    done = invoke(source, "--chip", "cuda,ascend,gcu")
    assert done.exit_code == 1
    lines = done.output.splitlines()
    assert lines[0] == "1 files, 2 names of torch in use (operators of torch 2.10.0)"
    assert "cuda: runs natively" in lines
    assert "ascend: blocked by 1 operator" in lines
    assert "gcu: runs with 1 operator on the CPU" in lines
    assert f"  aten::nonzero raises (torch.nonzero): {source}:7" in lines
    assert f"  aten::nonzero runs on the CPU (torch.nonzero): {source}:7" in lines


def test_a_chip_that_is_not_blocked_ends_well(source: Path) -> None:
    assert invoke(source, "--chip", "gcu").exit_code == 0
    assert invoke(source, "--chip", "ascend", "--exit-zero").exit_code == 0


def test_without_a_chip_all_are_looked_at(source: Path) -> None:
    head = next(li for li in invoke(source).output.splitlines() if li.startswith("operators"))
    assert head.split()[1:] == list(CHIPS)


def test_chips_of_the_settings_are_the_default(source: Path) -> None:
    (source.parent / "flmigrate.toml").write_text('chips = ["musa"]\n')
    head = next(li for li in invoke(source).output.splitlines() if li.startswith("operators"))
    assert head.split()[1:] == ["musa"]


def test_json(source: Path) -> None:
    data = json.loads(invoke(source, "--chip", "ascend", "--format", "json").output)
    assert data["schema"] == 1
    [chip] = data["chips"]
    assert (chip["chip"], chip["level"]) == ("ascend", "blocked")
    [blocked] = [operator for operator in chip["operators"] if operator["level"] == "blocked"]
    assert blocked["op"] == "aten::nonzero"
    assert blocked["places"] == [[str(source), 7]]
    assert {usage["name"] for usage in data["names"]} == {
        "torch.nn.functional.linear",
        "torch.nonzero",
    }


def test_html_is_one_page_that_escapes_names(tmp_path: Path) -> None:
    folder = tmp_path / "<b>"
    folder.mkdir()
    (folder / "a.py").write_text(SOURCE)
    out = tmp_path / "out.html"
    assert invoke(folder, "--chip", "ascend", "--format", "html", "-o", out).exit_code == 1
    page = out.read_text()
    assert "blocked by 1 operator" in page
    assert "&lt;b&gt;" in page and "<b>" not in page
    assert not re.search(r"(src|href)=.?https?:", page)


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import torch\ntorch.(\n")
    done = invoke(tmp_path, "--chip", "cuda")
    assert done.exit_code == 1
    assert f"{tmp_path / 'a.py'}: skipped: line 2: does not parse" in done.output


def test_many_processes_say_what_one_says(tmp_path: Path) -> None:
    for number in range(40):
        (tmp_path / f"m{number:02}.py").write_text(SOURCE + "# filler\n" * 5000)
    one = invoke(tmp_path, "--chip", "ascend", "-j", "1").output
    assert invoke(tmp_path, "--chip", "ascend", "-j", "2").output == one


@pytest.mark.parametrize("name", ["F.linear", "torch.nn.functional.linear"])
def test_explain_follows_a_name_to_its_operators(name: str) -> None:
    lines = invoke("--explain", name, "--chip", "ascend,bpu").output.splitlines()
    assert lines[0] == "torch.nn.functional.linear (traced, torch 2.10.0)"
    addmm = next(line for line in lines if line.strip().startswith("aten::addmm"))
    assert addmm.endswith("  native: ascend; cpu_fallback: bpu")
    assert "    ascend: runs natively" in lines
    assert "    bpu: partly on the CPU" in lines


def test_explain_of_an_operator_names_all_overloads() -> None:
    lines = invoke("--explain", "aten::nonzero", "--chip", "ascend,gcu").output.splitlines()
    assert lines[0] == "aten::nonzero  raises: ascend; cpu_fallback: gcu"


@pytest.mark.parametrize("arguments", [["--explain", "warp"], ["--explain", "aten::warp"], []])
def test_nothing_to_say_is_a_usage_error(arguments: list[str]) -> None:
    assert invoke(*arguments).exit_code == 2


# --- tables --------------------------------------------------------------------------------


@pytest.mark.parametrize("torch", ["2.10", "2.13"])
def test_tables_are_of_their_torch_and_say_where_from(torch: str) -> None:
    table = load_table(torch)
    assert table.torch.startswith(f"{torch}.")
    assert table.source
    assert len(table.names) > 1300


def test_a_newer_torch_gets_the_newest_table() -> None:
    assert load_table("9.9").torch == load_table("2.13").torch


@pytest.mark.parametrize(
    ("name", "origin"),
    [
        ("torch.nn.functional.linear", "traced"),
        ("torch.Tensor.__setitem__[mask]", "by hand"),
        ("torch.nn.utils.clip_grad_norm_", "by hand"),
        ("torch.Tensor.nonexistent_thing", None),
    ],
)
def test_a_name_says_where_its_operators_are_from(name: str, origin: str | None) -> None:
    api = load_table("2.13").api(name)
    assert (api.origin if api is not None else None) == origin


@pytest.mark.parametrize(
    ("name", "operators"),
    [
        ("torch.nn.functional.relu", {"relu"}),
        ("torch.nn.LSTM", {"_thnn_fused_lstm_cell"}),
        ("torch.Tensor.__imul__[number]", {"mul_.Tensor"}),
        ("torch.where[condition]", {"nonzero"}),
        ("torch.optim.AdamW", {"_foreach_sqrt"}),
        ("torch.optim.AdamW[foreach=False]", {"addcdiv_"}),
        ("torch.nn.Conv2d", {"convolution"}),
    ],
)
def test_names_ask_for_what_torch_asks_a_device_for(name: str, operators: set[str]) -> None:
    api = load_table("2.13").api(name)
    assert api is not None
    assert operators <= set(api.forward)


def test_a_fused_kernel_is_chosen_for_a_device_that_has_no_cpu_kernel_for_it() -> None:
    table = load_table("2.10")
    api = table.api("torch.nn.GRU")
    assert api is not None
    levels = {chip: worst(leaves(api, load(chip), table)) for chip in ("cuda", "musa")}
    assert levels == {"cuda": "native", "musa": "blocked"}


@pytest.mark.parametrize(
    ("op", "kind"),
    [
        ("addmm", "matmul"),
        ("_softmax_backward_data", "activation"),
        ("native_layer_norm_backward", "normalisation"),
        ("convolution_overrideable", "convolution"),
        ("_foreach_add_.List", "optimizer"),
        ("linalg_qr", "linear algebra"),
        ("sum.dim_IntList", "reduction"),
        ("index_put_", "indexing"),
        ("cos", "elementwise"),
        ("view", "shape"),
    ],
)
def test_operators_have_classes(op: str, kind: str) -> None:
    assert class_of(op) == kind


def test_every_configuration_can_be_asked() -> None:
    table = load_table("2.10")
    api = table.api("torch.nn.functional.linear")
    assert api is not None
    assert {worst(leaves(api, load(name), table)) for name in names()} <= {
        "native",
        "cpu",
        "blocked",
    }
