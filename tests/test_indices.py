"""Arguments that name a device: index, ``torch.device``, text, or not to be told."""

from __future__ import annotations

import ast

import pytest

from flmigrate.analysis.indices import Index, index_of
from tests.analysed import context_of


def index(text: str) -> Index:
    """What the argument of ``probe(...)`` is; ``text`` may define names before it."""
    context = context_of(f"import torch\nimport torch.distributed as dist\n{text}\n")
    (call,) = (
        call
        for call in context.scopes.nodes[ast.Call]
        if isinstance(call.func, ast.Name) and call.func.id == "probe"
    )
    return index_of(context, call.args[0])


@pytest.mark.parametrize(
    "text",
    [
        "probe(0)",
        "probe(None)",
        "probe(-1)",
        "probe(rank)",
        "probe(local_rank)",
        "probe(device_id)",
        "probe(gpu)",
        "probe(i)",
        "probe(args.local_rank)",
        "probe(args.gpu)",
        "probe(self.rank)",
        "probe(x.device.index)",
        "probe(torch.device('cuda', 1).index)",
        "probe(config['local_rank'])",
        "probe(device_ids[0])",
        "probe(args.gpus[0])",
        "probe(rank % 8)",
        "probe(7 % rank)",
        "probe(rank + 1)",
        "probe(a // b)",
        "probe(int(x))",
        "probe(len(x))",
        "probe(torch.cuda.current_device())",
        "probe(torch.npu.current_device())",
        "probe(dist.get_rank())",
        "probe(0 if x else None)",
        "probe(rank if x else 0)",
        "d = 3\nprobe(d)",
        "d = dist.get_rank()\nprobe(d)",
        "def f(d: int): probe(d)",
        "def f(d: int | None): probe(d)",
        "from typing import Optional\ndef f(d: Optional[int] = None): probe(d)",
        "def f(d: 'int'): probe(d)",
        "for d in range(8): probe(d)",
        "[probe(d) for d in range(8)]",
        "device = rank\nprobe(device)",
        "device = args.gpu\nd = device\nprobe(d)",
        "d = 0\nd = d\nprobe(d)",
        "d = 0\nprobe(d)\ndel d",
    ],
)
def test_number(text: str) -> None:
    assert index(text) is Index.NUMBER


@pytest.mark.parametrize(
    "text",
    [
        "probe(x.device)",
        "probe(model.weight.device)",
        "probe(torch.device('cuda'))",
        "d = torch.device('cuda', 1)\nprobe(d)",
        "def f(d: torch.device): probe(d)",
        "def f(d: 'torch.device'): probe(d)",
        "class C:\n def f(self, x):\n  self.device = x.device\n  probe(self.device)",
        "probe(x.device if y else torch.device('cuda'))",
    ],
)
def test_device(text: str) -> None:
    assert index(text) is Index.DEVICE


@pytest.mark.parametrize("text", ["probe('cuda')", "probe('cuda:1')"])
def test_text(text: str) -> None:
    assert index(text) is Index.TEXT


@pytest.mark.parametrize(
    "text",
    [
        "probe(device)",
        "probe(x)",
        "d = 'cuda:1'\nprobe(d)",
        "probe('cuda:0' if x else 'cuda:1')",
        "probe(f(x))",
        "probe(args.device)",
        "class C:\n def f(self): probe(self.device)",
        "probe(self.where)",
        "probe('cuda:%d' % rank)",
        "probe('cuda:' + str(rank))",
        "probe(x if y else 0)",
        "probe(x[0])",
        "probe(x[i])",
        "probe(*rank)",
        "d = 0\nd = x.device\nprobe(d)",
        "def f(d: str): probe(d)",
        "def f(d: int | str): probe(d)",
        "def f(d: 'torch.device | None' = None): probe(d)",
        "def f(d: torch.device = None): probe(d)",
        "def f(d): probe(d)",
        "for d in devices: probe(d)",
        "for rank in devices:\n    rank = x\n    probe(rank)",
        "rank = torch.device('cuda')\nrank = 0\nprobe(rank)",
        "a = b\nb = a\nprobe(a)",
    ],
)
def test_unknown(text: str) -> None:
    assert index(text) is Index.UNKNOWN
