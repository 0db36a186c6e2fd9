"""The settings in pyproject.toml and flmigrate.toml."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from flmigrate.config import Config, ConfigError, load_config
from flmigrate.config_checks import (
    CheckSettings,
    check_codes,
    check_import_in,
    check_target,
    check_vendors,
)

CODES = ["FL101", "FL102", "FL105", "FL201", "FL901"]


def project(folder: Path, text: str, name: str = "pyproject.toml") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    return folder


def error(folder: Path, text: str, name: str = "pyproject.toml") -> str:
    """The message for a file's settings, without the path that it must begin with."""
    project(folder, text, name)
    with pytest.raises(ConfigError) as caught:
        load_config(folder, CODES)
    message = str(caught.value)
    assert message.startswith(str(folder / name))
    return message.removeprefix(str(folder / name))


# --- finding the file ----------------------------------------------------------------------


def test_every_setting(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("")
    project(
        tmp_path,
        """
[project]
name = "flmigrate-user"

[tool.flmigrate]
target = "mine.toml"
exclude = ["third_party/", "*_pb2.py"]
select = ["FL1", "FL201"]
ignore = ["FL105"]
drop-vendors = ["mps", "xla"]
import-in = "every-file"
canonical-vendor = "npu"

[tool.flmigrate.per-file-ignores]
"tests/**" = ["ALL"]

[tool.flmigrate.check]
allow = ["pkg/platform/**"]
require-reason = true
baseline = "ci/known.json"
""",
    )
    assert load_config(tmp_path) == Config(
        root=tmp_path,
        path=tmp_path / "pyproject.toml",
        target=str(tmp_path / "mine.toml"),
        exclude=("third_party/", "*_pb2.py"),
        select=("FL1", "FL201"),
        ignore=("FL105",),
        drop_vendors=("mps", "xla"),
        import_in="every-file",
        canonical_vendor="npu",
        per_file_ignores=(("tests/**", ("ALL",)),),
        check=CheckSettings(("pkg/platform/**",), True, str(tmp_path / "ci/known.json")),
    )


def test_without_settings_the_defaults_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    expected = Config(root=tmp_path)
    assert load_config(tmp_path) == expected
    project(tmp_path, "[tool.other]\nx = 1\n")
    assert load_config(tmp_path / "missing" / "a.py") == expected
    assert (expected.target, expected.import_in, expected.select) == (
        "fl",
        None,
        ("ALL",),
    )


def test_the_nearest_settings_win(tmp_path: Path) -> None:
    project(tmp_path, '[tool.flmigrate]\nselect = ["FL1"]\n')
    inner = project(tmp_path / "a" / "b", "[project]\nname = 'x'\n")
    assert load_config(inner / "c.py").root == tmp_path
    project(tmp_path / "a", 'select = ["FL2"]\n', "flmigrate.toml")
    nearest = load_config(inner)
    assert (nearest.root, nearest.select) == (tmp_path / "a", ("FL2",))
    project(tmp_path / "a", '[tool.flmigrate]\nselect = ["FL3"]\n')
    assert load_config(inner).path == tmp_path / "a" / "flmigrate.toml"


def test_a_relative_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project(tmp_path, "[tool.flmigrate]\n")
    (tmp_path / "src").mkdir()
    monkeypatch.chdir(tmp_path / "src")
    for start in (Path(), Path("a.py"), Path("-")):
        assert load_config(start).path == tmp_path / "pyproject.toml"
    project(tmp_path / "src", "[tool.flmigrate]\n")
    for start in (Path(".."), Path("../a.py"), Path("../other/a.py")):
        assert load_config(start).path == tmp_path / "pyproject.toml"


def test_a_broken_pyproject_that_has_no_settings_is_not_our_business(tmp_path: Path) -> None:
    project(tmp_path / "a", "[[[")
    project(tmp_path, "[tool.flmigrate]\n")
    assert load_config(tmp_path / "a").root == tmp_path


@pytest.mark.parametrize(
    "text",
    [
        'tool.flmigrate.select = ["FL1"]\n',
        '[tool]\nflmigrate = {select = ["FL1"]}\n',
        '["tool" . "flmigrate"]\r\n"select" = ["FL1"]\r\n',
    ],
)
def test_the_other_ways_to_write_a_table(tmp_path: Path, text: str) -> None:
    project(tmp_path, text)
    assert load_config(tmp_path).select == ("FL1",)


# --- errors --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("selct = []", 3, ['unknown key "selct"', 'did you mean "select"?']),
        ('\n\n# selekt\n"colour" = 1', 6, ['unknown key "colour"']),
        ('drop_vendors = ["mps"]', 3, ['"drop_vendors"', 'did you mean "drop-vendors"?']),
        ("target = 1", 3, ["target must be a string, not an integer"]),
        ('target = "missing.toml"', 3, ["target: no such file", "missing.toml"]),
        ('exclude = "tests"', 3, ["exclude must be a list, not a string"]),
        ('exclude = ["a", 1]', 3, ["exclude must be a list of strings", "an integer"]),
        ("exclude = [\n  'a',\n  'b\\',\n]", 5, ['exclude: "b\\" is not a gitignore pattern']),
        ('exclude = ["x\\\\"]', 3, ["exclude", "not a gitignore pattern"]),
        ('exclude = [""]', 3, ["exclude", "not a gitignore pattern"]),
        ("select = true", 3, ["select must be a list, not a boolean"]),
        ('select = ["FL101", "fl105"]', 3, ['select: unknown rule code "fl105"', '"FL105"?']),
        ('ignore = [\n"FL1",\n"FL999"]', 5, ['ignore: unknown rule code "FL999"']),
        ('ignore = ["E501"]', 3, ['ignore: unknown rule code "E501"']),
        ('drop-vendors = ["mpss"]', 3, ['drop-vendors: unknown vendor "mpss"', '"mps"?']),
        ('drop-vendors = ["zzzzz"]', 3, ['unknown vendor "zzzzz"', "cuda, gcu, hpu"]),
        ('import-in = "every file"', 3, ['import-in: unknown value "every file"', '"every-file"?']),
        ("import-in = []", 3, ["import-in must be a string, not a list"]),
        ('canonical-vendor = "nvidia"', 3, ['canonical-vendor: unknown vendor "nvidia"']),
        ('canonical-vendor = ["cuda"]', 3, ["canonical-vendor must be a string"]),
        ('per-file-ignores = ["a"]', 3, ["per-file-ignores must be a table, not a list"]),
        (
            '[tool.flmigrate.per-file-ignores]\n"a.py" = ["ALL"]\n"b.py" = ["FL3"]',
            5,
            ['per-file-ignores."b.py"', '"FL3"'],
        ),
        (
            '[tool.flmigrate.per-file-ignores]\n"a.py" = []\n"b.py" = "ALL"',
            5,
            ['per-file-ignores."b.py" must be a list, not a string'],
        ),
        ("per-file-ignores = {'a\\' = []}", 3, ['per-file-ignores: "a\\"']),
        ("select = [", 3, ["not TOML"]),
        ("select = []\nselect = []", 4, ["not TOML"]),
    ],
)
def test_errors_name_file_line_and_key(
    tmp_path: Path, text: str, line: int, words: list[str]
) -> None:
    message = error(tmp_path, f"[tool.other]\n[tool.flmigrate]\n{text}\n")
    assert message.startswith(f":{line}: ")
    for word in words:
        assert word in message
    own = error(tmp_path, text.replace("tool.flmigrate.", ""), "flmigrate.toml")
    assert own.startswith(f":{line - 2}: ")


