"""Where words and names stand in a text.

``str.find`` for each word is ten times as quick as one regular expression for all of them, and
these searches go over every file that is looked at.
"""

from __future__ import annotations

from collections.abc import Iterator


def of_name(name: str, text: str) -> Iterator[int]:
    """Offsets at which an identifier stands, whole; also in strings and comments."""
    at = text.find(name)
    while at >= 0:
        end = at + len(name)
        if not _continues_name(text[end : end + 1]) and not (at and _continues_name(text[at - 1])):
            yield at
        at = text.find(name, end)


def of_word(word: str, text: str) -> Iterator[int]:
    """Offsets of ``npu`` as in ``is_npu``, ``IS_NPU`` and ``isNpu``, and not in ``input``."""
    for form, is_hump in ((word, False), (word.upper(), False), (word.title(), True)):
        at = text.find(form)
        while at >= 0:
            end = at + len(form)
            before, behind = text[at - 1 : at] if at else "", text[end : end + 1]
            if is_hump:
                if not _is_letter(behind) or behind.isupper():
                    yield at
            elif not _is_letter(before) and not _is_letter(behind):
                yield at
            at = text.find(form, end)


def _is_letter(text: str) -> bool:
    return text.isascii() and text.isalpha()


def _continues_name(text: str) -> bool:
    return text == "_" or text.isalnum()
