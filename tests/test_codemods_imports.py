"""Names leave imports, move to other modules, and imports come before them."""

from __future__ import annotations

from typing import Any

import pytest

from flmigrate.findings import Edit, Import, Rename
from tests.codemod_case import at, check, marked, refuses


@pytest.mark.parametrize(
    ("source", "remove", "after"),
    [
        ("«import torch_npu,torch»\n", ["torch_npu"], "import torch\n"),
        ("«import torch, torch_npu»\n", ["torch_npu"], "import torch\n"),
        ("«import a, torch_npu as n, b as c»\n", ["torch_npu"], "import a, b as c\n"),
        ("«import a, \\\n    b, \\\n    c»\n", ["b"], "import a, \\\n    c\n"),
        ("«import a.b, a.c»\n", ["a.b"], "import a.c\n"),
        ("«import a, b»  # noqa\n", ["a"], "import b  # noqa\n"),
        ("«from os import path,sep»\n", ["path"], "from os import sep\n"),
        ("«from a import (b, c)»\n", ["b"], "from a import c\n"),
        ("«from a import(b, c)»\n", ["b"], "from a import c\n"),
        ("«from a import (b, c, d)»\n", ["b"], "from a import (c, d)\n"),
        ("«from a import (b)»\n", [], "from a import (b)\n"),
        ("«from . import b, c»\n", ["b"], "from . import c\n"),
        ("«from a import (\n    b,\n    c,\n)»\n", ["b"], "from a import (\n    c,\n)\n"),
        ("«from a import (\n    b,\n    c\n)»\n", ["c"], "from a import (\n    b\n)\n"),
        ("«from a import (b,\n               c)»\n", ["b"], "from a import (c)\n"[:14] + "c\n"),
        ("«from a import (b, c,\n               d)»\n", ["c"],
         "from a import (b,\n               d)\n"),
    ],
)  # fmt: skip
def test_removed_names(source: str, remove: list[str], after: str) -> None:
    before, [span] = marked(source)
    check(before, [Import(span, tuple(remove))], after)


def test_comments_of_the_names_that_stay() -> None:
    before, [span] = marked("""\
«from a import (  # open
    # above b
    b,  # b

    # above c
    c,  # keep
    d,  # d
    # below
)»  # end
""")
    check(
        before,
        [Import(span, ("b", "d"))],
        """\
from a import (  # open
    # above b

    # above c
    c,  # keep
    # below
)  # end
""",
        loses=["# b", "# d"],
    )


@pytest.mark.parametrize(
    ("source", "after", "lost"),
    [
        ("import a\n«import n»\nimport b\n", "import a\nimport b\n", ()),
        ("import a\n«import n»  # noqa: 1\nimport b\n", "import a\nimport b\n", ["# noqa: 1"]),
        ("«import n»\nimport b\n", "import b\n", ()),
        ("«import n»\n\n\nimport b\n", "import b\n", ()),
        ("import a\n\n«import n»\n", "import a\n", ()),
        ("import a\n«import n»", "import a\n", ()),
        ("import a\n«import n»\n\n\nf()\n", "import a\n\n\nf()\n", ()),
        ("import a\n\n«import n»\n\n\nf()\n", "import a\n\n\nf()\n", ()),
        ("import a\n\n\n«import n»\n\nf()\n", "import a\n\n\nf()\n", ()),
        ("import a\n\n«import n»\nf()\n", "import a\n\nf()\n", ()),
        ("import a\n\n«import n»\n  \n«import n»\n\n\nf()\n", "import a\n\n\nf()\n", ()),
        ("# Licence.\n\n«import n»\n\nimport b\n", "# Licence.\n\nimport b\n", ()),
        ("# about n\n«import n»\nimport b\n", "# about n\nimport b\n", ()),
        ("#!/bin/sh\n«import n»\n", "#!/bin/sh\n", ()),
        ("«import n»\n", "", ()),
        ("«import n»", "", ()),
        ('"""Doc."""\n\n«import n»\n\nx = 1\n', '"""Doc."""\n\nx = 1\n', ()),
        ("«import n»;\nimport b\n", "import b\n", ()),
        ("«import n» ; # c\nimport b\n", "import b\n", ["# c"]),
        ("«from n import (\n    a,  # a\n    # b\n    b\n)»  # c\nx\n", "x\n",
         ["# a", "# b", "# c"]),
        ("import a\r\n«import n»\r\nimport b\r\n", "import a\r\nimport b\r\n", ()),
        ("import a\r\n\r\n«import n»\r\n\r\n\r\nb\r\n", "import a\r\n\r\n\r\nb\r\n", ()),
        ("import a\n\x0c\n«import n»\nimport b\n", "import a\n\x0c\nimport b\n", ()),
    ],
)  # fmt: skip
def test_removed_statement(source: str, after: str, lost: Any) -> None:
    before, spans = marked(source)
    remove = ("a", "b") if "from" in source else ("n",)
    check(before, [Import(span, remove) for span in spans], after, loses=lost)


