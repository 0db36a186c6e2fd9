"""The simulated device: programs run on it as on the CPU, and fail on it as on Torch-FL."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from flmigrate.runtime import twin
from flmigrate.runtime.twin import build

ROOT = Path(__file__).parent.parent

# What one tensor of a thousand numbers, gone again, moves of the memory's statistics.
MEMORY = {
    **dict.fromkeys(("peak_allocated_bytes", "peak_reserved_bytes"), 4000),
    **dict.fromkeys(("num_alloc_calls", "num_free_calls"), 1),
    **dict.fromkeys(("num_device_malloc", "num_device_free"), 1),
}

needs_compiler = pytest.mark.skipif(
    bool(build.missing_tools()), reason=f"the twin is built here: needs {build.missing_tools()}"
)


def run(*arguments: str, cwd: Path = ROOT, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        env=environment,
        cwd=cwd,
        check=False,
    )


def cases(*, delayed: str = "") -> dict[str, Any]:
    done = run("-m", "tests.twin_cases", FLMIGRATE_TWIN_ASYNC=delayed)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    return cases()


@needs_compiler
def test_training_equals_the_cpus_to_the_bit(told: dict[str, Any]) -> None:
    assert told["training"] == dict.fromkeys(told["training"], True)
    assert len(told["training"]) == 14  # three models, and the optimizers on one of them


@needs_compiler
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("first_steps", ["flagos:0", True, "torch.flagos.FloatTensor", 6.0, [[3.0] * 2] * 2]),
        ("generated_methods", ["flagos:0"] * 3),
        ("mixed_precision", ["torch.float16", "torch.float32", True, "torch.bfloat16", True]),
        (
            "save_and_load",
            [[place, [0.0, 1.0, 2.0]] for place in ("flagos:0", "cpu", *["flagos:0"] * 3, "cpu")],
        ),
        ("loader", [[True, 12.0], [True, 44.0]]),
        ("pinned", [True, True, False]),
        ("generators", [True, "flagos:0", True]),
        ("streams", [True, False, True, True]),
        ("memory", [4000, 0, MEMORY]),
        ("inference", [True, False, [2, 3]]),
        (
            "indexed_by_tuples",
            [
                [[[0.0, 0.0, 1.0], [0.0, 0.0, 0.0]], [[1.0, 0.0], [0.0, 0.0]]],
                [[[1.0, 0.0, 1.0], [1.0, 1.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]]],
            ],
        ),
        ("own_kernel", [[7.0, 7.0], ["aten::frac"]]),
        ("views", [[0.0, 0.0, 15.0, 0.0], [3.0, 1.0, 0.0, 1.0]]),
        ("resized", [1.0, 1.0, 7.0]),
        ("compiled", [[3.0] * 3, [3.0] * 3]),
        ("recurrent", [True, True]),
        ("copies", "flagos:0"),
        ("accelerator", ["flagos", True, 1]),
        ("missing", []),
    ],
)
def test_programs_run(told: dict[str, Any], name: str, expected: Any) -> None:
    assert told[name] == expected


@needs_compiler
@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("two devices", "RuntimeError", "at least two devices, flagos:0 and cpu!"),
        ("input left on the CPU", "RuntimeError", "at least two devices, flagos:0 and cpu!"),
        ("convolution of the CPU", "RuntimeError", "at least two devices"),
        ("set_device by name", "TypeError", "flagos:0"),
        ("memory by name", "TypeError", "int or None"),
        ("no such device", "RuntimeError", "invalid device ordinal 3"),
        ("generator of the CPU", "RuntimeError", "device type for generator but found 'cpu'"),
        ("accelerator.synchronize", "RuntimeError", "doesn't support synchronizing all streams"),
        ("accelerator.empty_cache", "RuntimeError", "Allocator for flagos is not a DeviceAlloc"),
        ("sparse", "NotImplementedError", "flagos has dense tensors only"),
    ],
)
def test_what_torch_fl_refuses_is_refused(
    told: dict[str, Any], name: str, kind: str, message: str
) -> None:
    assert told[name][0] == kind
    assert message in told[name][1]


@needs_compiler
def test_tensors_of_the_device_are_no_arrays(told: dict[str, Any]) -> None:
    pytest.importorskip("numpy", reason="torch refuses all tensors alike without NumPy")
    assert told["numpy"][0] == "TypeError"
    assert "can't convert flagos:0 device type tensor to numpy" in told["numpy"][1]


@needs_compiler
def test_the_surface_is_torch_fls() -> None:
    names = (
        "device device_count current_device set_device synchronize is_available init"
        " is_initialized initial_seed manual_seed manual_seed_all get_rng_state set_rng_state"
        " _is_in_bad_fork get_amp_supported_dtype Stream Event current_stream stream"
        " default_generators empty_cache memory_stats memory_allocated memory_reserved"
        " reset_peak_memory_stats get_device_properties"
    )
    code = (
        "from flmigrate.runtime.twin import activate; activate(); import torch_fl, torch;"
        "print(sorted(set(torch.flagos.__all__) - {'meta', 'random'}))"
    )
    done = run("-c", code)
    assert done.stdout.strip() == str(sorted(names.split())), done.stderr


@needs_compiler
def test_programs_that_wait_do_the_same_in_the_asynchronous_mode(told: dict[str, Any]) -> None:
    delayed = cases(delayed="1")
    *others, idle = delayed.pop("streams")
    assert not idle  # the first time that something asks
    assert others == told["streams"][:-1]
    assert delayed == {name: found for name, found in told.items() if name != "streams"}


@needs_compiler
def test_every_missing_synchronisation_is_caught() -> None:
    done = run("-m", "benchmarks.runtime_sync")
    assert done.stdout.splitlines() == [
        "missing synchronisations caught: 20 of 20; the synchronised programs right: 20 of 20"
    ], done.stderr


@needs_compiler
def test_copies_on_one_stream_are_in_order() -> None:
    code = (
        "from flmigrate.runtime.twin import activate; activate(); import torch_fl, torch;"
        "x = torch.arange(4, device='flagos'); kept = x.cpu().mul(0).pin_memory();"
        "kept.copy_(x, non_blocking=True);"  # to the host and back, as offloading does
        "print(torch.eye(4, device='flagos')[kept.to('flagos', non_blocking=True)].sum().item());"
        "print(torch_fl._C.take_races())"
    )
    done = run("-c", code, FLMIGRATE_TWIN_ASYNC="1")
    assert done.stdout.splitlines() == ["4.0", "[]"], done.stderr


@needs_compiler
def test_queues_do_not_grow_without_end() -> None:
    code = (
        "from flmigrate.runtime.twin import activate; activate(); import torch_fl, torch;"
        "x = torch.zeros(1, device='flagos'); e = torch.flagos.Event(); e.record()\n"
        "for step in range(21000):\n    x += 1\n"
        "print(e.query(), torch.flagos.current_stream().query(), x.item())"
    )
    done = run("-c", code, FLMIGRATE_TWIN_ASYNC="1")
    assert done.stdout.split() == ["True", "False", "21000.0"], done.stderr


@needs_compiler
def test_narrow_has_no_gradient_on_a_chip() -> None:
    code = (
        "from flmigrate.runtime.twin import activate; activate(); import torch_fl, torch;"
        "x = torch.ones(2, 3, device='flagos', requires_grad=True);"
        "x.narrow(1, 0, 2).sum().backward()"
    )
    done = run("-c", code, FLMIGRATE_TWIN_CHIP="gcu")
    last = done.stderr.strip().splitlines()[-1]
    assert last == "RuntimeError: derivative for aten::narrow is not implemented"


ALIASED = """\
from flmigrate.runtime.twin import activate; activate()
import torch_fl, torch
net, x = torch.nn.Linear(2, 2).cuda(), torch.ones(1, 2, device="cuda")
print(net.weight.device, x.device, x.cpu().to("cuda:0").device, torch.ones(1).cuda().device)
print(torch.device("cuda"), isinstance(x.device, torch.device), torch.cuda.is_available())
print(net(x).device.type == "cuda", x.is_cuda, torch.cuda.device_count())
with torch.autocast("cuda"):
    print(net(x).dtype)
