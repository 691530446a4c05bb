"""A swept load or capacity: points, and on each line of them the knee, the cliff and the largest load within the SLO."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from dse.analysis.labels import metric_label
from simcore import find_metric

Values = Mapping[str, float | None]
LEAST_BEND = 0.1
LEAST_STEP = 2.0
FINE = 1.01
"""Bisection stops when the smallest load that fails is so much above the largest that passes."""
KNEE = (
    "the point furthest from the straight line between both ends, each axis scaled to 0 to 1 (Satopaa et al., Kneedle, "
    "ICDCSW 2011)"
)
KNEE_OF_LOAD = "the largest power, finished requests per second over mean E2E (Kleinrock, ICC 1979), unless at an end"
CLIFF = f"the neighbours between which the metric changes most, if by a factor of {LEAST_STEP:.0f} or more"


@dataclass(frozen=True)
class Point:
    """One setting of the swept paths, as texts with units, and what was simulated there."""

    values: tuple[str, ...]
    metrics: Values


@dataclass(frozen=True)
class Axis:
    """A swept path: its values as texts, as numbers (None: they are names), and whether they are spaced by their log."""

    path: str
    texts: tuple[str, ...]
    numbers: tuple[float, ...] | None
    log: bool = False

    @property
    def is_load(self) -> bool:
        """Whether more of it is more load."""
        return self.path.rpartition(".")[2] in ("request_rate", "concurrency") and self.numbers is not None


@dataclass(frozen=True)
class SloLoad:
    """The largest load at which `share` of the requests meet the SLO.

    Attributes:
        value: None: not even the smallest of the sweep passes.
        open_end: the largest of the sweep passes, so there is more.
        tried: simulations that bisection took.
    """

    value: float | None
    open_end: bool
    share: float
    tried: int = 0


@dataclass(frozen=True)
class Line:
    """The points along the first axis at one value of the second (None: there is no second)."""

    name: str | None
    points: tuple[Point, ...]
    slo: SloLoad | None = None


@dataclass(frozen=True)
class Sweep:
    """A finished sweep; `metric` is the exported key that knee and cliff are about."""

    axes: tuple[Axis, ...]
    lines: tuple[Line, ...]
    metric: str
    notes: tuple[str, ...] = field(default=())

    def series(self, line: Line, key: str) -> list[float | None]:
        """A metric along a line."""
        return [p.metrics.get(key) for p in line.points]

    def knee(self, line: Line) -> int | None:
        """Number of the point at the knee; None: values are names or unknown, or there is no such point."""
        axis, found = self.axes[0], self.series(line, self.metric)
        if axis.is_load:
            return knee_of_load(self.series(line, "request_rate_rps"), self.series(line, "e2e_mean_s"))
        if axis.numbers is None or any(v is None for v in found):
            return None
        x = [math.log(n) for n in axis.numbers] if axis.log and min(axis.numbers) > 0 else list(axis.numbers)
        return knee(x, [v for v in found if v is not None])

    @property
    def knee_method(self) -> str:
        """How knees are found here, in words."""
        if self.axes[0].is_load:
            return f"Knee: {KNEE_OF_LOAD}"
        return f"Knee of {metric_label(find_metric(self.metric))}: {KNEE}"

    def cliff(self, line: Line) -> int | None:
        """Number i of the point such that the metric changes most between i and i + 1; None: by less than a factor of 2."""
        return cliff(self.series(line, self.metric)) if self.axes[0].numbers is not None else None


def knee(x: Sequence[float], y: Sequence[float]) -> int | None:
    """See `KNEE`. x must grow; None when no point is `LEAST_BEND` away from the line."""
    span, rise = x[-1] - x[0], max(y) - min(y)
    if len(x) < 3 or span <= 0 or rise <= 0:
        return None
    away = [abs((b - y[0]) / rise - (a - x[0]) / span * (y[-1] - y[0]) / rise) for a, b in zip(x, y, strict=True)]
    best = max(range(len(x)), key=lambda i: away[i])
    return best if away[best] >= LEAST_BEND else None


def knee_of_load(rate: Sequence[float | None], e2e_s: Sequence[float | None]) -> int | None:
    """See `KNEE_OF_LOAD`: power grows while more load costs little time, and falls when it only queues."""
    power = [r / t if r and t else 0.0 for r, t in zip(rate, e2e_s, strict=True)]
    best = max(range(len(power)), key=lambda i: power[i])
    return best if 0 < best < len(power) - 1 else None


def cliff(y: Sequence[float | None]) -> int | None:
    """See `CLIFF`."""
    steps = []
    for i, (a, b) in enumerate(pairwise(y)):
        if a and b and a > 0 and b > 0:
            steps.append((max(a / b, b / a), -i))
    largest, i = max(steps, default=(0.0, 0))
    return -i if largest >= LEAST_STEP else None


def meets(values: Values, share: float) -> bool:
    """Whether `share` of the requests met the SLO, and none was turned away."""
    good, rate = values.get("goodput_rps"), values.get("request_rate_rps")
    return good is not None and bool(rate) and good / (rate or 1.0) >= share and not values.get("rejected_requests")


def largest_load(
    axis: Axis, points: Sequence[Point], share: float, whole: bool, simulate: Callable[[float], Values]
) -> SloLoad:
    """Bisect between the last point that passes and the first that fails.

    Args:
        axis: a load with growing numbers.
        whole: loads are whole numbers.
        simulate: metrics at a load.
    """
    assert axis.numbers is not None
    failed = next((i for i, p in enumerate(points) if not meets(p.metrics, share)), None)
    if failed is None:
        return SloLoad(axis.numbers[-1], True, share)
    if failed == 0:
        return SloLoad(None, False, share)
    low, high, tried = axis.numbers[failed - 1], axis.numbers[failed], 0
    while high > low * FINE and not (whole and high - low <= 1):
        middle = float(int((low + high) / 2)) if whole else float(f"{math.sqrt(low * high):.4g}")
        if not low < middle < high:
            break
        tried += 1
        low, high = (middle, high) if meets(simulate(middle), share) else (low, middle)
    return SloLoad(low, False, share, tried)


def as_object(sweep: Sweep) -> dict[str, Any]:
    """The shape of `--json`: see docs/simulate.md."""

    def at(line: Line, i: int | None) -> dict[str, Any] | None:
        if i is None:
            return None
        return {"value": line.points[i].values[0], sweep.metric: line.points[i].metrics.get(sweep.metric)}

    lines = []
    for line in sweep.lines:
        i = sweep.cliff(line)
        lines.append(
            {
                "line": line.name,
                "points": [
                    {"values": dict(zip((a.path for a in sweep.axes), p.values, strict=True)), "metrics": dict(p.metrics)}
                    for p in line.points
                ],
                "knee": at(line, sweep.knee(line)),
                "cliff": None if i is None else {"from": at(line, i), "to": at(line, i + 1)},
                "slo": None
                if line.slo is None
                else {
                    "largest": line.slo.value,
                    "or_more": line.slo.open_end,
                    "share": line.slo.share,
                    "tried": line.slo.tried,
                },
            }
        )
    return {
        "paths": [axis.path for axis in sweep.axes],
        "metric": sweep.metric,
        "unit": find_metric(sweep.metric).unit,
        "knee": sweep.knee_method,
        "cliff": CLIFF,
        "lines": lines,
    }
