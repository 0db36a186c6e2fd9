"""flmigrate doctor, on machines that are described and on this one."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from flmigrate.runtime.checks import Check
from flmigrate.runtime.doctor import Machine, examine
from flmigrate.runtime.platforms import requirements
from flmigrate.runtime.twin.build import missing_tools
from tests.command_line import environment, flmigrate

FITTING = {"torch": "2.10.0+cpu", "torch_fl": "0.1.0"}


def checks(machine: Machine, chip: str = "") -> dict[str, Check]:
    return {check.name: check for check in examine(machine, chip, smoke=False)}


def ascend(root: Path, version: str = "9.0.0") -> Path:
    """A machine's files with an Ascend card, its toolkit and driver."""
    toolkit = root / "usr/local/Ascend/ascend-toolkit/latest"
    for path, text in {
        root / "dev/davinci_manager": "",
        toolkit / "lib64/libascendcl.so": "",
        toolkit / "version.cfg": f"runtime_running_version=[{version}:CANN-{version}]\n",
        root / "usr/local/Ascend/driver/version.info": "Version=25.0.1\n",
    }.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_a_fitting_machine_is_in_order(tmp_path: Path) -> None:
    machine = Machine((3, 11, 4), FITTING, (), {}, ascend(tmp_path))
    found = checks(machine)
    assert {check.state for check in found.values()} <= {"ok", "info"}
    assert found["ascend toolkit"].found.startswith("9.0.0 in ")
    assert found["ascend driver"].found == "25.0.1"
    assert found["import order"].found == "torch_fl before torch"


def test_a_torch_of_another_minor_version_is_an_error_with_the_command() -> None:
    found = checks(Machine((3, 11), {**FITTING, "torch": "2.13.0"}, (), {}, Path("/nowhere")))
    assert found["torch"].state == "error"
    assert found["torch"].command == 'pip install "torch>=2.10,<2.11"'


def test_without_chip_and_torch_fl_a_newer_torch_is_no_error(tmp_path: Path) -> None:
    found = checks(Machine((3, 11), {"torch": "2.13.0"}, (), {}, tmp_path))
    assert (found["torch"].state, found["torch_fl"].state) == ("info", "info")


def test_a_chip_without_torch_fl_is_an_error(tmp_path: Path) -> None:
    found = checks(Machine((3, 11), {"torch": "2.10.0"}, (), {}, ascend(tmp_path)))
    assert found["torch_fl"].state == "error"


def test_a_chip_that_should_be_here_and_is_not(tmp_path: Path) -> None:
    found = checks(Machine((3, 11), FITTING, (), {}, tmp_path), "musa")
    assert found["chip"].state == "error"
    assert "/dev/mtgpu" in found["chip"].found
    assert found["musa toolkit"].command == "export MUSA_HOME=/path"


def test_a_toolkit_that_nobody_measured_is_a_warning(tmp_path: Path) -> None:
    found = checks(Machine((3, 11), FITTING, (), {}, ascend(tmp_path, "8.0.RC1")))
    assert found["ascend toolkit"].state == "warning"
    assert "9.0" in found["ascend toolkit"].advice


def test_a_toolkit_variable_that_names_the_wrong_folder(tmp_path: Path) -> None:
    root = ascend(tmp_path / "root")
    other = tmp_path / "elsewhere"
    other.mkdir()
    found = checks(Machine((3, 11), FITTING, (), {"ASCEND_HOME": str(other)}, root))
    assert found["ascend toolkit"].state == "error"
    assert "no lib64/libascendcl.so" in found["ascend toolkit"].found


@pytest.mark.parametrize(("autoload", "state"), [(None, "error"), ("1", "error"), ("0", "info")])
def test_a_plugin_that_torch_loads_by_itself_takes_the_device_key(
    tmp_path: Path, autoload: str | None, state: str
) -> None:
    variables = {} if autoload is None else {"TORCH_DEVICE_BACKEND_AUTOLOAD": autoload}
    found = checks(Machine((3, 11), FITTING, ("torch_npu",), variables, tmp_path))
    assert found["device key"].state == state
    assert "torch_npu" in found["device key"].found


def test_the_device_key_is_free_where_only_torch_fl_loads_itself(tmp_path: Path) -> None:
    found = checks(Machine((3, 11), FITTING, ("torch_fl",), {}, tmp_path))
    assert found["device key"].state == "ok"


