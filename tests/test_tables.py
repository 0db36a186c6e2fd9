"""The vendor and target tables: complete, true to the facts, and strict about mistakes."""

from __future__ import annotations

import ast
import csv
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from flmigrate.table_checks import HOLE
from flmigrate.tables import Api, TableError, Target, load_target, load_vendors

DATA = Path(__file__).parent / "data"
DOCS = Path(__file__).parent.parent / "docs"


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


VENDORS = words("cuda rocm npu musa mlu gcu xpu hpu mps xla sdaa supa")

# Names of torch 2.10 outside torch.flagos that fl.toml may write.
TORCH = words(
    """
    torch.AcceleratorError torch.OutOfMemoryError torch.autocast torch.bfloat16 torch.seed
    torch.accelerator._get_device_index torch.accelerator.set_device_index
    torch.accelerator.set_stream torch.amp torch.amp.GradScaler torch.amp.autocast
    torch.amp.custom_bwd torch.amp.custom_fwd torch.distributed.is_backend_available
    torch.get_autocast_dtype torch.set_autocast_dtype torch.is_autocast_enabled
    torch.set_autocast_enabled torch.random.fork_rng torch.autograd.graph.save_on_cpu
    torch.nn.parallel.DistributedDataParallel torch.profiler.ProfilerActivity.PrivateUse1
    torch.profiler.record_function
    """
)
# torch.accelerator in torch 2.10, and what the neutral entries need beside it.
NEUTRAL = TORCH | frozenset(
    {
        "torch.Event",
        "torch.Stream",
        "torch.manual_seed",
        "torch.get_device_module",
        "torch.distributed.get_default_backend_for_device",
    }
    | {
        f"torch.accelerator.{name}"
        for name in words("""
        current_accelerator current_device_index current_stream device_count device_index
        empty_cache get_device_capability get_memory_info is_available max_memory_allocated
        max_memory_reserved memory_allocated memory_reserved memory_stats
        reset_accumulated_memory_stats reset_peak_memory_stats synchronize
        """)
    }
)
# Names of fl.toml that the list of facts does not have: found in real code, or other homes.
EXTRA = words(
    """
    torch.cuda._utils._get_device_index torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction
    torch.backends.cuda.matmul.allow_fp16_accumulation
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction
    torch.backends.cuda.matmul.fp32_precision torch.backends.cudnn.conv.fp32_precision
    torch.backends.cudnn.rnn.fp32_precision
    """
)


@pytest.fixture(scope="module")
def fl() -> Target:
    return load_target("fl", validate=True)


@pytest.fixture(scope="module")
def accelerator() -> Target:
    return load_target("accelerator", validate=True)


def facts() -> dict[str, str]:
    """The checked-in list: what was found out about each name under Torch-FL."""
    lines = (DATA / "torch_cuda_names.csv").read_text(encoding="utf-8").splitlines()
    rows = csv.DictReader(line for line in lines if not line.startswith("#"))
    return {row["name"]: row["status"] for row in rows}


def entry(target: Target, name: str) -> Api:
    found = target.lookup(name)
    assert found is not None, name
    return found


def written_names(target: Target) -> Iterator[tuple[str, str]]:
    """Every dotted torch name that the target's entries write, with the entry's name."""
    for api in target.api.values():
        texts = [api.to, api.call, api.value, api.statement, api.index_to, api.import_to]
        for text in [*texts, api.first, *api.append]:
            source = HOLE.sub("_hole", (text or "").replace("$*", "*_rest"))
            if text and (text is api.first or text in api.append):
                source = f"f({source})"
            nodes = list(ast.walk(ast.parse(source)))
            inner = {n.value for n in nodes if isinstance(n, ast.Attribute)}
            for node in nodes:
                if isinstance(node, ast.Attribute) and node not in inner:
                    path = ast.unparse(node)
                    if re.fullmatch(r"torch(_fl)?(\.\w+)+", path):
                        yield api.name, path


# --- the packaged tables -------------------------------------------------------------------


