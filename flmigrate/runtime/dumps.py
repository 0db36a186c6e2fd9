"""References that were run on another machine: a file to take to the one with the chip."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from flmigrate.runtime.comparison import Case, References
from flmigrate.runtime.subject import Subject, SubjectError
from flmigrate.runtime.taps import Run

SCHEMA = 1
_KIND = "flmigrate-references"


def write_dump(path: Path, model: str, entries: list[tuple[Case, Subject, References]]) -> None:
    """Store the weights, inputs and references of all cases. Raises ``OSError``."""
    data = {
        "kind": _KIND,
        "schema": SCHEMA,
        "model": model,
        "torch": str(torch.__version__),
        "cases": [
            {
                "batch": case.batch if case.batch is not None else subject.batch,
                "dtype": str(case.dtype).removeprefix("torch."),
                "mode": case.mode,
                "weights": subject.model.state_dict(),
                "args": list(subject.args),
                "kwargs": subject.kwargs,
                "truth": _run_data(references.truth),
                "same": _run_data(references.same),
            }
            for case, subject, references in entries
        ],
    }
    torch.save(data, path)


def read_dump(path: Path, model: str) -> list[dict[str, Any]]:
    """The cases in a file. Nothing in it is executed.

    Raises ``SubjectError`` for a file of another kind, or of another model.
    """
    try:
        data = torch.load(path, weights_only=True)
    except OSError as error:
        raise SubjectError(f"{path}: {error.strerror or error}") from None
    except Exception:  # what torch.load raises depends on how the file is broken
        reason = "not written by torch.save, or more than tensors in it"
        raise SubjectError(f"{path}: no references: {reason}") from None
    if not isinstance(data, dict) or data.get("kind") != _KIND or data.get("schema") != SCHEMA:
        raise SubjectError(f"{path}: no references of this version of flmigrate")
    if data["model"] != model:
        raise SubjectError(f"{path}: is of {data['model']}, not of {model}")
    cases: list[dict[str, Any]] = data["cases"]
    return cases


def case_of(entry: dict[str, Any]) -> Case:
    """The case of an entry."""
    return Case(entry["batch"], getattr(torch, entry["dtype"]), entry["mode"])


def restored(entry: dict[str, Any], subject: Subject, path: Path) -> tuple[Subject, References]:
    """The entry's subject with its weights and inputs, in the module that this machine made.

    Raises ``SubjectError`` where the weights do not fit the module.
    """
    try:
        subject.model.load_state_dict(entry["weights"])
    except RuntimeError as error:
        reason = str(error).splitlines()[0]
        raise SubjectError(f"{path}: {subject.name} has changed: {reason}") from None
    args, kwargs = tuple(entry["args"]), dict(entry["kwargs"])
    same = Subject(subject.name, entry["batch"], subject.model, args, kwargs)
    return same, References(_run(entry["truth"]), _run(entry["same"]))


def _run_data(run: Run) -> dict[str, Any]:
    return {
        "tensors": [[*key, tensor] for key, tensor in run.tensors.items()],
        "inputs": {name: [list(args), kwargs] for name, (args, kwargs) in run.inputs.items()},
        "order": run.order,
        "error": run.error,
    }


def _run(data: dict[str, Any]) -> Run:
    tensors = {(layer, kind, at): tensor for layer, kind, at, tensor in data["tensors"]}
    inputs = {name: (tuple(args), dict(kwargs)) for name, (args, kwargs) in data["inputs"].items()}
    return Run(tensors, inputs, list(data["order"]), data["error"])
