"""Exclusive chains of LRU tiers, all at once, against simulating each."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcore.errors import InputError
from simcore.replay.distances import lru_curve
from simcore.replay.run import replay
from simcore.replay.setup import Tier
from simcore.replay.splits import LruCurve
from simcore.traces.accesses import Accesses
from simcore.traces.load import read_accesses
from tests.simcore.replay.test_distances import chains, singles

CAPACITIES = st.lists(st.integers(0, 12), min_size=1, max_size=3)


def check(accesses: Accesses, curve: LruCurve, rows: list[list[int]], warmup: int) -> None:
    found = curve.splits(rows)
    for k, row in enumerate(rows):
        tiers = [Tier(name=f"t{number}", capacity=capacity) for number, capacity in enumerate(row)]
        simulated = replay(accesses, tiers, warmup=warmup).tiers
        assert found.hits[k].tolist() == [tier.hits for tier in simulated]
        assert found.demotions[k].tolist() == [tier.evictions for tier in simulated]
        if found.hit_tokens is not None:
            assert found.hit_tokens[k].tolist() == [tier.hit_tokens for tier in simulated]


@settings(max_examples=100)
@given(accesses=singles(sizes=False), row=CAPACITIES, warmup=st.integers(0, 299))
def test_splits_are_what_the_tiers_do(accesses: Accesses, row: list[int], warmup: int) -> None:
    warmup = min(warmup, len(accesses) - 1)
    check(accesses, lru_curve(accesses, warmup=warmup), [row, row[::-1]], warmup)


@settings(max_examples=150)
@given(accesses=chains(), row=CAPACITIES, warmup=st.integers(0, 39))
def test_splits_of_chains_are_what_the_tiers_do(accesses: Accesses, row: list[int], warmup: int) -> None:
    assert accesses.request_start is not None
    warmup = min(warmup, int(np.flatnonzero(np.diff(accesses.request_start))[-1]))  # an access is left
    curve = lru_curve(accesses, warmup=warmup)
    if accesses.sizes is not None:
        with pytest.raises(InputError, match="different sizes do not add up"):
            curve.splits([row])
    elif curve.out_of_order and len(row) > 1:
        with pytest.raises(InputError, match="tiers do not add up"):
            curve.splits([row])
    else:
        check(accesses, curve, [row, row[::-1]], warmup)


def test_prefixes_touched_from_their_start_are_refused() -> None:
    accesses = Accesses.of([0, 1, 0, 1], request_start=np.array([0, 2, 4]), chain=True)
    curve = lru_curve(accesses, order="chain")
    assert curve.out_of_order == 1
    with pytest.raises(InputError, match="Replay the tiers, or touch chains tail first"):
        curve.splits([[1, 1]])
    assert curve.splits([[2]]).hits.tolist() == [[2]]


@pytest.mark.parametrize("capacities", [[1, 2], [[]], [[1.5, 2.0]], [[1, -1]]])
def test_capacities_are_checked(capacities: list[object]) -> None:
    with pytest.raises(InputError, match="one row a chain of tiers"):
        lru_curve(Accesses.of([1, 2, 1])).splits(capacities)  # type: ignore[arg-type]


def test_mooncake_tiers(shared: Path) -> None:
    accesses = read_accesses(shared / "traces/kv/mooncake_conversation.jsonl.zst")
    half = accesses.n_requests // 2
    for warmup in (0, half):
        check(accesses, lru_curve(accesses, warmup=warmup), [[2_000, 10_000, 50_000], [500, 0, 20_000]], warmup)


def test_ten_thousand_splits_take_ten_milliseconds() -> None:
    rng = np.random.default_rng(0)
    curve = lru_curve(Accesses.of((1_000_000 * rng.random(1_000_000) ** 3).astype(np.int64)))
    rows = rng.integers(0, 300_000, (10_000, 3))
    taken = []
    for _ in range(5):
        begin = time.thread_time()
        curve.splits(rows)
        taken.append(time.thread_time() - begin)
    assert min(taken) < 0.01
