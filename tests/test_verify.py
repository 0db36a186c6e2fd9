"""``flmigrate verify``: what a program did on the device, and what was wrong with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import run_python
from tests.test_twin import needs_compiler, run

NET = """\
import sys
import torch_fl
import torch
from torch import nn

net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(8, 2)).to("flagos")
loss = net(torch.randn(4, 1, 4, 4, device="flagos")).pow(2).mean()
loss.backward()
print("arguments", sys.argv[1:])
"""


def verify(folder: Path, *arguments: str) -> tuple[int, dict[str, Any], str]:
    """Exit code, report, and what the program printed."""
    done = run("-m", "flmigrate", "verify", "--json", *arguments, cwd=folder)
    return done.returncode, json.loads(done.stdout or "{}"), done.stderr


def problems(report: dict[str, Any]) -> list[tuple[str, str, int]]:
    found = []
    for problem in report["problems"]:
        place = problem["place"] or {"path": "", "line": 0}
        found.append((problem["kind"], place["path"], place["line"]))
    return found


@needs_compiler
def test_a_program_that_runs(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(NET)
    code, report, printed = verify(tmp_path, "train.py", "--json", "-x", "3")
    assert (code, report["exit_code"], report["problems"]) == (0, 0, [])
    assert report["device"] == "flagos (twin)"
    assert "arguments ['--json', '-x', '3']" in printed
    operators = {op["op"]: op for op in report["operators"]}
    forward = operators["convolution_overrideable"]
    assert forward["calls"] == 1
    assert forward["places"] == [{"path": "train.py", "line": 7}]
    assert operators["addmm"]["route"] == "native"
    places = operators["convolution_backward_overrideable"]["places"]
    assert places == [{"path": "train.py", "line": 8}]  # in a thread of the backward pass


@needs_compiler
def test_a_chip_decides_what_there_is(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(NET)
    code, report, _ = verify(tmp_path, "--chip", "gcu", "train.py")
    assert code == 1
    assert problems(report) == [("missing-op", "train.py", 7)]
    (tmp_path / "inverse.py").write_text(
        'import torch_fl, torch\nx = torch.eye(3, device="flagos")\ny = torch.linalg.inv(x)\n'
        "z = x.nonzero()\n"
    )
    code, report, _ = verify(tmp_path, "--chip", "ascend", "inverse.py")
    assert code == 1
    assert next(p["message"] for p in report["problems"]).endswith(": backend not registered")
    raised = [op for op in report["operators"] if op["error"]]
    assert [op["route"] for op in raised] == ["raises"]
    code, report, _ = verify(tmp_path, "--chip", "gcu", "inverse.py")
    assert (code, report["problems"]) == (0, [])
    fallbacks = [op for op in report["operators"] if op["route"] == "cpu_fallback"]
    assert {"path": "inverse.py", "line": 4} in [p for op in fallbacks for p in op["places"]]
    assert all(op["seconds"] > 0 for op in fallbacks)


LIMITS = """\
import torch_fl, torch
def made(*dtypes):
    return [torch.ones(2, 2, dtype=getattr(torch, d), device="flagos") for d in dtypes]
