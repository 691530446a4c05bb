"""Mooncake: hit ratios of its conversation trace, and the bandwidth above which loading KV beats computing it.

Qin et al., "Mooncake: A KVCache-centric Disaggregated Architecture for LLM Serving", arXiv 2407.00079 and FAST 2025.
* The conversation trace (FAST25-release/traces/conversation_trace.jsonl of kvcache-ai/Mooncake): 12,031 requests over 182,790
  distinct blocks of 512 tokens. Its LRU and LFU hit ratios by capacity are those of independent replays that agree. A hit is a
  block resident when its request arrives, in the run of such blocks from the start of the prompt; then all blocks of the
  request are touched, the last one first, and absent ones enter. First accesses are misses. The repository's own README gives a
  cache ratio of 40 %.
* FAST 2025, equation 2: loading a prefix of p tokens beats computing it if B/G > 2 d s / (gqa (a p d + b d^2)), with a = 4 and
  b = 22 operations. For Llama3-70B and p = 8192 the paper gives 6 GB/s for 8 A800 and 19 GB/s for 8 H800.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from simcore.presets import gpu, model
from simcore.quantization.kv_bytes import kv_bytes_per_token
from simcore.replay.curve import miss_ratio_curve
from simcore.roofline.break_even import break_even_bandwidth, prefill_operations
from simcore.specs.base import validate
from simcore.specs.kv_format import KvFormatSpec
from simcore.traces.load import read_accesses
from simcore.validation.case import Case, TraceFile, printed, series

SYSTEM = "Mooncake"
SOURCE = "FAST 2025 traces (kvcache-ai/Mooncake), two independent replays"
EQUATION_2 = "Qin et al., FAST 2025, equation 2"

CONVERSATION = TraceFile(
    names=("mooncake_conversation.jsonl", "conversation_trace.jsonl"),
    where="FAST25-release/traces/conversation_trace.jsonl of kvcache-ai/Mooncake",
)
BLOCKS = (1_000, 3_000, 10_000, 30_000, 50_000, 100_000, 182_790)
HIT_RATIO = {
    "lru": (0.045, 0.065, 0.212, 0.326, 0.355, 0.364, 0.366),
    "lfu": (0.048, 0.075, 0.132, 0.276, 0.344, 0.363, 0.366),
}
BREAK_EVEN_GB_PER_S = {"8 x A800": 6.0, "8 x H800": 19.0}
PREFIX_TOKENS = 8192


def cases() -> list[Case]:
    return [
        Case(quantity="requests of the trace", published=12_031, ours=_requests, tolerance=0, trace=CONVERSATION),
        Case(quantity="distinct blocks", published=182_790, ours=_distinct, tolerance=0, trace=CONVERSATION),
        *_hit_ratios("lru"),
        *_hit_ratios("lfu"),
        Case(
            quantity="cache ratio of the README",
            published=0.40,
            ours=_ideal,
            tolerance=printed(2),
            absolute=True,
            trace=CONVERSATION,
            known_gap="how it was counted is not said; every replay of the file finds 0.366 of the blocks, 0.374 of the tokens",
            source="README.md of kvcache-ai/Mooncake, table of traces",
        ),
        *series(
            "break-even bandwidth of a load",
            BREAK_EVEN_GB_PER_S,
            _break_even,
            unit="GB/s",
            tolerance=0.03,
            source=EQUATION_2,
        ),
    ]


def _requests(trace: Path) -> float:
    return read_accesses(trace).n_requests


def _distinct(trace: Path) -> float:
    return read_accesses(trace).n_objects


def _hit_ratios(policy: str) -> list[Case]:
    points = {f"{blocks:,} blocks": ratio for blocks, ratio in zip(BLOCKS, HIT_RATIO[policy], strict=True)}
    quantity, ours = f"{policy.upper()} hit ratio of blocks", partial(_curve, policy)
    return series(quantity, points, ours, tolerance=printed(3), absolute=True, trace=CONVERSATION)


def _curve(policy: str, trace: Path) -> Sequence[float]:
    ratios: list[float] = miss_ratio_curve(read_accesses(trace), [policy], BLOCKS)[0].hit_ratio.tolist()
    return ratios


def _ideal(trace: Path) -> float:
    accesses = read_accesses(trace)
    return float(miss_ratio_curve(accesses, ["lru"], [accesses.n_objects])[0].hit_ratio[0])


def _break_even() -> Mapping[str, float]:
    """The H800 computes like an H100, the A800 like an A100; what export versions lack is bandwidth between GPUs."""
    spec = model("llama-3-70b")
    per_token = kv_bytes_per_token(spec, validate(KvFormatSpec, "bf16"))
    operations = prefill_operations(spec.layers, spec.hidden_size, PREFIX_TOKENS, a=4, b=22)
    bandwidth = partial(break_even_bandwidth, PREFIX_TOKENS * per_token, operations)
    return {
        "8 x A800": bandwidth(8 * gpu("a800-80").flops) / 1e9,
        "8 x H800": bandwidth(8 * gpu("h100-sxm").flops) / 1e9,
    }
