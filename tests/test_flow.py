"""Flow inside one file: a string is a device by where it goes, never by its text."""

from __future__ import annotations

import ast

import pytest

from flmigrate.analysis.context import Context
from flmigrate.analysis.kinds import Verdict
from tests.analysed import context_of, find


def literal(context: Context, value: str) -> ast.Constant:
    """The one string of a source that is exactly ``value``."""
    found = [node for node in context.scopes.nodes[ast.Constant] if node.value == value]
    assert len(found) == 1, f"{value!r} stands in the source {len(found)} times"
    node: ast.Constant = found[0]
    return node


def device(text: str) -> Verdict:
    context = context_of(f"import torch\n{text}")
    return context.devices.verdict(literal(context, "cuda"))


def backend(text: str) -> Verdict:
    context = context_of(f"import torch\nimport torch.distributed as dist\n{text}")
    return context.backends.verdict(literal(context, "nccl"))


# --- places that take a device --------------------------------------------------------------

TAKEN = {
    "device=": 'torch.zeros(1, device="cuda")\n',
    "device= of anything": 'make(1, device="cuda")\n',
    "map_location=": 'torch.load(f, map_location="cuda")\n',
    "map_location by position": 'torch.load(f, "cuda")\n',
    "longer keyword": 'load(execution_device="cuda")\n',
    "device_type=": 'f(device_type="cuda")\n',
    ".to()": 'x.to("cuda")\n',
    ".to() on a call": 'Model().to("cuda")\n',
    ".to() on an attribute": 'self.model.to("cuda", non_blocking=True)\n',
    ".to() on an imported object": 'from m import model\nmodel.to("cuda")\n',
    ".to() on an object of an imported module": 'import m\nm.model.to("cuda")\n',
    ".cuda()": 'x.npu("cuda")\n',
    "torch.device": 'torch.device("cuda")\n',
    "torch.device, index apart": 'torch.device("cuda", 0)\n',
    "imported torch.device": 'from torch import device as D\nD("cuda")\n',
    "autocast": 'torch.autocast("cuda")\n',
    "GradScaler": 'torch.amp.GradScaler("cuda")\n',
    "Generator": 'torch.Generator("cuda")\n',
    "set_default_device": 'torch.set_default_device("cuda")\n',
    "mesh": 'torch.distributed.init_device_mesh("cuda", (8,))\n',
    "torch.cuda API": 'torch.cuda.synchronize("cuda")\n',
    "other vendor's API": 'torch.npu.synchronize("cuda")\n',
    "item": 'config["device"] = "cuda"\n',
    "value of a dictionary": 'd = {"device": "cuda"}\n',
    "value of dict()": 'd = dict(device="cuda")\n',
    "value of a map_location mapping": 'torch.load(f, map_location={"a": "cuda"})\n',
    "in a conditional": 'x.to("cuda" if y else "cpu")\n',
    "in an or": 'x.to(name or "cuda")\n',
    "at the start of a sum": 'x.to("cuda" + ":0")\n',
    "formatted": 'x.to("cuda".format(1))\n',
    "formatted with %": 'x.to("%s:%d" % ("cuda", 1))\n',
    "joined": 'x.to(":".join(["cuda", i]))\n',
    "wrapped in str": 'x.to(str("cuda"))\n',
    "first in an f-string": "x.to(f\"{'cuda' if y else 'cpu'}:{i}\")\n",
    "walrus": 'x.to(d := "cuda")\n',
    "awaited": 'async def f(): x.to(await "cuda")\n',
    "setattr": 'setattr(x, "device", "cuda")\n',
    "getattr with a default": 'x.to(getattr(a, "device", "cuda"))\n',
    "get with a default": 'd = a.get("device", "cuda")\n',
    "environment": 'import os\nd = os.environ.get("MY_DEVICE", "cuda")\n',
    "environment, other name": 'import os\nx.to(os.getenv("WHERE", "cuda"))\n',
}


