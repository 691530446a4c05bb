"""The canonical form of a kv scenario: equal for scenarios that simulate equally, so no design is ever evaluated twice."""

from __future__ import annotations

from typing import Any

from simcore.families._kv_routing import canonical_routing
from simcore.families._kv_scenario import Scenario
from simcore.families._kv_static import held as held_pool
from simcore.plugins import find
from simcore.presets.loader import is_path
from simcore.roofline.constants import load_constants
from simcore.roofline.paging import tier_block_bytes
from simcore.serving.engine import FAMILY
from simcore.serving.setup import default_write_policy
from simcore.specs.base import Spec
from simcore.specs.tier import TierSpec
from simcore.workloads.resolve import file_sha256, trace_path
from simcore.workloads.spec import TraceWorkload

_PROVENANCE = frozenset({"source", "date", "planning_value"})
_ONLY_BELOW_HBM = frozenset({"load", "min_load_tokens", "max_waiting", "kv_layout", "write_backlog_s", "overlap", "prefetch"})
_ONLY_PAGED = frozenset({"preemption", "preemption_victim", "swap_space_bytes", "reserve"})
_ONLY_THRESHOLD = frozenset({"min_load_tokens", "max_waiting"})


def canonical(scenario: Scenario) -> dict[str, Any]:
    """Plain data without provenance and inactive fields, capacities in whole blocks."""
    return {
        "family": scenario.family,
        "model": _plain(scenario.model, drop={"preset"}),
        "gpu": _plain(scenario.gpu),
        "parallel": {**_plain(scenario.on), "stage_layers": scenario.on.layers_by_stage(scenario.model.layers)},
        "replicas": scenario.replicas,
        **canonical_routing(scenario),
        "constants": _own_constants(scenario),
        "engine": _plain(scenario.engine, drop=_inactive_knobs(scenario)),
        "kv_format": _formats(scenario),
        "weight_format": scenario.weights,
        "tiers": _tiers(scenario),
        "workload": _workload(scenario),
        "reuse": _plain(scenario.reuse) if scenario.engine.allocation == "paged" else None,
        "slo": _plain(scenario.slo),
        "start": _plain(scenario.start) if _starts_full(scenario) else None,
    }


def _own_constants(scenario: Scenario) -> dict[str, Any] | None:
    """What a file of constants says: its path alone would not tell that it was changed."""
    family = scenario.engine.family
    return _plain(load_constants(family), drop={"preset"}) if is_path(family) else None


def _plain(spec: Spec, drop: set[str] | frozenset[str] = frozenset()) -> dict[str, Any]:
    return spec.model_dump(mode="json", exclude=set(drop | _PROVENANCE))


def _inactive_knobs(scenario: Scenario) -> frozenset[str]:
    engine = scenario.engine
    prefetches = len(scenario.lower_tiers) > 1
    return frozenset().union(
        frozenset() if scenario.lower_tiers else _ONLY_BELOW_HBM,
        frozenset() if scenario.lower_tiers and engine.load == "threshold" else _ONLY_THRESHOLD,
        frozenset() if engine.load != "never" else {"overlap"},
        frozenset() if engine.allocation == "paged" else _ONLY_PAGED,
        frozenset() if engine.draft_tokens else {"acceptance_rate", "draft_cost"},
        frozenset() if engine.scheduling == "priority" else {"tenant_priority"},
        frozenset() if engine.reserve == "none" else {"preemption_victim", "preemption"},
        frozenset() if engine.reserve == "none" and engine.preemption == "swap" else {"swap_space_bytes"},
        frozenset() if prefetches else {"prefetch"},
        frozenset() if prefetches and engine.prefetch == "timeout" else {"prefetch_timeout_s"},
    )


def _formats(scenario: Scenario) -> list[list[str]]:
    """Runs of layers in one format; a latent cache has no V of its own."""
    latent = scenario.model.mla is not None
    runs: list[list[Any]] = []
    for pair in scenario.kv_format.per_layer(scenario.model.layers):
        names = [pair.k, pair.k if latent else pair.v]
        if runs and runs[-1][1:] == names:
            runs[-1][0] += 1
        else:
            runs.append([1, *names])
    return runs


def _tiers(scenario: Scenario) -> list[dict[str, Any]]:
    held = held_pool(scenario)
    block_bytes = tier_block_bytes(scenario.model, scenario.kv_format, scenario.engine, scenario.on.tp)
    hbm = _plain_hbm(scenario.hbm) if scenario.engine.allocation == "paged" else None
    tiers: list[dict[str, Any]] = [{"name": "hbm", "blocks": held.blocks, "kept": hbm}]
    for name, tier in scenario.lower_tiers.items():
        fields = _plain(tier, drop={"preset", "capacity_bytes", "max_capacity_bytes"})
        fields["write_policy"] = tier.write_policy or default_write_policy(tier.placement)
        for field in _inactive_fields(tier):
            del fields[field]
        if scenario.start.kind != "restart" or not _starts_full(scenario):
            del fields["persistent"]
        if tier.placement == "exclusive" and _keeps_insertion_order(tier.policy):
            fields["policy"] = "insertion order"
        if scenario.replicas == 1:
            del fields["shared"]
        tiers.append({"name": name, "blocks": int(tier.capacity_bytes // block_bytes), **fields})
    return tiers


def _plain_hbm(tier: TierSpec) -> dict[str, Any]:
    return {"policy": tier.policy, "quotas": tier.quotas}


def _starts_full(scenario: Scenario) -> bool:
    """Whether a store has something in it when the workload begins."""
    kind = scenario.start.kind
    return kind == "warm" or (kind == "restart" and any(tier.persistent for tier in scenario.lower_tiers.values()))


def _inactive_fields(tier: TierSpec) -> set[str]:
    selective = tier.write_policy == "write_through_selective"
    operations = (tier.read_iops, tier.write_iops, tier.queue_depth) != (None, None, None)
    return {
        *({"write_after_uses"} if not selective else ()),
        *({"numa_hop_share", "numa_hop_latency_s"} if tier.numa_hops == 0 else ()),
        *({"io_size_bytes"} if not operations else ()),
    }


def _keeps_insertion_order(policy: str) -> bool:
    """Whether a policy is first-in-first-out where an object leaves at its first hit; then its name makes no difference."""
    return bool(getattr(find(FAMILY, policy), "INSERTION_ORDER_WITHOUT_HITS", False))


def _workload(scenario: Scenario) -> dict[str, Any]:
    workload = scenario.workload
    fields: dict[str, Any] = workload.model_dump(mode="json")
    if isinstance(workload, TraceWorkload):
        fields["trace"] = file_sha256(trace_path(workload, None))
    return fields
