"""The cache of what was said of operators: the same answers, sooner, and never in the way."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from flmigrate.findings import Finding, Severity, Span
from flmigrate.verdicts import Verdicts, basis_of, cache_folder
from tests.command_line import flmigrate, invoke

SOURCE = """\
import torch


def f(x):
    return torch.nonzero(x)
"""
WITHOUT = SOURCE.replace("nonzero", "relu")
FOUND = Finding(
    *("FL401", "aten::nonzero raises", Span(36, 52), 5, 12, 5, Severity.ERROR, None),
    *(True, "use a mask", ("ascend",), ("nonzero",), "possible"),
)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("FLMIGRATE_CACHE", str(folder))
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.py").write_text(SOURCE)
    (folder / "b.py").write_text(WITHOUT)
    return folder


def check(folder: Path, *options: str) -> str:
    done = invoke(folder, "check", ".", "--chip", "ascend", *options)
    return done.said


def test_a_second_check_says_the_same(cache: Path, project: Path) -> None:
    bare = check(project, "--no-cache")
    assert "FL401 aten::nonzero raises" in bare
    assert not cache.exists()
    assert check(project) == bare
    assert (cache / "verdicts.sqlite").is_file()
    assert check(project) == bare


def test_a_rewrite_writes_the_same_notes(cache: Path, project: Path) -> None:
    check(project)
    done = invoke(project, "rewrite", ".", "--chip", "ascend", "--diff")
    assert done.text == invoke(project, "rewrite", ".", "--chip", "ascend", "--diff").text
    assert "+    # flmigrate: FL401[ascend] aten::nonzero raises" in done.text


def test_another_text_another_chip_and_other_results_are_looked_at(
    cache: Path, project: Path
) -> None:
    check(project)
    (project / "b.py").write_text(SOURCE.replace("def f", "def g"))
    assert "b.py:5" in check(project)
    other = invoke(project, "check", ".", "--chip", "gcu").said
    assert "aten::nonzero runs on the CPU" in other
    (project / "flmigrate.toml").write_text('measured = ["cards.toml"]\n')
    cards = project / "cards.toml"
    entry = '[[result]]\nchip = "ascend"\nop = "relu"\nstatus = "%s"\ndate = 2026-01-02\n'
    cards.write_text(entry % "ok")
    command = ("check", ".", "--chip", "ascend")  # each in a process of its own
    said = flmigrate(project, *command).said
    assert "aten::nonzero" in said and "relu" not in said
    cards.write_text(entry % "wrong")
    (project / "b.py").write_text(WITHOUT)
    assert "aten::relu was wrong as measured on 2026-01-02" in flmigrate(project, *command).said


def test_rules_that_are_off_stay_off(cache: Path, project: Path) -> None:
    check(project)
    assert "FL401" not in check(project, "--ignore", "FL401")
    assert "FL401" in check(project)


def test_a_cache_that_cannot_be_used_is_none(cache: Path, project: Path) -> None:
    bare = check(project, "--no-cache")
    cache.mkdir()
    (cache / "verdicts.sqlite").write_bytes(b"not a database, whatever its name says" * 99)
    assert check(project) == bare
    os.remove(cache / "verdicts.sqlite")  # noqa: PTH107
    cache.rmdir()
    cache.write_text("a file where the folder would be")
    assert check(project) == bare


def test_rows_of_another_shape_are_looked_at_again(cache: Path, project: Path) -> None:
    bare = check(project)
    with sqlite3.connect(cache / "verdicts.sqlite") as connection:
        connection.execute("UPDATE verdicts SET found = '[[1, 2]]'")
    connection.close()
    assert check(project) == bare


def test_messages_do_not_depend_on_the_order_of_sets(project: Path) -> None:
    (project / "a.py").write_text(
        "import torch\n\n\ndef f(q, k, v):\n"
        "    return torch.nn.functional.scaled_dot_product_attention(q, k, v)\n"
    )
    said = {
        flmigrate(
            *(project, "check", ".", "--chip", "all", "--no-cache", "--possible"),
            variables={"PYTHONHASHSEED": seed},
        ).said
        for seed in "123"
    }
    assert len(said) == 1


def test_findings_come_back_as_they_were(tmp_path: Path) -> None:
    with Verdicts(b"one", tmp_path) as verdicts:
        verdicts.put(SOURCE, [FOUND])
        verdicts.put(WITHOUT, [])
    with Verdicts(b"one", tmp_path) as verdicts:
        assert verdicts.get(SOURCE) == [FOUND]
        assert verdicts.get(WITHOUT) == []
        assert verdicts.get(SOURCE + "\n") is None
    with Verdicts(b"two", tmp_path) as verdicts:
        assert verdicts.get(SOURCE) is None


def test_the_basis_follows_settings_and_files(tmp_path: Path) -> None:
    path = tmp_path / "cards.toml"
    path.write_text("a = 1\n")
    one = basis_of(("ascend",), [path])
    assert basis_of(("ascend",), [path]) == one
    assert basis_of(("gcu",), [path]) != one
    path.write_text("a = 2\n")
    assert basis_of(("ascend",), [path]) != one


def test_the_folder_is_the_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("FLMIGRATE_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "flmigrate"
