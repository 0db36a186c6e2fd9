"""Scopes: who binds a name, who reads it, and that Python sees it the same way."""

from __future__ import annotations

import ast
import symtable
import sys
import sysconfig
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from flmigrate.analysis.scopes import Scope, Scopes
from flmigrate.analysis.source import Source
from tests.analysed import context_of

_STDLIB = Path(sysconfig.get_paths()["stdlib"])


def scopes_of(text: str, package: str = "") -> Scopes:
    return Scopes(Source(text), package)


def probed(text: str) -> str:
    """Whose binding ``probe(name)`` reads: a function's or class's name, or a kind of scope."""
    scopes = scopes_of(text)
    calls = [
        call
        for call in scopes.nodes[ast.Call]
        if isinstance(call.func, ast.Name) and call.func.id == "probe"
    ]
    assert len(calls) == 1
    owner = scopes.binder(calls[0].args[0])
    if owner is None:
        return "nobody"
    return getattr(owner.node, "name", type(owner.node).__name__)


# --- shadowing ------------------------------------------------------------------------------

SHADOWED = {
    "parameter": "def f(torch):\n    probe(torch)\n",
    "keyword-only parameter": "def f(*, torch):\n    probe(torch)\n",
    "star parameter": "def f(*torch):\n    probe(torch)\n",
    "double-star parameter": "def f(**torch):\n    probe(torch)\n",
    "positional-only parameter": "def f(torch, /):\n    probe(torch)\n",
    "local assigned after the read": "def f():\n    probe(torch)\n    torch = 1\n",
    "unpacked local": "def f():\n    a, (b, *torch) = x\n    probe(torch)\n",
    "annotated local without a value": "def f():\n    torch: int\n    probe(torch)\n",
    "augmented": "def f():\n    torch += 1\n    probe(torch)\n",
    "loop": "def f():\n    for torch in x:\n        probe(torch)\n",
    "asynchronous loop": "async def f():\n    async for torch in x:\n        probe(torch)\n",
    "with": "def f():\n    with x as torch:\n        probe(torch)\n",
    "with several targets": "def f():\n    with x as (a, torch):\n        probe(torch)\n",
    "except": "def f():\n    try:\n        y\n    except E as torch:\n        probe(torch)\n",
    "walrus": "def f():\n    if (torch := x):\n        probe(torch)\n",
    "walrus in a comprehension": "def f():\n    [torch := y for y in x]\n    probe(torch)\n",
    "del": "def f():\n    probe(torch)\n    del torch\n",
    "local import": "def f():\n    import torch\n    probe(torch)\n",
    "import of a submodule": "def f():\n    import torch.cuda\n    probe(torch)\n",
    "import under that name": "def f():\n    import numpy as torch\n    probe(torch)\n",
    "local function": "def f():\n    def torch(): ...\n    probe(torch)\n",
    "local class": "def f():\n    class torch: ...\n    probe(torch)\n",
    "match capture": "def f():\n    match x:\n        case torch:\n            probe(torch)\n",
    "match as": "def f():\n    match x:\n        case [1] as torch:\n            probe(torch)\n",
    "match star": "def f():\n    match x:\n        case [1, *torch]:\n            probe(torch)\n",
    "match rest": "def f():\n    match x:\n        case {1: 2, **torch}: probe(torch)\n",
    "match class": "def f():\n    match x:\n        case C(a=torch):\n            probe(torch)\n",
    "outer function": "def f(torch):\n    def g():\n        probe(torch)\n",
    "outer function, bound later": "def f():\n    def g(): probe(torch)\n    torch = 1\n",
    "nonlocal": "def f(torch):\n    def g():\n        nonlocal torch\n        probe(torch)\n",
}


@pytest.mark.parametrize("body", SHADOWED.values(), ids=SHADOWED)
def test_function_hides_the_import(body: str) -> None:
    assert probed(f"import torch\n{body}") == "f"


