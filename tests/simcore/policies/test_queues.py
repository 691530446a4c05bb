"""The policies of plain queues and rings: pins, parameters, and counts published by others."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
import zstandard

from simcore.errors import InputError
from simcore.kernel import LIST_HEADS, OPTIONS, by_reference
from simcore.plugins import find
from simcore.replay.run import replay
from simcore.replay.setup import Tier
from simcore.replay.state import node_dtype, object_dtype, store_dtype
from simcore.traces.accesses import Accesses
from tests.reference.eviction.random import Twin as RandomTwin
from tests.reference.eviction.s3fifo import Twin as S3FifoTwin
from tests.reference.replay import replay as naive_replay

MISS, INSERT, HIT, PIN, RELEASE, EVICT, LEAVE = range(7)
SLOTS, OBJECTS = 12, 30
FIRST = 1 + LIST_HEADS


class Books(NamedTuple):
    """All that a policy may look at."""

    node: Any
    store: Any
    object: Any
    words: Any


class Clock:
    """The hand is a position in the ring."""

    def __init__(self) -> None:
        self.ring: list[int] = []
        self.hand = 0
        self.visited: set[int] = set()
        self.parked: set[int] = set()

    def miss(self, obj: int) -> None:
        pass

    def put(self, obj: int) -> None:
        self.ring.insert(self.hand, obj)
        self.hand += 1

    def insert(self, obj: int) -> None:
        self.visited.discard(obj)
        self.put(obj)

    def hit(self, obj: int, pinned: bool) -> None:
        self.visited.add(obj)

    def pin(self, obj: int) -> None:
        pass

    def release(self, obj: int) -> None:
        if obj in self.parked:
            self.parked.remove(obj)
            self.put(obj)

    def victim(self, pinned: set[int]) -> int:
        while True:
            self.hand %= len(self.ring)
            obj = self.ring[self.hand]
            if obj in self.visited:
                self.visited.remove(obj)
                self.hand += 1
            elif obj in pinned:
                self.parked.add(self.ring.pop(self.hand))
            else:
                return obj

    def evict(self, obj: int) -> None:
        at = self.ring.index(obj)
        self.ring.pop(at)
        self.hand -= at < self.hand


class Mru:
    def __init__(self) -> None:
        self.order: list[int] = []

    def miss(self, obj: int) -> None:
        pass

    def insert(self, obj: int) -> None:
        self.order.append(obj)

    def hit(self, obj: int, pinned: bool) -> None:
        if not pinned:
            self.order.remove(obj)
            self.order.append(obj)

    def pin(self, obj: int) -> None:
        self.order.remove(obj)

    release = insert

    def victim(self, pinned: set[int]) -> int:
        return self.order[-1]

    evict = pin


class Random(RandomTwin):
    """The candidates are the unpinned objects."""

    def __init__(self) -> None:
        super().__init__(SLOTS)
        self.state = 7

    def miss(self, obj: int) -> None:  # type: ignore[override]
        pass

    def insert(self, obj: int) -> None:  # type: ignore[override]
        self.candidates.append(obj)

    def hit(self, obj: int, pinned: bool) -> None:  # type: ignore[override]
        pass

    def pin(self, obj: int) -> None:
        self.evict(obj)

    release = insert

    def victim(self, pinned: set[int]) -> int:
        return super().victim({})


class S3Fifo(S3FifoTwin):
    """Pinned objects that come to the end of a queue are parked; they keep their place in the bytes of the small queue."""

    def __init__(self) -> None:
        super().__init__(SLOTS)
        self.pinned: set[int] = set()
        self.parked: dict[int, bool] = {}  # object -> whether it belongs to the main queue

    def miss(self, obj: int) -> None:  # type: ignore[override]
        super().miss(obj, 1, {})

    def insert(self, obj: int) -> None:  # type: ignore[override]
        super().insert(obj, 1, {})

    def hit(self, obj: int, pinned: bool) -> None:  # type: ignore[override]
        super().hit(obj, {})

    def pin(self, obj: int) -> None:
        pass

    def release(self, obj: int) -> None:
        if obj in self.parked:
            if self.parked.pop(obj):
                self.main.append(obj)  # right behind the hand
            else:
                self.small.insert(0, obj)

    def park(self, queue: list[int]) -> bool:
        if queue and queue[0] in self.pinned:
            self.parked[queue.pop(0)] = queue is self.main
            return True
        return False

    def victim(self, pinned: set[int]) -> int:
        self.pinned = pinned
        in_main = len(self.main) + sum(self.parked.values())
        from_small = in_main <= SLOTS - self.small_share
        while True:
            obj = self.small_victim() if from_small else self.main_victim()
            if obj:
                return obj
            from_small = not from_small

    def small_victim(self) -> int:
        while self.small:
            if self.park(self.small):
                continue
            if self.freq[self.small[0]] < self.threshold:
                return self.small[0]
            self.freq[self.small[0]] = 0
            self.main.append(self.small.pop(0))
        return 0

    def main_victim(self) -> int:
        while self.main:
            if self.park(self.main):
                continue
            if self.freq[self.main[0]] == 0:
                return self.main[0]
            self.freq[self.main[0]] -= 1
            self.main.append(self.main.pop(0))
        return 0


TWINS: dict[str, type[Any]] = {"clock": Clock, "mru": Mru, "random": Random, "s3fifo": S3Fifo}


def driver(module: ModuleType) -> Any:
    """A compiled loop over operations (code, slot, object); writes the victims in the order they were chosen."""
    init, on_miss, on_insert, on_hit = module.init, module.on_miss, module.on_insert, module.on_hit
    on_evict, choose = module.on_evict, module.choose_victim
    on_pin = getattr(module, "on_pin", module.on_evict)
    on_release = getattr(module, "on_release", module.on_insert)

    @numba.njit(**OPTIONS)
    def drive(books: Books, operations: Any, victims: Any) -> None:
        st = by_reference(books)
        init(st, 0)
        for n in range(len(operations)):
            code, i, obj = operations[n, 0], np.uint32(operations[n, 1]), operations[n, 2]
            if code == MISS:
                on_miss(st, 0, obj)
            elif code == INSERT:
                st.node[i].pins, st.node[i].obj, st.node[i].prev, st.node[i].next = 0, obj, i, i
                st.store[0].used += 1
                on_insert(st, 0, i)
            elif code == HIT:
                on_hit(st, 0, i)
            elif code == PIN:
                if st.node[i].pins == 0:
                    on_pin(st, 0, i)
                st.node[i].pins += 1
            elif code == RELEASE:
                st.node[i].pins -= 1
                if st.node[i].pins == 0:
                    on_release(st, 0, i)
            else:
                if code == EVICT:
                    victims[n] = choose(st, 0)
                    i = np.uint32(victims[n])
                on_evict(st, 0, i)
                st.store[0].used -= 1

    return drive


def naive_run(twin: Any, length: int, seed: int) -> tuple[np.ndarray, list[int]]:
    """A random but legal sequence of operations, and the victims the twin chooses. Objects are numbered from 1."""
    rng = np.random.default_rng(seed)
    pins: dict[int, int] = {}
    slot: dict[int, int] = {}
    free = list(range(FIRST, FIRST + SLOTS))
    operations: list[tuple[int, int, int]] = []
    victims: list[int] = []

    def note(code: int, obj: int, victim: int = 0) -> None:
        operations.append((code, slot.get(obj, 0), obj))
        victims.append(victim)

    for _ in range(length):
        idle = [obj for obj, count in pins.items() if not count]
        busy = [obj for obj, count in pins.items() if count]
        absent = [obj for obj in range(1, OBJECTS) if obj not in pins]
        legal = [(INSERT, absent), (HIT, idle + busy), (PIN, idle + busy), (RELEASE, busy), (LEAVE, idle)]
        code, among = legal[int(rng.choice(5, p=[0.35, 0.3, 0.15, 0.15, 0.05]))]
        if not among or (code == INSERT and not idle and not free):
            continue
        obj = among[int(rng.random() * len(among))]
        if code == INSERT:
            note(MISS, obj)
            twin.miss(obj)
            if not free:
                out = twin.victim(set(busy))
                note(EVICT, out, slot[out])
                twin.evict(out)
                free.append(slot.pop(out))
                del pins[out]
            slot[obj], pins[obj] = free.pop(), 0
            note(INSERT, obj)
            twin.insert(obj)
            continue
        note(code, obj)
        if code == HIT:
            twin.hit(obj, pins[obj] > 0)
        elif code == PIN:
            if not pins[obj]:
                twin.pin(obj)
            pins[obj] += 1
        elif code == RELEASE:
            pins[obj] -= 1
            if not pins[obj]:
                twin.release(obj)
        else:
            twin.evict(obj)
            free.append(slot.pop(obj))
            del pins[obj]
    return np.array(operations, np.int64), victims


def books(module: ModuleType) -> Books:
    spare, words = (getattr(module, name, lambda slots, n_objects: 0)(SLOTS, OBJECTS) for name in ("SPARE_NODES", "WORDS"))
    node = node_dtype([module], ())
    node = np.dtype([*((name, node[name]) for name in node.names or ()), ("pins", np.uint32)], align=True)
    store = np.zeros(1, store_dtype([module])).view(np.recarray)
    store.first, store.cap, store.random = FIRST, SLOTS, 7
    store.spare, store.slots, store.spares = FIRST + SLOTS, SLOTS, spare
    if hasattr(module, "Params"):
        for name, value in module.Params().model_dump().items():
            store[name] = value
    return Books(
        np.zeros(FIRST + SLOTS + spare, node).view(np.recarray),
        store,
        np.zeros(OBJECTS, object_dtype([module])).view(np.recarray),
        np.zeros(words, np.uint32),
    )


@pytest.mark.parametrize("name", sorted(TWINS))
def test_pinned_objects_keep_what_the_policy_knows_of_them(name: str) -> None:
    module = find("simcore.policies", name)
    drive = driver(module)
    for seed in range(80):
        operations, expected = naive_run(TWINS[name](), 500, seed)
        victims = np.zeros(len(operations), np.int64)
        drive(books(module), operations, victims)
        assert victims.tolist() == expected, f"sequence {seed}"
        assert sum(v > 0 for v in expected) > 20


@pytest.mark.parametrize("sized", [False, True])
def test_the_parameters_of_s3_fifo(sized: bool) -> None:
    rng = np.random.default_rng(3)
    accesses = Accesses.of(rng.zipf(1.2, 3000) % 120)
    sizes = rng.integers(1, 20, accesses.n_objects)[accesses.ids] if sized else None
    accesses = accesses.with_columns(sizes=sizes)
    capacity = 300 if sized else 30
    results: list[list[bool]] = []
    for params in (
        {},
        {"small_share": 0.4},
        {"ghost_share": 0.0},
        {"ghost_share": 2.0},
        {"threshold": 1},
        {"threshold": 3},
        {"fill_main": True},
    ):
        twin = S3FifoTwin(capacity, **params)
        expected = naive_replay(accesses.ids.tolist(), None if sizes is None else sizes.tolist(), capacity, twin)
        result = replay(accesses, [Tier(capacity=capacity, policy="s3fifo", params=params)], keep_found=True)
        assert result.found is not None
        assert result.found.astype(bool).tolist() == expected, params
        assert expected not in results, f"{params} changes nothing"
        results.append(expected)


@pytest.mark.parametrize(
    "params", [{"small_share": 0}, {"small_share": 1}, {"ghost_share": 2.1}, {"threshold": 4}, {"small": 0.1}]
)
def test_parameters_out_of_range_are_refused(params: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="params"):
        replay(Accesses.of([1, 2, 1]), [Tier(capacity=2, policy="s3fifo", params=params)])


def test_draws_are_uniform_and_follow_the_seed() -> None:
    """With n objects of equal popularity and room for c, a uniform victim or any other leaves a hit ratio of c / n."""
    accesses = Accesses.of(np.random.default_rng(1).integers(0, 100, 60_000))
    runs = [replay(accesses, [Tier(capacity=40, policy="random")], seed=seed, keep_found=True) for seed in (0, 0, 1)]
    found = [run.found for run in runs]
    assert found[0] is not None and found[2] is not None
    assert np.array_equal(found[0], found[1]) and not np.array_equal(found[0], found[2])
    assert abs(runs[0].hit_ratio - 0.4) < 0.01


def test_a_static_cache_keeps_what_it_was_given() -> None:
    accesses = Accesses.of([5, 1, 1, 2, 2, 2, 3, 4, 1, 2])
    cold = replay(accesses, [Tier(capacity=2, policy="static")], keep_found=True)
    assert cold.found is not None
    assert cold.found.tolist() == [0, 0, 1, 0, 0, 0, 0, 0, 1, 0]
    assert cold.tiers[0].evictions == 0
    warm = replay(accesses, [Tier(capacity=2, policy="static")], preload=True, keep_found=True)
    assert warm.found is not None
    assert warm.found.tolist() == [0, 1, 1, 1, 1, 1, 0, 0, 1, 1]


def test_counts_of_another_simulator(shared: Path) -> None:
    """Misses and missed bytes that the test suite of libCacheSim (commit aa0fc40) expects, and two exact counts of hits."""
    facts = json.loads((shared / "traces/facts.json").read_text())
    oracle = facts["byte_capacity_oracle"]
    packed = (shared / "traces/classical/cloudPhysicsIO.oracleGeneral.bin.zst").read_bytes()
    raw = zstandard.ZstdDecompressor().stream_reader(packed)
    record = np.dtype([("time", "<u4"), ("obj", "<u8"), ("size", "<u4"), ("next", "<i8")])
    rows = np.frombuffer(raw.read(), record)
    keys = rows["obj"].astype(np.int64)
    sized = Accesses.of(keys, sizes=rows["size"])
    for policy, name in (("lru", "LRU"), ("fifo", "FIFO"), ("clock", "Clock"), ("s3fifo", "S3FIFO")):
        runs = [replay(sized, [Tier(capacity=capacity, policy=policy)]) for capacity in oracle["capacity_bytes"]]
        assert [len(sized) - run.hits for run in runs] == oracle["miss_count"][name]
        assert [run.asked_bytes - run.tiers[0].hit_bytes for run in runs] == oracle["miss_bytes"][name]
    counts = facts["exact_hit_counts"]["classical/cloudPhysicsIO.csv:lbn"]["caps"]
    for capacity, hits in counts.items():
        for policy in ("lru", "fifo"):
            assert replay(Accesses.of(keys), [Tier(capacity=int(capacity), policy=policy)]).hits == hits[policy]
