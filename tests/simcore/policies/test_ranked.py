"""Policies that rank by a number: parameters and pins against the twins, their relatives, and published hit counts."""

from __future__ import annotations

import importlib
import json
import lzma
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

from simcore.declared import asked, object_fields, put_params, record, slot_fields, store_fields
from simcore.kernel import LIST_HEADS, OPTIONS, by_reference
from simcore.plugins import find
from simcore.replay.run import replay
from simcore.replay.setup import Tier
from simcore.traces.accesses import Accesses
from tests.reference.replay import replay as naive_replay

PARAMS: list[tuple[str, dict[str, Any]]] = [
    ("gdsf", {"packets": True}),
    ("gdsf", {"compete": False}),
    ("lru_k", {"k": 1, "correlated_period": 3}),
    ("lru_k", {"k": 2, "correlated_period": 25}),
    ("lru_k", {"k": 3, "retained_period": 20}),
    ("lru_k", {"k": 4, "correlated_period": 2, "retained_period": 30}),
    ("hyperbolic", {"samples": 3}),
]


def hits(ids: Any, capacity: int, policy: str, sizes: Any = None, seed: int = 0, **params: Any) -> list[int]:
    accesses = Accesses.of(ids, sizes=sizes)
    found = replay(accesses, [Tier(capacity=capacity, policy=policy, params=params)], keep_found=True, seed=seed).found
    assert found is not None
    return found.tolist()


def skewed(seed: int, n_objects: int = 30, length: int = 400) -> Any:
    weights = 1.0 / np.arange(1, n_objects + 1)
    return np.random.default_rng(seed).choice(n_objects, size=length, p=weights / weights.sum())


@pytest.mark.parametrize(("name", "params"), PARAMS)
def test_parameters_mean_to_the_kernel_what_they_mean_to_the_twin(name: str, params: dict[str, Any]) -> None:
    twin = importlib.import_module(f"tests.reference.eviction.{name}").Twin
    differs = False
    for seed in range(20):
        ids = skewed(seed)
        sizes = None if seed % 2 else np.random.default_rng(seed).integers(1, 2000, len(ids))
        for capacity in (3, 8, 15) if sizes is None else (3000, 9000, 15000):
            numbers = Accesses.of(ids).ids.tolist()
            expected = naive_replay(numbers, None if sizes is None else sizes.tolist(), capacity, twin(capacity, **params))
            found = hits(ids, capacity, name, sizes, **params)
            assert [bool(x) for x in found] == expected
            differs |= found != hits(ids, capacity, name, sizes)
    assert differs


def test_relatives() -> None:
    for seed in range(10):
        ids = skewed(seed)
        assert hits(ids, 8, "gdsf", compete=False) == hits(ids, 8, "lfu_da")
        assert hits(ids, 8, "lru_k", k=1) == hits(ids, 8, "lru")


def test_draws_follow_the_seed() -> None:
    ids = skewed(1, 200, 3000)
    runs = [hits(ids, 100, "hyperbolic", seed=seed, samples=4) for seed in (5, 5, 6)]
    assert runs[0] == runs[1] != runs[2]


def test_min_has_the_published_hits(shared: Path) -> None:
    name = "classical/cache2k_web12.trace"
    facts = json.loads((shared / "traces" / "facts.json").read_text())["exact_hit_counts"][name]["caps"]
    keys = np.frombuffer(lzma.decompress((shared / "traces" / f"{name}.xz").read_bytes()), ">u4").astype(np.int64)
    for capacity, known in facts.items():
        assert sum(hits(keys, int(capacity), "min")) == known["min"]


# Pins: verbs in any legal order, against the twins with pinned objects out of their sight.

INSERT, HIT, PIN, RELEASE, EVICT, LEAVE = range(6)
SLOTS = 12
FIRST = 1 + LIST_HEADS
TABLES = {"lfu": "used", "lfu_da": "key", "gdsf": "rank", "lru_k": "resident", "belady": "next", "min": "next"}
EVENT = np.dtype([("next_use", np.int64)])


class Books(NamedTuple):
    node: Any
    store: Any
    words: Any
    reals: Any
    object: Any
    event: Any


def books(module: ModuleType) -> Books:
    base: list[tuple[str, Any]] = [(name, np.uint64) for name in ("objects", "words", "reals", "random")]
    base += [("cap", np.int64), *((name, np.uint32) for name in ("first", "spare", "slots"))]
    store = np.zeros(1, record(base, store_fields([module]))).view(np.recarray)
    store.first, store.cap, store.spare, store.slots = FIRST, SLOTS, FIRST + SLOTS, SLOTS
    store.random = np.random.SeedSequence([0, 0]).generate_state(1, np.uint64)
    put_params(store, module, {}, "params")
    links: list[tuple[str, Any]] = [(name, np.uint32) for name in ("prev", "next", "obj", "pins")]
    spare, words, reals = (asked(module, name, SLOTS, SLOTS) for name in ("SPARE_NODES", "WORDS", "REALS"))
    node = np.zeros(FIRST + SLOTS + spare, record(links, slot_fields([module]))).view(np.recarray)
    node.obj[FIRST : FIRST + SLOTS] = np.arange(SLOTS)
    objects = np.zeros(SLOTS, record([], object_fields([module]))).view(np.recarray)
    event = np.zeros(1, EVENT).view(np.recarray)
    return Books(node, store, np.zeros(words, np.uint32), np.zeros(reals), objects, event)


