"""The command: its options, settings, output and exit codes."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from flmigrate.cli import main
from flmigrate.rules import RULES
from tests.command_line import (
    ASK,
    MOVE,
    MOVED,
    PLAIN,
    contents,
    environment,
    flmigrate,
    git,
    invoke,
    run_python,
    tree,
)

BOTH = 'import torch\n\n\ndef put(x):\n    return x.cuda(), torch.zeros(1, device="cuda")\n'


# --- in place ------------------------------------------------------------------------------


def test_a_folder_is_rewritten_in_place(tmp_path: Path) -> None:
    tree(tmp_path, {"a.py": MOVE, "sub/b.py": MOVE, "c.py": PLAIN, "d.txt": MOVE})
    run = flmigrate(tmp_path, "rewrite", ".", "--target", "fl")
    assert run.code == 0
    assert run.err == ""
    assert run.text.splitlines() == [
        "3 files seen, 2 changed, 0 skipped",
        "  fixes: FL106 device-method 2",
    ]
    moved = MOVED.encode()
    assert contents(tmp_path) == {
        "a.py": moved,
        "sub/b.py": moved,
        "c.py": PLAIN.encode(),
        "d.txt": MOVE.encode(),
    }


def test_a_second_run_writes_nothing(tmp_path: Path) -> None:
    tree(tmp_path, {"a.py": MOVE + ASK})
    invoke(tmp_path, "rewrite", "a.py")
    before, written = contents(tmp_path), (tmp_path / "a.py").stat()
    assert before["a.py"] != (MOVE + ASK).encode()
    run = invoke(tmp_path, "rewrite", "a.py")
    assert "1 file seen, 0 changed, 0 skipped" in run.text
    assert contents(tmp_path) == before
    after = (tmp_path / "a.py").stat()
    assert (after.st_ino, after.st_mtime_ns) == (written.st_ino, written.st_mtime_ns)


@pytest.mark.parametrize("spelling", ["a.py", "./a.py", "sub/../a.py", "{here}/a.py"])
def test_a_path_may_be_spelled_in_any_way(tmp_path: Path, spelling: str) -> None:
    tree(tmp_path, {"a.py": MOVE + ASK, "sub/b.py": MOVE})
    path = spelling.format(here=tmp_path)
    run = invoke(tmp_path, "rewrite", path)
    assert f"{Path(path)}:11:12: FL103" in run.text
    assert (tmp_path / "a.py").read_text().startswith(MOVED)
    assert (tmp_path / "sub/b.py").read_text() == MOVE


def test_a_file_named_twice_is_seen_once(tmp_path: Path) -> None:
    tree(tmp_path, {"a.py": MOVE, "b.py": PLAIN})
    run = invoke(tmp_path, "rewrite", "a.py", "./a.py", str(tmp_path / "a.py"), ".")
    assert run.text.startswith("2 files seen, 1 changed")


def test_files_of_one_run_are_one_project(tmp_path: Path) -> None:
    files = {"one/lib.py": "def put(x, where):\n    return x.to(where)\n"}
    files["two/main.py"] = 'from lib import put\n\n\ndef run(x):\n    return put(x, "cuda")\n'
    tree(tmp_path, files)
    alone = invoke(tmp_path, "rewrite", "two", "--diff")
    assert alone.out == b""
    both = invoke(tmp_path, "rewrite", "two", "one", "--diff")
    assert '+    return put(x, "flagos")' in both.text


def test_a_path_that_does_not_exist_does_not_stop_the_run(tmp_path: Path) -> None:
    tree(tmp_path, {"a.py": MOVE})
    run = flmigrate(tmp_path, "rewrite", "gone/x.py", "a.py", "gone")
    assert run.code == 1
    assert "gone/x.py: FL903 skipped: no such file or folder\n" in run.text
    assert "gone: FL903 skipped: no such file or folder\n" in run.text
    assert "1 file seen, 1 changed, 2 skipped" in run.text
    assert (tmp_path / "a.py").read_text() == MOVED


# --- which rules, which files --------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "method", "string"),
    [
        (["--select", "FL106"], True, False),
        (["--select", "FL105"], False, True),
        (["--select", "FL105,FL106"], True, True),
        (["--select", "FL105", "--select", "FL106"], True, True),
        (["--ignore", "FL106"], False, True),
        (["--select", "FL1", "--ignore", "FL105"], True, False),
        (["--ignore", "FL1", "--select", "FL106"], True, False),
        (["--ignore", "ALL"], False, False),
        (["--select", "FL2"], False, False),
    ],
)
def test_only_selected_rules_change_something(
    tmp_path: Path, options: list[str], method: bool, string: bool
) -> None:
    tree(tmp_path, {"a.py": BOTH})
    run = invoke(tmp_path, "rewrite", "a.py", *options)
    after = (tmp_path / "a.py").read_text()
    assert ('x.to("flagos")' in after, 'device="flagos"' in after) == (method, string)
    assert run.code == 0


def test_an_ignored_rule_leaves_nothing_for_a_human(tmp_path: Path) -> None:
    tree(tmp_path, {"a.py": ASK})
    run = invoke(tmp_path, "rewrite", "a.py", "--ignore", "FL103")
    assert run.code == 0
    assert run.text == "1 file seen, 0 changed, 0 skipped\n"
    assert (tmp_path / "a.py").read_text() == ASK


@pytest.mark.parametrize("option", ["--select", "--ignore"])
@pytest.mark.parametrize("code", ["FL999", "fl106", "F", "FL1O6", "E501"])
def test_an_unknown_code_is_a_usage_error(tmp_path: Path, option: str, code: str) -> None:
    (tmp_path / "a.py").write_text(MOVE)
    done = CliRunner().invoke(main, ["rewrite", str(tmp_path), option, f"FL106,{code}"])
    assert done.exit_code == 2
    assert f'{option}: unknown rule code "{code}"' in done.stderr
    assert (tmp_path / "a.py").read_text() == MOVE


def test_unsafe_fixes_are_applied_on_request_only(tmp_path: Path) -> None:
    # Nothing shows that the mapping's value is a device.
    source = 'import torch\n\nSETTINGS = {"where": "cuda:0"}\n'
    tree(tmp_path, {"a.py": source})
    invoke(tmp_path, "rewrite", "a.py", "--import-in", "none", "--no-notes")
    assert (tmp_path / "a.py").read_text() == source
    unsafe = invoke(tmp_path, "rewrite", "a.py", "--unsafe-fixes", "--import-in", "none")
    assert "  fixes: FL109 undecided-device-string 1" in unsafe.text
    assert (tmp_path / "a.py").read_text() == source.replace("cuda", "flagos")


def test_exclude_leaves_files_out(tmp_path: Path) -> None:
    names = ["a.py", "gen/b.py", "deep/gen/c.py", "deep/d_pb2.py"]
    tree(tmp_path, dict.fromkeys(names, MOVE))
    run = invoke(tmp_path, "rewrite", ".", "--exclude", "gen/", "--exclude", "*_pb2.py")
    assert run.text.startswith("1 file seen, 1 changed")
    changed = [name for name in names if (tmp_path / name).read_text() != MOVE]
    assert changed == ["a.py"]


def test_exclude_does_not_hold_for_a_file_that_is_named(tmp_path: Path) -> None:
    tree(tmp_path, {"gen/b.py": MOVE})
    assert invoke(tmp_path, "rewrite", "gen/b.py", "--exclude", "gen/").code == 0
    assert (tmp_path / "gen/b.py").read_text() == MOVED


def test_a_pattern_that_git_would_not_take_is_a_usage_error(tmp_path: Path) -> None:
    tree(tmp_path, {"a.py": MOVE})
    run = invoke(tmp_path, "rewrite", ".", "--exclude", "a[")
    assert run.code == 2
    assert '--exclude: "a["' in run.err
    assert (tmp_path / "a.py").read_text() == MOVE


# --- what is printed -----------------------------------------------------------------------


def test_the_summary_says_all_that_happened(tmp_path: Path) -> None:
    tree(tmp_path, {"a.py": MOVE, "b.py": MOVE + ASK, "c.py": PLAIN})
    tree(tmp_path, {"d.py": "import torch\nprint torch.cuda\n"})
    run = flmigrate(tmp_path, "rewrite", ".")
    assert run.code == 1
    lines = run.text.splitlines()
    assert lines[0].startswith("b.py:11:12: FL103 ")
    assert lines[1].startswith("d.py:2: FL902 skipped: does not parse as Python 3")
    assert lines[2:] == [
        "4 files seen, 2 changed, 1 skipped",
        "  fixes: FL106 device-method 2",
        "  left for a human: 1 (FL103 no-equivalent 1)",
    ]


def test_a_place_that_is_left_is_named_where_it_stands_afterwards(tmp_path: Path) -> None:
    tree(tmp_path, {"a.py": ASK})
    run = invoke(tmp_path, "rewrite", "a.py")
    place = run.text.splitlines()[0].split(": ")[0]
    _, line, column = place.split(":")
    text = (tmp_path / "a.py").read_text().splitlines()[int(line) - 1]
    assert text[int(column) - 1 :].startswith("torch.cuda.mem_get_info")


def test_quiet_prints_nothing(tmp_path: Path) -> None:
    tree(tmp_path, {"a.py": MOVE + ASK})
    run = flmigrate(tmp_path, "rewrite", ".", "--quiet")
    assert (run.code, run.said) == (1, "")
    assert (tmp_path / "a.py").read_text().startswith(MOVED)


def test_verbose_tells_of_every_fix_and_remark(tmp_path: Path) -> None:
    tree(tmp_path, {"a.py": "import torch\n\n\ndef put(x):\n    return x.cuda().to('cuda:3')\n"})
    plain = invoke(tmp_path, "rewrite", ".", "--diff")
    assert "a.py:" not in plain.err
    run = invoke(tmp_path, "rewrite", ".", "--verbose")
    places = [line.split(" ")[:3] for line in run.text.splitlines() if line.startswith("a.py:")]
    assert ["a.py:5:14:", "FL106", "[fixed]"] in places
    assert ["a.py:5:24:", "FL105", "[fixed]"] in places
    assert any(code == "FL121" for _, code, _ in places)


def test_without_notes_the_file_is_not_marked(tmp_path: Path) -> None:
    tree(tmp_path, {"a.py": MOVE + ASK})
    run = invoke(tmp_path, "rewrite", ".", "--no-notes")
    assert run.code == 1
    assert "FL103" in run.text
    assert (tmp_path / "a.py").read_text() == MOVED + ASK


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ({"a.py": PLAIN}, 0),
        ({"a.py": MOVE}, 0),
        ({"readme.txt": MOVE}, 0),
        ({"a.py": ASK}, 1),
        ({"a.py": "torch.cuda(\n"}, 1),
        ({"a.py": b"torch.cuda # \xff\n"}, 1),
    ],
)
def test_exit_codes(tmp_path: Path, files: dict[str, str | bytes], code: int) -> None:
    tree(tmp_path, files)
    assert invoke(tmp_path, "rewrite", ".", "--diff").code == code
    assert invoke(tmp_path, "rewrite", ".", "--diff", "--exit-zero").code == 0
    assert invoke(tmp_path, "rewrite", ".").code == code


@pytest.mark.parametrize(
    "arguments",
    [
        ["rewrite"],
        ["rewrite", "a.py", "--no-such-option"],
        ["rewrite", "a.py", "--diff", "--patch", "x.patch"],
        ["rewrite", "a.py", "-j", "-1"],
        ["rewrite", "a.py", "-j", "two"],
        ["rewrite", "a.py", "--import-in", "nowhere"],
        ["rewrite", "a.py", "--drop-vendor", "voodoo"],
        ["rewrite", "a.py", "--canonical-vendor", "voodoo"],
        ["rewrite", "-", "a.py"],
        ["rewrite", "-", "--patch", "x.patch"],
        ["rewrite", "a.py", "--target", "nowhere"],
        ["rewrite", "a.py", "--target", "nowhere.toml"],
        ["rewrite", "a.py", "--select", "X1", "--exit-zero"],
        ["rerwite", "a.py"],
    ],
)
def test_usage_errors_write_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text(MOVE)
    done = CliRunner().invoke(main, arguments, input=MOVE)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert done.stderr
    assert contents(tmp_path) == {"a.py": MOVE.encode()}


def test_help_and_version() -> None:
    for arguments in (["--help"], ["-h"], ["rewrite", "--help"]):
        done = CliRunner().invoke(main, arguments)
        assert done.exit_code == 0
        assert done.stdout.startswith("Usage: ")
    assert CliRunner().invoke(main, ["--version"]).stdout.startswith("flmigrate, version ")


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_names_that_the_terminal_cannot_show(tmp_path: Path, encoding: str) -> None:
    names = ["données.py", "模型 +[1].py", os.fsdecode(b"\xff\xfe.py")]
    tree(tmp_path, dict.fromkeys(names, MOVE + ASK))
    run = flmigrate(tmp_path, "rewrite", ".", variables={"PYTHONIOENCODING": encoding})
    assert "3 files seen, 3 changed, 0 skipped" in run.text
    assert run.text.count("FL103 Torch-FL") == 3
    assert all((tmp_path / name).read_text().startswith(MOVED) for name in names)


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    # More than a pipe holds, on one line.
    tree(tmp_path, {"a.py": MOVE.rstrip() + "a" * 300_000 + "\n"})
    command = [sys.executable, "-m", "flmigrate", "rewrite", ".", "--diff", "--quiet"]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""


# --- rules ---------------------------------------------------------------------------------


@pytest.mark.parametrize("code", list(RULES))
def test_every_rule_is_explained(code: str) -> None:
    done = CliRunner().invoke(main, ["rule", code.lower()])
    assert done.exit_code == 0
    assert done.output.startswith(f"## {code} {RULES[code]}\n")
    parts = re.findall(r"^### (.+)$", done.output, re.MULTILINE)
    assert parts == ["What it does", "Why it matters", "Example", "Fix safety", "References"]


def test_rules_lists_all() -> None:
    lines = CliRunner().invoke(main, ["rules"]).output.splitlines()
    assert lines == [f"{code}  {name}" for code, name in RULES.items()]


@pytest.mark.parametrize(("code", "words"), [("FL999", "unknown rule code"), ("FL4", "no single")])
def test_a_code_that_is_no_rule(code: str, words: str) -> None:
    done = CliRunner().invoke(main, ["rule", code])
    assert done.exit_code == 2
    assert words in done.output


# --- progress ------------------------------------------------------------------------------

# Which run is long is a matter of seconds; the test says it instead.
_WITH_BAR_AFTER = (
    "import flmigrate.cli as c, flmigrate.commands.terminal as t; t.Progress._AFTER = {}; c.main()"
)


def _on_a_terminal(folder: Path, after: float, *options: str) -> bytes:
    """What a run shows on a terminal that has its standard error."""
    ours, theirs = pty.openpty()
    script = _WITH_BAR_AFTER.format(after)
    with subprocess.Popen(
        [sys.executable, "-c", script, "rewrite", ".", "--diff", *options],
        cwd=folder,
        env=environment({"TERM": "xterm"}),
        stdout=subprocess.DEVNULL,
        stderr=theirs,
    ) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # how Linux says that the other side was closed
                break
            if not part:
                break
            shown += part
        assert process.wait() == 0
    os.close(ours)
    return shown


def test_a_terminal_shows_the_progress_of_a_long_run(tmp_path: Path) -> None:
    tree(tmp_path, {f"m{number}.py": MOVE for number in range(20)})
    shown = _on_a_terminal(tmp_path, 0)
    assert b"rewriting" in shown
    assert b"100%" in shown
    assert shown.rstrip().endswith(b"FL106 device-method 20")


def test_a_terminal_shows_no_progress_of_a_short_run(tmp_path: Path) -> None:
    tree(tmp_path, {f"m{number}.py": MOVE for number in range(20)})
    shown = _on_a_terminal(tmp_path, 3600)
    assert b"rewriting" not in shown
    assert b"20 files seen" in shown


def test_quiet_shows_no_progress_either(tmp_path: Path) -> None:
    tree(tmp_path, {"a.py": MOVE})
    assert _on_a_terminal(tmp_path, 0, "--quiet") == b""


def test_a_pipe_gets_no_progress(tmp_path: Path) -> None:
    tree(tmp_path, {f"m{number}.py": MOVE for number in range(20)})
    script = _WITH_BAR_AFTER.format(0)
    run = run_python(tmp_path, ["-c", script, "rewrite", "."])
    assert run.err == ""
    assert run.text.startswith("20 files seen")


# --- processes -----------------------------------------------------------------------------


def _long_project() -> dict[str, str | bytes]:
    """Long enough for a pool; the device of one file is told by a caller in another."""
    padding = "# a remark that makes the file long\n" * 1600
    files: dict[str, str | bytes] = {}
    for number in range(34):
        other = (number + 1) % 34
        told = f"def put{number}(x, where):\n    return x.to(where)\n\n\n"
        asks = f"def go(x):\n    from pkg.m{other} import put{other}\n"
        asks += f'    return put{other}(x, "cuda")\n'
        files[f"pkg/m{number}.py"] = padding + MOVE + told + asks + ASK
    files["pkg/__init__.py"] = "import torch\n"
    files["pkg/bad.py"] = b"torch.cuda # \xff\n"
    return files


def test_two_processes_do_what_one_does(tmp_path: Path) -> None:
    tree(tmp_path, _long_project())
    before = contents(tmp_path)
    one = flmigrate(tmp_path, "rewrite", ".", "--diff", "-j", "1", "--verbose")
    assert contents(tmp_path) == before
    assert one.text.count('.to("flagos")') == 34
    assert one.text.count('(x, "flagos")\n') == 34
    assert "pkg/bad.py:1: FL901" in one.err
    two = flmigrate(tmp_path, "rewrite", ".", "-j", "2", "--verbose")
    assert two.text == one.err.replace("would change", "changed")
    git(tmp_path, "init", "-q")
    git(tmp_path, "apply", "--reverse", "-", data=one.out)
    assert contents(tmp_path) == before


def test_a_worker_that_dies_is_reported(tmp_path: Path) -> None:
    tree(tmp_path, _long_project())
    before = contents(tmp_path)
    command = [sys.executable, "-m", "flmigrate", "rewrite", ".", "--diff", "-j", "2"]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        while process.poll() is None:
            worker = _worker_of(process.pid)
            if worker is not None:
                os.kill(worker, signal.SIGKILL)
                break
        assert process.stderr is not None
        said = process.stderr.read().decode()
    assert process.returncode == 1
    assert "Traceback" not in said
    assert "FL904 skipped: the worker died" in said
    assert "36 files seen" in said
    assert contents(tmp_path) == before


def _worker_of(main: int) -> int | None:
    """A process that ``main`` forked, or had another process fork."""
    parents: dict[int, int] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[int(status.parent.name)] = int(status.read_text().rpartition(")")[2].split()[1])
    own = Path(f"/proc/{main}/cmdline").read_bytes()
    for pid, parent in parents.items():
        with contextlib.suppress(OSError):
            forked = parent == main and Path(f"/proc/{pid}/cmdline").read_bytes() == own
            if forked or parents.get(parent) == main:
                return pid
    return None


# --- settings ------------------------------------------------------------------------------


def test_the_nearest_settings_win_and_options_win_over_them(tmp_path: Path) -> None:
    tree(
        tmp_path,
        {
            "pyproject.toml": '[tool.flmigrate]\nselect = ["FL105"]\n',
            "near/flmigrate.toml": 'select = ["FL106"]\n',
            "near/a.py": BOTH,
            "a.py": BOTH,
        },
    )
    assert "FL105 device-string 1\n" in invoke(tmp_path, "rewrite", "a.py", "--diff").err
    assert "FL106 device-method 1\n" in invoke(tmp_path, "rewrite", "near", "--diff").err
    run = flmigrate(tmp_path, "rewrite", "near/a.py", "--diff", "--select", "FL105")
    assert "FL105 device-string 1\n" in run.err


def test_settings_are_found_from_the_path_not_from_here(tmp_path: Path) -> None:
    tree(tmp_path, {"p/pyproject.toml": "[tool.flmigrate]\nselect = []\n", "p/a.py": MOVE})
    tree(tmp_path, {"elsewhere/b.py": PLAIN})
    run = invoke(tmp_path / "elsewhere", "rewrite", "../p", "--diff")
    assert run.out == b""


def test_settings_of_a_project(tmp_path: Path) -> None:
    settings = """
        [tool.flmigrate]
        target = "accelerator"
        exclude = ["vendored/"]
        ignore = ["FL105"]
        import-in = "none"
        per-file-ignores = { "tests/**" = ["FL106"] }
    """
    tree(tmp_path, {"pyproject.toml": settings, "vendored/v.py": MOVE, "tests/t.py": BOTH})
    tree(tmp_path, {"a.py": BOTH})
    run = invoke(tmp_path, "rewrite", ".", "--exclude", "*.pyi")
    assert run.text.startswith("2 files seen, 1 changed, 0 skipped")
    changed = (tmp_path / "a.py").read_text()
    assert "x.to(torch.accelerator.current_accelerator())" in changed
    assert 'device="cuda"' in changed
    assert (tmp_path / "tests/t.py").read_text() == BOTH
    assert (tmp_path / "vendored/v.py").read_text() == MOVE


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ('targett = "fl"', 'unknown key "targett"'),
        ('target = "flx"', 'target: unknown target "flx"'),
        ('target = "./none.toml"', "target: no such file"),
        ("target = 1", "target must be a string"),
        ('select = ["FL999"]', 'select: unknown rule code "FL999"'),
        ('ignore = "FL101"', "ignore must be a list"),
        ('exclude = ["a["]', 'exclude: "a["'),
        ('drop-vendors = ["voodoo"]', 'drop-vendors: unknown vendor "voodoo"'),
        ('import-in = "here"', 'import-in: unknown value "here"'),
        ('canonical-vendor = "vodoo"', 'canonical-vendor: unknown vendor "vodoo"'),
        ('per-file-ignores = { "*.py" = ["FL9999"] }', 'per-file-ignores."*.py": unknown rule'),
        ("select = [", "not TOML"),
    ],
)
def test_a_wrong_setting_is_named_by_file_line_and_key(
    tmp_path: Path, line: str, complaint: str
) -> None:
    settings = tmp_path / "pyproject.toml"
    settings.write_text(f'[project]\nname = "x"\n\n[tool.flmigrate]\n{line}\n')
    (tmp_path / "a.py").write_text(MOVE)
    done = CliRunner().invoke(main, ["rewrite", str(tmp_path / "a.py"), "--exit-zero"])
    assert done.exit_code == 2
    assert done.stdout == ""
    assert f"{settings}:5: {complaint}" in done.stderr
    assert (tmp_path / "a.py").read_text() == MOVE


# --- targets -------------------------------------------------------------------------------

PLATFORM = """\
schema = 1
name = "platform"
title = "the project's platform object"
source = "myproj/platform.py"
serves = ["cuda", "npu"]