def test_a_key_is_looked_for_in_our_table_only(tmp_path: Path) -> None:
    text = '[tool.ruff]\nselect = ["E"]\n[tool.flmigrate]\nignore = []\nselect = ["E"]\n'
    assert error(tmp_path, text).startswith(":5: ")


def test_settings_that_are_no_table(tmp_path: Path) -> None:
    assert (
        error(tmp_path, "[tool]\nx = 1\nflmigrate = 2\n") == ':3: "tool.flmigrate" must be a table'
    )


def test_settings_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "flmigrate.toml").write_bytes(b'select = []\nexclude = ["\xff"]\n')
    with pytest.raises(ConfigError, match=r"flmigrate\.toml:2: TOML must be UTF-8"):
        load_config(tmp_path)


def test_settings_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "flmigrate.toml").mkdir()
    with pytest.raises(ConfigError, match=r"flmigrate\.toml: Is a directory"):
        load_config(tmp_path)


def test_codes_are_checked_by_shape_where_none_are_known() -> None:
    assert check_codes(["ALL", "FL", "FL7", "FL78", "FL789"], None) == (
        *("ALL", "FL", "FL7", "FL78", "FL789"),
    )
    for code in ("", "all", "FL1234", "FLX", "XFL1", "FL1 "):
        with pytest.raises(ValueError, match="unknown rule code"):
            check_codes([code], None)


