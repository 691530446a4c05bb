"""What a flag of an engine means for size, and how its value is written."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from simcore.errors import InputError
from simcore.units import GIB

Data = dict[str, Any]
_SCALES = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


@dataclass
class Launch:
    """A launch command, read.

    Attributes:
        engine: "vllm" or "sglang".
        model: what it serves, as written.
        data: plain data of a deployment, without the model and the GPU.
        flags: dotted path in `data` -> the flag that set it.
        settings: values that only the engine's own defaults look at.
        notes: what the reader should know, a sentence each.
        ignored: flags without a meaning for size.
        unknown: flags the engine is not known to have, with the nearest one it has.
    """

    engine: str
    model: str | None = None
    data: Data = field(default_factory=dict)
    flags: dict[str, str] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)

    def put(self, path: str, value: Any, flag: str) -> None:
        """Set a dotted path."""
        place = self.data
        *parents, last = path.split(".")
        for key in parents:
            place = place.setdefault(key, {})
        place[last] = value
        self.flags[path] = flag

    def get(self, path: str, default: Any = None) -> Any:
        """The value at a dotted path."""
        place: Any = self.data
        for key in path.split("."):
            if not isinstance(place, Mapping) or key not in place:
                return default
            place = place[key]
        return place


Act = Callable[[Launch, str, str], None]
"""(launch, flag, value): what a flag does."""


@dataclass(frozen=True)
class Flag:
    """One flag. A switch takes no value."""

    act: Act
    switch: bool = False


def sets(path: str, convert: Callable[[str], Any]) -> Flag:
    """A flag whose value goes to a path."""
    return Flag(lambda launch, flag, value: launch.put(path, convert(value), flag))


def setting(name: str, convert: Callable[[str], Any]) -> Flag:
    """A flag that the engine's own arithmetic looks at."""

    def act(launch: Launch, flag: str, value: str) -> None:
        launch.settings[name] = convert(value)
        launch.flags[name] = flag

    return Flag(act)


def switch(act: Callable[[Launch], None]) -> Flag:
    """A flag without a value."""
    return Flag(lambda launch, flag, value: act(launch), switch=True)


def whole(text: str) -> int:
    """A whole number as engines take it: "32768", "32k" (thousands), "32K" (1,024s), "1.5k".

    Raises:
        InputError: it is none, or below 1.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([kKmMgGtT]?)", text.strip().replace("_", ""))
    number = float(match.group(1)) * _SCALES.get(match.group(2), 1) if match else 0
    if number < 1 or number != int(number) or number > 2**62:
        raise InputError("must be a whole number of at least 1", value=text)
    return int(number)


def amount(text: str) -> int:
    """A size in bytes: "24G", "4294967296", "4GiB".

    Raises:
        InputError: it is none.
    """
    return whole(re.sub(r"(?i)i?b$", "", text.strip()))


def gibibytes(text: str) -> int:
    """A number of GiB in bytes.

    Raises:
        InputError: it is none, or negative.
    """
    return round(number(text, 0, 2**30) * GIB)


def share(text: str) -> float:
    """A share above 0 and at most 1.

    Raises:
        InputError: it is none.
    """
    return number(text, 1e-6, 1)


def number(text: str, low: float, high: float) -> float:
    """A number within bounds.

    Raises:
        InputError: it is none.
    """
    try:
        found = float(text)
    except ValueError:
        raise InputError("must be a number", value=text) from None
    if not low <= found <= high:
        raise InputError(f"must be within {low:g} and {high:g}", value=text)
    return found
