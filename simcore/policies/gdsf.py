"""GreedyDual-Size-Frequency: evict the object of least H = L + F * C / S; L, the cache's age, becomes its H.

Cherkasova, "Improving WWW Proxies Performance with Greedy-Dual-Size-Frequency Caching Policy", HP Labs HPL-98-69R1, 1998: F
counts the uses of an object since it entered, S is its size and C, the cost of fetching it, is 1 (GDSF-Hits); H is set when
an object asks to enter, before room is made, and at each hit, with the L of that moment. With `packets` the cost is 2 + S /
536, the TCP packets that a fetch takes (GDSF-Packets), for more byte hits. Without sizes all objects cost the same and H = L
+ F.

The newcomer competes: if its H is less than that of every object present it stays out, and L becomes its H, so that it does
better next time. So it is in libCacheSim, which has the same misses. With `compete` off it always enters, as a store that
cannot refuse requires, with the L that making room has left. Ties go to the object used longest ago; S counts megabytes,
since H rounded otherwise would now and then break a near tie otherwise than libCacheSim does. With sizes, objects evicted
before the newcomer turns out to be the least stay evicted.

Pins: a pinned object is out of the order and keeps counting its uses; released, it is the most recently used of its rank.
That may be below L, which does not fall when such an object is evicted.
"""

from __future__ import annotations

import numpy as np

import simcore.heap as heap
from simcore.heap import Real, heap_add, heap_least, heap_remove
from simcore.kernel import Int, Slot, State, incoming_size, kernel, size_of
from simcore.specs.base import Spec

FIELDS = (*heap.GROWING_FIELDS, ("uses", np.float64))
STORE_FIELDS = (
    *heap.STORE_FIELDS,
    ("turns", np.float64),
    ("age", np.float64),
    ("chosen_turn", np.float64),
    ("asking", np.float64),
)
NEEDS: frozenset[str] = frozenset()
MAY_REFUSE = True
INSERTION_ORDER_WITHOUT_HITS = True
WORDS, REALS = heap.words, heap.reals

REJECT = np.uint32(0)
MEGA = 1e6


class Params(Spec):
    """Parameters.

    Attributes:
        packets: fetching an object costs 2 + its bytes / 536, and not 1.
        compete: a newcomer that ranks below every object present stays out.
    """

    packets: bool = False
    compete: bool = True


@kernel
def init(st: State, s: Int) -> None:
    pass


@kernel
def on_hit(st: State, s: Int, i: Slot) -> None:
    st.node[i].uses += 1.0
    st.node[i].rank = st.store[s].age + _worth(st, s, st.node[i].uses, size_of(st, i))
    _take_turn(st, s, i)


@kernel
def on_miss(st: State, s: Int, obj: Int) -> None:
    st.store[s].asking = st.store[s].age + _worth(st, s, 1.0, incoming_size(st))


@kernel
def choose_victim(st: State, s: Int) -> Slot:
    i = heap_least(st, s)
    if st.store[s].compete and st.store[s].asking < st.node[i].rank:
        st.store[s].age = st.store[s].asking
        return REJECT
    st.store[s].chosen_turn = st.node[i].turn
    return i


@kernel
def on_insert(st: State, s: Int, i: Slot) -> None:
    st.node[i].uses = 1.0
    if not st.store[s].compete:
        st.store[s].asking = st.store[s].age + _worth(st, s, 1.0, size_of(st, i))
    st.node[i].rank = st.store[s].asking
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


@kernel
def _worth(st: State, s: Int, uses: Real, size: Int) -> Real:
    if st.store[s].packets:
        return uses * MEGA * (2.0 + np.float64(size) / 536.0) / np.float64(size)
    return uses * MEGA / np.float64(size)