SEEN = {
    "read": "def f():\n    probe(torch)\n",
    "nested read": "def f():\n    def g():\n        return lambda: probe(torch)\n",
    "global, assigned": "def f():\n    global torch\n    torch = 1\n    probe(torch)\n",
    "global, declared after": "def f():\n    if x:\n        global torch\n    probe(torch)\n",
    "global below a local of the same name": (
        "def f(torch):\n    def g():\n        global torch\n        probe(torch)\n"
    ),
    "global, read by an inner function": (
        "def f():\n    global torch\n    def g():\n        probe(torch)\n"
    ),
    "attribute of that name": "def f(x):\n    x.torch = 1\n    probe(torch)\n",
    "keyword of that name": "def f(x):\n    x(torch=1)\n    probe(torch)\n",
    "item of that name": "def f(x):\n    x['torch'] = 1\n    probe(torch)\n",
    "parameter of another function": "def f():\n    def g(torch): ...\n    probe(torch)\n",
    "local of an inner function": "def f():\n    def g():\n        torch = 1\n    probe(torch)\n",
    "class attribute, seen from a method": (
        "class C:\n    torch = 1\n    def f(self):\n        probe(torch)\n"
    ),
    "class attribute, seen from a comprehension": (
        "class C:\n    torch = 1\n    x = [probe(torch) for y in z]\n"
    ),
    "global in a class, seen from a method": (
        "def g(torch):\n    class C:\n        global torch\n        x = probe(torch)\n"
    ),
    "default of a parameter of that name": "def f(torch=probe(torch)): ...\n",
    "default of a lambda": "f = lambda torch=probe(torch): 1\n",
    "decorator": "@probe(torch)\ndef f(torch): ...\n",
    "annotation of a parameter": "def f(torch: probe(torch)): ...\n",
    "annotation of the result": "def f(torch) -> probe(torch): ...\n",
    "base class": "class C(probe(torch)):\n    torch = 1\n",
    "keyword of a class": "class C(metaclass=probe(torch)):\n    torch = 1\n",
    "first iterable of a comprehension": "x = [torch for torch in probe(torch)]\n",
}


@pytest.mark.parametrize("body", SEEN.values(), ids=SEEN)
def test_import_is_seen(body: str) -> None:
    assert probed(f"import torch\n{body}") == "Module"


@pytest.mark.parametrize(
    ("text", "owner"),
    [
        ("x = [probe(torch) for torch in y]\n", "ListComp"),
        ("x = {probe(torch) for torch in y}\n", "SetComp"),
        ("x = {1: probe(torch) for torch in y}\n", "DictComp"),
        ("x = {probe(torch): 1 for torch in y}\n", "DictComp"),
        ("x = list(probe(torch) for torch in y)\n", "GeneratorExp"),
        ("x = [1 for torch in y if probe(torch)]\n", "ListComp"),
        ("x = [1 for torch in y for z in probe(torch)]\n", "ListComp"),
        ("x = [1 for a in b for torch, c in y if probe(torch)]\n", "ListComp"),
        ("x = lambda torch: probe(torch)\n", "Lambda"),
        ("class C:\n    torch = 1\n    probe(torch)\n", "C"),
        ("class C:\n    torch = 1\n    x = [1 for a in probe(torch)]\n", "C"),
        ("class C:\n    torch = 1\n    def f(self, x=probe(torch)): ...\n", "C"),
        ("def f(torch):\n    class C:\n        x = probe(torch)\n", "f"),
        ("def f(torch):\n    class C:\n        def g(self):\n            probe(torch)\n", "f"),
        (
            "def f(torch):\n    class C:\n        global torch\n"
            "        def g(self):\n            probe(torch)\n",
            "f",
        ),
        ("def f(torch):\n    return [probe(torch) for x in y]\n", "f"),
        ("def f():\n    probe(torch)\n", "Module"),
    ],
)
def test_innermost_scope_that_binds(text: str, owner: str) -> None:
    assert probed(f"import torch\n{text}") == owner


@pytest.mark.skipif(sys.version_info < (3, 12), reason="type parameters came with Python 3.12")
@pytest.mark.parametrize(
    "text",
    [
        "def f[torch]():\n    probe(torch)\n",
        "def f[*torch]():\n    probe(torch)\n",
        "def f[**torch]():\n    probe(torch)\n",
        "def f():\n    type torch = int\n    probe(torch)\n",
    ],
)
def test_type_parameter_hides_the_import(text: str) -> None:
    assert probed(f"import torch\n{text}") == "f"


