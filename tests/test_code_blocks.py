"""Python in Markdown: what counts as code, and that the rest stays byte for byte."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import MOVE, contents, flmigrate, git, invoke, repository, tree

GUIDE = """\
# How to `torch.cuda` it

```python
import torch
x = torch.ones(1).cuda()
```

Then call `x.cuda()`:

1. on the card

   ```py title="a.py"
   y = x.cuda()

   torch.cuda.synchronize()
   ```

~~~~ {.python}
print("```")
z = torch.zeros(1, device="cuda")
~~~~
"""
MOVED = """\
# How to `torch.cuda` it

```python
import torch
x = torch.ones(1).to("flagos")
```

Then call `x.cuda()`:

1. on the card

   ```py title="a.py"
   y = x.to("flagos")

   torch.flagos.synchronize()
   ```

~~~~ {.python}
print("```")
z = torch.zeros(1, device="flagos")
~~~~
"""
NO_CODE = {
    "another language": "```console\n$ python -c 'x.cuda()'\n```\n",
    "a session": "```pycon\n>>> x.cuda()\n```\n",
    "a session that says python": "```python\n>>> x.cuda()\n```\n",
    "an excerpt": "```python\nif ...:\nx.cuda()\n```\n",
    "no language": "```\nx.cuda()\n```\n",
    "never closed": "```python\nx.cuda()\n",
    "in a line": "Call ```python x.cuda()``` here.\n",
    "inside of another": "````markdown\n```python\nx.cuda()\n```\n````\n",
    "empty": "```python\n```\n",
}


def places(text: str) -> list[str]:
    """``file:line`` of each finding."""
    return [":".join(line.split(":")[:2]) for line in text.splitlines()]


def test_the_lines_are_those_of_the_file(tmp_path: Path) -> None:
    tree(tmp_path, {"guide.md": GUIDE})
    found = places(invoke(tmp_path, "check", "guide.md").text)
    assert found == [f"guide.md:{line}" for line in (5, 13, 15, 20)]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_code_moves_and_all_else_stays(tmp_path: Path, end: str) -> None:
    before, after = (text.replace("\n", end).encode() for text in (GUIDE, MOVED))
    tree(tmp_path, {"guide.md": before})
    assert invoke(tmp_path, "rewrite", "guide.md", "--allow-dirty").code == 0
    assert contents(tmp_path) == {"guide.md": after}
    assert "0 changed" in invoke(tmp_path, "rewrite", "guide.md", "--allow-dirty").said


@pytest.mark.parametrize("text", NO_CODE.values(), ids=NO_CODE)
def test_what_is_no_code(tmp_path: Path, text: str) -> None:
    tree(tmp_path, {"a.md": text})
    assert invoke(tmp_path, "check", "a.md", "--verbose").text == ""
    invoke(tmp_path, "rewrite", "a.md", "--allow-dirty")
    assert (tmp_path / "a.md").read_text() == text


def test_folders_are_asked_for_and_a_place_for_a_human_gets_no_note(tmp_path: Path) -> None:
    ask = "```python\nimport torch\n\nfree = torch.cuda.mem_get_info()\n```\n"
    tree(tmp_path, {"docs/a.markdown": ask, "docs/b.md": GUIDE, "c.py": MOVE})
    assert places(invoke(tmp_path, "check", ".").text) == ["c.py:5"]
    run = invoke(tmp_path, "check", ".", "--code-blocks")
    assert {place.split(":")[0] for place in places(run.text)} == {
        "c.py",
        "docs/a.markdown",
        "docs/b.md",
    }
    run = invoke(tmp_path, "rewrite", "docs", "--code-blocks", "--allow-dirty")
    assert (run.code, "FL103" in run.text) == (1, True)
    assert (tmp_path / "docs/a.markdown").read_text() == ask
    assert (tmp_path / "docs/b.md").read_text() == MOVED


def test_a_patch_has_the_lines_of_the_file(tmp_path: Path) -> None:
    root = repository(tmp_path, {"guide.md": GUIDE})
    patch = flmigrate(root, "rewrite", "guide.md", "--patch", "-").out
    git(root, "apply", "-", data=patch)
    assert (root / "guide.md").read_text() == MOVED


def test_only_new_lines_count_where_git_is_asked(tmp_path: Path) -> None:
    root = repository(tmp_path, {"docs/guide.md": GUIDE})
    tree(root, {"docs/guide.md": GUIDE.replace("\n~~~~\n", "\nw = z.cuda()\n~~~~\n")})
    git(root, "add", "-A")
    assert flmigrate(root, "check", "--staged").code == 0
    run = flmigrate(root, "check", "--staged", "--code-blocks")
    assert places(run.text) == ["docs/guide.md:21"]
