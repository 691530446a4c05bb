"""Pins in the policies made for LLM caches: a pinned object is never chosen, and comes back with what was known of it."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

from simcore.declared import params_model
from simcore.kernel import LIST_HEADS, OPTIONS, by_reference
from simcore.replay.engine import policy_module
from simcore.replay.state import event_dtype, node_dtype, object_dtype, store_dtype

INSERT, HIT, PIN, RELEASE, EVICT, LEAVE = range(6)
SLOTS = 12
FIRST = 1 + LIST_HEADS
PINS: Any = SimpleNamespace(FIELDS=(("pins", np.int32),))  # as the engines add them


class Books(NamedTuple):
    """All that a policy may look at."""

    node: Any
    store: Any
    event: Any
    object: Any
    words: Any
    reals: Any


def books(module: ModuleType, **params: float) -> Books:
    spare, words, reals = (getattr(module, name, lambda *_: 0)(SLOTS, SLOTS) for name in ("SPARE_NODES", "WORDS", "REALS"))
    store = np.zeros(1, store_dtype([module])).view(np.recarray)
    store.first, store.cap, store.slots, store.spare, store.spares = FIRST, SLOTS, SLOTS, FIRST + SLOTS, spare
    chosen = params_model(module)(**params)
    for name in type(chosen).model_fields:
        store[name] = getattr(chosen, name)
    node = np.zeros(FIRST + SLOTS + spare, node_dtype([module, PINS], ())).view(np.recarray)
    event = np.zeros(1, event_dtype(sorted(module.NEEDS))).view(np.recarray)
    objects = np.zeros(SLOTS, object_dtype([module])).view(np.recarray)
    return Books(node, store, event, objects, np.zeros(words, np.uint32), np.zeros(reals, np.float64))


def driver(module: ModuleType) -> Callable[[Books, int, int], int]:
    """A compiled loop over one operation at a time; returns the victim, if one was asked for. Slot FIRST + n holds object n."""
    init, on_hit, on_miss, choose = module.init, module.on_hit, module.on_miss, module.choose_victim
    on_insert, on_evict, on_pin, on_release = module.on_insert, module.on_evict, module.on_pin, module.on_release

    @numba.njit(**OPTIONS)
    def drive(given: Books, code: int, slot: int) -> int:
        st = by_reference(given)
        i = np.uint32(slot)
        victim = np.uint32(0)
        if code < 0:
            init(st, 0)
        elif code == INSERT:
            on_miss(st, 0, slot - FIRST)
            st.node[i].obj, st.node[i].pins, st.node[i].prev, st.node[i].next = slot - FIRST, 0, i, i
            st.store[0].count += 1
            st.store[0].used += 1
            on_insert(st, 0, i)
        elif code == HIT:
            on_hit(st, 0, i)
        elif code == PIN:
            st.node[i].pins += 1
            if st.node[i].pins == 1:
                st.node[i].pins = 0
                on_pin(st, 0, i)
                st.node[i].pins = 1
        elif code == RELEASE:
            st.node[i].pins -= 1
            if st.node[i].pins == 0:
                on_release(st, 0, i)
        else:
            victim = np.uint32(choose(st, 0)) if code == EVICT else i
            if victim != np.uint32(0):
                on_evict(st, 0, victim)
                st.store[0].count -= 1
                st.store[0].used -= 1
        return np.int64(victim)

    return drive


@pytest.mark.parametrize("name", ["heavy_hitter", "length_aware", "persistence", "prefix_tail_first", "workload_aware"])
def test_a_victim_is_resident_and_not_pinned(name: str) -> None:
    module = policy_module(name)
    drive = driver(module)
    for seed in range(30):
        rng = np.random.default_rng(seed)
        state, pins, chosen = books(module), dict[int, int](), 0
        drive(state, -1, 0)
        for step in range(400):
            idle = [i for i, count in pins.items() if not count]
            pinned = [i for i, count in pins.items() if count]
            absent = [i for i in range(FIRST, FIRST + SLOTS) if i not in pins]
            legal = [absent, idle + pinned, idle + pinned, pinned, idle, idle]
            code = int(rng.choice(6, p=[0.3, 0.2, 0.15, 0.15, 0.15, 0.05]))
            if not legal[code]:
                continue
            i = int(rng.choice(legal[code]))
            known = {"depth": rng.integers(0, 5), "request": step, "category": rng.integers(0, 3), "time_s": step}
            for column in module.NEEDS:
                state.event[column] = known[column]
            victim = drive(state, code, i)
            if code == INSERT:
                pins[i] = 0
            elif code in (PIN, RELEASE):
                pins[i] += 1 if code == PIN else -1
            elif code in (EVICT, LEAVE):
                assert victim in idle, f"sequence {seed}"
                chosen += code == EVICT
                del pins[victim]
        for i in [i for i, count in pins.items() for _ in range(count)]:
            drive(state, RELEASE, i)
        assert {drive(state, EVICT, 0) for _ in pins} == set(pins), "what was pinned has come back into the order"
        assert chosen > 20


def test_a_pin_does_not_cost_an_object_its_weight() -> None:
    for name, params in (("heavy_hitter", {"recent_share": 0.0}), ("length_aware", {})):
        module = policy_module(name)
        state, drive = books(module, **params), driver(module)
        drive(state, -1, 0)
        for code, i in ((INSERT, FIRST), (HIT, FIRST), (INSERT, FIRST + 1), (PIN, FIRST), (RELEASE, FIRST)):
            drive(state, code, i)
        assert drive(state, EVICT, 0) == FIRST + 1, name