@pytest.mark.parametrize(
    ("source", "after", "lost"),
    [
        ("try:\n    «import n»\nexcept ImportError:\n    n = None\n",
         "try:\n    pass\nexcept ImportError:\n    n = None\n", ()),
        ("try:\n    # why\n    «import n»  # noqa\n\n    # more\nfinally:\n    a\n",
         "try:\n    # why\n    pass\n\n    # more\nfinally:\n    a\n", ["# noqa"]),
        ("try:\n\t«import n»\n\t«import n»\nfinally:\n\ta\n", "try:\n\tpass\nfinally:\n\ta\n", ()),
        ("try:\n    «import n»; «import n»;\nfinally:\n    a\n",
         "try:\n    pass\nfinally:\n    a\n", ()),
        ("if a: «import n»\nelse: b\n", "if a: pass\nelse: b\n", ()),
        ("if a: «import n»;  # why\nelse: b\n", "if a: pass  # why\nelse: b\n", ()),
        ("if a: b\nelse: «import n»; «import n»\n", "if a: b\nelse: pass\n", ()),
        ("if a: \\\n    «import n»\nb\n", "if a: \\\n    pass\nb\n", ()),
        ("if a:\n    «import n»\n\n    f()\n", "if a:\n    f()\n", ()),
        ("if a:\n    # c\n    «import n»\n\n    f()\n", "if a:\n    # c\n\n    f()\n", ()),
        ("if a:\n    f()\n\n    «import n»\nb()\n", "if a:\n    f()\n\nb()\n", ()),
        ("def f():\n    a()\n    «import n»\n\n\ndef g(): pass\n",
         "def f():\n    a()\n\n\ndef g(): pass\n", ()),
        ("class A:\n    «import n»\nb\n", "class A:\n    pass\nb\n", ()),
        ("match a:\n  case _:\n    «import n»\n", "match a:\n  case _:\n    pass\n", ()),
        ("with a as b:\n    «import n»\n", "with a as b:\n    pass\n", ()),
        ("async def f():\n    async with a: «import n»\n",
         "async def f():\n    async with a: pass\n", ()),
        ("if a:  # ends: \\\n    «import n»\n    b\n", "if a:  # ends: \\\n    b\n", ()),
    ],
)  # fmt: skip
def test_removed_statement_of_a_suite(source: str, after: str, lost: Any) -> None:
    before, spans = marked(source)
    check(before, [Import(span, ("n",)) for span in spans], after, loses=lost)


@pytest.mark.parametrize(
    ("source", "after"),
    [
        ("import a; «import n»\n", "import a\n"),
        ("«import n»; import a\n", "import a\n"),
        ("import a; «import n»; import b  # c\n", "import a; import b  # c\n"),
        ("import a;«import n» ;\\\n  import b\n", "import a ;\\\n  import b\n"),
        ("import a; «import n»;\n", "import a;\n"),
        ("«import n»; import a; «import n»\n", "import a\n"),
        ("if x: import a; «import n»\n", "if x: import a\n"),
        ("if x: «import n»; import a\n", "if x: import a\n"),
        ("if x:\n    «import n»; y = 1\n", "if x:\n    y = 1\n"),
    ],
)
def test_removed_from_a_line_of_several_statements(source: str, after: str) -> None:
    before, spans = marked(source)
    check(before, [Import(span, ("n",)) for span in spans], after)


