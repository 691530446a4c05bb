"""Closed forms of a kv scenario: HBM bytes, fit, money, quality. Nothing is simulated here."""

from __future__ import annotations

from simcore.families._kv_scenario import Scenario
from simcore.quantization.kv_bytes import kv_bytes_per_token
from simcore.quantization.quality import quality_loss
from simcore.roofline.constants import find_constants
from simcore.roofline.memory import HbmUse, Pool, hbm_use, pool_of, stages, usable_bytes
from simcore.roofline.step_time import StepCosts, step_costs
from simcore.specs.kv_format import KvFormatSpec
from simcore.units import GIB


def hbm(scenario: Scenario) -> HbmUse:
    """What the fullest GPU holds: weights, activations, runtime reserve and the KV pool."""
    return hbm_use(scenario.model, scenario.gpu, scenario.engine, scenario.hbm.capacity_bytes, scenario.weights, scenario.on)


def held(scenario: Scenario) -> Pool:
    """The KV pool of a replica: that of the pipeline stage which fills first, in all data-parallel copies together."""
    parts = stages(scenario.model, scenario.kv_format, scenario.engine, scenario.on, scenario.weights)
    pools = [pool_of(stage.paging, scenario.engine, scenario.hbm.capacity_bytes) for stage in parts]
    least, copies = min(pools, key=lambda pool: pool.blocks), scenario.on.dp
    return least._replace(blocks=least.blocks * copies, tokens=least.tokens * copies)


def costs_of(scenario: Scenario) -> StepCosts:
    """Step times of a replica."""
    budget, constants = (
        scenario.engine.max_num_batched_tokens,
        find_constants(scenario.gpu, scenario.engine.family, scenario.model),
    )
    return step_costs(scenario.model, scenario.gpu, scenario.kv_format, scenario.weights, budget, constants, scenario.on)


def block_bytes_of_replica(scenario: Scenario) -> float:
    """Bytes of a block on all the GPUs that hold a part of it."""
    parts = stages(scenario.model, scenario.kv_format, scenario.engine, scenario.on, scenario.weights)
    return sum(stage.paging.block_bytes for stage in parts) * scenario.on.tp


def lower_tiers_usd(scenario: Scenario) -> float | None:
    """Price of every tier below HBM, all copies; None when one of them has no price."""
    total = 0.0
    for tier in scenario.lower_tiers.values():
        cost = tier.cost_usd()
        if cost is None:
            return None
        total += cost * scenario.copies(tier)
    return total


def _kv_bits(scenario: Scenario) -> float | None:
    """Mean bits of a cached value; None for a model without attention layers."""
    sixteen = kv_bytes_per_token(scenario.model, KvFormatSpec())
    return 16 * kv_bytes_per_token(scenario.model, scenario.kv_format) / sixteen if sixteen else None


def static_metrics(scenario: Scenario) -> dict[str, float | None]:
    """Bytes, costs, fit and quality of a design by exported key; None where a price or a published accuracy is missing."""
    gpu, gpus = scenario.gpu, scenario.gpu.count * scenario.replicas
    use = hbm(scenario)
    per_gpu = use.total
    hbm_cost = None if gpu.hbm_usd_per_gib is None else per_gpu / GIB * gpu.hbm_usd_per_gib * gpus
    below = lower_tiers_usd(scenario)
    loss = quality_loss(scenario.model, scenario.kv_format)
    return {
        "hbm_bytes": float(per_gpu * gpus),
        "hbm_cost_usd": hbm_cost,
        "memory_cost_usd": None if hbm_cost is None or below is None else hbm_cost + below,
        "system_cost_usd": None if gpu.price_usd is None or below is None else gpu.price_usd * gpus + below,
        "hbm_excess_bytes": float(per_gpu - usable_bytes(gpu, scenario.engine, use)),
        "max_concurrency": held(scenario).tokens / (scenario.engine.max_model_len or scenario.model.max_model_len),
        "kv_bits": _kv_bits(scenario),
        "quality_loss": None if loss is None else loss.value,
        "gpu_power_w": gpu.power_w * gpu.count,
        "transfer_j_per_byte_host": gpu.host_link_j_per_byte,
        "transfer_j_per_byte_hand_over": scenario.split.link.transfer_j_per_byte if scenario.split else None,
        **{f"transfer_j_per_byte_{name}": tier.transfer_j_per_byte for name, tier in scenario.lower_tiers.items()},
    }
