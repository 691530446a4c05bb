"""Where requests go: prefixes, loads, sessions, regions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from simcore.errors import InputError
from simcore.serving.routing import NetworkSetup, RoutingRules
from simcore.serving.serve import serve
from simcore.serving.setup import StoreSetup
from tests.simcore.serving.cases import costs, setup_of, trace_of

FAR = NetworkSetup(replicas=(1, 1), client_shares=(1.0, 0.0), round_trip_s=((0.0, 0.1), (0.1, 0.0)))


def went(requests: list[tuple[float, str, int]], replicas: int = 2, columns: dict[str, Any] | None = None, **knobs: Any) -> Any:
    """The replica of each request."""
    trace = trace_of(requests, **(columns or {}))
    return serve(trace, setup_of(replicas=replicas, **knobs)).replica.tolist()


def test_prefixes_attract_and_what_nobody_holds_goes_to_the_least_loaded() -> None:
    requests = [(0, "abc", 1), (0, "xyz", 1), (1, "xyw", 1), (2, "abd", 1), (3, "q", 1), (4, "xq", 1)]
    # xq: a third of it is held by replica 1, just above the 0.3 that decides
    assert went(requests, router="prefix_aware") == [0, 1, 1, 0, 0, 1]
    assert went(requests, router="prefix_aware", routing=RoutingRules(min_match=0.5)) == [0, 1, 1, 0, 0, 0]
    assert went(requests, router="least_loaded") == [0, 1, 0, 0, 0, 0]


def test_a_prefix_in_a_tier_of_its_own_attracts_and_one_in_a_shared_tier_does_not() -> None:
    requests = [(0, "q", 50), (0.1, "ab", 1), (1.1, "wxyz", 1), (9, "ab", 1)]
    for shared, expected in ((False, 1), (True, 0)):
        dram = StoreSetup(name="dram", capacity_blocks=20, shared=shared)
        # the second replica serves ab, then wxyz pushes it out of HBM (the first is busy with q until 0.5 s)
        result = went(requests, pool_blocks=14, tiers=(dram,), router="prefix_aware", columns={"session": [0, 1, 1, 1]})
        assert result[1] == 1
        if result[2] == 1:
            assert result[3] == expected


def test_loads_out_of_balance_overrule_a_prefix() -> None:
    requests = [(0, "ab", 1), *((1, "ab", 9) for _ in range(6))]
    assert went(requests, router="prefix_aware") == [0] * 7
    tight = RoutingRules(max_load_gap=2, max_load_ratio=1.0)
    assert went(requests, router="prefix_aware", routing=tight) == [0, 0, 0, 0, 1, 0, 1]
    assert went(requests, router="prefix_aware", routing=replace(tight, max_load_ratio=100.0)) == [0, 0, 0, 0, 1, 0, 0]
    assert went(requests, router="prefix_aware", routing=RoutingRules(max_load_gap=100)) == [0] * 7


def test_a_session_stays_where_it_began() -> None:
    requests = [(0, "a", 9), (0, "b", 9), (0.01, "c", 1), (5, "d", 1), (6, "e", 1)]
    columns = {"session": [7, 9, 7, 9, 9]}
    assert went(requests, router="session", columns=columns) == [0, 1, 0, 1, 1]


def test_gorgo_weighs_prefill_and_queue() -> None:
    # replica 0 holds abcd; ten tokens a step cost 20 ms. A queue of fresh prompts there makes computing elsewhere cheaper
    requests = [(0, "abcd", 1), (1, "abcd", 1), *((2, f"{c}{c}", 1) for c in "mnopq"), (2, "abcd", 1)]
    replicas = went(requests, router="gorgo")
    assert replicas[:2] == [0, 0]
    assert sorted(set(replicas[2:7])) == [0, 1]
    near = went([(0, "abcd", 1), (1, "xy", 1)], router="gorgo", network=FAR)
    assert near == [0, 0]  # the other one is idle too, and 100 ms away
    busy = went([(0, "abcd" * 5, 1), (0, "xy", 1)], router="gorgo", network=FAR, pool_blocks=200, costs=costs(per_token_s=0.01))
    assert busy == [0, 1]


def test_the_way_to_a_region_and_back_is_in_what_the_client_sees() -> None:
    trace = trace_of([(0, "a", 3), (0, "b", 3), (9, "c", 1)], after=[-1, -1, 1], think_s=[0, 0, 1.0])
    there = serve(trace, setup_of(replicas=2, router="round_robin", network=FAR))
    here = serve(trace, setup_of(replicas=2, router="round_robin"))
    assert there.network_s.tolist() == [0, 0.1, 0]
    assert there.first_token_s[1] == pytest.approx(here.first_token_s[1] + 0.1)
    assert there.finish_s[:2] == pytest.approx([here.finish_s[0], here.finish_s[1] + 0.1])
    assert there.queue_s[1] == pytest.approx(0)
    assert there.arrival_s[2] == pytest.approx(there.finish_s[1] + 1.0)  # the follower thinks from when its client has seen it


def test_clients_are_spread_by_their_shares() -> None:
    network = NetworkSetup(replicas=(1, 1, 1), client_shares=(5.0, 0.0, 15.0), round_trip_s=((0.0,) * 3,) * 3)
    regions = np.bincount(network.clients(np.arange(10_000)), minlength=3)
    assert regions.tolist() == pytest.approx([2500, 0, 7500], abs=5)


@pytest.mark.parametrize(
    ("knobs", "path"),
    [
        ({"network": FAR, "replicas": 3}, "network.replicas"),
        ({"network": replace(FAR, client_shares=(0.0, 0.0)), "replicas": 2}, "network.client_shares"),
        ({"network": replace(FAR, round_trip_s=((0.0,),)), "replicas": 2}, "network.round_trip_s"),
        ({"network": FAR, "replicas": 2, "arrivals": "closed"}, "network"),
        ({"routing": RoutingRules(min_match=2.0)}, "routing.min_match"),
        ({"routing": RoutingRules(running_weight=-1.0)}, "routing.running_weight"),
    ],
)
def test_bad_routing_names_the_field(knobs: dict[str, Any], path: str) -> None:
    with pytest.raises(InputError) as caught:
        serve(trace_of([(0, "a", 1)]), setup_of(**knobs))
    assert caught.value.path == path