@pytest.mark.parametrize(
    ("source", "move", "after"),
    [
        # All names move together: the module gets another name.
        ("«from torch.cuda.amp import autocast, GradScaler»  # amp\n",
         [("autocast", "torch.amp", "autocast"), ("GradScaler", "torch.amp", "GradScaler")],
         "from torch.amp import autocast, GradScaler  # amp\n"),
        ("«from torch.cuda.amp import autocast»\n", [("autocast", "torch", "autocast")],
         "from torch import autocast\n"),
        ("«from torch.cuda import (\n    Event,  # e\n    Stream as S,  # s\n)»\n",
         [("Event", "torch", "Event"), ("Stream", "torch", "Stream")],
         "from torch import (\n    Event,  # e\n    Stream as S,  # s\n)\n"),
        ("«from a import b»\n", [("b", "c", "d")], "from c import d as b\n"),
        ("«from a import b as d»\n", [("b", "c", "d")], "from c import d\n"),
        ("«from a import b as e»\n", [("b", "c", "d")], "from c import d as e\n"),
        ("«from ..a import b»\n", [("b", ".c", "b")], "from .c import b\n"),
        ("«from . import b»\n", [("b", "c", "b")], "from c import b\n"),
        ("«from c import b»\n", [("b", ".", "b")], "from . import b\n"),
        ("«from torch.cuda import *»\n", [("*", "torch.flagos", "*")],
         "from torch.flagos import *\n"),
        # A name stays in its module.
        ("«from torch import cuda, nn»\n", [("cuda", "torch", "flagos")],
         "from torch import flagos as cuda, nn\n"),
        ("«from torch import cuda as c»\n", [("cuda", "torch", "flagos")],
         "from torch import flagos as c\n"),
        ("«from torch import cuda as flagos»\n", [("cuda", "torch", "flagos")],
         "from torch import flagos\n"),
        # Some stay: the others get a line of their own, below the comment of the statement.
        ("«from torch.cuda import Event, nvtx»  # c\nx\n", [("Event", "torch.flagos", "Event")],
         "from torch.cuda import nvtx  # c\nfrom torch.flagos import Event\nx\n"),
        ("if a:\n    «from a import b, c, d»", [("b", "x", "b"), ("d", "x", "e")],
         "if a:\n    from a import c\n    from x import b, e as d"),
        ("«from a import b, c, d»\n", [("b", "x", "b"), ("d", "y", "d")],
         "from a import c\nfrom x import b\nfrom y import d\n"),
        ("«from a import b, d»\n", [("b", "x", "b"), ("d", "y", "d")],
         "from x import b\nfrom y import d\n"),
        ("«from a import (\n    b,\n    c,  # c\n)»\n", [("b", "x", "b")],
         "from a import (\n    c,  # c\n)\nfrom x import b\n"),
        ("«from a import (\n    b,  # keep\n    c,\n)»\n", [("b", "x", "b")],
         "from a import (\n    c,\n)\nfrom x import b  # keep\n"),
        ("«from a import b, c»; x\n", [("b", "x", "b")], "from a import c; from x import b; x\n"),
        ("if a: «from a import b, c»\n", [("b", "x", "b")],
         "if a: from a import c; from x import b\n"),
        # To and from plain imports.
        ("«from torch import cuda»\n", [("cuda", None, "torch.flagos")],
         "import torch.flagos as cuda\n"),
        ("«from a import b»\n", [("b", None, "b")], "import b\n"),
        ("«from a import b, c, d»\n", [("b", None, "b"), ("d", None, "x.d")],
         "from a import c\nimport b\nimport x.d as d\n"),
        ("«import torch_npu as n»\n", [("torch_npu", "torch", "flagos")],
         "from torch import flagos as n\n"),
        ("«import torch_npu, a»\n", [("torch_npu", "torch", "flagos")],
         "import a\nfrom torch import flagos as torch_npu\n"),
        ("«import torch_npu, torch»\n", [("torch_npu", None, "torch_fl")],
         "import torch_fl as torch_npu, torch\n"),
        ("«import torch_npu as torch_fl»\n", [("torch_npu", None, "torch_fl")],
         "import torch_fl\n"),
        ("«import torch.cuda»\n", [("torch.cuda", None, "torch.flagos")], "import torch.flagos\n"),
        ("«import torch.cuda as tc, os»\n", [("torch.cuda", None, "torch.flagos")],
         "import torch.flagos as tc, os\n"),
        ("«import torch.cuda as tc»\n", [("torch.cuda", "torch", "flagos")],
         "from torch import flagos as tc\n"),
        ("«import a as b»\n", [("a", None, "b")], "import b\n"),
    ],
)  # fmt: skip
def test_moved_names(source: str, move: list[Any], after: str) -> None:
    before, [span] = marked(source)
    check(before, [Import(span, move=tuple(move))], after)


