"""Rate and burstiness against closed forms and naive counts."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcore.traces.describe.arrivals import describe_arrivals, evenly_spaced


def test_even_arrivals() -> None:
    found = describe_arrivals(np.arange(601) * 0.5)
    assert isinstance(found, dict)
    assert found["arrivals"] == 601 and found["span_s"] == 300 and found["rate_per_s"] == pytest.approx(601 / 300)
    assert found["gap_cv"] == 0 and found["zero_gap_share"] == 0 and found["tick_s"] is None and found["spread"] is None
    assert [w["windows"] for w in found["idc"]] == [301, 31, 6]


@given(st.lists(st.integers(0, 900), min_size=2, max_size=60))
def test_windows_are_counted_as_one_by_one(ticks: list[int]) -> None:
    times = np.sort(np.array(ticks) / 4.0)
    found = describe_arrivals(times)
    if times[0] == times[-1]:
        assert found == f"all {len(times)} arrivals are at one instant"
        return
    assert isinstance(found, dict)
    for window in found["idc"]:
        width = window["window_s"]
        counts = Counter(int((t - times[0]) // width) for t in times)
        columns = np.array([counts[k] for k in range(int((times[-1] - times[0]) // width) + 1)])
        assert window["windows"] == len(columns)
        if len(columns) == 1:
            assert window["idc"] is None and window["peak_to_mean"] is None
        else:
            assert window["idc"] == pytest.approx(columns.var() / columns.mean(), abs=1e-9)
            assert window["peak_to_mean"] == pytest.approx(columns.max() / columns.mean())


@pytest.mark.parametrize("tick_s", [0.1, 1.0, 3.0, 86400.0])
def test_a_coarse_clock_is_seen(tick_s: float) -> None:
    exact = np.sort(np.random.default_rng(0).random(2000)) * 300 * tick_s
    found = describe_arrivals(np.floor(exact / tick_s) * tick_s)
    assert isinstance(found, dict)
    assert found["tick_s"] == pytest.approx(tick_s) and found["zero_gap_share"] > 0.8
    assert found["spread"]["gap_cv"] < found["gap_cv"]


def test_real_bursts_are_no_clock() -> None:
    starts = np.cumsum(np.random.default_rng(1).exponential(10, 300))
    found = describe_arrivals(np.repeat(starts, 4))
    assert isinstance(found, dict)
    assert found["zero_gap_share"] > 0.7 and found["tick_s"] is None


def test_what_has_no_rate() -> None:
    assert describe_arrivals(np.zeros(1)) == "a single arrival has no rate"
    assert describe_arrivals(np.full(3, 5.0)) == "all 3 arrivals are at one instant"


def test_evenly_spaced() -> None:
    assert evenly_spaced(np.arange(100) / 3.0)
    assert not evenly_spaced(np.array([0.0, 1.0, 2.1]))
    assert not evenly_spaced(np.array([0.0, 1.0]))
