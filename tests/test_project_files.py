"""FL8xx: vendors in requirements, settings, containers and scripts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import MOVE, PLAIN, contents, flmigrate, git, invoke, repository, tree

CASES = {
    "requirements": ("requirements-dev.txt", "numpy\ntorch_npu>=2.1\n", ["2:1: FL801"]),
    "spelling": ("requirements.txt", "Torch.NPU==2.1  # torch_npu\n", ["1:1: FL801"]),
    "comment only": ("requirements.txt", "# torch_npu\nnumpy  # torch-npu\n", []),
    "other names": ("requirements.txt", "my-torch-npu-tool\ntorch\n-r torch_npu.txt\n", []),
    "pyproject": (
        "pyproject.toml",
        '[project]\ndependencies = ["torch-npu>=2"]\n',
        ["2:18: FL801"],
    ),
    "conda": ("environment.yml", "dependencies:\n  - torch_musa\n", ["2:5: FL801"]),
    "yaml device": ("train.yaml", "model:\n  device: cuda\n", ["2:11: FL802"]),
    "yaml index": ("train.yml", 'device: "cuda:0"  # fast\n', ["1:10: FL802"]),
    "yaml backend": ("a.yaml", "dist_backend: nccl\n", ["1:15: FL802"]),
    "json": ("a.json", '{"device": "npu", "x": 1}\n', ["1:13: FL802"]),
    "toml": ("a.toml", 'device = "musa"\n', ["1:11: FL802"]),
    "no device": (
        "a.yaml",
        "name: cuda\ndevice: cpu\nbackend: cuda\ndevice_note: cuda is best\n",
        [],
    ),
    "image": ("Dockerfile", "FROM --platform=x nvidia/cuda:12.4 AS base\n", ["1:19: FL804"]),
    "plain image": ("Dockerfile", "FROM python:3.12\nRUN echo cuda\n", []),
    "source": ("kernel.cu", "__global__ void f() {}\n", ["1:1: FL804"]),
    "silenced": ("a.yaml", "device: cuda  # flmigrate: ignore[FL802] the NVIDIA job\n", []),
    "other code silenced": ("a.yaml", "device: cuda  # flmigrate: ignore[FL801]\n", ["1:9: FL802"]),
    "line ends": ("a.yaml", "x: 1\r\ndevice: cuda\r\n", ["2:9: FL802"]),
}


PINS = {
    "old": ("requirements.txt", "torch==2.4.0\n", "1:1"),
    "old build": ("requirements.txt", "torch==2.4.0+cu121 \\\n", "1:1"),
    "extras": ("requirements.txt", "torch[opt] ~= 2.4.0\n", "1:1"),
    "upper end": ("requirements.txt", "numpy\ntorch>=2.1, <2.9  # CI\n", "2:1"),
    "next": ("constraints.txt", "torch > 2.11\n", "1:1"),
    "right one": ("requirements.txt", "torch==2.10.0+cpu\n", ""),
    "range": ("requirements.txt", "torch>=2.0,<3\n", ""),
    "all but one": ("requirements.txt", "torch>2.9.0,<2.11,!=2.9.1\n", ""),
    "wildcard": ("requirements.txt", "torch==2.10.*\n", ""),
    "none": ("requirements.txt", "torch\n", ""),
    "other packages": ("requirements.txt", "torchvision==0.15\ntorch-geometric==2.4\n", ""),
    "markers": (
        "requirements.txt",
        "torch==2.2; sys_platform == 'darwin'\ntorch==2.10; sys_platform == 'linux'\n",
        "",
    ),
    "no marker fits": ("requirements.txt", "torch==2.2; sys_platform == 'darwin'\n", "1:1"),
    "silenced": ("requirements.txt", "torch==2.4  # flmigrate: ignore[FL805] CI only\n", ""),
    "pyproject": ("pyproject.toml", '[project]\ndependencies = ["torch>=2,<2.5"]\n', "2:18"),
    "poetry": ("pyproject.toml", '[tool.poetry.dependencies]\ntorch = "~2.4"\n', "2:1"),
    "poetry caret": ("pyproject.toml", '[tool.poetry.dependencies]\ntorch = "^2.4"\n', ""),
    "poetry table": ("pyproject.toml", 'torch = { version = "2.4.1", source = "cpu" }\n', "1:1"),
    "poetry range": ("pyproject.toml", 'torch = ">=2.9,<3.0"\n', ""),
    "poetry wildcard": ("pyproject.toml", 'torch = "2.4.*"\n', "1:1"),
    "source": ("pyproject.toml", 'torch = { index = "pytorch-2.4" }\n', ""),
    "setup.cfg": ("setup.cfg", "[options]\ninstall_requires =\n    torch<2\n", "3:5"),
    "setup.py": ("setup.py", 'setup(install_requires=["numpy", "torch==1.13.1"])\n', "1:35"),
    "conda": ("environment.yml", "dependencies:\n  - pytorch=2.4\n", "2:5"),
    "conda build": ("environment.yml", "- pytorch::pytorch=2.5.1=py3.11_cuda12.1\n", "1:12"),
    "conda right": ("environment.yml", "dependencies:\n  - pytorch=2.10\n", ""),
    "not a version": ("requirements.txt", "torch @ https://example.org/torch.whl\n", ""),
}


@pytest.mark.parametrize(("name", "text", "at"), PINS.values(), ids=PINS)
def test_a_pin_of_torch_that_the_target_cannot_run_with(
    tmp_path: Path, name: str, text: str, at: str
) -> None:
    tree(tmp_path, {name: text})
    run = invoke(tmp_path, "check", ".", "--project-files")
    found = [" ".join(found.split()[:2]) for found in run.text.splitlines()]
    assert found == ([f"{name}:{at}: FL805"] if at else [])


def test_the_versions_are_those_of_the_target(tmp_path: Path) -> None:
    tree(tmp_path, {"requirements.txt": "torch==2.7.0\n"})
    run = invoke(tmp_path, "check", "requirements.txt")
    assert "torch==2.7.0 allows no version that Torch-FL runs with (>=2.9,<2.11)" in run.text
    assert invoke(tmp_path, "check", "requirements.txt", "--target", "accelerator").code == 0


def test_setup_py_is_python_and_says_what_is_required(tmp_path: Path) -> None:
    tree(tmp_path, {"setup.py": 'import torch\n\nx.to("cuda")\nrequires = ["torch<2"]\n'})
    run = invoke(tmp_path, "check", "setup.py", "--project-files")
    assert [line.split()[1] for line in run.text.splitlines()] == ["FL105", "FL805"]
    assert "FL805" not in invoke(tmp_path, "check", "setup.py").text


def places(text: str, name: str) -> list[str]:
    found = [line.removeprefix(f"{name}:").split(" ")[:2] for line in text.splitlines()]
    return [" ".join(part) for part in found]


@pytest.mark.parametrize(("name", "text", "expected"), CASES.values(), ids=CASES)
def test_what_a_file_says(tmp_path: Path, name: str, text: str, expected: list[str]) -> None:
    tree(tmp_path, {name: text.encode()})
    run = invoke(tmp_path, "check", ".", "--project-files")
    assert places(run.text, name) == expected
    assert run.code == bool(expected)
    assert contents(tmp_path) == {name: text.encode()}


def test_a_file_that_is_named_is_looked_at_and_a_folder_on_request(tmp_path: Path) -> None:
    tree(tmp_path, {"a.yaml": "device: cuda\n", "b.py": MOVE, "c.py": PLAIN})
    assert places(invoke(tmp_path, "check", ".").text, "b.py") == ["5:25: FL106"]
    run = invoke(tmp_path, "check", "a.yaml", "c.py")
    assert places(run.text, "a.yaml") == ["1:9: FL802"]
    run = invoke(tmp_path, "check", ".", "--project-files")
    assert [line.split(":")[0] for line in run.text.splitlines()] == ["a.yaml", "b.py"]


def test_a_plug_in_beside_the_target_is_an_error(tmp_path: Path) -> None:
    tree(tmp_path, {"requirements.txt": "torch_fl\ntorch_npu\n"})
    run = invoke(tmp_path, "check", "requirements.txt", "--format", "github")
    assert run.text.startswith(
        "::error title=FL801 vendor-requirement,file=requirements.txt,line=2"
    )
    assert "stands beside torch-fl: the process would abort" in run.text


def test_variables_and_libraries_are_remarks(tmp_path: Path) -> None:
    tree(
        tmp_path, {"run.sh": "export CUDA_VISIBLE_DEVICES=0\n", "requirements.txt": "flash-attn\n"}
    )
    assert invoke(tmp_path, "check", ".", "--project-files").text == ""
    run = invoke(tmp_path, "check", ".", "--project-files", "--verbose")
    assert run.code == 0
    found = [line.split(" ")[:2] for line in run.text.splitlines()]
    assert found == [["requirements.txt:1:1:", "FL801"], ["run.sh:1:8:", "FL803"]]


OLD_SETTINGS = "device: cuda\nbackend: nccl\n"


def test_only_new_lines_count_where_git_is_asked(tmp_path: Path) -> None:
    files = {"conf/a.yaml": OLD_SETTINGS, "requirements.txt": "torch_npu\n", "a.py": PLAIN}
    root = repository(tmp_path, files)
    tree(root, {"conf/a.yaml": OLD_SETTINGS + "dist_backend: nccl\n", "a.py": MOVE})
    tree(root, {"sub/Dockerfile": "FROM nvidia/cuda:12.4\n", "requirements.txt": "torch_npu"})
    found = ["a.py:5", "conf/a.yaml:3", "sub/Dockerfile:1"]
    assert lines(flmigrate(root, "check", "--diff-base", "HEAD", "--project-files").text) == found
    git(root, "add", "-A")
    tree(root, {"conf/a.yaml": "x: 1\n", "a.py": PLAIN})  # the index is what counts
    assert lines(flmigrate(root, "check", "--staged", "--project-files").text) == found
    assert lines(flmigrate(root, "check", "--staged").text) == ["a.py:5"]
    assert lines(flmigrate(root, "check", "--staged", "conf/a.yaml", "a.py").text) == found[:2]
    inside = flmigrate(root / "conf", "check", "--staged", "--project-files", ".")
    assert lines(inside.text) == ["a.yaml:3"]


def test_a_line_that_moved_to_another_settings_file_is_not_new(tmp_path: Path) -> None:
    root = repository(tmp_path, {"a.yaml": OLD_SETTINGS})
    git(root, "mv", "a.yaml", "b.yaml")
    tree(root, {"b.yaml": "x: 1\n", "c.yaml": OLD_SETTINGS})
    git(root, "add", "-A")
    run = flmigrate(root, "check", "--staged", "--project-files")
    assert (run.code, run.text) == (0, "")


def lines(text: str) -> list[str]:
    """``file:line`` of each finding."""
    return [":".join(line.split(":")[:2]) for line in text.splitlines()]


def test_settings_and_a_baseline_hold_for_them(tmp_path: Path) -> None:
    tree(tmp_path, {"flmigrate.toml": 'per-file-ignores = { "ci/**" = ["FL8"] }\n'})
    tree(tmp_path, {"a.yaml": "device: cuda\n", "ci/b.yaml": "device: cuda\n"})
    run = invoke(tmp_path, "check", ".", "--project-files", "--ignore", "FL801")
    assert places(run.text, "a.yaml") == ["1:9: FL802"]
    assert invoke(tmp_path, "check", ".", "--project-files", "--ignore", "FL802").code == 0
    assert invoke(tmp_path, "check", ".", "--project-files", "--format", "sarif").code == 1
