"""The sustainable rate is no artefact of how few requests were drained."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import pytest

import simcore
from simcore.families._kv_run import serving_setup, trace_of


@cache
def drained(requests: int, replicas: int, output_tokens: int) -> tuple[float, float]:
    """Sustainable rate of unrelated prompts of 840 tokens, and the rate at which the replicas compute such prompts."""
    scenario = simcore.build_scenario(
        {
            "family": "kv",
            "model": "qwen3-8b",
            "gpu": "h100-sxm",
            "replicas": replicas,
            "tiers": {"hbm": {"capacity": "24 GiB"}},
            "workload": {
                "kind": "shared_prefix",
                "request_rate": 300,
                "groups": requests,
                "questions": 1,
                "prefix_tokens": 240,
                "question_tokens": 600,
                "output_tokens": output_tokens,
            },
        }
    )
    rate = simcore.measure(scenario)["sustainable_rate_rps"]
    lin_s = serving_setup(scenario, trace_of(scenario)).costs.lin_s
    assert rate is not None
    return rate, replicas * (len(lin_s) - 1) / float(lin_s[-1]) / 840


def test_twice_the_replicas_at_most_double_the_rate() -> None:
    rates = [drained(400, replicas, 64)[0] for replicas in (1, 2, 4, 8)]
    assert all(one < two < 1.05 * 2 * one for one, two in pairwise(rates)), rates


@pytest.mark.parametrize("replicas", [1, 2, 3, 4, 8])
def test_no_more_prompts_than_the_replicas_can_compute(replicas: int) -> None:
    rate, prefill_rate = drained(400, replicas, 64)
    assert rate <= prefill_rate


@pytest.mark.parametrize("output_tokens", [16, 64, 256])
@pytest.mark.parametrize("requests", [400, 1600])
def test_few_requests_tell_the_rate_of_many(requests: int, output_tokens: int) -> None:
    assert drained(requests, 4, output_tokens)[0] == pytest.approx(drained(6400, 4, output_tokens)[0], rel=0.25)