@pytest.mark.parametrize("text", TAKEN.values(), ids=TAKEN)
def test_place_takes_a_device(text: str) -> None:
    assert device(text) is Verdict.YES


# --- variables, parameters, returns, attributes ---------------------------------------------

FLOWS = {
    "name says so": 'device = "cuda"\n',
    "short name": 'dev = "cuda"\n',
    "part of the name": 'EVAL_DEVICE_TYPE = "cuda"\n',
    "variable": 'where = "cuda"\nx.to(where)\n',
    "variable, chained": 'a = b = "cuda"\nx.to(b)\n',
    "variable, unpacked": 'a, b = 1, "cuda"\nx.to(b)\n',
    "variable, twice": 'a = "cuda"\nb = a\nx.to(b)\n',
    "variable, also set to a device": 'where = torch.device("cpu")\nwhere = "cuda"\n',
    "variable with another value": 'where = get()\nif y:\n    where = "cuda"\nx.to(where)\n',
    "annotated variable": 'where: torch.device = "cuda"\n',
    "annotated in text": 'where: "torch.device | str" = "cuda"\n',
    "optional annotation": (
        'from typing import Optional\nwhere: Optional[torch.device] = "cuda"\n'
    ),
    "used by an inner function": 'def f():\n    a = "cuda"\n    def g(): x.to(a)\n',
    "module constant used by a function": 'KIND = "cuda"\ndef f(): x.to(KIND)\n',
    "set through global": 'K = None\ndef f():\n    global K\n    K = "cuda"\nx.to(K)\n',
    "set through nonlocal": (
        "def f():\n    k = None\n    def g():\n        nonlocal k\n"
        '        k = "cuda"\n    x.to(k)\n'
    ),
    "default of a parameter": 'def f(where="cuda"): x.to(where)\n',
    "keyword-only default": 'def f(*, a=1, where="cuda"): x.to(where)\n',
    "default, name says so": 'def f(device="cuda"): ...\n',
    "annotated default": 'def f(where: torch.device = "cuda"): ...\n',
    "default of a lambda": 'f = lambda where="cuda": x.to(where)\n',
    "argument by position": 'def f(a, where): x.to(where)\nf(1, "cuda")\n',
    "argument by keyword": 'def f(a, where): x.to(where)\nf(1, where="cuda")\n',
    "argument before the definition": 'def g(): f("cuda")\ndef f(where): x.to(where)\n',
    "argument of an alias": 'def f(where): x.to(where)\ng = f\ng("cuda")\n',
    "argument of a method": (
        'class A:\n    def f(self, where): x.to(where)\n    def g(self): self.f("cuda")\n'
    ),
    "argument of a static method": (
        "class A:\n    @staticmethod\n    def f(where): x.to(where)\n"
        '    def g(self): self.f("cuda")\n'
    ),
    "argument of a static method by class": (
        'class A:\n    @staticmethod\n    def f(where): x.to(where)\nA.f("cuda")\n'
    ),
    "argument of a class method by class": (
        'class A:\n    @classmethod\n    def f(cls, where): x.to(where)\nA.f("cuda")\n'
    ),
    "argument of a method by class": (
        'class A:\n    def f(self, where): x.to(where)\nA.f(a, "cuda")\n'
    ),
    "argument of an object's method": (
        'class A:\n    def f(self, where): x.to(where)\na = A()\na.f("cuda")\n'
    ),
    "argument of an inherited method": (
        "class A:\n    def f(self, where): x.to(where)\n"
        'class B(A):\n    def g(self): self.f("cuda")\n'
    ),
    "argument of a constructor": (
        'class A:\n    def __init__(self, where): x.to(where)\nA("cuda")\n'
    ),
    "argument of an inherited constructor": (
        'class A:\n    def __init__(self, where): x.to(where)\nclass B(A): ...\nB("cuda")\n'
    ),
    "field of a dataclass": (
        "@dataclass\nclass A:\n    a: int\n    where: str\n"
        '    def f(self): x.to(self.where)\nA(1, "cuda")\n'
    ),
    "inherited field of a dataclass": (
        "@dataclass\nclass A:\n    where: str\n"
        "@dataclass\nclass B(A):\n    b: int\n"
        '    def f(self): x.to(self.where)\nB("cuda", 1)\n'
    ),
    "default of a dataclass": (
        '@dataclass\nclass A:\n    where: str = "cuda"\n    def f(self): x.to(self.where)\n'
    ),
    "field() of a dataclass": (
        "@dataclass\nclass A:\n"
        '    where: str = field(default="cuda")\n    def f(self): x.to(self.where)\n'
    ),
    "caller gives a device": 'def f(a): return a == "cuda"\nf(torch.device("cpu"))\n',
    "caller gives .device": 'def f(a): return a == "cuda"\nf(x.device)\n',
    "caller gives it by keyword": 'def f(*, a): return a == "cuda"\nf(a=x.device.type)\n',
    "caller of a constructor": (
        'class A:\n    def __init__(self, a):\n        self.is_it = a == "cuda"\nA(x.device.type)\n'
    ),
    "caller of a method": (
        'class A:\n    def f(self, a): return a == "cuda"\n    def g(self): self.f(x.device.type)\n'
    ),
    "return": 'def f(): return "cuda"\nx.to(f())\n',
    "return, name says so": 'def get_device(): return "cuda"\n',
    "return, annotated": 'def f() -> torch.device: return "cuda"\n',
    "return with other returns": 'def f():\n    if y: return x.device\n    return "cuda"\n',
    "return of a method": (
        'class A:\n    def f(self): return "cuda"\n    def g(self): x.to(self.f())\n'
    ),
    "property": (
        "class A:\n    @property\n"
        '    def kind(self): return "cuda"\n    def g(self): x.to(self.kind)\n'
    ),
    "attribute": (
        'class A:\n    def f(self): self.where = "cuda"\n    def g(self): x.to(self.where)\n'
    ),
    "attribute, name says so": 'class A:\n    def f(self): self.device = "cuda"\n',
    "attribute of an option object": 'args.where = "cuda"\nx.to(args.where)\n',
    "attribute of the class": 'class A:\n    where = "cuda"\n    def g(self): x.to(self.where)\n',
    "attribute of the class, by class": 'class A:\n    where = "cuda"\nx.to(A.where)\n',
    "attribute of the class, by object": 'class A:\n    where = "cuda"\na = A()\nx.to(a.where)\n',
    "inherited attribute": (
        'class A:\n    where = "cuda"\nclass B(A):\n    def g(self): x.to(self.where)\n'
    ),
    "attribute set in a derived class": (
        'class A:\n    def g(self): x.to(self.where)\nclass B(A):\n    where = "cuda"\n'
    ),
    "attribute set from outside": (
        'class A:\n    def g(self): x.to(self.where)\ndef f(a: A): a.where = "cuda"\n'
    ),
}


