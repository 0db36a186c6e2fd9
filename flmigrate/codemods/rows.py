"""Rows: arguments, members or imported names, with what stands between them.

LibCST hangs commas, line breaks and comments on the items; here they are *gaps* of their
own, so that items can come and go without taking their neighbours' layout along.

A comment on the line where an item ends is that item's. A comment on a line of its own
belongs to the place, and stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import libcst as cst

Item = TypeVar("Item", cst.Arg, cst.ImportAlias, cst.BaseElement, cst.BaseDictElement)
_Whitespace = cst.BaseParenthesizableWhitespace
_NOTHING = cst.SimpleWhitespace("")
_BLANK = cst.SimpleWhitespace(" ")


@dataclass(slots=True)
class Gap:
    """What follows an item: whitespace before the comma, and after it.

    The last gap, too, has both, even if no comma is written there.
    """

    after: _Whitespace
    before: _Whitespace = _NOTHING


@dataclass(slots=True)
class Row(Generic[Item]):
    """Items between two brackets: ``opening`` whitespace, and a gap after each item."""

    opening: _Whitespace
    items: list[Item]
    gaps: list[Gap] = field(default_factory=list)
    trailing_comma: bool = False

    def drop(self, index: int) -> None:
        """Take out an item, with the comment on its own line."""
        merged = self._merged(index)
        is_last = index == len(self.items) - 1
        del self.items[index]
        self.gaps.pop(index)
        if not index:
            self.opening = merged
        elif is_last and not self.trailing_comma:
            # The comma goes, but not a comment in front of it.
            before = self.gaps[-1].before
            if isinstance(before, cst.ParenthesizedWhitespace) and _comments(before):
                lines = list(before.empty_lines)
                if isinstance(merged, cst.ParenthesizedWhitespace):
                    lines += merged.empty_lines
                merged = before.with_changes(empty_lines=lines)
            self.gaps[-1] = Gap(merged)
        else:
            self.gaps[index - 1] = Gap(merged, self.gaps[index - 1].before)
        if not self.items:
            self.trailing_comma = False

    def _merged(self, index: int) -> _Whitespace:
        """What is left of the whitespace on both sides of an item that goes."""
        lead: _Whitespace = self.gaps[index - 1].after if index else self.opening
        tail: _Whitespace = self.gaps[index].after
        is_only = len(self.items) == 1
        is_last = index == len(self.items) - 1
        if isinstance(lead, cst.ParenthesizedWhitespace):
            if isinstance(tail, cst.ParenthesizedWhitespace):
                if is_only and not _comments(lead) and not _comments_below(tail):
                    return _NOTHING
                return tail.with_changes(
                    first_line=lead.first_line,
                    empty_lines=list(lead.empty_lines) + list(tail.empty_lines),
                )
            return lead if not is_last or _comments(lead) else tail
        if isinstance(tail, cst.ParenthesizedWhitespace):
            if is_only:
                return tail if _comments_below(tail) else _NOTHING
            if index:
                return tail
            if not _comments_below(tail):
                return lead
            first_line = tail.first_line.with_changes(whitespace=_NOTHING, comment=None)
            return tail.with_changes(first_line=first_line)
        if is_only:
            return _NOTHING
        return tail if is_last else lead

    def insert(self, index: int, item: Item) -> None:
        """Put in an item, on a line of its own if the others stand like that."""
        if not self.items:
            self.items, self.gaps = [item], [Gap(self.opening)]
            self.opening = _NOTHING
            return
        at_end = index == len(self.items)
        if at_end:
            lead = self.gaps[-1].after
        else:
            lead = self.gaps[index - 1].after if index else self.opening
        line = self._line()
        after: _Whitespace = _BLANK if line is None else line
        if at_end:
            before_item, after = after, lead
            if isinstance(lead, cst.ParenthesizedWhitespace) and line is not None:
                # The comment on the old last line stays on it; those below stay below.
                before_item = line.with_changes(first_line=lead.first_line)
                after = lead.with_changes(first_line=line.first_line)
        else:
            before_item = lead
            if isinstance(lead, cst.ParenthesizedWhitespace) and line is not None:
                before_item = lead.with_changes(empty_lines=[])
                after = lead.with_changes(first_line=line.first_line)
        if index:
            self.gaps[index - 1] = Gap(before_item, self.gaps[index - 1].before)
        else:
            self.opening = before_item
        self.items.insert(index, item)
        self.gaps.insert(index, Gap(after))

    def _line(self) -> cst.ParenthesizedWhitespace | None:
        """The line break between items that each have a line of their own, else nothing."""
        between = [gap.after for gap in self.gaps[:-1]] or [self.opening]
        breaks = [each for each in between if isinstance(each, cst.ParenthesizedWhitespace)]
        if len(breaks) < len(between):
            return None
        opening = self.opening
        model = opening if isinstance(opening, cst.ParenthesizedWhitespace) else breaks[0]
        first_line = model.first_line.with_changes(whitespace=_NOTHING, comment=None)
        return model.with_changes(first_line=first_line, empty_lines=[])

    def spaced(self) -> tuple[list[Item], _Whitespace]:
        """The items with their commas, and the whitespace behind the last comma."""
        items: list[Item] = []
        for item, gap in zip(self.items, self.gaps, strict=True):
            comma = cst.Comma(whitespace_before=gap.before, whitespace_after=gap.after)
            items.append(item.with_changes(comma=comma))
        if not items:
            return [], _NOTHING
        last = self.gaps[-1]
        if self.trailing_comma:
            comma = cst.Comma(whitespace_before=last.before, whitespace_after=_NOTHING)
            items[-1] = items[-1].with_changes(comma=comma)
        else:
            items[-1] = items[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
        return items, last.after


def row_of(items: Sequence[Item], opening: _Whitespace, closing: _Whitespace) -> Row[Item]:
    """Read a row; ``closing`` is whitespace after the last item that is not its comma's."""
    row = Row(opening, list(items))
    for item in items:
        comma = item.comma
        if isinstance(comma, cst.Comma):
            row.gaps.append(Gap(comma.whitespace_after, comma.whitespace_before))
        else:
            row.gaps.append(Gap(closing))
    if items and isinstance(items[-1].comma, cst.Comma):
        row.trailing_comma = True
        if _is_nothing(row.gaps[-1].after):
            row.gaps[-1].after = closing
    return row


def row_of_call(call: cst.Call) -> Row[cst.Arg]:
    """The arguments of a call."""
    closing = call.args[-1].whitespace_after_arg if call.args else _NOTHING
    return row_of(call.args, call.whitespace_before_args, closing)


def call_with(call: cst.Call, row: Row[cst.Arg]) -> cst.Call:
    """``call`` with a row as its arguments."""
    args, closing = row.spaced()
    args = [arg.with_changes(whitespace_after_arg=_NOTHING) for arg in args]
    if args:
        args[-1] = args[-1].with_changes(whitespace_after_arg=closing)
    return call.with_changes(args=args, whitespace_before_args=row.opening)


def _is_nothing(whitespace: _Whitespace) -> bool:
    return isinstance(whitespace, cst.SimpleWhitespace) and not whitespace.value


def _comments(whitespace: cst.ParenthesizedWhitespace) -> bool:
    return whitespace.first_line.comment is not None or _comments_below(whitespace)


def _comments_below(whitespace: cst.ParenthesizedWhitespace) -> bool:
    return any(line.comment is not None for line in whitespace.empty_lines)
