"""What kinds of values are followed through a file: device strings and backend names."""

from __future__ import annotations

import enum
import re
from collections.abc import Callable
from typing import NamedTuple

from flmigrate.analysis import places

METHODS = "*."
"""Before a method's name: all methods of that name in the project, whatever their class."""


class Verdict(enum.Enum):
    """Whether a string is a device (or backend): yes, no, or not to be told from here."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


class Kind(NamedTuple):
    """What is being followed: its names and the places that take or give it."""

    name: str
    hint: re.Pattern[str]
    arguments: dict[str, int]
    methods: frozenset[str]
    results: frozenset[str]
    values: frozenset[str]


def device_kind(types: frozenset[str]) -> Kind:
    """The kind of device strings; ``types`` are all device types that are known."""
    return Kind(
        "device",
        places.DEVICE_NAME,
        places.DEVICE_ARGUMENT,
        places.DEVICE_METHOD,
        places.DEVICE_RESULT,
        types | {"cpu", "meta"},
    )


def backend_kind(backends: frozenset[str]) -> Kind:
    """The kind of process-group backends; ``backends`` are all names that are known."""
    return Kind(
        "backend",
        places.BACKEND_NAME,
        places.BACKEND_ARGUMENT,
        frozenset(),
        places.BACKEND_RESULT,
        backends | {"gloo", "mpi", "ucc"},
    )


Asker = Callable[[str, str, str], bool]
"""Asks the project: (kind, dotted name of a function or constant, parameter or "") -> is one."""