@pytest.mark.parametrize("text", FLOWS.values(), ids=FLOWS)
def test_value_flows_to_a_device(text: str) -> None:
    assert device(text) is Verdict.YES


# --- comparisons ----------------------------------------------------------------------------

COMPARED = {
    ".type": 'x.device.type == "cuda"\n',
    ".type on the right": '"cuda" == x.device.type\n',
    ".type of anything": 'd.type != "cuda"\n',
    ".device": 'if x.device == "cuda": ...\n',
    "variable": 'd = torch.device("cpu")\nd.type == "cuda"\n',
    "str()": '"cuda" in str(x.device)\n',
    "split": 'str(d).split(":")[0] == "cuda"\nd = x.device\n',
    "startswith": 'x.device.type.startswith("cuda")\n',
    "membership": 'x.device.type in ("cpu", "cuda")\n',
    "membership in a set": 'x.device.type not in {"cpu", "cuda"}\n',
    "membership in a constant": 'KINDS = ["cpu", "cuda"]\nx.device.type in KINDS\n',
    "annotated parameter": 'def f(d: torch.device): return d == "cuda"\n',
    "parameter annotated in text": 'def f(d: "torch.device"): return d == "cuda"\n',
    "walrus": 'if (d := x.device.type) == "cuda": ...\n',
    "chained": '"cpu" != x.device.type != "cuda"\n',
    "loop over devices": 'for a in devices:\n    if a == "cuda": ...\n',
    "element of devices": 'devices[0] == "cuda"\n',
    "item": 'config["device"] == "cuda"\n',
    "get": 'config.get("device") == "cuda"\n',
    "getattr": 'getattr(x, "device") == "cuda"\n',
    "call by its name": 'get_device() == "cuda"\n',
    "unpacked": 'a, b = x.device.split(":")\na == "cuda"\n',
    "match": 'match x.device.type:\n    case "cuda": ...\n',
    "match with others": 'match x.device.type:\n    case "cpu" | "cuda" as k: ...\n',
    "match on an attribute": 'match x:\n    case torch.device(type="cuda"): ...\n',
    "match on an item": 'match x:\n    case {"device": "cuda"}: ...\n',
}


