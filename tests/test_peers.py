"""Faults that other migration tools have, as far as no case of the corpus shows them.

Each test is named after the fault; this tool must not have it.
"""

from __future__ import annotations

import ast
import csv
import re
from pathlib import Path

import pytest

from flmigrate import rewrite_source
from flmigrate.findings import Outcome, Result
from tests.command_line import MOVE, MOVED, contents, invoke, tree

DATA = Path(__file__).parent / "data"
NAMES = [
    row["name"]
    for row in csv.DictReader(
        line
        for line in (DATA / "torch_cuda_names.csv").read_text(encoding="utf-8").splitlines()
        if not line.startswith("#")
    )
    if row["name"].startswith("torch.cuda.")
]


def rewrite(text: str, import_in: str = "none") -> Result:
    return rewrite_source(text, import_in=import_in)


def untouched(text: str) -> None:
    """Assert that nothing changes in a text; notes about it are another matter."""
    lines = rewrite(text).after.splitlines(keepends=True)
    assert "".join(line for line in lines if "# flmigrate: FL" not in line) == text


# --- 1: names matched by their last attribute, scopes thrown away ----------------------------


@pytest.mark.parametrize(
    "text",
    [
        "import torch\n\n\ndef f(s):\n    for torch in s:\n        torch.cuda.synchronize()\n",
        "import torch\n\nf = lambda torch: torch.cuda.synchronize()\n",
        "import torch\n\n\nclass A:\n    torch = B()\n    n = torch.cuda.device_count()\n",
        "from torch import cuda\n\n\ndef f(cuda):\n    return cuda.device_count()\n",
        "def f():\n    import torch\n\n\ndef g(torch):\n    return torch.cuda.device_count()\n",
        "import a.torch\n\na.torch.cuda.synchronize()\n",
        "from . import torch\n\ntorch.cuda.synchronize()\n",
        "from .torch import cuda\n\ncuda.synchronize()\n",
        "import mytorch as tc\n\ntc.cuda.synchronize()\n",
    ],
)
def test_a_name_spelled_like_torch_is_not_torch(text: str) -> None:
    untouched(text)


@pytest.mark.parametrize(
    "text",
    [
        "import cupy\n\nwith cupy.cuda.Device(0):\n    cupy.cuda.Stream.null.synchronize()\n",
        "from cupy import cuda\n\ncuda.runtime.deviceSynchronize()\n",
        "from numba import cuda as nc\n\nnc.synchronize()\nnc.device_array(3)\n",
        "import pycuda.driver as cuda\n\ncuda.init()\n",
    ],
)
def test_the_cuda_of_another_library_is_not_torchs(text: str) -> None:
    untouched(text)


@pytest.mark.parametrize(
    "text",
    [
        "class Box:\n    def cuda(self):\n        return self\n\n\nb = Box()\nb.cuda()\n",
        "class Box:\n    def is_cuda(self):\n        return 1\n\n\nBox().is_cuda()\n",
        'from pathlib import Path\n\nPath("a").rename("cuda").samefile("cuda")\n',
    ],
)
def test_a_method_of_the_projects_own_class_is_not_a_tensors(text: str) -> None:
    untouched(text)


# --- 2: literals by their text ---------------------------------------------------------------


def test_half_a_help_text_is_not_a_device() -> None:
    text = (
        "import argparse\n\np = argparse.ArgumentParser()\n"
        'p.add_argument("--device", default="cuda", help="where to run: cuda or cpu; "\n'
        '               "cuda:0 for the first card")\nmodel.to(p.parse_args().device)\n'
    )
    assert rewrite(text).after == text.replace('default="cuda"', 'default="flagos"')


def test_half_a_docstring_is_not_a_device() -> None:
    text = (
        'def put(x, device="cuda"):\n    """Move.\n\n    device: "cuda", or cuda:0; no .cuda()\n'
        "    >>> put(x, device='cuda')\n"
        '    """\n    return x.to(device)\n'
    )
    assert rewrite(text).after == text.replace('device="cuda")', 'device="flagos")')


@pytest.mark.parametrize(
    "text",
    [
        'import logging\n\nlog = logging.getLogger("app").getChild("cuda")\n',
        'import os\n\nP = os.path.join("wheels", "cuda", "x.whl")\n',
        'from pathlib import Path\n\nP = Path("build") / "cuda" / "x.so"\n',
        'URL = "https://host/cuda:0"\nprint(f"see {URL}/cuda")\n',
        'S = {"cuda_rng_state": 1, "model.cuda.weight": 2}\n',
        'assert "cuda" in message.lower(), "cuda expected"\n',
        'r = re.compile("cuda:[0-9]+")\n',
    ],
)
def test_a_text_that_only_looks_like_a_device_stays(text: str) -> None:
    untouched(text)


