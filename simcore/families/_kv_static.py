"""Closed forms of a kv scenario: HBM bytes, fit, money, quality. Nothing is simulated here."""

from __future__ import annotations

from simcore.families._kv_scenario import Scenario
from simcore.quantization.quality import quality_loss
from simcore.roofline.memory import HbmUse, hbm_use, usable_bytes
from simcore.units import GIB


def hbm(scenario: Scenario) -> HbmUse:
    """What one GPU holds: weights, activations, runtime reserve and the KV pool."""
    return hbm_use(scenario.model, scenario.gpu, scenario.engine, scenario.hbm.capacity_bytes, scenario.weights)


def lower_tiers_usd(scenario: Scenario) -> float | None:
    """Price of every tier below HBM, all copies; None when one of them has no price."""
    total = 0.0
    for tier in scenario.lower_tiers.values():
        cost = tier.cost_usd()
        if cost is None:
            return None
        total += cost * scenario.copies(tier)
    return total


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
        "quality_loss": None if loss is None else loss.value,
        "gpu_power_w": gpu.power_w * gpu.count,
    }
