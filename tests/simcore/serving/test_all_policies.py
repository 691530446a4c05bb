"""Every eviction policy in the serving engine: nothing is lost, nothing is random, and what cannot run is refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from simcore.errors import InputError
from simcore.plugins import find, names
from simcore.serving.engine import FAMILY, PROVIDED, known_policies
from simcore.serving.result import ServingResult
from simcore.serving.serve import prepare, serve
from simcore.serving.setup import ServingSetup, StoreSetup
from simcore.traces.reuse import units
from simcore.traces.trace import Trace
from tests.simcore.serving.cases import differences, random_case, setup_of, trace_of

POLICIES = known_policies(pool=False)
IN_HBM = known_policies(pool=True)


@pytest.fixture(scope="module", autouse=True)
def one_engine() -> None:
    prepare(POLICIES)


def cases(policies: list[str], seed: int, count: int) -> Iterator[tuple[Trace, ServingSetup]]:
    """Random cases whose stores have policies drawn from `policies`, and the pools one that can run them."""
    rng = np.random.default_rng([seed, 77])
    pool = [name for name in policies if name in IN_HBM] or ["lru"]
    for number in range(count):
        trace, setup = random_case(1000 * seed + number)
        tiers = tuple(replace(tier, policy=str(rng.choice(policies)), quota_blocks=()) for tier in setup.tiers)
        yield trace, replace(setup, hbm_policy=str(rng.choice(pool)), hbm_quota_blocks=(), tiers=tiers, start="cold")


def most_hit_tokens(trace: Trace, setup: ServingSetup, result: ServingResult) -> np.ndarray:
    """Of each request, the tokens of its leading blocks that requests admitted before it, or with it, have."""
    output = setup.output_reuse and trace.has_output_ids
    view = units(trace, setup.unit_tokens, partial_block=setup.partial_block, output=output)
    computed = (trace.input_tokens.astype(np.int64) + trace.output_tokens - 1) // setup.unit_tokens
    end = view.start[:-1] + np.maximum(np.minimum(np.diff(view.start), computed), view.prompt_units)
    admitted = result.arrival_s + result.network_s / 2 + result.queue_s
    most = np.zeros(trace.n, np.int64)
    for q in np.flatnonzero(~result.rejected):
        others = (p for p in np.flatnonzero(admitted <= admitted[q] + 1e-9) if p != q)
        known = {block for p in others for block in view.ids[view.start[p] : end[p]].tolist()}
        own = view.ids[view.start[q] : view.start[q] + view.prompt_units[q]].tolist()
        run = next((k for k, block in enumerate(own) if block not in known), len(own))
        most[q] = min(run * setup.unit_tokens, int(trace.input_tokens[q]))
    return most


@pytest.mark.parametrize("name", POLICIES)
def test_it_runs_pools_and_tiers(name: str) -> None:
    """`serve` checks what the stores hold, gain and lose; hits are those of an infinite cache at most."""
    evicted = hits = 0
    for trace, setup in cases([name], POLICIES.index(name), 12 if name in IN_HBM else 40):
        result = serve(trace, setup)
        assert differences(result, serve(trace, setup)) == []
        assert differences(result, serve(trace, setup, leap=False)) == []
        assert (result.hit_tokens.sum(1) <= most_hit_tokens(trace, setup, result)).all()
        stores = [store for store in result.stores.values() if name in IN_HBM or store.name != "hbm"]
        evicted += sum(store.out_evicted + store.out_dropped for store in stores)
        hits += sum(store.hits for store in stores)
    assert hits > (50 if name in IN_HBM else 10)
    assert evicted > 50 or name == "static"


def test_they_run_together() -> None:
    """The stores of one engine may all have different policies; each keeps to its own part of the memory."""
    for trace, setup in cases(POLICIES, 99, 60):
        result = serve(trace, setup)
        assert differences(result, serve(trace, setup, leap=False)) == []
        assert (result.hit_tokens.sum(1) <= most_hit_tokens(trace, setup, result)).all()


def test_the_bound_of_an_infinite_cache_is_met() -> None:
    """With room for everything, requests one after the other hit all that could be hit."""
    for seed in range(10):
        trace, setup = random_case(seed)
        setup = replace(setup, replicas=1, prefill_replicas=0, network=None, tiers=(), prefetch="none", start="cold")
        setup = replace(setup, allocation="paged", pool_pages=100_000, arrivals="closed", concurrency=1, recompute_last=False)
        setup = replace(setup, hbm_quota_blocks=())
        result = serve(trace, setup)
        assert (result.hit_tokens.sum(1) == most_hit_tokens(trace, setup, result)).all()


@pytest.mark.parametrize("name", [n for n in POLICIES if getattr(find(FAMILY, n), "INSERTION_ORDER_WITHOUT_HITS", False)])
def test_where_blocks_leave_at_their_first_hit_it_is_fifo(name: str) -> None:
    """As it declares; a search then takes designs with such policies for one."""
    dropped = 0
    for trace, setup in cases([name], 50, 40):
        tiers = tuple(
            replace(tier, placement="exclusive", write_policy="write_back", capacity_blocks=3 + tier.capacity_blocks // 8)
            for tier in setup.tiers
        )
        setup = replace(setup, load_rule="always", write_backlog_s=1e6, prefetch="none")
        results = [
            serve(trace, replace(setup, hbm_policy="lru", tiers=tuple(replace(tier, policy=policy) for tier in tiers)))
            for policy in (name, "fifo")
        ]
        assert differences(*results) == []
        dropped += sum(store.out_dropped for store in list(results[0].stores.values())[1:])
    assert dropped > 1000


@pytest.mark.parametrize("name", sorted(set(names(FAMILY)) - set(POLICIES)))
def test_what_must_know_more_is_refused(name: str) -> None:
    needs_future = bool(find(FAMILY, name).NEEDS - PROVIDED)
    reason = "needs next_use, which no run knows before" if needs_future else "trains on what a replay has seen"
    tier = StoreSetup(name="dram", capacity_blocks=5, policy=name)
    for setup, path in ((setup_of(hbm_policy=name), "hbm_policy"), (setup_of(tiers=(tier,)), "tiers.0.policy")):
        with pytest.raises(InputError, match=rf"{reason}.*; got .*One of: arc, ") as caught:
            serve(trace_of([(0, "a", 1)]), setup)
        assert caught.value.path == path and caught.value.value == name


@pytest.mark.parametrize("name", ["gdsf", "static"])
def test_what_may_refuse_a_block_cannot_run_a_pool(name: str) -> None:
    assert name in POLICIES and name not in IN_HBM
    with pytest.raises(InputError, match="may refuse a block that a running request needs") as caught:
        serve(trace_of([(0, "a", 1)]), setup_of(hbm_policy=name))
    assert caught.value.path == "hbm_policy"
    assert name not in (caught.value.hint or "")


def test_what_refuses_blocks_in_a_tier_is_counted() -> None:
    refused = 0
    for trace, setup in cases(["static"], 3, 40):
        result = serve(trace, replace(setup, write_backlog_s=1e6))  # no write is refused for its links
        refused += sum(store.writes_refused for store in result.stores.values())
    assert refused > 100
