"""Pareto analysis: pure functions on arrays of shape (n, m), n points with m objectives, all minimised and finite.

A point dominates another when it is no worse in every objective and better in one. Equal points do not dominate each
other: both are non-dominated. Hypervolume and sorting are moocore's (Kung et al. 1975; Guerreiro and Fonseca 2018)."""

from __future__ import annotations

from collections.abc import Sequence

import moocore
import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def _points(values: ArrayLike) -> Floats:
    points = np.asarray(values, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] < 1:
        raise ValueError(f"values must have shape (n, m) with m >= 1; got {points.shape}")
    if not np.isfinite(points).all():
        raise ValueError("values must be finite")
    return points


def non_dominated(values: ArrayLike) -> NDArray[np.bool_]:
    """Mask (n,) of the points no other point dominates; every copy of such a point is marked.

    Raises:
        ValueError: wrong shape, or a value that is not finite.
    """
    points = _points(values)
    if points.shape[1] == 1:
        return np.asarray(points[:, 0] == points.min(initial=np.inf), dtype=np.bool_)
    return np.asarray(moocore.is_nondominated(points, keep_weakly=True), dtype=np.bool_)


def hypervolume(values: ArrayLike, reference: ArrayLike) -> float:
    """Volume dominated by the points and bounded by `reference` (m,). Points beyond it in any objective add nothing."""
    points, ref = _points(values), np.asarray(reference, dtype=np.float64)
    if len(points) == 0:
        return 0.0
    if points.shape[1] == 1:
        return max(0.0, float(ref[0] - points.min()))
    return float(moocore.hypervolume(points, ref=ref))


def normalised(values: ArrayLike) -> Floats:
    """The points with each objective scaled to 0 (its best here) .. 1 (its worst here); an objective that is constant is 0."""
    points = _points(values)
    if len(points) == 0:
        return points.copy()
    low, span = points.min(axis=0), np.ptp(points, axis=0)
    return np.asarray((points - low) / np.where(span > 0, span, 1.0))


def knee(values: ArrayLike) -> int:
    """Index of the knee of a front: the point that bulges furthest towards the ideal.

    With each objective scaled to 0 .. 1 along the front, the ends of the front span the plane "objectives add up to 1";
    the knee lies furthest below it, so it is the point with the smallest sum (Das 1999, "On characterizing the knee of
    the Pareto curve"). With two objectives, a step from the knee to either side buys less of one, measured in front
    widths, than it costs of the other. An objective that spans more than a factor of ten along the front is taken on a log
    scale: otherwise one far end would make every other point look alike. Of equal sums (a front that does not bend: its
    ends) the one that is best in the first objective.

    Raises:
        ValueError: no point.
    """
    points = normalised(_log_where_wide(_points(values)))
    if len(points) == 0:
        raise ValueError("a front without points has no knee")
    bulge = np.round(points.sum(axis=1), 12)
    return int(np.lexsort((points[:, 0], bulge))[0])


def _log_where_wide(points: Floats) -> Floats:
    """Columns of one sign that span more than a factor of ten become logarithms, in the same order."""
    size = np.abs(points)
    one_sign = (points > 0).all(axis=0) | (points < 0).all(axis=0)
    wide = one_sign & (size.max(axis=0, initial=0) > 10 * size.min(axis=0, initial=np.inf))
    return np.where(wide, np.sign(points) * np.log(np.where(wide, size, 1.0)), points)


def squeezed(values: ArrayLike, scales: Sequence[float], maximised: Sequence[bool]) -> Floats:
    """Points mapped into the unit box, 0 best and 1 worst, whatever comes later.

    A value v that is minimised becomes v / (v + scale); one that is maximised (given negated, like all values here) becomes
    scale / (|v| + scale). Both rise with the minimised value and never reach 1, so a hypervolume with reference (1, ..., 1)
    lies in 0 .. 1, never falls as points are added and grows with every new non-dominated point. Metrics are not negative;
    should one be, it counts as 0.

    Args:
        values: (n, m).
        scales: a size above 0 that is typical of each objective; it is mapped to 0.5.
        maximised: which objectives are negated.
    """
    points = _points(values)
    scale, flip = np.asarray(scales, dtype=np.float64), np.asarray(maximised, dtype=bool)
    size = np.maximum(np.where(flip, -points, points), 0.0)
    return np.where(flip, scale, size) / (size + scale)
