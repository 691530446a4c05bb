"""One access to one tier: a hit, or a miss that asks below and enters here."""

from __future__ import annotations

import numpy as np

from simcore.kernel import Int, incoming_size, inlined
from simcore.replay.state import GET, PUT, State

from .columns import carry_again, send
from .residency import insert, shed
from .verbs import CHAIN, FEEDS, SETS, TRACKED, admit, on_access, on_hit, on_miss


@inlined
def access(st: State, k: Int, place: Int) -> int:
    """Object ids[k] is asked for; absent, it is asked for below and enters here. Returns 1 for a hit, otherwise 0."""
    obj = st.ids[k]
    s = store_of(st, obj)
    on_access(st, s, obj)
    i = st.slot[obj]
    if i != np.uint32(0):
        if TRACKED:
            mark_found(st, place)
        carry_again(st, i)
        on_hit(st, s, i)
        shed(st, s)
        return 1
    if FEEDS:
        send(st, obj, GET, place)
    enter(st, s, obj)
    return 0


@inlined
def mark_found(st: State, place: Int) -> None:
    """This tier had the object; of chains that was settled when the request arrived."""
    if not CHAIN:
        st.found[place] = st.run[0].top


@inlined
def enter(st: State, s: Int, obj: Int) -> None:
    """An absent object wants to enter; refused at the top of exclusive tiers, it is offered below as if it were evicted."""
    entered = False
    if incoming_size(st) <= st.store[s].cap:
        on_miss(st, s, obj)
        if admit(st, s, obj):
            entered = insert(st, s, obj)
    if not entered:
        st.run[0].refused += 1
        st.run[0].refused_bytes += incoming_size(st)
        if FEEDS:
            send(st, obj, PUT, 0)


@inlined
def store_of(st: State, obj: Int) -> Int:
    """The set of an object: a hash of its number, as good as any fixed hash of its key."""
    if not SETS:
        return 0
    x = np.uint64(obj) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x = x ^ (x >> np.uint64(31))
    return np.int64(((x >> np.uint64(32)) * np.uint64(len(st.store))) >> np.uint64(32))
