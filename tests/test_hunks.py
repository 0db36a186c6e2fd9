"""Changes in pieces: where changed text came from, and texts made of some of the pieces."""

from __future__ import annotations

import pytest

from flmigrate import rewrite_source
from flmigrate.encoding import UndecodableError, decode
from flmigrate.findings import Outcome, Span
from flmigrate.hunks import hunks_between, hunks_of, taken
from flmigrate.origins import origin
from tests.corpus_cases import load_cases

#        0123456789
FIRST = "one two three"
ROUND_1 = [(Span(0, 3), "eleven"), (Span(8, 13), "")]  # "eleven two "
ROUND_2 = [(Span(0, 0), "# "), (Span(7, 10), "2")]  # "# eleven 2 "


@pytest.mark.parametrize(
    ("span", "expected"),
    [
        (Span(2, 8), "one"),  # "eleven"
        (Span(9, 10), "two"),  # "2"
        (Span(2, 10), "one two"),
        (Span(2, 4), "on"),
        (Span(0, 2), ""),  # "# " came from nothing
    ],
)
def test_spans_are_followed_back_through_rounds(span: Span, expected: str) -> None:
    found = origin(span, [ROUND_1, ROUND_2])
    assert FIRST[found.start : found.end] == expected


def test_without_rounds_a_span_is_its_own_origin() -> None:
    assert origin(Span(3, 5), []) == Span(3, 5)


def test_fixes_of_later_rounds_are_told_where_the_file_had_them() -> None:
    text = "import torch\n\n\ndef f(x):\n    if torch.npu.is_available():\n        y = x.npu()\n"
    text += "    else:\n        y = x.cuda()\n    return torch.relu(y)\n"
    result = rewrite_source(text, notes=False)
    assert result.after == (
        'import torch\n\n\ndef f(x):\n    y = x.to("flagos")\n    return torch.relu(y)\n'
    )
    lines = text.splitlines()
    for finding, spans in zip(result.fixed, result.edited, strict=True):
        place = lines[finding.line - 1][finding.column - 1 :]
        assert place.startswith(("torch.npu.is_available", "cuda()", "npu()")), finding
        assert spans


def _rewritten() -> list[tuple[str, str]]:
    found = []
    for case in load_cases():
        for file in case.files:
            if file.changes and len(file.before) < 20_000:
                try:
                    found.append((case.id, decode(file.before).text))
                except UndecodableError:
                    continue
    return found


@pytest.mark.parametrize(("case", "text"), _rewritten(), ids=[c for c, _ in _rewritten()])
def test_all_hunks_make_the_new_text_and_none_the_old(case: str, text: str) -> None:
    result = rewrite_source(text)
    if result.outcome is not Outcome.CHANGED:
        return
    hunks = hunks_of(result)
    assert taken(hunks, hunks.hunks) == result.unnoted
    assert taken(hunks, ()) == text
    assert all(hunk.reasons for hunk in hunks.hunks)
    notes = hunks_between(result.unnoted, result.after)
    assert taken(notes, notes.hunks) == result.after
    for hunk in notes.hunks:
        lines = notes.new[hunk.block.new_start : hunk.block.new_end]
        assert all(line.lstrip().startswith(b"# flmigrate: FL") for line in lines)
