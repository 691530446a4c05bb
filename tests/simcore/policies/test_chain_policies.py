"""Policies made for LLM caches: what defines each, on traces small enough to follow, and prefix chains against twins."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcore.errors import InputError
from simcore.replay.run import replay
from simcore.replay.setup import Tier
from simcore.traces.accesses import Accesses
from simcore.traces.blocks import block_accesses
from simcore.traces.load import read_trace
from tests.reference.eviction.heavy_hitter import Twin as HeavyHitter
from tests.reference.eviction.persistence import Twin as Persistence
from tests.reference.replay import replay as naive_replay

POLICIES = ["heavy_hitter", "length_aware", "persistence", "prefix_tail_first", "workload_aware"]
ORDERS = ["tail_first", "chain"]


def hits(keys: list[Any], capacity: int, policy: str, sizes: list[int] | None = None, **given: Any) -> list[int]:
    """Of each access 1 if it hits. `given`: columns, and `params` of the policy."""
    params = given.pop("params", {})
    numbers = {key: n for n, key in enumerate(dict.fromkeys(keys))}
    columns = {name: np.array(column) for name, column in given.items()}
    accesses = Accesses.of([numbers[key] for key in keys], sizes=None if sizes is None else np.array(sizes), **columns)
    found = replay(accesses, [Tier(capacity=capacity, policy=policy, params=params)], keep_found=True).found
    assert found is not None
    return found.tolist()


def chains(rng: np.random.Generator, requests: int, depth: int, branches: int) -> Accesses:
    """Requests that are random paths from the root of a tree: equal prefixes have equal keys."""
    paths = [tuple(rng.integers(0, branches, rng.integers(1, depth + 1)).tolist()) for _ in range(requests)]
    numbers: dict[tuple[int, ...], int] = {}
    keys = [numbers.setdefault(path[:end], len(numbers)) for path in paths for end in range(1, len(path) + 1)]
    start = np.cumsum([0, *map(len, paths)])
    count = np.diff(start)
    return Accesses.of(
        keys,
        request_start=start,
        chain=True,
        category=np.repeat(rng.integers(0, 3, requests), count),
        time_s=np.repeat(np.cumsum(rng.choice([0.0, 1.0, 30.0], requests)), count),
    )


def naive_chains(accesses: Accesses, capacity: int, twin: Any, order: str) -> list[bool]:
    """Of each access whether the object was resident when its request arrived."""
    assert accesses.request_start is not None and accesses.category is not None and accesses.time_s is not None
    resident: set[int] = set()
    found = []
    for request in range(accesses.n_requests):
        first, end = accesses.request_start[request : request + 2].tolist()
        found += [obj in resident for obj in accesses.ids[first:end].tolist()]
        for k in reversed(range(first, end)) if order == "tail_first" else range(first, end):
            obj, about = int(accesses.ids[k]), {"category": int(accesses.category[k]), "time_s": float(accesses.time_s[k])}
            event = {"obj": obj, "size": 1, "request": request, "depth": k - first, **about}
            if obj in resident:
                twin.hit(obj, event)
                continue
            if not capacity:
                continue
            twin.miss(obj, 1, event)
            victim = twin.victim(event) if len(resident) == capacity else 0
            if victim is None:
                continue
            if len(resident) == capacity:
                resident.remove(victim)
                twin.evict(victim)
            resident.add(obj)
            twin.insert(obj, 1, event)
    return found


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), capacity=st.integers(0, 40), depth=st.integers(1, 12), branches=st.integers(1, 3))
def test_chains_hit_where_the_twin_hits(policy: str, order: str, seed: int, capacity: int, depth: int, branches: int) -> None:
    accesses = chains(np.random.default_rng(seed), 40, depth, branches)
    twin = importlib.import_module(f"tests.reference.eviction.{policy}").Twin(capacity)
    result = replay(accesses, [Tier(capacity=capacity, policy=policy)], order=order, keep_found=True)
    assert result.found is not None
    assert result.found.astype(bool).tolist() == naive_chains(accesses, capacity, twin, order)


PARAMS = [
    ("heavy_hitter", {"recent_share": 0.0}),
    ("heavy_hitter", {"recent_share": 1.0, "half_life": 20.0}),
    ("heavy_hitter", {"recent_share": 0.3, "half_life": 1.0}),
    ("length_aware", {"keep_late": False}),
    ("persistence", {"history": 3, "row_share": 0.3, "drop_share": 0.2, "exempt": 2}),
    ("persistence", {"history": 1, "row_share": 3.0, "drop_share": 1.0, "exempt": 0}),
    ("workload_aware", {"life_s": 5.0}),
    ("workload_aware", {"sample_s": 100.0}),
    ("workload_aware", {"learn_all": 50}),
]


@pytest.mark.parametrize(("policy", "params"), PARAMS)
@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1), capacity=st.integers(1, 25))
def test_parameters_mean_what_they_mean_to_the_twin(policy: str, params: dict[str, Any], seed: int, capacity: int) -> None:
    accesses = chains(np.random.default_rng(seed), 150, 6, 2)
    twin = importlib.import_module(f"tests.reference.eviction.{policy}").Twin(capacity, **params)
    result = replay(accesses, [Tier(capacity=capacity, policy=policy, params=params)], keep_found=True)
    assert result.found is not None
    assert result.found.astype(bool).tolist() == naive_chains(accesses, capacity, twin, "tail_first")


# heavy_hitter


def test_the_recent_half_is_exempt_and_of_the_others_the_least_weight_leaves() -> None:
    #       a weighs 3, c and d come with e into the recent half of 2 or leave it; b entered before c
    trace = list("abcdaae")
    assert hits([*trace, "a", "c", "d", "e"], 4, "heavy_hitter")[7:] == [1, 1, 1, 1]
    assert hits([*trace, "b"], 4, "heavy_hitter")[7:] == [0]
    # a lone newcomer is recent, so it stays where the least weight would be its own
    assert hits(list("aabbcc"), 2, "heavy_hitter")[5:] == [1]


@given(seed=st.integers(0, 2**32 - 1))
def test_all_recent_is_fifo(seed: int) -> None:
    keys = np.random.default_rng(seed).zipf(1.3, 300) % 30
    params = {"recent_share": 1.0}
    assert hits(keys.tolist(), 7, "heavy_hitter", params=params) == hits(keys.tolist(), 7, "fifo")


def test_old_weight_fades_with_its_half_life() -> None:
    trace = ["a"] * 8 + list("bcbc") * 6 + list("de") + ["a"]
    assert hits(trace, 4, "heavy_hitter", params={"recent_share": 0.25})[-1] == 1
    assert hits(trace, 4, "heavy_hitter", params={"recent_share": 0.25, "half_life": 4.0})[-1] == 0


def test_weights_are_scaled_down_before_they_overflow() -> None:
    keys = (np.random.default_rng(1).zipf(1.3, 1000) % 20).tolist()  # an access weighs twice the last: 2^999 at the end
    twin = HeavyHitter(6, half_life=1.0)
    ids = Accesses.of(keys).ids.tolist()
    expected = [int(hit) for hit in naive_replay(ids, None, 6, twin)]
    assert hits(keys, 6, "heavy_hitter", params={"half_life": 1.0}) == expected


def test_the_recent_share_is_of_bytes() -> None:
    # of 10 bytes 5 are for the recent: b (4) is, once it is in, a (4) is not; c (4) takes the place of a
    assert hits(list("abbca"), 10, "heavy_hitter", sizes=[4, 4, 4, 4, 4]) == [0, 0, 1, 0, 0]


# persistence


def test_half_of_the_store_leaves_by_records_of_below_average_rows() -> None:
    params = {"row_share": 1.0, "exempt": 0}
    trace = [*"0123", *"0", *"0001"]  # in the last row 2 and 3 are below its average of 1
    # 4 makes 2 and 3 leave: 2 at once, 3 when room is needed; asked for before, it hits and is as new
    assert hits([*trace, "4", "2"], 4, "persistence", params=params)[-2:] == [0, 0]
    assert hits([*trace, "4", "3", "0", "1", "4"], 4, "persistence", params=params)[-5:] == [0, 1, 1, 1, 1]
    # with 4 and 3 as new nobody has a record but by the row that ends here, so those that entered first leave
    assert hits([*trace, "4", "3", "5", "0"], 4, "persistence", params=params)[-4:] == [0, 1, 0, 0]


def test_the_newest_are_exempt() -> None:
    for exempt, first_out in ((0, "c"), (2, "b")):
        # of the last three rows b is below average in one, c and d, which entered last, in all
        trace = [*"abcda", *"aaaa", *"aaab", *"aaab", "e", first_out]
        params = {"row_share": 1.0, "exempt": exempt, "drop_share": 0.25}
        assert hits(trace, 4, "persistence", params=params)[-2:] == [0, 0], exempt


@given(seed=st.integers(0, 2**32 - 1), capacity=st.integers(1, 20), exempt=st.integers(0, 3))
def test_a_store_that_drops_at_once_holds_the_same(seed: int, capacity: int, exempt: int) -> None:
    keys = (np.random.default_rng(seed).zipf(1.2, 300) % 40).tolist()
    lazy, eager = Persistence(capacity, exempt=exempt), Persistence(capacity, exempt=exempt)
    for obj in keys:
        event = {"obj": obj, "size": 1}
        if obj in lazy.size:
            lazy.hit(obj, event)
        else:
            if len(lazy.size) == capacity:
                lazy.evict(lazy.victim(event))
            lazy.insert(obj, 1, event)
        if obj in eager.size:
            eager.hit(obj, event)
        else:
            if len(eager.size) == capacity:
                eager.victim(event)
                for doomed in list(eager.batch):
                    eager.evict(doomed)
            eager.insert(obj, 1, event)
        assert [kept for kept in lazy.size if kept not in lazy.batch] == list(eager.size)


# prefix_tail_first


@given(seed=st.integers(0, 2**32 - 1), capacity=st.integers(1, 40))
def test_either_order_is_tail_first_lru(seed: int, capacity: int) -> None:
    accesses = chains(np.random.default_rng(seed), 40, 10, 2)
    runs = [("lru", "tail_first"), *(("prefix_tail_first", order) for order in ORDERS)]
    results = [replay(accesses, [Tier(capacity=capacity, policy=name)], order=order, keep_found=True) for name, order in runs]
    assert len({each.found.tobytes() for each in results if each.found is not None}) == 1


@pytest.mark.parametrize("order", ORDERS)
@given(seed=st.integers(0, 2**32 - 1), capacity=st.integers(1, 40))
def test_no_block_outlives_a_prefix_of_it(order: str, seed: int, capacity: int) -> None:
    accesses = chains(np.random.default_rng(seed), 60, 10, 2)
    result = replay(accesses, [Tier(capacity=capacity, policy="prefix_tail_first")], order=order, keep_found=True)
    assert result.found is not None and accesses.request_start is not None
    for first, end in zip(accesses.request_start, accesses.request_start[1:], strict=False):
        assert (np.diff(result.found[first:end].astype(int)) <= 0).all()


def test_of_a_chain_larger_than_the_store_the_start_is_kept() -> None:
    accesses = Accesses.of([0, 1, 2, 3, 4] * 2, request_start=np.array([0, 5, 10]), chain=True)
    for order in ORDERS:
        found = replay(accesses, [Tier(capacity=3, policy="prefix_tail_first")], order=order, keep_found=True).found
        assert found is not None and found[5:].tolist() == [1, 1, 1, 0, 0]


# length_aware


@given(seed=st.integers(0, 2**32 - 1), capacity=st.integers(1, 20))
def test_without_places_it_is_lfu(seed: int, capacity: int) -> None:
    keys = (np.random.default_rng(seed).zipf(1.2, 300) % 40).tolist()
    assert hits(keys, capacity, "length_aware") == hits(keys, capacity, "lfu")


@pytest.mark.parametrize(("keep_late", "kept"), [(True, [0, 1, 1]), (False, [1, 1, 0])])
def test_among_equals_the_place_decides(keep_late: bool, kept: list[int]) -> None:
    keys = [0, 1, 2, 9, 0, 1, 2]  # a chain of three, used once each; 9, in the middle of nothing, takes a place
    start = np.array([0, 3, 4, 7])
    accesses = Accesses.of(keys, request_start=start, chain=True)
    tier = Tier(capacity=3, policy="length_aware", params={"keep_late": keep_late})
    found = replay(accesses, [tier], keep_found=True).found
    assert found is not None and found[4:].tolist() == kept


# workload_aware


def chat(keys: list[Any], categories: list[int], times_s: list[float], capacity: int, **params: float) -> list[int]:
    return hits(keys, capacity, "workload_aware", category=categories, time_s=times_s, params=params)


def test_what_its_category_seldom_reuses_leaves_first() -> None:
    # category 0 is always used again, category 1 never was: "once" is newer than "again" and leaves all the same
    keys = ["a", "x1", "a", "x2", "a", "x3", "a", "again", "once", "new", "again"]
    categories = [0, 1, 0, 1, 0, 1, 0, 0, 1, 0, 0]
    times = [float(t) for t in range(len(keys))]
    assert chat(keys, categories, times, 3)[-1] == 1
    assert chat([*keys[:-1], "once"], categories, times, 3)[-1] == 0


def test_a_lifespan_keeps_long_waits_from_counting_for_ever() -> None:
    # "f" is used again each second, "s" each 1,000 seconds; then "f" has waited half a second and "s" ten
    times = [1000.0 * n for n in range(40)] + [40000.0 + n for n in range(40)]
    keys = ["s"] * 40 + ["f"] * 40
    categories = [0] * 40 + [1] * 40
    end = [*times, 40040.0, 40049.0, 40049.5]
    for life_s, out in ((1e9, "f"), (1.0, "s")):
        for last, kept in ((out, 0), ("s" if out == "f" else "f", 1)):
            asked = [*keys, "s", "f", "new", last]
            found = chat(asked, [*categories, 0, 1, 1, 1], [*end, 40050.0], 2, life_s=life_s, sample_s=1e6)
            assert found[-2:] == [0, kept], life_s


@given(seed=st.integers(0, 2**32 - 1), capacity=st.integers(1, 20))
def test_one_category_is_lru(seed: int, capacity: int) -> None:
    keys = (np.random.default_rng(seed).zipf(1.2, 300) % 40).tolist()
    assert chat(keys, [5] * 300, list(range(300)), capacity) == hits(keys, capacity, "lru")


def test_it_refuses_a_trace_without_categories() -> None:
    with pytest.raises(InputError, match="category"):
        hits([1, 2, 3], 2, "workload_aware", time_s=[0.0, 1.0, 2.0])


# All on the published trace


def test_the_published_trace_of_mooncake(shared: Path) -> None:
    accesses = block_accesses(read_trace(shared / "traces/kv/mooncake_conversation.jsonl.zst"), None)

    def ratio(policy: str, capacity: int, **params: float) -> float:
        return replay(accesses, [Tier(capacity=capacity, policy=policy, params=params)]).hit_ratio

    for capacity, published_by_us in ((1000, 0.045), (10_000, 0.212), (30_000, 0.326), (100_000, 0.364)):
        lru = ratio("lru", capacity)
        assert lru == pytest.approx(published_by_us, abs=0.001)
        assert ratio("prefix_tail_first", capacity) == lru
    for capacity, with_turns in ((1000, 0.0626), (3000, 0.0973)):
        assert ratio("workload_aware", capacity) == pytest.approx(with_turns, abs=0.003)
        assert ratio("workload_aware", capacity) > 1.4 * ratio("lru", capacity)
    for capacity in (10_000, 30_000, 50_000, 100_000):  # the order of table 1
        assert ratio("lru", capacity) >= ratio("lfu", capacity) >= ratio("length_aware", capacity)
        assert ratio("lfu", capacity) >= ratio("length_aware", capacity, keep_late=False)
        assert ratio("heavy_hitter", capacity) >= ratio("lfu", capacity)


def test_naive_replays_agree(seed: int = 3) -> None:
    """The two naive replays, of chains and of single accesses, are the same where each chain is one access."""
    accesses = chains(np.random.default_rng(seed), 200, 1, 20)
    ids = accesses.ids.tolist()
    assert naive_chains(accesses, 5, Persistence(5), "chain") == naive_replay(ids, None, 5, Persistence(5))
