"""Finding files, reading them as text and writing them back."""

from __future__ import annotations

import ast
import os
import stat
import subprocess
import sys
import tokenize
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from flmigrate.files import (
    Decoded,
    Discovery,
    UndecodableError,
    decode,
    discover,
    encode,
    write_atomic,
)


def git(folder: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True).stdout


def tree(root: Path, files: Iterable[str]) -> None:
    for name in files:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")


def found(discovery: Discovery, root: Path) -> list[str]:
    return [path.relative_to(root).as_posix() for path in discovery.files]


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def seen_by_git(root: Path) -> set[str]:
    listed = git(root, "ls-files", "-z", "--others", "--exclude-standard", "*.py", "*.pyi")
    return {os.fsdecode(name) for name in listed.split(b"\0") if name}


# --- discovery -----------------------------------------------------------------------------


def test_a_folder_yields_python_files_only(tmp_path: Path) -> None:
    tree(tmp_path, ["b.py", "a.pyi", "sub/c.py", "notes.txt", "run", "x.ipynb", "y.pyc"])
    assert found(discover([tmp_path]), tmp_path) == ["a.pyi", "b.py", "sub/c.py", "x.ipynb"]


def test_a_named_file_is_taken_whatever_its_name(tmp_path: Path) -> None:
    tree(tmp_path, ["run", "build/gen.py"])
    (tmp_path / ".gitignore").write_text("*")
    paths = [tmp_path / "run", tmp_path / "build" / "gen.py"]
    assert discover(paths, ["run"], tmp_path).files == (paths[1], paths[0])


def test_files_are_sorted_and_taken_once(tmp_path: Path) -> None:
    tree(tmp_path, ["a/z.py", "a-b/y.py", "a/b/x.py"])
    named = [tmp_path / "a" / "z.py", tmp_path, tmp_path / "a", tmp_path / "a" / ".." / "a"]
    assert found(discover(named), tmp_path) == ["a/b/x.py", "a/z.py", "a-b/y.py"]


def test_paths_are_shown_as_they_were_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree(tmp_path, ["src/a.py"])
    monkeypatch.chdir(tmp_path)
    assert discover([Path()]).files == (Path("src/a.py"),)
    assert discover([Path("src")]).files == (Path("src/a.py"),)


def test_folders_that_are_not_source_are_skipped(tmp_path: Path) -> None:
    skipped = [".git", ".venv", "venv", "node_modules", "build", "dist", "__pycache__", ".tox"]
    skipped += [".nox", ".mypy_cache", ".ruff_cache", "site-packages", ".hg", ".eggs"]
    tree(tmp_path, [f"{name}/x.py" for name in skipped])
    tree(tmp_path, [f"pkg/{name}/x.py" for name in skipped])
    tree(tmp_path, ["pkg/builder/x.py", "pkg/build.py"])
    assert found(discover([tmp_path]), tmp_path) == ["pkg/build.py", "pkg/builder/x.py"]
    assert found(discover([tmp_path / "build"]), tmp_path) == ["build/x.py"]


def test_odd_names(tmp_path: Path) -> None:
    names = ["[a]/x.py", "b+c/y [1].py", "d e/z.py", "模型/训练.py", "naïve.py"]
    tree(tmp_path, names)
    assert found(discover([tmp_path]), tmp_path) == sorted(names)
    assert found(discover([tmp_path / "[a]", tmp_path / "模型" / "训练.py"]), tmp_path) == [
        "[a]/x.py",
        "模型/训练.py",
    ]


NESTED = {
    ".gitignore": "# generated\n*_pb2.py\n/out/\nlogs\n!keep_pb2.py\n\ndata/*\n!data/keep/\n",
    "pkg/.gitignore": "local.py\n/only_here.py\n!wanted_pb2.py\n**/deep/*.py\n",
    "pkg/sub/.gitignore": "*\n!*.py\nsecret*.py\n",
    "crlf/.gitignore": "x.py\r\n",
}
NESTED_FILES = [
    *("a.py", "a_pb2.py", "keep_pb2.py", "out/x.py", "pkg/out/x.py", "logs/x.py"),
    *("pkg/logs/x.py", "data/x.py", "data/keep/x.py", "data/other/x.py", "pkg/local.py"),
    *("pkg/wanted_pb2.py", "pkg/other_pb2.py", "pkg/only_here.py", "pkg/sub/only_here.py"),
    *("pkg/sub/x.py", "pkg/sub/secret_1.py", "pkg/sub/local.py", "pkg/sub/below/x.py"),
    *("pkg/a/deep/x.py", "pkg/deep/y.py", "crlf/x.py", "crlf/y.py", "crlf/only_here.py"),
]