def test_all_vendors_are_there_and_serveable() -> None:
    assert sorted(load_vendors()) == sorted(VENDORS)
    for target in ("fl", "accelerator"):
        assert load_target(target).serves <= set(VENDORS)


def test_fl_serves_the_vendors_of_torch_fls_chips(fl: Target) -> None:
    assert fl.serves == {"cuda", "rocm", "npu", "musa", "mlu", "gcu"}


def test_every_known_name_has_its_status(fl: Target) -> None:
    known = facts()
    assert len(known) == 345
    found: dict[str, str] = {name: api.status for name, api in {**fl.api, **fl.attributes}.items()}
    found |= fl.related
    assert {name: found.get(name) for name in known} == known


def test_no_torch_cuda_name_was_made_up(fl: Target) -> None:
    ours = {n for n in fl.api if n.startswith(("torch.cuda.", "torch.backends."))}
    assert ours - set(facts()) == EXTRA
    assert set(fl.related) <= set(facts())


def test_fl_only_writes_names_that_exist(fl: Target) -> None:
    surface = set((DATA / "flagos_surface.txt").read_text(encoding="utf-8").split())
    homes = {api.name for api in fl.api.values() if api.in_place}
    written = set(written_names(fl))
    assert len(written) > 100
    assert {(name, path) for name, path in written if path not in surface | TORCH | homes} == set()


def test_accelerator_only_writes_names_that_exist(accelerator: Target) -> None:
    homes = {api.name for api in accelerator.api.values() if api.in_place}
    written = set(written_names(accelerator))
    assert len(written) > 100
    assert {(name, path) for name, path in written if path not in NEUTRAL | homes} == set()


def test_both_targets_know_the_same_names(fl: Target, accelerator: Target) -> None:
    # DistributedDataParallel needs a change under Torch-FL only.
    only_fl = {name for name in fl.api if name not in accelerator.api}
    assert only_fl == {
        "torch.nn.parallel.DistributedDataParallel",
        "torch.nn.parallel.distributed.DistributedDataParallel",
    }
    assert set(accelerator.api) <= set(fl.api)
    assert accelerator.tensor_types == fl.tensor_types


def test_every_tensor_type_has_an_entry_for_its_own_rule(fl: Target) -> None:
    for name in fl.tensor_types:
        assert entry(fl, f"torch.cuda.{name}").group == "tensor-type"


def test_capabilities_are_never_mapped(fl: Target, accelerator: Target) -> None:
    for target in (fl, accelerator):
        for name in ("torch.cuda.get_device_capability", "torch.version.cuda", "torch.version.hip"):
            api = entry(target, name)
            assert api.capability
            assert (api.to, api.call, api.value) == (None, None, None)


def test_notes_are_inline_where_nothing_can_be_done(fl: Target) -> None:
    for api in fl.api.values():
        if api.status == "none":
            assert api.inline, api.name
        elif api.inline:  # its values mislead wherever it is used
            assert api.status == "partial" and api.note, api.name


def test_other_homes_of_a_function_share_its_entry(fl: Target) -> None:
    stats = entry(fl, "torch.cuda.memory.max_memory_cached")
    assert stats.name == "torch.cuda.memory.max_memory_cached"
    assert stats.call == 'torch.flagos.memory_stats($device).get("peak_reserved_bytes", 0)'
    assert stats.indices == ("device",)


