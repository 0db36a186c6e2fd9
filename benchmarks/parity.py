"""``python -m benchmarks.parity LINES.csv``: are the lines that people migrated changed too?

The CSV (columns file, line, kind) lists lines of megatron-core 0.16.0 that engineers migrated
by hand. A line counts when the rewrite changes it or leaves a finding on it.
"""

from __future__ import annotations

import csv
import sys
from collections import defaultdict
from pathlib import Path

from benchmarks.packages import package
from flmigrate import rewrite_paths
from flmigrate.findings import Result
from flmigrate.migration import for_a_human

_DEFAULT = Path("../shared/parity/megatron_core_0.16.0.csv")


def touched_lines(result: Result) -> dict[int, str]:
    """Lines of the original file that were changed ("changed") or carry a finding ("note")."""
    found: dict[int, str] = {}
    kept = _kept_lines(result)
    for finding in result.left:
        for line in range(finding.line, finding.end_line + 1):
            if for_a_human(finding) and line in kept:
                found[kept[line]] = "note"
    for finding in result.fixed:
        for line in range(finding.line, finding.end_line + 1):
            found[line] = "changed"
    return found


def _kept_lines(result: Result) -> dict[int, int]:
    """New line number -> old line number, by matching blocks."""
    import difflib

    old, new = result.before.splitlines(), result.after.splitlines()
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    pairs: dict[int, int] = {}
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag == "equal" or i2 - i1 == j2 - j1:
            pairs.update({j1 + k + 1: i1 + k + 1 for k in range(i2 - i1)})
    return pairs


def main() -> None:
    """Compare and print, the misses one by one."""
    lines = Path(sys.argv[1]) if len(sys.argv) > 1 else _DEFAULT
    if not lines.is_file():
        sys.exit(f"{lines}: no such file; give the CSV of migrated lines")
    root = package("megatron").parent
    migration = rewrite_paths([root / "megatron"])
    touched = {
        Path(r.path).relative_to(root).as_posix(): touched_lines(r) for r in migration.results
    }
    counts: dict[str, int] = defaultdict(int)
    missed = []
    with lines.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            how = touched.get(row["file"], {}).get(int(row["line"]), "missed")
            counts[how] += 1
            if how == "missed":
                source = (root / row["file"]).read_text(encoding="utf-8").splitlines()
                missed.append((row, source[int(row["line"]) - 1].strip()))
    total = sum(counts.values())
    share = 100 * (total - counts["missed"]) / total
    print(
        f"{total} lines migrated by hand: {counts['changed']} changed, {counts['note']} noted, ",
        end="",
    )
    print(f"{counts['missed']} missed; {share:.1f}% (at least 97%)")
    for row, text in missed:
        print(f"  {row['file']}:{row['line']} ({row['kind']}): {text}")


if __name__ == "__main__":
    main()