def test_unbound_name_belongs_to_nobody() -> None:
    assert probed("def f():\n    probe(torch)\n") == "nobody"


def test_conditional_bindings_are_all_kept() -> None:
    scopes = scopes_of(
        "try:\n    import torch_npu\nexcept ImportError:\n    torch_npu = None\n"
        "if x:\n    from a import torch_npu\nelse:\n    def torch_npu(): ...\n"
    )
    kinds = sorted(binding.kind for binding in scopes.module.bindings["torch_npu"])
    assert kinds == ["assign", "def", "import", "import"]


def test_assignment_through_nonlocal_is_the_outer_functions() -> None:
    scopes = scopes_of(
        "def f():\n    x = 1\n    def g():\n        nonlocal x\n        x = 2\n    return x\n"
    )
    owners = [scope for scope in scopes.scope_of.values() if "x" in scope.bindings]
    assert {getattr(scope.node, "name", "") for scope in owners} == {"f"}
    assert len(owners[0].bindings["x"]) == 2


def test_assignment_through_global_is_the_modules() -> None:
    scopes = scopes_of("x = 1\ndef f():\n    def g():\n        global x\n        x = 2\n")
    assert len(scopes.module.bindings["x"]) == 2


def test_reads_are_listed_where_the_name_is_bound() -> None:
    scopes = scopes_of(
        "import torch\n"
        "a = torch\n"
        "def f(torch):\n    return torch, torch\n"
        "def g():\n    return [torch for x in torch]\n"
        "torch = 2\n"
    )
    (function,) = [s for n, s in scopes.scope_of.items() if getattr(n, "name", "") == "f"]
    assert sorted(name.lineno for name in scopes.module.loads["torch"]) == [2, 6, 6]
    assert len(function.loads["torch"]) == 2


def test_every_expression_knows_what_it_is_part_of() -> None:
    text = (
        "@d(1)\nclass C(B, m=[2]):\n"
        "    async def f(self, a: int = 3, *b, c: str = 'x', **k) -> 'T':\n"
        "        async with a as b, c: ...\n"
        "        return {**k, 1: [y async for y in z if w], **f'{a:{b}}'}[1:2, ...]\n"
        "x = lambda p=(q := 1): p if p else not -p\n"
        "match x:\n    case {'k': [1, *r], **s} | C(t, u=2) as v if v: ...\n"
    )
    scopes = scopes_of(text)
    for node in ast.walk(scopes.source.tree):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr | ast.stmt | ast.keyword | ast.arg | ast.pattern):
                assert scopes.parents[child] is node


def test_long_chain_does_not_exhaust_the_stack() -> None:
    limit = sys.getrecursionlimit()
    scopes = scopes_of("x = " + " + ".join(["y"] * 900) + "\n")
    assert len(scopes.nodes[ast.Name]) == 901
    assert sys.getrecursionlimit() == limit


# --- imports --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statement", "package", "paths"),
    [
        ("import torch.cuda", "", {"torch": "torch"}),
        ("import torch.cuda as tc, os.path", "", {"tc": "torch.cuda", "os": "os"}),
        ("from torch import cuda as c, nn", "", {"c": "torch.cuda", "nn": "torch.nn"}),
        ("from . import ops", "pkg.sub", {"ops": "pkg.sub.ops"}),
        ("from .. import ops", "pkg.sub", {"ops": "pkg.ops"}),
        ("from ..ops import run as go", "pkg.sub", {"go": "pkg.ops.run"}),
        ("from ... import ops", "pkg.sub", {"ops": "...ops"}),
        ("from . import ops", "", {"ops": ".ops"}),
        ("from .ops import run", "", {"run": ".ops.run"}),
    ],
)
def test_imported_path(statement: str, package: str, paths: dict[str, str]) -> None:
    bindings = scopes_of(statement, package).module.bindings
    assert {name: bound[0].path for name, bound in bindings.items()} == paths


