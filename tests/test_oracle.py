"""A rewritten program does what it did: cases of the corpus and programs drawn at random.

``pytest --oracle-programs 20000`` draws more of them; ``python -m benchmarks.oracle`` counts.
"""

from __future__ import annotations

import ast
import textwrap
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flmigrate.findings import Outcome, Result
from tests.corpus_cases import Case, load_cases
from tests.oracle.comparison import Difference, compare, rewritten
from tests.oracle.exploring import way_of
from tests.oracle.programs import program
from tests.oracle.shrinking import shrunk

# What a case of the corpus does on the target is not what it did, and is meant to be so.
DEPARTURES: dict[str, str] = {
    "BRA-080": "rows of parameters for other vendors go, and a trace shows what pytest is given",
    "BRA-082": "the same, of rows that are calls",
}

RUN = "def run(x, device, device_type, target_device):\n"


def body(text: str) -> str:
    """A program for cuda, whose ``run`` has these lines."""
    return "import torch  # with cuda\n\n" + RUN + textwrap.indent(textwrap.dedent(text), "    ")


def claimed(before: str, after: str) -> Difference | None:
    """What the oracle says of a rewrite that is given to it."""
    return compare(before, Result("p.py", Outcome.CHANGED, before, after, (), ()))


# --- the oracle itself -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("x.cuda()", "x.to('flagos')", id="move"),
        pytest.param("x.cuda(1)", "x.flagos(1)", id="move by index"),
        pytest.param("torch.cuda.synchronize()", "torch.flagos.synchronize()", id="call"),
        pytest.param(
            "return 1 if x.is_cuda else 2", "return 1 if x.is_flagos else 2", id="attribute"
        ),
        pytest.param(
            "if hasattr(torch, 'npu') and torch.npu.is_available():\n    trace('npu')\ntrace('b')",
            "trace('b')",
            id="another vendor's arm goes",
        ),
        pytest.param(
            "if torch.npu.is_available():\n    torch.npu.synchronize()\nreturn 2",
            "return 2",
            id="a probe that raises on the canonical vendor goes",
        ),
        pytest.param(
            "return device.type in ('cuda', 'npu')",
            "return device.type in ('flagos',)",
            id="members",
        ),
        pytest.param(
            "with torch.cuda.amp.autocast(False):\n    trace('a')",
            "with torch.autocast('flagos', enabled=False):\n    trace('a')",
            id="autocast",
        ),
        pytest.param("return 'nccl'", "return 'flagos'", id="backend"),
        pytest.param(
            "if device.type == 'mps':\n    return 1",
            "if device.type == 'mps':\n    return 1",
            id="a vendor that is not served",
        ),
    ],
)
def test_equal_programs_agree(before: str, after: str) -> None:
    assert claimed(body(before), body(after)) is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("x.cuda()", "x.cuda()", id="a move that was forgotten"),
        pytest.param("x.cuda(1)", "x.to('flagos:0')", id="another index"),
        pytest.param(
            "return 1 if x.is_cuda else 2",
            "return 1 if x.is_cuda else 2",
            id="an attribute that is silently false",
        ),
        pytest.param(
            "return device_type == 'cuda'",
            "return device_type == 'cuda'",
            id="a comparison that is silently false",
        ),
        pytest.param(
            "with torch.autocast('cuda'):\n    trace('a')",
            "with torch.autocast('cuda'):\n    trace('a')",
            id="autocast of a device that is not there",
        ),
        pytest.param(
            "import torch.distributed as dist\ndist.init_process_group('nccl')",
            "import torch.distributed as dist\ndist.init_process_group('nccl')",
            id="a backend that is not there",
        ),
        pytest.param(
            "if torch.cuda.is_available():\n    trace('gpu')\nelse:\n    trace('cpu')",
            "trace('gpu')",
            id="the CPU's arm was lost",
        ),
        pytest.param(
            "if device.type == 'mps':\n    return 1\nreturn 2",
            "return 2",
            id="the arm of a vendor that is not served was lost",
        ),
        pytest.param(
            "if hasattr(torch, 'npu'):\n    trace('npu')",
            "if hasattr(torch, 'flagos'):\n    trace('npu')",
            id="another vendor's arm was switched on",
        ),
        pytest.param(
            "if ask('a') and hasattr(torch, 'npu'):\n    trace('npu')",
            "pass",
            id="an effect of a condition was lost",
        ),
        pytest.param(
            "return ask('a') and ask('b')", "return ask('b') and ask('a')", id="another order"
        ),
        pytest.param(
            "for i in range(2):\n    if x.is_cuda:\n        break\nelse:\n    trace('end')",
            "for i in range(2):\n    if x.is_flagos:\n        break\ntrace('end')",
            id="the else of a loop",
        ),
        pytest.param(
            "if torch.cuda.is_available():\n    late = 1\nelse:\n    late = 2\nreturn late",
            "if torch.flagos.is_available():\n    late = 1\nreturn late",
            id="a name without a value",
        ),
        pytest.param(
            "assert torch.cuda.is_available()\ntrace('a')", "trace('a')", id="an assertion"
        ),
        pytest.param(
            "if torch.npu.is_available():\n    trace('a')\ntrace('b')",
            "if torch.npu.is_available():\n    trace('a')\ntrace('b')",
            id="a probe that raises on the target, and nobody was told",
        ),
        pytest.param(
            "torch.cuda.synchronize()",
            "torch.flagos.synchronise()",
            id="a name that the target does not have",
        ),
    ],
)
def test_programs_that_differ_are_told_apart(before: str, after: str) -> None:
    assert claimed(body(before), body(after)) is not None