[device]
expression = "cur_platform.device_name()"
namespace = "cur_platform"
move = "cur_platform.device_name()"
test = "__0__.device.type == cur_platform.device_name()"

[imports]
statement = "from myproj.platform import cur_platform"
where = "every-file"

[api."torch.cuda.synchronize"]
status = "exact"
to = "cur_platform.synchronize"
"""


def test_a_target_of_the_users_own(tmp_path: Path) -> None:
    source = (
        "import torch\n\n\ndef put(x):\n    torch.npu.synchronize()\n"
        '    y = torch.zeros(1, device="cuda:0")\n    return x.cuda(), x.is_cuda, y\n'
    )
    tree(tmp_path, {"tables/platform.toml": PLATFORM, "a.py": source})
    run = flmigrate(tmp_path, "rewrite", "a.py", "--target", "tables/platform.toml")
    assert run.code == 0
    assert (tmp_path / "a.py").read_text() == (
        "from myproj.platform import cur_platform\nimport torch\n\n\ndef put(x):\n"
        "    cur_platform.synchronize()\n"
        '    y = torch.zeros(1, device=f"{cur_platform.device_name()}:0")\n'
        "    return x.to(cur_platform.device_name()), "
        "x.device.type == cur_platform.device_name(), y\n"
    )


def test_a_target_in_the_settings_is_relative_to_them(tmp_path: Path) -> None:
    settings = '[tool.flmigrate]\ntarget = "tables/platform.toml"\n'
    tree(tmp_path, {"p/pyproject.toml": settings, "p/tables/platform.toml": PLATFORM})
    tree(tmp_path, {"p/src/a.py": MOVE})
    run = invoke(tmp_path, "rewrite", "p/src/a.py", "--diff")
    assert "+    return torch.relu(x.to(cur_platform.device_name()))" in run.text


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('status = "exact"', 'status = "exakt"', '18: api."torch.cuda.synchronize".status'),
        ('to = "cur_platform.s', 'too = "cur_platform.s', '19: api."torch.cuda.synchronize"'),
        ('"npu"]', '"vodoo"]', "5: serves"),
        ('"cur_platform"\n', '"cur platform"\n', "9: device.namespace"),
        ("[imports]", "[imports", "13: "),
    ],
)
def test_a_wrong_table_is_named_by_file_line_and_key(
    tmp_path: Path, old: str, new: str, complaint: str
) -> None:
    table = tmp_path / "platform.toml"
    table.write_text(PLATFORM.replace(old, new, 1))
    (tmp_path / "a.py").write_text(MOVE)
    arguments = ["rewrite", str(tmp_path / "a.py"), "--target", str(table)]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 2
    assert f"{table}:{complaint}" in done.stderr
    assert (tmp_path / "a.py").read_text() == MOVE


def test_an_unknown_target_names_those_there_are(tmp_path: Path) -> None:
    tree(tmp_path, {"a.py": MOVE})
    run = flmigrate(tmp_path, "rewrite", "a.py", "--target", "flagos")
    assert run.code == 2
    assert run.err.startswith("flmigrate: flagos: ")
    assert "accelerator" in run.err
    assert (tmp_path / "a.py").read_text() == MOVE


@pytest.mark.parametrize(
    ("where", "marked"),
    [
        ([], ["pkg/__init__.py", "train.py"]),
        (["--import-in", "entry-points"], ["pkg/__init__.py", "train.py"]),
        (["--import-in", "every-file"], ["lib.py", "pkg/__init__.py", "pkg/ops.py", "train.py"]),
        (["--import-in", "none"], []),
    ],
)
def test_where_the_import_goes(tmp_path: Path, where: list[str], marked: list[str]) -> None:
    files: dict[str, str | bytes] = {"pkg/__init__.py": "from .ops import put\n"}
    files |= {"pkg/ops.py": MOVE, "lib.py": MOVE}
    files["train.py"] = "#!/usr/bin/env python\nimport torch\n\ntorch.ones(1).cuda()\n"
    files["plain.py"] = "#!/usr/bin/env python\nimport torch\n"
    tree(tmp_path, files)
    invoke(tmp_path, "rewrite", ".", *where)
    after = contents(tmp_path)
    assert [name for name, data in after.items() if b"import torch_fl " in data] == marked
    assert after["plain.py"] == files["plain.py"].encode()  # type: ignore[union-attr]