single, double, whole, small = made("float32", "float64", "int64", "int16")
single @ single
double @ double
whole + whole
-small
single + single
"""


@needs_compiler
@pytest.mark.parametrize(
    ("chip", "found"),
    [
        ("ascend", {("mm", 6), ("neg", 8)}),
        ("gcu", {("add.Tensor", 7)}),
        ("cuda", set()),
    ],
)
def test_types_that_a_chip_lacks_go_to_the_cpu(
    tmp_path: Path, chip: str, found: set[tuple[str, int]]
) -> None:
    (tmp_path / "limits.py").write_text(LIMITS)
    code, report, _ = verify(tmp_path, "--chip", chip, "limits.py")
    assert (code, report["problems"]) == (0, [])
    limited = {"mm", "matmul", "neg", "add.Tensor"}
    on_cpu = [
        op for op in report["operators"] if op["route"] == "cpu_fallback" and op["op"] in limited
    ]
    names = {op["op"].replace("matmul", "mm") for op in on_cpu}
    assert {(n, line) for n, line in found} == {
        (op["op"].replace("matmul", "mm"), place["line"]) for op in on_cpu for place in op["places"]
    }, names
    assert all(op["seconds"] > 0 for op in on_cpu)


NUMERICS = """\
import torch_fl, torch
torch.manual_seed(0)
a, b = torch.randn(64, 64), torch.randn(64, 64)
conv = torch.nn.Conv2d(4, 4, 3)
x = torch.randn(1, 4, 8, 8)
cases = {
    "product": (lambda d: a.to(d) @ b.to(d)),
    "added": (lambda d: torch.addmm(a.to(d), a.to(d) * 0, b.to(d))),
    "convolution": (lambda d: conv.to(d)(x.to(d))),
    "sum": (lambda d: a.to(d).sum(1)),
    "elementwise": (lambda d: a.to(d) * b.to(d)),
}
for name, case in cases.items():
    right = case("cpu").detach().double()
    found = case("flagos").detach().cpu().double()
    print(name, ((found - right).norm() / right.norm()).item())
"""


@needs_compiler
def test_numerics_of_a_chip_can_be_switched_on(tmp_path: Path) -> None:
    (tmp_path / "numerics.py").write_text(NUMERICS)

    def errors(*options: str) -> dict[str, float]:
        code, _, printed = verify(tmp_path, *options, "numerics.py")
        assert code == 0
        pairs = (line.split() for line in printed.splitlines() if len(line.split()) == 2)
        return {name: float(error) for name, error in pairs}

    assert set(errors().values()) == {0.0}
    rounded, coarse = errors("--numerics", "tf32"), errors("--numerics", "bf16")
    for name in ("product", "convolution"):
        assert 1e-5 < rounded[name] < 1e-3 < coarse[name] < 1e-2
    for name in ("added", "sum", "elementwise"):
        assert rounded[name] == coarse[name] == 0
    shuffled = errors("--numerics", "reordered")
    assert 0 < shuffled["product"] < 1e-6
    assert 0 < shuffled["sum"] < 1e-6
    assert shuffled["elementwise"] == 0
    both = errors("--numerics", "tf32", "--numerics", "reordered")
    assert both["product"] != rounded["product"] > 1e-5
    assert both["sum"] == shuffled["sum"]


HAZARDS = """\
import torch_fl, torch
x = torch.ones(1000, device="flagos")
torch.flagos.reset_peak_memory_stats()
print("allocated", torch.flagos.memory_allocated())
torch.Stream("flagos")
torch.flagos.Stream()
"""


@needs_compiler
def test_hazards_of_a_chip_are_met(tmp_path: Path) -> None:
    (tmp_path / "hazards.py").write_text(HAZARDS)
    code, report, printed = verify(tmp_path, "--chip", "musa", "hazards.py")
    assert (code, problems(report)) == (1, [("error", "hazards.py", 6)])
    assert "libascendcl.so not found" in report["problems"][0]["message"]
    assert "allocated 0" in printed
    code, _, printed = verify(tmp_path, "--chip", "cuda", "hazards.py")
    assert code == 0
    assert "allocated 4000" in printed


@needs_compiler
def test_a_fallback_takes_no_generator_of_the_device(tmp_path: Path) -> None:
    (tmp_path / "draw.py").write_text(
        'import torch_fl, torch\ng = torch.Generator("flagos")\n'
        'torch.ones(4, device="flagos").cauchy_(generator=g)\n'
    )
    assert verify(tmp_path, "draw.py")[0] == 0
    code, report, _ = verify(tmp_path, "--chip", "gcu", "draw.py")
    assert code == 1
    message = report["problems"][0]["message"]
    assert "Expected a 'cpu' device type for generator but found 'flagos'" in message


@needs_compiler
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("net(torch.randn(4, 1, 4, 4))", [("mixed-device", "train.py", 10)]),
        ("loss + torch.ones(2)", [("mixed-device", "train.py", 10)]),
        ("if torch.cuda.is_available():\n    pass", [("vendor-code", "train.py", 10)]),
        ("torch.ones(1).cuda()", [("vendor-code", "train.py", 10)]),
        ("torch.flagos.mem_get_info()", [("error", "train.py", 10)]),
        ("sys.exit(3)", []),
        ("raise SystemExit", []),
    ],
)
def test_what_is_wrong_has_its_line(
    tmp_path: Path, text: str, found: list[tuple[str, str, int]]
) -> None:
    (tmp_path / "train.py").write_text(f"{NET}{text}\n")
    code, report, _ = verify(tmp_path, "train.py")
    assert problems(report) == found
    assert code == (0 if text == "raise SystemExit" else 1)
    assert report["exit_code"] == (3 if "exit(3)" in text else code if "if " not in text else 0)


MOVED = """\
import torch_fl
import torch
from torch import nn

