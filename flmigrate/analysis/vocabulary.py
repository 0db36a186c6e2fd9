"""The vendor tables and the target table, turned into the look-ups that analysis needs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from flmigrate.tables import Api, Target, Vendor, Vendors

DEFAULT_VENDOR = "cuda"
"""The vendor whose code stands for all served ones where nothing says otherwise."""

CANONICAL = "torch.cuda"
"""Vendor API is looked up under the name it has here; other vendors mirror it."""

_NOTE_MARK = b"# flmigrate: FL"
_NOTE = _NOTE_MARK + rb"[^\r\n]*"


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """What is vendor code for one target: names, strings and the words that hint at them."""

    vendors: Vendors
    target: Target

    @cached_property
    def served(self) -> tuple[Vendor, ...]:
        """The vendors whose code moves to the target."""
        return tuple(v for v in self.vendors.values() if v.name in self.target.serves)

    @cached_property
    def device_types(self) -> frozenset[str]:
        """Device types that the target takes over."""
        return frozenset(t for v in self.served for t in v.device_types)

    @cached_property
    def all_device_types(self) -> frozenset[str]:
        """Every device type that some vendor table names, and the target's own."""
        own = {self.target.device_type} if self.target.device_type else set()
        return frozenset(t for v in self.vendors.values() for t in v.device_types) | own

    @cached_property
    def device_text(self) -> re.Pattern[str]:
        """A whole device string, or the beginning of one that is being put together.

        The target's own device type counts too.
        """
        own = {self.target.device_type} if self.target.device_type else set()
        types = "|".join(sorted(self.device_types | own, key=len, reverse=True))
        return re.compile(rf"({types})(:(?:\d*|%[ds]|\{{[^{{}}]*\}}))?")

    @cached_property
    def namespaces(self) -> tuple[str, ...]:
        """Modules that mirror ``torch.cuda``, the longest first."""
        found = {n for v in self.served for n in v.namespaces}
        return tuple(sorted(found, key=len, reverse=True))

    @cached_property
    def methods(self) -> frozenset[str]:
        """Tensor and module methods that move to a served vendor's device."""
        return frozenset(m for v in self.served for m in v.methods)

    @cached_property
    def attributes(self) -> frozenset[str]:
        """Tensor attributes that ask for a served vendor's device."""
        return frozenset(a for v in self.served for a in v.attributes)

    @cached_property
    def vendor_words(self) -> dict[str, Vendor]:
        """The vendor that each word stands for in names of functions and flags."""
        return {w: v for v in self.vendors.values() for w in (*v.device_types, *v.words)}

    @cached_property
    def vendor_members(self) -> frozenset[str]:
        """Vendors' words as members of enumerations are written: ``NPU``."""
        return frozenset(word.upper() for word in self.vendor_words)

    @cached_property
    def flag_words(self) -> frozenset[str]:
        """Usual names of functions and flags that ask for a vendor other than the default."""
        found: set[str] = set()
        for word, vendor in self.vendor_words.items():
            if vendor in self.served and vendor.name != DEFAULT_VENDOR:
                found.update(vendor.helpers)
                for form in _FLAGS:
                    name = form.format(word)
                    found.update((name, f"_{name}", name.upper(), f"_{name.upper()}"))
        return frozenset(found)

    @cached_property
    def backends(self) -> frozenset[str]:
        """Process-group backends of the served vendors."""
        return frozenset(b for v in self.served for b in v.backends)

    @cached_property
    def all_backends(self) -> frozenset[str]:
        """Process-group backends of every vendor, and the target's own."""
        own = {self.target.backend} if self.target.backend else set()
        return frozenset(b for v in self.vendors.values() for b in v.backends) | own

    @cached_property
    def plugins(self) -> Mapping[str, Vendor]:
        """Packages whose import registers a served vendor's device."""
        return {p: v for v in self.served for p in v.plugins}

    @cached_property
    def libraries(self) -> Mapping[str, Vendor]:
        """Third-party packages that run on one served vendor only."""
        return {library: v for v in self.served for library in v.libraries}

    @cached_property
    def environment(self) -> Mapping[str, Vendor]:
        """Environment variables that a vendor's runtime reads."""
        return {name: v for v in self.vendors.values() for name in v.environment}

    def canonical(self, path: str) -> str:
        """The ``torch.cuda`` name of a served vendor's API; other names stay as they are."""
        for namespace in self.namespaces:
            if path.startswith(namespace):
                rest = path[len(namespace) :]
                if not rest or rest[0] == ".":
                    return CANONICAL + rest
        return path

    def lookup(self, path: str) -> tuple[Api, str] | None:
        """The table entry for a dotted name, and the part of the name that it covers.

        ``torch.npu.Stream.wait_event`` finds the entry of ``torch.cuda.Stream``; the part is
        given in the caller's spelling (``torch.npu.Stream``).
        """
        while path:
            entry = (
                self.target.lookup(path)
                or self.target.lookup(self.canonical(path))
                or self.differing.get(path)
            )
            if entry is not None:
                return entry, path
            path = path.rpartition(".")[0]
        return None

    def meaning(self, path: str) -> tuple[Api | None, str] | None:
        """What a dotted name stands for: its entry and the part that the entry covers.

        The entry is ``None`` for a name in a vendor namespace that no table knows; the whole
        is ``None`` for a name that is nothing to us.
        """
        try:
            return self._meanings[path]
        except KeyError:
            found = self._meanings[path] = self._meaning(path)
            return found

    @cached_property
    def _meanings(self) -> dict[str, tuple[Api | None, str] | None]:
        return {}

    def _meaning(self, path: str) -> tuple[Api | None, str] | None:
        looked_up = self.lookup(path)
        if looked_up is None:
            return (None, path) if self.in_namespace(path) else None
        covered = looked_up[1]
        # The entry of the namespace says nothing about a name in it.
        if self.canonical(covered) == CANONICAL and self.canonical(path) != CANONICAL:
            return None, path
        return looked_up

    @cached_property
    def differing(self) -> Mapping[str, Api]:
        """The target's own names whose meaning differs so much that their uses carry a note."""
        return {
            entry.to: entry
            for entry in self.target.api.values()
            if entry.inline and entry.status == "partial" and entry.to and not entry.in_place
        }

    def in_namespace(self, path: str) -> bool:
        """Whether a dotted name lies in a namespace that mirrors ``torch.cuda``."""
        return self.canonical(path) == CANONICAL or self.canonical(path).startswith("torch.cuda.")

    @cached_property
    def cuda_words(self) -> frozenset[bytes]:
        """Words that show a project to be written for cuda, or to have been."""
        own = self.target.device_type or self.target.namespace.rpartition(".")[2]
        words = {own, *_words_of_vendor(self.vendors[DEFAULT_VENDOR])}
        words |= {self.target.attribute} if self.target.attribute else set()
        return frozenset(word.encode() for word in words)

    def canonical_vendor(self, files: Iterable[bytes]) -> str:
        """The vendor whose code stands for all served ones: cuda, unless nothing names it.

        Code that names the target has been migrated: the canonical vendor's names are gone.
        What inline notes say of vendors is not the project's code.
        """
        named: set[bytes] = set()
        for data in files:
            named.update(words_of(re.sub(_NOTE, b"", data) if _NOTE_MARK in data else data))
        if not named.isdisjoint(self.cuda_words):
            return DEFAULT_VENDOR
        for vendor in self.served:
            if not named.isdisjoint(word.encode() for word in _words_of_vendor(vendor)):
                return vendor.name
        return DEFAULT_VENDOR

    @cached_property
    def words(self) -> frozenset[bytes]:
        """Words of which a file must contain one to hold anything for the rules.

        A word is a run of letters, digits and underscores, so ``timestamps`` does not count
        as ``mps``.
        """
        found = self._plain_words | self.library_words | self.api_words
        return frozenset(word.encode() for word in found)

    @cached_property
    def _plain_words(self) -> frozenset[str]:
        """Words that say something wherever they stand."""
        found = set(self.device_types | self.methods | self.attributes | self.backends)
        found.update(self.environment, self.target.attributes, self.flag_words, _WORDS)
        names = [plugin for vendor in self.vendors.values() for plugin in vendor.plugins]
        found.update(map(_telling_part, [*self.plugins, *names]))
        return frozenset(found)

    @cached_property
    def library_words(self) -> frozenset[str]:
        """Words that only say something in an import: names of vendors' packages."""
        return frozenset(map(_telling_part, self.libraries)) - self._plain_words

    @cached_property
    def api_words(self) -> frozenset[str]:
        """Words that only say something as names of what the target's table replaces."""
        paths = (
            path
            for path, entry in self.target.api.items()
            if entry.status != "keep" and not self.in_namespace(path)
        )
        return frozenset(map(_telling_part, paths)) - self._plain_words - self.library_words


