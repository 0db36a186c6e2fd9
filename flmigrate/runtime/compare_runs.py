"""From the options of ``flmigrate compare`` to cases, and the runs that they ask for."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import torch

from flmigrate.runtime.compare_report import CompareReport
from flmigrate.runtime.comparison import (
    EAGER,
    Case,
    Setup,
    compare,
    compare_case,
    prepared,
    refer,
)
from flmigrate.runtime.devices import DeviceError, open_device
from flmigrate.runtime.dumps import case_of, read_dump, restored, write_dump
from flmigrate.runtime.scoring import Limits
from flmigrate.runtime.subject import SubjectError, load_factory

EXPECTED = (SubjectError, DeviceError)
"""What says what is wrong with the model, the device or the options."""

_DTYPES = ("float16", "bfloat16", "float32", "float64")


def cases_of(
    batches: tuple[str, ...], dtypes: tuple[str, ...], modes: tuple[str, ...]
) -> list[Case]:
    """The product of what is asked for. Words may be joined by commas; no batch means the
    factory's own, then one, an odd one and an empty one.

    Raises ``SubjectError`` for a word that is none.
    """
    sizes: list[int | None] = [None, 1, 7, 0]
    if batches:
        try:
            sizes = [int(word) for word in _words(batches)]
        except ValueError as error:
            raise SubjectError(f"--batch: {error}") from None
    types = _words(dtypes) or ["float32"]
    for word in types:
        if word not in _DTYPES:
            raise SubjectError(f'--dtype: "{word}" is none of {", ".join(_DTYPES)}')
    chosen = _words(modes) or [EAGER]
    for word in chosen:
        if word != EAGER and not word.startswith("compile"):
            raise SubjectError(f'--mode: "{word}" is neither eager nor compile:BACKEND')
    return [
        Case(size, getattr(torch, dtype), mode)
        for mode in chosen
        for dtype in types
        for size in sizes
    ]


def _words(texts: tuple[str, ...]) -> list[str]:
    return [word.strip() for text in texts for word in text.split(",") if word.strip()]


def setup_of(options: dict[str, Any], device: str) -> Setup:
    """Devices and limits as the options have them. Raises ``DeviceError``."""
    return Setup(
        open_device(options["reference"]),
        open_device(device),
        Limits(options["rtol"], options["atol"]),
        backward=not options["forward_only"],
        train=options["train"],
        substitute=True if options["substitute"] else None,
        repeat=options["repeat"],
    )


def report(name: str, options: dict[str, Any]) -> CompareReport:
    """Compare by references that are run here, or read from the file ``against``.

    Raises ``SubjectError`` and ``DeviceError``.
    """
    setup = setup_of(options, options["device"])
    factory = load_factory(name)
    if options["against"] is None:
        cases = cases_of(options["batch"], options["dtype"], options["mode"])
        return compare(name, factory, cases, setup, chip=options["chip"] or "")
    path: Path = options["against"]
    reports = []
    for entry in read_dump(path, name):
        case = case_of(entry)
        made = prepared(name, factory, Case(None, case.dtype, case.mode), setup)
        subject, known = restored(entry, made, path)
        reports.append(compare_case(subject, case, setup, known))
    return CompareReport(
        name,
        f"{path}",
        setup.device.described,
        options["chip"] or "",
        torch.__version__,
        datetime.date.today().isoformat(),
        tuple(reports),
    )


def dump(name: str, options: dict[str, Any]) -> int:
    """Run the references only, and store them. Returns how many cases there are.

    Raises ``SubjectError`` and ``DeviceError``.
    """
    setup = setup_of(options, options["reference"])
    factory = load_factory(name)
    entries = []
    for case in cases_of(options["batch"], options["dtype"], options["mode"]):
        subject = prepared(name, factory, case, setup)
        entries.append((case, subject, refer(subject, case.dtype, setup)))
    try:
        write_dump(options["dump"], name, entries)
    except (OSError, RuntimeError) as error:
        raise SubjectError(f"{options['dump']}: {error}") from None
    return len(entries)
