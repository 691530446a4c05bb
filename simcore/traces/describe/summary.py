"""A column in five numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def summary(values: NDArray[Any]) -> dict[str, float]:
    """Mean, percentiles (interpolated between values) and largest of a column that is not empty."""
    p50, p90, p99 = np.percentile(values, (50, 90, 99))
    mean = float(values.mean(dtype=np.float64))
    return {"mean": mean, "p50": float(p50), "p90": float(p90), "p99": float(p99), "max": float(values.max())}
