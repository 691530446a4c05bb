"""SIEVE: a FIFO queue, one visited bit an object, and a hand that walks from the oldest to the newest object.

Zhang et al., "SIEVE is Simpler than LRU", NSDI 2024, algorithm 1: the hand clears the bit of each visited object it meets and
evicts the first object it finds unvisited; it stays where it stopped and starts again at the oldest after the newest.

Deviation: the hand may meet a pinned object. It leaves the bit as it is, parks the object outside the queue, and walks on; when
the last pin goes, the object returns to the place right behind the hand, as if the hand had just passed it. (A hand that only
stepped over pinned objects could walk the whole pool for each victim; parked, an object costs one step for each time it is
pinned.) Without pins it is the algorithm of the paper.
"""

from __future__ import annotations

import numpy as np

from simcore.kernel import Int, Slot, State, kernel, list_clear, list_head, list_insert, list_remove, list_unlink, pinned

FIELDS = (("visited", np.uint8), ("parked", np.uint8))
STORE_FIELDS = (("hand", np.uint32),)
NEEDS: frozenset[str] = frozenset()
INSERTION_ORDER_WITHOUT_HITS = True


@kernel
def init(st: State, s: Int) -> None:
    queue = list_head(st, s, 0)
    list_clear(st, queue)
    st.store[s].hand = queue


@kernel
def on_hit(st: State, s: Int, i: Slot) -> None:
    st.node[i].visited = 1


@kernel
def on_miss(st: State, s: Int, obj: Int) -> None:
    pass


@kernel
def choose_victim(st: State, s: Int) -> Slot:
    queue = list_head(st, s, 0)
    i = st.store[s].hand
    while True:
        if i == queue:
            i = st.node[queue].next  # past the newest: on to the oldest
        after = st.node[i].next
        if pinned(st, i):
            list_remove(st, i)
            st.node[i].parked = 1
        elif st.node[i].visited:
            st.node[i].visited = 0
        else:
            st.store[s].hand = i
            return i
        i = after


@kernel
def on_insert(st: State, s: Int, i: Slot) -> None:
    st.node[i].visited = 0
    list_insert(st, i, list_head(st, s, 0))


@kernel
def on_evict(st: State, s: Int, i: Slot) -> None:
    if st.store[s].hand == i:
        st.store[s].hand = st.node[i].next
    list_unlink(st, i)


@kernel
def on_pin(st: State, s: Int, i: Slot) -> None:
    pass


@kernel
def on_release(st: State, s: Int, i: Slot) -> None:
    if st.node[i].parked:
        st.node[i].parked = 0
        list_insert(st, i, st.store[s].hand)
