"""The account of a run: sums that must be equal, reasons with known answers, what-ifs that are simulations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import simcore
from simcore.accounting import Account
from tests.simcore.families.scenarios import BASE, measured, with_paths


def build(changes: dict[str, Any], base: dict[str, Any] = BASE) -> Any:
    return simcore.build_scenario(with_paths(changes, base))


def account(changes: dict[str, Any], base: dict[str, Any] = BASE) -> Account:
    return simcore.account(build(changes, base))


ALONE: dict[str, Any] = {
    "family": "kv",
    "model": "llama-3.1-8b",
    "gpu": "h100-sxm",
    "tiers": {"hbm": {"capacity": "8 GiB"}},
    "workload": {"kind": "shared_prefix", "concurrency": 1, "groups": 4, "questions": 5, "prefix_tokens": 1024},
}


@pytest.mark.parametrize(
    "changes",
    [{}, {"tiers.hbm.capacity": "3 GiB", "engine.load": "never"}, {"workload.warmup": 0.3, "workload.request_rate": 9}],
)
def test_sums_are_equal(changes: dict[str, Any]) -> None:
    scenario = build(changes)
    outcome, found = simcore.simulate(scenario), simcore.account(scenario)
    np.testing.assert_allclose(found.e2e_s, outcome.finish_s - outcome.arrival_s, rtol=1e-12)
    assert (
        found.phases["queue"].tolist() == outcome.queue_s.tolist() and found.phases["load"].tolist() == outcome.load_s.tolist()
    )
    assert found.prompt_tokens == outcome.input_tokens.sum()
    assert sum(found.found.values()) + sum(found.missed.values()) == found.prompt_tokens
    assert list(found.found.values()) == outcome.hit_tokens.sum(axis=0).tolist()
    assert (found.preemptions, found.recomputed_tokens) == (outcome.preemptions, outcome.recomputed_tokens)


def test_the_wait_for_a_packet_is_decoding() -> None:
    """The first packet of 20 leaves 19 tokens after the first: TTFT is later by a part of `decode`, and no phase changes."""
    one, many = (build({"engine.stream_interval": n}) for n in (1, 20))
    outcome, packets = simcore.simulate(one), simcore.simulate(many)
    first, found = simcore.account(one), simcore.account(many)
    for name, seconds in first.phases.items():
        np.testing.assert_array_equal(found.phases[name], seconds, err_msg=name)
    wait = packets.first_token_s - outcome.first_token_s
    assert 0 < wait.mean() < found.phases["decode"].mean() and (wait <= found.phases["decode"] + 1e-9).all()
    before = sum(found.phases[name] for name in found.phases if name != "decode")
    calm = found.phases["queue_again"] + found.phases["prefill_again"] == 0
    np.testing.assert_allclose((before + wait)[calm], (packets.first_token_s - packets.arrival_s)[calm], rtol=1e-9)


def test_speculation_shortens_decoding() -> None:
    """One request at a time with all drafts accepted: decoding takes less, and the prompt what it took."""
    plain, drafted = (
        account({"engine.draft_tokens": k, "engine.acceptance_rate": 1.0, "engine.max_num_seqs": 8}, ALONE) for k in (0, 4)
    )
    assert drafted.phases["decode"].sum() < 0.5 * plain.phases["decode"].sum()
    np.testing.assert_allclose(drafted.phases["prefill"], plain.phases["prefill"], rtol=1e-9)


def test_a_what_if_is_a_simulation() -> None:
    found = {w.name: w for w in account({}).what_if}
    base = measured({})
    changed = {
        "HBM pool": {"tiers.hbm.capacity": "12 GiB"},
        "DRAM capacity": {"tiers.dram.capacity": "12 GiB"},
        "max_num_seqs": {"engine.max_num_seqs": 64},
        "max_num_batched_tokens": {"engine.max_num_batched_tokens": 4096},
        "replicas": {"replicas": 4},
    }
    for name, changes in changed.items():
        values = measured(changes)
        for ratio, key in ((found[name].e2e_mean, "e2e_mean_s"), (found[name].ttft_p99, "ttft_p99_s")):
            assert ratio == pytest.approx((values[key] or 0) / (base[key] or 1)), (name, key)


@pytest.mark.parametrize(("block_size", "reused"), [(16, 240), (784, 0)])
def test_only_whole_blocks_are_reused(block_size: int, reused: int) -> None:
    """A shared prefix of 240 tokens: none of it is found with blocks of 784 (vllm-project/vllm#54607), and that is why."""
    workload = {"kind": "shared_prefix", "concurrency": 1, "groups": 1, "questions": 11, "prefix_tokens": 240}
    found = account({"workload": {**workload, "question_tokens": 1000}, "engine.block_size": block_size}, ALONE)
    assert found.found == {"hbm": 10 * reused}
    assert found.missed["alignment"] == 10 * (240 - reused)
    assert found.missed["first_use"] == 11 * 1000 + 240


def test_no_reuse_recommends_no_tier() -> None:
    found = account({"workload": {**ALONE["workload"], "questions": 1, "groups": 20}}, ALONE)
    assert found.reuse.regime == "no reuse" and found.reuse.ceiling == 0
    assert found.missed["first_use"] == found.prompt_tokens


def test_a_tier_below_the_cycle_is_worth_nothing() -> None:
    """Rounds over 20 conversations: LRU finds nothing until HBM and DRAM hold them all."""
    rounds = {"kind": "multiturn", "clients": 20, "rounds": 6, "new_tokens": 1024, "barrier": True}

    def regime(dram: str) -> tuple[str, str | None, float]:
        found = account(
            {"workload": rounds, "tiers.hbm.capacity": "2 GiB", "tiers.dram": {"preset": "ddr5-host", "capacity": dram}}, ALONE
        )
        return found.reuse.regime, found.reuse.holding, sum(found.found.values()) / found.prompt_tokens

    need = account({"workload": rounds, "tiers.hbm.capacity": "2 GiB"}, ALONE).reuse
    assert need.regime == "thrash"
    assert need.ceiling == pytest.approx(1 - 6 / 21, abs=1e-3)  # 0 + 1 + ... + 5 of 1 + 2 + ... + 6 parts
    assert 20 * 5 * 1024 < need.most_tokens < 20 * 6 * 1024  # all conversations as long as in the last two rounds
    assert regime("2 GiB")[0] == "thrash" and regime("2 GiB")[2] < 0.1
    assert regime("16 GiB")[:2] == ("fits", "dram") and regime("16 GiB")[2] > 0.65


def test_replicas_that_share_a_tier_share_its_reuse() -> None:
    own = account({}).reuse
    shared = account({"tiers.cxl.shared": True, "tiers.cxl.capacity": "96 GiB"})
    assert own.ceiling < own.ceiling_pooled - 0.05
    assert shared.reuse.ceiling == shared.reuse.ceiling_pooled == pytest.approx(own.ceiling_pooled, abs=0.03)
    found = sum(shared.found.values()) / shared.prompt_tokens
    assert own.ceiling < found <= shared.reuse.ceiling and shared.reuse.holding == "cxl"
    assert [level[:2] for level in shared.reuse.levels[:2]] == [level[:2] for level in own.levels[:2]]