# What is made of a vendor's word to name a function or flag that asks for it.
_FLAGS = "is_{} has_{} is_{}_available is_torch_{}_available {}_available {}_is_available".split()

# Words of rules that look for something other than vendors' names, and of our own notes.
_WORDS = "init_process_group attn_implementation CUDAExecutionProvider use_cuda flmigrate".split()

# Parts of dotted names that are everyday words: there the part before is looked for.
_PLAIN = frozenset("load Options version is_available is_built is_acceptable core".split())


def _words_of_vendor(vendor: Vendor) -> tuple[str, ...]:
    """Words that show code to be written for a vendor; helpers may ask for it in vain."""
    return (*vendor.device_types, *vendor.attributes, *vendor.plugins)


def _telling_part(name: str) -> str:
    """The part of a dotted name that says most; who uses the name writes all of them."""
    parts = name.split(".")
    while len(parts) > 1 and parts[-1] in _PLAIN:
        parts.pop()
    return parts[-1]


_SEPARATORS = bytes(
    byte if chr(byte).isalnum() or byte == 0x5F or byte >= 0x80 else 0x20 for byte in range(256)
)


def may_concern(data: bytes, words: frozenset[bytes]) -> bool:
    """Whether a file's bytes contain one of ``words``: the filter before any parsing."""
    return not words.isdisjoint(words_of(data))


def words_of(data: bytes) -> list[bytes]:
    """The runs of letters, digits and underscores in a file's bytes."""
    return data.translate(_SEPARATORS).split()
