"""Closed forms of a kv scenario: block bytes, pool size, HBM bytes, money. Nothing is simulated here."""

from __future__ import annotations

from dataclasses import dataclass

from simcore.families._kv_scenario import Scenario
from simcore.quantization.kv_bytes import kv_footprint, kv_footprint_per_gpu
from simcore.quantization.quality import quality_loss
from simcore.roofline.memory import hbm_per_gpu
from simcore.specs.tier import TierSpec
from simcore.units import GIB


@dataclass(frozen=True)
class Sizes:
    """Bytes of KV and what they come to in blocks of `engine.block_size` tokens.

    `page_bytes_per_gpu` is a block's share on one GPU (heads repeated where TP exceeds them); `token_bytes` a token's bytes in a
    lower tier, where each head is stored once.
    """

    page_bytes_per_gpu: float
    token_bytes: float
    fixed_bytes_per_gpu: float
    pool_pages: int
    pool_tokens: int


def sizes(scenario: Scenario) -> Sizes:
    """Pool of one replica in whole blocks: `floor((capacity - fixed) / block bytes)` on each of its GPUs alike."""
    engine = scenario.engine
    per_gpu = kv_footprint_per_gpu(scenario.model, scenario.kv_format, scenario.gpu.count, engine.sliding_window_cache)
    whole = kv_footprint(scenario.model, scenario.kv_format, engine.sliding_window_cache)
    fixed = per_gpu.fixed_bytes_per_sequence * engine.max_num_seqs
    page = per_gpu.bytes_per_token * engine.block_size
    pages = max(0, int((scenario.hbm.capacity_bytes - fixed) // page))
    return Sizes(page, whole.bytes_per_token, fixed, pages, pages * engine.block_size)


def tier_blocks(tier: TierSpec, block_tokens: int, token_bytes: float) -> int:
    """Whole blocks a lower tier holds."""
    return int(tier.capacity_bytes // (block_tokens * token_bytes))


def static_metrics(scenario: Scenario) -> dict[str, float | None]:
    """Bytes, costs and fit of a design by exported key; None where a price or a published accuracy is missing."""
    gpu, gpus = scenario.gpu, scenario.gpu.count * scenario.replicas
    hbm = hbm_per_gpu(
        scenario.model, scenario.weights, scenario.engine, gpu.count, pool_bytes=scenario.hbm.capacity_bytes
    )
    per_gpu = hbm.total_bytes
    hbm_cost = None if gpu.hbm_usd_per_gib is None else per_gpu / GIB * gpu.hbm_usd_per_gib * gpus
    below: float | None = 0.0
    for tier in scenario.lower_tiers.values():
        cost = tier.cost_usd()
        below = None if cost is None or below is None else below + cost * scenario.copies(tier)
    loss = quality_loss(scenario.model, scenario.kv_format)
    return {
        "hbm_bytes": float(per_gpu * gpus),
        "hbm_cost_usd": hbm_cost,
        "memory_cost_usd": None if hbm_cost is None or below is None else hbm_cost + below,
        "system_cost_usd": None if gpu.price_usd is None or below is None else gpu.price_usd * gpus + below,
        "hbm_excess_bytes": max(0.0, per_gpu - gpu.memory_bytes * scenario.engine.gpu_memory_utilization),
        "quality_loss": None if loss is None else loss.value,
        "gpu_power_w": gpu.power_w * gpu.count,
    }
