"""CLOCK: objects in a ring in order of entry, one reference bit each, and a hand that gives referenced objects a second chance.

Corbató, "A Paging Experiment with the Multics System" (MIT Project MAC, 1968): the hand clears the bit of each referenced
object it meets and goes on; the first object without the bit is evicted, and the newcomer takes the place right behind the
hand, the last that it will reach. A hit sets the bit; an object enters without it. The order of evictions is that of
FIFO-Reinsertion (second chance), where referenced objects go from the old end of a queue to its new end; here nothing moves.

Deviation: the hand gives a pinned object its second chance as any other; then it parks it outside the ring, and when its last
pin goes the object returns right behind the hand, as if the hand had just passed it. So a pin costs two steps at most. Without
pins it is the algorithm of the paper.
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
    list_remove,
    list_unlink,
    pinned,
    slot_after,
    steady,
)

FIELDS = (("visited", np.uint8), ("parked", np.uint8))
STORE_FIELDS = (("hand", np.uint32),)
NEEDS: frozenset[str] = frozenset()
INSERTION_ORDER_WITHOUT_HITS = True


@kernel
def init(st: State, s: Int) -> None:
    ring = list_head(st, s, 0)
    list_clear(st, ring)
    st.store[s].hand = st.store[s].first if steady(st) else ring


@kernel
def on_hit(st: State, s: Int, i: Slot) -> None:
    st.node[i].visited = 1


@kernel
def on_miss(st: State, s: Int, obj: Int) -> None:
    pass


@kernel
def choose_victim(st: State, s: Int) -> Slot:
    if steady(st):
        return _next_unvisited(st, s)
    i = st.store[s].hand
    ring = list_head(st, s, 0)
    while True:
        after = st.node[i].next
        if st.node[i].visited:
            st.node[i].visited = 0
        elif i != ring:
            if not pinned(st, i):
                st.store[s].hand = i
                return i
            list_remove(st, i)
            st.node[i].parked = 1
        i = after


@kernel
def _next_unvisited(st: State, s: Int) -> Slot:
    """The walk without links: slots are in the order of the ring."""
    first, end = st.store[s].first, st.store[s].spare
    i = st.store[s].hand
    while st.node[i].visited:
        st.node[i].visited = 0
        i = np.uint32(i + np.uint32(1))
        if i == end:
            i = first
    st.store[s].hand = i
    return i


@kernel
def on_insert(st: State, s: Int, i: Slot) -> None:
    st.node[i].visited = 0
    if not steady(st):
        list_insert(st, i, st.store[s].hand)


@kernel
def on_evict(st: State, s: Int, i: Slot) -> None:
    if st.store[s].hand == i:
        st.store[s].hand = st.node[i].next
    list_unlink(st, i)


@kernel
def on_replace(st: State, s: Int, i: Slot) -> None:
    """The victim, unvisited, was where the hand stands, and the newcomer enters right behind the hand."""
    st.store[s].hand = slot_after(st, s, i) if steady(st) else st.node[i].next


@kernel
def on_pin(st: State, s: Int, i: Slot) -> None:
    pass


@kernel
def on_release(st: State, s: Int, i: Slot) -> None:
    if st.node[i].parked:
        st.node[i].parked = 0
        list_insert(st, i, st.store[s].hand)