def nested_repository(root: Path) -> None:
    git(root, "init", "-q")
    tree(root, NESTED_FILES)
    for name, text in NESTED.items():
        (root / name).write_bytes(text.encode())


def test_gitignore_files_mean_what_git_means_by_them(tmp_path: Path) -> None:
    nested_repository(tmp_path)
    expected = seen_by_git(tmp_path)
    assert "pkg/wanted_pb2.py" in expected
    assert "pkg/other_pb2.py" not in expected
    assert set(found(discover([tmp_path]), tmp_path)) == expected


@pytest.mark.parametrize("folder", ["pkg", "pkg/sub", "crlf", "data/keep"])
def test_gitignore_files_above_a_named_folder_hold(tmp_path: Path, folder: str) -> None:
    nested_repository(tmp_path)
    expected = {name for name in seen_by_git(tmp_path) if name.startswith(f"{folder}/")}
    assert set(found(discover([tmp_path / folder]), tmp_path)) == expected


def test_a_named_folder_that_is_ignored_is_walked(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / ".gitignore").write_text("generated/\n")
    tree(tmp_path, ["generated/a.py", "generated/sub/b.py", "c.py"])
    assert found(discover([tmp_path]), tmp_path) == ["c.py"]
    for folder in ("generated", "generated/sub"):
        assert f"{folder}/" in found(discover([tmp_path / folder]), tmp_path)[0]


def test_a_repository_inside_has_its_own_ignore_files(tmp_path: Path) -> None:
    (tmp_path / "module").mkdir()
    git(tmp_path, "init", "-q")
    git(tmp_path / "module", "init", "-q")
    (tmp_path / ".gitignore").write_text("x.py\n")
    tree(tmp_path, ["x.py", "module/x.py"])
    assert found(discover([tmp_path]), tmp_path) == ["module/x.py"]


def test_gitignore_files_hold_without_a_repository_too(tmp_path: Path) -> None:
    tree(tmp_path, ["p/a.py", "p/q/a.py", "p/q/b.py"])
    (tmp_path / "p" / ".gitignore").write_text("a.py\n")
    assert found(discover([tmp_path / "p"]), tmp_path) == ["p/q/b.py"]


@pytest.mark.parametrize("content", [b"\xff\xfe\n!\nfoo\\\n[\na.py\n", b"\xef\xbb\xbfa.py\n"])
def test_ignore_files_with_lines_that_mean_nothing(tmp_path: Path, content: bytes) -> None:
    tree(tmp_path, ["a.py", "b.py"])
    (tmp_path / ".gitignore").write_bytes(content)
    assert found(discover([tmp_path]), tmp_path) == ["b.py"]


SEGMENTS = st.sampled_from(["a", "b", "*", "a*", "?", "**", "x.py", "*.py", "[ab]"])
PATTERNS = st.builds(
    lambda negated, anchored, segments, folder: (
        ("!" if negated else "")
        + ("/" if anchored else "")
        + "/".join(segments)
        + ("/" if folder else "")
    ),
    st.booleans(),
    st.booleans(),
    st.lists(SEGMENTS, min_size=1, max_size=3),
    st.booleans(),
)
TREE = [
    folder + name
    for folder in ("", "a/", "b/", "a/b/", "a/a/", "b/a/", "b/a/b/")
    for name in ("x.py", "a.py", "b.py")
]


@settings(max_examples=60, deadline=None)
@given(top=st.lists(PATTERNS, max_size=4), inner=st.lists(PATTERNS, max_size=3))
def test_any_patterns_mean_what_git_means_by_them(
    tmp_path_factory: pytest.TempPathFactory, top: list[str], inner: list[str]
) -> None:
    root = tmp_path_factory.mktemp("repository")
    git(root, "init", "-q")
    tree(root, TREE)
    (root / ".gitignore").write_text("\n".join(top))
    (root / "a" / ".gitignore").write_text("\n".join(inner))
    assert set(found(discover([root]), root)) == seen_by_git(root)


