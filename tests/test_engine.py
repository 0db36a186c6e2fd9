"""The engine: guard, idempotence, notes, suppressions, and input that cannot be handled."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from flmigrate import check_source, rewrite_paths, rewrite_source
from flmigrate.analysis.context import Context
from flmigrate.analysis.source import Source
from flmigrate.findings import Outcome, Result
from flmigrate.guard import GuardError, guard_compilation
from flmigrate.runner import vocabulary_for
from flmigrate.tables import TableError
from tests.command_line import ASK, MOVE, MOVED, Run, flmigrate, tree
from tests.corpus_cases import GENERATORS


def rewrite(text: str, *, notes: bool = True) -> Result:
    return rewrite_source(text, import_in="none", notes=notes)


def codes(result: Result) -> list[str]:
    return [finding.code for finding in result.left]


# --- imports and their uses ----------------------------------------------------------------


def test_uses_of_an_import_that_cannot_be_edited_are_spelled_out() -> None:
    """LibCST does not print a lone carriage return as it was, so the import stays."""
    result = rewrite(
        "import torch\n"
        "from torch.cuda.amp import (autocast,\r)\n"
        "with autocast(dtype=torch.half):\n"
        "    pass\n"
    )
    assert result.outcome is Outcome.CHANGED
    assert result.after.splitlines()[-2] == 'with torch.autocast("flagos", dtype=torch.half):'


def test_a_file_whose_last_target_name_goes_is_at_rest() -> None:
    """The vendor of a file is told by its words, and every fix may take one away."""
    text = (
        "from accelerate.utils import is_npu_available\n"
        "import torch\n"
        "def place(device):\n"
        "    if is_npu_available():\n"
        '        device = f"npu:{device}"\n'
        "    return torch.ones(1, device=device)\n"
        "def freqs(x):\n"
        '    kind = torch.float32 if x.device.type in ("mps", "npu") else torch.float64\n'
        "    return torch.arange(4, dtype=kind)\n"
    )
    once = rewrite_source(text, import_in="none", unsafe_fixes=True)
    twice = rewrite_source(once.after, import_in="none", unsafe_fixes=True)
    assert "is_npu_available" not in once.after
    assert twice.after == once.after


# --- guard ---------------------------------------------------------------------------------

HEAD = """\
schema = 1
name = "own"
title = "own"
source = "own"
serves = ["cuda"]

