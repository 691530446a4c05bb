"""First in, first out: evict the object that entered first, however often it was used.

Deviation: a pinned object cannot leave when its turn comes. It is parked outside the queue then, and when its last pin goes it
joins a list of overdue objects, in order of release, that is emptied before the queue. So no pinned object is looked at
twice, and a choice costs amortised O(1). Without pins it is textbook FIFO.
"""

from __future__ import annotations

import numpy as np

from simcore.kernel import (
    Int,
    Slot,
    State,
    kernel,
    list_clear,
    list_head,
    list_insert,
    list_move,
    list_unlink,
    pinned,
    slot_after,
    steady,
)

FIELDS = (("parked", np.uint8),)
STORE_FIELDS = (("hand", np.uint32),)
NEEDS: frozenset[str] = frozenset()
INSERTION_ORDER_WITHOUT_HITS = True

RING = 0  # the queue is a ring with a hand at its oldest: who takes the place of the oldest is the newest, and nothing moves
OVERDUE = 1


@kernel
def init(st: State, s: Int) -> None:
    list_clear(st, list_head(st, s, RING))
    list_clear(st, list_head(st, s, OVERDUE))
    st.store[s].hand = st.store[s].first if steady(st) else list_head(st, s, RING)


@kernel
def on_hit(st: State, s: Int, i: Slot) -> None:
    pass


@kernel
def on_miss(st: State, s: Int, obj: Int) -> None:
    pass


@kernel
def choose_victim(st: State, s: Int) -> Slot:
    if steady(st):
        return st.store[s].hand
    ring = list_head(st, s, RING)
    overdue = list_head(st, s, OVERDUE)
    while True:
        i = st.node[overdue].next
        if i == overdue:
            i = st.store[s].hand
            if i == ring:
                i = st.node[ring].next
            st.store[s].hand = i
        if not pinned(st, i):
            return i
        _forget(st, s, i)
        list_clear(st, i)
        st.node[i].parked = 1


@kernel
def _forget(st: State, s: Int, i: Slot) -> None:
    """Take an object out of the ring, or out of the overdue list."""
    if st.store[s].hand == i:
        st.store[s].hand = st.node[i].next
    list_unlink(st, i)


@kernel
def on_insert(st: State, s: Int, i: Slot) -> None:
    if not steady(st):
        list_insert(st, i, st.store[s].hand)


@kernel
def on_evict(st: State, s: Int, i: Slot) -> None:
    _forget(st, s, i)


@kernel
def on_replace(st: State, s: Int, i: Slot) -> None:
    if steady(st):
        st.store[s].hand = slot_after(st, s, i)
    elif st.store[s].hand == i:
        st.store[s].hand = st.node[i].next
    else:
        list_move(st, i, st.store[s].hand)


@kernel
def on_pin(st: State, s: Int, i: Slot) -> None:
    pass


@kernel
def on_release(st: State, s: Int, i: Slot) -> None:
    if st.node[i].parked:
        st.node[i].parked = 0
        list_insert(st, i, list_head(st, s, OVERDUE))
