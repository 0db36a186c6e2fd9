"""Flow across files: what one module shows about the values of another."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path

import pytest

from flmigrate.analysis.kinds import Verdict
from flmigrate.analysis.project import module_names
from tests.analysed import context_of, project_of, rewritten


def verdict(files: Mapping[str, str], value: str = "cuda") -> Verdict:
    """What the one string ``value`` of the project's last file is."""
    project = project_of(files)
    path, text = list(files.items())[-1]
    is_package = path.endswith("__init__.py")
    module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    context = context_of(text, module, is_package=is_package, project=project)
    found = [node for node in context.scopes.nodes[ast.Constant] if node.value == value]
    assert len(found) == 1
    flow = context.backends if value == "nccl" else context.devices
    return flow.verdict(found[0])


OPS = (
    "import torch\n"
    'KIND = torch.device("cpu")\n'
    'PLAIN = "text"\n'
    "def run(x, where): x.to(where)\n"
    "def only(*, where): run(1, where)\n"
    "def plain(x, where): print(where)\n"
    "def kind(): return KIND\n"
    "alias = run\n"
    "class Runner:\n"
    '    spot = torch.device("cpu")\n'
    "    def __init__(self, where): run(1, where)\n"
    "    @staticmethod\n"
    "    def static(where): run(1, where)\n"
    "    @classmethod\n"
    "    def made(cls, where): run(1, where)\n"
    "    def again(self, where): run(1, where)\n"
    "class Derived(Runner): ...\n"
    "@dataclass\n"
    "class Options:\n"
    "    size: int\n"
    "    where: str\n"
    "    def use(self): run(1, self.where)\n"
)

REACHED = {
    "parameter by position": 'from pkg.ops import run\nrun(1, "cuda")\n',
    "parameter by keyword": 'from pkg.ops import run\nrun(1, where="cuda")\n',
    "keyword-only parameter": 'from pkg.ops import only\nonly(where="cuda")\n',
    "relative import": 'from .ops import run\nrun(1, "cuda")\n',
    "relative import of the module": 'from . import ops\nops.run(1, "cuda")\n',
    "import of the module": 'import pkg.ops\npkg.ops.run(1, "cuda")\n',
    "import under a name": 'import pkg.ops as o\no.run(1, "cuda")\n',
    "other name of the function": 'from pkg.ops import alias\nalias(1, "cuda")\n',
    "import inside a function": 'def f():\n    from .ops import run\n    run(1, "cuda")\n',
    "conditional import": (
        'try:\n    from .ops import run\nexcept ImportError:\n    run = None\nrun(1, "cuda")\n'
    ),
    "constructor": 'from .ops import Runner\nRunner("cuda")\n',
    "inherited constructor": 'from .ops import Derived\nDerived("cuda")\n',
    "static method": 'from .ops import Runner\nRunner.static("cuda")\n',
    "class method": 'from .ops import Runner\nRunner.made("cuda")\n',
    "method by class": 'from .ops import Runner\nRunner.again(r, "cuda")\n',
    "inherited static method": 'from .ops import Derived\nDerived.static("cuda")\n',
    "field of a dataclass": 'from .ops import Options\nOptions(1, "cuda")\n',
    "field by keyword": 'from .ops import Options\nOptions(1, where="cuda")\n',
    "constant compared": 'from .ops import KIND\nKIND == "cuda"\n',
    "constant of the module compared": 'from . import ops\nops.KIND == "cuda"\n',
    "constant by star": 'from .ops import *\nKIND == "cuda"\n',
    "class attribute compared": 'from .ops import Runner\nRunner.spot == "cuda"\n',
    "inherited class attribute": 'from .ops import Derived\nDerived.spot == "cuda"\n',
    "return compared": 'from .ops import kind\nkind() == "cuda"\n',
    "return kept in a variable": 'from .ops import kind\nk = kind()\nk == "cuda"\n',
    "own parameter handed on": 'from .ops import run\ndef g(a="cuda"): run(1, a)\n',
    "own constant handed on": 'from .ops import run\nA = "cuda"\ndef g(): run(1, A)\n',
    "base class in another file": (
        'from .ops import Runner\nclass Mine(Runner): ...\nMine("cuda")\n'
    ),
}


@pytest.mark.parametrize("text", REACHED.values(), ids=REACHED)
def test_other_file_shows_a_device(text: str) -> None:
    files = {"pkg/__init__.py": "", "pkg/ops.py": OPS, "pkg/main.py": text}
    assert verdict(files) is Verdict.YES