[device]
type = "flagos"
namespace = "torch.flagos"
move = {move}
test = "True"
"""
CURRENT = """
[api."torch.cuda.current_device"]
status = "respell"
call = "{call}"
value = "torch.flagos.current"
"""
SYNCHRONIZE = """
[api."torch.cuda.synchronize"]
status = "respell"
to = "torch.flagos.sync"
append = ["device=0"]
"""


def with_table(tmp_path: Path, text: str, table: str, move: str = "'\"flagos\"'") -> Result:
    path = tmp_path / f"{len(list(tmp_path.iterdir()))}.toml"  # a table is read once
    path.write_text(HEAD.format(move=move) + table)
    return rewrite_source(text, target=str(path))


@pytest.mark.parametrize(
    ("table", "text", "reason"),
    [
        (
            SYNCHRONIZE,
            "import torch\n\n\ndef f(d):\n    torch.cuda.synchronize(device=d)\n",
            "keyword argument repeated",
        ),
        (
            CURRENT.format(call="(i := torch.flagos.current())"),
            "import torch\n\nx = [i for i in range(torch.cuda.current_device())]\n",
            "comprehension iterable",
        ),
        (
            CURRENT.format(call="(yield)"),
            "import torch\n\n\nclass A:\n    i = torch.cuda.current_device()\n",
            "'yield' outside function",
        ),
        (
            CURRENT.format(call="(await torch.flagos.current())"),
            "import torch\n\n\ndef f():\n    return torch.cuda.current_device()\n",
            "'await' outside async function",
        ),
    ],
)
def test_a_result_that_is_no_program_is_refused(
    tmp_path: Path, table: str, text: str, reason: str
) -> None:
    result = with_table(tmp_path, text, table)
    assert result.outcome is Outcome.SKIPPED
    assert result.before == result.after == text
    assert (result.fixed, result.left) == ((), ())
    assert result.reason is not None
    assert result.reason.code == "FL904"
    assert "would not compile" in result.reason.message
    assert reason in result.reason.message


def test_the_same_table_is_used_where_the_result_is_a_program(tmp_path: Path) -> None:
    text = "import torch\n\n\ndef f():\n    torch.cuda.synchronize()\n"
    result = with_table(tmp_path, text, SYNCHRONIZE)
    assert "torch.flagos.sync(device=0)" in result.after
    table = CURRENT.format(call="(await torch.flagos.current())")
    text = "import torch\n\n\nasync def f():\n    return torch.cuda.current_device()\n"
    assert "return (await torch.flagos.current())" in with_table(tmp_path, text, table).after


def test_what_did_not_compile_before_may_be_rewritten(tmp_path: Path) -> None:
    # A cell of a notebook: Python parses it, and only IPython runs it.
    text = "import torch\n\nawait work(torch.ones(1).cuda())\n"
    assert rewrite(text).after == text.replace(".cuda()", '.to("flagos")')


def test_rules_that_never_come_to_rest_are_refused(tmp_path: Path) -> None:
    # What stands for a move is a move again.
    result = with_table(tmp_path, MOVE, "", move='"torch.ones(1).cuda().device"')
    assert result.outcome is Outcome.SKIPPED
    assert result.after == MOVE
    assert result.reason is not None
    assert result.reason.code == "FL904"
    assert "did not come to rest" in result.reason.message


def test_a_refused_file_is_named_and_the_others_are_written(tmp_path: Path) -> None:
    tree(tmp_path, {"own.toml": HEAD.format(move="'\"flagos\"'") + SYNCHRONIZE, "good.py": MOVE})
    bad = "import torch\n\n\ndef f(d):\n    torch.cuda.synchronize(device=d)\n"
    tree(tmp_path, {"bad.py": bad})
    migration = rewrite_paths([tmp_path], target=str(tmp_path / "own.toml"), write=True)
    [(path, reason)] = migration.skipped
    assert (Path(path), reason.code) == (tmp_path / "bad.py", "FL904")
    assert [Path(result.path).name for result in migration.changed] == ["good.py"]
    assert (tmp_path / "bad.py").read_text() == bad
    assert (tmp_path / "good.py").read_text() == MOVED


def test_a_place_that_cannot_be_edited_is_left_for_a_human() -> None:
    # LibCST reads the lone carriage return inside the statement as a line end.
    text = "import torch\nx = [torch.ones(1).cuda(),\r 2]\ny = torch.ones(1).cuda()\n"
    result = rewrite(text)
    assert result.after == text.replace(
        "y = torch.ones(1).cuda()", 'y = torch.ones(1).to("flagos")'
    )
    assert codes(result) == ["FL906"]


# --- notes ---------------------------------------------------------------------------------

NOTED = """\
import torch


@decorate
def f(x):
    if x:
        free, total = torch.cuda.mem_get_info()
    a, b = torch.cuda.mem_get_info(), torch.cuda.get_device_capability()
    return free
