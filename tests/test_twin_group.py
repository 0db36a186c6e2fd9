"""Two processes on the simulated device: the backend ``flagos``, and what it refuses."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.test_twin import needs_compiler, run

pytestmark = needs_compiler


def together(folder: Path, delayed: str) -> dict[str, Any]:
    """Run both processes; what the first one printed."""

    def process(rank: int) -> Any:
        arguments = ("-W", "ignore", "-m", "tests.twin_group", str(rank), str(folder / "store"))
        return run(*arguments, FLMIGRATE_TWIN_ASYNC=delayed, OMP_NUM_THREADS="1")

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(process, range(2))
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    found: dict[str, Any] = json.loads(first.stdout.splitlines()[-1])
    return found


@pytest.fixture(scope="module", params=["", "1"], ids=["", "asynchronous"])
def told(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return together(tmp_path_factory.mktemp("group"), request.param)


def flat(value: Any) -> list[float]:
    return [n for one in value for n in flat(one)] if isinstance(value, list) else [value]


def test_two_processes_learn_what_one_learns_on_the_cpu(told: dict[str, Any]) -> None:
    assert told["same on both"]
    assert told["trained"].keys() == told["alone"].keys()
    for name, value in told["trained"].items():
        assert flat(value) == pytest.approx(flat(told["alone"][name]), abs=1e-5), name


def test_data_parallel_is_torch_fls(told: dict[str, Any]) -> None:
    assert told["buffers"] == [True, ["tuple"]]


def test_collectives(told: dict[str, Any]) -> None:
    assert told["backend"] == "flagos"
    assert told["collectives"] == {
        "all_reduce": [3.0, 6.0],
        "average": [1.5, 3.0],
        "broadcast": [2.0, 4.0],
        "all_gather": [1.0, 2.0, 2.0, 4.0],
        "all_gather_single": [1.0, 2.0, 2.0, 4.0],
        "reduce_scatter": [3.0],
        "all_to_all": [1.0, 2.0],
        "exchanged": [2.0, 4.0],
        "functional": [3.0, 6.0],
        "objects": [{"rank": 0}, {"rank": 1}],
        "gloo": [2.0],
        "mesh": 2,
    }


def test_what_torch_fl_refuses_is_refused(told: dict[str, Any]) -> None:
    no_default, no_mesh, no_name = told["without a backend"]
    assert no_default[0] == no_mesh[0] == no_name[0] == "ValueError"
    assert "which communication backend to use" in no_default[1]
    assert told["positional"][0] == "TypeError"
    on_cpu = ["RuntimeError", "the backend flagos serves tensors on flagos, not on cpu"]
    assert told["tensor of the CPU"] == on_cpu
    assert told["two legs"] == [[0.0, 0.0], on_cpu]  # the leg of gloo is dropped