# --- 3: public and stored names renamed ------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "def f(*, cuda=False, npu=False):\n    return cuda\n\n\nf(cuda=True, npu=False)\n",
        "class Options(TypedDict):\n    cuda: bool\n    npu: bool\n",
        'has = getattr(args, "cuda", False) or hasattr(args, "npu")\n',
        "opts = dict(cuda=1, npu=2, is_cuda=3)\n",
        "def cuda_is_available():\n    return has_cuda and not NO_CUDA\n",
        'sys.argv += ["--no-cuda", "--use-npu"]\n',
        'os.environ["USE_CUDA"] = os.environ.get("USE_NPU", "1")\n',
        '__all__ = ["cuda", "npu", "is_cuda"]\n',
    ],
)
def test_public_names_stay(text: str) -> None:
    untouched(text)


def test_keys_of_a_checkpoint_stay_where_their_values_move() -> None:
    text = 'import torch\n\nstate = {"cuda": torch.cuda.get_rng_state(), "cpu": 1}\n'
    after = rewrite(text).after
    assert '{"cuda": torch.flagos.get_rng_state(' in after


# --- 4: branches, keys and members that became equal without a word ---------------------------


@pytest.mark.parametrize(
    "text",
    [
        "ok = x.is_cuda or x.is_npu\n",
        "ok = x.is_cuda and not x.is_npu\n",
        'ok = x.device.type in ("cuda", "npu")\n',
        'ok = x.device.type in {"cuda", "npu"}\n',
        'ok = {"cuda": 1, "npu": 2}[x.device.type]\n',
        'ok = x.device.type == "cuda" or x.device.type == "npu"\n',
        "if x.is_cuda:\n    a()\nelif x.is_npu:\n    b()\n",
        "y = a if x.is_cuda else b if x.is_npu else c\n",
    ],
)
def test_what_becomes_equal_is_merged_or_reported(text: str) -> None:
    result = rewrite(text)
    assert "FL201" in {finding.code for finding in (*result.fixed, *result.left)}
    for repeated in ('"flagos", "flagos"', "is_flagos or x.is_flagos", "not x.is_flagos"):
        assert repeated not in result.after


@pytest.mark.parametrize(
    ("backend", "expected"),
    [
        ("cuda:nccl,cpu:gloo", "flagos:flagos,cpu:gloo"),
        ("cuda:nccl", "flagos:flagos"),
        ("cpu:gloo", "cpu:gloo"),
        ("cuda:mpi", "cuda:mpi"),
    ],
)
def test_a_composite_backend_is_never_half_rewritten(backend: str, expected: str) -> None:
    text = f'import torch.distributed as dist\n\ndist.init_process_group("{backend}")\n'
    assert f'dist.init_process_group("{expected}")\n' in rewrite(text).after


# --- 5: names that do not exist ---------------------------------------------------------------


def test_every_name_that_is_written_exists_on_the_target() -> None:
    surface = set((DATA / "flagos_surface.txt").read_text(encoding="utf-8").split())
    for use in ("{}", "{}()", "{}(x)", "{}(x, y)", "{}(*a, **k)"):
        text = "import torch\n\n" + "".join(f"{use.format(name)}\n" for name in NAMES)
        after = rewrite(text).after
        code = "\n".join(line.partition("#")[0] for line in after.splitlines())
        written = set(re.findall(r"\btorch\.flagos\.[A-Za-z_]\w*", code))
        assert written
        assert {name for name in written if name not in surface} == set()
        ast.parse(after)


def test_an_alias_is_not_broken() -> None:
    text = (
        "from torch.cuda import amp as camp, nvtx\nimport torch.cuda.amp.autocast_mode as mode\n\n"
        "with camp.autocast(), mode.autocast(dtype=d):\n    s = camp.GradScaler()\n"
    )
    after = rewrite(text).after
    assert "camp.amp" not in after
    assert 'with camp.autocast("flagos"), torch.autocast("flagos", dtype=d):' in after
    assert "import torch\n" in after
    assert 's = camp.GradScaler("flagos")' in after
    assert "from torch import amp as camp" in after


# --- 6: an import on top of everything --------------------------------------------------------


def test_most_files_get_no_import() -> None:
    assert rewrite(MOVE, "entry-points").after == MOVED