def test_exclude_is_relative_to_the_configuration(tmp_path: Path) -> None:
    names = ["x_pb2.py", "a/x_pb2.py", "a/gen/x.py", "gen/x.py", "a/b.py", "b/a/gen/x.py"]
    tree(tmp_path, names)
    discovery = discover([tmp_path], ["*_pb2.py", "a/gen", "/b.py"], tmp_path)
    assert found(discovery, tmp_path) == ["a/b.py", "b/a/gen/x.py", "gen/x.py"]
    elsewhere = discover([tmp_path / "a"], ["gen"], tmp_path / "a" / "gen")
    assert found(elsewhere, tmp_path) == ["a/b.py", "a/gen/x.py", "a/x_pb2.py"]
    named = discover([tmp_path / "a" / "gen"], ["a/gen"], tmp_path)
    assert found(named, tmp_path) == ["a/gen/x.py"]


def test_gitignore_cannot_take_back_what_is_excluded(tmp_path: Path) -> None:
    tree(tmp_path, ["a.py", "b.py"])
    (tmp_path / ".gitignore").write_text("!a.py\n")
    assert found(discover([tmp_path], ["a.py"], tmp_path), tmp_path) == ["b.py"]


def test_links_inside_are_followed_and_their_files_taken_once(tmp_path: Path) -> None:
    tree(tmp_path, ["src/a.py", "lib/b.py", "lib/tool", "src/node_modules/c.py"])
    git(tmp_path, "init", "-q")
    (tmp_path / "src" / "again.py").symlink_to("a.py")
    (tmp_path / "src" / "0_loop").symlink_to("..")
    (tmp_path / "src" / "lib").symlink_to("../lib")
    (tmp_path / "src" / "tool.py").symlink_to("../lib/tool")
    (tmp_path / "src" / "c.py").symlink_to("node_modules/c.py")
    discovery = discover([tmp_path / "src"])
    assert discovery.problems == ()
    real = {os.path.realpath(path) for path in discovery.files}
    expected = ["src/a.py", "lib/b.py", "lib/tool"]
    assert real == {os.path.realpath(tmp_path / name) for name in expected}
    assert len(discovery.files) == len(real)
    assert tmp_path / "src" / "a.py" in discovery.files


def test_a_link_to_what_is_ignored_is_not_followed(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    tree(tmp_path, ["gen/a.py", "src/b.py", "excluded/c.py"])
    (tmp_path / ".gitignore").write_text("gen/\n")
    (tmp_path / "src" / "a.py").symlink_to("../gen/a.py")
    (tmp_path / "src" / "gen2").symlink_to("../gen")
    (tmp_path / "src" / "more").symlink_to("../excluded")
    discovery = discover([tmp_path / "src"], ["excluded"], tmp_path)
    assert (found(discovery, tmp_path), discovery.problems) == (["src/b.py"], ())


def test_links_that_lead_elsewhere(tmp_path: Path) -> None:
    tree(tmp_path, ["outside/a.py", "in/b.py"])
    (tmp_path / "in" / "a.py").symlink_to("../outside/a.py")
    (tmp_path / "in" / "data").symlink_to("../outside")
    discovery = discover([tmp_path / "in"])
    assert found(discovery, tmp_path) == ["in/b.py"]
    [(path, message)] = discovery.problems
    assert path == tmp_path / "in" / "a.py"
    assert str(tmp_path / "outside" / "a.py") in message
    both = discover([tmp_path / "in", tmp_path / "outside"])
    assert (len(both.files), both.problems) == (2, ())
    named = discover([tmp_path / "in" / "a.py"])
    assert (named.files, named.problems) == ((tmp_path / "in" / "a.py",), ())


def test_links_that_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "gone.py").symlink_to("nowhere.py")
    (tmp_path / "round.py").symlink_to("round.py")
    (tmp_path / ".#a.py").symlink_to("somebody@host.1234")
    (tmp_path / "a.txt").symlink_to("nowhere.txt")
    tree(tmp_path, ["a.py"])
    discovery = discover([tmp_path])
    assert found(discovery, tmp_path) == ["a.py"]
    problems = {path.name: message for path, message in discovery.problems}
    assert problems["gone.py"] == "dangling symbolic link"
    assert "symbolic links" in problems["round.py"]
    assert len(problems) == 2
    assert discover([tmp_path / "gone.py"]).problems == (
        (tmp_path / "gone.py", "dangling symbolic link"),
    )


def test_a_path_that_does_not_exist_does_not_end_the_search(tmp_path: Path) -> None:
    tree(tmp_path, ["a.py"])
    discovery = discover([tmp_path / "nope", tmp_path / "a.py", Path("a\0b.py")])
    assert discovery.files == (tmp_path / "a.py",)
    assert (tmp_path / "nope", "no such file or folder") in discovery.problems
    assert len(discovery.problems) == 2


