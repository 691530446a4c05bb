"""Which object is in which slot, and how many bytes or objects are held. The policy's verbs are told of every change."""

from __future__ import annotations

import numpy as np

from simcore.kernel import Bool, Int, Slot, incoming_size, inlined, kernel, size_of
from simcore.replay.state import NO_VICTIM, OVERFULL, PUT, State

from .columns import carry, send_carried
from .verbs import (
    CHECKED,
    COUNTED,
    FEEDS,
    IN_PLACE,
    REFUSES,
    SHEDS,
    SIZED,
    admission_init,
    choose_victim,
    init,
    on_evict,
    on_insert,
    on_replace,
    prefer,
    surplus,
)


@kernel
def open_stores(st: State) -> None:
    """Begin a chunk; the first one finds the stores new."""
    st.run[0].out = 0
    if st.run[0].opened:
        return
    st.run[0].opened = 1
    for s in range(len(st.store)):
        st.store[s].fresh = st.store[s].first
        init(st, s)
        admission_init(st, s)


@inlined
def insert(st: State, s: Int, obj: Int) -> Bool:
    """Object `obj`, absent and no larger than the store, enters, or is refused by the policy or the filter."""
    size = incoming_size(st)
    used = st.store[s].used
    in_place = False
    if used + size <= st.store[s].cap:
        i = _unused(st, s)
        if CHECKED and i == np.uint32(0):
            st.run[0].fault = OVERFULL
            return False
        st.store[s].used = used + size
        st.store[s].count += 1
    else:
        i = _vacated(st, s, obj, size) if SIZED else _replaced(st, s, obj)
        if REFUSES and i == np.uint32(0):
            return False
        in_place = IN_PLACE
    st.node[i].obj = obj
    carry(st, i)
    st.slot[obj] = i
    if COUNTED:
        st.run[0].insertions += 1
        st.run[0].inserted_bytes += size
    if in_place:
        on_replace(st, s, i)
    else:
        on_insert(st, s, i)
    shed(st, s)
    return True


@inlined
def shed(st: State, s: Int) -> None:
    """What the policy does not keep leaves, although there is room."""
    if SHEDS:
        while True:
            i = np.uint32(surplus(st, s))
            if i == np.uint32(0):
                break
            if CHECKED and not _resident(st, s, i):
                st.run[0].fault = NO_VICTIM
                break
            st.store[s].used -= size_of(st, i)
            st.store[s].count -= 1
            _evict(st, s, i, False)
            st.node[i].next = st.store[s].free
            st.store[s].free = i


@inlined
def _replaced(st: State, s: Int, obj: Int) -> Slot:
    """Evict one object of a full store of objects of one size, which stays as full; its slot, or 0 if that is refused."""
    i = _victim(st, s, obj)
    if not REFUSES or i != np.uint32(0):
        _evict(st, s, i, True)
    return i


@inlined
def _vacated(st: State, s: Int, obj: Int, size: Int) -> Slot:
    """Evict until `size` fits, and count it as held; the last slot that became free, or 0 if that is refused. Evictions before
    a refusal stand."""
    vacated = np.uint32(0)
    used = st.store[s].used  # not read again: only this changes it, and a load after the store would hold up every choice
    count = st.store[s].count
    room = st.store[s].cap - size
    while used > room:
        i = _victim(st, s, obj)
        if vacated != np.uint32(0):
            st.node[vacated].next = st.store[s].free
            st.store[s].free = vacated
        if REFUSES and i == np.uint32(0):
            return i
        used -= size_of(st, i)
        count -= 1
        _evict(st, s, i, used <= room)
        st.store[s].used = used
        st.store[s].count = count
        vacated = i
    st.store[s].used = used + size
    st.store[s].count = count + 1
    return vacated


@inlined
def _victim(st: State, s: Int, obj: Int) -> Slot:
    """The slot to evict for object `obj`; 0 if that is refused."""
    chosen = choose_victim(st, s)
    i = np.uint32(chosen)
    if CHECKED and (i != chosen or (i != np.uint32(0) and not _resident(st, s, i))):  # what does not fit a slot changed above
        st.run[0].fault = NO_VICTIM
        return np.uint32(0)
    if REFUSES and (i == np.uint32(0) or not prefer(st, s, obj, i)):
        return np.uint32(0)
    return i


@inlined
def _unused(st: State, s: Int) -> Slot:
    """A slot that holds nothing; 0 if a policy from outside the package made the store believe that it has more."""
    i = st.store[s].free
    if i != np.uint32(0):
        st.store[s].free = st.node[i].next
    else:
        i = st.store[s].fresh
        if CHECKED and i - st.store[s].first >= st.store[s].slots:
            return np.uint32(0)
        st.store[s].fresh = i + np.uint32(1)
    st.node[i].prev = i
    st.node[i].next = i
    return i


@kernel
def _resident(st: State, s: Int, i: Slot) -> Bool:
    """Whether slot i holds an object of store s, asked of policies from outside the package."""
    first = np.int64(st.store[s].first)
    return first <= i < first + np.int64(st.store[s].slots) and st.slot[st.node[i].obj] == i


@inlined
def _evict(st: State, s: Int, i: Slot, last: Bool) -> None:
    """The object in slot i is evicted; the caller counts what is held. The newcomer takes the slot of the last one."""
    if COUNTED:
        st.run[0].evictions += 1
        st.run[0].evicted_bytes += size_of(st, i)
    if FEEDS:
        send_carried(st, i, PUT)
    if not (IN_PLACE and last):
        on_evict(st, s, i)
    st.slot[st.node[i].obj] = np.uint32(0)


@inlined
def take(st: State, s: Int, i: Slot) -> None:
    """The object in slot i moves to a tier above."""
    st.run[0].removed += 1
    st.run[0].removed_bytes += size_of(st, i)
    on_evict(st, s, i)
    st.slot[st.node[i].obj] = np.uint32(0)
    st.store[s].used -= size_of(st, i)
    st.store[s].count -= 1
    st.node[i].next = st.store[s].free
    st.store[s].free = i
