"""One published quantity, and how ours is computed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

Value = float | tuple[str, ...]
"""A number, or names in order."""


@dataclass(frozen=True)
class TraceFile:
    """A public trace that a row replays.

    Attributes:
        names: file names it goes by, without a suffix of compression.
        where: where it is published.
    """

    names: tuple[str, ...]
    where: str


@dataclass(frozen=True, kw_only=True)
class Case:
    """One row.

    Attributes:
        quantity: what is compared, in words. Rows of one quantity that follow each other are one line of the table.
        at: the point, where the quantity has several ("8,192 blocks").
        published: the number as printed, or names in their published order.
        ours: computes our side; called with the path of the trace if there is one, otherwise with nothing.
        tolerance: largest error that passes. Numbers: relative, or in their own unit if `absolute`; orders: share of the pairs
            that stand the other way round.
        absolute: whether the tolerance is in the unit of the number.
        unit: of the number.
        trace: what `ours` replays; the row is skipped where it is not at hand.
        known_gap: why ours is known to miss the tolerance; such a row does not fail.
        fitted_on: which measurements our constants were fitted to, where these rows depend on a fit.
        source: where it is published, if that is not the module's SOURCE.
    """

    quantity: str
    at: str = ""
    published: Value
    ours: Callable[..., Value]
    tolerance: float
    absolute: bool = False
    unit: str = ""
    trace: TraceFile | None = None
    known_gap: str | None = None
    fitted_on: str | None = None
    source: str | None = None

    def __post_init__(self) -> None:
        assert math.isfinite(self.tolerance) and self.tolerance >= 0, self.quantity
        assert isinstance(self.published, tuple) or math.isfinite(self.published), self.quantity

    def error(self, ours: Value) -> float:
        """Ours against the published: relative, in the number's unit, or the share of pairs in the other order.

        Raises:
            ValueError: not of the same kind, or other names.
        """
        if isinstance(self.published, tuple):
            if not isinstance(ours, tuple) or sorted(ours) != sorted(self.published):
                raise ValueError(f"{ours!r} does not order {self.published!r}")
            return _inversions(self.published, ours)
        if isinstance(ours, tuple):
            raise ValueError(f"{ours!r} is no number")
        difference = float(ours) - self.published
        return difference if self.absolute else difference / self.published


def _inversions(one: Sequence[str], other: Sequence[str]) -> float:
    place = {name: i for i, name in enumerate(other)}
    pairs = [(a, b) for i, a in enumerate(one) for b in one[i + 1 :]]
    return sum(place[a] > place[b] for a, b in pairs) / len(pairs)


def printed(digits: int) -> float:
    """The absolute tolerance of a number printed with so many digits behind the point: half of the last one."""
    return 0.5 * 10.0**-digits * (1 + 1e-9)


def series(
    quantity: str, published: Mapping[str, float], ours: Callable[..., Mapping[str, float] | Sequence[float]], **common: Any
) -> list[Case]:
    """Cases of one quantity at several points; `ours` computes all of them at once, and once."""
    once = cache(ours)

    def value(point: str, place: int) -> Callable[..., float]:
        def of(*given: Any) -> float:
            found = once(*given)
            return float(found[point] if isinstance(found, Mapping) else found[place])

        return of

    points = list(published)
    first = Case(quantity=quantity, at=points[0], published=published[points[0]], ours=value(points[0], 0), **common)
    rest = [replace(first, at=p, published=published[p], ours=value(p, i)) for i, p in enumerate(points) if i]
    return [first, *rest]
