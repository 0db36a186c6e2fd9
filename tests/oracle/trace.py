"""What a run records. Names of the device are written the same in all worlds."""

from __future__ import annotations

import re

ACCELERATOR = "accelerator"
"""What a world's own device, its API and its backend are called in a trace."""

BACKENDS = {
    "cuda": "nccl",
    "npu": "hccl",
    "musa": "mccl",
    "mlu": "cncl",
    "gcu": "eccl",
    "flagos": "flagos",
}
"""The served vendors and the target: what its backend of torch.distributed is called."""

OTHERS = ("npu", "musa", "mlu", "gcu")
"""The served vendors that are no ``cuda``."""

_FUEL = 400  # effects and probes of one run; more is a loop that never ends
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


class VendorMissing(AttributeError):
    """An attribute that only another vendor's plug-in would have made."""


class VendorDevice(RuntimeError):
    """A device of another vendor."""


class OutOfFuel(BaseException):
    """A run that goes on for too long. No ``except Exception`` of a program catches it."""


class Trace:
    """The effects of one run, in order, of a program that was written for ``vendor``.

    ``missed_vendor`` says that a call died of asking for another vendor's module, ``lost`` that
    one died of using another vendor's device.
    """

    __slots__ = ("_dropped", "_fuel", "_names", "events", "lost", "missed_vendor")

    def __init__(self, vendor: str) -> None:
        self.events: list[str] = []
        self.missed_vendor = self.lost = False
        self._fuel = _FUEL
        self._names = re.compile(rf"\b(?:flagos|{vendor}|{BACKENDS[vendor]})\b")
        self._dropped = {name for name in BACKENDS if name not in (vendor, "flagos")}

    def tick(self) -> None:
        """Count a step that is no effect. Raises ``OutOfFuel``."""
        self._fuel -= 1
        if self._fuel < 0:
            raise OutOfFuel

    def add(self, what: str, *values: object) -> None:
        """Record an effect and the values that take part in it. Raises ``OutOfFuel``."""
        self.tick()
        self.events.append(" ".join([what, *map(self._written, values)]))

    def fail(self, what: str, error: Exception) -> None:
        """Record that something raised; the type of the error under a name that Python has."""
        kind = type(error)
        if isinstance(error, VendorMissing | VendorDevice):
            self.missed_vendor |= isinstance(error, VendorMissing)
            self.lost |= isinstance(error, VendorDevice)
            kind = kind.__mro__[1]
        self.events.append(f"{what}raised {kind.__name__}")

    def _written(self, value: object) -> str:
        """A value as the trace shows it.

        A string may be a device or not, and the rewrite may leave one whose use it does not
        know; so strings are the same whichever device they name. A device object is not.
        """
        if isinstance(value, str):
            return repr(self._names.sub(ACCELERATOR, value))
        if isinstance(value, dict):
            pairs = [
                f"{self._written(key)}: {self._written(held)}"
                for key, held in value.items()
                if not self._may_go(key)
            ]
            return f"dict[{', '.join(pairs)}]"
        if isinstance(value, list | tuple | set | frozenset):
            # A list of devices may lose the vendors that the target stands for.
            members = [self._written(member) for member in value if not self._may_go(member)]
            if isinstance(value, set | frozenset):
                members.sort()
            return f"{type(value).__name__}[{', '.join(members)}]"
        if isinstance(value, BaseException):
            return type(value).__name__
        if callable(value) and hasattr(value, "__qualname__"):
            return str(value.__qualname__)
        return _ADDRESS.sub("", repr(value))

    def _may_go(self, member: object) -> bool:
        return isinstance(member, str) and member in self._dropped
