"""Verbs with pins against naive lists, of the three policies that all serving tests use; and what every policy declares."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

from simcore.kernel import LIST_HEADS, OPTIONS, by_reference
from simcore.plugins import names
from simcore.replay import engine as replay_engine
from simcore.serving.engine import FAMILY, policy_module, verb_functions
from simcore.serving.state import node_dtype, store_dtype

INSERT, HIT, PIN, RELEASE, EVICT, LEAVE = range(6)
SLOTS = 12
FIRST = 1 + LIST_HEADS


class Books(NamedTuple):
    """All that a policy may look at."""

    node: Any
    store: Any


class Naive:
    """Order as a list, oldest first; the engine's side (who is there, who is pinned) is told."""

    def __init__(self) -> None:
        self.pins: dict[int, int] = {}


class NaiveLru(Naive):
    def __init__(self) -> None:
        super().__init__()
        self.order: list[int] = []

    def insert(self, i: int) -> None:
        self.order.append(i)

    def hit(self, i: int) -> None:
        if not self.pins[i]:
            self.order.remove(i)
            self.order.append(i)

    def pin(self, i: int) -> None:
        self.order.remove(i)

    def release(self, i: int) -> None:
        self.order.append(i)

    def victim(self) -> int:
        return self.order[0]

    def evict(self, i: int) -> None:
        self.order.remove(i)


class NaiveFifo(Naive):
    def __init__(self) -> None:
        super().__init__()
        self.queue: list[int] = []
        self.overdue: list[int] = []
        self.parked: set[int] = set()

    def insert(self, i: int) -> None:
        self.queue.append(i)

    def hit(self, i: int) -> None:
        pass

    def pin(self, i: int) -> None:
        pass

    def release(self, i: int) -> None:
        if i in self.parked:
            self.parked.remove(i)
            self.overdue.append(i)

    def victim(self) -> int:
        while True:
            line = self.overdue or self.queue
            if not self.pins[line[0]]:
                return line[0]
            self.parked.add(line.pop(0))

    def evict(self, i: int) -> None:
        (self.overdue if i in self.overdue else self.queue).remove(i)


class NaiveSieve(Naive):
    """The hand is a position: everything before it is behind the hand."""

    def __init__(self) -> None:
        super().__init__()
        self.queue: list[int] = []
        self.hand = 0
        self.visited: set[int] = set()
        self.parked: set[int] = set()

    def insert(self, i: int) -> None:
        self.visited.discard(i)
        if self.hand == len(self.queue):
            self.hand += 1
        self.queue.append(i)

    def hit(self, i: int) -> None:
        self.visited.add(i)

    def pin(self, i: int) -> None:
        pass

    def release(self, i: int) -> None:
        if i in self.parked:
            self.parked.remove(i)
            self.queue.insert(self.hand, i)
            self.hand += 1

    def victim(self) -> int:
        while True:
            if self.hand == len(self.queue):
                self.hand = 0
            i = self.queue[self.hand]
            if self.pins[i]:
                self.parked.add(self.queue.pop(self.hand))
            elif i in self.visited:
                self.visited.remove(i)
                self.hand += 1
            else:
                return i

    def evict(self, i: int) -> None:
        at = self.queue.index(i)
        self.queue.pop(at)
        if at < self.hand:
            self.hand -= 1


TWINS: dict[str, Callable[[], Any]] = {"lru": NaiveLru, "fifo": NaiveFifo, "sieve": NaiveSieve}


def driver(module: ModuleType) -> Any:
    """A compiled loop over operations (code, slot); returns the victims in the order they were chosen."""
    verb = {name: getattr(module, verb_functions(module, name)[0]) for name in ("on_pin", "on_release")}
    init, on_hit, on_insert, on_evict, choose = (
        module.init,
        module.on_hit,
        module.on_insert,
        module.on_evict,
        module.choose_victim,
    )
    on_pin, on_release = verb["on_pin"], verb["on_release"]

    @numba.njit(**OPTIONS)
    def drive(books: Books, operations: Any, victims: Any) -> None:
        st = by_reference(books)
        init(st, 0)
        for n in range(len(operations)):
            code, i = operations[n, 0], np.uint32(operations[n, 1])
            if code == INSERT:
                st.node[i].pins, st.node[i].prev, st.node[i].next = 0, i, i
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
                victims[n] = choose(st, 0)
                on_evict(st, 0, np.uint32(victims[n]))

    return drive


def naive_run(twin: Any, length: int, seed: int) -> tuple[np.ndarray, list[int]]:
    """A random but legal sequence of operations, and the victims the twin chooses."""
    rng = np.random.default_rng(seed)
    operations, victims = [], []
    for _ in range(length):
        idle = [i for i, pins in twin.pins.items() if not pins]
        pinned = [i for i, pins in twin.pins.items() if pins]
        absent = [i for i in range(FIRST, FIRST + SLOTS) if i not in twin.pins]
        legal = [(INSERT, absent), (HIT, idle + pinned), (PIN, idle + pinned), (RELEASE, pinned), (EVICT, idle), (LEAVE, idle)]
        code, slots = legal[int(rng.choice(6, p=[0.3, 0.2, 0.15, 0.15, 0.15, 0.05]))]
        if not slots:
            continue
        i = slots[int(rng.random() * len(slots))]
        victim = 0
        if code == INSERT:
            twin.pins[i] = 0
            twin.insert(i)
        elif code == HIT:
            twin.hit(i)
        elif code == PIN:
            if not twin.pins[i]:
                twin.pin(i)
            twin.pins[i] += 1
        elif code == RELEASE:
            twin.pins[i] -= 1
            if not twin.pins[i]:
                twin.release(i)
        else:
            victim = twin.victim() if code == EVICT else 0
            i = victim or i
            twin.evict(i)
            del twin.pins[i]
        operations.append((code, i))
        victims.append(victim)
    return np.array(operations, np.int64), victims


@pytest.mark.parametrize("name", TWINS)
def test_verbs_against_a_naive_list(name: str) -> None:
    module = policy_module(name)
    drive = driver(module)
    for seed in range(60):
        operations, expected = naive_run(TWINS[name](), 400, seed)
        store = np.zeros(1, store_dtype([module])).view(np.recarray)
        store.first, store.cap = FIRST, SLOTS
        books = Books(np.zeros(FIRST + SLOTS, node_dtype([module])).view(np.recarray), store)
        victims = np.zeros(len(operations), np.int64)
        drive(books, operations, victims)
        assert victims.tolist() == expected, f"sequence {seed}"
        assert sum(v > 0 for v in expected) > 20


@pytest.mark.parametrize("name", names(FAMILY))
def test_a_policy_says_what_it_is(name: str) -> None:
    module = replay_engine.policy_module(name)
    assert module.__doc__ and len(module.__doc__) > 100
    assert isinstance(module.NEEDS, frozenset)
    declared = [*module.FIELDS, *getattr(module, "STORE_FIELDS", ()), *getattr(module, "OBJECT_FIELDS", ())]
    assert all(isinstance(field, str) for field, _ in declared)
    for verb in ("on_pin", "on_release"):
        assert hasattr(module, verb) == hasattr(module, "on_pin"), "define both or none"