def test_what_is_neither_file_nor_folder(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    assert discover([tmp_path]) == Discovery((), ())
    problem = (tmp_path / "pipe.py", "not a file or folder")
    assert discover([tmp_path / "pipe.py"]).problems == (problem,)


def test_a_folder_that_cannot_be_read_is_a_problem(tmp_path: Path) -> None:
    # Permissions do not stop the superuser, but a path longer than the system takes does.
    tree(tmp_path, ["a.py"])
    descriptor = os.open(tmp_path, os.O_RDONLY)
    for _ in range(20):
        os.mkdir("d" * 250, dir_fd=descriptor)
        inner = os.open("d" * 250, os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = inner
    os.close(descriptor)
    discovery = discover([tmp_path])
    assert found(discovery, tmp_path) == ["a.py"]
    [(path, message)] = discovery.problems
    assert path.is_relative_to(tmp_path / ("d" * 250))
    assert message == "file name too long"


# --- decode and encode ---------------------------------------------------------------------

COOKIES = [
    (b"x = 1\n", "utf-8"),
    (b"", "utf-8"),
    ("s = 'é'\r\n".encode(), "utf-8"),
    ("# -*- coding: gbk -*-\ns = '模型'\n".encode("gbk"), "gbk"),
    (
        "#!/usr/bin/python\n# vim: set fileencoding=latin-1 :\ns = 'é'\n".encode("latin-1"),
        "latin-1",
    ),
    ("# coding: cp1252\ns = '€'\n".encode("cp1252"), "cp1252"),
    ("# coding: euc-jp\ns = '型'\n".encode("euc-jp"), "euc-jp"),
    ("# coding: shift_jis\ns = '表示'\n".encode("shift_jis"), "shift_jis"),
    ("# coding: koi8-r\ns = 'я'\n".encode("koi8-r"), "koi8-r"),
    ("# coding: iso2022_jp\ns = '型'\n".encode("iso2022_jp"), "iso2022_jp"),
    ("# coding: utf-8-unix\ns = '型'\n".encode(), "utf-8"),
    ("# coding: utf-8-sig\ns = '型'\n".encode(), "utf-8"),
    ("# coding: Latin_1-dos\ns = 'é'\n".encode("latin-1"), "latin-1"),
    ("\f \t\n# coding: latin-1\ns = 'é'\n".encode("latin-1"), "latin-1"),
    ("#\r# coding: latin-1\rs = 'é'\r".encode("latin-1"), "latin-1"),
    ("x = 1\n# coding: latin-1\ns = 'é'\n".encode(), "utf-8"),
    ("#\n#\n# coding: latin-1\ns = 'é'\n".encode(), "utf-8"),
    (b"x = 1  # coding: latin-1\n", "utf-8"),
    (b"# coding: ascii", "ascii"),
]


@pytest.mark.parametrize(("data", "encoding"), COOKIES)
def test_the_encoding_is_the_one_python_takes(data: bytes, encoding: str) -> None:
    decoded = decode(data)
    assert decoded.text == data.decode(encoding)
    assert "".encode(decoded.encoding) == "".encode(encoding)
    assert encode(decoded, decoded.text) == data
    if encoding != "iso2022_jp":  # python: "\x1b" is not a character of the grammar
        assert ast.dump(ast.parse(data)) == ast.dump(ast.parse(decoded.text))


def test_the_byte_order_mark_is_kept() -> None:
    data = b"\xef\xbb\xbf# coding: utf8\r\ns = 'caf\xc3\xa9'\r\n"
    decoded = decode(data)
    assert decoded == Decoded("# coding: utf8\r\ns = 'café'\r\n", "utf-8", True, "\r\n")
    assert encode(decoded, "t = 1") == b"\xef\xbb\xbft = 1"
    assert encode(decode(b"\xef\xbb\xbf"), "") == b"\xef\xbb\xbf"


@pytest.mark.parametrize(
    ("text", "newline"),
    [
        ("", "\n"),
        ("a", "\n"),
        ("a\nb\r\n", "\n"),
        ("a\r\nb\r\nc\n", "\r\n"),
        ("a\rb\rc", "\r"),
        ("a\rb\r\nc\r\n", "\r\n"),
        ("a\fb\x0bc\x85d\u2028", "\n"),
    ],
)
def test_the_newline_most_lines_have(text: str, newline: str) -> None:
    decoded = decode(text.encode())
    assert (decoded.text, decoded.newline) == (text, newline)


@pytest.mark.parametrize(
    ("data", "offset", "line", "reason"),
    [
        (b"a = 1\ns = '\xff'\n", 11, 2, "0xff"),
        (b"\xef\xbb\xbfa\r\r\n'\xe9'", 8, 3, "utf-8"),
        (b"# coding: gbk\ns = '\xff'\n", 19, 2, "gbk"),
        (b"# coding: ascii\n'\xe9'", 17, 2, "ascii"),
        (b"#\n# coding: utf-99\n", 12, 2, "unknown encoding: utf-99"),
        (b"# coding: rot13\n", 10, 1, "unknown encoding: rot13"),
        (b"# coding: utf-16\n", 10, 1, "utf-16 cannot be"),
        (b"# coding: utf_32\n", 10, 1, "utf_32 cannot be"),
        (b"# coding: cp037\n", 10, 1, "cp037 cannot be"),
        (b"# coding: unicode_escape\n", 10, 1, "cannot be"),
        (b"\xef\xbb\xbf# coding: latin-1\n", 13, 1, "byte order mark"),
        ("\ufeffx = 1\n".encode("utf-16-le"), 0, 1, "UTF-16"),
        # Two spellings of one character; only the other one is what the codec writes.
        (b"# coding: cp932\ns = '\x87\x90'\n", 21, 2, "not the bytes"),
    ],
)
def test_undecodable_bytes_are_located(data: bytes, offset: int, line: int, reason: str) -> None:
    with pytest.raises(UndecodableError) as caught:
        decode(data)
    error = caught.value
    assert (error.offset, error.line) == (offset, line)
    assert reason in error.reason
    assert str(error) == f"line {line}, byte {offset}: {error.reason}"


def test_text_that_the_encoding_cannot_hold_is_refused() -> None:
    decoded = decode("# coding: latin-1\r\ns = 'é'\r\n".encode("latin-1"))
    with pytest.raises(UndecodableError) as caught:
        encode(decoded, "# coding: latin-1\r\ns = 'é', '型'\r\n")
    assert (caught.value.offset, caught.value.line) == (29, 2)


@pytest.mark.parametrize("text", ["s = 'é'\n", "# coding: cp1252\ns = 'é'\n", "# coding: x\n"])
def test_text_that_would_be_read_back_differently_is_refused(text: str) -> None:
    with pytest.raises(UndecodableError):
        encode(decode(b"# coding: latin-1\n"), text)


@settings(deadline=None)
@given(st.binary(max_size=200))
@example(b"\xef\xbb\xbf\xef\xbb\xbf")
@example(b"#coding:hz\n~~")
@example(b"#coding:utf-7\n+AGE-")
def test_bytes_come_back_or_are_refused(data: bytes) -> None:
    try:
        decoded = decode(data)
    except UndecodableError as error:
        assert 0 <= error.offset <= len(data)
    else:
        assert encode(decoded, decoded.text) == data


CODECS = ["utf-8", "gbk", "gb18030", "big5", "latin-1", "cp1252", "euc-jp", "shift_jis", "cp932"]
CODECS += [
    "euc_kr",
    "iso2022_jp",
    "iso2022_kr",
    "hz",
    "utf-7",
    "utf-16",
    "cp437",
    "raw_unicode_escape",
]


@settings(deadline=None)
@given(st.sampled_from(CODECS), st.binary(max_size=60), st.sampled_from([b"\n", b"\r\n", b"\r"]))
def test_bytes_under_any_cookie_come_back_or_are_refused(
    codec: str, data: bytes, newline: bytes
) -> None:
    whole = b"# coding: " + codec.encode() + newline + data
    try:
        decoded = decode(whole)
    except UndecodableError:
        return
    assert encode(decoded, decoded.text) == whole
    assert decoded.text.encode(codec) == whole


@settings(deadline=None)
@given(st.text(max_size=80), st.booleans())
def test_any_text_comes_back(text: str, bom: bool) -> None:
    try:
        data = encode(Decoded("", "utf-8", bom, "\n"), text)
    except UndecodableError:  # a surrogate, a coding line, or a BOM of its own
        return
    assert decode(data).text == text


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                b"#",
                b" ",
                b"\f",
                b"x",
                b"coding",
                b":",
                b"=",
                b"utf-8",
                b"gbk",
                b"\n",
                b"\r\n",
                b"-*-",
                b"\xef\xbb\xbf",
            ]
        ),
        max_size=12,
    )
)
def test_the_cookie_is_found_where_the_standard_library_finds_it(parts: list[bytes]) -> None:
    data = b"".join(parts)
    try:
        expected, _ = tokenize.detect_encoding(BytesIO(data).readline)
    except SyntaxError:
        return
    try:
        decoded = decode(data)
    except UndecodableError:
        return
    assert "é".encode(decoded.encoding) == "é".encode(expected.removesuffix("-sig"))


