"""Whether a file's text can hold anything for the rules: the last question before the parser.

A file becomes a candidate by its words alone (``Vocabulary.words``), which costs next to
nothing. Half of the candidates of a large package then have such a word in a comment, in prose,
or in a place where it says nothing: ``causal_conv1d`` matters where it is imported,
``ProfilerActivity.CUDA`` as an attribute. What this module drops, no rule would have found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from flmigrate.analysis import occurrences
from flmigrate.analysis.vocabulary import Vocabulary, may_concern, words_of

# Each alternative starts with a character of its own, which lets the search skip what is between.
_COMMENT_OR_STRING = re.compile(
    r"#[^\r\n]*"
    r'|"""(?:[^"\\]|\\.|"(?!""))*"""'
    r"|'''(?:[^'\\]|\\.|'(?!''))*'''"
    r'|"(?:[^"\\\r\n]|\\.)*"'
    r"|'(?:[^'\\\r\n]|\\.)*'",
    re.DOTALL,
)
_PROSE = re.compile(r"\w\s+\w")
_IMPORT = re.compile(r"\b(?:import|from)\b")
_KERNELS = re.compile(r"\battn_implementation\s*=[\s(]*\w?[\"']")
_OURS = "flmigrate"
_QUOTES = ("'", '"')


def may_hold_findings(text: str, vocabulary: Vocabulary) -> bool:
    """Whether a rule may have something to say about a file with this text.

    It errs on the side of yes. Comments count only where they are written for this tool.
    """
    if is_ours(text, vocabulary):
        return True
    code = _code_of(text)
    words = vocabulary.words.intersection(words_of(code.encode("utf-8", "surrogatepass")))
    return any(_says_something(word.decode(), code, vocabulary) for word in words)


def is_ours(text: str, vocabulary: Vocabulary) -> bool:
    """Whether a text names the target or this tool, as what was rewritten before does."""
    target = vocabulary.target
    return (target.device_type or target.namespace) in text or _OURS in text


def may_use(text: str, words: frozenset[bytes]) -> bool:
    """Whether the code of a file has one of ``words``, outside of comments and prose.

    Words of which only code that runs can make something: names of packages and methods.
    """
    if not may_concern(text.encode("utf-8", "surrogatepass"), words):
        return False
    return may_concern(_code_of(text).encode("utf-8", "surrogatepass"), words)


@lru_cache(maxsize=1)  # the questions about a file come one after the other
def _code_of(text: str) -> str:
    return "".join(_without_prose(text))


def _without_prose(text: str) -> Iterator[str]:
    """The parts of a text that are neither comments nor strings made of sentences."""
    done = 0
    for found in _COMMENT_OR_STRING.finditer(text):
        start, end = found.span()
        if text[start] != "#":
            is_format = "f" in text[max(start - 2, 0) : start].lower()
            if is_format or not _PROSE.search(text, start, end):
                continue
        yield text[done:start]
        done = end
    yield text[done:]


def _says_something(word: str, code: str, vocabulary: Vocabulary) -> bool:
    if word == "attn_implementation":
        return _KERNELS.search(code) is not None
    places = occurrences.of_name(word, code)
    if word in vocabulary.library_words:
        return any(_is_imported(code, at) for at in places)
    if word in vocabulary.api_words:
        if any(_is_attribute(code, at, at + len(word)) for at in places):
            return True
        return re.search(rf"\bimport\s*(?:\*|\([^)]*\b{word}\b)", code) is not None
    return True


def _is_imported(text: str, start: int) -> bool:
    """Whether a word may stand in the module part of an import."""
    line = max(text.rfind("\n", 0, start), text.rfind("\r", 0, start)) + 1
    if text[max(line - 3, 0) : line].rstrip().endswith("\\"):
        return True  # the import may have begun on the line before
    return _IMPORT.search(text, line, start) is not None


def _is_attribute(text: str, start: int, end: int) -> bool:
    """Whether a word is read from something, imported, or a string of its own."""
    before = text[:start].rstrip() if text[start - 1 : start].isspace() else text[start - 1 : start]
    if before.endswith("."):
        return True
    if before.endswith(_QUOTES) and text[end : end + 1] in _QUOTES:
        return True
    return _is_imported(text, start)
