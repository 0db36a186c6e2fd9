"""``python -m flmigrate.runtime.opmap``: trace torch's samples and write the API -> leaf op table.

    python -m flmigrate.runtime.opmap -o flmigrate/manifests/data/opmap-2.13.json

Runs for some minutes on one core. The samples run in a child process, since torch's autograd
ends a process in which a traced operator fails in its backward pass; the child is then started
again behind the sample at fault, which is left out and counted.

With ``--traces FILE`` the traces are kept in that file, and taken from it if it is there.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from flmigrate.manifests.opmap_format import Traced, write_table

Message = dict[str, Any]
"""What a child says of one sample: ``start``, then ``trace`` or ``failed``; at last ``end``."""


def main(arguments: list[str] | None = None) -> None:
    """Parse the options and run; exits with 2 where torch is missing or too old."""
    parser = argparse.ArgumentParser(prog="python -m flmigrate.runtime.opmap")
    parser.add_argument("-o", "--output", type=Path, help="where the table goes")
    parser.add_argument("--limit", type=int, default=12, help="samples per way to call a name")
    parser.add_argument("--traces", type=Path, metavar="FILE", help="keep the traces, or use them")
    parser.add_argument("--worker", nargs=2, type=int, metavar="N", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.worker:
        _work(options.limit, *options.worker)
        return
    if options.output is None:
        parser.error("-o FILE is missing")
    try:
        import torch
    except ImportError:
        parser.error("torch is missing; install flmigrate[runtime]")
    traces, lost, by_hand = _collect(_kept(options.limit, options.traces))
    kinds = _kinds({op for trace in traces for op in trace.all_ops()})
    version = torch.__version__.partition("+")[0]
    text = write_table(
        traces,
        kinds,
        torch=version,
        source=f"traced by flmigrate.runtime.opmap, {len(traces)} samples, {len(lost)} lost",
        by_hand=by_hand,
    )
    options.output.write_text(text, encoding="utf-8")
    names = {trace.api for trace in traces}
    print(f"torch {version}: {len(traces)} traces of {len(names)} names, {len(lost)} samples lost")
    for name in sorted(set(lost) - names):
        print(f"  no trace: {name}")


def _collect(messages: Iterable[Message]) -> tuple[list[Traced], list[str], set[str]]:
    """All traces; the names of samples that could not be traced; names traced by hand."""
    traces: list[Traced] = []
    lost: list[str] = []
    by_hand: set[str] = set()
    open_sample = ""
    for message in messages:
        if message["is"] == "start":
            open_sample = message["api"]
            if message["by_hand"]:
                by_hand.add(open_sample)
        elif message["is"] == "trace":
            parts = {op: frozenset(ops) for op, ops in message["parts"].items()}
            forward, backward = frozenset(message["forward"]), frozenset(message["backward"])
            traces.append(Traced(open_sample, forward, backward, parts))
        else:
            lost.append(open_sample)
    return traces, lost, by_hand


def _kept(limit: int, path: Path | None) -> Iterator[Message]:
    """The messages of a run, by way of a file if one is given."""
    if path is None:
        yield from _run(limit)
        return
    if not path.is_file():
        text = "".join(json.dumps(message) + "\n" for message in _run(limit))
        path.write_text(text, encoding="utf-8")
    for line in path.read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


def _run(limit: int) -> Iterator[Message]:
    """What the children say; one that dies of a sample has failed with it."""
    group = item = 0
    while True:
        is_open = False
        for message in _messages(limit, group, item):
            if message["is"] == "end":
                return
            is_open = message["is"] == "start"
            if is_open:
                group, item = message["group"], message["item"] + 1
            yield message
        if not is_open:
            raise RuntimeError("the process that runs the samples ended between two of them")
        yield {"is": "failed", "why": "the process ended"}


def _messages(limit: int, group: int, item: int) -> Iterator[Message]:
    command = [sys.executable, "-m", "flmigrate.runtime.opmap", "--limit", str(limit)]
    command += ["--worker", str(group), str(item)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as child:
        assert child.stdout is not None
        for line in child.stdout:
            if line.startswith('{"is"'):
                yield json.loads(line)


def _work(limit: int, first_group: int, first_item: int) -> None:
    """Run samples from a position on and print what was seen, one object a line."""
    import warnings

    from flmigrate.runtime.boundary import register, run
    from flmigrate.runtime.samples import groups

    warnings.simplefilter("ignore")
    register()
    for at, make in enumerate(groups(limit)):
        if at < first_group:
            continue
        for item, sample in enumerate(make()):
            if at == first_group and item < first_item:
                continue
            start = {"group": at, "item": item, "api": sample.api, "by_hand": sample.by_hand}
            _print({"is": "start", **start})
            try:
                trace = run(sample.prepare(), backward=sample.backward)
            except Exception as error:  # samples that no device can run are lost, and counted
                _print({"is": "failed", "why": repr(error)[:200]})
                continue
            _print(
                {
                    "is": "trace",
                    "forward": sorted(trace.forward),
                    "backward": sorted(trace.backward),
                    "parts": {op: sorted(ops) for op, ops in trace.parts.items()},
                }
            )
    _print({"is": "end"})


def _print(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def _kinds(names: Iterable[str]) -> dict[str, str]:
    from flmigrate.runtime.boundary import kind_of

    return {name: kind_of(name if "::" in name else f"aten::{name}") for name in names}


if __name__ == "__main__":
    main()
