"""First in, first out: evict the object that entered first, however often it was used.

Deviation: a pinned object cannot leave when its turn comes. It is parked outside the queue then, and when its last pin goes it
joins a list of overdue objects, in order of release, that is emptied before the queue. So no pinned object is looked at
twice, and a choice costs amortised O(1). Without pins it is textbook FIFO.
"""

from __future__ import annotations

import numpy as np

from simcore.kernel import Int, Slot, State, kernel, list_clear, list_head, list_insert, list_remove, pinned

FIELDS = (("parked", np.uint8),)
NEEDS: frozenset[str] = frozenset()
INSERTION_ORDER_WITHOUT_HITS = True

QUEUE = 0
OVERDUE = 1


@kernel
def init(st: State, s: Int) -> None:
    list_clear(st, list_head(st, s, QUEUE))
    list_clear(st, list_head(st, s, OVERDUE))


@kernel
def on_hit(st: State, s: Int, i: Slot) -> None:
    pass


@kernel
def on_miss(st: State, s: Int, obj: Int) -> None:
    pass


@kernel
def choose_victim(st: State, s: Int) -> Slot:
    overdue = list_head(st, s, OVERDUE)
    queue = list_head(st, s, QUEUE)
    while True:
        i = st.node[overdue].next
        if i == overdue:
            i = st.node[queue].next
        if not pinned(st, i):
            return i
        list_remove(st, i)
        st.node[i].parked = 1


@kernel
def on_insert(st: State, s: Int, i: Slot) -> None:
    st.node[i].parked = 0
    list_insert(st, i, list_head(st, s, QUEUE))


@kernel
def on_evict(st: State, s: Int, i: Slot) -> None:
    list_remove(st, i)


@kernel
def on_pin(st: State, s: Int, i: Slot) -> None:
    pass


@kernel
def on_release(st: State, s: Int, i: Slot) -> None:
    if st.node[i].parked:
        st.node[i].parked = 0
        list_insert(st, i, list_head(st, s, OVERDUE))