def test_a_program_without_an_end_is_no_difference() -> None:
    endless = body("while True:\n    trace('a')")
    assert claimed(endless, endless) is None


def test_a_seed_repeats_its_program() -> None:
    assert program(Random(7)) == program(Random(7))
    assert program(Random(7)) != program(Random(8))


def test_drawn_programs_parse_and_hold_every_construct() -> None:
    kinds: set[type] = set()
    for seed in range(300):
        kinds |= {type(node) for node in ast.walk(ast.parse(program(Random(seed))))}
    wanted = {ast.If, ast.IfExp, ast.Match, ast.While, ast.For, ast.Assert, ast.Dict, ast.Lambda}
    wanted |= {ast.ListComp, ast.NamedExpr, ast.ClassDef, ast.Try, ast.With, ast.BoolOp, ast.Return}
    assert wanted <= kinds


def test_a_difference_shrinks_to_what_makes_it() -> None:
    text = body("trace('a')\nif ask('b'):\n    x.cuda()\n    trace('c')\nreturn 2")
    smallest = shrunk(text, lambda candidate: claimed(candidate, candidate) is not None)
    assert ast.unparse(ast.parse(smallest)).splitlines()[-1].strip() == "x.cuda()"
    assert "trace" not in smallest and "ask" not in smallest


# --- the corpus ------------------------------------------------------------------------------


def _runnable(case: Case) -> bool:
    text = case.files[0].before
    one = len(case.files) == 1 and case.options.target == "fl" and not case.options.unsafe_fixes
    about_branches = "FL201" in {*case.rules, *(place.code for place in case.expected)}
    return one and about_branches and b"torch_fl" not in text


CASES = [case for case in load_cases() if _runnable(case)]


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in CASES])
def test_a_case_of_the_corpus_does_what_it_did(case: Case) -> None:
    text = case.files[0].before.decode()
    result, way = rewritten(text), way_of(text)
    difference = compare(text, result, way)
    if difference is not None and "cuda" not in text:
        # What names no device of cuda may still have been written for it: "nccl".
        difference = compare(text, result, way, "cuda")
    if case.id in DEPARTURES:
        assert difference is not None, f"{case.id} agrees: take it out of DEPARTURES"
    else:
        assert difference is None, str(difference)


# --- programs drawn at random ----------------------------------------------------------------


def test_drawn_programs_do_what_they_did(request: pytest.FixtureRequest) -> None:
    count: int = request.config.getoption("--oracle-programs")

    @given(rng=st.randoms(use_true_random=False))
    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    def agrees(rng: Random) -> None:
        text = program(rng)
        result = rewritten(text)
        if result.reason is None:
            difference = compare(text, result)
            assert difference is None, str(difference)

    agrees()
