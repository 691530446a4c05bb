"""Words of engines: what a setting is called there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dse.analysis.values import listing
from simcore.units import format_bytes

if TYPE_CHECKING:
    from simcore import FormatTrade, Sizing

ENGINES = {"vllm": "vLLM", "sglang": "SGLang", "trtllm": "TensorRT-LLM"}
SHARES = {
    "vllm": "--gpu-memory-utilization",
    "sglang": "--mem-fraction-static",
    "trtllm": "free_gpu_memory_fraction",
}
_NAMES = {
    "vllm": {
        "kv_format fp8_e4m3": "--kv-cache-dtype fp8", "kv_format nvfp4": "--kv-cache-dtype nvfp4",
        "gpu_memory_utilization": "--gpu-memory-utilization", "max_num_batched_tokens": "--max-num-batched-tokens",
        "max_num_seqs": "--max-num-seqs", "max_model_len": "--max-model-len",
        "tp": "--tensor-parallel-size", "pp": "--pipeline-parallel-size",
        "no prefix caching": "--no-enable-prefix-caching", "sliding_window_cache ring": "windows in rings (hybrid manager)",
    },
    "sglang": {
        "kv_format fp8_e4m3": "--kv-cache-dtype fp8_e4m3", "kv_format nvfp4": "--kv-cache-dtype fp4_e2m1",
        "gpu_memory_utilization": "--mem-fraction-static", "max_num_batched_tokens": "--chunked-prefill-size",
        "max_num_seqs": "--max-running-requests", "max_model_len": "--context-length",
        "tp": "--tp-size", "pp": "--pp-size",
        "no prefix caching": "--disable-radix-cache",
    },
}  # fmt: skip


def in_flags(change: str, family: str) -> str:
    """A change in the words of a scenario as the engine's flags."""
    for name, flag in _NAMES.get(family, {}).items():
        change = re.sub(rf"(?<![\w-]){name}(?![\w-])", flag, change)
    return change


def flag_of(sized: Sizing, count: int) -> str:
    """The smallest setting of the engine with which `count` requests of the longest length run at once."""
    d = sized.deployment
    if d.engine.family == "sglang":
        return f"--max-total-tokens {count * sized.binding.paging.blocks_of(d.request_tokens) * sized.block_tokens}"
    if d.engine.family == "vllm":
        return f"--kv-cache-memory-bytes {sized.pool_needed(count)}"
    return f"a pool of {format_bytes(sized.pool_needed(count))}"


def request_words(sized: Sizing) -> str:
    """How many requests of the longest length fit and run."""
    d = sized.deployment
    each = format_bytes(sized.request_bytes())
    text = f"{sized.sequences:,.2f} requests of {d.request_tokens:,} tokens at once ({each} each on a GPU)"
    if sized.sequences >= d.engine.max_num_seqs:
        text += f"; max_num_seqs lets {d.engine.max_num_seqs:,} run"
    if sized.pools > 1:
        text += f"; {sized.running * sized.pools:,} over {sized.pools} pools"
    return text


def without_bf16(found: Sequence[Sizing]) -> list[str]:
    """A note on the GPUs that have no bf16 although something is held in it."""
    names = []
    for sized in found:
        d = sized.deployment
        formats = {d.weights, *(name for p in d.kv_format.per_layer(d.model.layers) for name in (p.k, p.v))}
        if d.gpu.generation in ("volta", "turing") and "bf16" in formats and d.gpu.name not in names:
            names.append(d.gpu.name)
    have = "have" if len(names) > 1 else "has"
    return [f"{listing(names)} {have} no bf16: serve in float16, which takes the same bytes."] if names else []


def window_words(sized: Sizing) -> str:
    """The ways of holding sliding-window layers, and which one was counted."""
    assert sized.window_bounds is not None
    unified, paged, ring = sized.window_bounds
    d = sized.deployment
    counted = "full length" if d.engine.sliding_window_cache == "unified" else "rings"
    known = "; vLLM logged full length first, later releases as paged" if d.engine.family == "vllm" else ""
    paging = f"{paged:,.2f} as vLLM's hybrid manager pages them, " if d.engine.family == "vllm" else ""
    bounds = f"{unified:,.2f} requests with sliding-window layers at full length, {paging}{ring:,.2f} in rings of their window"
    return f"{bounds}; counted here: {counted}{known}."


NEUTRAL = 0.02
"""A decode rate this close is called the same."""


def trade_words(trades: Sequence[FormatTrade]) -> list[str]:
    """What each format does to the decode rate, and why."""
    base = trades[0]
    return [f"{trade.name}: {_verdict(trade, base)}." for trade in trades[1:]]


def _verdict(trade: FormatTrade, base: FormatTrade) -> str:
    gain = trade.full_tokens_per_s / base.full_tokens_per_s
    why = f"reading it takes {trade.read_cost:g} times as long as its bytes alone would"
    if trade.running <= base.running:
        change = trade.equal_tokens_per_s / base.equal_tokens_per_s
        said = "the same rate" if abs(change - 1) < NEUTRAL else f"x{change:.2f}"
        because = f"; {why}" if trade.read_cost > 1 else ""
        return f"{said}: max_num_seqs limits what runs, not the pool, so only reads of the cache change{because}"
    if gain < 1 - NEUTRAL:
        return f"x{gain:.2f} although {trade.running:,} requests run instead of {base.running:,}: {why}"
    said = "the same rate" if gain < 1 + NEUTRAL else f"x{gain:.2f}"
    return f"{said}, for the pool limits what runs: {trade.running:,} requests instead of {base.running:,}"