def test_variables_that_have_no_effect_or_are_missing(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/mxcd").touch()
    variables = {
        "CUDA_VISIBLE_DEVICES": "0",
        "FLAGOS_ALIAS_CUDA": "1",
        "FLAGOS_BACKEND_CONFIG": "/nowhere/backends.conf",
        "FLAGOS_LOG_FALLBACK": "1",
        "FLAGOS_OP_mm": "cuda",
    }
    found = checks(Machine((3, 11), FITTING, (), variables, tmp_path))
    assert found["FLAGOS_METAX_BOXING"].command == "export FLAGOS_METAX_BOXING=1"
    states = {name: found[name].state for name in variables if name in found}
    assert states == {
        "CUDA_VISIBLE_DEVICES": "warning",
        "FLAGOS_ALIAS_CUDA": "warning",
        "FLAGOS_BACKEND_CONFIG": "error",
        "FLAGOS_LOG_FALLBACK": "info",
    }
    assert found["FLAGOS_OP_*"].found == "FLAGOS_OP_mm"


def test_cards_of_cuda_are_chosen_by_its_own_variable(tmp_path: Path) -> None:
    machine = Machine((3, 11), FITTING, (), {"CUDA_VISIBLE_DEVICES": "0"}, tmp_path)
    assert checks(machine, "cuda")["CUDA_VISIBLE_DEVICES"].state == "info"


def test_every_chip_has_a_title_and_tells_how_it_is_found() -> None:
    for chip in requirements().platforms.values():
        assert chip.title
        assert chip.nodes
        assert not any(path.startswith("/") for path in (*chip.nodes, chip.home, *chip.driver))


# --- the command ---------------------------------------------------------------------------

TORCH_FL = """\
import torch

class _Flagos:
    def is_available(self):
        return {available}

torch.flagos = _Flagos()
"""


def fake_torch_fl(folder: Path, text: str) -> None:
    """An installed torch_fl, of which the metadata are found like those of any package."""
    (folder / "torch_fl").mkdir()
    (folder / "torch_fl/__init__.py").write_text(text)
    (folder / "torch_fl-0.1.0.dist-info").mkdir()
    metadata = "Metadata-Version: 2.1\nName: torch_fl\nVersion: 0.1.0\n"
    (folder / "torch_fl-0.1.0.dist-info/METADATA").write_text(metadata)


def smoke_test(folder: Path) -> dict[str, str]:
    variables = {"PYTHONPATH": f"{environment()['PYTHONPATH']}:{folder}"}
    run = flmigrate(folder, "doctor", "--json", variables=variables)
    assert run.code == 1
    found: list[dict[str, str]] = json.loads(run.text)["checks"]
    return next(check for check in found if check["name"] == "smoke test")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (TORCH_FL.format(available=False), '"find a device"'),
        (TORCH_FL.format(available=True), '"create"'),  # torch has no such device
        ("raise ImportError('undefined symbol: c10')", '"import torch_fl": ImportError: undefined'),
        ("import os; os.abort()", "exit code -6"),
    ],
)
def test_the_smoke_test_says_how_far_it_came(tmp_path: Path, text: str, found: str) -> None:
    fake_torch_fl(tmp_path, text)
    check = smoke_test(tmp_path)
    assert check["state"] == "error"
    assert found in check["found"]


SIMULATED = """\
import sys

late = "torch" in sys.modules
import torch
from flmigrate.runtime import boundary

boundary.register()
torch.flagos.is_available = lambda: True
mode = boundary.OnCpu()
mode.__enter__()
to = torch.Tensor.to
torch.Tensor.to = lambda self, *a, **k: boundary.to_device(self) if a == ("flagos",) else to(
    self, *a, **k
)
if late and {picky}:
    raise ImportError("torch was first")
"""


@pytest.mark.parametrize("picky", [False, True])
def test_a_device_that_computes_passes_and_the_other_order_is_tried(
    tmp_path: Path, picky: bool
) -> None:
    fake_torch_fl(tmp_path, SIMULATED.format(picky=picky))
    variables = {"PYTHONPATH": f"{environment()['PYTHONPATH']}:{tmp_path}"}
    found = json.loads(flmigrate(tmp_path, "doctor", "--json", variables=variables).text)["checks"]
    told = {check["name"]: check for check in found}
    assert told["smoke test"]["state"] == "ok", told["smoke test"]
    assert ("import order" in told) is picky
    if picky:
        assert "torch was first" in told["import order"]["found"]


@pytest.mark.parametrize("compiler", [True, False])
def test_without_torch_fl_the_simulated_device_is_tried(tmp_path: Path, compiler: bool) -> None:
    if compiler and missing_tools():
        pytest.skip(f"the twin is built here: needs {missing_tools()}")
    variables = {} if compiler else {"PATH": str(tmp_path), "CXX": ""}
    run = flmigrate(tmp_path, "doctor", "--json", variables=variables)
    [check] = [c for c in json.loads(run.text)["checks"] if c["name"] == "smoke test"]
    assert check["state"] == ("ok" if compiler else "info"), check
    where = "on the simulated device" if compiler else "not run: torch_fl is missing"
    assert where in check["found"]
    assert compiler or "a C++ compiler" in check["advice"]


def test_it_works_without_torch(tmp_path: Path) -> None:
    """A Python that sees the packages that flmigrate needs, and no torch."""
    site = tmp_path / "site"
    site.mkdir()
    for name in ("click", "tomli"):
        folder = Path(str(importlib.import_module(name).__file__)).parent
        for path in (folder, *folder.parent.glob("*__mypyc*")):  # compiled code lies beside
            if not (site / path.name).exists():
                (site / path.name).symlink_to(path)
    (site / "flmigrate").symlink_to(Path(__file__).parent.parent / "flmigrate")
    script = f"import sys; sys.path.insert(0, {str(site)!r}); sys.argv[0] = 'flmigrate'\n"
    script += "from flmigrate.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script, "doctor"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr
    assert done.returncode == 1
    assert 'pip install "torch>=2.10,<2.11"' in done.stdout
    assert "not run: torch is missing" in done.stdout


def test_an_unknown_chip_is_a_usage_error(tmp_path: Path) -> None:
    run = flmigrate(tmp_path, "doctor", "--chip", "tpu")
    assert run.code == 2
    assert "ascend" in run.err
