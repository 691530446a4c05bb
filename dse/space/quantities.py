"""YAML values as numbers in base units, and the dimension several of them share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from dse.space.bound import Value
from simcore.errors import InputError
from simcore.units import parse_quantity

STRICT = frozenset({"bytes", "seconds", "bytes_per_second", "flops", "watts", "usd_per_gib"})
"""Dimensions whose numbers must carry a unit."""


def dimension_of(values: Iterable[Any]) -> str | None:
    """The dimension all `values` share as YAML: "bytes", "number", "word", "any" (only 0); None for mappings and lists."""
    result = "any"
    for value in values:
        if isinstance(value, (Mapping, list, tuple)):
            return None
        if value is not None:
            result = _joined(result, _dimension(value))
    return result


def _joined(one: str, other: str) -> str:
    if one == other or other == "any":
        return one
    if one == "any":
        return other
    pair = {one, other}
    return (pair - {"number"}).pop() if "number" in pair and not pair & (STRICT | {"word"}) else "word"


def _dimension(value: Any) -> str:
    if isinstance(value, bool):
        return "word"
    try:
        number, dimension = parse_quantity(value)
    except InputError:
        return "word"
    return "any" if number == 0 and dimension == "number" else dimension


@lru_cache(maxsize=65536)
def _parsed(text: str) -> float | int | str:
    try:
        return parse_quantity(text)[0]
    except InputError:
        return text


def base_value(value: Any) -> Value:
    """A YAML value as expressions see it: a quantity in base units, a word, a boolean; None for anything else."""
    if isinstance(value, str):
        return _parsed(value)
    return value if isinstance(value, (bool, int, float)) else None