"""


def test_notes_change_no_program() -> None:
    assert ast.dump(ast.parse(rewrite(NOTED).after)) == ast.dump(ast.parse(NOTED))


def test_notes_are_not_added_twice() -> None:
    once = rewrite(NOTED)
    twice = rewrite(once.after)
    assert twice.outcome is Outcome.UNCHANGED
    assert codes(twice) == codes(once)
    assert [f.line for f in twice.left] == [f.line for f in once.left]


def test_without_notes_the_findings_are_the_same() -> None:
    quiet = rewrite(NOTED, notes=False)
    assert quiet.outcome is Outcome.UNCHANGED
    assert codes(quiet) == codes(rewrite(NOTED))


def test_a_note_of_a_rule_that_does_not_run_stays(tmp_path: Path) -> None:
    noted = rewrite(ASK).after
    settled = noted.replace("torch.cuda.mem_get_info()", "torch.cuda")
    tree(tmp_path, {"a.py": settled})
    flmigrate(tmp_path, "rewrite", "a.py", "--ignore", "FL103", "--ignore", "FL110")
    assert (tmp_path / "a.py").read_text() == settled


# --- suppressions --------------------------------------------------------------------------


@pytest.mark.parametrize("codes", ["FL106", "FL105, FL106", "FL106,FL103"])
def test_a_code_is_ignored_on_its_line(codes: str) -> None:
    line = f"a = x.cuda()  # flmigrate: ignore[{codes}] because"
    result = rewrite(f"{line}\nb = x.cuda()\n")
    assert result.after == f'{line}\nb = x.to("flagos")\n'


def test_a_line_that_ignores_one_rule_is_seen_by_the_others() -> None:
    result = rewrite("a = x.cuda()  # flmigrate: ignore[FL103]\n")
    assert result.after == 'a = x.to("flagos")  # flmigrate: ignore[FL103]\n'


def test_a_line_can_ignore_every_rule() -> None:
    text = "import torch\n\na = torch.cuda.mem_get_info()[0] + x.cuda()  # flmigrate: ignore\n"
    result = rewrite(text)
    assert result.outcome is Outcome.UNCHANGED
    assert result.left == ()


@pytest.mark.parametrize(
    "protected",
    [
        "# flmigrate: keep\na = x.cuda()\n",
        "a = x.cuda()  # flmigrate: keep\n",
        "# flmigrate: keep\nfor x in y:\n    x.cuda()\n    if x.is_cuda:\n        z.cuda()\n",
        "# flmigrate: keep\n@decorate\nclass A:\n    a = x.cuda()\n",
    ],
)
def test_what_is_kept_stays_and_the_rest_moves(protected: str) -> None:
    after = rewrite(f"b = x.cuda()\n{protected}c = x.cuda()\n").after
    assert after == f'b = x.to("flagos")\n{protected}c = x.to("flagos")\n'


# --- the target's import ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "uses"),
    [
        ("# flagos comes next", False),
        ('"""Runs on flagos too."""', False),
        ("x = torch.ones(1)  # flagos", False),
        ("torch.flagos.synchronize()", True),
        ("from torch import flagos as gpu", True),
        ('x = torch.ones(1, device="flagos:0")', True),
        ('x = torch.ones(1, device=f"flagos:{i}")', True),
        ("ok = x.is_flagos", True),
    ],
)
def test_only_code_uses_the_target(line: str, uses: bool) -> None:
    result = rewrite_source(f"import torch\n\n{line}\n", import_in="every-file")
    assert ("import torch_fl" in result.after) is uses


# --- the library ---------------------------------------------------------------------------


def test_a_result_keeps_the_text_it_was_given() -> None:
    result = rewrite_source(MOVE, path="lib.py")
    assert (result.path, result.before, result.after) == ("lib.py", MOVE, MOVED)
    [finding] = result.fixed
    assert MOVE[: finding.span.start].count("\n") + 1 == finding.line


def test_a_bad_target_is_an_error() -> None:
    with pytest.raises(TableError, match="nowhere"):
        rewrite_source(MOVE, target="nowhere")
    with pytest.raises(TableError, match="nowhere"):
        check_source(MOVE, target="nowhere")


def test_a_check_changes_nothing_and_finds_the_same() -> None:
    found = check_source(MOVE + ASK)
    assert [finding.code for finding in found] == ["FL106", "FL103"]
    with pytest.raises(SyntaxError):
        check_source("torch.cuda(")


def test_paths_are_only_written_on_request(tmp_path: Path) -> None:
    tree(tmp_path, {"a.py": MOVE, "b.py": ASK})
    migration = rewrite_paths([str(tmp_path)])
    assert [Path(r.path).name for r in migration.changed] == ["a.py", "b.py"]
    assert (tmp_path / "a.py").read_text() == MOVE
    assert not migration.is_clean
    rewrite_paths([tmp_path / "a.py"], write=True)
    assert (tmp_path / "a.py").read_text() == MOVED
    assert rewrite_paths([]).results == ()


# --- input that cannot be handled, or hardly -------------------------------------------------


@dataclass(frozen=True, slots=True)
class Refused:
    """A file that is left as it is: its bytes, and how the report about it begins."""

    data: bytes
    said: str


REFUSED = {
    "undecodable": Refused(b"import torch\nx = torch.cuda  # \xff\n", ":2: FL901 "),
    "unknown_cookie": Refused(b"# coding: klingon\nx = torch.cuda\n", ":1: FL901 "),
    "nul": Refused(b"x = torch.cuda\0\n", ":1: FL902 "),
    "python_2": Refused(b"import torch\nprint torch.cuda\n", ":2: FL902 "),
    "syntax_error": Refused(b"import torch\n\nx = torch.cuda.(\n", ":3: FL902 "),
    "mixed_tabs": Refused(b"def f(x):\n\tx.cuda()\n        x.cpu()\n", ":3: FL902 "),
    "brackets": Refused(b"x = " + b"(" * 300 + b"cuda" + b")" * 300 + b"\n", ":1: FL902 "),
    "negations": Refused(b"x = " + b"not " * 20_000 + b"cuda\n", ":1: FL902 "),
}
LINKS = {"loop": "loop.py", "dangling": "nowhere.py"}


def _moves(text: str, old: str = ".cuda()", new: str = '.to("flagos")') -> tuple[bytes, bytes]:
    return text.encode(), text.replace(old, new).encode()


# Files that other tools refuse, and what becomes of them.
HANDLED: dict[str, Callable[[], tuple[bytes, bytes]]] = {
    "carriage_returns": lambda: _moves("def f(x):\r    # move\r    return x.cuda()\r"),
    "form_feeds": lambda: _moves("\f\nclass A:\n\f    def f(self, x):\n        x.cuda()\n\f\n"),
    "tabs_and_spaces": lambda: _moves("if x:\n\tif y:\n\t    x.cuda()\n\ty.cuda()\n"),
    "elifs": lambda: _moves(
        "if a:\n    pass\n" + "elif b:\n    pass\n" * 1500 + "else:\n    x.cuda()\n"
    ),
    "sum_of_3000": GENERATORS["long_sum"],
}


@dataclass(frozen=True, slots=True)
class BadRun:
    """A run over a folder with everything that can go wrong in it."""

    folder: Path
    run: Run
    expected: dict[str, bytes]

    def about(self, name: str) -> list[str]:
        """The lines of the report that start with a path."""
        return [line for line in self.run.said.splitlines() if line.startswith(f"bad/{name}")]


@pytest.fixture(scope="module")
def bad_run(tmp_path_factory: pytest.TempPathFactory) -> BadRun:
    folder = tmp_path_factory.mktemp("engine")
    expected: dict[str, bytes] = {}
    for name, refused in REFUSED.items():
        expected[f"{name}.py"] = refused.data
        tree(folder, {f"bad/{name}.py": refused.data})
    for name, handled in HANDLED.items():
        before, expected[f"{name}.py"] = handled()
        tree(folder, {f"bad/{name}.py": before})
    for name, target in LINKS.items():
        (folder / "bad" / f"{name}.py").symlink_to(target)
    for name in ("a_first", "locked/inside", "secret", "read_only", "z_last"):
        tree(folder, {f"bad/{name}.py": MOVE})
    (folder / "bad/locked").chmod(0)
    (folder / "bad/secret.py").chmod(0)
    (folder / "bad/read_only.py").chmod(0o444)
    run = flmigrate(folder, "rewrite", "bad", "--import-in", "none", unprivileged=True)
    (folder / "bad/locked").chmod(0o755)
    (folder / "bad/secret.py").chmod(0o644)
    return BadRun(folder / "bad", run, expected)


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_is_named_and_left(bad_run: BadRun, name: str) -> None:
    [line] = bad_run.about(f"{name}.py")
    assert line.startswith(f"bad/{name}.py{REFUSED[name].said}skipped: ")
    assert (bad_run.folder / f"{name}.py").read_bytes() == REFUSED[name].data


@pytest.mark.parametrize("name", HANDLED)
def test_what_others_refuse_is_rewritten(bad_run: BadRun, name: str) -> None:
    assert bad_run.about(f"{name}.py") == []
    assert (bad_run.folder / f"{name}.py").read_bytes() == bad_run.expected[f"{name}.py"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("loop.py", "too many levels of symbolic links"),
        ("dangling.py", "dangling symbolic link"),
        ("locked", "permission denied"),
        ("secret.py", "permission denied"),
        ("read_only.py", "read-only file, not written"),
    ],
)
def test_what_the_system_refuses_is_named(bad_run: BadRun, name: str, said: str) -> None:
    [line] = bad_run.about(name)
    assert line.lower() == f"bad/{name}: fl903 skipped: {said}"


@pytest.mark.parametrize("name", ["locked/inside.py", "secret.py", "read_only.py"])
def test_what_the_system_refuses_is_left(bad_run: BadRun, name: str) -> None:
    assert (bad_run.folder / name).read_text() == MOVE


def test_the_run_goes_on_with_the_other_files(bad_run: BadRun) -> None:
    assert bad_run.run.code == 1
    for name in ("a_first.py", "z_last.py"):
        assert (bad_run.folder / name).read_text() == MOVED
    seen, skipped = len(REFUSED) + len(HANDLED) + 4, len(REFUSED) + 5
    changed = len(HANDLED) + 2
    summary = f"{seen} files seen, {changed} changed, {skipped} skipped"
    assert summary in bad_run.run.text.splitlines()


@pytest.mark.parametrize("name", ["long_chain", "long_file"])
def test_large_files_are_rewritten_beside_others(tmp_path: Path, name: str) -> None:
    before, after = GENERATORS[name]()
    tree(tmp_path, {"a.py": before, "b.py": MOVE})
    run = flmigrate(tmp_path, "rewrite", ".", "--import-in", "none")
    assert (run.code, run.err) == (0, "")
    assert run.text.startswith("2 files seen, 2 changed, 0 skipped\n")
    assert (tmp_path / "a.py").read_bytes() == after
    assert (tmp_path / "b.py").read_text() == MOVED


def test_a_link_to_its_own_folder_is_walked_once(tmp_path: Path) -> None:
    tree(tmp_path, {"pkg/a.py": MOVE})
    (tmp_path / "pkg/again").symlink_to(".")
    (tmp_path / "pkg/above").symlink_to("..")
    [result] = rewrite_paths([tmp_path], write=True).results
    assert result.path == str(tmp_path / "pkg/a.py")
    assert (tmp_path / "pkg/a.py").read_text() == MOVED


def test_the_guard_compiles_code_that_waits_at_the_top() -> None:
    before, after = (
        Context(Source(f"await f()\ng({arguments})\n"), vocabulary_for("fl"))
        for arguments in ("a=1", "a=1, a=2")
    )
    guard_compilation(before, before)
    with pytest.raises(GuardError, match="keyword argument repeated"):
        guard_compilation(before, after)


def test_what_a_note_says_of_a_vendor_is_not_the_code_of_that_vendor() -> None:
    text = (
        "from accelerate.utils import is_npu_available\n\n\ndef f(job):\n"
        "    if job.start() and is_npu_available():\n        return 2\n    return 3\n"
    )
    noted = rewrite(text, notes=True).after
    assert "a branch for npu alone stays" in noted
    assert rewrite(noted, notes=True).after == noted
