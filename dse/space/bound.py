"""An expression with its meaning: decided, measured and described on values.

A bound expression is plain data (it pickles); the values come in through a function from name to value in base units.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from dse.space.expressions import number_text
from simcore.units import GIB, exact_bytes, format_value

Value = float | int | str | bool | None
Lookup = Callable[[str], Value]

_PRINTED = {"bytes": "bytes", "seconds": "s", "bytes_per_second": "bytes/s", "usd": "USD", "fraction": "ratio"}
_NEGATED = {"<=": ">", ">=": "<", "<": ">=", ">": "<=", "==": "!=", "!=": "=="}
_MIRRORED = {"<=": ">=", ">=": "<=", "<": ">", ">": "<", "==": "==", "!=": "!="}
_LEAST = 1e-12
"""The violation of a strict comparison that is missed by nothing."""


@dataclass(frozen=True)
class Symbol:
    """What a name in an expression stands for.

    Args:
        name: canonical: the dotted path, or the exported key of a metric.
        kind: path or metric.
        dimension: of its numbers in base units; "word" for text and booleans; "any" for a 0 without a unit.
        words: the words it can take, if they are known.
        unit: of a metric, for printing.
    """

    name: str
    kind: Literal["path", "metric"]
    dimension: str
    words: tuple[str, ...] | None = None
    unit: str | None = None


@dataclass(frozen=True)
class Linear:
    """`sum(factor * value(name)) + constant` in base units. `text` is the side as written."""

    terms: tuple[tuple[float, Symbol], ...]
    constant: float | int
    text: str
    dimension: str

    def value(self, lookup: Lookup) -> float | int | None:
        total: float | int = self.constant
        for factor, symbol in self.terms:
            value = lookup(symbol.name)
            if value is None or isinstance(value, str):
                return None
            total += value if factor == 1 else factor * value
        return total

    def printed(self, lookup: Lookup) -> str:
        """The value with its unit; a constant as it was written."""
        if not self.terms and not self.text.replace(".", "").isdigit():
            return self.text
        value = self.value(lookup)
        unit = next((s.unit for _, s in self.terms if s.unit), None) or _PRINTED.get(self.dimension, "")
        if self.dimension == "bytes" and isinstance(value, int) and value >= 0 and all(s.kind == "path" for _, s in self.terms):
            return exact_bytes(value) if value else "0"
        return format_value(value, unit) if unit or value is None else number_text(value)


@dataclass(frozen=True)
class Bare:
    """A word, or a boolean, to compare a path with."""

    word: str | bool

    def value(self, lookup: Lookup) -> str | bool:
        return self.word

    def printed(self, lookup: Lookup) -> str:
        return str(self.word).lower() if isinstance(self.word, bool) else self.word


@dataclass(frozen=True)
class BoundComparison:
    """One comparison with its meaning."""

    left: Linear | Bare | Symbol
    operator: str
    right: Linear | Bare | Symbol

    def symbols(self) -> tuple[Symbol, ...]:
        found: list[Symbol] = []
        for side in (self.left, self.right):
            if isinstance(side, Symbol):
                found.append(side)
            elif isinstance(side, Linear):
                found += [symbol for _, symbol in side.terms]
        return tuple(found)

    def violation(self, lookup: Lookup) -> float | None:
        """Scaled excess over the limit: positive when missed, None when a value is unknown."""
        left, right = _side_value(self.left, lookup), _side_value(self.right, lookup)
        if left is None or right is None:
            return None
        if self.operator in ("==", "!="):
            return self._unequal(left, right)
        assert not isinstance(left, str) and not isinstance(right, str)
        excess = left - right if self.operator in ("<=", "<") else right - left
        scaled = excess / self._scale(left, right)
        return _LEAST if scaled == 0 and self.operator in ("<", ">") else scaled

    def _unequal(self, left: float | int | str | bool, right: float | int | str | bool) -> float:
        same = left == right and isinstance(left, bool) == isinstance(right, bool)
        if self.operator == "!=":
            return 1.0 if same else -1.0
        if same:
            return 0.0
        if isinstance(left, (str, bool)) or isinstance(right, (str, bool)):
            return 1.0
        return abs(left - right) / self._scale(left, right)

    def _scale(self, left: float, right: float) -> float:
        constant_left = isinstance(self.left, Linear) and not self.left.terms
        limit = abs(left if constant_left else right)
        if limit:
            return limit
        dimension = self.left.dimension if isinstance(self.left, Linear) else "number"
        return float(GIB) if dimension == "bytes" else 1.0

    def describe(self, lookup: Lookup) -> str:
        """What is the case instead: "tpot_p99 86 ms > 80 ms"."""
        left, operator, right = self.left, self.operator, self.right
        if isinstance(left, Linear) and not left.terms:
            left, operator, right = right, _MIRRORED[operator], left
        text = f"{_side_text(left)} {_side_printed(left, lookup)} {_NEGATED[operator]} "
        if isinstance(right, Symbol) or (isinstance(right, Linear) and right.terms):
            text += f"{_side_text(right)} "
        return text + _side_printed(right, lookup)


def _side_value(side: Linear | Bare | Symbol, lookup: Lookup) -> Value:
    return lookup(side.name) if isinstance(side, Symbol) else side.value(lookup)


def _side_text(side: Linear | Bare | Symbol) -> str:
    return side.name if isinstance(side, Symbol) else side.text if isinstance(side, Linear) else str(side.word)


def _side_printed(side: Linear | Bare | Symbol, lookup: Lookup) -> str:
    if not isinstance(side, Symbol):
        return side.printed(lookup)
    value = lookup(side.name)
    return str(value).lower() if isinstance(value, bool) else "nothing" if value is None else str(value)


@dataclass(frozen=True)
class Bound:
    """An expression with its meaning; same shape as `Expression`."""

    alternatives: tuple[tuple[BoundComparison, ...], ...]
    text: str

    def symbols(self) -> tuple[Symbol, ...]:
        found = (s for group in self.alternatives for comparison in group for s in comparison.symbols())
        return tuple(dict.fromkeys(found))

    def holds(self, lookup: Lookup) -> bool:
        """Whether it is true. A comparison with an unknown value is false."""
        return any(all(_met(c.violation(lookup)) for c in group) for group in self.alternatives)

    def violation(self, lookup: Lookup) -> float | None:
        """Scaled excess: 0 or less when it holds. The worst of an `and`, the best of an `or`; None when unknown."""
        groups: list[float] = []
        for group in self.alternatives:
            excesses = [c.violation(lookup) for c in group]
            known = [e for e in excesses if e is not None]
            if len(known) == len(excesses):
                groups.append(max(known))
        return min(groups) if groups else None

    def describe(self, lookup: Lookup) -> str:
        """How it is missed: the comparison that misses by most, of the alternative that misses by least."""

        def excess(comparison: BoundComparison) -> float:
            value = comparison.violation(lookup)
            return float("inf") if value is None else value

        group = min(self.alternatives, key=lambda g: max(map(excess, g)))
        return max(group, key=excess).describe(lookup)


def _met(violation: float | None) -> bool:
    return violation is not None and violation <= 0