@pytest.mark.parametrize("text", COMPARED.values(), ids=COMPARED)
def test_comparison_with_a_device(text: str) -> None:
    assert device(text) is Verdict.YES


# --- containers, options, tests -------------------------------------------------------------

COLLECTED = {
    "list by name": 'devices = ["cuda"]\n',
    "list looped over": 'for a in ["cuda"]: x.to(a)\n',
    "list of a variable, looped over": 'kinds = ["cuda"]\nfor a in kinds: x.to(a)\n',
    "comprehension": '[x.to(a) for a in ("cuda",)]\n',
    "element": 'kinds = ["cuda"]\nx.to(kinds[0])\n',
    "appended": 'devices = []\ndevices.append("cuda")\n',
    "set call": 'x.device.type in set(["cuda"])\n',
    "keys looked up": 'd = {"cuda": 1}\nd[x.device.type]\n',
    "keys looked up at once": '{"cuda": 1}[x.device.type]\n',
    "keys looked up by get": '{"cuda": 1}.get(x.device.type)\n',
    "key of a look-up": 'd = {}\nd["cuda"] = 1\ny = d[x.device.type]\n',
    "values looked up": 'd = {"a": "cuda"}\nx.to(d["a"])\n',
    "known values only": 'KINDS = ("cpu", "cuda")\n',
    "argparse": 'p.add_argument("--device", default="cuda")\n',
    "argparse, read": 'p.add_argument("--where", default="cuda")\nx.to(args.where)\n',
    "argparse, dest": 'p.add_argument("-w", dest="device", default="cuda")\n',
    "argparse choices": 'p.add_argument("--device", choices=["cpu", "cuda"])\n',
    "argparse, choices show it": 'p.add_argument("-w", default="cuda", choices=["cpu", "npu"])\n',
    "click": '@click.option("--device", default="cuda")\ndef f(device): ...\n',
    "click, other name": '@click.option("-w", "device", default="cuda")\ndef f(device): ...\n',
    "absl enumeration": 'flags.DEFINE_enum("device", "cuda", ["cpu", "npu"], "where")\n',
    "typer": 'def f(device: str = typer.Option("cuda")): ...\n',
    "pydantic": 'class A(BaseModel):\n    device: str = Field("cuda", description="d")\n',
    "absl": 'flags.DEFINE_string("device", "cuda", "where")\n',
    "parametrized": '@pytest.mark.parametrize("device", ["cuda"])\ndef t(device): ...\n',
    "parametrized, used": '@pytest.mark.parametrize("a", ["cuda"])\ndef t(a): x.to(a)\n',
    "parametrized rows": (
        '@pytest.mark.parametrize("n,device", [(1, "cuda"), (2, "cpu")])\ndef t(n, device): ...\n'
    ),
    "parametrized rows, used": (
        '@pytest.mark.parametrize(("n", "a"), [(1, "cuda")])\ndef t(n, a): x.to(a)\n'
    ),
}


