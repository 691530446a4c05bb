"""LRU at all capacities by one pass, against naive twins, against a replay of each capacity, and against published counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcore.compiling.passes import run_pass, sealed
from simcore.errors import InputError
from simcore.replay.distances import lru_curve, new_order
from simcore.replay.passes import distances as unit_pass
from simcore.replay.run import replay
from simcore.replay.setup import ORDERS, Tier
from simcore.traces.accesses import Accesses
from simcore.traces.load import read_accesses
from tests.reference.distances import chain_hits, distances


@st.composite
def chains(draw: Any) -> Accesses:
    """Requests that are paths from the root of a tree, as prefixes are; or, `tangled`, any objects at all."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    tangled, branches, depth = draw(st.booleans()), draw(st.integers(1, 4)), draw(st.integers(1, 6))
    numbers: dict[tuple[int, ...], int] = {}
    ids: list[int] = []
    start = [0]
    for _ in range(draw(st.integers(1, 40))):
        path: tuple[int, ...] = ()
        for _ in range(rng.integers(0, depth + 1)):
            path = (*path, int(rng.integers(branches)))
            ids.append(int(rng.integers(20)) if tangled else numbers.setdefault(path, len(numbers)))
        start.append(len(ids))
    if not ids:
        ids, start = [0], [*start[:-1], 1]
    columns: dict[str, Any] = {"request_start": np.array(start), "chain": True}
    if draw(st.booleans()):
        columns["tokens"] = rng.integers(1, 10, len(ids))
    if draw(st.booleans()):
        columns["sizes"] = rng.integers(1, 10, 10000)[np.array(ids)]
    return Accesses.of(ids, **columns)


@st.composite
def singles(draw: Any, *, sizes: bool) -> Accesses:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(1, 40))
    ids = (n * rng.random(draw(st.integers(1, 300))) ** draw(st.sampled_from([1, 3]))).astype(np.int64)
    return Accesses.of(ids, sizes=rng.integers(1, 20, n)[ids] if sizes else None)


@settings(max_examples=200)
@given(accesses=singles(sizes=False), tight=st.booleans())
def test_distances_are_those_of_a_list(accesses: Accesses, tight: bool) -> None:
    n = accesses.n_objects
    hits = np.zeros(n, np.int64)
    order = new_order(n, n + 1 if tight else None)  # with one slot to spare, gaps are closed at nearly every access
    run_pass(unit_pass, unit_pass.State(ids=sealed(accesses.ids), hits=hits, **order))
    expected = [d for d in distances(accesses.ids.tolist()) if d is not None]
    assert hits.tolist() == np.bincount(expected, minlength=n).tolist()


@settings(max_examples=100)
@given(accesses=singles(sizes=False), warmup=st.integers(0, 299))
def test_one_pass_counts_what_each_capacity_does(accesses: Accesses, warmup: int) -> None:
    warmup = min(warmup, len(accesses) - 1)
    curve = lru_curve(accesses, warmup=warmup)
    for capacity in range(accesses.n_objects + 2):
        result = replay(accesses, [Tier(capacity=capacity)], warmup=warmup)
        assert (curve.hits_at(capacity), curve.accesses) == (result.hits, result.accesses)
        assert curve.definition == result.definition


@settings(max_examples=100)
@given(accesses=singles(sizes=True), warmup=st.integers(0, 299))
def test_bytes_count_what_each_capacity_does(accesses: Accesses, warmup: int) -> None:
    warmup = min(warmup, len(accesses) - 1)
    assert accesses.sizes is not None
    curve = lru_curve(accesses, warmup=warmup)
    found = [d for d in distances(accesses.ids.tolist(), accesses.sizes.tolist())[warmup:] if d is not None]
    for capacity in range(curve.smallest, 400, 7):
        assert curve.hits_at(capacity) == sum(d <= capacity for d in found)
        result = replay(accesses, [Tier(capacity=capacity)], warmup=warmup)
        assert (curve.hits_at(capacity), curve.byte_hit_ratio(capacity)) == (result.hits, result.byte_hit_ratio)