traced = torch.fx.symbolic_trace(lambda x: x + torch.arange(2, device=torch.device("cuda")))
print(traced(x).tolist())
try:
    torch.Generator("cuda")
except RuntimeError:
    print("no generator")
"""


@needs_compiler
def test_the_alias_reaches_what_torch_fls_reaches() -> None:
    assert run("-W", "ignore", "-c", ALIASED).returncode == 1  # the twin's own default: no alias
    done = run("-W", "ignore", "-c", ALIASED, FLAGOS_ALIAS_CUDA="1")
    assert done.stdout.splitlines() == [
        "flagos:0 flagos:0 flagos:0 flagos:0",
        "flagos True True",
        "False False 1",
        "torch.float32",
        "[[1.0, 2.0]]",
        "no generator",
    ], done.stderr


def test_torch_fl_is_found_after_activation_only() -> None:
    code = (
        "import importlib.util as u; from flmigrate.runtime import twin;"
        "print(u.find_spec('torch_fl'), repr(twin.which()), twin.activate());"
        "import sys; print('torch' in sys.modules)"
    )
    assert run("-c", code).stdout.split() == ["None", "''", "twin", "False"]


def test_a_real_torch_fl_goes_first(tmp_path: Path) -> None:
    (tmp_path / "torch_fl.py").write_text("")
    code = (
        "from flmigrate.runtime import twin; print(twin.activate());"
        "import torch_fl, os; print(torch_fl.__file__); print(os.environ['PYTHONPATH'])"
    )
    path = os.pathsep.join((str(ROOT), str(tmp_path)))
    first, found, inherited = run("-c", code, PYTHONPATH=path).stdout.split("\n")[:3]
    assert first == "real"
    assert Path(found).parent == tmp_path
    assert inherited == path


def test_without_a_compiler_it_says_what_it_needs(tmp_path: Path) -> None:
    code = "from flmigrate.runtime.twin import build; build.load_device()"
    done = run("-c", code, PATH=str(tmp_path), CXX="", FLMIGRATE_CACHE=str(tmp_path))
    last = done.stderr.splitlines()[-1]
    assert "TwinError: the simulated device is built from C++ and needs a C++ compiler" in last
    assert "ninja" in last


def test_ninja_is_found_beside_python(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "ninja"
    program.parent.mkdir()
    code = (
        "import sys; from pathlib import Path; from flmigrate.runtime.twin import build;"
        f"sys.executable = {str(program.with_name('python'))!r};"
        "print(build.missing_tools())"
    )
    assert "ninja" in run("-c", code, PATH=str(tmp_path)).stdout
    program.write_text("")
    program.chmod(0o755)
    assert "ninja" not in run("-c", code, PATH=str(tmp_path)).stdout


def test_the_package_lies_where_children_find_it() -> None:
    assert (twin.SITE / "torch_fl" / "__init__.py").is_file()
    assert twin.SITE.parents[3] / "flmigrate" == Path(twin.__file__).parents[2]