NOT_REACHED = {
    "position of another parameter": 'from .ops import run\nrun("cuda", 1)\n',
    "parameter that is only printed": 'from .ops import plain\nplain(1, "cuda")\n',
    "function that does not exist": 'from .ops import gone\ngone("cuda")\n',
    "module that does not exist": 'from .gone import run\nrun(1, "cuda")\n',
    "too many arguments": 'from .ops import run\nrun(1, 2, 3, "cuda")\n',
    "unknown keyword": 'from .ops import run\nrun(1, mode="cuda")\n',
    "plain constant": 'from .ops import PLAIN\nPLAIN == "cuda"\n',
    "same name, hidden": 'from .ops import run\ndef g(run): run(1, "cuda")\n',
    "same name of another package": 'from other.ops import run\nrun(1, "cuda")\n',
    "field of another position": 'from .ops import Options\nOptions("cuda", 1)\n',
    "constant called": 'from .ops import KIND\nKIND("cuda")\n',
    "method that does not exist": 'from .ops import Runner\nRunner.gone("cuda")\n',
}


@pytest.mark.parametrize("text", NOT_REACHED.values(), ids=NOT_REACHED)
def test_other_file_shows_nothing(text: str) -> None:
    files = {"pkg/__init__.py": "", "pkg/ops.py": OPS, "pkg/main.py": text}
    assert verdict(files) is Verdict.UNKNOWN


# --- re-exports -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "top",
    [
        "from .ops import run\n",
        "from pkg.ops import run\n",
        "from .ops import *\n",
        "from .ops import alias as run\n",
        "from . import ops\nrun = ops.run\n",
        "from .middle import run\n",
        "from .middle import *\n",
        "if x:\n    from .ops import run\nelse:\n    from .ops import run\n",
    ],
)
def test_re_exported_name_leads_to_its_definition(top: str) -> None:
    files = {
        "pkg/__init__.py": top,
        "pkg/middle.py": "from .ops import run\n",
        "pkg/ops.py": OPS,
        "main.py": 'from pkg import run\nrun(1, "cuda")\n',
    }
    assert verdict(files) is Verdict.YES


@pytest.mark.parametrize(
    "files",
    [
        {"a.py": "from b import run\n", "b.py": "from a import run\n"},
        {"a.py": "from a import run\n"},
        {"a.py": "from b import *\n", "b.py": "from a import *\n"},
        {"a.py": "from b import run as other\nrun = other\n", "b.py": "from a import run\n"},
    ],
)
def test_names_imported_in_a_circle_come_to_an_end(files: dict[str, str]) -> None:
    main = {"main.py": 'from a import run\nrun(1, "cuda")\n'}
    assert verdict({**files, **main}) is Verdict.UNKNOWN


def test_modules_that_import_each_other_are_followed() -> None:
    files = {
        "a.py": "import b\ndef f(p): b.g(p)\ndef h(p): return p\n",
        "b.py": "import a\ndef g(q): a.h(q) if q else a.f(q)\n",
        "main.py": 'import a\na.f("cuda")\n',
    }
    assert verdict(files) is Verdict.UNKNOWN
    files["a.py"] = files["a.py"].replace("return p", "x.to(p)")
    assert verdict(files) is Verdict.YES


def test_questions_that_come_back_come_to_an_end() -> None:
    # Each parameter of ``b`` asks about one of ``a`` and the other way round.
    count = 12
    functions = [f"f{i}" for i in range(count)]
    a = "import b\n" + "".join(
        f"def {name}(p, q): b.f{(i * 5 + 1) % count}(q, p); b.f{(i * 7 + 2) % count}(p, q)\n"
        for i, name in enumerate(functions)
    )
    files = {
        "b.py": a.replace("import b", "import a").replace("b.f", "a.f"),
        "a.py": a,
        "main.py": 'import a\na.f0(1, "cuda")\n',
    }
    assert verdict(files) is Verdict.UNKNOWN


def test_own_file_is_never_asked() -> None:
    files = {"pkg/__init__.py": "", "pkg/main.py": 'import pkg.main\npkg.main.f("cuda")\n'}
    assert verdict(files) is Verdict.UNKNOWN


def test_file_that_does_not_parse_shows_nothing() -> None:
    files = {"ops.py": "def run(where:\n", "main.py": 'from ops import run\nrun("cuda")\n'}
    assert verdict(files) is Verdict.UNKNOWN


def test_backend_of_another_file() -> None:
    ops = "import torch.distributed as d\ndef init(b): d.init_process_group(b)\n"
    files = {"ops.py": ops, "main.py": 'from ops import init\ninit("nccl")\n'}
    assert verdict(files, "nccl") is Verdict.YES


# --- module names ---------------------------------------------------------------------------


def test_module_names_follow_the_packages_on_disk(tmp_path: Path) -> None:
    paths = ["src/pkg/__init__.py", "src/pkg/sub/__init__.py", "src/pkg/sub/mod.py"]
    paths += ["src/pkg/loose/script.py", "setup.py"]
    for path in paths:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    names = module_names(tmp_path / path for path in paths)
    assert {name: str(path.relative_to(tmp_path)) for name, path in names.items()} == {
        "pkg": "src/pkg/__init__.py",
        "pkg.sub": "src/pkg/sub/__init__.py",
        "pkg.sub.mod": "src/pkg/sub/mod.py",
        "script": "src/pkg/loose/script.py",
        "setup": "setup.py",
    }