def test_a_name_that_stays_stays_in_each_of_its_homes(fl: Target) -> None:
    for name in ("torch.amp.GradScaler", "torch.amp.grad_scaler.GradScaler", "torch.GradScaler"):
        scaler = entry(fl, name)
        assert scaler.in_place
        assert (scaler.to, scaler.first, scaler.unless) == (name, '"flagos"', "device")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("torch.cuda.synchronize", {"status": "exact", "to": "torch.flagos.synchronize"}),
        (
            "torch.cuda.set_device",
            {"indices": ("device",), "index_to": "torch.accelerator.set_device_index"},
        ),
        (
            "torch.cuda.amp.autocast",
            {
                "to": "torch.autocast",
                "import_to": "torch.amp.autocast",
                "first": '"flagos"',
                "keyword": True,
                "params": ("enabled", "dtype", "cache_enabled"),
            },
        ),
        (
            "torch.cuda.get_device_name",
            {"call": "torch.flagos.get_device_properties($device).name", "indices": ("device",)},
        ),
        (
            "torch.cuda.set_rng_state_all",
            {
                "statement": "for i, s in enumerate($new_states):\n"
                "    torch.flagos.set_rng_state(s, i)"
            },
        ),
        ("torch.nn.parallel.DistributedDataParallel", {"keyword": True, "positional": 1}),
        ("torch.distributed.Backend.NCCL", {"value": '"flagos"'}),
        ("torch.cuda.set_stream", {"status": "respell", "to": "torch.accelerator.set_stream"}),
        ("torch.cuda.graph", {"status": "none", "group": "graph", "to": None}),
    ],
)
def test_fl_entries(fl: Target, name: str, expected: dict[str, object]) -> None:
    api = entry(fl, name)
    assert {key: getattr(api, key) for key in expected} == expected


def test_a_name_without_an_entry_is_none(fl: Target) -> None:
    assert fl.lookup("torch.cuda.no_such_function") is None
    assert fl.lookup("torch.nn.Linear") is None


def test_memory_statistics_keys(fl: Target, accelerator: Target) -> None:
    assert fl.memory_stats_keys["reserved_bytes.all.peak"] == "peak_reserved_bytes"
    assert fl.memory_stats_keys["active_bytes.all.current"] == ""
    assert not accelerator.memory_stats_keys  # the keys stay


def test_the_accelerator_target_needs_no_import(accelerator: Target) -> None:
    assert accelerator.import_statement is None
    assert accelerator.device_type is None
    assert accelerator.device_expression == "torch.accelerator.current_accelerator().type"


def test_tables_cannot_be_changed_by_accident(fl: Target) -> None:
    with pytest.raises(TypeError):
        fl.api["torch.cuda.x"] = entry(fl, "torch.cuda.init")  # type: ignore[index]


# --- vendors -------------------------------------------------------------------------------


def test_a_vendor_is_found_by_each_of_its_words() -> None:
    vendors = load_vendors()
    npu = vendors["npu"]
    assert vendors.vendor_of_device("npu") is npu
    assert vendors.vendor_of_namespace("torch_npu.npu") is npu
    assert vendors.vendor_of_namespace("torch.npu.amp") is None
    assert vendors.vendor_of_plugin("torch_npu.contrib.transfer_to_npu") is npu
    assert vendors.vendor_of_method("npu") is npu
    assert vendors.vendor_of_attribute("is_npu") is npu
    assert vendors.vendor_of_variable("ASCEND_RT_VISIBLE_DEVICES") is npu
    assert vendors.vendor_of_helper("is_torch_npu_available") is npu
    assert vendors.vendor_of_version("torch.version.cann") is npu
    assert vendors.vendor_of_device("cpu") is None
    assert vendors.vendor_of_plugin("torch_npux") is None


def test_a_backend_name_may_have_two_vendors() -> None:
    vendors = load_vendors()
    assert {v.name for v in vendors.vendors_of_backend("hccl")} == {"npu", "hpu"}
    assert [v.name for v in vendors.vendors_of_backend("mccl")] == ["musa"]
    assert vendors.vendors_of_backend("gloo") == ()


def test_a_library_is_matched_by_whole_names() -> None:
    vendors = load_vendors()
    assert [v.name for v in vendors.vendors_of_library("flash_attn.bert_padding")] == ["cuda"]
    assert [v.name for v in vendors.vendors_of_library("numba.cuda.jit")] == ["cuda"]
    assert vendors.vendors_of_library("numba") == ()
    assert vendors.vendors_of_library("flash_attn_tools") == ()


