"""One tier over one chunk of events: accesses in order, or chains of them, or what the tier above lets through."""

from __future__ import annotations

import numpy as np

from simcore.kernel import Int, incoming_size, inlined, kernel
from simcore.replay.state import EXCLUSIVE, GET, INCLUSIVE_THROUGH, LOOKUP, PUT, State

from .columns import carry_again, observe, send
from .residency import insert, open_stores, take
from .verbs import BELOW, CHAIN, FEEDS, SETS, TRACKED, admit, on_access, on_hit, on_miss


@kernel
def loop(st: State) -> int:
    if st.run[0].opened == 0:
        open_stores(st)
        st.run[0].opened = 1
    st.run[0].out = 0
    hits = 0
    hit_bytes = 0
    if BELOW:
        for k in range(len(st.ids)):
            _event(st, k)
    elif CHAIN:
        for r in range(len(st.start) - 1):
            _request(st, st.start[r], st.start[r + 1])
    else:
        for k in range(len(st.ids)):
            observe(st, k)
            hit = _access(st, k, k)
            hits += hit
            hit_bytes += hit * incoming_size(st)
    st.run[0].hits += hits  # kept out of memory on the way: a store a request would cost as much as the policy
    st.run[0].hit_bytes += hit_bytes
    return 0


@kernel
def _request(st: State, first: Int, end: Int) -> None:
    """A chain: see what is there when it arrives, then touch its objects in the order asked for."""
    for k in range(first, end):
        if st.slot[st.ids[k]] != np.uint32(0):
            st.found[k] = st.run[0].top
        elif FEEDS:
            observe(st, k)
            send(st, st.ids[k], LOOKUP, k)
    if st.run[0].tail_first:
        for back in range(first, end):
            k = first + end - 1 - back
            observe(st, k)
            _access(st, k, k)
    else:
        for k in range(first, end):
            observe(st, k)
            _access(st, k, k)


@inlined
def _access(st: State, k: Int, place: Int) -> int:
    """Object ids[k] is asked for; absent, it is asked for below and enters here. Returns 1 for a hit, otherwise 0."""
    obj = st.ids[k]
    s = _store_of(st, obj)
    on_access(st, s, obj)
    i = st.slot[obj]
    if i != np.uint32(0):
        if TRACKED:
            _found(st, place)
        carry_again(st, i)
        on_hit(st, s, i)
        return 1
    if FEEDS:
        send(st, obj, GET, place)
    _enter(st, s, obj)
    return 0


@inlined
def _found(st: State, place: Int) -> None:
    """This tier had the object; of chains that was settled when the request arrived."""
    if not CHAIN:
        st.found[place] = st.run[0].top


@inlined
def _enter(st: State, s: Int, obj: Int) -> None:
    """An absent object wants to enter; refused at the top of exclusive tiers, it is offered below as if it were evicted."""
    entered = False
    if incoming_size(st) <= st.store[s].cap:
        on_miss(st, s, obj)
        if admit(st, s, obj):
            entered = insert(st, s, obj)
        else:
            st.run[0].refused += 1
    else:
        st.run[0].refused += 1
    if FEEDS and not entered:
        send(st, obj, PUT, 0)


@kernel
def _event(st: State, k: Int) -> None:
    """What the tier above lets through."""
    obj = st.ids[k]
    kind = st.kind[k]
    place = np.int64(st.place[k])
    s = _store_of(st, obj)
    i = st.slot[obj]
    observe(st, k)
    if kind == LOOKUP:
        if i != np.uint32(0):
            st.found[place] = st.run[0].top
        elif FEEDS:
            send(st, obj, LOOKUP, place)
    elif kind == GET:
        _get(st, k, place)
    elif st.run[0].placement != INCLUSIVE_THROUGH and i == np.uint32(0):
        _enter(st, s, obj)


@kernel
def _get(st: State, k: Int, place: Int) -> None:
    obj = st.ids[k]
    placement = st.run[0].placement
    if placement == INCLUSIVE_THROUGH:
        _count(st, _access(st, k, place))
        return
    s = _store_of(st, obj)
    on_access(st, s, obj)
    i = st.slot[obj]
    if i == np.uint32(0):
        if FEEDS:
            send(st, obj, GET, place)
        return
    if TRACKED:
        _found(st, place)
    _count(st, 1)
    carry_again(st, i)
    on_hit(st, s, i)
    if placement == EXCLUSIVE:
        take(st, s, i)


@kernel
def _count(st: State, hit: Int) -> None:
    st.run[0].hits += hit
    st.run[0].hit_bytes += hit * incoming_size(st)


@kernel
def _store_of(st: State, obj: Int) -> Int:
    """The set of an object: a hash of its number, as good as any fixed hash of its key."""
    if not SETS:
        return 0
    x = np.uint64(obj) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x = x ^ (x >> np.uint64(31))
    return np.int64(((x >> np.uint64(32)) * np.uint64(len(st.store))) >> np.uint64(32))
