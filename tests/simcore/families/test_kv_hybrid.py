"""Models with recurrent layers in the serving engine: the block they force decides what can be reused."""

from __future__ import annotations

import pytest

import simcore
from tests.simcore.families.scenarios import measured

HYBRID = {
    "family": "kv", "model": "qwen3.6-27b", "gpu": "h200", "engine": {"max_num_seqs": 8},
    "tiers": {"hbm": {"capacity": "40 GiB"}},
    "workload": {"kind": "shared_prefix", "groups": 10, "prefix_tokens": 240, "request_rate": 1, "requests": 40},
}  # fmt: skip


def test_a_prefix_shorter_than_the_block_is_never_reused() -> None:
    """vllm-project/vllm#54607: 240 shared tokens, 0 % hits with blocks of 784; an engine of small blocks reuses them."""
    assert measured({}, HYBRID)["hit_ratio"] == 0
    apart = measured({"engine.state_pages": "separate"}, HYBRID)
    assert apart["hit_ratio"] == pytest.approx(apart["hit_ceiling"]) and apart["hit_ratio"] > 0.2


def test_a_prefix_of_whole_blocks_is() -> None:
    """1,600 tokens hold two blocks of 784."""
    long = measured({"workload.prefix_tokens": 1600}, HYBRID)
    assert long["hit_ratio"] == pytest.approx(30 / 40 * 1568 / 1856, rel=0.1)


def test_the_arithmetic_says_which_layers_keep_what() -> None:
    lines = simcore.explain(simcore.build_scenario(HYBRID))
    assert lines[0].startswith("KV per token = 2 (K and V) x 16 layers x 4 KV heads x 256") and "65,536 B" in lines[0]
    assert lines[1].startswith("per sequence, recurrent layers = 48 layers x (786,432 values in f32")


def test_states_too_many_for_the_pool() -> None:
    with pytest.raises(simcore.InputError, match="tiers.hbm.capacity: must hold at least one reuse block"):
        measured({"engine.max_num_seqs": 200}, HYBRID)


@pytest.mark.parametrize("dram", [0, "64 GiB"])
def test_a_lower_tier_does_not_lengthen_the_longest_request(dram: int | str) -> None:
    """NVIDIA/TensorRT-LLM#7281: KV of a running request must be in HBM, so one beyond the pool is turned away all the same."""
    base = {
        "family": "kv", "model": "llama-3.1-8b", "gpu": "h100-sxm",
        "tiers": {"hbm": {"capacity": "1 GiB"}, "dram": {"preset": "ddr5-host", "capacity": dram}},
        "workload": {"kind": "shared_prefix", "groups": 4, "prefix_tokens": 8192, "request_rate": 1, "requests": 8},
    }  # fmt: skip
    assert measured({}, base)["rejected_requests"] == 8
    assert measured({"tiers.hbm.capacity": "2 GiB"}, base)["rejected_requests"] == 0
