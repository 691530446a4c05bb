"""One check for every number of every format of measurements: what a fit can take, and what is said of the rest."""

from __future__ import annotations

import math
import re
from typing import Any

from simcore.errors import InputError

MOST = 1e12
MOST_TOKENS = 1e7
MOST_CONCURRENCY = 1e5
MOST_RANKS = 1024
_WHOLE = {
    "input_tokens": MOST_TOKENS, "output_tokens": MOST_TOKENS, "concurrency": MOST_CONCURRENCY,
    "tp": MOST_RANKS, "pp": MOST_RANKS, "dp": MOST_RANKS,
}  # fmt: skip
"""Largest values of the whole numbers among `records.FIELDS`."""
_NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")


def number(value: Any, *, file: str, path: str, line: int | None = None, least: float = 0.0, most: float = MOST) -> float:
    """A finite number above 0 and at most `most`, of a JSON value or of text; with `least` below 0, from 0.

    Raises:
        InputError: with file, line, path and value.
    """
    context: dict[str, Any] = {"file": file, "path": path, "line": line, "value": value}
    found = _real(value)
    if math.isnan(found):
        raise InputError("must be a number", **context)
    if found < 0 or (found == 0 and least >= 0):
        raise InputError("must be at least 0" if least < 0 else "must be above 0", **context)
    if found > most:
        raise InputError(f"must be at most {_shown(most)}", **context)
    return found


def total(value: Any, *, file: str, path: str, line: int | None = None) -> float:
    """A counter or a size that may be 0."""
    return number(value, file=file, path=path, line=line, least=-1.0, most=1e15)


def field(name: str, value: Any, *, file: str, path: str, line: int | None = None) -> int | float:
    """A value of the field `name` of `records.FIELDS`: whole where the field is, within its bounds.

    Raises:
        InputError: with file, line, path and value.
    """
    if name not in _WHOLE:
        return number(value, file=file, path=path, line=line)
    real = _real(value)
    if math.isnan(real) or (math.isfinite(real) and real != int(real)):
        raise InputError("must be a whole number", file=file, path=path, line=line, value=value)
    return int(number(value, file=file, path=path, line=line, most=_WHOLE[name]))


def _real(value: Any) -> float:
    if isinstance(value, str):
        return float(value) if _NUMBER.fullmatch(value) else math.nan
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _shown(most: float) -> str:
    return f"{most:.0f}" if most < 1e5 else f"1e{round(math.log10(most))}"