@pytest.mark.parametrize("text", COLLECTED.values(), ids=COLLECTED)
def test_member_of_a_collection_or_option(text: str) -> None:
    assert device(text) is Verdict.YES


# --- places that are something else ---------------------------------------------------------

SPARED = {
    "docstring": 'def f():\n    "cuda"\n',
    "print": 'print("cuda")\n',
    "log": 'logger.info("cuda")\n',
    "log with arguments": 'logger.info("on %s", "cuda")\n',
    "inside an f-string": "print(f\"on {'cuda'}\")\n",
    "error": 'raise ValueError("cuda")\n',
    "assertion": 'assert x, "cuda"\n',
    "attribute by name": 'device = getattr(x, "cuda")\n',
    "attribute asked for": 'hasattr(x, "cuda")\n',
    "environment variable": 'import os\ndevice = os.environ.get("cuda")\n',
    "environment variable by getenv": 'import os\ndevice = os.getenv("cuda", "cpu")\n',
    "path": 'import os\nos.path.join("runs", "cuda")\n',
    "pattern": 'import re\nre.match("cuda", x)\n',
    "module of another framework": 'import jax\njax.devices("cuda")\n',
    "device of another framework": 'import tensorflow as tf\ntf.zeros(1, device="cuda")\n',
    "object of another framework": 'import cupy\ncupy.array(1)[0].to("cuda")\n',
    "member of an enumeration": 'class Device(str, enum.Enum):\n    CUDA = "cuda"\n',
    "key of a map_location mapping": 'torch.load(f, map_location={"cuda": "cpu"})\n',
    "all": '__all__ = ["cuda", "cpu"]\n',
    "name of an option": 'p.add_argument("cuda", default=1)\n',
    "help": 'torch.autocast(x, "cuda")\n',
    "own .to()": 'class A:\n    def to(self, fmt): ...\na = A()\na.to("cuda")\n',
    "own inherited .to()": (
        'class A:\n    def to(self, fmt): ...\nclass B(A): ...\nb = B()\nb.to("cuda")\n'
    ),
    "own .to() of self": (
        'class A:\n    def to(self, fmt): ...\n    def f(self): self.to("cuda")\n'
    ),
    "path object": 'from pathlib import Path\np = Path("a")\np.to("cuda")\n',
}


@pytest.mark.parametrize("text", SPARED.values(), ids=SPARED)
def test_place_is_no_device(text: str) -> None:
    assert device(text) is not Verdict.YES


UNDECIDED = {
    "unknown call": 'f("cuda")\n',
    "unknown keyword": 'f(mode="cuda")\n',
    "variable that goes nowhere": 'mode = "cuda"\n',
    "compared with anything": 'mode == "cuda"\n',
    "key of anything": 'd = {"cuda": 1}\nd[mode]\n',
    "local hidden by another": 'where = "cuda"\ndef f(where): x.to(where)\n',
    "attribute of another class": (
        'class A:\n    def f(self): self.where = "cuda"\n'
        "class B:\n    def g(self): x.to(self.where)\n"
    ),
    "position of another parameter": 'def f(a, where): x.to(where)\nf("cuda", y)\n',
    "after a starred argument": 'def f(where, b): x.to(where)\nf(*y, "cuda")\n',
    "literal type": 'x: Literal["cuda"]\n',
    "second part of a sum": 'name = x + "cuda"\n',
    "list of other things": 'names = ["cuda", "thing"]\n',
    "parametrized by another name": (
        '@pytest.mark.parametrize("a,device", [("cuda", 1)])\ndef t(a, device): ...\n'
    ),
}


@pytest.mark.parametrize("text", UNDECIDED.values(), ids=UNDECIDED)
def test_nothing_shows_what_it_is(text: str) -> None:
    assert device(text) is Verdict.UNKNOWN


