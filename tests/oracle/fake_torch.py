"""Worlds without PyTorch: as much of torch as small programs use, and every call recorded.

A world has one accelerator by name, which may be present or not. In the worlds of a program
as it was, that is ``cuda``: other served vendors have no ``torch.npu``, and their plug-ins
cannot be imported. In those of its rewrite it is ``flagos``; ``torch.cuda`` is still there, as
in any build of PyTorch, and says that it has no device.

What only NVIDIA's hardware answers (capability, version of the toolkit) is answered with no
everywhere: the rewrite leaves such questions alone, and on the target that is the answer.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

from tests.oracle.trace import ACCELERATOR, BACKENDS, OTHERS, Trace, VendorDevice, VendorMissing

_ALWAYS = ("cpu", "meta", "cuda", "mps", "xpu", "hpu", "xla")  # types that every build can read
_DTYPES = "float16 bfloat16 float32 float64 int64 half float bool"
_FACTORIES = "zeros ones empty tensor randn arange rand full"
_COUNT = 2  # devices of an accelerator that is present


@dataclass(frozen=True, slots=True)
class World:
    """Which devices there are.

    ``vendor`` is the one that the program was written for: ``accelerator``, but in a world of
    the target. ``idle_plugins``: a probe of another served vendor that is not guarded says no,
    and does not raise; ``hasattr`` does not see its module.
    """

    vendor: str
    accelerator: str
    present: bool
    mps: bool = False
    idle_plugins: bool = False


class Device:
    """What ``torch.device`` makes."""

    __slots__ = ("_own", "index", "type")

    def __init__(self, own: str, kind: str, index: int | None) -> None:
        self._own = own
        self.type = kind
        self.index = index

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        kind = ACCELERATOR if self.type == self._own else self.type
        return f"<device {kind}>" if self.index is None else f"<device {kind}:{self.index}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))


class Tensor:
    """A tensor or a module: it knows its device and can be moved.

    Where it ``is_open``, it has every other method too, each without a result.
    """

    def __init__(self, fake: FakeTorch, device: Device, *, is_open: bool = False) -> None:
        self.fake = fake
        self.device = device
        self.is_open = is_open

    def __repr__(self) -> str:
        return f"<tensor on {self.device!r}>"

    def to(self, *args: Any, device: Any = None, **options: Any) -> Tensor:
        wanted = device
        rest: list[object] = []
        for value in args:
            if wanted is None and isinstance(value, str | int | Device | Tensor):
                wanted = value.device if isinstance(value, Tensor) else value
            else:
                rest.append(value)
        place = self.device if wanted is None else self.fake.device(wanted)
        return self._moved(place, *rest, *(f"{k}={v}" for k, v in sorted(options.items())))

    def cpu(self) -> Tensor:
        return self._moved(self.fake.device("cpu"))

    def get_device(self) -> int:
        return -1 if self.device.type == "cpu" else self.device.index or 0

    def contiguous(self) -> Tensor:
        self.fake.trace.add("contiguous", self)
        return self

    def item(self) -> int:
        return 1

    def _moved(self, device: Device, *rest: object) -> Tensor:
        self.fake.trace.add("to", device, *rest)
        moved = self.fake.tensor(device)
        moved.is_open = self.is_open
        return moved

    def __getattr__(self, name: str) -> Any:
        kind = name.removeprefix("is_")
        if kind not in self.fake.kinds:
            if kind in OTHERS:
                raise VendorMissing(name)
            if not self.is_open or name.startswith(("is_", "__")):
                raise AttributeError(name)
            return self.fake.recorded(f"call {name}")
        if name.startswith("is_"):
            return self.device.type == kind

        def move(device: Any = None, *_: Any, **options: Any) -> Tensor:
            if isinstance(device, int):
                device = f"{kind}:{device}"
            return self.to(kind if device is None else device, **options)

        return move


class _Record(Protocol):
    def __call__(self, *args: Any, **options: Any) -> Any: ...


class Namespace:
    """A module of torch. Setting an attribute is an effect and changes nothing."""

    def __init__(self, fake: FakeTorch, path: str, members: Mapping[str, Any]) -> None:
        self.__dict__.update(members)
        self.__dict__.update(_fake=fake, _path=path)

    def __repr__(self) -> str:
        return f"<module {self.__dict__['_path']}>"

    def __getattr__(self, name: str) -> Any:
        error = VendorMissing if name in OTHERS else AttributeError
        raise error(f"{self.__dict__['_path']}.{name}")

    def __setattr__(self, name: str, value: object) -> None:
        self.__dict__["_fake"].trace.add(f"set {self.__dict__['_path']}.{name}", value)


class Kind:
    """What stands for a class of torch: ``isinstance`` asks for the class behind it."""

    def __init__(self, make: Callable[..., Any], of: type) -> None:
        self._make = make
        self._of = of
        self.__qualname__ = of.__name__

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self._make(*args, **options)

    def __instancecheck__(self, value: object) -> bool:
        return isinstance(value, self._of)

    def __or__(self, other: object) -> Kind:
        return self

    __ror__ = __or__


class Stream:
    """A stream or an event."""

    def __init__(self, fake: FakeTorch, label: str) -> None:
        self._fake = fake
        self._label = label

    def __repr__(self) -> str:
        return f"<{self._label}>"

    def __getattr__(self, name: str) -> _Record:
        if name not in ("synchronize", "record", "wait_stream", "wait_event", "query"):
            raise AttributeError(name)
        return self._fake.recorded(f"{self._label}.{name}")


class FakeTorch:
    """The torch of one world. ``trace`` is set anew for every run."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.trace = Trace(world.vendor)
        self.unknown_module: Callable[[str], Any] = _not_installed
        own = {world.accelerator}
        self.kinds = frozenset(_ALWAYS) | own | (set(OTHERS) if world.idle_plugins else set())
        self.torch = self._torch()

    def begin(self) -> Trace:
        """A new trace, to which the calls of a run go from now on."""
        self.trace = Trace(self.world.vendor)
        self.unknown_module = _not_installed
        return self.trace

    # --- devices ---------------------------------------------------------------------------

    def device(self, spec: Any, index: int | None = None) -> Device:
        """``torch.device(...)``. Raises ``RuntimeError`` for a type that this build cannot read."""
        if isinstance(spec, Device):
            return spec
        own = self.world.accelerator
        if isinstance(spec, int):
            return Device(own, own, spec)
        if not isinstance(spec, str):
            raise TypeError("not a device")
        kind, _, number = spec.partition(":")
        if kind not in self.kinds or (number and not number.isdigit()):
            raise VendorDevice(spec) if kind in BACKENDS else RuntimeError(spec)
        return Device(own, kind, int(number) if number else index)

    def tensor(self, device: Device) -> Tensor:
        """A tensor on a device. Raises ``RuntimeError`` where the device is not there."""
        if not self._is_there(device.type):
            raise (VendorDevice if device.type in OTHERS else RuntimeError)("no such device")
        return Tensor(self, device)

    def _is_there(self, kind: str) -> bool:
        if kind in ("cpu", "meta"):
            return True
        if kind == "mps":
            return self.world.mps
        return kind == self.world.accelerator and self.world.present

    # --- calls -----------------------------------------------------------------------------

    def recorded(self, path: str, result: object = None, needs: str = "") -> _Record:
        """A function whose calls are effects. ``needs`` is the device type that it works on."""

        def function(*args: Any, **options: Any) -> Any:
            values = [*args, *(options[name] for name in sorted(options))]
            self.trace.add(path, *map(self._argument, values))
            if needs and not self._is_there(needs):
                other = needs in OTHERS and needs != self.world.accelerator
                raise (VendorDevice if other else RuntimeError)("no such device")
            return Stream(self, path) if result is Stream else result

        return function

    def _argument(self, value: object) -> object:
        """A device by its name, as the object that it stands for."""
        if isinstance(value, str):
            is_device = value.partition(":")[0] in self.kinds
            return self.device(value) if is_device else f"text {value}"
        return value

    def _on_backend(self, path: str) -> _Record:
        """A function of torch.distributed that takes the name of a backend."""

        def function(backend: str = "", *args: object, **options: object) -> None:
            own = backend == BACKENDS[self.world.accelerator]
            self.trace.add(path, ACCELERATOR if own else f"backend {backend}", *args)

        return function

    def _answer(self, value: object) -> _Record:
        """A question without an effect."""

        def function(*args: Any, **options: Any) -> Any:
            self.trace.tick()
            return value

        return function

    def _entered(self, path: str) -> _Record:
        """A context manager: entering and leaving are effects."""

        @contextmanager
        def manager(*args: Any, **options: Any) -> Any:
            self.trace.add(f"enter {path}", *map(self._argument, args))
            try:
                yield None
            finally:
                self.trace.add(f"leave {path}")

        return manager

    @contextmanager
    def _autocast(
        self, device_type: str, dtype: object = None, enabled: bool = True, **options: Any
    ) -> Any:
        self.trace.add("enter autocast", self._argument(device_type), dtype, enabled)
        try:
            yield None
        finally:
            self.trace.add("leave autocast")

    # --- modules ---------------------------------------------------------------------------

    def _torch(self) -> Namespace:
        own = self.world.accelerator
        members: dict[str, Any] = {name: f"torch.{name}" for name in _DTYPES.split()}
        members |= {name: self._factory(name) for name in _FACTORIES.split()}
        members |= {name: self._vendor(name) for name in ("cuda", own, "xpu")}
        if self.world.idle_plugins:
            members |= {name: self._vendor(name) for name in OTHERS if name not in members}
        members["device"] = Kind(self.device, Device)
        members["Tensor"] = Kind(self._factory("Tensor"), Tensor)
        members["dtype"] = Kind(str, str)
        members["autocast"] = self._autocast
        members["no_grad"] = self._entered("no_grad")
        for name in ("manual_seed", "set_default_device", "set_default_dtype", "compile"):
            members[name] = self.recorded(name)
        members["Generator"] = self.recorded("Generator", Stream)
        members["get_device_module"] = self._device_module
        members["accelerator"] = self._accelerator()
        members["amp"] = self._part("amp", autocast=self._autocast, GradScaler=self._scaler)
        members["distributed"] = self._distributed()
        members["mps"] = self._part("mps", synchronize=self.recorded("mps.synchronize"))
        members["backends"] = self._backends()
        # A build that is not NVIDIA's: what asks for that gets no.
        members["version"] = self._part("version", cuda=None, hip="6.0", __version__="2.10")
        members["__version__"] = "2.10.0"
        return Namespace(self, "torch", members)

    def _part(self, path: str, **members: Any) -> Namespace:
        return Namespace(self, path, members)

    def _factory(self, name: str) -> _Record:
        def make(*args: Any, device: Any = None, **options: Any) -> Tensor:
            place = self.device("cpu" if device is None else device)
            self.trace.add(name, *args, place)
            return self.tensor(place)

        return make

    def _vendor(self, kind: str) -> Namespace:
        """``torch.cuda`` and what mirrors it."""
        path = ACCELERATOR if kind == self.world.accelerator else kind
        here = self._is_there(kind)
        count = _COUNT if here else 0
        members: dict[str, Any] = {
            "is_available": self._answer(here),
            "is_initialized": self._answer(here),
            "device_count": self._answer(count),
            "get_device_capability": self._answer((0, 0)),
            "get_device_name": self._answer("a device"),
            "is_bf16_supported": self._answer(False),
            "current_device": self.recorded(f"{path}.current_device", 0, kind),
            "memory_allocated": self.recorded(f"{path}.memory_allocated", 0, kind),
            "set_device": self.recorded(f"{path}.set_device", None, kind),
            "synchronize": self.recorded(f"{path}.synchronize", None, kind),
            "current_stream": self.recorded(f"{path}.current_stream", Stream, kind),
            "Stream": self.recorded(f"{path}.Stream", Stream, kind),
            "Event": self.recorded(f"{path}.Event", Stream, kind),
            "device": self._entered(f"{path}.device"),
            "stream": self._entered(f"{path}.stream"),
            "init": self.recorded(f"{path}.init"),
        }
        # Without a device these do nothing; without the vendor's plug-in they are not there.
        needs = kind if kind in OTHERS and kind != self.world.accelerator else ""
        for name in ("empty_cache", "manual_seed", "manual_seed_all", "reset_peak_memory_stats"):
            members[name] = self.recorded(f"{path}.{name}", None, needs)

        def autocast(enabled: bool = True, dtype: object = None, **options: Any) -> Any:
            return self._autocast(kind, dtype, enabled)

        members["amp"] = self._part(
            f"{path}.amp", autocast=autocast, GradScaler=lambda **o: self._scaler(kind, **o)
        )
        return Namespace(self, path, members)

    def _scaler(self, device: str = "cuda", **options: Any) -> Stream:
        self.trace.add("GradScaler", self._argument(device), options)
        return Stream(self, "GradScaler")

    def _device_module(self, device: Any) -> Any:
        return getattr(self.torch, self.device(device).type)

    def _accelerator(self) -> Namespace:
        own = self.world.accelerator
        return self._part(
            "torch.accelerator",
            is_available=self._answer(self.world.present or self.world.mps),
            device_count=self._answer(_COUNT if self.world.present else 0),
            # Same effect, other spelling: what torch.cuda.set_device becomes.
            set_device_index=self.recorded(f"{ACCELERATOR}.set_device", None, own),
            synchronize=self.recorded(f"{ACCELERATOR}.synchronize", None, own),
        )

    def _distributed(self) -> Namespace:
        backend = BACKENDS[self.world.accelerator] if self.world.present else "gloo"
        return self._part(
            "distributed",
            is_available=self._answer(True),
            is_initialized=self._answer(False),
            is_nccl_available=self._answer(False),
            init_process_group=self._on_backend("init_process_group"),
            new_group=self._on_backend("new_group"),
            barrier=self.recorded("barrier"),
            get_backend=self._answer(backend),
        )

    def _backends(self) -> Namespace:
        mps = self._answer(self.world.mps)
        # torch.backends.cuda.is_built becomes torch.flagos.is_available.
        built = self._answer(self.world.present and self.world.accelerator == "cuda")
        return self._part(
            "backends",
            mps=self._part("backends.mps", is_available=mps, is_built=mps),
            cudnn=self._part("backends.cudnn", benchmark=False, enabled=True),
            cuda=self._part("backends.cuda", is_built=built),
        )

    # --- what stands for parts of the language ---------------------------------------------

    def modules(self) -> dict[str, Any]:
        """Packages by name; ``None`` for one that is not installed."""
        found: dict[str, Any] = {"torch": self.torch, "torch_fl": None}
        found |= {f"torch_{vendor}": None for vendor in OTHERS}
        if self.world.accelerator in OTHERS:
            found[f"torch_{self.world.accelerator}"] = self._part("plug-in")
        if self.world.accelerator == "flagos":
            found["torch_fl"] = self._part("torch_fl")
        found["importlib"] = self._part(
            "importlib", util=self._part("importlib.util", find_spec=self._find_spec)
        )
        # Probes of a library that is not part of the project; it has been migrated too.
        here = self.world.vendor if self.world.present else ""
        answers = {vendor: self._answer(vendor == here) for vendor in OTHERS}
        probes = {f"is_{vendor}_available": answer for vendor, answer in answers.items()}
        probes |= {f"is_torch_{vendor}_available": answer for vendor, answer in answers.items()}
        for library in ("accelerate", "transformers", "diffusers"):
            found[library] = self._part(library, utils=self._part(f"{library}.utils", **probes))
        return found

    def _find_spec(self, name: str, package: str | None = None) -> object:
        self.trace.tick()
        root = name.partition(".")[0]
        return None if self.modules().get(root) is None else root

    def has(self, value: object, name: str) -> bool:
        """``hasattr``: modules that are there only so as not to fail are not seen."""
        return not self._is_hidden(value, name) and hasattr(value, name)

    def get(self, value: object, name: str, *default: object) -> Any:
        """``getattr``; see ``has``."""
        if default and self._is_hidden(value, name):
            return default[0]
        return getattr(value, name, *default)

    def _is_hidden(self, value: object, name: str) -> bool:
        is_own = name == self.world.accelerator
        return value is self.torch and name in OTHERS and self.world.idle_plugins and not is_own

    def print(self, *values: object, **options: object) -> None:
        """``print`` as an effect."""
        self.trace.add("print", *values)

    def import_module(
        self,
        name: str,
        globals: Mapping[str, object] | None = None,
        locals: Mapping[str, object] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> Any:
        """``__import__`` for the programs: fakes, and of all else nothing but pure modules."""
        root, *parts = name.split(".")
        found = self._modules.get(root)
        if root not in self._modules:
            if root in _PURE:
                return builtins.__import__(name, None, None, fromlist or (), level)
            found = self.unknown_module(name)
        leaf = found
        for part in parts:
            leaf = getattr(leaf, part, None)
        if leaf is None:
            raise ModuleNotFoundError(name)
        return leaf if fromlist else found

    @property
    def _modules(self) -> dict[str, Any]:
        return _modules_of(self)


# Modules of the standard library that are imported as they are: nothing in them acts.
_PURE = frozenset(
    "__future__ abc collections contextlib dataclasses enum functools itertools math typing".split()
)


def _not_installed(name: str) -> Any:
    raise ModuleNotFoundError(name)


@cache
def _modules_of(fake: FakeTorch) -> dict[str, Any]:
    return fake.modules()


@cache
def fake_torch(world: World) -> FakeTorch:
    """The torch of a world; one object serves all runs in it."""
    return FakeTorch(world)