@pytest.mark.parametrize(
    ("source", "move", "after"),
    [
        ("«from torch import cuda»\n", ("cuda", "torch", "flagos"), "from torch import flagos\n"),
        ("«from torch import cuda as c, a»\n", ("cuda", "torch", "flagos"),
         "from torch import flagos, a\n"),
        ("«from torch import cuda»\n", ("cuda", "x", "flagos"), "from x import flagos\n"),
        ("«from torch import cuda, a»\n", ("cuda", "x", "flagos"),
         "from torch import a\nfrom x import flagos\n"),
        ("«from a import b»\n", ("b", None, "c.d"), "import c.d\n"),
        ("«import torch_npu, a»\n", ("torch_npu", None, "torch_fl"), "import torch_fl, a\n"),
        ("«import torch_npu as n»\n", ("torch_npu", None, "torch_fl"), "import torch_fl\n"),
        ("«import a.b»\n", ("a.b", None, "c.b"), "import c.b\n"),
        ("«import a.b»\n", ("a.b", "c", "b"), "from c import b\n"),
    ],
)  # fmt: skip
def test_freed_names_need_no_alias(source: str, move: Any, after: str) -> None:
    before, [span] = marked(source)
    check(before, [Import(span, move=(move,), free=(move[0],))], after)


def test_all_that_is_not_removed_moves_together() -> None:
    before, [span] = marked("«from a import (\n    b,\n    c,\n)»\n")
    check(
        before,
        [Import(span, ("b",), move=(("c", "x.y", "d"),))],
        "from x.y import (\n    d as c,\n)\n",
    )


@pytest.mark.parametrize(
    ("source", "change", "after", "comments"),
    [
        ("# c\n«import torch»\n", {"add": ("import torch_fl",)},
         "# c\nimport torch_fl\nimport torch\n", ([], [])),
        ("«import torch»\n", {"add": ("import torch_fl  # noqa: F401", "import b")},
         "import torch_fl  # noqa: F401\nimport b\nimport torch\n", ([], ["# noqa: F401"])),
        ("try:\n\t«import torch»  # c\nfinally: x\n", {"add": ("import torch_fl",)},
         "try:\n\timport torch_fl\n\timport torch  # c\nfinally: x\n", ([], [])),
        ("«import n»  # noqa\nx\n", {"add": ("import torch_fl",), "remove": ("n",)},
         "import torch_fl\nx\n", (["# noqa"], [])),
        ("if a:\r\n    «import n»", {"add": ("import x", "from y import z"), "remove": ("n",)},
         "if a:\r\n    import x\r\n    from y import z", ([], [])),
        ("«import n, torch»\n", {"add": ("import torch_fl",), "remove": ("n",)},
         "import torch_fl\nimport torch\n", ([], [])),
        ("«import a»; import b\n", {"add": ("import x",)}, "import x\nimport a; import b\n",
         ([], [])),
        ("import a; «import b»; import c\n", {"add": ("import x",)},
         "import a\nimport x\nimport b; import c\n", ([], [])),
        ("if a: «import b»\n", {"add": ("import x",)}, "if a:\n    import x\n    import b\n",
         ([], [])),
        ("if a: «import b»  # c\n", {"add": ("import x  # y",)},
         "if a:\n    import x  # y\n    import b  # c\n", ([], ["# y"])),
        ("if a:\n  if b: «import b»; c\n", {"add": ("import x  # y",)},
         "if a:\n  if b:\n    import x  # y\n    import b; c\n", ([], ["# y"])),
        ("match a:\n  case b: «import b»\n", {"add": ("import x",)},
         "match a:\n  case b:\n      import x\n      import b\n", ([], [])),
        ("«from a import b, c»\n", {"add": ("import x",), "move": (("b", "y", "b"),)},
         "import x\nfrom a import c\nfrom y import b\n", ([], [])),
    ],
)  # fmt: skip
def test_added_imports(source: str, change: dict[str, Any], after: str, comments: Any) -> None:
    before, [span] = marked(source)
    loses, gains = comments
    check(before, [Import(span, **change)], after, loses=loses, gains=gains)


