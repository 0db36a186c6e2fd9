"""``flmigrate report``: the HTML page."""

from __future__ import annotations

import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from flmigrate.reports.entries import Report
from flmigrate.reports.html import Heat, Readiness, render
from tests.command_line import ASK, MOVE, PLAIN, contents, flmigrate, invoke, tree

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
VOID = {"meta", "input", "br"}


class _Page(HTMLParser):
    """Checks that elements close in order, and collects text and attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(key, value or "") for key, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def shown_by(text: str) -> str:
    return " ".join(" ".join(_Page(text).texts).split())


def page(folder: Path, *paths: str) -> str:
    run = invoke(folder, "report", *paths, "-o", "out.html")
    assert run.code == 0
    return (folder / "out.html").read_text()


def test_the_page_tells_what_is_ready_and_what_is_left(tmp_path: Path) -> None:
    files = {"pkg/a.py": MOVE * 2 + ASK, "pkg/sub/b.py": MOVE, "c.py": PLAIN}
    tree(tmp_path, {**files, "old.py": "print torch.cuda\n"})
    before = contents(tmp_path)
    run = flmigrate(tmp_path, "report", ".", "-o", "out.html")
    assert (run.code, run.out, run.err) == (0, b"", "out.html: 4 files\n")
    text = (tmp_path / "out.html").read_text()
    assert {k: v for k, v in contents(tmp_path).items() if k != "out.html"} == before
    shown = shown_by(text)
    assert "60 % of the places need nobody 3 fixed by the tool 2 left for people" in shown
    assert "pkg 2 1 66 %" in shown
    assert "pkg/sub 1 0 100 %" in shown
    assert "FL106 device-method 3" in shown
    assert "FL103 no-equivalent (1)" in shown
    assert "pkg/a.py:15 Torch-FL has no torch.cuda.mem_get_info" in shown
    assert "old.py:1 does not parse" in shown


def test_the_page_loads_nothing_and_can_be_used_by_keyboard(tmp_path: Path) -> None:
    tree(tmp_path, {"a.py": MOVE + ASK})
    text = page(tmp_path, ".")
    found = _Page(text)
    loading = {"src", "href", "action", "data"}
    assert not [item for item in found.attributes if item[0] in loading]
    assert not re.search(r"https?://|url\(|@import", text)
    assert (
        "content",
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'",
    ) in found.attributes
    assert ("for", "search") in found.attributes
    for part in ("prefers-color-scheme: dark", "@media print", ":focus-visible"):
        assert part in text


def test_names_and_messages_are_text(tmp_path: Path) -> None:
    tree(tmp_path, {"<b>&'.py": "from torch.cuda import *\n"})
    text = page(tmp_path, ".")
    assert "<b>&'" not in text
    assert "<b>&'.py:1" in "".join(_Page(text).texts)


def test_nothing_to_do_is_a_page_too(tmp_path: Path) -> None:
    tree(tmp_path, {"a.py": PLAIN})
    shown = shown_by(page(tmp_path, "."))
    assert "100 % of the places need nobody" in shown
    assert "Nothing." in shown


def test_operators_on_chips_are_shown_where_they_are_known() -> None:
    heat = Heat(
        ("ascend", "musa"),
        ("aten::nonzero", "aten::add.Tensor"),
        (("raises", "native"), ("flaggems", "native")),
        (("aten::nonzero", ("a.py:3", "b.py:9")),),
    )
    text = render(Report((), 0, "fl", "0"), "t", heat)
    shown = shown_by(text)
    assert "operator ascend musa" in shown
    assert '<td class="raises">raises</td>' in text
    assert "a.py:3, b.py:9" in shown
    assert "Operators on chips" not in render(Report((), 0, "fl", "0"), "t")


@pytest.mark.parametrize(("fixed", "left", "percent"), [(0, 0, 100), (1, 2, 33), (999, 1, 99)])
def test_readiness_is_never_rounded_up(fixed: int, left: int, percent: int) -> None:
    assert Readiness("", fixed, left).percent == percent


def test_a_page_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    tree(tmp_path, {"a.py": PLAIN})
    run = invoke(tmp_path, "report", ".", "-o", "gone/out.html")
    assert (run.code, run.err) == (2, "flmigrate: gone/out.html: No such file or directory\n")
    assert invoke(tmp_path, "report", ".").code == 2


@pytest.mark.skipif(BROWSER is None, reason="no Chromium to show the page in")
@pytest.mark.parametrize("width", [1200, 390])
def test_a_browser_shows_the_page(tmp_path: Path, width: int) -> None:
    tree(tmp_path, {"a.py": MOVE + ASK})
    page(tmp_path, ".")
    assert BROWSER is not None
    common = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--window-size={width},900"]
    address = (tmp_path / "out.html").as_uri()
    image = tmp_path / "page.png"
    subprocess.run([*common, f"--screenshot={image}", address], check=True, capture_output=True)
    assert image.read_bytes().startswith(b"\x89PNG")
    assert len(set(image.read_bytes())) > 200  # not one colour
    done = subprocess.run([*common, "--dump-dom", address], check=True, capture_output=True)
    assert b"left for people" in done.stdout