# --- what values are ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("x.device", True),
        ("x.device.type", True),
        ("torch.device(y)", True),
        ("torch.get_default_device()", True),
        ("str(x.device)", True),
        ("x.device.type.lower()", True),
        ('f"cuda:{rank}"', True),
        ('f"{x.device}:0"', True),
        ("x.device if y else None", True),
        ("y or x.device", True),
        ('torch.device("cpu") or y', True),
        ("torch.device", False),
        ("x.shape", False),
        ("x.type", False),
        ('f"on {x.device}"', False),
        ("torch.zeros(1)", False),
        ("y", False),
    ],
)
def test_value_is_a_device(expression: str, expected: bool) -> None:
    context = context_of(f"import torch\nprobe = lambda: ({expression})\n")
    (probe,) = (n for n in ast.walk(context.source.tree) if isinstance(n, ast.Lambda))
    assert context.devices.is_one(probe.body) is expected


def test_two_meanings_of_one_name_in_two_functions() -> None:
    text = (
        'def f():\n    where = "cuda"\n    x.to(where)\ndef g():\n    where = "cud"\n    f(where)\n'
    )
    context = context_of(text)
    assert context.devices.verdict(literal(context, "cuda")) is Verdict.YES
    assert context.devices.verdict(literal(context, "cud")) is Verdict.UNKNOWN


@pytest.mark.parametrize(
    "text",
    [
        'a = "cuda"\nb = a\na = b\n',
        'def f(a="cuda"): return g(a)\ndef g(a): return f(a)\n',
        'class A(A):\n    where = "cuda"\n    def f(self): return self.f()\n',
        'class A(B):\n    where = "cuda"\nclass B(A): ...\n',
        'd = {"a": "cuda"}\nd = {"b": d["a"]}\nfor a in d: d[a] = d\n',
        'def f(): return f() or "cuda"\n',
    ],
)
def test_circles_come_to_an_end(text: str) -> None:
    assert device(text) is Verdict.UNKNOWN


def test_answer_does_not_depend_on_what_was_asked_before() -> None:
    text = 'a = "cuda"\nb = a\nc = b\ndef f(p=c): return p\nx.to(f())\nd = "xla"\n'
    forward, backward = context_of(text), context_of(text)
    strings = ["cuda", "xla"]
    one = [forward.devices.verdict(literal(forward, s)) for s in strings]
    two = [backward.devices.verdict(literal(backward, s)) for s in reversed(strings)]
    assert one == [Verdict.YES, Verdict.UNKNOWN]
    assert two == one[::-1]


# --- process-group backends -----------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        'dist.init_process_group("nccl")\n',
        'dist.init_process_group(backend="nccl")\n',
        'dist.new_group(ranks, None, "nccl")\n',
        'backend = "nccl"\n',
        'b = "nccl"\ndist.init_process_group(b)\n',
        'def f(b="nccl"): dist.init_process_group(b)\n',
        'dist.init_process_group("nccl" if x else "gloo")\n',
        'if dist.get_backend() == "nccl": ...\n',
        'from torch.distributed import init_process_group as i\ni("nccl")\n',
        'p.add_argument("--dist-backend", default="nccl")\n',
        'BACKENDS = ["nccl", "gloo"]\n',
    ],
)
def test_backend(text: str) -> None:
    assert backend(text) is Verdict.YES


@pytest.mark.parametrize(
    "text",
    ['device = "nccl"\n', 'print("nccl")\n', 'x.to("nccl")\n', 'f("nccl")\n', '"nccl"\n'],
)
def test_no_backend(text: str) -> None:
    assert backend(text) is not Verdict.YES


def test_kinds_do_not_mix() -> None:
    context = context_of('import torch\ndevice = "gloo"\nbackend = "cuda"\n')
    assert context.devices.verdict(literal(context, "cuda")) is not Verdict.YES
    assert context.backends.verdict(literal(context, "gloo")) is not Verdict.YES


def test_find_gives_the_last_expression_of_a_text() -> None:
    context = context_of("a = b\nc = b\n")
    assert context.source.position(context.source.start(find(context, "b"))) == (2, 5)