def test_star_imports_are_listed_with_their_modules() -> None:
    scopes = scopes_of("from torch.cuda import *\nfrom .ops import *\n", "pkg")
    assert sorted(scopes.stars) == ["pkg.ops", "torch.cuda"]
    assert "*" not in scopes.module.bindings


def test_module_of_a_package_starts_relative_imports_at_its_parent() -> None:
    text = "from .ops import run\n"
    inside = context_of(text, "pkg.sub.mod")
    package = context_of(text, "pkg.sub", is_package=True)
    for context in (inside, package):
        assert context.scopes.module.bindings["run"][0].path == "pkg.sub.ops.run"


# --- annotations that are text --------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "def f(x: 'torch.Tensor'): ...\n",
        "def f(*x: 'torch.Tensor'): ...\n",
        "def f() -> 'torch.Tensor': ...\n",
        "x: 'torch.Tensor' = 1\n",
        "x: Optional['torch.Tensor'] = 1\n",
        "x: dict[str, list['torch.Tensor | None']] = 1\n",
        "x: 'Optional[torch.Tensor]'\n",
        "x: int | 'torch.Tensor'\n",
        "class C:\n    x: 'torch.Tensor'\n",
    ],
)
def test_annotation_in_text_reads_its_names(text: str) -> None:
    scopes = scopes_of(f"import torch\n{text}")
    assert [name.id for name in scopes.module.loads["torch"]] == ["torch"]


@pytest.mark.parametrize(
    "text",
    [
        "x = 'torch.Tensor'\n",
        "f('torch')\n",
        "x: Literal['torch'] = y\n",
        "x: typing.Literal['a', 'torch']\n",
        "x: int = 'torch'\n",
        "d['torch']\n",
        "def f(x='torch'): ...\n",
        "def f():\n    'torch'\n",
        "x: 'not an expression torch'\n",
    ],
)
def test_other_text_reads_nothing(text: str) -> None:
    assert "torch" not in scopes_of(f"import torch\n{text}").module.loads


def test_annotation_in_text_sees_the_scope_it_stands_in() -> None:
    scopes = scopes_of("import torch\ndef f(torch):\n    x: 'torch' = 1\n")
    assert "torch" not in scopes.module.loads


# --- the same answers as Python's own --------------------------------------------------------

_NAMES = ["a", "b", "c", "d"]
_name = st.sampled_from(_NAMES)
_LINES = [
    "{0} = {1}",
    "{0}, *{1} = {2}",
    "{0} += 1",
    "{0}: int = {1}",
    "{0}: {1}",
    "print({0})",
    "for {0} in {1}: pass",
    "with {0} as {1}: pass",
    "import os as {0}",
    "from os import path as {0}",
    "del {0}",
    "{0} = [{1} for {1} in {2}]",
    "{0} = {{{1}: {2} for {1} in {2} if {3}}}",
    "{0} = list({1} for {2} in {3} for {1} in {2})",
    "if ({0} := {1}): pass",
    "print([{0} := {1} for {2} in {3}])",
    "{0} = lambda {1}, x={2}: {1} + {3}",
    "print(f'{{{0}:{{{1}}}}}')",
    "{0}.{1} = {2}[{3}]",
]
_BLOCKS = [
    "try:\n    {0}\nexcept {1} as {2}:\n    print({3})",
    "match {0}:\n    case [{1}, *{2}] | ({{'k': {1}, **{2}}}): print({1})",
    "while {0}:\n    {1} = 1\nelse:\n    {2} = 1",
]


