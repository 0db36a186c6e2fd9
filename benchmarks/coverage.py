"""``python -m benchmarks.coverage``: how much of what a run asks for the source tells.

Four figures: the share of uses of torch's names in transformers' modeling files, timm and
diffusers that lead to operators; for twelve models, the operators that their source leads to
against those that a training step asks a device for, and the same for four models that nothing
was fitted to; and what coverage adds to a check of all of transformers. ``names``, ``models``,
``held-out`` or ``cost`` as an argument prints one of them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.packages import package

_MODELS = (
    "resnet vit bert gpt llama moe lstm gru unet conv3d gan detection".split()
)  # of benchmarks/models
_HELD_OUT = ("vae", "wavenet", "graph", "recommender")
"""Models that were written before any result for them was seen; nothing was fitted to them."""

# What autograd does by itself wherever gradients flow, and what no chip has a choice in.
_PLUMBING = frozenset(
    "detach alias view _unsafe_view as_strided expand empty.memory_format empty_strided "
    "empty_like new_empty_strided ones_like _to_copy copy_ clone t transpose.int permute "
    "unsqueeze squeeze.dim squeeze.dims select.int slice.Tensor split.Tensor split_with_sizes "
    "unbind.int reshape _reshape_alias lift_fresh zero_ fill_.Scalar zeros zeros_like ones "
    "scalar_tensor new_zeros full _local_scalar_dense select_backward slice_backward "
    "add.Tensor add_.Tensor arange arange.start arange.start_step randn randint randint.low "
    "random_ uniform_ normal_ unsqueeze_ squeeze_.dim div.Scalar mul.Scalar stack cat "
    "split_backward unfold_backward".split()
)


# --- names ---------------------------------------------------------------------------------


def names() -> None:
    """Print the share of uses whose name leads to operators."""
    from flmigrate.coverage import cover
    from flmigrate.runner import default_jobs

    transformers = package("transformers")
    paths = sorted(transformers.glob("models/*/modeling_*.py"))
    paths += [package("timm"), package("diffusers")]
    found = cover(paths, ("ascend",), jobs=default_jobs())
    known = [usage for usage in found.usages if usage.name.startswith(("torch.", "aten::"))]
    uses = sum(len(usage.places) for usage in known)
    lost = sum(len(usage.places) for usage in found.unknown)
    share = 100 * uses / (uses + lost)
    total = len(known) + len(found.unknown)
    print(
        f"names: {found.files} files of transformers' models, timm, diffusers; "
        f"{len(known)} of {total} names, {uses} of {uses + lost} uses lead to operators: "
        f"{share:.1f}% (at least 95%)"
    )
    for usage in sorted(found.unknown, key=lambda usage: -len(usage.places))[:8]:
        print(f"  none known: {usage.name} ({len(usage.places)} uses)")


# --- models --------------------------------------------------------------------------------


def models() -> None:
    """Print recall and precision of the static set of operators, per model."""
    _compare("models", _MODELS)


def held_out() -> None:
    """Print the same for the models that nothing was fitted to."""
    _compare("held-out models", _HELD_OUT)


def _compare(title: str, chosen: Sequence[str]) -> None:
    from flmigrate.runtime.boundary import register

    register()
    print(f"{title}: operators of one training step, source against run")
    print("  (recall at least 95%, precision at least 85%)")
    recalls, precisions = [], []
    for name in chosen:
        traced, static, possible = _traced(name), *_static(name)
        common = traced & static
        recall, precision = 100 * len(common) / len(traced), 100 * len(common) / len(static)
        recalls.append(recall)
        precisions.append(precision)
        print(
            f"  {name:10} traced {len(traced):3}, static {len(static):3}: "
            f"recall {recall:5.1f}%, precision {precision:5.1f}%"
        )
        missing = sorted(traced - static)
        if missing:
            noted = [f"{op} (some arguments)" if op in possible else op for op in missing]
            print(f"    missed: {', '.join(noted)}")
        surplus = sorted(static - traced)
        if surplus:
            print(f"    surplus: {', '.join(surplus)}")
    print(
        f"  mean       recall {sum(recalls) / len(recalls):.1f}%, "
        f"precision {sum(precisions) / len(precisions):.1f}%"
    )


def _source(name: str) -> Path:
    return Path(__file__).parent / "models" / f"{name}.py"


def _traced(name: str) -> set[str]:
    """The operators that a step of a model asks a device for."""
    import importlib

    import torch

    from flmigrate.runtime.boundary import DEVICE, run

    torch.manual_seed(0)
    module = importlib.import_module(f"benchmarks.models.{name}")
    trace = run(lambda: module.step(DEVICE))
    return (trace.forward | trace.backward) - _PLUMBING


def _static(name: str) -> tuple[set[str], set[str]]:
    """The operators that a model's source leads to: surely, and with some arguments."""
    from flmigrate.analysis.context import Context
    from flmigrate.analysis.operators import Operators
    from flmigrate.analysis.source import Source
    from flmigrate.manifests.optable import load_table
    from flmigrate.runner import vocabulary_for

    table = load_table("2.13")
    context = Context(Source(_source(name).read_text("utf-8")), vocabulary_for("fl"))
    sure: set[str] = set()
    possible: set[str] = set()
    for use in Operators(context, table.names, ()).uses(possible=False):
        api = table.api(use.name)
        if api is not None:
            sure.update(api.forward, api.backward if use.backward else ())
            possible.update(api.perhaps_forward, api.perhaps_backward)
    return sure - _PLUMBING, possible - _PLUMBING


# --- cost ----------------------------------------------------------------------------------


def cost() -> None:
    """Print what coverage for all chips adds to a check of transformers: to the first, whose cache
    is empty, and to the next."""
    folder = str(package("transformers"))
    with tempfile.TemporaryDirectory() as cache:
        first = _seconds(folder, cache, "--chip", "all")
        without, with_chips = [], []
        for _ in range(2):
            without.append(_seconds(folder, cache))
            with_chips.append(_seconds(folder, cache, "--chip", "all"))
    base, again = min(without), min(with_chips)
    print(
        f"cost: transformers {base:.1f} s CPU without chips (at most 1.60 of it): with all "
        f"{first:.1f} s the first time, {first / base:.2f}; {again:.1f} s then, {again / base:.2f}"
    )


def _seconds(folder: str, cache: str, *options: str) -> float:
    before = os.times()
    command = [sys.executable, "-m", "flmigrate", "check", folder, "-q", "-j1", "--exit-zero"]
    subprocess.run(
        [*command, *options],
        check=True,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "FLMIGRATE_CACHE": cache},
    )
    after = os.times()
    return (after.children_user + after.children_system) - (
        before.children_user + before.children_system
    )


def main() -> None:
    """Print the figures that are asked for, or all."""
    figures = {"names": names, "models": models, "held-out": held_out, "cost": cost}
    chosen = sys.argv[1:] or list(figures)
    unknown = [name for name in chosen if name not in figures]
    if unknown:
        sys.exit(f"unknown figure {', '.join(unknown)}; known: {', '.join(figures)}")
    for name in chosen:
        start = time.perf_counter()
        figures[name]()
        print(f"  ({time.perf_counter() - start:.0f} s)")


if __name__ == "__main__":
    main()