# --- write_atomic --------------------------------------------------------------------------


def test_a_file_is_replaced_with_its_mode_bits(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"old\r\n")
    path.chmod(0o751)
    write_atomic(path, b"new\r\n")
    assert path.read_bytes() == b"new\r\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o751
    assert names_in(tmp_path) == ["a.py"]


def test_the_owner_is_kept(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only the superuser can give files away")
    path = tmp_path / "a.py"
    path.write_bytes(b"old")
    os.chown(path, 12345, 54321)
    path.chmod(0o640)
    write_atomic(path, b"new")
    after = path.stat()
    assert (after.st_uid, after.st_gid, stat.S_IMODE(after.st_mode)) == (12345, 54321, 0o640)


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    target = tmp_path / "real" / "a.py"
    target.write_bytes(b"old")
    link = tmp_path / "link.py"
    link.symlink_to("real/a.py")
    write_atomic(link, b"new")
    assert link.readlink() == Path("real/a.py")
    assert target.read_bytes() == b"new"
    assert names_in(tmp_path) == ["link.py", "real"]
    assert names_in(tmp_path / "real") == ["a.py"]


@pytest.mark.parametrize("data", [b"longer than before\n", b"s", b""])
def test_hard_links_stay_one_file(tmp_path: Path, data: bytes) -> None:
    path, other = tmp_path / "a.py", tmp_path / "b.py"
    path.write_bytes(b"old bytes\n")
    os.link(path, other)
    write_atomic(path, data)
    assert other.read_bytes() == path.read_bytes() == data
    assert path.samefile(other)


def test_a_new_file_gets_the_usual_mode(tmp_path: Path) -> None:
    (tmp_path / "usual").write_bytes(b"")
    write_atomic(tmp_path / "new.patch", b"data")
    assert (tmp_path / "new.patch").read_bytes() == b"data"
    assert (tmp_path / "new.patch").stat().st_mode == (tmp_path / "usual").stat().st_mode


@pytest.mark.parametrize("mode", [0o444, 0o555, 0o464])
def test_a_read_only_file_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"old")
    path.chmod(mode)
    with pytest.raises(PermissionError, match=r"read-only file.*a\.py"):
        write_atomic(path, b"new")
    assert path.read_bytes() == b"old"
    assert names_in(tmp_path) == ["a.py"]


