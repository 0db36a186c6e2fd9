"""The filter before the parser: what it lets through, and what it drops."""

from __future__ import annotations

import pytest

from flmigrate import rewrite_source
from flmigrate.analysis.prefilter import may_hold_findings, may_use
from flmigrate.runner import vocabulary_for
from tests.corpus_cases import Case, load_cases

CODE = {
    "a call": "import torch\ntorch.cuda.synchronize()\n",
    "a device string": 'x.to("cuda:0")\n',
    "a string in a sentence's company": 'raise ValueError("no cuda here", "cuda")\n',
    "an f-string": 'f"no {torch.cuda.device_count()} of these"\n',
    "behind a sharp in a string": 'print("a # b", x.cuda())\n',
    "behind a quote in a comment": "# don't\nx.cuda()  # nor here: '\n",
    "between two docstrings": '"""One of these."""\nx.cuda()\n"""Two of these."""\n',
    "behind an escaped quote": "a = 'it\\'s so'\nx.cuda()\n",
    "old line ends": "# a comment\rx.cuda()\r",
    "an annotation in text": 'def f(s: "torch.cuda.Stream | None"): ...\n',
    "a package": "import apex\n",
    "a package on the next line": "import os, \\\n    apex\n",
    "an attribute": "activities=[ProfilerActivity.CUDA]\n",
    "an attribute on the next line": "x = (ProfilerActivity\n    .CUDA)\n",
    "an attribute by its name": 'getattr(ProfilerActivity, "CUDA")\n',
    "a name from an import": "from torch import (\n    is_autocast_enabled,\n)\n",
    "a name from everywhere": "from torch import *\nis_autocast_enabled()\n",
    "a choice of kernels": 'f(attn_implementation="flash_attention_2")\n',
    "a comment of ours": "x = 1  # flmigrate: ignore[FL101] reason\n",
    "the target's own name": "x.to('flagos')\n",
}
NOTHING = {
    "a comment": "x = 1  # as torch.cuda does\n",
    "a docstring": 'def f():\n    """Call torch.cuda.synchronize() first."""\n',
    "a message": "raise ValueError('CUDA is not there')\n",
    "a package's name elsewhere": 'register("apex")\napex = 1\n',
    "a word of an attribute elsewhere": "CUDA = 1\n",
    "an option that is passed on": "f(attn_implementation=config._attn_implementation)\n",
}


@pytest.mark.parametrize("name", CODE)
def test_code_passes(name: str) -> None:
    assert may_hold_findings(CODE[name], vocabulary_for("fl"))


@pytest.mark.parametrize("name", NOTHING)
def test_what_says_nothing_is_dropped(name: str) -> None:
    assert not may_hold_findings(NOTHING[name], vocabulary_for("fl"))
    result = rewrite_source(NOTHING[name], target="fl")
    assert result.after in ("", NOTHING[name])
    assert not result.left


@pytest.mark.parametrize("case", load_cases(), ids=lambda case: case.id)
def test_files_of_the_corpus_that_change_pass(case: Case) -> None:
    vocabulary = vocabulary_for(case.options.target)
    for file in case.files:
        if file.before != file.after:
            text = file.before.decode("utf-8", "surrogateescape")
            needs_import = "import torch_fl" in file.after.decode("utf-8", "surrogateescape")
            assert needs_import or may_hold_findings(text, vocabulary)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import torch\n", True),
        ("x.add_(y)  # in place\n", True),
        ('f"the norm is {x.clamp_(0)}"\n', True),
        ('def f(x: "torch.Tensor"): ...\n', True),
        ("# as torch does\n", False),
        ('"""A tokenizer for models that torch runs."""\n', False),
        ("torchvision_path = 1\n", False),
    ],
)
def test_operators_are_looked_for_in_code_alone(text: str, *, expected: bool) -> None:
    assert may_use(text, frozenset({b"torch", b"add_", b"clamp_"})) is expected
