"""Prefill and decode replicas: steps by hand, the published queueing formula, what cannot be combined."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import simcore
from simcore.errors import InputError
from simcore.serving.result import ServingResult
from simcore.serving.routing import NetworkSetup
from simcore.serving.serve import serve
from simcore.serving.setup import StoreSetup
from simcore.traces.trace import Trace
from tests.simcore.families.scenarios import measured, with_paths
from tests.simcore.serving.cases import costs, random_case, setup_of, trace_of

Requests = list[tuple[float, str, int]]
PAIR = {"replicas": 2, "prefill_replicas": 1, "hand_over_s_per_page": 0.001, "hand_over_latency_s": 0.005}


def run(requests: Requests, pool: int = 100, **knobs: Any) -> ServingResult:
    return serve(trace_of(requests), setup_of(pool, **{**PAIR, **knobs}))


def test_a_request_by_hand() -> None:
    """8 tokens prefill in 18 ms; their pages take 8 ms and a latency of 5; two steps of 11 ms yield the other tokens."""
    result = run([(0, "ab", 3)])
    assert result.first_token_s == pytest.approx([0.018])
    assert result.transfer_s == pytest.approx([0.013])
    assert result.finish_s == pytest.approx([0.053])
    assert result.decode_s == pytest.approx([0.022])
    assert result.busy_s == pytest.approx([0.018, 0.022])
    assert (result.handed_over_pages, result.links["hand_over"].read_busy_s) == (8, pytest.approx(0.008))


def test_a_request_of_one_token_is_never_handed_over() -> None:
    result = run([(0, "ab", 1)])
    assert (result.handed_over_pages, result.transfer_s[0], result.busy_s[1]) == (0, 0.0, 0.0)


def test_one_queue_out_of_each_prefill_replica() -> None:
    """Two requests prefilled in one step: their pages follow each other, out of one replica; side by side, out of two."""
    both: Requests = [(0, "ab", 2), (0, "xy", 2)]
    assert run(both).transfer_s == pytest.approx([0.013, 0.021])
    assert run(both, replicas=3, prefill_replicas=2).transfer_s == pytest.approx([0.013, 0.013])


def test_what_the_decode_replica_has_is_not_moved_again() -> None:
    """The second request's head is there already, so only its own block moves."""
    result = run([(0, "ab", 2), (1, "ac", 2)])
    assert result.handed_over_pages == 8 + 4
    assert result.hit_tokens[:, 0].tolist() == [0, 4]


def test_the_prefill_replica_holds_what_has_not_been_fetched() -> None:
    """Its pool takes one prompt. The next one is admitted when the first has gone, 13 ms after its first token, and the decode
    replica, at work on nobody, has begun its first step."""
    result = run([(0, "ab", 2), (0, "xy", 2)], pool=3, max_num_batched_tokens=16)
    assert result.queue_s == pytest.approx([0.0, 0.031])
    assert result.first_token_s == pytest.approx([0.018, 0.049])


def test_the_wait_for_memory_to_decode_in_is_part_of_the_transfer() -> None:
    """The second one, prefilled with the first, is fetched when that has come and has finished, 8 steps of 11 ms later."""
    result = run([(0, "ab", 9), (0, "xy", 9)], pool=4)
    assert result.first_token_s == pytest.approx([0.026, 0.026])
    assert result.transfer_s == pytest.approx([0.013, 0.013 + 8 * 0.011 + 0.013])


def test_decode_replicas_are_chosen_by_load() -> None:
    """Each of two decodes one request, in steps of one token."""
    result = run([(0, "ab", 5), (0, "xy", 5)], replicas=3)
    assert result.busy_s[1:] == pytest.approx([4 * 0.011, 4 * 0.011])


def test_the_published_wait_for_prefill() -> None:
    """DistServe (OSDI 2024), equation 1: Poisson arrivals at rate R, each prefilled by itself in D seconds, have a mean TTFT of
    D + R D^2 / (2 (1 - R D)), an M/D/1 queue, whatever decoding does."""
    n, rate, step_s = 20_000, 30.0, 0.02
    arrival = np.cumsum(np.random.default_rng(1).exponential(1 / rate, n))
    trace = Trace.of(arrival, np.full(n, 8), np.full(n, 4), [[2 * i, 2 * i + 1] for i in range(n)], 4)
    setup = setup_of(1000, **PAIR, costs=costs(8, lin_s=step_s, per_token_s=0.0), max_num_batched_tokens=8, max_num_seqs=8)
    result = serve(trace, replace(setup, hand_over_s_per_page=0.0, hand_over_latency_s=0.0))
    expected = step_s + rate * step_s**2 / (2 * (1 - rate * step_s))
    assert (result.first_token_s - result.arrival_s).mean() == pytest.approx(expected, rel=0.03)


