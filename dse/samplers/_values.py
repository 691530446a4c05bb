"""The values a dimension can take, from its Optuna distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution


def candidates(distribution: BaseDistribution) -> Sequence[Any] | None:
    """Every value of a distribution in order; None if it is continuous."""
    if isinstance(distribution, CategoricalDistribution):
        return list(distribution.choices)
    if isinstance(distribution, IntDistribution):
        return range(distribution.low, distribution.high + 1, distribution.step)
    assert isinstance(distribution, FloatDistribution)
    if distribution.single():
        return [distribution.low]
    if distribution.step is None:
        return None
    count = round((distribution.high - distribution.low) / distribution.step) + 1
    return [distribution.low + i * distribution.step for i in range(count)]
