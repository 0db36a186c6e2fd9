"""Notebooks: cells are rewritten, and every other byte of the file stays."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from flmigrate.encoding import UndecodableError
from flmigrate.notebooks import place_in_cell, read_notebook, write_notebook
from tests.command_line import contents, flmigrate, git, invoke, repository, tree

# A source in several lines, as Jupyter writes it: no line end behind the last.
TRAIN = ["import torch\n", "\n", "%matplotlib inline\n", "x = torch.ones(1).cuda();"]
OUTPUT = {"data": {"text/plain": ["tensor([1.], device='cuda:0')"]}, "output_type": "display_data"}


def cell(source: object, kind: str = "code", **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"cell_type": kind, "metadata": {}, "source": source, **more}
    return {**found, "execution_count": 7, "outputs": [OUTPUT]} if kind == "code" else found


def notebook(*cells: dict[str, Any], **options: Any) -> str:
    data = {"cells": cells, "metadata": {"k": "cuda"}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(data, **{"indent": 1, "ensure_ascii": False, **options})


def rewritten(folder: Path, text: str, *options: str) -> str:
    """A notebook after a rewrite in place."""
    tree(folder, {"n.ipynb": text})
    run = invoke(folder, "rewrite", "n.ipynb", "--import-in", "none", *options)
    assert "skipped" not in run.text.replace("0 skipped", "")
    return (folder / "n.ipynb").read_bytes().decode()


@pytest.mark.parametrize(
    "options", [{}, {"indent": None}, {"indent": 4}, {"indent": "\t"}, {"ensure_ascii": True}]
)
def test_only_the_strings_of_changed_lines_change(tmp_path: Path, options: dict[str, Any]) -> None:
    text = notebook(
        cell("see `x.cuda()`", "markdown"), cell([*TRAIN[:-1], f"{TRAIN[-1]}\n", "# ü"]), **options
    )
    after = rewritten(tmp_path, text)
    assert after == text.replace("torch.ones(1).cuda();", 'torch.ones(1).to(\\"flagos\\");')


def test_a_source_that_is_one_string(tmp_path: Path) -> None:
    text = notebook(cell("".join(TRAIN)))
    assert rewritten(tmp_path, text) == text.replace(".cuda();", '.to(\\"flagos\\");')


def test_a_final_semicolon_and_a_missing_line_end_survive(tmp_path: Path) -> None:
    text = notebook(cell(["ax.plot(x.cuda().cpu());"])) + "\n"
    assert rewritten(tmp_path, text) == text.replace(".cuda()", '.to(\\"flagos\\")')


def test_cells_that_wait_are_python(tmp_path: Path) -> None:
    source = ["import torch\n", "x = (await fetch()).cuda()\n"]
    source += ["async for y in stream(device='cuda'):\n", "    await send(y.cuda())"]
    text = notebook(cell(source))
    moved = text.replace(".cuda()", '.to(\\"flagos\\")').replace("device='cuda'", "device='flagos'")
    assert rewritten(tmp_path, text) == moved


@pytest.mark.parametrize("newline", ["\r\n", "\n"])
def test_line_ends_of_the_file(tmp_path: Path, newline: str) -> None:
    text = notebook(cell(TRAIN)).replace("\n", newline)
    assert rewritten(tmp_path, text) == text.replace(".cuda();", '.to(\\"flagos\\");')


def test_escapes_of_unchanged_lines_stay(tmp_path: Path) -> None:
    text = notebook(cell(["s = '\u00e9/'\n", "x = y.cuda()"])).replace("é/", "\\u00e9\\/")
    assert rewritten(tmp_path, text) == text.replace(".cuda()", '.to(\\"flagos\\")')


def test_lines_that_come_and_go(tmp_path: Path) -> None:
    source = ["import torch\n", "import torch_npu\n", "x = torch.ones(1).npu()\n", "free = 1"]
    after = rewritten(tmp_path, notebook(cell(source), cell(["torch.cuda.mem_get_info()"])))
    cells = json.loads(after)["cells"]
    assert cells[0]["source"] == ["import torch\n", 'x = torch.ones(1).to("flagos")\n', "free = 1"]
    first, second = cells[1]["source"]
    assert first.startswith("# flmigrate: FL103 ")
    assert second == "torch.cuda.mem_get_info()"
    assert after.count("\n") == notebook(cell(source), cell([1, 2])).count("\n") - 1


MAGICS = {
    "line": "%timeit x.cuda()\ny = x.cuda()",
    "shell": "!nvidia-smi --id=cuda\ny = x.cuda()",
    "continued": "!pip install \\\n  torch-cuda \\\n  more\ny = x.cuda()",
    "help": "torch.cuda?\ny = x.cuda()",
    "assigned": "files = !ls cuda\nt = %time x.cuda()\ny = x.cuda()",
    "indented": "if x:\n    %time x.cuda()\n    y = x.cuda()",
    "alone in a block": "if x:\n    !ls\ny = x.cuda()",
    "cell": "%%time\n# first\ny = x.cuda()",
    "capture": "%%capture out\ny = x.cuda()",
    "in a string": 's = """\n!ls x.cuda()\n%time\n"""\ny = x.cuda()',
    "modulo": "s = (a\n    % b)\ny = x.cuda()",
}


@pytest.mark.parametrize("source", MAGICS.values(), ids=MAGICS)
def test_what_ipython_adds_survives(tmp_path: Path, source: str) -> None:
    after = json.loads(rewritten(tmp_path, notebook(cell(source))))
    assert after["cells"][0]["source"] == source.replace(
        "\ny = x.cuda()", '\ny = x.to("flagos")'
    ).replace("    y = x.cuda()", '    y = x.to("flagos")')


@pytest.mark.parametrize("magic", ["%%bash", "%%writefile a.py", "%%html", "%%javascript"])
def test_cells_in_other_languages_are_left_alone(tmp_path: Path, magic: str) -> None:
    text = notebook(cell(f"{magic}\nx = y.cuda()\n"), cell("x = y"))
    assert rewritten(tmp_path, text) == text


def test_places_are_named_by_cell(tmp_path: Path) -> None:
    text = notebook(cell("# cuda", "markdown"), cell("import torch"), cell("%time\n\nx = y.cuda()"))
    tree(tmp_path, {"n.ipynb": text})
    run = flmigrate(tmp_path, "check", ".")
    assert run.text.startswith("n.ipynb:cell 3:3:7: FL106 [*] ")
    data = json.loads(invoke(tmp_path, "check", ".", "--format", "json").text)
    assert data["findings"][0]["message"].startswith("cell 3, line 3: .cuda() moves")
    run = invoke(tmp_path, "rewrite", ".", "--verbose")
    assert "n.ipynb:cell 3:3:7: FL106 [fixed]" in run.text


def test_lines_behind_a_long_magic_keep_their_numbers(tmp_path: Path) -> None:
    tree(tmp_path, {"n.ipynb": notebook(cell(MAGICS["continued"]))})
    assert invoke(tmp_path, "check", ".").text.startswith("n.ipynb:cell 1:4:7: FL106 ")


def test_a_notebook_without_work_is_not_written(tmp_path: Path) -> None:
    tree(tmp_path, {"n.ipynb": notebook(cell("x = 1"), cell("%magic of cuda"))})
    before = (tmp_path / "n.ipynb").stat().st_mtime_ns
    assert "1 file seen, 0 changed" in invoke(tmp_path, "rewrite", ".").text
    assert (tmp_path / "n.ipynb").stat().st_mtime_ns == before


def test_diff_patch_and_series(tmp_path: Path) -> None:
    root = repository(tmp_path / "p", {"n.ipynb": notebook(cell(TRAIN))})
    run = invoke(root, "rewrite", ".", "--diff", "--import-in", "none")
    assert '+    "x = torch.ones(1).to(\\"flagos\\");"' in run.text
    invoke(root, "rewrite", ".", "--patch-dir", "../out")
    invoke(root, "rewrite", ".")
    expected = contents(root)
    git(root, "checkout", "-q", "--", ".")
    for path in sorted((tmp_path / "out").glob("*.patch")):
        git(root, "apply", str(path))
    assert contents(root) == expected


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"cuda", "not a notebook: not JSON at character 0"),
        (b'["cuda"]', "not a notebook: not one JSON object"),
        (b'{"cells": "cuda"}', 'not a notebook: no list "cells"'),
        (b'{"cells": [{"cuda": 1}]}', "not a notebook: cell 1 has no type"),
        (b'{"cells": [{"cell_type": "code", "source": [1, "cuda"]}]}', "the source is not text"),
        (b'{"cells": ["cuda"],}', "not JSON at character 19"),
        (b'{"cuda" 1}', "not JSON at character 8"),
        (b'{"cells": []} cuda', "not one JSON object"),
        (b'{"cells": "cuda \xff"}', "not utf-8"),
        (b'{"cells": "cuda', "not a notebook: Unterminated string"),
    ],
)
def test_what_is_no_notebook_is_named(tmp_path: Path, content: bytes, said: str) -> None:
    tree(tmp_path, {"n.ipynb": content})
    run = invoke(tmp_path, "check", ".")
    assert run.code == 1
    assert "n.ipynb:1:1: FL901 " in run.text
    assert said in run.text


def test_a_cell_that_does_not_parse_skips_the_notebook(tmp_path: Path) -> None:
    tree(tmp_path, {"n.ipynb": notebook(cell("x = y.cuda()"), cell("def f(:\n"))})
    run = invoke(tmp_path, "check", ".")
    assert run.code == 1
    assert "FL902 does not parse" in run.text


def test_reading_and_writing_gives_the_same_bytes() -> None:
    for text in (notebook(cell(TRAIN), cell("%%bash\nls"), cell([])), notebook(), '{"cells": []}'):
        found = read_notebook(text.encode())
        assert write_notebook(found, found.text) == text.encode()


def test_cells_that_are_lost_are_noticed() -> None:
    found = read_notebook(notebook(cell("x = 1"), cell("y = 2")).encode())
    with pytest.raises(UndecodableError, match="across the cells"):
        write_notebook(found, found.text.split("\n", 2)[2])


def test_lines_are_counted_in_their_cell() -> None:
    text = read_notebook(notebook(cell("a\nb"), cell("t", "markdown"), cell("c")).encode()).text
    assert [place_in_cell(text, line) for line in (2, 3, 5)] == [(1, 1), (1, 2), (3, 1)]
    assert place_in_cell("x = 1\n", 1) is None


def test_only_new_lines_of_a_notebook_count(tmp_path: Path) -> None:
    old = [cell(["import torch\n", "x = y.cuda()"]), cell("# text", "markdown")]
    root = repository(tmp_path, {"n.ipynb": notebook(*old, cell(["a = 1\n", "b = 2\n", "c = 3"]))})
    new = notebook(*old, cell(["a = 1\n", "b = x.cuda()\n", "c = 3"]))
    tree(root, {"n.ipynb": new})
    git(root, "add", "-A")
    run = flmigrate(root, "check", "--staged")
    assert [line.split(" FL")[0] for line in run.text.splitlines()] == ["n.ipynb:cell 3:2:7:"]
    tree(root, {"n.ipynb": new.replace("c = 3", "c = 4")})
    run = flmigrate(root, "check", "--diff-base", "HEAD")
    assert [line.split(" FL")[0] for line in run.text.splitlines()] == ["n.ipynb:cell 3:2:7:"]
