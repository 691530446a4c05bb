"""Policies that weigh new objects against proven ones: published figures, laws of their papers, and pins."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

from simcore.declared import asked, put_params
from simcore.kernel import LIST_HEADS, OPTIONS, by_reference
from simcore.replay.engine import policy_module
from simcore.replay.run import replay
from simcore.replay.setup import Tier
from simcore.replay.state import node_dtype, object_dtype, store_dtype
from simcore.traces.accesses import Accesses
from simcore.traces.load import read_accesses

POLICIES = ["arc", "lirs", "slru", "two_q"]


def hit_ratio(keys: Any, capacity: int, policy: str, **params: Any) -> float:
    return replay(Accesses.of(keys), [Tier(capacity=capacity, policy=policy, params=params)]).hit_ratio


@pytest.fixture(scope="module")
def oltp(shared: Path) -> Accesses:
    return read_accesses(shared / "traces/classical/arc_OLTP.lis.zst")


# Megiddo and Modha, FAST 2003, the table of hit ratios (per cent) of the trace OLTP by cache size in pages.
@pytest.mark.parametrize(
    ("pages", "arc", "lru"),
    [(1000, 38.93, 32.83), (2000, 46.08, 42.47), (5000, 55.25, 53.65), (10000, 61.87, 60.70), (15000, 65.40, 64.63)],
)
def test_the_hit_ratios_of_the_arc_paper(oltp: Accesses, pages: int, arc: float, lru: float) -> None:
    assert 100 * replay(oltp, [Tier(capacity=pages, policy="lru")]).hit_ratio == pytest.approx(lru, abs=0.005)
    assert 100 * replay(oltp, [Tier(capacity=pages, policy="arc")]).hit_ratio == pytest.approx(arc, abs=0.02)


# What libCacheSim 0.3.5 misses, run on the same traces; SLRU has four equal segments there.
SLRU_OF_LIBCACHESIM = {"segments": 4, "probation": 0.25, "fill": True}
WEB12 = {
    12: (80574, 82109, 82288, 83238),
    136: (56783, 55947, 55755, 61532),
    412: (42203, 41117, 41009, 44699),
    1372: (27869, 27262, 27187, 28544),
    6876: (15750, 17696, 15914, 16216),
}
CLOUD_PHYSICS = {
    48: (99870, 98946, 101125, 100485),
    1468: (93621, 93657, 93809, 93753),
    4896: (88004, 88162, 90011, 85616),
    9792: (80004, 79196, 82560, 74689),
    24484: (64372, 71993, 57776, 54581),
}
ADAPTSIZE_BYTES = {2788540: (49693, 48531), 8365624: (45693, 44724), 27885420: (41635, 43045), 139427116: (37753, 39087)}


def misses(accesses: Accesses, capacity: int, policy: str, params: dict[str, Any] | None = None, **admission: Any) -> int:
    tier = Tier(capacity=capacity, policy=policy, params=params or {}, **admission)
    return len(accesses) - replay(accesses, [tier]).tiers[0].hits


@pytest.mark.parametrize(
    ("file", "expected"), [("cache2k_web12.trace.xz", WEB12), ("cloudPhysicsIO.oracleGeneral.bin.zst", CLOUD_PHYSICS)]
)
def test_misses_are_those_of_libcachesim(shared: Path, file: str, expected: dict[int, tuple[int, ...]]) -> None:
    accesses = read_accesses(shared / "traces/classical" / file).with_columns(sizes=None)
    for capacity, (arc, two_q, slru, lirs) in expected.items():
        assert misses(accesses, capacity, "arc") == arc
        assert misses(accesses, capacity, "two_q") == two_q
        assert misses(accesses, capacity, "slru", SLRU_OF_LIBCACHESIM) == slru
        assert misses(accesses, capacity, "lirs") == pytest.approx(lirs, abs=0.0003 * len(accesses))


def test_misses_with_sizes_are_those_of_libcachesim(shared: Path) -> None:
    """With the two settings that their docstrings name: plain steps, and no object larger than A1in."""
    accesses = read_accesses(shared / "traces/classical/adaptsize_request.trace.xz")
    for capacity, (arc, two_q) in ADAPTSIZE_BYTES.items():
        assert misses(accesses, capacity, "arc", {"scaled_step": False}) == arc
        bound = {"size_threshold_bytes": capacity // 4}
        assert misses(accesses, capacity, "two_q", admission="size_threshold", admission_params=bound) == two_q


def test_lirs_keeps_a_loop_that_lru_loses() -> None:
    """Of a loop over more objects than fit, all LIR objects stay: each round hits just them."""
    loop = np.tile(np.arange(120), 50)
    assert hit_ratio(loop, 100, "lru") == 0
    assert hit_ratio(loop, 100, "lirs", cold_share=0.01) == pytest.approx(99 / 120 * 49 / 50)
    assert hit_ratio(loop, 100, "lirs", cold_share=0.25) == pytest.approx(75 / 120 * 49 / 50)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_scan_does_not_wash_out_objects_in_use(policy: str) -> None:
    """40 objects, proven through a cache of 100, survive a scan of 1,000 others; LRU loses them all."""
    others = np.arange(1000, 2000)
    proving = np.concatenate([np.arange(40), others[:100], np.arange(40)])  # out of A1in and back for 2Q
    accesses = np.concatenate([proving, np.arange(40), others[100:], np.arange(40)])
    cache = Tier(capacity=100, policy=policy)
    found = replay(Accesses.of(accesses), [cache], keep_found=True).found
    assert found is not None and found[-40:].all()
    assert not replay(Accesses.of(accesses), [Tier(capacity=100)], keep_found=True).found[-40:].any()  # type: ignore[index]


def test_slru_of_one_segment_is_lru() -> None:
    keys = np.random.default_rng(0).zipf(1.3, 5000) % 200
    assert hit_ratio(keys, 40, "slru", segments=1) == hit_ratio(keys, 40, "lru")


@pytest.mark.parametrize(
    ("policy", "params"),
    [
        ("two_q", {"in_share": 0.5}),
        ("two_q", {"out_share": 0.1}),
        ("slru", {"segments": 4}),
        ("slru", {"probation": 0.5}),
        ("slru", {"fill": True}),
        ("lirs", {"cold_share": 0.2}),
        ("lirs", {"history": 1.0}),
        ("arc", {"scaled_step": False}),
    ],
)
def test_every_parameter_matters(policy: str, params: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    keys = np.concatenate([rng.zipf(1.2, 3000) % 300, np.tile(np.arange(300, 380), 10), rng.zipf(1.2, 3000) % 500])
    accesses = Accesses.of(keys, sizes=keys % 7 + 1)
    hits = [replay(accesses, [Tier(capacity=200, policy=policy, params=p)]).tiers[0].hits for p in ({}, params)]
    assert hits[0] != hits[1]


# Pins: no replay pins, a serving engine does; here is a small one.

ACCESS, PIN, RELEASE, LEAVE = range(4)
SLOTS, OBJECTS = 12, 40


class Books(NamedTuple):
    """All that a policy may look at."""

    node: Any
    store: Any
    object: Any
    reals: Any
    event: Any
    slot: Any


def books(policy: str) -> Books:
    module = policy_module(policy)
    dtype = node_dtype([module], [])
    spare = asked(module, "SPARE_NODES", SLOTS, OBJECTS)
    node = np.zeros(1 + LIST_HEADS + SLOTS + spare, np.dtype([*((n, dtype[n]) for n in dtype.names or ()), ("pins", np.int32)]))
    store = np.zeros(1, store_dtype([module]))
    store["first"], store["spare"], store["spares"] = 1 + LIST_HEADS, 1 + LIST_HEADS + SLOTS, spare
    store["cap"] = store["slots"] = SLOTS
    put_params(store, module, {}, "params")
    known = np.zeros(OBJECTS, object_dtype([module]))
    reals = np.zeros(asked(module, "REALS", SLOTS, OBJECTS))
    event = np.zeros(1, np.dtype([("unused", np.uint8)]))
    records = (array.view(np.recarray) for array in (node, store, known))
    return Books(*records, reals, event.view(np.recarray), np.zeros(OBJECTS, np.uint32))


def pool(policy: str) -> Any:
    """A compiled pool that does (operation, object) where it can; 0, or 1 + the operation at which the policy failed it."""
    module = policy_module(policy)
    init, on_hit, on_miss, choose = module.init, module.on_hit, module.on_miss, module.choose_victim
    on_insert, on_evict, on_pin, on_release = module.on_insert, module.on_evict, module.on_pin, module.on_release

    @numba.njit(**OPTIONS)
    def leave(st, i):  # type: ignore[no-untyped-def]
        on_evict(st, 0, i)
        st.slot[st.node[i].obj] = 0
        st.store[0].count -= 1
        st.store[0].used -= 1

    @numba.njit(**OPTIONS)
    def victim(st):  # type: ignore[no-untyped-def]
        i = np.uint32(choose(st, 0))
        if i == 0 or st.node[i].pins > 0 or st.slot[st.node[i].obj] != i:
            return np.uint32(0)
        leave(st, i)
        return i

    @numba.njit(**OPTIONS)
    def drive(given: Books, operations: Any) -> int:
        st = by_reference(given)
        init(st, 0)
        pinned_now = 0
        for n in range(len(operations)):
            code, obj = operations[n, 0], operations[n, 1]
            i = st.slot[obj]
            if code == ACCESS and i != 0:
                on_hit(st, 0, i)
            elif code == ACCESS and pinned_now < SLOTS:
                on_miss(st, 0, obj)
                if st.store[0].count == SLOTS:
                    i = victim(st)
                    if i == 0:
                        return n + 1
                else:
                    i = np.uint32(1 + LIST_HEADS)
                    while st.slot[st.node[i].obj] == i:
                        i += np.uint32(1)
                st.node[i].obj, st.node[i].prev, st.node[i].next, st.node[i].pins = obj, i, i, 0
                st.slot[obj] = i
                st.store[0].count += 1
                st.store[0].used += 1
                on_insert(st, 0, i)
            elif code == PIN and i != 0:
                if st.node[i].pins == 0:
                    on_pin(st, 0, i)
                    pinned_now += 1
                st.node[i].pins += 1
            elif code == RELEASE and i != 0 and st.node[i].pins > 0:
                st.node[i].pins -= 1
                if st.node[i].pins == 0:
                    on_release(st, 0, i)
                    pinned_now -= 1
            elif code == LEAVE and i != 0 and st.node[i].pins == 0:
                leave(st, i)
        for obj in range(OBJECTS):
            i = st.slot[obj]
            if i != 0 and st.node[i].pins > 0:
                st.node[i].pins = 0
                on_release(st, 0, i)
        while st.store[0].count > 0:
            if victim(st) == 0:
                return len(operations) + 1
        return 0

    return drive


@pytest.mark.parametrize("policy", POLICIES)
def test_victims_are_there_and_unpinned_and_none_is_lost(policy: str) -> None:
    drive = pool(policy)
    for seed in range(300):
        rng = np.random.default_rng(seed)
        codes = rng.choice(4, size=400, p=[0.55, 0.2, 0.2, 0.05] if seed % 2 else [0.5, 0.3, 0.15, 0.05])
        objects = rng.zipf(1.3, 400) % OBJECTS if seed % 3 else rng.integers(0, OBJECTS, 400)
        assert drive(books(policy), np.column_stack([codes, objects]).astype(np.int64)) == 0, seed
