"""When requests arrive: rate, burstiness, and whether the recorder's clock was too coarse to tell."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcore.traces.mooncake import spread_over_ticks

WINDOWS_S = (1.0, 10.0, 60.0)
_SHARED = 0.1  # from this share of equal times on they may be a clock's
_REGULAR, _CLOSE = 0.5, 0.05  # ticks: this share of the steps between times is this close to the median step

Times = NDArray[np.float64]


def describe_arrivals(times_s: Times) -> dict[str, Any] | str:
    """Numbers of arrival times f8 (n,), sorted, as plain data; a reason in words where they have none.

    `gap_cv`: standard deviation over mean of the gaps between arrivals. `idc`: by window, the index of dispersion for counts,
    variance over mean of the arrivals a window, 1 for a Poisson process (Gusella, "Characterizing the variability of arrival
    processes with indexes of dispersion", IEEE JSAC 9(2), 1991), and peak over mean; None below two windows. Windows count from
    the first arrival, and the last one may be cut short. `tick_s`: step of the recorder's clock, if many arrivals share a time
    and times are a regular step apart; what is said of shorter times is then the clock's doing, and `spread` has the same
    numbers with arrivals spread evenly over their ticks.
    """
    if len(times_s) < 2:
        return "a single arrival has no rate"
    if times_s[-1] <= times_s[0]:
        return f"all {len(times_s)} arrivals are at one instant"
    tick_s = _tick_s(times_s)
    return {
        "arrivals": len(times_s),
        "span_s": float(times_s[-1] - times_s[0]),
        "rate_per_s": len(times_s) / float(times_s[-1] - times_s[0]),
        **_burstiness(times_s),
        "zero_gap_share": float((np.diff(times_s) == 0).mean()),
        "tick_s": tick_s,
        "spread": None if tick_s is None else _burstiness(spread_over_ticks(times_s)[0]),
    }


def evenly_spaced(times_s: Times) -> bool:
    """Whether all gaps are equal up to rounding, as where arrivals were made and not recorded."""
    gaps = np.diff(times_s)
    return len(gaps) > 1 and bool(np.allclose(gaps, gaps[0], rtol=1e-6, atol=1e-9 * float(times_s[-1])))


def _burstiness(times_s: Times) -> dict[str, Any]:
    gaps = np.diff(times_s)
    return {"gap_cv": float(gaps.std() / gaps.mean()), "idc": [_dispersion(times_s, window) for window in WINDOWS_S]}


def _dispersion(times_s: Times, window_s: float) -> dict[str, Any]:
    """Only windows with arrivals are held: a trace may span years."""
    n, span = len(times_s), float(times_s[-1] - times_s[0])
    windows = int(span // window_s) + 1
    _, counts = np.unique((times_s - times_s[0]) // window_s, return_counts=True)
    mean = n / windows
    known = windows > 1
    return {
        "window_s": window_s,
        "windows": windows,
        "idc": float((counts.astype(np.float64) ** 2).sum() / windows - mean**2) / mean if known else None,
        "peak_to_mean": float(counts.max() / mean) if known else None,
    }


def _tick_s(times_s: Times) -> float | None:
    stamps = np.unique(times_s)
    if len(stamps) < 3 or 1 - (len(stamps) - 1) / (len(times_s) - 1) < _SHARED:
        return None
    steps = np.diff(stamps)
    usual = float(np.median(steps))
    if (np.abs(steps - usual) <= _CLOSE * usual).mean() >= _REGULAR:
        return usual
    least = float(steps.min())
    multiples = steps / least
    return least if np.abs(multiples - np.round(multiples)).max() < 1e-3 else None