@settings(max_examples=150)
@given(accesses=chains(), order=st.sampled_from(ORDERS), warmup=st.integers(0, 39))
def test_chains_count_what_each_capacity_does(accesses: Accesses, order: str, warmup: int) -> None:
    assert accesses.request_start is not None
    warmup = min(warmup, int(np.flatnonzero(np.diff(accesses.request_start))[-1]))  # an access is left
    curve = lru_curve(accesses, order=order, warmup=warmup)
    for capacity in range(curve.smallest, accesses.n_objects + 2 if accesses.sizes is None else 200):
        result = replay(accesses, [Tier(capacity=capacity)], order=order, warmup=warmup)
        assert (curve.hits_at(capacity), curve.token_hit_ratio(capacity)) == (result.hits, result.token_hit_ratio)
        assert curve.byte_hit_ratio(capacity) == result.byte_hit_ratio
        if accesses.sizes is None:
            requests = np.split(accesses.ids, accesses.request_start[1:-1])  # type: ignore[index]
            twin = chain_hits([request.tolist() for request in requests], capacity, order == "tail_first")
            assert curve.hits_at(capacity) == sum(twin[warmup:])


def test_gaps_are_closed_many_times_over_sectors() -> None:
    rng = np.random.default_rng(1)
    accesses = Accesses.of((200_000 * rng.random(1_500_000) ** 2).astype(np.int64))
    curve = lru_curve(accesses)
    sized = accesses.with_columns(sizes=rng.integers(1, 100, accesses.n_objects)[accesses.ids])
    in_bytes = lru_curve(sized)
    for capacity in (1, 1_000, 30_000, 120_000):
        assert curve.hits_at(capacity) == replay(accesses, [Tier(capacity=capacity)]).hits
        result = replay(sized, [Tier(capacity=50 * capacity + 50)])
        assert (in_bytes.hits_at(50 * capacity + 50), in_bytes.byte_hit_ratio(50 * capacity + 50)) == (
            result.hits,
            result.byte_hit_ratio,
        )


def test_an_object_that_changes_its_size_is_refused() -> None:
    accesses = Accesses.of([1, 2, 1], sizes=np.array([5, 5, 6]))
    with pytest.raises(InputError, match="object 0 changes its size") as caught:
        lru_curve(accesses)
    assert caught.value.path == "sizes[0]"


def test_a_capacity_below_the_largest_object_is_refused() -> None:
    curve = lru_curve(Accesses.of([1, 2, 1], sizes=np.array([5, 9, 5])))
    assert curve.hits_at([9, 13, 14]).tolist() == [0, 0, 1]
    with pytest.raises(InputError, match="must be at least 9"):
        curve.hits_at(8)


def test_options_are_checked() -> None:
    accesses = Accesses.of([1, 2, 1])
    for options in ({"order": "head_first"}, {"warmup": 3}, {"warmup": -1}):
        with pytest.raises(InputError):
            lru_curve(accesses, **options)  # type: ignore[arg-type]


def test_progress_is_told() -> None:
    seen: list[tuple[int, int]] = []
    lru_curve(Accesses.of([1, 2, 1]), warmup=1, progress=lambda done, all_: seen.append((done, all_)))
    assert seen == [(1, 3), (3, 3)]


BLOCKS = {1_000: 0.0445, 3_000: 0.0653, 10_000: 0.2116, 30_000: 0.3257, 50_000: 0.3546, 100_000: 0.3637, 182_790: 0.3664}
TOKENS = {1_024: 4.57, 2_048: 5.60, 4_096: 8.96, 8_192: 18.51, 16_384: 27.08, 32_768: 34.15, 65_536: 36.65, 182_790: 37.36}
LAST_HALF = {1_024: 4.7, 2_048: 5.6, 4_096: 8.7, 8_192: 18.8, 16_384: 27.9, 32_768: 35.6, 65_536: 38.4, 182_790: 39.8}


def test_mooncake(shared: Path) -> None:
    accesses = read_accesses(shared / "traces/kv/mooncake_conversation.jsonl.zst")
    curve = lru_curve(accesses)
    assert curve.out_of_order == 0
    assert curve.hit_ratio(list(BLOCKS)) == pytest.approx(list(BLOCKS.values()), abs=5.1e-5)
    assert 100 * curve.token_hit_ratio(list(TOKENS)) == pytest.approx(list(TOKENS.values()), abs=5.1e-3)
    half = lru_curve(accesses, warmup=accesses.n_requests // 2)
    assert 100 * half.token_hit_ratio(list(LAST_HALF)) == pytest.approx(list(LAST_HALF.values()), abs=0.051)
    for order in ORDERS:
        curve = lru_curve(accesses, order=order)
        for capacity in (1, 700, 16_384):
            assert curve.hits_at(capacity) == replay(accesses, [Tier(capacity=capacity)], order=order).hits
