"""``flmigrate log``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flmigrate.commands.terminal import say
from flmigrate.manifests.model import Manifest
from flmigrate.manifests.store import check_chips, load
from flmigrate.runtime.logs import read_log
from flmigrate.runtime.run_report import KIND, RunReport, RunReportError, json_text, merged
from flmigrate.runtime.run_report import read_json as read_report
from flmigrate.runtime.run_text import text_lines
from flmigrate.runtime.traces import read_trace


def run(paths: tuple[str, ...], options: dict[str, Any]) -> bool:
    """Read the files as one run, print it, and tell whether nothing raised in it."""
    chips = check_chips([options["chip"]]) if options["chip"] else ()
    manifest = load(chips[0]) if chips else None
    report = merged([_read(Path(path), manifest) for path in paths])
    if options["as_json"]:
        text = json_text(report)
    else:
        text = "".join(f"{line}\n" for line in text_lines(report, everything=options["verbose"]))
    if options["output"] is not None:
        try:
            options["output"].write_text(text, encoding="utf-8")
        except OSError as error:
            raise RunReportError(f"{options['output']}: {error.strerror}") from None
    else:
        say(text.removesuffix("\n"), err=False)
    return report.clean


def _read(path: Path, manifest: Manifest | None) -> RunReport:
    """A report, a trace or a log, told apart by how the file begins."""
    try:
        with path.open("rb") as stream:
            head = stream.read(4096)
            stream.seek(0)
            if head[:2] != b"\x1f\x8b" and head.lstrip()[:1] != b"{":
                lines = (line.decode("utf-8", "replace") for line in stream)
                return read_log(lines, manifest)
    except OSError as error:
        raise RunReportError(f"{path}: {error.strerror or error}") from None
    return read_report(path) if f'"{KIND}"'.encode() in head else read_trace(path, manifest)
