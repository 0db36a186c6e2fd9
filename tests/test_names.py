"""Names: what an expression stands for, under every spelling that real code has."""

from __future__ import annotations

import ast
import sysconfig
from pathlib import Path

import pytest

from flmigrate.analysis.names import Names, Origins
from flmigrate.analysis.scopes import Scopes
from flmigrate.analysis.source import Source
from tests.analysed import context_of, find

SYNC = frozenset({"torch.cuda.synchronize"})
_STDLIB = Path(sysconfig.get_paths()["stdlib"])


def resolved(text: str, expression: str) -> Origins:
    context = context_of(text)
    return context.names.resolve(find(context, expression))


# --- one thing, many spellings --------------------------------------------------------------

ALIASES = {
    "in full": ("import torch\n", "torch.cuda.synchronize"),
    "submodule imported": ("import torch.cuda\n", "torch.cuda.synchronize"),
    "torch under another name": ("import torch as th\n", "th.cuda.synchronize"),
    "submodule under a name": ("import torch.cuda as tc\n", "tc.synchronize"),
    "submodule from torch": ("from torch import cuda\n", "cuda.synchronize"),
    "submodule from torch under a name": ("from torch import cuda as c\n", "c.synchronize"),
    "the function itself": ("from torch.cuda import synchronize\n", "synchronize"),
    "the function under a name": ("from torch.cuda import synchronize as s\n", "s"),
    "several in one statement": ("import os, torch.cuda as tc, re\n", "tc.synchronize"),
    "assigned module": ("import torch\ncuda = torch.cuda\n", "cuda.synchronize"),
    "assigned function": ("import torch\ns = torch.cuda.synchronize\n", "s"),
    "assigned twice over": ("import torch as t\nu = t\nc = u.cuda\n", "c.synchronize"),
    "assigned in a chain": ("import torch\na = c = torch.cuda\n", "c.synchronize"),
    "assigned in a tuple": ("import torch\nn, c = 1, torch.cuda\n", "c.synchronize"),
    "assigned with an annotation": ("import torch\nc: object = torch.cuda\n", "c.synchronize"),
    "annotated first": ("import torch\nc: object\nc = torch.cuda\n", "c.synchronize"),
    "assigned by a walrus": ("import torch\nif (c := torch.cuda): ...\n", "c.synchronize"),
    "deleted afterwards": ("import torch\nc = torch.cuda\nif x:\n    del c\n", "c.synchronize"),
    "getattr": ("import torch\nc = getattr(torch, 'cuda')\n", "c.synchronize"),
    "getattr with None": ("import torch\nc = getattr(torch, 'cuda', None)\n", "c.synchronize"),
    "getattr of getattr": (
        "import torch\ng = getattr(getattr(torch, 'cuda'), 'synchronize')\n",
        "g",
    ),
    "getattr read at once": ("import torch\n", "getattr(torch, 'cuda').synchronize"),
    "device module": ("import torch\nc = torch.get_device_module('cuda')\n", "c.synchronize"),
    "device module of an index": (
        "import torch\nc = torch.get_device_module('cuda:1')\n",
        "c.synchronize",
    ),
    "device module read at once": ("import torch\n", "torch.get_device_module('cuda').synchronize"),
    "import_module": (
        "import importlib\nc = importlib.import_module('torch.cuda')\n",
        "c.synchronize",
    ),
    "import_module by name": (
        "from importlib import import_module\nc = import_module('torch.cuda')\n",
        "c.synchronize",
    ),
    "__import__": ("t = __import__('torch.cuda')\n", "t.cuda.synchronize"),
    "star import of torch": ("from torch import *\n", "cuda.synchronize"),
    "star import of the module": ("from torch.cuda import *\n", "synchronize"),
    "imported for type checkers only": (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch\n",
        "torch.cuda.synchronize",
    ),
    "optional": (
        "try:\n    import torch\nexcept ImportError:\n    torch = None\n",
        "torch.cuda.synchronize",
    ),
    "either arm": ("if x:\n    import torch\nelse:\n    import torch\n", "torch.cuda.synchronize"),
    "conditional expression": ("import torch\nc = torch.cuda if x else None\n", "c.synchronize"),
    "or": ("import torch\nc = None or torch.cuda\n", "c.synchronize"),
    "assigned to itself": ("import torch\nc = torch.cuda\nc = c\n", "c.synchronize"),
    "assigned in a circle": (
        "import torch\na = torch.cuda\na = b\nb = a\n",
        "b.synchronize",
    ),
}


