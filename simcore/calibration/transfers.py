"""Bandwidth and fixed cost of copies over the host link, from logged transfers.

    seconds = overhead + bytes / bandwidth

fitted to relative errors. Timers that stop before an asynchronous copy has ended give rates above the link's own; such
transfers are left out and counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import least_squares

from simcore.calibration.records import Transfer
from simcore.errors import InputError

LEAST_TRANSFERS = 3
LEAST_BYTES_PER_S = 1e6
SPREAD = 1.5
"""Sizes must differ by this factor to tell a fixed cost from a rate."""


class Link(NamedTuple):
    """A fitted link.

    Attributes:
        bandwidth_bytes_per_s: one way, for one large copy.
        overhead_s: of each transfer; None where all transfers had about the same size.
        error: median relative error of the fit on its own transfers.
        used, dropped: transfers fitted, and transfers faster than the link can be.
    """

    bandwidth_bytes_per_s: float
    overhead_s: float | None
    error: float
    used: int
    dropped: int


def fit_link(transfers: Sequence[Transfer], link_bytes_per_s: float) -> Link:
    """The link behind these transfers.

    Args:
        link_bytes_per_s: what the GPU's host link is specified for, one way.

    Raises:
        InputError: too few transfers that the link can have made.
    """
    kept = [t for t in transfers if t.size_bytes / t.seconds <= link_bytes_per_s]
    dropped = len(transfers) - len(kept)
    if len(kept) < LEAST_TRANSFERS:
        rule = f"needs at least {LEAST_TRANSFERS} transfers no faster than the host link ({link_bytes_per_s / 1e9:g} GB/s)"
        hint = f"{dropped} are faster: they were timed before the copy had ended, or gpu is another" if dropped else None
        raise InputError(rule, path="transfers", value=len(kept), hint=hint)
    size, seconds = (np.array([getattr(t, name) for t in kept], float) for name in ("size_bytes", "seconds"))
    if size.max() < SPREAD * size.min():
        rate = float(np.median(size / seconds))
        return Link(rate, None, float(np.median(np.abs(size / rate / seconds - 1))), len(kept), dropped)
    start = [1e-4, float(np.clip(np.median(size / seconds), 1.01 * LEAST_BYTES_PER_S, link_bytes_per_s))]
    solved = least_squares(
        lambda x: (x[0] + size / x[1]) / seconds - 1,
        start,
        bounds=([0, LEAST_BYTES_PER_S], [10, link_bytes_per_s]),
        x_scale=start,
        loss="soft_l1",
        f_scale=0.2,
    )
    overhead, rate = (float(x) for x in solved.x)
    error = float(np.median(np.abs((overhead + size / rate) / seconds - 1)))
    return Link(rate, overhead, error, len(kept), dropped)
