"""The vocabulary: which names are vendor code, and the words that a file is filtered by."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flmigrate import rewrite_source
from flmigrate.analysis.vocabulary import Vocabulary, may_concern
from flmigrate.config import Config
from flmigrate.manifests.store import check_chips
from flmigrate.runner import Job, vocabulary_for
from tests.corpus_cases import Case, load_cases

TARGETS = ["fl", "accelerator"]


@pytest.fixture(params=TARGETS)
def vocabulary(request: pytest.FixtureRequest) -> Vocabulary:
    return vocabulary_for(request.param)


def passes(vocabulary: Vocabulary, text: str) -> bool:
    return may_concern(text.encode(), vocabulary.words)


# --- the filter lets through whatever a rule may report -------------------------------------


def test_every_name_of_the_table_passes(vocabulary: Vocabulary) -> None:
    spelled = [path for path, entry in vocabulary.target.api.items() if entry.status != "keep"]
    assert len(spelled) > 200
    for path in spelled:
        module, _, name = path.rpartition(".")
        assert passes(vocabulary, f"import torch\n{path}()\n"), path
        assert passes(vocabulary, f"from {module} import {name} as x\nx()\n"), path
        assert passes(vocabulary, f"import {module} as x\nx.{name}()\n"), path


def test_every_vendor_that_is_served_passes(vocabulary: Vocabulary) -> None:
    assert len(vocabulary.served) >= 6
    for vendor in vocabulary.served:
        for device_type in vendor.device_types:
            assert passes(vocabulary, f'x.to("{device_type}")\n')
            assert passes(vocabulary, f'x.to("{device_type}:0")\n')
            assert passes(vocabulary, f'x.to(f"{device_type}:{{rank}}")\n')
            assert passes(vocabulary, f"x.to('{device_type}:%d' % rank)\n")
        for namespace in vendor.namespaces:
            assert passes(vocabulary, f"import torch\n{namespace}.anything()\n")
        for method in vendor.methods:
            assert passes(vocabulary, f"x.{method}()\n")
        for attribute in vendor.attributes:
            assert passes(vocabulary, f"x.{attribute}\n")
        for backend in vendor.backends:
            assert passes(vocabulary, f'd.init_process_group("{backend}")\n')
            assert passes(vocabulary, f'backend = "cpu:gloo,x:{backend}"\n')
        for library in (*vendor.plugins, *vendor.libraries):
            assert passes(vocabulary, f"import {library}\n"), library
            assert passes(vocabulary, f"from {library} import x\n"), library


def test_every_environment_variable_passes(vocabulary: Vocabulary) -> None:
    assert "CUDA_VISIBLE_DEVICES" in vocabulary.environment
    for name in vocabulary.environment:
        assert passes(vocabulary, f'import os\nos.environ["{name}"] = "0"\n'), name


def test_own_comments_pass(vocabulary: Vocabulary) -> None:
    assert passes(vocabulary, "# flmigrate: FL103 gone\nx\n")


ROOT = Path(__file__).parent
CASES = [case for case in load_cases() if case.changes or case.left or case.told]
# Where what is only possible is asked for, every file is looked at.
CASES = [case for case in CASES if not case.options.possible]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_case_of_the_corpus_passes(case: Case) -> None:
    config = Config(ROOT, target=case.options.target, chips=check_chips(case.options.chips))
    words = Job(config).words(vocabulary_for(case.options.target))
    changed = [file for file in case.files if file.changes and b"import torch_fl" not in file.after]
    for file in changed:
        assert may_concern(file.before, words)
    if case.left and len(case.files) == 1:
        assert may_concern(case.files[0].before, words)


# --- and nothing that only looks like it ----------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "",
        "import torch\nx = torch.zeros(1).to(device)\n",
        "timestamps = cudagraph + npus + musashi + milu + hipster\n",
        "cuda_ = _cuda = cuda2 = xcuda = 1\n",
        "def load(version, enabled=True, flags=()): return benchmark.is_available()\n",
        "from core import conv, rnn, matmul\nOptions()\n",
        'open("model/core.json")\n',
    ],
)
def test_file_without_a_vendor_word_is_not_parsed(vocabulary: Vocabulary, text: str) -> None:
    assert not passes(vocabulary, text)


@pytest.mark.parametrize(
    "text", ["cuda", "x.cuda", "'cuda'", "(cuda)", "a=cuda;b", "#cuda\r", "\tcuda\f"]
)
def test_word_is_bounded_by_anything_but_letters(text: str) -> None:
    assert passes(vocabulary_for("fl"), text)


def test_bytes_that_are_no_ascii_belong_to_words() -> None:
    words = vocabulary_for("fl").words
    assert not may_concern("écuda cudaé".encode(), words)
    assert not may_concern("écuda cudaé".encode("latin-1"), words)
    assert may_concern("é cuda".encode("latin-1"), words)


@given(st.text(alphabet="acdnpu_.\"'(): \n1é", max_size=40))
@settings(max_examples=300, deadline=None)
def test_text_that_the_filter_stops_is_never_changed(text: str) -> None:
    if not passes(vocabulary_for("fl"), text):
        result = rewrite_source(text)
        assert result.after == text
        assert result.left == ()


# --- names ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "canonical"),
    [
        ("torch.cuda", "torch.cuda"),
        ("torch.cuda.synchronize", "torch.cuda.synchronize"),
        ("torch.npu.synchronize", "torch.cuda.synchronize"),
        ("torch_npu.npu.synchronize", "torch.cuda.synchronize"),
        ("torch.musa", "torch.cuda"),
        ("torch.mlu.Stream.query", "torch.cuda.Stream.query"),
        ("torch.gcu.a.b", "torch.cuda.a.b"),
        ("torch.npu_extra.f", "torch.npu_extra.f"),
        ("torch_npu.profiler", "torch_npu.profiler"),
        ("torch.xpu.synchronize", "torch.xpu.synchronize"),
        ("my.torch.cuda", "my.torch.cuda"),
        ("", ""),
    ],
)
def test_canonical_name(path: str, canonical: str) -> None:
    assert vocabulary_for("fl").canonical(path) == canonical


@pytest.mark.parametrize(
    ("path", "covered"),
    [
        ("torch.cuda.synchronize", "torch.cuda.synchronize"),
        ("torch.npu.synchronize", "torch.npu.synchronize"),
        ("torch.npu.Stream.wait_event", "torch.npu.Stream"),
        ("torch.backends.cudnn.benchmark", "torch.backends.cudnn.benchmark"),
    ],
)
def test_meaning_covers_the_name_as_it_is_spelled(path: str, covered: str) -> None:
    meaning = vocabulary_for("fl").meaning(path)
    assert meaning is not None
    assert meaning[0] is not None
    assert meaning[1] == covered


@pytest.mark.parametrize("path", ["torch.cuda", "torch.npu", "torch.cuda.brand_new.f"])
def test_name_in_a_vendor_namespace_without_an_entry(path: str) -> None:
    meaning = vocabulary_for("fl").meaning(path)
    assert meaning is not None
    assert meaning[0] is None


@pytest.mark.parametrize(
    "path", ["torch", "torch.nn.Linear", "numba.cuda.jit", "torch.xpu.empty_cache", "cuda", ""]
)
def test_name_that_means_nothing_to_us(path: str) -> None:
    assert vocabulary_for("fl").meaning(path) is None


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("cuda", True),
        ("cuda:0", True),
        ("npu:", True),
        ("cuda:%d", True),
        ("musa:{}", True),
        ("mlu:{rank}", True),
        ("cuda:%s", True),
        ("cuda0", False),
        ("cuda:0.pt", False),
        ("my_cuda", False),
        ("cuda device", False),
        ("CUDA", False),
        ("cuda:a", False),
        ("xpu", False),
        ("cpu", False),
    ],
)
def test_text_of_a_device(text: str, whole: bool) -> None:
    assert bool(vocabulary_for("fl").device_text.fullmatch(text)) is whole
