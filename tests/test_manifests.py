"""Manifests: what is shipped, how files are read, imports from Torch-FL, results of users."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from flmigrate.cli import main
from flmigrate.manifests.compare import changes
from flmigrate.manifests.conf import chip_of, imported, read_configuration
from flmigrate.manifests.files import DATA, read_manifest
from flmigrate.manifests.hazards import Hazard, load_hazards
from flmigrate.manifests.model import BLOCKED, NATIVE, ON_CPU, ROUTES, ManifestError
from flmigrate.manifests.overlay import read_overlay
from flmigrate.manifests.store import CHIPS, check_chips, load, load_all, names
from flmigrate.rules import RULES


def invoke(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


# --- what is shipped -----------------------------------------------------------------------


@pytest.mark.parametrize("name", names())
def test_a_shipped_manifest_knows_every_overload_of_its_torch(name: str) -> None:
    manifest = load(name)
    assert manifest.name == name
    assert len(manifest.routes) == 3193
    assert manifest.torch == "2.10.0"
    assert manifest.since
    assert manifest.source
    assert set(manifest.counts()) <= ROUTES


@pytest.mark.parametrize(
    ("name", "op", "kind"),
    [
        ("cuda", "mm", "boxed"),
        ("ascend", "mm", "native"),
        ("ascend", "nonzero", "raises"),
        ("ascend+flaggems", "cos", "flaggems"),
        ("gcu", "nonzero", "cpu_fallback"),
        ("gcu", "convolution_overrideable", "unsupported"),
        ("musa", "convolution_overrideable", "native"),
        ("tsingmicro", "add.Tensor", "raises"),
        ("cuda+flaggems_cpp", "_fused_rms_norm", "raises"),
        ("bpu", "linear", "composite"),
    ],
)
def test_routes_are_those_of_the_build(name: str, op: str, kind: str) -> None:
    route = load(name).route(op)
    assert route is not None
    assert route.kind == kind


@pytest.mark.parametrize("name", names())
def test_index_put_goes_through_the_cpu_everywhere(name: str) -> None:
    route = load(name).route("index_put_")
    assert route is not None
    assert (route.kind, route.level) == ("cpu_roundtrip", "cpu")


def test_an_operator_that_is_handed_on_has_the_route_of_where_it_goes() -> None:
    route = load("bpu").route("add.Tensor")
    assert route is not None
    assert (route.kind, route.via, route.level) == ("cpu_fallback", "add.out", "cpu")


def test_an_unknown_operator_has_no_route() -> None:
    assert load("cuda").route("no_such_operator") is None


def test_levels_do_not_overlap() -> None:
    assert not NATIVE & ON_CPU and not NATIVE & BLOCKED and not ON_CPU & BLOCKED


def test_the_data_is_small() -> None:
    assert sum(path.stat().st_size for path in DATA.iterdir()) < 900_000


def test_every_hazard_names_a_rule_and_where_it_was_seen() -> None:
    for hazard in load_hazards().all:
        assert hazard.rule in RULES, hazard.id
        assert hazard.source, hazard.id
        assert hazard.evidence in ("measured", "read", "computed", "reported"), hazard.id


@pytest.mark.parametrize("hazard", load_hazards().all, ids=lambda hazard: hazard.id)
def test_operators_of_hazards_exist(hazard: Hazard) -> None:
    known = load("cuda").routes.keys()
    packets = {op.partition(".")[0] for op in known}
    assert {op for op in hazard.ops if op not in known and op not in packets} == set()


def test_a_hazard_of_a_chip_is_one_of_all_its_configurations() -> None:
    hazard = next(h for h in load_hazards().all if h.id == "ascend-wide-matmul")
    assert hazard.concerns(load("ascend+flaggems"))
    assert not hazard.concerns(load("gcu"))


# --- names ---------------------------------------------------------------------------------


def test_all_stands_for_each_chip_once() -> None:
    assert check_chips(["ascend", "all"])[0] == "ascend"
    assert set(check_chips(["all"])) == set(CHIPS)


@pytest.mark.parametrize(
    ("chip", "message"),
    [
        ("ascned", 'unknown chip "ascned"; did you mean "ascend"?'),
        ("quantum", "known: cuda, ppu"),
        ("kunlunxin", "manifest import"),
        ("missing.json", "no such file"),
    ],
)
def test_an_unknown_chip_is_explained(chip: str, message: str) -> None:
    with pytest.raises(ManifestError) as caught:
        check_chips([chip])
    assert message in str(caught.value)


# --- files ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", ":1: not JSON"),
        ("[]", "must be an object"),
        ('{"schema": 9}', "schema is 9"),
        ('{"schema": 1, "colour": 1}', 'unknown key "colour"'),
        ('{"schema": 1, "chip": 3}', '"chip" must be a string'),
        ('{"schema": 1, "name": "x"}', "a layer, not a manifest"),
        ('{"schema": 1, "chip": "x", "routes": {"warp": []}}', 'unknown route "warp"'),
        ('{"schema": 1, "chip": "x", "routes": {"native": "mm"}}', "list of lines"),
        ('{"schema": 1, "chip": "x", "extends": "me"}', "extends itself"),
        ('{"schema": 1, "chip": "x", "extends": "gone"}', "gone.json"),
    ],
)
def test_a_bad_file_is_refused_by_name(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "me.json"
    path.write_text(text)
    with pytest.raises(ManifestError) as caught:
        read_manifest(path)
    assert message in str(caught.value)
    assert str(tmp_path) in str(caught.value) or "gone.json" in str(caught.value)


def test_a_file_may_build_on_a_shipped_layer(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    data = {"schema": 1, "name": "mine", "chip": "gcu", "extends": "gcu"}
    path.write_text(json.dumps({**data, "routes": {"native": ["nonzero"]}}))
    [change] = changes(load("gcu"), read_manifest(path))
    assert (change.op, change.before, change.after) == ("nonzero", "cpu_fallback", "native")


# --- imports from an installation ----------------------------------------------------------


def configuration(folder: Path, text: str, name: str = "backends.conf") -> Path:
    path = folder / name
    path.write_text(textwrap.dedent(text))
    return path


def test_importing_goes_by_what_a_file_says(tmp_path: Path) -> None:
    path = configuration(
        tmp_path,
        """
        # flagos op backend config for musa -- generated
        mm = flaggems  # musa
        mul.Tensor = musa
        nonzero = none
        """,
        "backends_cuda.conf",
    )
    read = read_configuration(path)
    assert chip_of(read) == "musa"
    out = tmp_path / "mine.json"
    out.write_text(imported(read, chip="musa", name="mine", since="0.2"))
    manifest = read_manifest(out)
    assert manifest.since == "0.2"
    kinds = {op: manifest.routes[op] for op in ("mm", "mul.Tensor", "nonzero")}
    assert kinds == {"mm": "flaggems", "mul.Tensor": "native", "nonzero": "cpu_fallback"}


def test_unlisted_operators_of_an_older_file_raise(tmp_path: Path) -> None:
    path = configuration(tmp_path, "mm = ascend\n")
    out = tmp_path / "mine.json"
    out.write_text(imported(read_configuration(path), chip="ascend", name="mine", since=""))
    manifest = read_manifest(out)
    assert manifest.routes["mm"] == "native"
    assert manifest.routes["nonzero"] == "raises"


@pytest.mark.parametrize("line", ["include base.conf", 'include "base.conf"', "@include base.conf"])
def test_included_files_are_read(tmp_path: Path, line: str) -> None:
    configuration(tmp_path, "mm = cuda\nbmm = cuda\n", "base.conf")
    path = configuration(tmp_path, f"{line}\nbmm = flagos_python\n")
    assert read_configuration(path).backends == {"mm": "cuda", "bmm": "flagos_python"}


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    path = configuration(tmp_path, "mm = cuda\nbmm = warp\nwhat is this\ninclude gone.conf\n")
    read = read_configuration(path)
    assert [problem.removeprefix(str(path)) for problem in read.problems[:2]] == [
        ':2: unknown backend "warp"',
        ":3: neither `operator = backend` nor an include",
    ]
    assert "gone.conf" in read.problems[2]


def test_a_file_that_includes_itself_is_named(tmp_path: Path) -> None:
    path = configuration(tmp_path, "mm = cuda\ninclude backends.conf\n")
    assert read_configuration(path).problems == [f"{path}: includes itself"]


def test_import_command_asks_which_file_where_there_are_several(tmp_path: Path) -> None:
    folder = tmp_path / "torch_fl" / "configs"
    folder.mkdir(parents=True)
    configuration(folder, "mm = musa\n", "base.conf")
    configuration(folder, "include base.conf\nbmm = musa\n", "a.conf")
    configuration(folder, "mm = gcu\n", "b.conf")
    done = invoke("manifest", "import", tmp_path / "torch_fl")
    assert done.exit_code == 2
    assert "a.conf (musa)" in done.output and "b.conf (gcu)" in done.output
    assert "base.conf" not in done.output
    out = tmp_path / "mine.json"
    done = invoke("manifest", "import", tmp_path / "torch_fl", "--config", "a", "-o", out)
    assert done.exit_code == 0
    assert invoke("manifest", "show", out, "--op", "bmm").output.startswith("aten::bmm  native")


def test_import_of_a_folder_without_configurations(tmp_path: Path) -> None:
    done = invoke("manifest", "import", tmp_path)
    assert done.exit_code == 2
    assert "no configuration files" in done.output


# --- results of users ----------------------------------------------------------------------

RESULT = """
[[result]]
chip = "ascend"
op = "aten::cos"
status = "wrong"
date = 2026-11-30
note = "off by 2e-2"
"""


def test_measured_results_go_over_the_facts(tmp_path: Path) -> None:
    path = tmp_path / "measured.toml"
    path.write_text(RESULT)
    mine, other = load_all(("ascend", "gcu"), (str(path),))
    assert mine.measured["cos"].status == "wrong"
    assert mine.measured["cos.out"].date == "2026-11-30"
    assert other.measured == {}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"wrong"', '"meh"', ':2: status "meh" is none of ok, wrong, slow, raises'),
        ("date = 2026-11-30\n", "", ':2: "date" is missing'),
        ('chip = "ascend"\n', "", ':2: "chip" is missing'),
        ("note =", "remark =", ':2: unknown key "remark"'),
        ("[[result]]", "[result", "not TOML"),
        ("[[result]]", "[[results]]", 'unknown key "results"'),
    ],
)
def test_bad_results_are_named_by_file_and_line(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    path = tmp_path / "measured.toml"
    path.write_text(RESULT.replace(old, new))
    with pytest.raises(ManifestError) as caught:
        read_overlay(path)
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)


# --- the command ---------------------------------------------------------------------------


def test_list_names_every_configuration() -> None:
    lines = invoke("manifest", "list").output.splitlines()
    assert [line.split()[0] for line in lines[1:]] == list(names())


def test_show_tells_routes_and_hazards() -> None:
    output = invoke("manifest", "show", "ascend").output
    assert "    native        372" in output
    assert "FL403 ascend-wide-matmul" in output
    assert "  compile   fails" in output


def test_show_of_one_operator() -> None:
    assert invoke("manifest", "show", "gcu", "--op", "aten::mm").output == (
        "aten::mm  native\n"
        "aten::mm.dtype  unsupported\n"
        "aten::mm.dtype_out  unsupported\n"
        "aten::mm.out  native\n"
    )
    done = invoke("manifest", "show", "gcu", "--op", "warp")
    assert (done.exit_code, done.output) == (2, 'flmigrate: gcu: no operator "warp"\n')


def test_diff_counts_and_lists() -> None:
    lines = invoke("manifest", "diff", "musa", "musa+flaggems", "--ops").output.splitlines()
    assert lines[0] == "musa -> musa+flaggems: 7 operators differ"
    assert "aten::index_add  cpu_fallback@index_add.out -> flaggems" in lines
    assert invoke("manifest", "diff", "cuda", "ppu").output == "cuda -> ppu: 0 operators differ\n"


def test_unknown_names_end_with_a_message() -> None:
    done = invoke("manifest", "diff", "cuda", "ascned")
    assert done.exit_code == 2
    assert 'did you mean "ascend"?' in done.output
