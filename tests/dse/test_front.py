"""Fronts of trials: feasibility, ties, members, and the hypervolume along a search."""

from __future__ import annotations

import pytest

from dse.front import Meter, equals, front, front_members, targets
from dse.trial import Trial
from tests.dse.fake_space import FakeMetric, FakeSpace


def trial(number: int, ttft: float, cost: float, **fields: object) -> Trial:
    values = {"ttft_p99_s": ttft, "hbm_cost_usd": cost}
    defaults = {"state": "complete", "metrics": {"slow": values, "fast": values}, "combined": values}
    return Trial(number, {}, str(number), **{**defaults, **fields})  # type: ignore[arg-type]


def test_front_is_cheapest_first_and_without_dominated_infeasible_or_failed_trials() -> None:
    trials = [
        trial(0, 1.0, 30.0),
        trial(1, 3.0, 10.0),
        trial(2, 3.0, 20.0),
        trial(3, 0.1, 1.0, violations={"x": 0.1}),
        Trial(4, {}, "4", "failed", error="no"),
        trial(5, 2.0, 15.0, violations={"x": 0.0}),
    ]
    assert [t.number for t in front(FakeSpace(), trials)] == [1, 5, 0]


def test_of_equal_trials_the_first_stands_for_all() -> None:
    trials = [trial(0, 2.0, 2.0), trial(1, 1.0, 3.0), trial(2, 1.0, 3.0), trial(3, 1.0, 3.0, violations={"x": 1.0})]
    assert [t.number for t in front(FakeSpace(), trials)] == [0, 1]
    assert equals(FakeSpace(), trials, trials[1]) == (2,)


def test_a_front_for_each_member_has_its_own_metrics_and_targets() -> None:
    space = FakeSpace(combine="each")
    fast = {"ttft_p99_s": 1.0, "hbm_cost_usd": 5.0}
    slow = {"ttft_p99_s": 1.0, "hbm_cost_usd": 1.0}
    trials = [trial(0, 2.0, 2.0), trial(1, 0, 0, metrics={"slow": slow, "fast": fast}, combined=slow)]
    assert front_members(space) == ("slow", "fast")
    assert [t.number for t in front(space, trials, "slow")] == [1]
    assert [t.number for t in front(space, trials, "fast")] == [0, 1]
    assert [t.name for t in targets(space)] == [
        "ttft_p99_s[slow]", "hbm_cost_usd[slow]", "ttft_p99_s[fast]", "hbm_cost_usd[fast]",
    ]  # fmt: skip


def test_a_maximised_objective_is_better_when_larger() -> None:
    space = FakeSpace(objectives=(FakeMetric("ttft_p99", "ttft_p99_s", "max"), FakeMetric("hbm_cost", "hbm_cost_usd")))
    assert [t.number for t in front(space, [trial(0, 1.0, 1.0), trial(1, 2.0, 1.0)])] == [1]


def test_the_base_lies_in_the_middle_of_the_meter() -> None:
    meter = Meter(FakeSpace(), trial(-1, 0.7, 1234.0))
    assert meter.add([trial(0, 0.7, 1234.0)]) == pytest.approx(0.25)
    assert meter.front_size == 1


def test_the_meter_never_falls_and_ignores_what_is_infeasible() -> None:
    meter = Meter(FakeSpace(), trial(-1, 1.0, 100.0))
    steps = [meter.add([trial(n, 1.0 / (n + 1), 100.0 * (n + 1))]) for n in range(6)]
    assert steps == sorted(steps)
    assert meter.add([trial(9, 0.001, 0.001, violations={"x": 1.0})]) == steps[-1]
    assert meter.front_size == 6


def test_the_meter_needs_no_base() -> None:
    failed = Trial(-1, {}, "base", "failed", error="no")
    for base in (None, failed):
        assert Meter(FakeSpace(), base).add([trial(0, 1.0, 1.0)]) == pytest.approx(0.25)
