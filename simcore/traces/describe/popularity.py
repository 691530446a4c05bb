"""How unequally objects are asked for: Zipf's exponent, and how far Zipf's law is from the truth."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

LEAST_COUNT = 5
GOOD, FAIR = 0.03, 0.1
_EXACT = 1 << 16  # terms that are added one by one
_AT_ONCE = 1 << 20

Counts = NDArray[np.int64]


def describe_popularity(counts: Counts) -> dict[str, Any] | str:
    """Numbers of the accesses to each object, i8 (n,), each above 0, as plain data; a reason in words where they have none.

    Objects are ranked by their number of accesses. `zipf_exponent` is the maximum-likelihood estimate of a in p(rank) ~ rank^-a
    over all ranks; it rests on ranks taken from the trace itself, which flatter a short trace's tail (Clauset, Shalizi and
    Newman, "Power-law distributions in empirical data", SIAM Review 51(4), 2009). `ks_distance` is the largest difference
    between the share of accesses to the k most popular objects and what the fit says, over all k, at k = `ks_rank`; `fit`
    calls it good up to 0.03, fair up to 0.1, else bad. `slope_exponent`: minus the least-squares slope of log frequency on log
    rank over the `slope_ranks` objects with at least 5 accesses; None below two. The top 1 and 10 percent are rounded up.
    """
    if len(counts) < 2:
        return "a single object has no ranks"
    ranked = np.sort(counts)[::-1]
    exponent = zipf_exponent(ranked)
    distance, rank = _ks_distance(ranked, exponent)
    slope, ranks = _slope(ranked)
    total = int(ranked.sum())
    return {
        "zipf_exponent": exponent,
        "ks_distance": distance,
        "ks_rank": rank,
        "fit": "good" if distance <= GOOD else "fair" if distance <= FAIR else "bad",
        "slope_exponent": slope,
        "slope_ranks": ranks,
        "top_1_percent_share": int(ranked[: -(-len(ranked) // 100)].sum()) / total,
        "top_10_percent_share": int(ranked[: -(-len(ranked) // 10)].sum()) / total,
    }


def zipf_exponent(ranked: Counts) -> float:
    """The maximum-likelihood exponent of counts i8 (n,), n > 1, falling: where the mean of log rank is what the law has.

    The mean falls as the exponent rises, so that the interval that holds it is halved until it is 1e-9 wide.
    """
    n = len(ranked)
    seen = 0.0
    for at in range(0, n, _AT_ONCE):
        part = ranked[at : at + _AT_ONCE]
        seen += float((part * np.log(np.arange(at + 1, at + len(part) + 1))).sum())
    seen /= int(ranked.sum())
    low, high = 0.0, 1.0
    while _mean_log_rank(high, n) > seen:
        low, high = high, 2 * high
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if _mean_log_rank(middle, n) > seen else (low, middle)
    return (low + high) / 2 if high > 1e-8 else 0.0


def _mean_log_rank(exponent: float, n: int) -> float:
    """Sum of r^-a log r over sum of r^-a, r = 1 .. n."""
    head = np.arange(1, min(n, _EXACT) + 1, dtype=np.float64)
    logs = np.log(head)
    weights = np.exp(-exponent * logs)
    total, logged = float(weights.sum()), float((weights * logs).sum())
    if n > _EXACT:
        tail, logged_tail = _tail(exponent, n)
        total, logged = total + tail, logged + logged_tail
    return logged / total


def _tail(a: float, n: int) -> tuple[float, float]:
    """Sums of r^-a and of r^-a log r for r = _EXACT + 1 .. n, as integrals from half a step before to half a step behind; at
    this rank a step is so small that the difference, of the order of the second derivative, is below 1e-10 of the sum. Over
    u = log r the integrands are so smooth that Gauss-Legendre quadrature is exact to rounding, also at a = 1.
    """
    nodes, weights = np.polynomial.legendre.leggauss(64)
    low, high = math.log(_EXACT + 0.5), math.log(n + 0.5)
    u = low + (high - low) / 2 * (nodes + 1)
    terms = (high - low) / 2 * weights * np.exp((1 - a) * u)
    return float(terms.sum()), float((terms * u).sum())


def _ks_distance(ranked: Counts, exponent: float) -> tuple[float, int]:
    total, n = int(ranked.sum()), len(ranked)
    norm = sum(float((_ranks(at, n) ** -exponent).sum()) for at in range(0, n, _AT_ONCE))
    seen, fitted = 0, 0.0
    worst, rank = 0.0, 1
    for at in range(0, n, _AT_ONCE):
        observed = seen + np.cumsum(ranked[at : at + _AT_ONCE])
        expected = fitted + np.cumsum(_ranks(at, n) ** -exponent)
        away = np.abs(observed / total - expected / norm)
        k = int(np.argmax(away))
        if away[k] > worst:
            worst, rank = float(away[k]), at + k + 1
        seen, fitted = int(observed[-1]), float(expected[-1])
    return worst, rank


def _ranks(at: int, n: int) -> NDArray[np.float64]:
    return np.arange(at + 1, min(at + _AT_ONCE, n) + 1, dtype=np.float64)


def _slope(ranked: Counts) -> tuple[float | None, int]:
    frequent = ranked[ranked >= LEAST_COUNT]
    if len(frequent) < 2:
        return None, len(frequent)
    x, y = np.log(np.arange(1, len(frequent) + 1)), np.log(frequent)
    x -= x.mean()
    return -float((x * (y - y.mean())).sum() / (x * x).sum()) + 0.0, len(frequent)
