"""The verbs of each store's eviction policy: lru."""

import simcore.policies.lru as lru
from simcore.kernel import Int, Slot, State, inlined, kernel


@inlined
def use(st: State, q: Int, obj: Int, place: Int) -> None:
    pass


@inlined
def act_for_user(st: State, obj: Int) -> None:
    pass


@kernel
def init(st: State, s: Int) -> None:
    lru.init(st, s)


@kernel
def on_hit(st: State, s: Int, i: Slot) -> None:
    lru.on_hit(st, s, i)


@kernel
def on_miss(st: State, s: Int, obj: Int) -> None:
    lru.on_miss(st, s, obj)


@kernel
def choose_victim(st: State, s: Int) -> Slot:
    return lru.choose_victim(st, s)


@kernel
def on_insert(st: State, s: Int, i: Slot) -> None:
    lru.on_insert(st, s, i)


@kernel
def on_evict(st: State, s: Int, i: Slot) -> None:
    lru.on_evict(st, s, i)


@kernel
def on_pin(st: State, s: Int, i: Slot) -> None:
    lru.on_evict(st, s, i)


@kernel
def on_release(st: State, s: Int, i: Slot) -> None:
    lru.on_insert(st, s, i)


@kernel
def on_insert_pinned(st: State, s: Int, i: Slot) -> None:
    pass


QUOTAS = False
