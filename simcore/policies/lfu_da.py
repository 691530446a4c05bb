"""LFU with dynamic ageing: evict the object of least K = F + L, and let L, the age of the cache, be the K of that object.

Arlitt, Cherkasova, Dilley, Friedrich and Jin, "Evaluating Content Management Techniques for Web Proxy Caches", ACM SIGMETRICS
Performance Evaluation Review 27(4), 2000: F counts the uses of an object since it entered; K is set when it has entered and
at each hit, with the L of that moment. So an object that was popular long ago is overtaken by those in use now, and there is
nothing to tune. The paper's factor for the cost of an object is 1, as there; sizes play no part (for those: gdsf).

Ties go to the object used longest ago (the paper names none). The newcomer always enters. libCacheSim 0.3.5 cannot be
compared: its LFUDA does not end on long traces, and evicts an object used three times before one used twice, which the paper
does not.

Pins: a pinned object is out of the order and keeps counting its uses; released, it is the most recently used of its rank.
That may be below L, which does not fall when such an object is evicted.
"""

from __future__ import annotations

import numpy as np

import simcore.heap as heap
from simcore.heap import heap_add, heap_least, heap_remove
from simcore.kernel import Int, Slot, State, kernel

FIELDS = (*heap.GROWING_FIELDS, ("uses", np.float64))
STORE_FIELDS = (*heap.STORE_FIELDS, ("turns", np.float64), ("age", np.float64), ("chosen_turn", np.float64))
NEEDS: frozenset[str] = frozenset()
INSERTION_ORDER_WITHOUT_HITS = True
WORDS, REALS = heap.words, heap.reals


@kernel
def init(st: State, s: Int) -> None:
    pass


@kernel
def on_hit(st: State, s: Int, i: Slot) -> None:
    st.node[i].uses += 1.0
    st.node[i].rank = st.store[s].age + st.node[i].uses
    _take_turn(st, s, i)


@kernel
def on_miss(st: State, s: Int, obj: Int) -> None:
    pass


@kernel
def choose_victim(st: State, s: Int) -> Slot:
    i = heap_least(st, s)
    st.store[s].chosen_turn = st.node[i].turn
    return i


@kernel
def on_insert(st: State, s: Int, i: Slot) -> None:
    st.node[i].uses = 1.0
    st.node[i].rank = st.store[s].age + 1.0
    _take_turn(st, s, i)
    heap_add(st, s, i)


@kernel
def on_evict(st: State, s: Int, i: Slot) -> None:
    if st.node[i].turn == st.store[s].chosen_turn:  # evicted, not moved to another store
        st.store[s].age = max(st.store[s].age, st.node[i].rank)
    heap_remove(st, s, i)


@kernel
def on_pin(st: State, s: Int, i: Slot) -> None:
    heap_remove(st, s, i)


@kernel
def on_release(st: State, s: Int, i: Slot) -> None:
    _take_turn(st, s, i)
    heap_add(st, s, i)


@kernel
def _take_turn(st: State, s: Int, i: Slot) -> None:
    turn = st.store[s].turns + 1.0
    st.store[s].turns = turn
    st.node[i].turn = turn