@pytest.mark.parametrize(
    ("source", "names", "after"),
    [
        ("«from a import b»\n", ("b",), "from a import b as b\n"),
        ("«import a, b»\n", ("b",), "import a, b as b\n"),
        ("«from a import (b, c)»  # d\n", ("b", "c"), "from a import (b as b, c as c)  # d\n"),
        ("«from a import (\n    b,  # c\n    d\n)»\n", ("b", "d"),
         "from a import (\n    b as b,  # c\n    d as d\n)\n"),
    ],
)  # fmt: skip
def test_names_that_are_passed_on(source: str, names: tuple[str, ...], after: str) -> None:
    before, [span] = marked(source)
    check(before, [Import(span, again=names)], after)


def test_edits_of_neighbours_on_the_same_line_are_kept() -> None:
    before, [one, two, name] = marked("«import n, a»; «import n»; x = torch.«cuda»\n")
    edits: list[Edit] = [Import(one, ("n",)), Import(two, ("n",)), Rename(name, "flagos")]
    check(before, edits, "import a; x = torch.flagos\n")
    check(before, edits[1:], "import n, a; x = torch.flagos\n")


@pytest.mark.parametrize(
    ("source", "change", "message"),
    [
        ("«import a»\n", {"remove": ("b",)}, "does not import 'b'"),
        ("«import a as b»\n", {"remove": ("b",)}, "does not import 'b'"),
        ("«import a»\n", {"remove": ("a",), "move": (("a", "b", "c"),)}, "two things"),
        ("«import a.b»\n", {"again": ("a.b",)}, "cannot be bound to its own name"),
        ("«from a import b as c»\n", {"again": ("b",)}, "cannot be bound to its own name"),
        ("«import a.b»\n", {"move": (("a.b", "c", "d"),)}, "cannot bind what 'import a.b' binds"),
        ("«import a.b»\n", {"move": (("a.b", None, "c.b"),)}, "cannot bind 'a'"),
        ("«import a»\n", {"add": ("x = 1",)}, "not an import statement"),
        ("«import a»\n", {"add": ("import",)}, "not an import statement"),
        ("«from a import b»\n", {"move": (("b", "c d", "b"),)}, "not an import statement"),
        ("«from a import b»\n", {"move": (("b", "a", "1"),)}, "not a dotted name"),
        ("«from a import *»\n", {"move": (("*", None, "a"),)}, "a star stays a star"),
        ("«from a import *»\n", {"remove": ("b",)}, "does not import 'b'"),
        ("«x = 1»\n", {"remove": ("b",)}, "not an import"),
        ("«import a»\n", {"free": ("a",)}, "freed that does not move"),
        ("«import a»\n", {"move": (("a", None, "b"), ("a", None, "c"))}, "two things"),
        ("«import a; import b»\n", {"remove": ("b",)}, "crosses the border|one whole simple"),
        ("«if x: import b»\n", {"remove": ("b",)}, "crosses the border|one whole simple"),
        ("import «a»\n", {"remove": ("a",)}, "one whole simple statement"),
        ("«from a import (\n    # own\n    b,\n    c\n)»\n",
         {"move": (("b", "x", "b"), ("c", "y", "c"))}, "'# own' would be lost"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_refused(source: str, change: dict[str, Any], message: str) -> None:
    before, [span] = marked(source)
    refuses(before, [Import(span, **change)], message)


def test_long_lines_are_told_apart_from_their_neighbours() -> None:
    before = "import a\nfrom n import (\n    b,\n)\nimport c\n"
    span = at(before, "from n import (\n    b,\n)")
    applied = check(before, [Import(span, ("b",))], "import a\nimport c\n")
    assert applied.changes == ((at(before, "from n import (\n    b,\n)\n"), ""),)
