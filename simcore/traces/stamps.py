"""Time stamps of request logs: numbers in seconds to nanoseconds, numbers written as text, and dates."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcore.errors import InputError

PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_SINCE_1970 = 10**9  # as a time since a start absurd in s, ms and us
_DATE = re.compile(r"\s*(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:[.,](\d{1,9})\d*)?\s*(Z|UTC|[+-]\d\d:?\d\d)?\s*", re.ASCII)
_NUMBER = re.compile(r"\s*[+-]?(\d+)(\.\d*)?([eE][+-]?\d+)?\s*", re.ASCII)


class Date(int):
    """Nanoseconds since 1970, read from a date."""


Stamp = int | float


def parse_stamp(value: Any, name: str = "timestamp") -> Stamp:
    """A stamp as the file writes it: a number, a number as text, or a date like 2023-11-16 18:15:46.6805900 (UTC if no zone).

    Raises:
        InputError: none of these, not finite, or negative; `path` is `name`.
    """
    stamp: Stamp
    if isinstance(value, str):
        if not value.isascii() or len(value) > 64:
            raise InputError("must be a number or a date", path=name, value=value)
        if found := _NUMBER.fullmatch(value):
            stamp = float(value) if found[2] or found[3] else int(value)
        else:
            return _date(value, name)
    elif type(value) in (int, float):
        stamp = value
    else:
        raise InputError("must be a number", path=name, value=json.dumps(value))
    if isinstance(stamp, float) and not math.isfinite(stamp):
        raise InputError("must be finite", path=name, value=stamp)
    if stamp < 0:
        raise InputError("must not be negative", path=name, value=stamp)
    if stamp >= 2**63:
        raise InputError("must fit in 64 bits", path=name, value=stamp)
    return stamp


def _date(text: str, name: str) -> Date:
    found = _DATE.fullmatch(text)
    if found is None:
        raise InputError("must be a number or a date", path=name, value=text, hint="for example 2023-11-16 18:15:46.6805900")
    try:
        seconds = _whole_seconds(found[1], found[2], found[4] or "Z")
    except ValueError as error:
        raise InputError(f"is no date ({error})", path=name, value=text) from None
    if seconds < 0:
        raise InputError("must not lie before 1970", path=name, value=text)
    return Date(seconds * 10**9 + int((found[3] or "0").ljust(9, "0")))


@lru_cache(maxsize=1024)
def _whole_seconds(day: str, time: str, zone: str) -> int:
    offset = timedelta(0)
    if zone not in ("Z", "UTC"):
        digits = zone[1:].replace(":", "")
        offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:])) * (-1 if zone[0] == "-" else 1)
    moment = datetime.fromisoformat(f"{day}T{time}").replace(tzinfo=UTC) - offset
    return round((moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds())


def unit_of(first: Stamp, unit: str | None, default: str) -> str:
    """The unit of a log's stamps, told by its first: "s", "ms", "us" or "ns".

    Args:
        unit: the user's word; None: found. A first stamp from 1e9 counts from 1970 and its size tells: below 1e11 seconds,
            below 1e14 milliseconds, below 1e17 microseconds, else nanoseconds. A smaller one counts from a start, in `default`.

    Raises:
        InputError: unknown unit, or a unit for dates.
    """
    if unit is not None and unit not in PER_SECOND:
        raise InputError(f"must be one of {', '.join(PER_SECOND)}", path="time_unit", value=unit)
    if isinstance(first, Date):
        if unit is not None:
            raise InputError("the times are dates, which need no unit", path="time_unit", value=unit)
        return "ns"
    if unit is not None:
        return unit
    if first < _SINCE_1970:
        return default
    return next((u for u, limit in (("s", 1e11), ("ms", 1e14), ("us", 1e17)) if first < limit), "ns")


def since_first(stamps: Sequence[Stamp], unit: str | None, default: str) -> NDArray[np.float64]:
    """Seconds since the earliest stamp, f8 (n,), in the order given. Whole numbers are subtracted exactly.

    Raises:
        InputError: see `unit_of`; or dates and numbers are mixed, `path` has the index.
    """
    dates = isinstance(stamps[0], Date)
    for i, stamp in enumerate(stamps):
        if isinstance(stamp, Date) != dates:
            raise InputError("must be dates or numbers throughout", path=f"timestamp[{i}]", value=stamp)
    per_second = PER_SECOND[unit_of(stamps[0], unit, default)]
    earliest = min(stamps)
    return np.array([stamp - earliest for stamp in stamps], np.float64) / per_second


def spaced(n: int, rate: float) -> NDArray[np.float64]:
    """Arrivals of `n` requests at even spacing, `rate` per second, from 0.

    Raises:
        InputError: the rate is not positive.
    """
    if not (math.isfinite(rate) and rate > 0):
        raise InputError("must be positive", path="rate", value=rate)
    return np.arange(n, dtype=np.float64) / rate