def test_options_are_checked_as_settings_are(tmp_path: Path) -> None:
    assert check_vendors(("cuda", "npu")) == ("cuda", "npu")
    assert check_import_in("none") == "none"
    (tmp_path / "t.toml").write_text("")
    assert check_target("./t.toml", tmp_path) == str(tmp_path / "t.toml")
    with pytest.raises(ValueError, match=r"^--select: unknown rule code \"FL5\""):
        check_codes(["FL5"], CODES, "--select")
    with pytest.raises(ValueError, match=r'^target: unknown target "nowhere"'):
        check_target("nowhere", tmp_path)


# --- which codes are on --------------------------------------------------------------------


def enabled(config: Config, path: Path) -> list[str]:
    return [code for code in CODES if config.is_enabled(code, path)]


@pytest.mark.parametrize(
    ("select", "ignore", "expected"),
    [
        (["ALL"], [], CODES),
        ([], [], []),
        (["FL1"], [], ["FL101", "FL102", "FL105"]),
        (["ALL"], ["FL1", "FL9"], ["FL201"]),
        (["FL1"], ["FL105"], ["FL101", "FL102"]),
        (["ALL", "FL105"], ["FL1"], ["FL105", "FL201", "FL901"]),
        (["FL101"], ["FL101"], []),
        (["ALL"], ["ALL"], []),
        (["FL201"], ["ALL"], ["FL201"]),
        (["FL"], ["FL10"], ["FL201", "FL901"]),
    ],
)
def test_the_longest_match_decides(
    tmp_path: Path, select: list[str], ignore: list[str], expected: list[str]
) -> None:
    config = Config(root=tmp_path, select=tuple(select), ignore=tuple(ignore))
    assert enabled(config, tmp_path / "a.py") == expected


@pytest.mark.parametrize(
    ("glob", "matching", "others"),
    [
        ("tests/**", ["tests/a.py", "tests/x/b.py"], ["src/tests/a.py", "tests.py"]),
        ("tests/", ["tests/a.py", "src/tests/a.py"], ["tests.py"]),
        ("__init__.py", ["__init__.py", "a/b/__init__.py"], ["a/init.py"]),
        ("/setup.py", ["setup.py"], ["a/setup.py"]),
        ("src/*.py", ["src/a.py"], ["src/x/a.py", "a/src/b.py"]),
        ("!src/**", ["a.py", "tests/b.py"], ["src/a.py"]),
        ("a b/[x].py", ["a b/x.py"], ["a b/[x].py"]),
    ],
)
def test_per_file_ignores(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    glob: str,
    matching: list[str],
    others: list[str],
) -> None:
    project(tmp_path, f'[tool.flmigrate.per-file-ignores]\n"{glob}" = ["FL1"]\n')
    config = load_config(tmp_path)._replace(select=("ALL", "FL101"))
    monkeypatch.chdir(tmp_path)
    for name in matching:
        for path in (tmp_path / name, Path(name)):
            assert enabled(config, path) == ["FL201", "FL901"]
    for name in others:
        assert enabled(config, Path(name)) == CODES
    assert enabled(config, tmp_path.parent / "elsewhere.py") == (
        ["FL201", "FL901"] if glob.startswith("!") else CODES
    )


def test_a_configuration_travels_to_other_processes(tmp_path: Path) -> None:
    project(tmp_path, '[tool.flmigrate.per-file-ignores]\n"a.py" = ["ALL"]\n')
    config = pickle.loads(pickle.dumps(load_config(tmp_path)))
    predicate = config.codes_for(tmp_path / "a.py")
    assert not predicate("FL101")
    assert config.codes_for(tmp_path / "b.py")("FL101")


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("alow = []", ':1: unknown key "check.alow"; did you mean "allow"?'),
        ('allow = "a/"', ":1: check.allow must be a list, not a string"),
        ('allow = ["["]', ':2: check.allow: "[" is not a gitignore pattern'),
        ('require-reason = "yes"', ":1: check.require-reason must be a boolean, not a string"),
        ("baseline = true", ":1: check.baseline must be a string, not a boolean"),
    ],
)
def test_wrong_settings_of_check(tmp_path: Path, table: str, said: str) -> None:
    assert error(tmp_path, f"[tool.flmigrate.check]\n{table}\n") == said


def test_the_table_check_is_a_table(tmp_path: Path) -> None:
    assert error(tmp_path, "[tool.flmigrate]\ncheck = 1\n") == (
        ":2: check must be a table, not an integer"
    )