first, last = nn.Embedding(5, 4), nn.Linear(4, 5, bias=False)
{tie}
net = nn.Sequential(first, last)
{early}
net.to("flagos")
late = torch.optim.Adam(net.parameters())
for _ in range(2):
    net(torch.arange(5, device="flagos")).sum().backward()
    {step}.step()
net.half().cpu()
"""


@needs_compiler
@pytest.mark.parametrize(
    ("parts", "line", "told"),
    [
        ({"tie": "", "early": "", "step": "late"}, 0, ""),
        (
            {"tie": "", "early": "early = torch.optim.SGD(net.parameters())", "step": "early"},
            13,
            "SGD has parameters of a module that was moved after it was made (moved.py:9)",
        ),
        (
            {"tie": "last.weight = first.weight", "early": "", "step": "late"},
            9,
            "gave 0.weight and 1.weight, which were one, a copy each",
        ),
    ],
)
def test_parameters_that_a_move_replaced(
    tmp_path: Path, parts: dict[str, str], line: int, told: str
) -> None:
    (tmp_path / "moved.py").write_text(MOVED.format(**parts))
    code, report, _ = verify(tmp_path, "moved.py")
    found = report["problems"]
    assert [(p["kind"], p["place"]["line"]) for p in found] == [("replaced", line)] * bool(line)
    assert told in "".join(p["message"] for p in found)
    assert code == int(bool(line))


RACES = """\
import torch_fl, torch
side, buffer = torch.flagos.Stream(), torch.ones(4).pin_memory()
x = torch.arange(4.0, device="flagos").exp()
with torch.flagos.stream(side):
    y = x + 1
print(y.cpu())
z = buffer.to("flagos", non_blocking=True)
buffer.zero_()
w = z * 2
side.wait_stream(torch.flagos.current_stream())
with torch.flagos.stream(side):
    v = w.cos()
del w
u = torch.ones(4, device="flagos")
side.synchronize()
"""


@needs_compiler
def test_a_missing_synchronisation_has_its_line(tmp_path: Path) -> None:
    (tmp_path / "races.py").write_text(RACES)
    code, report, _ = verify(tmp_path, "races.py")
    assert (code, report["problems"]) == (0, [])
    code, report, _ = verify(tmp_path, "--asynchronous", "races.py")
    assert code == 1
    assert problems(report) == [("missing-sync", "races.py", line) for line in (5, 6, 7, 12)]
    messages = [problem["message"] for problem in report["problems"]]
    assert "add.Tensor does not wait for exp at races.py:3" in messages[0]
    assert "overwritten before it was read" in messages[2]
    assert "no record_stream()" in messages[3]


@needs_compiler
def test_modules_tests_and_limits(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import torch_fl, torch\n\ndef test_it():\n    assert torch.ones(1).flagos().item() == 1\n"
    )
    assert verify(tmp_path, "pytest", "-q", "test_it.py")[0] == 0
    assert verify(tmp_path, "-m", "test_it")[0] == 0
    (tmp_path / "long.py").write_text("import time\nwhile True:\n    time.sleep(1)\n")
    code, report, _ = verify(tmp_path, "--timeout", "8", "long.py")
    assert code == 1
    assert ("limit", "", 0) in problems(report)


CHILDREN = """\
import subprocess
import sys

