"""Block stores: the HBM pool of a replica and every lower tier have one shape.

A store owns residency (which block is in which slot) and pins; its policy owns the order in which unpinned blocks leave.
"""

from __future__ import annotations

import numpy as np

from simcore.kernel import Int, Slot, kernel, prefetch
from simcore.serving.state import State

from .order import QUOTAS, choose_victim, init, on_evict, on_hit, on_insert, on_insert_pinned, on_pin, on_release
from .shares import own_append, own_remove, share_of


@kernel
def open_stores(st: State) -> None:
    for s in range(len(st.store)):
        if st.store[s].opened == 0:  # else it goes on as an earlier run left it
            st.store[s].fresh = st.store[s].first
            init(st, s)


@kernel
def find(st: State, s: Int, obj: Int) -> Slot:
    """Slot of block `obj` in store s, 0 if it is not there."""
    return st.slot[st.store[s].map + np.uint64(obj)]


@kernel
def fetch(st: State, s: Int, obj: Int) -> None:
    """Store s is soon to be asked for block `obj`."""
    prefetch(st.slot, st.store[s].map + np.uint64(obj))


@kernel
def fetch_next(st: State, s: Int, below: Int, i: Slot) -> None:
    """The block in slot i leaves store s, and moves to store `below`. Where the policy keeps an order the one behind it is soon
    to follow, so fetch what will be needed then: its entries, and the node of the one behind that."""
    behind = st.node[i].next
    obj = np.int64(st.node[behind].obj)
    prefetch(st.node, st.node[behind].next)
    fetch(st, s, obj)
    fetch(st, below, obj)


@kernel
def insert(st: State, s: Int, obj: Int, ready: Int, pins: Int) -> None:
    """Block `obj`, absent, enters store s, which has room, with 0 or 1 pins; usable from time `ready`."""
    store = st.store[s]
    if store.free != 0:
        i = store.free
        store.free = st.node[i].next
    else:
        i = store.fresh
        store.fresh = i + np.uint32(1)
    node = st.node[i]
    node.obj = obj
    node.pins = pins
    node.ready = ready
    node.prev = i
    node.next = i
    st.slot[store.map + np.uint64(obj)] = i
    store.count += 1
    store.used += 1
    if QUOTAS:
        st.share[share_of(st, s, obj)].held += 1
        if pins == 0:
            own_append(st, s, i)
    if pins == 0:
        store.idle += 1
        on_insert(st, s, i)
    else:
        on_insert_pinned(st, s, i)


@kernel
def remove(st: State, s: Int, i: Slot) -> None:
    """The unpinned block in slot i leaves store s."""
    on_evict(st, s, i)
    if QUOTAS:
        st.share[share_of(st, s, np.int64(st.node[i].obj))].held -= 1
        own_remove(st, s, i)
    store = st.store[s]
    st.slot[store.map + np.uint64(st.node[i].obj)] = 0
    st.node[i].next = store.free
    store.free = i
    store.count -= 1
    store.used -= 1
    store.idle -= 1


@kernel
def pin(st: State, s: Int, i: Slot) -> None:
    if st.node[i].pins == 0:
        on_pin(st, s, i)
        st.store[s].idle -= 1
        if QUOTAS:
            own_remove(st, s, i)
    st.node[i].pins += 1


@kernel
def unpin(st: State, s: Int, i: Slot) -> None:
    st.node[i].pins -= 1
    if st.node[i].pins == 0:
        on_release(st, s, i)
        st.store[s].idle += 1
        if QUOTAS:
            own_append(st, s, i)


@kernel
def reference(st: State, s: Int, i: Slot) -> None:
    """A request uses the resident block in slot i: pin it and tell the policy."""
    pin(st, s, i)
    on_hit(st, s, i)


@kernel
def victim(st: State, s: Int) -> Slot:
    """Slot of the block store s would evict now; 0 if all are pinned or the policy refuses."""
    if st.store[s].idle == 0:
        return np.uint32(0)
    return np.uint32(choose_victim(st, s))