def driver(module: ModuleType) -> Any:
    init, on_hit, on_miss, on_insert = module.init, module.on_hit, module.on_miss, module.on_insert
    on_evict, on_pin, on_release, choose = module.on_evict, module.on_pin, module.on_release, module.choose_victim

    @numba.njit(**OPTIONS)
    def drive(given: Books, operations: Any, victims: Any) -> None:
        st = by_reference(given)
        init(st, 0)
        for n in range(len(operations)):
            code, i = operations[n, 0], np.uint32(operations[n, 1])
            st.event[0].next_use = operations[n, 2]
            if code == INSERT:
                st.node[i].pins, st.node[i].prev, st.node[i].next = 0, i, i
                on_miss(st, 0, st.node[i].obj)
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
            elif code == LEAVE:
                on_evict(st, 0, i)
            else:
                on_miss(st, 0, st.node[i].obj)
                victims[n] = choose(st, 0)
                if victims[n] != 0:
                    on_evict(st, 0, np.uint32(victims[n]))

    return drive


class Pinning:
    """A twin and the pins of its objects."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.twin: Any = importlib.import_module(f"tests.reference.eviction.{name}").Twin(SLOTS)
        self.pins: dict[int, int] = {}

    def step(self, code: int, obj: int, event: dict[str, int]) -> int | None:
        """Does one operation; the victim of an EVICT."""
        if code == INSERT:
            self.twin.miss(obj, 1, event)
            self.twin.insert(obj, 1, event)
            self.pins[obj] = 0
        elif code == HIT:
            self.twin.hit(obj, event)
        elif code == PIN:
            if self.name == "hyperbolic" and not self.pins[obj]:
                self._stand_up(obj)
            self.pins[obj] += 1
        elif code == RELEASE:
            self.pins[obj] -= 1
            if not self.pins[obj]:
                self._release(obj, event["clock"])
        else:
            victim = self._victim(obj, event) if code == EVICT else obj
            if victim is None:
                return None
            age = getattr(self.twin, "age", None)
            self.twin.evict(victim)
            if code == LEAVE and age is not None:
                self.twin.age = age  # only evictions age the cache
            del self.pins[victim]
            return victim
        return None

    def _victim(self, newcomer: int, event: dict[str, int]) -> int | None:
        self.twin.miss(newcomer, 1, event)
        if self.name == "hyperbolic":
            chosen: int = self.twin.victim(event)
            return chosen
        table = getattr(self.twin, TABLES[self.name])
        hidden = {obj: table[obj] if isinstance(table, dict) else None for obj, pins in self.pins.items() if pins}
        for obj in hidden:
            table.pop(obj) if isinstance(table, dict) else table.remove(obj)
        victim: int | None = self.twin.victim(event)
        table.update(hidden)
        return victim

    def _stand_up(self, obj: int) -> None:
        seats = self.twin.seats
        seats[seats.index(obj)] = seats[-1]
        del seats[-1]

    def _release(self, obj: int, clock: int) -> None:
        if self.name == "hyperbolic":
            self.twin.seats.append(obj)
        elif self.name == "lru_k":
            self.twin.last[obj], self.twin.order[obj] = self.twin.t, clock
        else:
            table = getattr(self.twin, TABLES[self.name])
            table[obj] = (table[obj][0], -clock if self.name in ("belady", "min") else clock)


def operations(twin: Pinning, seed: int) -> tuple[Any, list[int]]:
    rng = np.random.default_rng(seed)
    future = rng.permutation(4000) + 4000
    done, victims = [], []
    for n in range(400):
        idle = [obj for obj, pins in twin.pins.items() if not pins]
        held = [obj for obj, pins in twin.pins.items() if pins]
        absent = [obj for obj in range(SLOTS) if obj not in twin.pins]
        legal = [absent, idle + held, idle + held, held, absent if idle else [], idle]
        code = int(rng.choice(6, p=[0.3, 0.22, 0.13, 0.15, 0.17, 0.03]))
        if not legal[code]:
            continue
        obj = legal[code][int(rng.random() * len(legal[code]))]
        event = {"clock": n, "next_use": int(future[n]) if rng.random() < 0.8 else 1 << 62}
        victim = twin.step(code, obj, event)
        done.append((code, FIRST + obj, event["next_use"]))
        victims.append(FIRST + victim if code == EVICT and victim is not None else 0)
    return np.array(done, np.int64), victims


@pytest.mark.parametrize("name", [*TABLES, "hyperbolic"])
def test_a_pinned_object_is_out_of_the_order_and_comes_back_as_what_it_was(name: str) -> None:
    module = find("simcore.policies", name)
    drive = driver(module)
    evicted = 0
    for seed in range(40):
        done, expected = operations(Pinning(name), seed)
        victims = np.zeros(len(done), np.int64)
        drive(books(module), done, victims)
        assert victims.tolist() == expected, f"sequence {seed}"
        evicted += sum(v > 0 for v in expected)
    assert evicted > 400