@pytest.mark.parametrize(("text", "expression"), ALIASES.values(), ids=ALIASES)
def test_alias_stands_for_the_function(text: str, expression: str) -> None:
    assert resolved(f"{text}{expression}()\n", expression) == Origins(SYNC, certain=True)


# A star import is allowed at module level only.
INSIDE = {title: case for title, case in ALIASES.items() if "import *" not in case[0]}


@pytest.mark.parametrize(("text", "expression"), INSIDE.values(), ids=INSIDE)
def test_alias_made_inside_a_function_stands_for_it_there(text: str, expression: str) -> None:
    body = "".join(f"    {line}\n" for line in f"{text}{expression}()".split("\n"))
    assert resolved(f"def f():\n{body}", expression).paths == SYNC


KEEPER = (
    "import torch\n"
    "class A:\n"
    "    def __init__(self, other):\n"
    "        self.torch = torch\n"
    "    def f(self, other):\n"
    "        {}.torch.cuda.synchronize()\n"
    "class B:\n"
    "    def f(self):\n"
    "        return {}.torch.cuda.synchronize\n"
)


def test_object_that_keeps_torch_in_an_attribute() -> None:
    text = KEEPER.format("self", "None")
    assert resolved(text, "self.torch.cuda.synchronize").paths == SYNC


@pytest.mark.parametrize(("first", "second"), [("other", "None"), ("None", "self")])
def test_attribute_of_another_object_is_unknown(first: str, second: str) -> None:
    receiver = first if first != "None" else second
    text = KEEPER.format(first, second)
    assert not resolved(text, f"{receiver}.torch.cuda.synchronize").paths


# --- one spelling, something else -----------------------------------------------------------

OTHERS = {
    "parameter": "def f(torch):\n    torch.cuda.synchronize()\n",
    "local": "import torch\ndef f():\n    torch = load()\n    torch.cuda.synchronize()\n",
    "loop": "import torch\nfor torch in x:\n    torch.cuda.synchronize()\n",
    "with": "def f():\n    with x as torch:\n        torch.cuda.synchronize()\n",
    "comprehension": "import torch\n[torch.cuda.synchronize() for torch in x]\n",
    "lambda": "import torch\nf = lambda torch: torch.cuda.synchronize()\n",
    "default": "import torch\ndef f(torch=torch):\n    torch.cuda.synchronize()\n",
    "unbound": "torch.cuda.synchronize()\n",
    "call in between": "import torch\ntorch.cuda().synchronize()\n",
}


@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS)
def test_name_of_something_else_is_never_certain(text: str) -> None:
    context = context_of(text)
    attribute = max(context.scopes.nodes[ast.Attribute], key=context.source.end)
    assert not context.names.resolve(attribute).certain


@pytest.mark.parametrize(
    ("text", "expression", "path"),
    [
        ("from numba import cuda\n", "cuda.synchronize", "numba.cuda.synchronize"),
        ("import cupy\n", "cupy.cuda.synchronize", "cupy.cuda.synchronize"),
        ("from .torch import cuda\n", "cuda.synchronize", ".torch.cuda.synchronize"),
        ("class torch: ...\n", "torch.cuda", "local:torch.cuda"),
        ("def cuda(): ...\n", "cuda.synchronize", "local:cuda.synchronize"),
        ("class A:\n    class B:\n        def f(self): ...\n", "A.B.f", "local:A.B.f"),
        ("", "print", "builtins.print"),
    ],
)
def test_other_origin(text: str, expression: str, path: str) -> None:
    assert resolved(f"{text}{expression}()\n", expression).only == path


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        (
            "if x:\n    from torch import cuda\nelse:\n    from numba import cuda\n",
            {"torch.cuda", "numba.cuda"},
        ),
        ("import torch\ncuda = torch.cuda if x else torch.npu\n", {"torch.cuda", "torch.npu"}),
        ("import torch\ncuda = getattr(torch, 'npu', torch.cuda)\n", {"torch.npu", "torch.cuda"}),
        ("from a import *\nfrom b import *\n", {"a.cuda", "b.cuda"}),
    ],
)
def test_all_possible_origins_are_kept(text: str, paths: set[str]) -> None:
    assert resolved(f"{text}cuda\n", "cuda").paths == paths


