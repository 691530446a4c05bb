"""The engine against its plain-Python twin: every time, every count, bit for bit."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcore.roofline.step_time import StepCosts
from simcore.serving.serve import serve
from simcore.serving.setup import PLACEMENTS, ServingSetup, StoreSetup
from simcore.traces.trace import Trace
from tests.reference.serving import serve_slowly
from tests.simcore.serving.cases import differences, random_case
from tests.simcore.serving.small import small_case

CASES = 200
SMALL_CASES = 700


@pytest.mark.parametrize("start", range(0, CASES, 50))
def test_random_cases(start: int) -> None:
    for seed in range(start, start + 50):
        case = random_case(seed)
        assert differences(serve(*case), serve_slowly(*case)) == [], f"case {seed}"


@pytest.mark.parametrize("start", range(0, SMALL_CASES, 100))
def test_small_cases(start: int) -> None:
    """Their events coincide all the time, so the order of equal times shows."""
    for seed in range(start, start + 100):
        case = small_case(Random(seed))
        slowly = serve_slowly(*case)
        assert differences(serve(*case, leap=False), slowly) == [], f"case {seed}"
        assert differences(serve(*case), slowly) == [], f"case {seed}"


@given(st.randoms(use_true_random=False))
@settings(max_examples=100)
def test_small_cases_shrunk(rng: Random) -> None:
    """Hypothesis looks elsewhere, and hands over the smallest case that differs."""
    case = small_case(rng)
    assert differences(serve(*case), serve_slowly(*case)) == []


def test_cases_reach_everything() -> None:
    results = [serve(*small_case(Random(seed))) for seed in range(SMALL_CASES)]
    stores = [store for result in results for store in result.stores.values()]
    for counter in ("in_demoted", "in_written", "out_promoted", "out_dropped", "writes_refused", "readmission_hits"):
        assert sum(getattr(store, counter) > 0 for store in stores) > 20, counter
    assert sum(result.handed_over_pages > 0 for result in results) > 100
    assert sum(result.swaps > 0 for result in results) > 15
    for attribute in ("preemptions", "rejected", "load_s", "recomputed_tokens"):
        assert sum(bool(getattr(result, attribute).any()) for result in results) > 50, attribute


def test_leap_lets_nobody_in_at_a_boundary_that_has_passed() -> None:
    """Replica 0 decodes and starts a step at 3 s. Then replica 1 ends one, and what was chained to it arrives at replica 0."""
    trace = Trace.of([0, 0, 0], [1, 1, 1], [10, 3, 1], [[0], [1], [2]], 1, after=[-1, -1, 1])
    costs = StepCosts(np.ones(5), 0.0, 0.0, 0.0, 0.0)
    setup = ServingSetup(
        replicas=2, pool_pages=100, page_tokens=1, unit_tokens=1, costs=costs, max_num_seqs=4, max_num_batched_tokens=4
    )
    assert serve_slowly(trace, setup).first_token_s.tolist() == [1, 1, 5]
    assert serve(trace, setup, leap=False).first_token_s.tolist() == [1, 1, 5]
    assert serve(trace, setup).first_token_s.tolist() == [1, 1, 5]


def alone(seed: int) -> tuple[Trace, ServingSetup]:
    """A case of one replica that serves one request at a time, with the smallest pool that takes all, LRU and free links."""
    trace, setup = small_case(Random(seed))
    blocks, pages = -(-trace.input_tokens // setup.unit_tokens), -(-trace.output_tokens // setup.page_tokens)
    least = int((blocks * (setup.unit_tokens // setup.page_tokens) + pages).max()) + 1
    lonely = replace(setup, replicas=1, pool_pages=least, tiers=(), arrivals="closed", concurrency=1, network=None)
    lonely = replace(lonely, prefill_replicas=0)
    return trace, replace(lonely, hbm_policy="lru", hbm_quota_blocks=(), load_rule="always", write_backlog_s=1e6)


def assert_no_request_loses(trace: Trace, setups: list[ServingSetup]) -> None:
    hits = [serve_slowly(trace, setup).hit_tokens.sum(axis=1) for setup in setups]
    assert all((more >= fewer).all() for fewer, more in pairwise(hits))


@pytest.mark.parametrize("seed", range(60))
def test_larger_pool_never_lowers_hits(seed: int) -> None:
    trace, setup = alone(seed)
    unit_pages = setup.unit_tokens // setup.page_tokens
    for placement in ("", *PLACEMENTS):
        tiers = (StoreSetup(name="dram", capacity_blocks=4, placement=placement),) if placement else ()
        pools = [setup.pool_pages + unit_pages * more for more in (0, 1, 8)]
        assert_no_request_loses(trace, [replace(setup, pool_pages=pages, tiers=tiers) for pages in pools])


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("placement", PLACEMENTS)
def test_larger_lower_tier_never_lowers_hits(seed: int, placement: str) -> None:
    trace, setup = alone(seed)
    dram = StoreSetup(name="dram", capacity_blocks=1, placement=placement)
    assert_no_request_loses(trace, [replace(setup, tiers=(replace(dram, capacity_blocks=blocks),)) for blocks in (1, 3, 20)])
