"""Quantities with units, parsed and printed in one place.

Inside the project bytes are int, time is float seconds, bandwidth float bytes per second, money USD; names carry the unit as a
suffix. GiB and its kin are binary, GB and its kin decimal; both parse and are never mixed. A bare 0 needs no unit.
"""

from __future__ import annotations

import math
import re
from typing import Any

from simcore.errors import InputError, nearest

KB, MB, GB, TB = 10**3, 10**6, 10**9, 10**12
KIB, MIB, GIB, TIB = 2**10, 2**20, 2**30, 2**40

_BYTES = {
    "B": 1, "kB": KB, "KB": KB, "MB": MB, "GB": GB, "TB": TB, "PB": 10**15,
    "KiB": KIB, "kiB": KIB, "MiB": MIB, "GiB": GIB, "TiB": TIB, "PiB": 2**50,
}  # fmt: skip
_SECONDS = {"ps": 1e-12, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_BANDWIDTH = {
    **{f"{unit}/s": float(scale) for unit, scale in _BYTES.items()},
    **{f"{p}bit/s": s / 8 for p, s in (("", 1.0), ("k", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12))},
    **{f"{p}bps": s / 8 for p, s in (("k", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12))},
}
_FLOPS = {"FLOPS": 1.0, "GFLOPS": 1e9, "TFLOPS": 1e12, "PFLOPS": 1e15}
_UNITS: dict[str, tuple[str, float | int]] = {
    **{u: ("bytes", s) for u, s in _BYTES.items()},
    **{u: ("seconds", s) for u, s in _SECONDS.items()},
    **{u: ("bytes_per_second", s) for u, s in _BANDWIDTH.items()},
    **{u: ("flops", s) for u, s in _FLOPS.items()},
    "%": ("fraction", 0.01),
    "W": ("watts", 1.0), "kW": ("watts", 1000.0),
    "USD": ("usd", 1.0), "$": ("usd", 1.0),
    "USD/GiB": ("usd_per_gib", 1.0),
    "/s": ("per_second", 1.0), "/min": ("per_second", 1 / 60), "requests/s": ("per_second", 1.0),
    "tokens/s": ("tokens_per_second", 1.0),
    "J/token": ("joules_per_token", 1.0),
    "requests": ("number", 1.0), "bits": ("number", 1.0),
}  # fmt: skip
EXAMPLES = {
    "bytes": "64 GiB", "seconds": "80 ms", "bytes_per_second": "64 GB/s", "flops": "989 TFLOPS", "watts": "700 W",
    "usd": "27000 USD", "usd_per_gib": "15 USD/GiB", "per_second": "4 /s",
}  # fmt: skip
MAX_DIGITS = 60
_QUANTITY = re.compile(r"\s*([+-]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(\D.*?)?\s*$")


def parse_quantity(value: Any) -> tuple[float | int, str]:
    """A number with an optional unit as (value in base units, dimension); a bare number has dimension "number".

    Raises:
        InputError: not a number, or the unit is unknown.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise InputError("must be a number with a unit", value=value)
    if isinstance(value, (int, float)):
        return _finite(value), "number"
    match = _QUANTITY.match(value)
    if match is None:
        raise InputError("must be a number with a unit", value=value, hint='for example "64 GiB" or "80 ms"')
    number, unit = match.group(1).replace("_", ""), (match.group(2) or "").replace(" ", "")
    if len(number) > MAX_DIGITS:
        raise InputError(f"must have at most {MAX_DIGITS} digits", value=value)
    if not unit:
        return _finite(float(number) if re.search(r"[.eE]", number) else int(number)), "number"
    if unit not in _UNITS:
        close = nearest(unit, _UNITS) or _other_case(unit)
        raise InputError(f"unknown unit {unit!r}", value=value, hint=f"did you mean {close}?" if close else _unit_list())
    dimension, scale = _UNITS[unit]
    if dimension == "bytes":
        return _whole_bytes(number, int(scale), value), dimension
    # Dividing by the exact inverse keeps "80 ms" equal to 0.08, which multiplying by 1e-3 does not.
    inverse = round(1 / scale)
    exact = inverse > 1 and inverse * scale == 1.0
    return _finite(float(number) / inverse if exact else float(number) * scale), dimension


def _whole_bytes(number: str, scale: int, value: Any) -> int:
    if re.search(r"[.eE]", number):
        amount = float(number) * scale
        if not math.isfinite(amount):
            raise InputError("must be finite", value=value)
        return round(amount)
    return int(number) * scale


def _finite(number: float | int) -> float | int:
    if not math.isfinite(number):
        raise InputError("must be finite", value=number)
    return number


def _other_case(unit: str) -> str | None:
    return next((known for known in _UNITS if known.lower() == unit.lower()), None)


def _unit_list() -> str:
    return "units: " + ", ".join(sorted(_UNITS, key=str.lower))


def parse_as(value: Any, dimension: str) -> float | int:
    """`value` in base units of `dimension`; a bare 0 is legal, any other bare number is refused with the right form."""
    number, found = parse_quantity(value)
    if found == dimension or (found == "number" and number == 0):
        return number
    example = EXAMPLES.get(dimension, dimension)
    if found == "number":
        unit = example.split(" ", 1)[1]
        raise InputError("needs a unit", value=value, hint=f'write it like "{number:g} {unit}"')
    raise InputError(f"must be a quantity of {dimension.replace('_', ' ')}", value=value, hint=f'for example "{example}"')


def parse_bytes(value: Any) -> int:
    """Bytes as int, from "64 GiB" or a bare 0."""
    return int(parse_as(value, "bytes"))


def parse_seconds(value: Any) -> float:
    """Seconds as float, from "80 us" or a bare 0."""
    return float(parse_as(value, "seconds"))


def parse_bandwidth(value: Any) -> float:
    """Bytes per second as float, from "3.2 TB/s" or "400 Gbit/s"."""
    return float(parse_as(value, "bytes_per_second"))


def _three_digits(value: float) -> str:
    """Three significant digits without an exponent; whole numbers of three or more digits keep them all."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    if abs(value) >= 99.95:
        return f"{value:.0f}"
    return f"{value:.3g}" if abs(value) < 0.01 else f"{value:.{max(0, 2 - math.floor(math.log10(abs(value))))}f}"


def _scaled(value: float, steps: tuple[tuple[str, float], ...]) -> str:
    unit, scale = next(((u, s) for u, s in steps if abs(value) >= s), steps[-1])
    return f"{_three_digits(value / scale)} {unit}"


def format_bytes(n: float) -> str:
    """Binary units, three significant digits: 13958643712 -> "13.0 GiB"."""
    return _scaled(n, (("TiB", TIB), ("GiB", GIB), ("MiB", MIB), ("KiB", KIB), ("B", 1)))


_EXACT = (("TiB", TIB), ("GiB", GIB), ("MiB", MIB), ("KiB", KIB), ("TB", TB), ("GB", GB), ("MB", MB), ("kB", KB), ("B", 1))


def exact_bytes(n: int) -> str:
    """The shortest exact spelling, binary where both are as short: 68719476736 -> "64 GiB", 15 * 10**12 -> "15 TB"; parses back
    to the same number."""
    exact = [f"{n // scale} {unit}" for unit, scale in _EXACT if n and n % scale == 0]
    return min(exact, key=lambda text: len(text.split()[0]), default=f"{n} B")


def format_seconds(s: float) -> str:
    """Time with a fitting unit: 0.56 -> "560 ms"."""
    return _scaled(s, (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))) if s else "0 s"


def format_bandwidth(b: float) -> str:
    """Bandwidth in decimal units: 3.35e12 -> "3.35 TB/s"."""
    return _scaled(b, (("TB/s", 1e12), ("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3), ("B/s", 1.0)))


def format_usd(x: float) -> str:
    """Money without cents above a hundred dollars: 704.2 -> "704 USD"."""
    return f"{_three_digits(x)} USD"


_BY_UNIT = {"bytes": format_bytes, "s": format_seconds, "bytes/s": format_bandwidth, "USD": format_usd}


def format_value(value: float | int | bool | str | None, unit: str) -> str:
    """A metric's value with its unit, as printed on screen; unknown values print as "unknown"."""
    if value is None:
        return "unknown"
    if isinstance(value, str):
        return value
    if unit == "bool":
        return "yes" if value else "no"
    if unit == "ratio":
        return f"{_three_digits(100 * value)} %"
    if unit in _BY_UNIT:
        return _BY_UNIT[unit](value)
    if unit == "count":
        return f"{value:.0f}"
    return f"{_three_digits(value)} {unit}".rstrip()
