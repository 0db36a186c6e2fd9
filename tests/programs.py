"""Programs for the property tests: drawn from pieces, and cases of the corpus that were mutated.

What is drawn parses. It is full of vendor code in many places, most of it in no place that
a table or a rule was written for.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from flmigrate.encoding import UndecodableError, decode
from tests.corpus_cases import load_cases

DEVICES = (
    *('"cuda"', "'cuda:0'", '"npu"', "'npu:1'", 'f"cuda:{i}"', '"cuda:%d" % i', '"cuda:" + str(i)'),
    *('"cpu"', "dev", "i", '"musa:{}".format(i)', "torch.device('cuda', i)", '("cuda")'),
    *('"cu" "da"', "rb'cuda'", '"""cuda"""', '"mps"', "None", "self.device"),
)
ATOMS = (
    *("x", "i", "self.x", "1", "'cuda is here'", "torch.cuda", "torch.cuda.is_available()"),
    *("x.cuda()", "x.is_cuda", "x.npu()", "x . cuda ( i )", "x.cuda(non_blocking=True)"),
    *("torch.cuda.current_device()", "torch.cuda.device_count()", "torch.cuda.mem_get_info()"),
    *("torch.cuda.FloatTensor(2, 3)", "torch.cuda.get_rng_state_all()", "torch.version.cuda"),
    *("torch.cuda.Stream()", "torch.npu.synchronize()", "torch.cuda.memory_stats()['x']"),
    *("torch.cuda.amp.autocast()", "amp.autocast(True)", "autocast(dtype=d)", "gpu.empty_cache()"),
    *("torch.cuda.set_device(i)", "torch.cuda.get_device_capability()[0]", "(yield)", "..."),
)
SHAPES = (
    *("f({0}, *{1}, k={2})", "({0}, {1})", "[{0}, {1}]", "{0} if {1} else {2}", "not {0}"),
    *("{0} and not {1}", "{0} + {1}", "-{0}", "({0})", "({0})[{1}]", "[{0} for x in {1}]"),
    *("(lambda x: {0})", "f'{{{0}!r:>{{i}}}}'", "x.to({3})", "x.to(device={3}, dtype=d)"),
    *("torch.zeros(1, device={3})", "torch.device({3})", "x.device == {3}", "({0}).cuda()"),
    *("torch.load(p, map_location={3})", "x.device.type in ({3}, {4})", "{{{3}: {0}, 'k': {1}}}"),
    *("torch.cuda.memory_allocated({3})", "torch.cuda.synchronize({3})", "{0} < {1} <= {2}"),
    *("str({3}).startswith('cuda')", "getattr({0}, 'cuda')", "f(\n  {0},  # why\n    {1}\n )"),
    *(
        "({0}\n\n  + {1})",
        "g(**{0})",
        "{0} or {1}",
        "x.to({3},\n     non_blocking=True,  # async\n )",
    ),
    *("torch.cuda.max_memory_reserved(\n   {0}\n)", "torch.autocast({3}, dtype=d)"),
)
SIMPLE = (
    *("y = {0}", "{0}", "y: int = {0}", "y += {0}", "a, b = {0}, {1}", "self.z = {0}", "del y"),
    *("assert {0}, 'cuda'", "print('cuda:0', {0})", "y = z = {0} ; w={1}", "pass", "y[{0}] = {1}"),
    *("torch.cuda.set_device({3})", "torch.cuda.empty_cache( )", "y  =   {0}", "y=\\\n  {0}"),
    *(
        "torch.cuda.manual_seed_all({0})",
        "dist.init_process_group('nccl')",
        "torch.cuda.nvtx.mark('a')",
    ),
    *("torch.cuda.set_rng_state_all({0})", "os.environ['CUDA_VISIBLE_DEVICES'] = '0'", "'cuda'"),
    *(
        "import torch",
        "from torch import cuda as gpu",
        "from torch.cuda import amp",
        "import torch_npu",
    ),
    *("from torch.cuda.amp import autocast, GradScaler", "import os, torch.cuda", "raise E({0})"),
)
BLOCKS = (
    *("if {0}:", "while {0}:", "for x in {0}:", "with {0} as w:", "with {0}, {1}:", "class A:"),
    *("class B({0}):", "try:", "def f(x, dev={3}, *a, k={0}, **kw):", "async def g(self, i={3}):"),
    *(
        "@deco({0})\ndef h(x: torch.cuda.Stream) -> 'torch.cuda.Event':",
        "match {0}:",
        "if x.is_cuda:",
    ),
    *("if x.device.type == {3}:", "if torch.cuda.is_available() and {0}:"),
)
COMMENTS = ("", "", "", "  # keep me", "# torch.cuda.x()", " # device='cuda'", "  # noqa: E501")


@st.composite
def expressions(draw: DrawFn, depth: int = 2) -> str:
    """An expression, as text."""
    if depth == 0 or draw(st.integers(0, 2)) == 0:
        return draw(st.sampled_from(ATOMS))
    return _fill(draw, draw(st.sampled_from(SHAPES)), depth - 1)


def _fill(draw: DrawFn, template: str, depth: int) -> str:
    """Put expressions into the holes 0 to 2 of a template and devices into 3 and 4."""
    parts = [draw(expressions(depth)) if f"{{{n}}}" in template else "" for n in range(3)]
    parts += [draw(st.sampled_from(DEVICES)) if f"{{{n}}}" in template else "" for n in (3, 4)]
    return template.format(*parts)


@st.composite
def blocks(draw: DrawFn, indent: str = "", depth: int = 2) -> list[str]:
    """Lines of a block of statements, comments and blank lines."""
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 4))):
        kind = draw(st.integers(0, 9))
        if kind == 0:
            lines.append(draw(st.sampled_from(["", f"{indent}# about cuda", "  \t", "\f"])))
        if kind < 3 and depth:
            header = _fill(draw, draw(st.sampled_from(BLOCKS)), 1)
            lines += _indented(header, indent)
            inner = indent + draw(st.sampled_from(["    ", "  ", "\t"]))
            if header.startswith("match"):
                lines.append(f"{inner}case 'cuda' | torch.device(type='npu'):")
                inner += "  "
            lines += draw(blocks(inner, depth - 1))
            if header.startswith("try"):
                lines += [f"{indent}except (ImportError, torch.cuda.OutOfMemoryError):"]
                lines += draw(blocks(inner, depth - 1))
            elif header.startswith("if") and draw(st.booleans()):
                lines += [f"{indent}elif x.is_npu:", *draw(blocks(inner, 0)), f"{indent}else:"]
                lines += draw(blocks(inner, 0))
            continue
        statement = _fill(draw, draw(st.sampled_from(SIMPLE)), 2)
        comment = "" if "import " in statement else draw(st.sampled_from(COMMENTS))
        lines += _indented(statement + comment, indent)
    if not any(line.strip(" \t\f") and not line.lstrip().startswith("#") for line in lines):
        lines.append(f"{indent}pass")
    return lines


def _indented(text: str, indent: str) -> list[str]:
    first, *rest = text.split("\n")
    return [
        indent + first,
        *(line if not line.startswith(("def", "@")) else indent + line for line in rest),
    ]


@st.composite
def programs(draw: DrawFn) -> str:
    """A whole module that parses."""
    head = draw(
        st.sampled_from([[], ["import torch"], ['"""Runs on cuda."""', "import torch, os"]])
    )
    text = "\n".join([*head, *draw(blocks())]) + draw(st.sampled_from(["\n", "", "\n\n"]))
    if draw(st.integers(0, 4)) == 0:
        text = text.replace("\n", "\r\n")
    return text if parses(text) else "\n".join(head) + "\n"


def parses(text: str) -> bool:
    """Whether Python reads a text."""
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


# --- cases of the corpus, changed ------------------------------------------------------------


def _corpus_texts() -> list[str]:
    texts = []
    for case in load_cases():
        for file in case.files:
            try:
                text = decode(file.before).text
            except UndecodableError:
                continue
            if len(text) < 3000 and parses(text) and "# flmigrate:" not in text:
                texts.append(text)
    return texts


TEXTS = _corpus_texts()


def _drop_line(draw: DrawFn, text: str) -> str:
    lines = text.splitlines(keepends=True)
    at = draw(st.integers(0, max(len(lines) - 1, 0)))
    return "".join(lines[:at] + lines[at + 1 :])


def _repeat_line(draw: DrawFn, text: str) -> str:
    lines = text.splitlines(keepends=True)
    at = draw(st.integers(0, max(len(lines) - 1, 0)))
    return "".join(lines[:at] + lines[at : at + 1] + lines[at:])


def _append_case(draw: DrawFn, text: str) -> str:
    return text.rstrip("\\\n") + "\n" + draw(st.sampled_from(TEXTS))


def _indent(draw: DrawFn, text: str) -> str:
    header = draw(st.sampled_from(["if ready:\n", "def run(self, x):\n", "class Case:\n"]))
    return header + textwrap.indent(text, draw(st.sampled_from(["    ", "\t", " "])))


def _other_vendor(draw: DrawFn, text: str) -> str:
    return text.replace("cuda", draw(st.sampled_from(["npu", "musa", "mlu", "xpu"])))


def _comment(draw: DrawFn, text: str) -> str:
    lines = text.split("\n")
    at = draw(st.integers(0, len(lines) - 1))
    if "import" not in lines[at]:
        lines[at] += "  # moved by hand: cuda"
    return "\n".join(lines)


def _crlf(draw: DrawFn, text: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


_MUTATIONS: list[Callable[[DrawFn, str], str]] = [
    *(_drop_line, _repeat_line, _append_case, _indent, _other_vendor, _comment, _crlf),
]


@st.composite
def _mutants(draw: DrawFn) -> str:
    text = draw(st.sampled_from(TEXTS))
    for mutate in draw(st.lists(st.sampled_from(_MUTATIONS), min_size=1, max_size=4)):
        changed = mutate(draw, text)
        text = changed if parses(changed) else text
    return text


def mutants() -> SearchStrategy[str]:
    """Cases of the corpus after one to four changes that keep them parsable."""
    return _mutants()
