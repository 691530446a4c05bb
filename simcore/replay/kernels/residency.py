"""Which object is in which slot, and how many bytes or objects are held. The policy's verbs are told of every change."""

from __future__ import annotations

import numpy as np

from simcore.kernel import LIST_HEADS, Bool, Int, Slot, incoming_size, inlined, kernel, size_of
from simcore.replay.state import PUT, State

from .columns import carry, send_carried
from .verbs import CHECKED, COUNTED, FEEDS, admission_init, choose_victim, init, on_evict, on_insert, prefer


@kernel
def open_stores(st: State) -> None:
    """Begin a chunk; the first one finds the stores new."""
    st.run[0].out = 0
    if st.run[0].opened:
        return
    st.run[0].opened = 1
    for s in range(len(st.store)):
        st.store[s].fresh = st.store[s].heads + np.uint32(LIST_HEADS)
        init(st, s)
        admission_init(st, s)


@inlined
def insert(st: State, s: Int, obj: Int) -> Bool:
    """Object `obj`, absent and no larger than the store, enters, or is refused by the policy or the filter."""
    i = _room(st, s, obj)
    if i == np.uint32(0):
        return False
    size = incoming_size(st)
    st.node[i].obj = obj
    carry(st, i)
    st.slot[obj] = i
    st.store[s].used += size
    st.store[s].count += 1
    if COUNTED:
        st.run[0].insertions += 1
        st.run[0].inserted_bytes += size
    on_insert(st, s, i)
    return True


@inlined
def _room(st: State, s: Int, obj: Int) -> Slot:
    """A free slot with enough room around it; 0 if the newcomer is refused."""
    size = incoming_size(st)
    cap = st.store[s].cap
    slot = np.uint32(0)
    while st.store[s].used + size > cap:
        victim = np.uint32(choose_victim(st, s))
        if victim == np.uint32(0) or not prefer(st, s, obj, victim):
            if slot != np.uint32(0):
                _give_back(st, s, slot)
            return np.uint32(0)
        if slot != np.uint32(0):
            _give_back(st, s, slot)
        if CHECKED and not _resident(st, victim):
            st.run[0].fault = 1
            return np.uint32(0)
        evict(st, s, victim)
        slot = victim
    if slot != np.uint32(0):
        return slot  # its policy took it out of its list
    slot = st.store[s].free
    if slot != np.uint32(0):
        st.store[s].free = st.node[slot].next
    else:
        slot = st.store[s].fresh
        st.store[s].fresh = slot + np.uint32(1)
    st.node[slot].prev = slot
    st.node[slot].next = slot
    return slot


@kernel
def _resident(st: State, i: Slot) -> Bool:
    """Whether slot i holds an object, asked of policies from outside the package."""
    return i < len(st.node) and st.node[i].obj < len(st.slot) and st.slot[st.node[i].obj] == i


@inlined
def evict(st: State, s: Int, i: Slot) -> None:
    """The object in slot i is evicted; its slot is the caller's."""
    if COUNTED:
        st.run[0].evictions += 1
        st.run[0].evicted_bytes += size_of(st, i)
    if FEEDS:
        send_carried(st, i, PUT)
    _leave(st, s, i)


@kernel
def take(st: State, s: Int, i: Slot) -> None:
    """The object in slot i moves to a tier above."""
    st.run[0].removed += 1
    st.run[0].removed_bytes += size_of(st, i)
    _leave(st, s, i)
    _give_back(st, s, i)


@inlined
def _leave(st: State, s: Int, i: Slot) -> None:
    on_evict(st, s, i)
    st.slot[st.node[i].obj] = np.uint32(0)
    st.store[s].used -= size_of(st, i)
    st.store[s].count -= 1


@inlined
def _give_back(st: State, s: Int, i: Slot) -> None:
    st.node[i].next = st.store[s].free
    st.store[s].free = i
