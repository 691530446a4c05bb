"""The kv family against numbers that others published or that follow from arithmetic alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import simcore
from simcore.families._kv_run import serving_setup, trace_of
from simcore.serving.serve import serve

BLOCK_BYTES = 512 * 131072
"""512 tokens of Llama-3.1-8B in bf16."""


@pytest.mark.parametrize(
    ("blocks", "hit_ratio"),
    [(1_000, 0.045), (10_000, 0.212), (30_000, 0.326), (50_000, 0.355), (100_000, 0.364), (200_000, 0.366)],
)
def test_lru_hit_ratio_of_the_mooncake_conversation_trace(shared: Path, blocks: int, hit_ratio: float) -> None:
    """Requests one at a time, trailing partial blocks as identities, full matches counted: exact LRU figures of the trace of
    kvcache-ai/Mooncake (FAST'25), 182,790 distinct blocks, by independent replays that agree."""
    trace = shared / "traces/kv/mooncake_conversation.jsonl.zst"
    scenario = simcore.build_scenario(
        {
            "family": "kv",
            "model": "llama-3.1-8b",
            "gpu": "h100-sxm",
            "engine": {"block_size": 512},
            "tiers": {"hbm": {"capacity": f"{blocks * BLOCK_BYTES} B"}},
            "workload": {"trace": str(trace), "concurrency": 1},
            "reuse": {"partial_block": True, "recompute_last": False, "output": False},
        }
    )
    outcome = simcore.simulate(scenario)
    assert outcome.rejected == 0
    assert outcome.prompt_blocks == 288_500
    assert simcore.metric_values(outcome)["block_hit_ratio"] == pytest.approx(hit_ratio, abs=0.001)


@pytest.mark.parametrize("tiers", ["hbm", "hbm+dram+nvme"])
def test_multi_turn_ceiling(tiers: str) -> None:
    """sgl-project/sglang issue 33984: 20 clients, equal new tokens a round, one output token; round k finds k/(k+1)."""
    data = {
        "family": "kv",
        "model": "llama-3.1-8b",
        "gpu": "h100-sxm",
        "tiers": {"hbm": {"capacity": "60 GiB"}},
        "workload": "multiturn-hicache",
        "reuse": {"recompute_last": False},
    }
    if tiers != "hbm":
        data["tiers"] = {
            "hbm": {"capacity": "12 GiB"},
            "dram": {"preset": "ddr5-host", "capacity": "20 GiB"},
            "nvme": {"preset": "nvme-gen5", "capacity": "1 TiB"},
        }
        data["engine"] = {"load": "always", "write_backlog": "1000 s"}
    else:
        data["gpu"] = {"preset": "h200"}
        data["tiers"] = {"hbm": {"capacity": "110 GiB"}}
    scenario = simcore.build_scenario(data)
    trace = trace_of(scenario)
    result = serve(trace, serving_setup(scenario, trace))
    prompt = trace.input_tokens.astype(float)
    ratios = [result.hit_tokens[trace.wave == k].sum() / prompt[trace.wave == k].sum() for k in range(9)]
    new = 4096
    # Answers of one token lengthen the prompts by a token a round, which no whole block covers yet.
    exact = [k * new / ((k + 1) * new + k) for k in range(9)]
    assert ratios == pytest.approx(exact, abs=1e-12)
    assert ratios == pytest.approx([0, 0.4999, 0.6666, 0.7499, 0.7998, 0.8332, 0.8570, 0.8748, 0.8887], abs=1.5e-4)


def test_ttft_of_multi_turn_grows_with_what_is_transferred() -> None:
    """The same report: TTFT rises from round to round although the hit ratio does too, because the transfers grow."""
    scenario = simcore.build_scenario(
        {
            "family": "kv",
            "model": "llama-3.1-8b",
            "gpu": "h100-sxm",
            "engine": {"load": "always", "write_backlog": "1000 s"},
            "tiers": {
                "hbm": {"capacity": "12 GiB"},
                "dram": {"preset": "ddr5-host", "capacity": "20 GiB"},
                "nvme": {"preset": "nvme-gen4", "capacity": "1 TiB"},
            },
            "workload": "multiturn-hicache",
        }
    )
    trace = trace_of(scenario)
    result = serve(trace, serving_setup(scenario, trace))
    ttft = result.first_token_s - result.arrival_s
    means = [ttft[trace.wave == k].mean() for k in range(1, 9)]
    assert np.all(np.diff(means) > 0)


def test_a_mistake_in_counting_gqa_or_bits_would_show() -> None:
    """vllm-project/vllm issue 22291: Qwen2.5-7B holds 57,344 bytes a token, 0.164 GiB a request of 3,072 tokens."""
    scenario = simcore.build_scenario(
        {
            "family": "kv",
            "model": "qwen2.5-7b",
            "gpu": "h100-sxm",
            "tiers": {"hbm": {"capacity": "10 GiB"}},
            "workload": "chat-single",
        }
    )
    assert "= 57,344 B" in simcore.explain(scenario)[0]
    assert 3072 * 57344 / 2**30 == pytest.approx(0.164, abs=5e-4)
