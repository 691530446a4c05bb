"""Per-tenant figures and fairness, from outcomes made by hand and from a simulation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import simcore
from simcore.outcome import Outcome, TierOutcome
from simcore.tenants import jain, tenant_outcomes
from tests.simcore.families.scenarios import with_paths


def outcome(tenant: list[int]) -> Outcome:
    """Four requests of 100 + 10 tokens; they take 1, 2, 3 and 4 s, half of it to the first token; 0, 10, 20, 30 hit tokens."""
    m = np.arange(4)
    tier = TierOutcome("hbm", 1, 0, 0, 0)
    times = {"arrival_s": 1.0 * m, "first_token_s": m + (m + 1) / 2, "finish_s": m + m + 1.0}
    tokens = {"input_tokens": np.full(4, 100), "output_tokens": np.full(4, 10), "hit_tokens": 10 * m[:, None]}
    counts = {"total_requests": 4, "total_output_tokens": 40, "rejected": 0, "preemptions": 0, "recomputed_tokens": 0}
    rest = {"queue_s": 0.0 * m, "load_s": 0.0 * m, "tiers": (tier,), "links": (), "duration_s": 7.0, "busy_s": 1.0}
    unknown = {"readmission_hit_blocks": 0, "offered_rps": None, "sustainable_rps": None, "hit_ceiling": 0.5}
    return Outcome(family="kv", tenant=np.array(tenant, np.int64), **times, **tokens, **counts, **rest, **unknown)


def test_jain() -> None:
    assert jain([3, 3, 3]) == 1
    assert jain([5, 0, 0, 0]) == 0.25
    assert jain([1, 2, 3]) == pytest.approx(36 / (3 * 14))  # (sum)^2 over n times the sum of squares
    assert jain([0, 0]) is None


def test_each_tenant_has_its_own_figures() -> None:
    first, second = tenant_outcomes(outcome([3, 7, 3, 3]))
    assert (first.tenant, first.requests, first.prompt_tokens, first.output_tokens) == (3, 3, 300, 30)
    assert (first.hit_ratio, second.hit_ratio) == (50 / 300, 0.1)
    assert (first.ttft_p50_s, second.ttft_p50_s, second.ttft_p99_s) == (1.5, 1.0, 1.0)
    assert (first.throughput_tokens_per_s, second.throughput_tokens_per_s) == (30 / 7, 10 / 7)
    assert (first.speed_tokens_per_s, second.speed_tokens_per_s) == (30 / 8, 5)
    values = simcore.metric_values(outcome([3, 7, 3, 3]))
    assert values["fairness_jain"] == pytest.approx(jain([30 / 8, 5]))
    assert values["fairness_jain_hits"] == pytest.approx(jain([50 / 300, 0.1]))


def test_one_tenant_has_nobody_to_compare_with() -> None:
    for tenant in ([], [2, 2, 2, 2]):
        values = simcore.metric_values(replace(outcome(tenant)))
        assert values["fairness_jain"] is None and values["fairness_jain_hits"] is None
        assert len(tenant_outcomes(outcome(tenant))) == 1


def test_tenants_of_a_simulation_add_up() -> None:
    simulated = simcore.simulate(simcore.build_scenario(with_paths({"workload.warmup": 0.2})))
    tenants = tenant_outcomes(simulated)
    assert 4 < len(tenants) <= 8
    assert sum(t.requests for t in tenants) == len(simulated.arrival_s) == 240
    hits = sum(t.hit_ratio * t.prompt_tokens for t in tenants)
    assert hits / sum(t.prompt_tokens for t in tenants) == pytest.approx(simcore.metric_values(simulated)["hit_ratio"])
    values = simcore.metric_values(simulated)
    assert 1 / len(tenants) < values["fairness_jain_hits"] < 1
    assert values["fairness_jain"] == pytest.approx(jain([t.speed_tokens_per_s for t in tenants]))