@st.composite
def _suite(draw: st.DrawFn, depth: int, counter: list[int], opener: str) -> list[str]:
    lines: list[str] = []
    if opener == "def" and draw(st.booleans()):
        word = draw(st.sampled_from(["global", "nonlocal"]))
        lines.append(f"{word} {draw(_name)}")
    if opener == "class" and draw(st.integers(0, 3)) == 0:
        lines.append(f"global {draw(_name)}")
    for _ in range(draw(st.integers(1, 3))):
        names = [draw(_name) for _ in range(4)]
        kind = draw(st.integers(0, 5 if depth else 3))
        if kind <= 2:
            lines.append(draw(st.sampled_from(_LINES)).format(*names))
        elif kind == 3:
            lines += draw(st.sampled_from(_BLOCKS)).format(*names).split("\n")
        else:
            counter[0] += 1
            is_class = kind == 5
            header = (
                f"class C{counter[0]}({names[0]}):"
                if is_class
                else f"def f{counter[0]}({names[0]}, *, {names[1]}_={names[2]}):"
            )
            inner = draw(_suite(depth - 1, counter, "class" if is_class else "def"))
            lines += [header, *(f"    {line}" for line in inner)]
    return lines


@st.composite
def programs(draw: st.DrawFn) -> str:
    return "\n".join(draw(_suite(3, [0], "module"))) + "\n"


def _scopes_by_name(scopes: Scopes) -> dict[tuple[str, int], Scope]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return {
        (node.name, node.lineno): scope
        for node, scope in scopes.scope_of.items()
        if isinstance(node, kinds)
    }


def _inlined(scopes: Scopes, scope: Scope) -> set[str]:
    """Variables of comprehensions in a scope, which Python takes into it since 3.12."""
    found: set[str] = set()
    kinds = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
    for inner in {s for s in scopes.scope_of.values() if isinstance(s.node, kinds)}:
        outer = inner.parent
        while outer is not None and isinstance(outer.node, kinds):
            outer = outer.parent
        if outer is scope and sys.version_info >= (3, 12):
            found.update(inner.bindings)
    return found


def _compare(
    table: symtable.SymbolTable, scopes: Scopes, known: dict[tuple[str, int], Scope]
) -> int:
    """Compare a table of Python's and those inside it; gives the number of names compared."""
    compared = 0
    is_module = table.get_type() == "module"
    scope = scopes.module if is_module else known.get((table.get_name(), table.get_lineno()))
    if table.get_name() == "top" and not is_module:
        scope = None  # Python 3.10 takes such a function for the module
    inlined = _inlined(scopes, scope) if scope is not None else set()
    for symbol in table.get_symbols() if scope is not None else ():
        name = symbol.get_name()
        if name.startswith((".", "__")) or "__" in name[1:] or name in inlined:
            continue  # made by the compiler, or mangled
        assert scope is not None
        owner = scope.owner(name)
        where = (table.get_name(), table.get_lineno(), name)
        if is_module:
            if symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace():
                assert owner is scopes.module, where
        elif symbol.is_free():
            assert owner is not None, where
            assert owner not in (scope, scopes.module), where
        elif symbol.is_global():
            assert owner in (scopes.module, None), where
        else:
            assert symbol.is_local(), where
            assert owner is scope, where
        compared += 1
    return compared + sum(_compare(child, scopes, known) for child in table.get_children())


@given(programs())
@settings(max_examples=300, deadline=None)
def test_agrees_with_symtable_on_generated_programs(text: str) -> None:
    try:
        table = symtable.symtable(text, "<generated>", "exec")
    except SyntaxError:
        assume(False)
    scopes = scopes_of(text)
    _compare(table, scopes, _scopes_by_name(scopes))


def _stdlib_modules(count: int) -> list[Path]:
    every = sorted(path for path in _STDLIB.glob("*.py") if not path.name.startswith("_"))
    return every[:: max(1, len(every) // count)][:count]


@pytest.mark.parametrize("path", _stdlib_modules(40), ids=lambda path: path.stem)
def test_agrees_with_symtable_on_the_standard_library(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    scopes = scopes_of(text)
    table = symtable.symtable(text, path.name, "exec")
    assert _compare(table, scopes, _scopes_by_name(scopes)) > 0


def test_comparison_looks_into_every_scope() -> None:
    text = "def f1(a, *, b_=c):\n    e = a\n    class C2(a):\n        d = a\n"
    scopes = scopes_of(text)
    table = symtable.symtable(text, "<generated>", "exec")
    # f1 and c; a, b_, e and C2; d and a.
    assert _compare(table, scopes, _scopes_by_name(scopes)) == 8