@pytest.mark.parametrize(
    "text",
    [
        "import torch\nif x:\n    torch = load()\n",
        "import torch\ndef f():\n    global torch\n    torch = load()\n",
        "import torch\nfor torch in x: ...\n",
        "import torch\nwith x as torch: ...\n",
        "import torch\nc = getattr(torch, 'cuda', fallback)\ntorch = c\n",
        "from torch import *\nfrom other import *\ntorch = cuda\n",
    ],
)
def test_detection_needs_one_origin_and_certainty_all(text: str) -> None:
    found = resolved(f"{text}torch\n", "torch")
    assert any(path.startswith("torch") for path in found.paths)
    assert not found.certain


def test_star_import_seldom_hides_a_builtin() -> None:
    assert resolved("from os import *\nprint(x)\n", "print") == Origins(
        frozenset({"builtins.print"}), certain=False
    )


@pytest.mark.parametrize(
    "call",
    [
        "getattr(torch, name)",
        "getattr(torch)",
        "torch.get_device_module(name)",
        "torch.get_device_module()",
        "importlib.import_module('.cuda', package='torch')",
        "__import__(name)",
        "vars(torch)['cuda']",
    ],
)
def test_look_up_that_is_not_a_constant_is_unknown(call: str) -> None:
    context = context_of(f"import torch, importlib\nx = {call}\nx.f()\n")
    assert context.names.resolve(find(context, "x.f")) == Origins()


# --- classes of values ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "name", "path"),
    [
        ("class A:\n    def f(self): self\n", "self", "local:A"),
        ("class A:\n    @classmethod\n    def f(cls): cls\n", "cls", "local:A"),
        ("class A:\n    def f(self):\n        def g(): self\n", "self", "local:A"),
        ("class A:\n    def f(self):\n        class B:\n            x = self\n", "self", "local:A"),
        ("class A:\n    @staticmethod\n    def f(x): x\n", "x", ""),
        ("class A:\n    def f(self, x): x\n", "x", ""),
        ("def f(self): self\n", "self", ""),
        ("class A: ...\nx = A()\nx\n", "x", "local:A"),
        ("from m import A\nx = A(1)\nx\n", "x", "m.A"),
        ("from m import A\ndef f(x: A): x\n", "x", "m.A"),
        ("from m import A\ndef f(x: A | None): x\n", "x", "m.A"),
        ("from m import A\nfrom typing import Optional\ndef f(x: Optional[A]): x\n", "x", "m.A"),
        ("from m import A\nfrom typing import Union\ndef f(x: Union[A, None]): x\n", "x", "m.A"),
        ("from m import A, B\ndef f(x: A | B): x\n", "x", ""),
        ("from m import A\ndef f(x: 'A'): x\n", "x", "m.A"),
        ("from m import A\ndef f(x: 'A | None'): x\n", "x", "m.A"),
        ("from m import A\nfrom typing import Optional\ndef f(x: Optional['A']): x\n", "x", "m.A"),
        ("import m\ndef f(x: 'm.sub.A'): x\n", "x", "m.sub.A"),
        ("def f(x: 'm.A'): x\n", "x", "m.A"),
        ("def f(x: list[A]): x\n", "x", ""),
        ("from m import make\nx = make()\nx\n", "x", ""),
        ("class A: ...\nx = A()\nx = other\nx\n", "x", ""),
    ],
)
def test_class_of_a_value(text: str, name: str, path: str) -> None:
    context = context_of(text)
    assert context.names.class_of(find(context, name)) == path


