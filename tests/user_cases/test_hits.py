"""User cases about hits (docs/user-cases.md): why they are low, suspiciously high, or do not help."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import simcore
from simcore.accounting import Account
from tests.user_cases.conftest import EXAMPLES, Case, job

Why = Callable[..., Account]


@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.yaml")))
def test_every_example_runs(name: str, case: Case) -> None:
    values = case(name)
    assert values["request_rate_rps"] > 0 and values["rejected_requests"] == 0


def test_u04_the_first_prompt_is_on_disk(case: Case, why: Why) -> None:
    """LMCache#1739: a prompt takes 76 % of the pool, so two do not fit: part of what is found comes from disk."""
    values, without = case("u04_two_prompts"), case("u04_two_prompts", tiers__disk__capacity=0)
    assert 16_304 * 2 / 42_656 == pytest.approx(0.76, abs=0.01)
    assert values["prompt_share_disk"] > 0.02 and values["hit_ratio"] == pytest.approx(values["hit_ceiling"], abs=0.001)
    assert without["hit_ratio"] < values["hit_ratio"]
    assert why("u04_two_prompts", tiers__disk__capacity=0).missed["capacity"] > 0


@pytest.mark.parametrize(("block_size", "reusable"), [(16, 240), (112, 224), (784, 0)])
def test_u10_only_whole_blocks(block_size: int, reusable: int, why: Why) -> None:
    """vllm#54607: 0 % with blocks of 784 is no misconfiguration; alignment is the reason, and smaller blocks reuse all 240.
    (Requests that come while the first one is computed miss it, at most 8 of 400.)"""
    found = why("u10_block_size", engine__block_size=block_size)
    assert 392 * reusable <= found.found["hbm"] <= 399 * reusable
    assert found.missed["alignment"] >= 390 * (240 - reusable)
    assert found.missed["capacity"] == 0


def test_u11_hits_of_random_prompts_are_preemptions(case: Case) -> None:
    """vllm#25780: nothing is shared, yet the engine's counter shows hits: preempted requests find their own blocks again.

    Sign only: the log's 32 % is a window over recent requests and counts generated blocks too; ours counts prompts.
    """
    values = case("u11_random_prompts")
    assert values["hit_ratio"] == 0 and values["hit_ceiling"] == 0
    assert values["preemptions"] > 100 and values["recomputed_tokens"] > 100 * values["preemptions"]
    assert 0.02 < values["block_hit_ratio_with_readmissions"] < 0.322
    roomy = case("u11_random_prompts", tiers__hbm__capacity="300GiB")
    assert roomy["preemptions"] == roomy["recomputed_tokens"] == roomy["block_hit_ratio_with_readmissions"] == 0


def test_u12_rounds_that_do_not_fit(case: Case, why: Why) -> None:
    """1Cat-vLLM#90: 2/3 where all stays (less the last block of each prompt); 21 % lies on the cliff below five prompts."""
    five = 5 * 12_800 * 147_456 / 2**30
    assert case("u12_rounds", tiers__hbm__capacity="20GiB")["hit_ratio"] == pytest.approx(2 / 3 * (1 - 256 / 12_800), abs=1e-3)
    assert case("u12_rounds")["hit_ratio"] == 0
    partly = [case("u12_rounds", tiers__hbm__capacity=f"{gib}GiB")["hit_ratio"] for gib in (7.5, 8)]
    assert partly[0] < 0.213 < partly[1] and 8 < five < 9
    found = why("u12_rounds")
    assert found.missed["capacity"] > 0.6 * found.prompt_tokens and found.reuse.regime == "thrash"


def test_u13_caching_on_and_off(case: Case) -> None:
    """qwen38-flash-next-spark#9: at 66.5 % hits TTFT p50 falls to 0.44, and the wall clock falls too (there to 0.56).

    TTFT within 0.1; the wall clock by sign: how long the answers were is not told, and they set it.
    """
    on, off = case("u13_prefix_caching"), case("u13_prefix_caching", workload__groups=192, workload__questions=1)
    assert on["hit_ratio"] == pytest.approx(0.665, abs=0.05) and off["hit_ratio"] == 0
    assert on["ttft_p50_s"] / off["ttft_p50_s"] == pytest.approx(0.435, abs=0.1)
    assert on["request_rate_rps"] > off["request_rate_rps"] and on["tpot_mean_s"] < off["tpot_mean_s"]


def test_u14_rounds_sit_on_their_ceiling() -> None:
    """sglang#33984: round k finds k of k + 1 parts at ratio 2, and TTFT grows since more is moved (there 2.55 to 6.13 s)."""
    spec = next(iter(job("u14_multiturn").scenarios.values()))
    outcome = simcore.simulate(spec)
    published = [0, 0.4999, 0.6666, 0.7499, 0.7998, 0.8332, 0.8570, 0.8748, 0.8887]
    hits, prompts = (np.array(a).reshape(9, 20, -1).sum(axis=(1, 2)) for a in (outcome.hit_tokens, outcome.input_tokens))
    assert hits / prompts == pytest.approx(published, abs=2e-3)
    ttft = (outcome.first_token_s - outcome.arrival_s).reshape(9, 20).mean(axis=1)
    assert (np.diff(ttft[1:]) > 0).all() and ttft[8] > 1.5 * ttft[1]
    rounds = simcore.account(spec).rounds
    assert [sum(r.found.values()) for r in rounds] == [r.ceiling_tokens for r in rounds] == hits.tolist()
    assert [r.ttft_mean_s for r in rounds] == pytest.approx(ttft)


def test_u15_conditional_ratios_make_the_overall_one(case: Case) -> None:
    """FBGEMM#5777: overall = L1 + (1 - L1) L2 + ..., to rounding, for every example."""
    for path in sorted(EXAMPLES.glob("*.yaml")):
        values = case(path.stem)
        missed = 1.0
        for key, ratio in values.items():
            if key.startswith("hit_ratio_") and ratio is not None:
                missed *= 1 - ratio
        assert 1 - missed == pytest.approx(values["hit_ratio"], abs=1e-12), path.stem


def test_u16_no_reuse_needs_no_tier(case: Case, why: Why) -> None:
    """LMCache#1061: unrelated prompts, so 393 GB change nothing, and none is advised. #1109: HBM holds the prompt already."""
    with_it, without = (case("u16_no_reuse", tiers__dram__capacity=c)["ttft_mean_s"] for c in ("393GB", 0))
    assert with_it == without
    assert why("u16_no_reuse").reuse.regime == "no reuse"
    twice = why("u16_prompt_twice")
    assert (twice.reuse.regime, twice.reuse.holding, twice.found["dram"]) == ("fits", "hbm", 0)


def test_u39_hits_lower_latency(case: Case) -> None:
    """inference-sim#1699: a simulator that raises hits and moves no latency is wrong; the denominator is the same."""
    without, with_it = (case("u39_consistency", tiers__dram__capacity=c) for c in (0, "40GiB"))
    assert with_it["hit_ratio"] > 2 * without["hit_ratio"] and with_it["hit_ceiling"] == without["hit_ceiling"]
    for key in ("ttft_mean_s", "ttft_p99_s", "e2e_mean_s", "utilisation"):
        assert with_it[key] < without[key], key