def test_nothing_is_left_behind_when_the_system_refuses(tmp_path: Path) -> None:
    # A folder without this file's name free: it is one itself.
    with pytest.raises(OSError, match="not a regular file"):
        write_atomic(tmp_path, b"new")
    with pytest.raises(FileNotFoundError, match=r"missing/a\.py"):
        write_atomic(tmp_path / "missing" / "a.py", b"new")
    (tmp_path / "round.py").symlink_to("round.py")
    with pytest.raises(OSError, match=r"round\.py"):
        write_atomic(tmp_path / "round.py", b"new")
    path = tmp_path / "a.py"
    path.write_bytes(b"old")
    with pytest.raises(TypeError):
        write_atomic(path, "text")  # type: ignore[arg-type]
    assert path.read_bytes() == b"old"
    assert names_in(tmp_path) == ["a.py", "round.py"]


FULL_DISK = """
import resource, signal, sys
from pathlib import Path
from flmigrate.files import write_atomic
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
try:
    write_atomic(Path(sys.argv[1]), b"n" * 9000)
except OSError as error:
    print(error)
"""


@pytest.mark.parametrize("linked", [False, True])
def test_a_write_that_fails_half_way_loses_nothing(tmp_path: Path, linked: bool) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"o" * 3000)
    names = ["a.py"]
    if linked:
        os.link(path, tmp_path / "b.py")
        names.append("b.py")
    command = [sys.executable, "-c", FULL_DISK, os.fspath(path)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "File too large" in run.stdout
    assert "a.py" in run.stdout
    assert path.read_bytes() == b"o" * 3000
    assert names_in(tmp_path) == names