# --- references -----------------------------------------------------------------------------


def references(text: str) -> list[tuple[str, str, bool]]:
    """Each reference: as it is written, what it stands for, and whether a table lists it."""
    return [(r.written, r.path, r.entry is not None) for r in context_of(text).references]


def test_reference_is_the_part_that_the_table_covers() -> None:
    text = "import torch\ns = torch.cuda.Stream().wait_event\ntorch.npu.Stream.query(s)\n"
    assert references(text) == [
        ("torch.cuda.Stream", "torch.cuda.Stream", True),
        ("torch.npu.Stream", "torch.npu.Stream", True),
    ]


def test_reference_through_an_alias_keeps_its_spelling() -> None:
    assert references("import torch.cuda as tc\ntc.empty_cache()\n") == [
        ("tc.empty_cache", "torch.cuda.empty_cache", True)
    ]


def test_torch_that_nothing_binds_is_a_reference_that_is_not_certain() -> None:
    for text in ("torch.cuda.synchronize()\n", "from m import *\ntorch.cuda.synchronize()\n"):
        [reference] = context_of(text).references
        assert (reference.path, reference.certain) == ("torch.cuda.synchronize", False)


def test_name_that_no_table_knows_is_a_reference_without_an_entry() -> None:
    assert references("import torch\ntorch.cuda.brand_new()\n") == [
        ("torch.cuda.brand_new", "torch.cuda.brand_new", False)
    ]


@pytest.mark.parametrize(
    "text",
    [
        "import torch\ntorch.nn.Linear(1, 1)\n",
        "import torch.cuda_ext\ntorch.cuda_ext.f()\n",
        "from torch import cuda\ndel cuda\n",
        "import torch\nS = torch.nn.Module\ndel S\n",
        "torch.linspace()\n",
        "x = 'torch.cuda.synchronize'  # torch.cuda.synchronize\n",
    ],
)
def test_no_reference(text: str) -> None:
    assert references(text) == []


def test_deleting_or_setting_a_name_is_no_reference() -> None:
    text = "import torch\nS = torch.cuda.Stream\ndel S\n"
    assert references(text) == [("torch.cuda.Stream", "torch.cuda.Stream", True)]


def test_annotation_in_text_is_not_edited_as_code() -> None:
    imports = "import torch\nfrom torch.cuda import Event\n"
    context = context_of(f"{imports}def f(s: 'torch.cuda.Stream', e: 'Event'): ...\n")
    assert context.references == []
    assert [r.path for r in context.reference_at.values()] == ["torch.cuda.Event"]


def test_references_stand_in_source_order() -> None:
    text = "import torch\nf(torch.cuda.Event, torch.cuda.Stream)\ntorch.cuda.synchronize()\n"
    assert [path.rpartition(".")[2] for _, path, _ in references(text)] == [
        "Event",
        "Stream",
        "synchronize",
    ]


def test_reference_that_may_be_something_else_is_not_certain() -> None:
    text = (
        "try:\n    from apex.parallel import Stream\n"
        "except ImportError:\n    from torch.cuda import Stream\n"
        "Stream()\n"
    )
    (reference,) = context_of(text).references
    assert reference.path == "torch.cuda.Stream"
    assert not reference.certain


# --- nothing in real code is too odd --------------------------------------------------------


def _stdlib_modules() -> list[Path]:
    every = sorted(path for path in _STDLIB.glob("*.py"))
    return every[:: max(1, len(every) // 100)][:110]


def test_nothing_in_the_standard_library_makes_resolution_fail() -> None:
    modules = _stdlib_modules()
    assert len(modules) >= 90
    resolved_names = 0
    for path in modules:
        scopes = Scopes(Source(path.read_text(encoding="utf-8"), path.name), "pkg")
        names = Names(scopes)
        for node in ast.walk(scopes.source.tree):
            if isinstance(node, ast.expr):
                resolved_names += bool(names.resolve(node).paths)
                names.class_of(node)
            elif isinstance(node, ast.arg):
                names.annotation_path(node.annotation)
    assert resolved_names > 10_000
