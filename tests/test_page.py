"""``flmigrate report``: the HTML page."""

from __future__ import annotations

import json
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
OPERATORS = "import torch\n\n\ndef f(x):\n    y = torch.nonzero(x)\n    return torch.mm(y, y)\n"
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
        ((("raises", "blocked"), ("native", "native")), (("flaggems", "native"), ("", ""))),
        (("aten::nonzero", ("ascend",), ("a.py:3", "b.py:9")),),
    )
    text = render(Report((), 0, "fl", "0"), "t", heat)
    shown = shown_by(text)
    assert "operator ascend musa" in shown
    assert '<td class="blocked">raises</td>' in text
    assert '<td class="native">flaggems</td>' in text
    assert "aten::nonzero ascend a.py:3, b.py:9" in shown
    assert "Operators on chips" not in render(Report((), 0, "fl", "0"), "t")


def test_the_heat_map_is_what_coverage_tells(tmp_path: Path) -> None:
    tree(tmp_path, {"a.py": OPERATORS})
    run = invoke(tmp_path, "coverage", "a.py", "--chip", "ascend,gcu", "--format", "json")
    told = {
        (chip["chip"], operator["op"]): operator
        for chip in json.loads(run.text)["chips"]
        for operator in chip["operators"]
        if operator["always"]
    }
    assert {operator["level"] for operator in told.values()} >= {"native", "blocked"}
    assert invoke(tmp_path, "report", ".", "-o", "out.html", "--chip", "ascend,gcu").code == 0
    text = (tmp_path / "out.html").read_text()
    for (_, name), operator in told.items():
        [row] = re.findall(rf"<code>{name}</code></th>(.*?)</tr>", text)
        assert f'<td class="{operator["level"]}">{operator["route"]}</td>' in row
        if operator["level"] == "blocked":
            assert re.search(rf"<code>{name}</code></td><td>[^<]*</td><td><code>a.py:5", text)
    assert "Operators on chips" not in shown_by(page(tmp_path, "."))


@pytest.mark.parametrize(("fixed", "left", "percent"), [(0, 0, 100), (1, 2, 33), (999, 1, 99)])
def test_readiness_is_never_rounded_up(fixed: int, left: int, percent: int) -> None:
    assert Readiness("", fixed, left).percent == percent


def test_a_page_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    tree(tmp_path, {"a.py": PLAIN})
    run = invoke(tmp_path, "report", ".", "-o", "gone/out.html")
    assert (run.code, run.err) == (2, "flmigrate: gone/out.html: No such file or directory\n")
    assert invoke(tmp_path, "report", ".").code == 2


# What a browser says of the page: told by a script that the test adds to a copy of it.
_PROBE = """<script>
const told = document.body.dataset;
const page = document.documentElement;
page.style.width = "WIDTHpx"; // a window of Chromium is never narrower than 500
told.over = Math.max(page.scrollWidth - page.clientWidth, ...[...document.querySelectorAll("*")]
  .filter(part => !part.closest(".wide > *"))
  .map(part => Math.floor(part.getBoundingClientRect().right) - WIDTH));
const style = getComputedStyle(document.body);
told.ground = style.backgroundColor; told.text = style.color;
const search = document.getElementById("search");
search.value = "mem_get_info"; search.dispatchEvent(new Event("input"));
told.found = document.querySelectorAll("[data-row]:not([hidden])").length;
search.value = ""; search.dispatchEvent(new Event("input"));
const reached = document.querySelectorAll("input, summary, [tabindex='0']");
told.reached = [...reached].filter(part => (part.focus(), document.activeElement === part)).length;
told.wanted = reached.length;
</script>"""


@pytest.mark.skipif(BROWSER is None, reason="no Chromium to show the page in")
@pytest.mark.parametrize("width", [1280, 400])
def test_a_browser_shows_the_page_in_light_and_dark(tmp_path: Path, width: int) -> None:
    tree(tmp_path, {"a_long_folder_name/" * 6 + "a.py": MOVE + ASK, "b.py": OPERATORS})
    assert invoke(tmp_path, "report", ".", "-o", "out.html", "--chip", "all").code == 0
    probe = _PROBE.replace("WIDTH", str(width - 15))  # without the scroll bar
    probed = tmp_path / "probed.html"
    probed.write_text((tmp_path / "out.html").read_text().replace("</body>", f"{probe}</body>"))
    images, grounds = [], []
    for scheme, name in ((1, "light"), (0, "dark")):
        options = [f"--window-size={width},900", f"--blink-settings=preferredColorScheme={scheme}"]
        told = _told(_browse(*options, "--dump-dom", probed.as_uri()))
        assert int(told["over"]) <= 0  # nothing sticks out
        assert told["text"] != told["ground"]
        assert told["found"] == "1"
        assert told["reached"] == told["wanted"] != "0"
        grounds.append(told["ground"])
        image = tmp_path / f"{name}.png"
        _browse(*options, f"--screenshot={image}", (tmp_path / "out.html").as_uri())
        images.append(image.read_bytes())
        assert images[-1].startswith(b"\x89PNG")
        assert len(images[-1]) > 5_000  # an empty page of this size has 4 kB
    assert grounds == ["rgb(255, 255, 255)", "rgb(13, 17, 23)"]
    assert images[0] != images[1]


def _browse(*options: str) -> str:
    assert BROWSER is not None
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", *options]
    return subprocess.run(command, check=True, capture_output=True).stdout.decode()


def _told(dom: str) -> dict[str, str]:
    [body] = re.findall(r"<body ([^>]*)>", dom)
    return dict(re.findall(r'data-(\w+)="([^"]*)"', body))
