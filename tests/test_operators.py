"""Where a file uses operators of torch, and what is said of them on a chip."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from click.testing import CliRunner

from flmigrate import check_source, rewrite_source
from flmigrate.analysis.operators import Operators
from flmigrate.cli import main
from flmigrate.rules.coverage import check, facts_for
from tests.analysed import context_of


def uses(text: str, *, possible: bool = False) -> set[tuple[str, str]]:
    """(public name, confidence) of every use in a source."""
    facts = facts_for(("ascend",))
    operators = Operators(context_of(textwrap.dedent(text)), facts.names, facts.foreign)
    return {(use.name, use.confidence) for use in operators.uses(possible=possible)}


def names(text: str, *, possible: bool = False) -> set[str]:
    return {name for name, _ in uses(text, possible=possible)}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("import torch\ntorch.clamp(x, lo, hi)", "torch.clamp[number]"),
        ("import torch\ntorch.mm(a, b)", "torch.mm"),
        ("from torch import mm as m\nm(a, b)", "torch.mm"),
        ("import torch.nn.functional as F\nF.linear(a, b)", "torch.nn.functional.linear"),
        ("from torch import nn\nnn.Linear(1, 2)", "torch.nn.Linear[plain]"),
        ("import torch\nt = torch.ones(1)\nt.add(1)", "torch.Tensor.add"),
        ("import torch\nt = torch.ones(1)\nt @ t", "torch.Tensor.__matmul__[tensor]"),
        ("import torch\nt = torch.ones(1)\nt *= 2", "torch.Tensor.__imul__[number]"),
        ("import torch\nt = torch.ones(1)\n2 - t", "torch.Tensor.__rsub__[number]"),
        ("import torch\nt = torch.ones(1)\nt > 0", "torch.Tensor.__gt__[number]"),
        ("import torch\nt = torch.ones(1)\n-t", "torch.Tensor.__neg__"),
        ("import torch\nt = torch.ones(1)\nt[t > 0] = 1", "torch.Tensor.__setitem__[mask,number]"),
        ("import torch\nt = torch.ones(1)\nt[1:2]", "torch.Tensor.__getitem__[basic]"),
        ("import torch\nt = torch.ones(1)\nt ** 2", "torch.Tensor.pow[int]"),
        ("import torch\ntorch.where(m)", "torch.where[condition]"),
        ("import torch\ntorch.ops.aten.mm(a, b)", "aten::mm"),
        ("import torch\nx.masked_fill_(m, 0)", "torch.Tensor.masked_fill_[number]"),
        ("import torch\ntorch.optim.SGD(p, foreach=False)", "torch.optim.SGD[foreach=False]"),
        ("from torchvision.ops import nms\nnms(a, b, 1)", "torchvision.ops.nms"),
        ("import torch\ndef f(x: torch.Tensor):\n    return x.add(1)", "torch.Tensor.add"),
        (
            "from torch import nn\nclass M(nn.Module):\n"
            "    def __init__(self):\n        self.a = nn.Linear(1, 1)\n"
            "    def forward(self, x):\n        return self.a(x) + x",
            "torch.Tensor.__add__[tensor]",
        ),
    ],
)
def test_a_use_is_found(text: str, name: str) -> None:
    assert (name, "resolved") in uses(text)


@pytest.mark.parametrize(
    "text",
    [
        "def mm(a, b): ...\nmm(a, b)",
        "import ours as torch\ntorch.mm(a, b)",
        'import torch\n"a".replace("b", "c")',
        "import torch\nd: dict = {}\nd.update(a)",
        "import torch\na = 1\na + 2",
        'import torch\n"%s" % a',
        "import torch\nn = len(x)\nn * 2",
        "import torch\nx = torch.ones(1).shape\nx[0]",
        "import torch\nclass A:\n    def mul_(self): ...\nx.mul_()",
        "import torch\nimport numpy as np\ndef f(x):\n    return x.mean()",
        "import torch\ntorch.ones(1).size(0) + 1",
        "import torch\nx = y if torch.ones(1) is None else z",
    ],
)
def test_what_is_no_tensor_is_no_use(text: str) -> None:
    assert not {name for name in names(text) if name.startswith("torch.Tensor.")}
    assert "torch.mm" not in names(text)


def test_an_unknown_receiver_is_only_possible() -> None:
    text = "import torch\nimport numpy\ndef f(x, y):\n    return x.mean(), x // y\n"
    assert names(text) == set()
    assert uses(text, possible=True) == {
        ("torch.Tensor.mean[plain]", "possible"),
        ("torch.Tensor.__floordiv__", "possible"),
    }


def test_values_that_depend_on_each_other_are_followed_once() -> None:
    lines = "    a = g(a * b, b) + a\n    b = h(b * a, a) + b\n    c = (a, b)[0] + c\n" * 40
    text = f"import torch\ndef f(a, b, c: torch.Tensor):\n{lines}    return c * 2\n"
    assert "torch.Tensor.__mul__[number]" in names(text)


def test_a_value_that_is_made_of_itself_stays_what_it_is() -> None:
    text = (
        "import torch\ndef f(x: torch.Tensor):\n    x = x[1:]\n    x = x.view(3)\n    return -x\n"
    )
    assert "torch.Tensor.__neg__" in names(text)


# --- findings ------------------------------------------------------------------------------


def findings(text: str, *chips: str, possible: bool = False) -> list[tuple[str, str, bool]]:
    found = check(context_of(text), chips, possible=possible)
    return [(finding.label, finding.message, finding.note) for finding in found]


def test_without_a_chip_nothing_is_said() -> None:
    assert check(context_of("import torch\ntorch.nonzero(x)\n"), ()) == []


def test_a_finding_names_chip_operator_and_route() -> None:
    assert findings("import torch\ntorch.nonzero(x)\n", "ascend", "gcu", "musa") == [
        ("FL401[ascend]", "aten::nonzero raises", True),
        ("FL402[gcu,musa]", "aten::nonzero runs on the CPU", True),
    ]


def test_the_backward_pass_is_named() -> None:
    [found] = findings("import torch.nn.functional as F\nF.relu(x)\n", "gcu")
    assert found == (
        "FL402[gcu]",
        "aten::threshold_backward runs on the CPU in the backward pass",
        True,
    )


@pytest.mark.parametrize(
    "text",
    [
        "import torch\nwith torch.no_grad():\n    torch.relu(x)\n",
        "import torch\n@torch.inference_mode()\ndef f(x):\n    return torch.relu(x)\n",
        "import torch\ndef f(x):\n    return torch.relu(x)\nwith torch.no_grad():\n    f(y)\n",
    ],
)
def test_without_gradients_there_is_no_backward_pass(text: str) -> None:
    assert findings(text, "gcu") == []
    assert findings(text.replace("no_grad", "enable_grad").replace("inference_mode", "jit"), "gcu")


def test_operators_of_one_statement_share_a_finding() -> None:
    text = "import torch\ny = torch.nonzero(a), torch.hypot(a, a)\n"
    [found] = findings(text, "ascend")
    assert found[:2] == ("FL401[ascend]", "aten::nonzero, hypot raise")


def test_operators_of_odd_arguments_are_not_written_into_the_code() -> None:
    text = "import torch\ndef f(a: torch.Tensor, b: torch.Tensor):\n    return torch.matmul(a, b)\n"
    assert findings(text, "gcu", "musa") == [], "vectors take other operators than matrices"


def test_a_chip_without_kernels_is_not_marked_operator_by_operator() -> None:
    assert findings("import torch\ntorch.mm(a, b)\n", "tsingmicro") == []
    assert findings("import torch\ntorch.mm(a, b)\n", "bpu") == []
    assert findings("from torch import nn\nnn.LSTM(1, 1)\n", "bpu")[0][0] == "FL401[bpu]"


def test_what_is_possible_is_never_written_into_the_code() -> None:
    text = "import torch\n\ndef f(x, y):\n    return x.type(y), x.resize_as_(y)\n"
    result = rewrite_source(text, chips=["gcu"], possible=True)
    assert all(not f.note for f in result.left if f.confidence == "possible")


def test_attention_takes_the_kernel_that_a_chip_has() -> None:
    text = "import torch.nn.functional as F\nF.scaled_dot_product_attention(q, k, v)\n"
    assert findings(text, "ascend") == []
    assert any("on the CPU" in message for _, message, _ in findings(text, "gcu"))


def test_notes_are_merged_refreshed_and_removed() -> None:
    text = "import torch\n\nx = torch.nonzero(y)\n"
    both = rewrite_source(text, chips=["ascend", "gcu"]).after
    assert both == (
        "import torch\n\n"
        "# flmigrate: FL401[ascend] aten::nonzero raises; "
        "FL402[gcu] aten::nonzero runs on the CPU\n"
        "x = torch.nonzero(y)\n"
    )
    assert rewrite_source(both, chips=["ascend", "gcu"]).after == both
    assert rewrite_source(both, chips=["cuda"]).after == text
    assert rewrite_source(both).after == both, "another run's notes stay"


def test_a_measured_result_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "measured.toml"
    path.write_text(
        '[[result]]\nchip = "cuda"\nop = "mm"\nstatus = "wrong"\ndate = 2026-11-30\nnote = "by 2"\n'
    )
    context = context_of("import torch\ntorch.mm(a, b)\n")
    found, _in_the_backward_pass = check(context, ("cuda",), measured=(str(path),))
    assert found.label == "FL404[cuda]"
    assert found.message == "aten::mm was wrong as measured on 2026-11-30: by 2"


def test_a_report_groups_places_by_operator(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("import torch\n" + "y = torch.nonzero(x)\n" * 3)
    arguments = ["rewrite", str(path), "--diff", "--chip", "ascend", "--notes", "none"]
    lines = CliRunner().invoke(main, arguments).output.splitlines()
    assert f"  FL401[ascend] aten::nonzero: 3 places, first {path}:2:5" in lines
    assert sum("FL401[ascend]" in line for line in lines) == 1
    verbose = CliRunner().invoke(main, [*arguments, "--verbose"]).output
    assert f"{path}:4:5: FL401[ascend] aten::nonzero raises" in verbose


def test_check_source_takes_chips() -> None:
    codes = [f.code for f in check_source("import torch\ntorch.nonzero(x)\n", chips=["ascend"])]
    assert codes == ["FL401"]