import torch_fl
import torch
import torch.multiprocessing as mp


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, at):
        if at == 1 and "worker" in sys.argv:
            raise KeyError("no such number")
        torch.cuda.is_available()
        return at


def work(rank, how):
    x = torch.ones(2, device="flagos").sinh()
    if how == "fails":
        raise ValueError("by the child")


if __name__ == "__main__":
    how = sys.argv[1]
    if how == "process":
        for method in ("fork", "spawn"):
            child = mp.get_context(method).Process(target=work, args=(0, "fails"))
            child.start()
            child.join()
    elif how == "spawn":
        mp.spawn(work, ("fails",), nprocs=2)
    elif how == "python":
        subprocess.run([sys.executable, __file__, "grandchild"])
    elif how == "grandchild":
        work(0, "fails")
    else:
        list(torch.utils.data.DataLoader(Numbers(), num_workers=1))
"""


@needs_compiler
@pytest.mark.parametrize(
    ("how", "found"),
    [
        ("process", [("error", "children.py", 23, 2)]),
        ("spawn", [("error", "children.py", 23, 1)]),
        ("python", [("error", "children.py", 23, 1)]),
        ("loader", [("vendor-code", "children.py", 16, 2)]),
        ("worker", [("error", "children.py", 15, 1)]),
    ],
)
def test_processes_that_are_started_are_seen(
    tmp_path: Path, how: str, found: list[tuple[str, str, int, int]]
) -> None:
    (tmp_path / "children.py").write_text(CHILDREN)
    code, report, printed = verify(tmp_path, "children.py", how)
    told = [
        (*place, p["count"]) for place, p in zip(problems(report), report["problems"], strict=True)
    ]
    assert told == found, printed
    assert code == 1
    called = {op["op"]: op["calls"] for op in report["operators"]}
    assert called.get("sinh", 0) == {"process": 2, "spawn": 2, "python": 1}.get(how, 0)
    if how == "spawn":
        assert report["problems"][0]["message"] == "ValueError: by the child"


@needs_compiler
def test_torchruns_workers_are_seen(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import torch_fl, torch\nimport torch.distributed as dist\n"
        'dist.init_process_group("gloo")\nx = torch.ones(2)\ndist.all_reduce(x)\n'
        'torch.ones(2, device="flagos").sinh()\ntorch.cuda.is_available()\n'
        "assert x[0] == 2\ndist.destroy_process_group()\n"
    )
    start = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", "train.py"]
    code, report, printed = verify(tmp_path, *start)
    assert problems(report) == [("vendor-code", "train.py", 7)], printed
    assert report["problems"][0]["count"] == 2
    assert (code, report["exit_code"]) == (1, 0)
    assert {op["op"]: op["calls"] for op in report["operators"]}["sinh"] == 2
    assert "2 more processes reported" in report["notes"]


def test_usage(tmp_path: Path) -> None:
    for arguments, message in (
        ((), "name a script"),
        (("nothing.py",), "nothing.py: no such file"),
        (("--chip", "unheard", "pytest"), "unheard"),
    ):
        done = run_python(tmp_path, ["-m", "flmigrate", "verify", *arguments])
        assert done.code == 2
        assert message in done.err
        assert "Traceback" not in done.err
