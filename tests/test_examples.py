"""Python in docstrings: what counts as code, and that the rest stays byte for byte."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import Run, invoke, tree

MODULE = '''\
"""About this module.

>>> import torch
>>> x = torch.ones(1).cuda()
"""
import torch


def f(x):
    """Move x as torch.cuda does.

    Example::

        >>> import torch
        >>> with torch.cuda.stream(s):
        ...     y = f(x.cuda())
        'cuda'
        >>> torch.cuda.synchronize()

    ```python
    y = x.to("cuda")
    ```

    .. code-block:: python

        z = x.to("cuda")

        torch.cuda.empty_cache()

    Do not say x.cuda().
    """
    return x.cuda()
'''
MOVED = '''\
"""About this module.

>>> import torch
>>> x = torch.ones(1).to("flagos")
"""
import torch


def f(x):
    """Move x as torch.cuda does.

    Example::

        >>> import torch
        >>> with torch.flagos.stream(s):
        ...     y = f(x.to("flagos"))
        'cuda'
        >>> torch.flagos.synchronize()

    ```python
    y = x.to("flagos")
    ```

    .. code-block:: python

        z = x.to("flagos")

        torch.flagos.empty_cache()

    Do not say x.cuda().
    """
    return x.to("flagos")
'''
NO_CODE = {
    "a sentence": '"""Call\n\nx.cuda()\n"""\n',
    "another language": '"""Run\n\n```console\nx.cuda()\n```\n"""\n',
    "output": '"""Say\n\n>>> f()\nx.cuda()\n"""\n',
    "an excerpt": '"""Say\n\n>>> if ...:\n>>> x.cuda()\n"""\n',
    "a continuation without a beginning": '"""Say\n\n... x.cuda()\n"""\n',
    "no docstring": 'x = """\n>>> x.cuda()\n"""\n',
    "where the text begins": '""">>> x.cuda()\n"""\n',
}


def rewrite(folder: Path, *options: str) -> Run:
    return invoke(folder, "rewrite", "--target", "fl", *options)


def test_the_code_moves_and_the_rest_stays(tmp_path: Path) -> None:
    tree(tmp_path, {"a.py": MODULE})
    assert rewrite(tmp_path, "--code-blocks", "--exit-zero", "a.py").code == 0
    assert (tmp_path / "a.py").read_text() == MOVED
    assert "0 changed" in rewrite(tmp_path, "--code-blocks", "--exit-zero", "a.py").text


def test_docstrings_stay_unless_asked_for(tmp_path: Path) -> None:
    tree(tmp_path, {"a.py": MODULE})
    rewrite(tmp_path, "--exit-zero", "a.py")
    text = (tmp_path / "a.py").read_text()
    assert text == MODULE.replace("return x.cuda()", 'return x.to("flagos")')


def test_places_are_those_of_the_file(tmp_path: Path) -> None:
    tree(tmp_path, {"a.py": MODULE})
    found = invoke(tmp_path, "check", "--code-blocks", "a.py").text.splitlines()
    places = [line.split(" ")[0] for line in found if line.startswith("a.py:")]
    lines = MODULE.splitlines()
    starts = {f"a.py:{n}:{lines[n - 1].find('torch.cuda') + 1}:" for n in (15, 18, 28)}
    assert starts <= set(places)
    assert sorted({int(place.split(":")[1]) for place in places}) == [4, 15, 16, 18, 21, 26, 28, 32]


def test_what_needs_other_lines_is_left(tmp_path: Path) -> None:
    session = (
        ">>> if torch.cuda.is_available():\n...     torch.cuda.synchronize()\n"
        "... elif torch.npu.is_available():\n...     torch.npu.synchronize()\n"
    )
    text = f'"""Say\n\n>>> import torch\n{session}"""\n'
    tree(tmp_path, {"a.py": text})
    run = rewrite(tmp_path, "--code-blocks", "a.py")
    assert (tmp_path / "a.py").read_text() == text
    assert run.code == 1


def test_line_ends_stay(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(MODULE.replace("\n", "\r\n").encode())
    rewrite(tmp_path, "--code-blocks", "--exit-zero", "a.py")
    assert (tmp_path / "a.py").read_bytes() == MOVED.replace("\n", "\r\n").encode()


@pytest.mark.parametrize("name", NO_CODE)
def test_what_is_no_code(tmp_path: Path, name: str) -> None:
    tree(tmp_path, {"a.py": NO_CODE[name]})
    run = rewrite(tmp_path, "--code-blocks", "a.py")
    assert run.code == 0
    assert (tmp_path / "a.py").read_text() == NO_CODE[name]
