"""The multi-turn generator against the per-round hit rates users measured, and its structure."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from simcore.errors import InputError
from simcore.specs.base import validate
from simcore.traces.reuse import ideal_hit
from simcore.traces.trace import Trace
from simcore.workloads.multiturn import Params, generate


def multiturn(seed: int = 0, **changes: Any) -> Trace:
    return generate(validate(Params, {"kind": "multiturn", **changes}), seed)


def test_rounds_reach_the_measured_ceiling() -> None:
    """20 clients, 9 rounds, 4,096 new tokens, 1 output token (sgl-project/sglang issue 33984, ratio 2)."""
    trace = multiturn()
    ideal = ideal_hit(trace, 64)
    measured = [0, 0.499939, 0.666558, 0.749863, 0.799844, 0.833164, 0.856964, 0.874813, 0.888696]
    for k, expected in enumerate(measured):
        of_round = trace.wave == k
        share = ideal.hit_tokens[of_round].sum() / trace.input_tokens[of_round].sum()
        assert round(float(share), 6) == expected
        whole_blocks = ideal.hit_units[of_round].sum() / (trace.input_tokens[of_round] // 64).sum()
        assert whole_blocks == pytest.approx(k / (k + 1), rel=1e-15)


def test_a_barrier_makes_waves_and_no_chains() -> None:
    trace = multiturn(clients=3, rounds=2, new_tokens=10)
    assert trace.wave.tolist() == [0, 0, 0, 1, 1, 1]
    assert trace.session.tolist() == [0, 1, 2, 0, 1, 2]
    assert trace.input_tokens.tolist() == [10, 10, 10, 21, 21, 21]
    assert set(trace.after.tolist()) == {-1}
    assert trace.arrival_s.tolist() == [0.0] * 6


def test_without_a_barrier_clients_follow_themselves() -> None:
    trace = multiturn(clients=2, rounds=3, barrier=False, think_time="5 s")
    assert trace.after.tolist() == [-1, -1, 0, 1, 2, 3]
    assert trace.arrival_s.tolist() == [0.0, 0.0, 5.0, 5.0, 10.0, 10.0]
    assert set(trace.wave.tolist()) == {0}


def test_a_rate_spreads_the_starts() -> None:
    trace = multiturn(clients=50, rounds=4, barrier=False, request_rate=8, new_tokens=32)
    assert trace.mean_rate_per_s == pytest.approx(8)
    starts = np.sort(trace.arrival_s[trace.after < 0])
    assert len(np.unique(starts)) == 50
    assert starts[-1] == pytest.approx(200 / 8)


def test_requests_limits_the_trace() -> None:
    assert multiturn(requests=30).n == 30
    with pytest.raises(InputError, match="requests: must be between 1 and the 180 requests"):
        multiturn(requests=181)


@pytest.mark.parametrize("change", [{"request_rate": 4}, {"think_time": "1 s"}])
def test_a_barrier_excludes_other_starts(change: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"a barrier starts every round at once.*barrier: false"):
        multiturn(**change)


def test_every_parameter_matters() -> None:
    base: dict[str, Any] = {"clients": 4, "rounds": 3, "new_tokens": 40, "output_tokens": 5, "barrier": False}
    changes: list[dict[str, Any]] = [
        {}, {"clients": 5}, {"rounds": 4}, {"new_tokens": {"low": 30, "high": 50}}, {"output_tokens": 6},
        {"barrier": True}, {"think_time": "2 s"}, {"request_rate": 3}, {"requests": 11},
    ]  # fmt: skip
    assert len({multiturn(**{**base, **change}).sha256 for change in changes}) == len(changes)
