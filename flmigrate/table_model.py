"""The objects that the vendor and target tables become. Look-ups only; no reading, no checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from flmigrate.table_schema import Table

Status = Literal["exact", "respell", "partial", "keep", "none"]

CANONICAL = "torch.cuda"  # every entry of a target is written for this namespace

_NOTHING: Mapping[str, Any] = MappingProxyType({})

# Words that only one vendor may claim. Backends and libraries may be shared.
_EXCLUSIVE = (
    "device_types",
    "namespaces",
    "plugins",
    "methods",
    "attributes",
    "environment",
    "helpers",
    "versions",
)


class Vendor(NamedTuple):
    """One vendor's device-specific API, from ``vendors/NAME.toml``.

    ``namespaces`` mirror ``torch.cuda`` name for name; ``plugins`` are packages whose import
    registers the device; ``environment`` are the variables that choose visible devices;
    ``words`` are other words for the vendor in names of functions and flags.
    """

    name: str
    title: str
    source: str
    path: str
    device_types: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    backends: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    helpers: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    words: tuple[str, ...] = ()


class Api(NamedTuple):
    """What one dotted name (or, under ``Target.attributes``, one attribute) becomes.

    ``params`` are the source function's parameters, in order. ``call``, ``value`` and
    ``statement`` are Python source with ``$name`` holes.
    """

    name: str
    status: Status
    to: str | None = None
    call: str | None = None
    value: str | None = None
    statement: str | None = None
    params: tuple[str, ...] = ()
    first: str | None = None
    append: tuple[str, ...] = ()
    keyword: bool = False
    positional: int = 0
    unless: str | None = None
    indices: tuple[str, ...] = ()
    index_to: str | None = None
    import_to: str | None = None
    capability: bool = False
    group: str | None = None
    note: str | None = None
    inline: bool = False
    since: str | None = None
    until: str | None = None

    @property
    def in_place(self) -> bool:
        """Whether the name stays and only the call's arguments change."""
        return self.to == self.name


class Target(NamedTuple):
    """Where code moves to, from ``targets/NAME.toml`` or a user's file.

    Exactly one of ``device_type`` (a literal) and ``device_expression`` (Python) is set, and
    at most one of ``backend`` and ``backend_expression``. ``torch`` are the versions of torch that
    it runs with, as pip takes them; empty if any. ``related`` gives the status of
    things that are no dotted name, each with a rule of its own.
    """

    name: str
    title: str
    source: str
    path: str
    serves: frozenset[str]
    device_type: str | None
    device_expression: str | None
    namespace: str
    move: str
    method: str | None = None
    attribute: str | None = None
    test: str | None = None
    backend: str | None = None
    backend_expression: str | None = None
    import_statement: str | None = None
    import_marker: str = ""
    import_where: str = "entry-points"
    torch: str = ""
    tensor_types: Mapping[str, str] = _NOTHING
    memory_stats_keys: Mapping[str, str] = _NOTHING
    related: Mapping[str, str] = _NOTHING
    attributes: Mapping[str, Api] = _NOTHING
    api: Mapping[str, Api] = _NOTHING

    def lookup(self, path: str) -> Api | None:
        """The entry for a canonical dotted name such as ``torch.cuda.amp.autocast``."""
        return self.api.get(path)


class Vendors(Mapping[str, Vendor]):
    """All loaded vendors by name, with look-ups from each word back to its vendor."""

    __slots__ = ("_owners", "_vendors")

    def __init__(self, vendors: Sequence[tuple[Table, Vendor]]) -> None:
        """Index the vendors; raises ``TableError`` when two claim the same word."""
        self._vendors: dict[str, Vendor] = {}
        self._owners: dict[str, dict[str, Vendor]] = {key: {} for key in _EXCLUSIVE}
        for table, vendor in vendors:
            if vendor.name in self._vendors:
                first = self._vendors[vendor.name].path
                table.fail(("name",), f"{vendor.name!r} is already the vendor of {first}")
            self._vendors[vendor.name] = vendor
            for key, owners in self._owners.items():
                for word in getattr(vendor, key):
                    if word in owners:
                        known = owners[word]
                        table.fail(
                            (key.replace("_", "-"),),
                            f"{word!r} belongs to vendor {known.name!r} already ({known.path})",
                        )
                    owners[word] = vendor

    def __getitem__(self, name: str) -> Vendor:
        return self._vendors[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._vendors)

    def __len__(self) -> int:
        return len(self._vendors)

    def vendor_of_device(self, device_type: str) -> Vendor | None:
        """The vendor of a ``torch.device.type``."""
        return self._owners["device_types"].get(device_type)

    def vendor_of_namespace(self, module: str) -> Vendor | None:
        """The vendor whose module ``module`` itself is (``torch.npu``, not its members)."""
        return self._owners["namespaces"].get(module)

    def vendor_of_plugin(self, module: str) -> Vendor | None:
        """The vendor whose plug-in package ``module`` is, or is inside of."""
        return self._owners["plugins"].get(module.partition(".")[0])

    def vendor_of_method(self, name: str) -> Vendor | None:
        """The vendor of a moving method (``npu`` of ``tensor.npu()``)."""
        return self._owners["methods"].get(name)

    def vendor_of_attribute(self, name: str) -> Vendor | None:
        """The vendor of a tensor attribute such as ``is_npu``."""
        return self._owners["attributes"].get(name)

    def vendor_of_variable(self, name: str) -> Vendor | None:
        """The vendor whose runtime reads this environment variable."""
        return self._owners["environment"].get(name)

    def vendor_of_helper(self, name: str) -> Vendor | None:
        """The vendor that a well-known probe such as ``is_npu_available`` asks for."""
        return self._owners["helpers"].get(name)

    def vendor_of_version(self, path: str) -> Vendor | None:
        """The vendor whose build a dotted name such as ``torch.version.hip`` tells."""
        return self._owners["versions"].get(path)

    def vendors_of_backend(self, name: str) -> tuple[Vendor, ...]:
        """The vendors of a torch.distributed backend; two of them call theirs ``hccl``."""
        return tuple(v for v in self._vendors.values() if name in v.backends)

    def vendors_of_library(self, path: str) -> tuple[Vendor, ...]:
        """The vendors that a package (or a module inside it) is tied to."""
        return tuple(
            v
            for v in self._vendors.values()
            if any(path == lib or path.startswith(f"{lib}.") for lib in v.libraries)
        )

    def split(self, path: str) -> tuple[Vendor, str] | None:
        """Take a dotted name apart into its vendor and the part behind the namespace.

        ``torch.npu.amp.autocast`` gives npu and ``amp.autocast``, ``torch.npu`` gives npu and
        an empty string, a name of no vendor's namespace gives ``None``.
        """
        head = path
        while head:
            if vendor := self._owners["namespaces"].get(head):
                return vendor, path[len(head) + 1 :]
            head = head.rpartition(".")[0]
        return None

    def canonical(self, path: str) -> str:
        """The ``torch.cuda`` name that ``path`` mirrors, which is what targets list."""
        found = self.split(path)
        return ".".join(filter(None, (CANONICAL, found[1]))) if found else path