@pytest.mark.parametrize(
    ("path", "canonical"),
    [
        ("torch.npu.amp.autocast", "torch.cuda.amp.autocast"),
        ("torch_mlu.mlu.synchronize", "torch.cuda.synchronize"),
        ("torch.cuda.synchronize", "torch.cuda.synchronize"),
        ("torch.musa", "torch.cuda"),
        ("torch.npus.x", "torch.npus.x"),
        ("torch.nn.Linear", "torch.nn.Linear"),
    ],
)
def test_vendor_names_mirror_torch_cuda(path: str, canonical: str) -> None:
    assert load_vendors().canonical(path) == canonical


def test_every_vendor_says_where_its_facts_come_from() -> None:
    for vendor in load_vendors().values():
        assert vendor.source
        assert vendor.title


VENDOR = """\
schema = 1
name = "zpu"
title = "Z"
source = "z"
device-types = ["zpu"]
namespaces = ["torch.zpu"]
"""


def write(tmp_path: Path, name: str, text: str) -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_users_own_vendor_joins_the_packaged_ones(tmp_path: Path) -> None:
    vendors = load_vendors([write(tmp_path, "zpu.toml", VENDOR)])
    assert len(vendors) == len(VENDORS) + 1
    assert vendors.canonical("torch.zpu.synchronize") == "torch.cuda.synchronize"
    assert "zpu" not in load_vendors()


@pytest.mark.parametrize(
    ("line", "key", "message"),
    [
        ('namespaces = ["torch.npu"]', "namespaces", "'torch.npu' belongs to vendor 'npu' already"),
        ('methods = ["cuda"]', "methods", "'cuda' belongs to vendor 'cuda' already"),
        ('name = "cuda"', "name", "must be the file's own name, 'zpu'"),
        ("schema = 2", "schema", "must be 1, not 2"),
        ('device-type = ["zpu"]', "device-type", "unknown key; known here are schema, name"),
        ('plugins = "torch_zpu"', "plugins", "must be a list of different, non-empty strings"),
        ('plugins = ["a", "a"]', "plugins", "must be a list of different, non-empty strings"),
        ("title = 3", "title", "must be a non-empty string, not 3"),
    ],
)
def test_a_wrong_vendor_is_refused(tmp_path: Path, line: str, key: str, message: str) -> None:
    written = line.partition(" = ")[0]
    lines = [text for text in VENDOR.splitlines() if not text.startswith(f"{written} =")]
    path = write(tmp_path, "zpu.toml", "\n".join([*lines, line]) + "\n")
    with pytest.raises(TableError) as caught:
        load_vendors([path])
    assert str(caught.value).startswith(f"{path}:{len(lines) + 1}: {key}: {message}")