def test_first_of_two_modules_with_one_name_counts(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "train.py").touch()
    names = module_names([tmp_path / "a/train.py", tmp_path / "b/train.py"])
    assert names == {"train": tmp_path / "a/train.py"}


# --- a whole run ----------------------------------------------------------------------------

CALLED = {
    "by position": ("def f(a): return a == {}\n", "from pkg.ops import f\nf(x.device.type)\n"),
    "by keyword": ("def f(*, a): return a == {}\n", "from pkg.ops import f\nf(a=x.device.type)\n"),
    "of a module": ("def f(a): return a == {}\n", "import pkg.ops\npkg.ops.f(x.device.type)\n"),
    "of a re-export": ("def f(a): return a == {}\n", "import pkg\npkg.f(x.device.type)\n"),
    "constructor": (
        "class f:\n    def __init__(self, a): self.b = a == {}\n",
        "from pkg.ops import f\nf(x.device.type)\n",
    ),
    "constructor, kept in an attribute": (
        "class f:\n    def __init__(self, a): self.b = a\n    def g(self): return self.b == {}\n",
        "from pkg.ops import f\nf(x.device.type)\n",
    ),
    "static method": (
        "class f:\n    @staticmethod\n    def g(a): return a == {}\n",
        "from pkg.ops import f\nf.g(x.device.type)\n",
    ),
    "class method": (
        "class f:\n    @classmethod\n    def g(cls, a): return a == {}\n",
        "from pkg.ops import f\nf.g(x.device.type)\n",
    ),
    "default": ("def f(a={}): return a\n", "from pkg.ops import f\nf(a=x.device)\n"),
    "constant": ("f = {}\n", "from pkg.ops import f\nx.to(f)\n"),
    "constant of a module": ("f = {}\n", "from pkg import ops\nx.to(ops.f)\n"),
    "return": ("def f(): return {}\n", "from pkg.ops import f\nx.to(f())\n"),
    "class attribute": ("class f:\n    a = {}\n", "from pkg.ops import f\nx.to(f.a)\n"),
}


@pytest.mark.parametrize(("ops", "main"), CALLED.values(), ids=CALLED)
def test_caller_in_another_file_shows_what_a_parameter_is(
    ops: str, main: str, tmp_path: Path
) -> None:
    files = {
        "pkg/__init__.py": "from .ops import f\n",
        "pkg/ops.py": ops.format('"cuda"'),
        "main.py": f"import torch\n{main}",
    }
    after = rewritten(tmp_path, files)
    assert after["pkg/ops.py"] == ops.format('"flagos"')
    assert after["main.py"] == files["main.py"]


def test_caller_that_shows_nothing_leaves_the_literal(tmp_path: Path) -> None:
    files = {
        "ops.py": 'def f(a): return a == "cuda"\n',
        "main.py": "import torch\nfrom ops import f\nf(x.mode)\nf(1)\nf(*y)\n",
    }
    assert rewritten(tmp_path, files) == files


def test_same_answer_in_whatever_order_the_files_come(tmp_path: Path) -> None:
    files = {
        "consts.py": 'KIND = "cuda"\n',
        "ops.py": "from consts import KIND\ndef run(x, where=KIND): x.to(where)\n",
        "main.py": 'from ops import run\nrun(1, where="cuda")\n',
    }
    expected = {name: text.replace('"cuda"', '"flagos"') for name, text in files.items()}
    assert rewritten(tmp_path / "one", files) == expected
    assert rewritten(tmp_path / "two", dict(reversed(files.items()))) == expected


ONLY_NPU = {
    "train.py": "import torch\nx = torch.ones(2, device='npu')\ntorch.npu.synchronize()\n",
    "asks.py": "import torch\n\ndef f(kind):\n    if kind == 'npu':\n        g()\n",
    "plugin.py": "import torch\nimport torch_npu\n",
    "both.py": (
        "import torch\n\ndef f(x: torch.Tensor):\n"
        "    if x.device.type == 'npu':\n        g(x)\n    return x.npu()\n"
    ),
    "plain.py": "npu = 1\n",
}


@pytest.mark.parametrize("asks", ["asks.py", "plugin.py", "both.py"])
def test_a_second_run_over_a_project_of_one_other_vendor_changes_nothing(
    tmp_path: Path, asks: str
) -> None:
    first = rewritten(tmp_path, {name: ONLY_NPU[name] for name in ("train.py", asks, "plain.py")})
    assert "flagos" in first["train.py"]
    assert rewritten(tmp_path, first) == first


def test_a_project_of_one_other_vendor_in_which_nothing_moves_gets_no_notes(tmp_path: Path) -> None:
    files = {"plain.py": "npu = 1\n", "said.py": "import torch\n\nname = 'npu'\n"}
    assert rewritten(tmp_path, files) == files
