"""Zipf's exponent where it is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcore.traces.describe import popularity
from simcore.traces.describe.popularity import describe_popularity, zipf_exponent


@pytest.mark.parametrize("exponent", [0.0, 0.5, 0.9, 1.0, 1.000001, 1.5, 3.0])
@pytest.mark.parametrize("n", [10, 5_000, 200_000])
def test_counts_that_follow_the_law_give_its_exponent(exponent: float, n: int) -> None:
    counts = np.round(1e12 * np.arange(1, n + 1) ** -exponent).astype(np.int64)
    counts = counts[counts > 0]
    found = describe_popularity(counts[::-1].copy())
    assert isinstance(found, dict)
    tolerance = 1e-6 if counts[-1] > 1e5 else 2e-3
    assert found["zipf_exponent"] == pytest.approx(exponent, abs=tolerance)
    assert found["ks_distance"] < 1e-4 and found["fit"] == "good"
    if exponent < 2:  # whole numbers bend the tail of a steep law
        assert found["slope_exponent"] == pytest.approx(exponent, abs=1e-3)


def test_the_tail_of_the_sums() -> None:
    for exponent in (0.0, 0.4, 1 - 1e-6, 1.0, 1 + 1e-9, 1.7, 4.0):
        ranks = np.arange(1.0, 1_000_001)
        weights = ranks**-exponent
        exact = float((weights * np.log(ranks)).sum() / weights.sum())
        assert popularity._mean_log_rank(exponent, 1_000_000) == pytest.approx(exact, rel=1e-9)


@given(st.lists(st.integers(1, 1000), min_size=2, max_size=40))
def test_the_estimate_is_the_most_likely(values: list[int]) -> None:
    ranked = np.sort(np.array(values))[::-1]
    ranks = np.arange(1, len(ranked) + 1)

    def log_likelihood(a: float) -> float:
        return float(-a * (ranked * np.log(ranks)).sum() - ranked.sum() * np.log((ranks**-a).sum()))

    best = zipf_exponent(ranked)
    assert best >= 0
    assert all(log_likelihood(best) >= log_likelihood(max(best + step, 0.0)) - 1e-6 for step in (-0.01, 0.01))


def test_two_levels_are_no_zipf_law() -> None:
    found = describe_popularity(np.repeat([1000, 1], [100, 10_000]))
    assert isinstance(found, dict)
    assert found["fit"] == "bad" and found["ks_distance"] > 0.1 and found["slope_ranks"] == 100
    assert found["top_1_percent_share"] == pytest.approx((100_000 + 1) / 110_000)


def test_what_has_no_ranks() -> None:
    assert describe_popularity(np.array([7])) == "a single object has no ranks"
    found = describe_popularity(np.array([4, 1]))
    assert isinstance(found, dict) and found["slope_exponent"] is None and found["slope_ranks"] == 0