def test_the_published_bytes_of_a_request() -> None:
    """DistServe (OSDI 2024), section 3.3: a request of 512 tokens on OPT-66B has about 1.13 GB of KV (binary), so ten a second
    need 11.3 GB/s between prefill and decode."""
    changes = {
        "model": "opt-66b",
        "gpu": {"preset": "a100-80", "count": 4},
        "tiers.dram": None,
        "tiers.cxl": None,
        "workload": {"kind": "fixed", "isl": 512, "osl": 8, "requests": 20, "request_rate": 10},
        "disaggregation": {"prefill_replicas": 1, "link": {"bandwidth": "25 GB/s", "latency": "10 us"}},
    }
    values = measured(changes)
    moved = values["bytes_moved_hand_over"]
    assert moved is not None and moved / 20 / 2**30 == pytest.approx(1.13, rel=0.01)


def test_preempted_requests_are_computed_again_where_they_decode() -> None:
    result = run([(0, "ab", 20), (0, "xy", 20)], pool=8, hand_over_s_per_page=0.0)
    assert result.preemptions.sum() > 0
    assert result.recomputed_tokens.sum() > 0
    assert result.prefill_again_s.sum() > 0


@pytest.mark.parametrize("output", [1, 2, 30])
def test_tokens_and_pages_are_conserved(output: int) -> None:
    requests = [(0.01 * i, letter * 3, output) for i, letter in enumerate("abcdefghij")]
    together, apart = serve(trace_of(requests), setup_of(replicas=2)), run(requests)
    assert apart.decode_tokens == together.decode_tokens == 10 * (output - 1)
    assert apart.prefill_tokens == together.prefill_tokens
    assert apart.handed_over_pages == (0 if output == 1 else 10 * 12)


def test_single_tokens_of_random_cases_stay_where_they_are() -> None:
    cases = [random_case(seed) for seed in range(100)]
    apart = [(trace, setup) for trace, setup in cases if setup.prefill_replicas]
    assert len(apart) > 10
    for trace, setup in apart:
        result = serve(trace, setup)
        moved = (result.transfer_s > 0)[~result.rejected]
        assert not moved[trace.output_tokens[~result.rejected] == 1].any()


@pytest.mark.parametrize(
    ("knobs", "path"),
    [
        ({"prefill_replicas": 2}, "prefill_replicas"),
        ({"prefill_replicas": -1}, "prefill_replicas"),
        ({"hand_over_s_per_page": -1.0}, "hand_over_s_per_page"),
        ({"allocation": "oracle"}, "allocation"),
        ({"reserve": "output"}, "reserve"),
        ({"network": NetworkSetup(replicas=(2,), client_shares=(1.0,), round_trip_s=((0.0,),))}, "network"),
        ({"tiers": (StoreSetup(name="hand_over", capacity_blocks=1),)}, "tiers.0.name"),
    ],
)
def test_bad_setups_name_the_field(knobs: dict[str, Any], path: str) -> None:
    with pytest.raises(InputError) as caught:
        run([(0, "a", 1)], **knobs)
    assert caught.value.path == path


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"disaggregation.prefill_replicas": 2}, "disaggregation.prefill_replicas"),
        ({"engine.reserve": "output"}, "engine.reserve"),
        ({"engine.allocation": "oracle", "tiers.dram": None, "tiers.cxl": None}, "engine.allocation"),
        ({"regions": {"us": {"replicas": 2}}}, "regions"),
    ],
)
def test_bad_scenarios_name_the_field(changes: dict[str, Any], path: str) -> None:
    split = {"disaggregation": {"prefill_replicas": 1, "link": "50 GB/s"}}
    with pytest.raises(InputError) as caught:
        simcore.build_scenario(with_paths({**split, **changes}))
    assert caught.value.path == path


def test_without_prefill_replicas_the_link_is_nothing() -> None:
    off = {"disaggregation": {"prefill_replicas": 0, "link": "50 GB/s"}}
    assert measured(off) == measured({})
    plain, same = (simcore.build_scenario(with_paths(changes)) for changes in ({}, off))
    assert simcore.canonical(plain) == simcore.canonical(same)


def test_gpus_of_both_kinds_are_paid_for() -> None:
    split = {"replicas": 3, "disaggregation": {"prefill_replicas": 1, "link": "50 GB/s"}}
    assert measured(split)["system_cost_usd"] == measured({"replicas": 3})["system_cost_usd"]
    assert measured(split)["prefill_busy"] != measured(split)["decode_busy"]