def test_two_files_cannot_be_the_same_vendor(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    paths = [write(tmp_path / folder, "zpu.toml", VENDOR) for folder in ("a", "b")]
    with pytest.raises(TableError, match=r":2: name: 'zpu' is already the vendor of .*a.zpu.toml"):
        load_vendors(paths)


# --- a user's own target -------------------------------------------------------------------


def test_the_documented_example_is_a_working_target(tmp_path: Path) -> None:
    page = (DOCS / "tables.md").read_text(encoding="utf-8")
    example = next(text for text in re.findall(r"```toml\n(.*?)```", page, re.S) if "cur_" in text)
    target = load_target(str(write(tmp_path, "platform.toml", example)))
    assert target.device_expression == "cur_platform.device_name()"
    assert target.import_statement == "from myproj.platform import cur_platform"
    assert target.import_where == "every-file"
    assert entry(target, "torch.cuda.synchronize").to == "cur_platform.synchronize"


def test_the_page_names_every_key() -> None:
    from flmigrate import table_schema as schema

    page = (DOCS / "tables.md").read_text(encoding="utf-8")
    for keys in (
        schema.VENDOR_KEYS,
        schema.TARGET_KEYS,
        schema.DEVICE_KEYS,
        schema.IMPORT_KEYS,
        schema.API_KEYS,
    ):
        assert [key for key in keys if f"`{key}`" not in page and f"`[{key}" not in page] == []
    assert [status for status in schema.STATUSES if f"`{status}`" not in page] == []


def test_a_target_may_serve_a_users_own_vendor(tmp_path: Path) -> None:
    text = TARGET.replace('serves = ["cuda", "npu"]', 'serves = ["zpu"]')
    path = str(write(tmp_path, "mine.toml", text))
    with pytest.raises(TableError, match="serves: 'zpu' is no vendor; known are cuda, "):
        load_target(path)
    vendors = load_vendors([write(tmp_path, "zpu.toml", VENDOR)])
    assert load_target(path, vendors).serves == {"zpu"}


def test_a_users_target_is_read_again_after_it_changed(tmp_path: Path) -> None:
    path = write(tmp_path, "mine.toml", TARGET)
    assert load_target(str(path)).title == "Mine"
    write(tmp_path, "mine.toml", TARGET.replace('"Mine"', '"Yours"'))
    assert load_target(str(path)).title == "Yours"


def test_windows_line_ends_and_a_byte_order_mark_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(b"\xef\xbb\xbf" + TARGET.replace("\n", "\r\n").encode())
    assert load_target(str(path)).device_type == "mine"


def test_an_unknown_target_name_lists_the_known_ones() -> None:
    with pytest.raises(TableError, match="flagos: no such target; known are accelerator, fl, or"):
        load_target("flagos")


TARGET = """\
schema = 1
name = "mine"
title = "Mine"
source = "mine"
serves = ["cuda", "npu"]

[device]
type = "mine"
namespace = "torch.mine"
move = '"mine"'
test = '__0__.device.type == "mine"'

[imports]
statement = "import torch_mine as tm"

[api."torch.cuda.init"]
status = "exact"
to = "torch.mine.init"
"""
ENTRY = 'status = "exact"\nto = "torch.mine.init"\n'


def refused(tmp_path: Path, text: str) -> TableError:
    """The error for a target file; its line must be the one that ends in ``# !``."""
    path = write(tmp_path, "mine.toml", text)
    with pytest.raises(TableError) as caught:
        load_target(str(path))
    error = caught.value
    place = f"{path}:{error.line}"
    assert str(error) == ": ".join(part for part in (place, error.key, error.message) if part)
    assert [n for n, line in enumerate(text.splitlines(), 1) if line.endswith("# !")] == [
        error.line
    ]
    return error


@pytest.mark.parametrize(
    ("old", "new", "key", "message"),
    [
        ("schema = 1", "schema = 3 # !", "schema", "must be 1, not 3"),
        ('title = "Mine"', 'title = "" # !', "title", "must be a non-empty string, not ''"),
        ('title = "Mine"', 'titel = "Mine" # !', "titel", "unknown key; known here are schema,"),
        ('["cuda", "npu"]', '"cuda" # !', "serves", "must be a list of different, non-empty"),
        ('["cuda", "npu"]', "[] # !", "serves", "must name at least one vendor"),
        ('["cuda", "npu"]', '["gpu"] # !', "serves", "'gpu' is no vendor; known are cuda, gcu,"),
        ('type = "mine"', "type = true # !", "device.type", "must be a non-empty string, not True"),
        ('type = "mine"', 'kind = "mine" # !', "device.kind", "unknown key; known here are type"),
        (
            'type = "mine"',
            'type = "mine" # !\nexpression = "tm.device()"',
            "device.type",
            "exactly one of type and expression is needed",
        ),
        (
            'type = "mine"',
            'type = "mine"\nbackend = "b" # !\nbackend-expression = "tm.backend()"',
            "device.backend",
            "only one of backend and backend-expression may be set",
        ),
        ("move = '\"mine\"'", "move = 'mine(' # !", "device.move", "is not valid Python"),
        ("move = '\"mine\"'", "move = 'mine' # !", "device.move", "'mine' is not bound by torch"),
        (
            '"import torch_mine as tm"',
            '"import tm"\nwhere = "top" # !',
            "imports.where",
            "must be one of entry-points, every-file, not 'top'",
        ),
        (
            '"import torch_mine as tm"',
            '"print(1)" # !',
            "imports.statement",
            "must be an import statement",
        ),
        ('"import torch_mine as tm"', '"import" # !', "imports.statement", "is not valid Python"),
        (
            '"import torch_mine as tm"',
            '"import tm"\nmarker = "noqa" # !',
            "imports.marker",
            "must be a comment, starting with #",
        ),
        (
            "[imports]",
            '[related]\n"x.pin_memory()" = "fine" # !\n[imports]',
            'related."x.pin_memory()"',
            "must be one of exact, respell, partial, keep, none, not 'fine'",
        ),
        (
            '[api."torch.cuda.init"]',
            '[api."torch cuda"] # !',
            'api."torch cuda"',
            "is not a dotted name",
        ),
        (
            f'[api."torch.cuda.init"]\n{ENTRY}',
            '[api]\n"torch.cuda.init" = "torch.mine.init" # !\n',
            'api."torch.cuda.init"',
            "must be a table with at least a status",
        ),
        # the target is itself a source: a second run would migrate it again
        ('type = "mine"', 'type = "npu" # !', "device.type", "'npu' belongs to vendor npu, which"),
        ('type = "mine"', 'type = "mine"\nmethod = "npu" # !', "device.method", "'npu' belongs"),
        (
            'type = "mine"',
            'type = "mine"\nbackend = "hccl" # !',
            "device.backend",
            "'hccl' belongs",
        ),
        ("move = '\"mine\"'", "move = '\"cuda:0\"' # !", "device.move", "'cuda:0' belongs to"),
        ('"torch.mine"', '"torch.npu" # !', "device.namespace", "torch.npu belongs to vendor npu"),
        # no TOML
        ('name = "mine"', "name = mine # !", "name", "is not TOML: Invalid value"),
        ('name = "mine"', 'name = "mine"\nname = "yours" # !', "name", "is not TOML: Cannot over"),
        ('name = "mine"', "name # !", "", "is not TOML: Expected '=' after a key"),
    ],
)
def test_a_wrong_target_is_refused(
    tmp_path: Path, old: str, new: str, key: str, message: str
) -> None:
    assert old in TARGET
    error = refused(tmp_path, TARGET.replace(old, new))
    assert error.key == key
    assert message in error.message


@pytest.mark.parametrize(
    ("entry", "key", "message"),
    [
        # keys and values
        ('status = "same" # !', "status", "must be one of exact, respell, partial, keep, none"),
        ('to = "a.b"', "status", "is required"),
        ('status = "exact"\nstat = 1 # !', "stat", "unknown key; known here are status, to"),
        ('status = "exact"\nto = ["a"] # !', "to", "must be a non-empty string, not ['a']"),
        ('status = "exact"\nkeyword = "yes" # !', "keyword", "must be true or false, not 'yes'"),
        ('status = "exact"\npositional = true # !', "positional", "must be a whole number"),
        # keys that do not go together
        ('status = "exact"', "to", "is required by status exact"),
        ('status = "keep"\nto = "torch.x" # !', "to", "has no place in an entry with status keep"),
        ('status = "none"', "note", "is required by status none"),
        ('status = "partial"\nto = "torch.x"', "note", "is required by status partial, unless"),
        ('status = "respell"', "to", "status respell needs to, call, value, statement or a note"),
        ('status = "respell"\nfirst = "1"', "to", "is required by first"),
        (
            'status = "respell"\nto = "torch.x"\nfirst = "1"\ncall = "torch.x()" # !',
            "call",
            "cannot be combined with first",
        ),
        (
            'status = "respell"\nto = "torch.cuda.init"\nfirst = "1"',
            "unless",
            "is required where arguments are added to the same name",
        ),
        (f'{ENTRY}index = ["d"] # !', "index", "'d' is none of params"),
        (f'{ENTRY}unless = "d" # !', "unless", "'d' is none of params"),
        (f'{ENTRY}index-to = "torch.y" # !', "index-to", "needs index"),
        (f"{ENTRY}keyword = true", "params", "is required by keyword"),
        (f"{ENTRY}positional = 1 # !", "positional", "needs keyword = true"),
        (
            f'{ENTRY}params = ["p"]\nkeyword = true\npositional = 2 # !',
            "positional",
            "must be from 1 to 1",
        ),
        # templates
        (f'{ENTRY}call = "torch.f(" # !', "call", "is not valid Python"),
        (f'{ENTRY}call = "torch.f($)" # !', "call", "is not valid Python"),
        (f'{ENTRY}call = "torch.f($d)" # !', "call", "$d is none of params"),
        (f'{ENTRY}value = "torch.f($*)" # !', "value", "may have no holes"),
        (f'{ENTRY}statement = "for" # !', "statement", "is not valid Python"),
        (f'{ENTRY}first = "1, 2" # !', "first", "'1, 2' is not one argument"),
        (f'{ENTRY}append = ["1"] # !', "append", "'1' is not of the form name=expression"),
        (f'{ENTRY}call = "torch_mine.f()" # !', "call", "'torch_mine' is not bound by torch"),
        ('status = "exact"\nto = "torch.f()" # !', "to", "'torch.f()' is not a dotted name"),
        ('status = "exact"\nto = "mine.init" # !', "to", "'mine' is not bound by torch, Python"),
        # a second run would go on
        ('status = "exact"\nto = "torch.npu.init" # !', "to", "torch.npu belongs to vendor npu"),
        (
            'status = "exact"\nto = "torch.b" # !\n'
            '[api."torch.b"]\nstatus = "exact"\nto = "torch.c"',
            "to",
            "torch.b is itself a name that this table changes",
        ),
    ],
)
def test_a_wrong_entry_is_refused(tmp_path: Path, entry: str, key: str, message: str) -> None:
    # Where a key is missing, the line is that of the entry's header.
    mark = "" if "# !" in entry else " # !"
    body = f'[api."torch.cuda.init"]{mark}\n{entry}\n'
    error = refused(tmp_path, TARGET.replace(f'[api."torch.cuda.init"]\n{ENTRY}', body))
    assert error.key == f'api."torch.cuda.init".{key}'
    assert message in error.message


def test_one_name_cannot_have_two_entries(tmp_path: Path) -> None:
    twice = '[api."torch.cuda.late"] # !\nstatus = "keep"\nalso = ["torch.cuda.init"]\n'
    error = refused(tmp_path, TARGET + twice)
    assert error.message == "there is an entry for torch.cuda.init already"


def test_templates_may_use_their_import_builtins_and_their_own_variables(tmp_path: Path) -> None:
    body = """\
status = "respell"
call = "[tm.f(i, $seed) for i in range(len($all))]"
value = "lambda x: torch.f(x)"
statement = "for n, s in enumerate($all):\\n    tm.g(s, n)"
params = ["seed", "all"]
"""
    path = write(tmp_path, "mine.toml", TARGET.replace(ENTRY, body))
    api = entry(load_target(str(path)), "torch.cuda.init")
    assert api.statement == "for n, s in enumerate($all):\n    tm.g(s, n)"


def test_a_missing_or_unreadable_file_is_named(tmp_path: Path) -> None:
    missing = tmp_path / "missing.toml"
    with pytest.raises(TableError) as caught:
        load_target(str(missing))
    assert str(caught.value) == f"{missing}: cannot be read: No such file or directory"
    with pytest.raises(TableError, match="cannot be read"):
        load_vendors([tmp_path])
    path = tmp_path / "latin.toml"
    path.write_bytes('title = "Ger\xe4t"'.encode("latin-1"))
    with pytest.raises(TableError, match="is not UTF-8 text"):
        load_target(str(path))


def test_a_line_is_found_behind_a_multi_line_string(tmp_path: Path) -> None:
    body = "statement = '''\n[api.fake]\nto = 1\nfor x in ():\n    pass'''\nto = 5 # !\n"
    error = refused(tmp_path, TARGET.replace(ENTRY, f'status = "exact"\n{body}'))
    assert error.message == "must be a non-empty string, not 5"