def test_a_guarded_import_of_torch_stays_guarded() -> None:
    text = (
        "try:\n    import torch\nexcept ImportError:\n    torch = None\n\n\n"
        'if __name__ == "__main__":\n    torch.ones(1).cuda()\n'
    )
    result = rewrite(text, "every-file")
    assert not result.after.startswith("import torch_fl")
    assert '.to("flagos")' in result.after
    assert "import torch_fl" in result.after or result.left


def test_an_import_is_not_added_again() -> None:
    text = "import torch\n\nx = torch.ones(1).cuda()\n"
    once = rewrite(text, "every-file").after
    assert once.count("import torch_fl") == 1
    more = once + "y = torch.ones(1).cuda()\n"
    assert rewrite(more, "every-file").after.count("import torch_fl") == 1


def test_an_import_is_not_put_inside_a_text() -> None:
    text = 'S = """\nimport torch\nx.cuda()\n"""\nimport torch\n\nx = torch.ones(1).cuda()\n'
    after = rewrite(text, "every-file").after
    assert after.startswith('S = """\nimport torch\nx.cuda()\n"""\nimport torch_fl')


# --- 7: a guard wrapped around every argument -------------------------------------------------


def test_an_argument_that_needs_nothing_gets_nothing() -> None:
    untouched(
        "import torch\n\n\ndef f(x, i, dev, args):\n    a = x.to(i)\n"
        "    b = torch.zeros(1, device=dev)\n    c = x.to(device=args.device, dtype=a.dtype)\n"
        "    d = torch.load(p, map_location=dev)\n    return x.to(f'{dev}:{i}'), x.to(dev + '0')\n"
    )


# --- 8: what is around an edit ---------------------------------------------------------------


def test_everything_around_an_edit_survives() -> None:
    text = (
        "#!/usr/bin/env python3\n# -*- coding: utf-8 -*-\n# (c) é\n"
        "x = f( 0X1F,1_000 , 1E-3,0B11, a . cuda( ) ,0O17, 10J, (..., ),\t(1,), [ ], )  # fin\n"
        "y = {  'a':1 , # one\n  'b' : b.cuda(), # two\n}  ;  z = 1 if(a)else(2)\n"
    )
    expected = text.replace("a . cuda( )", 'a . to("flagos" )')
    assert rewrite(text).after == expected.replace("b.cuda()", 'b.to("flagos")')


# --- 9: paths --------------------------------------------------------------------------------


def test_odd_folders_are_no_obstacle(tmp_path: Path) -> None:
    root = tmp_path / "проект +[1] (x)$" / "a b"
    tree(root, {"m.py": MOVE, "-x.py": MOVE, "c+[a-z]*.py": MOVE})
    run = invoke(root, "rewrite", ".")
    assert run.code == 0
    assert set(contents(root).values()) == {MOVED.encode()}
    named = invoke(root, "rewrite", "--diff", "--", "-x.py", "c+[a-z]*.py")
    assert "2 files seen, 0 would change, 0 skipped" in named.err


# --- 11: dropped arguments counted as success -------------------------------------------------


@pytest.mark.parametrize("call", ["(*args, **kwargs)", "(first, *args)", "(unknown_keyword=args)"])
def test_no_argument_is_dropped(call: str) -> None:
    words = re.findall(r"first|args|kwargs", call)
    dropped = set()
    for name in NAMES:
        text = f"import torch\n\n\ndef f(first, args, kwargs):\n    return {name}{call}\n"
        body = rewrite(text).after.partition("def f")[2].partition("\n")[2]
        if not all(re.search(rf"\b{word}\b", body) for word in words):
            dropped.add(name)
    assert dropped == set()


def test_all_arguments_of_a_move_are_kept() -> None:
    text = "y = x.cuda(0, non_blocking=True, memory_format=m)\nz = x.cuda(*a, **k)\n"
    after = rewrite(text).after.splitlines()
    assert after[0] == 'y = x.to("flagos:0", non_blocking=True, memory_format=m)'
    assert re.fullmatch(r"z = x\.\w+\(\*a, \*\*k\)", after[1])


# --- 13: whole files scanned for words --------------------------------------------------------


def test_words_in_comments_and_texts_block_nobody(tmp_path: Path) -> None:
    text = '"""About torch.cuda and .cuda()."""\n\n# device="cuda"; import torch_npu\nx = 1\n'
    tree(tmp_path, {"a.py": text})
    run = invoke(tmp_path, "rewrite", "a.py")
    assert (run.code, run.text) == (0, "1 file seen, 0 changed, 0 skipped\n")
    assert rewrite(text).outcome is Outcome.UNCHANGED
