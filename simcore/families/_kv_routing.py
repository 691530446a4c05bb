"""Routing of a kv scenario: checked, as the serving engine takes it, in canonical form, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simcore.families._kv_scenario import Scenario
from simcore.families._kv_static import block_bytes_of_replica
from simcore.serving.routing import NetworkSetup, RoutingRules
from simcore.specs.router import RegionSpec, round_trips
from simcore.units import format_bandwidth, format_seconds

_OF_POLICY = {"prefix_aware": ("min_match", "max_load_gap", "max_load_ratio"), "gorgo": ("running_weight",)}


def routing_setup(scenario: Scenario) -> dict[str, Any]:
    """The fields of `ServingSetup` that say where requests go."""
    router = scenario.router
    rules = RoutingRules(
        min_match=router.min_match,
        max_load_gap=router.max_load_gap,
        max_load_ratio=router.max_load_ratio,
        running_weight=router.running_weight,
    )
    return {"router": router.policy, "routing": rules, "network": _network(scenario.regions)} | _hand_over(scenario)


def _hand_over(scenario: Scenario) -> dict[str, Any]:
    """Which replicas prefill only, and the link by which the others fetch what they go on with."""
    if scenario.split is None:
        return {}
    link = scenario.split.link
    return {
        "prefill_replicas": scenario.split.prefill_replicas,
        "hand_over_s_per_page": block_bytes_of_replica(scenario) / link.bandwidth_bytes_per_s,
        "hand_over_latency_s": link.latency_s,
    }


def _network(regions: Mapping[str, RegionSpec]) -> NetworkSetup | None:
    """The regions in the order given; None without any."""
    if not regions:
        return None
    return NetworkSetup(
        replicas=tuple(region.replicas for region in regions.values()),
        client_shares=tuple(region.clients for region in regions.values()),
        round_trip_s=round_trips(regions),
    )


def canonical_routing(scenario: Scenario) -> dict[str, Any]:
    """Router and regions without what has no effect."""
    router, regions = scenario.router, scenario.regions
    used = ("policy", *_OF_POLICY.get(router.policy, ()))
    shares = sum(region.clients for region in regions.values())
    return {
        "router": {name: getattr(router, name) for name in used} if scenario.entry_replicas > 1 else None,
        "disaggregation": scenario.split.model_dump(mode="json") if scenario.split else None,
        "regions": [[region.replicas, region.clients / shares] for region in regions.values()],
        "round_trip_s": round_trips(regions) if regions else None,
    }


def routing_words(scenario: Scenario) -> list[str]:
    """Sentences on routing, none for one replica next to its clients."""
    said = []
    if scenario.split:
        first, link = scenario.split.prefill_replicas, scenario.split.link
        said.append(
            f"{first} replica{'s prefill' if first > 1 else ' prefills'}, {scenario.replicas - first} decode; KV moves at "
            f"{format_bandwidth(link.bandwidth_bytes_per_s)} out of each prefill replica, latency "
            f"{format_seconds(link.latency_s)}."
        )
    if scenario.entry_replicas > 1:
        router = scenario.router
        numbers = ", ".join(f"{name} {getattr(router, name):g}" for name in _OF_POLICY.get(router.policy, ()))
        said.append(f"Router: {router.policy}{f' ({numbers})' if numbers else ''}.")
    if scenario.regions:
        shares = sum(region.clients for region in scenario.regions.values())
        parts = [
            f"{n}: {r.replicas} replicas, {100 * r.clients / shares:.0f} % of clients" for n, r in scenario.regions.items()
        ]
        trips = [seconds for row in round_trips(scenario.regions) for seconds in row]
        said.append(
            f"Regions: {'; '.join(parts)}; round trips of {format_seconds(min(trips))} to {format_seconds(max(trips))}."
        )
    return said
