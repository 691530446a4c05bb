"""LeCaR: evict by LRU or by LFU at random, and learn from regret which of the two to trust.

Vietri et al., "Driving Cache Replacement with ML-based LeCaR", HotStorage 2018, algorithms 1 and 2. What a policy evicts goes
to that policy's history, a FIFO. An object that is asked for while in one was evicted by mistake: the other policy's weight
grows by the factor e^(learning_rate * r), and both are scaled to add up to 1, with r = discount^(t/N), t accesses after the
eviction and N objects in the cache. LFU counts uses since the object entered; ties fall on the least recently used.

Where the paper leaves a choice: each history may hold objects of `history_share` of the capacity, by default half, as in the
authors' code and libCacheSim. An object that returns from a history is a new one, as in libCacheSim, or keeps its count, as in
the authors' code (`remember`). A draw is made for each victim. Weights are real numbers in the paper; here and in libCacheSim
none falls below 1e-10, lest it be rounded to 0 and never grow again (`least_weight`; the authors' code stops at 0.01).

libCacheSim 0.3.5, like the authors' code, lets a victim that both policies would have chosen enter no history; the paper's
algorithm 1 has no such case (`blame_both: false`). That changes its miss ratio on the cloudPhysics trace, with room for 15,077
objects, from 63.1 to 66.1 % by luck of the draw to 66.0 %. With sizes it counts N in bytes and t in accesses, so that r is
always about 1, which the paper does not support (`discount: 1`): up to 1.5 points, on the AdaptSize trace with 33 MB. With
these two settings the medians of seven runs differ by at most 0.5 points, at eight capacities, on the seven traces of
tests/simcore/replay/test_libcachesim.py by count and on the four with sizes by bytes (on the one of 99 requests, medians of 105
runs by at most a request); single runs of either spread by up to 1.5 points where the weights turn.

A pinned object is in no order; released, it is the most recently used and keeps its count.
"""

from __future__ import annotations

import math

import numpy as np
from pydantic import Field

import simcore.ghosts as ghosts
import simcore.heap as heap
from simcore.ghosts import ghost_add, ghost_drop, ghost_find, ghost_oldest, ghost_units, ghosts_init
from simcore.heap import heap_add, heap_least, heap_remove
from simcore.kernel import (
    Int,
    Slot,
    State,
    kernel,
    list_clear,
    list_head,
    list_insert,
    list_remove,
    pinned,
    random_below,
    size_of,
)
from simcore.specs.base import Spec

FIELDS = (*heap.GROWING_FIELDS, ("by", np.uint8))  # rank: uses; turn: time of the last one; by: of a ghost, who evicted it
STORE_FIELDS = (
    *heap.STORE_FIELDS,
    *ghosts.STORE_FIELDS,
    ("now", np.int64),  # accesses so far
    ("chosen", np.uint32),  # the victim, until it leaves
    ("chosen_by", np.uint8),
    ("weight", np.float64),  # of LRU; LFU has the rest
    ("known", np.float64),  # uses of the newcomer that are remembered
    ("history_cap", np.int64),
)
OBJECT_FIELDS = ghosts.OBJECT_FIELDS
NEEDS: frozenset[str] = frozenset()
WORDS, REALS = heap.words, heap.reals

RECENCY, LRU, LFU = 0, 1, 2  # lists: the order of use, and the histories
_UNIT = 1 << 31  # draws are whole numbers below


class Params(Spec):
    """Parameters.

    Attributes:
        learning_rate: of the weights.
        discount: what is left of a regret that comes as many accesses after the eviction as the cache has objects.
        lru_weight: the weight of LRU at the start; LFU has the rest.
        least_weight: no weight falls below.
        history_share: capacity of each history, as a share of the cache's.
        blame_both: a victim on which both policies agree enters the history of the one drawn, rather than none.
        remember: an object that returns from a history keeps its count of uses.
    """

    learning_rate: float = Field(0.45, ge=0, le=10)
    discount: float = Field(0.005, gt=0, le=1)
    lru_weight: float = Field(0.5, gt=0, lt=1)
    least_weight: float = Field(1e-10, gt=0, lt=0.5)
    history_share: float = Field(0.5, ge=0, le=1)
    blame_both: bool = True
    remember: bool = False


def SPARE_NODES(slots: int, n_objects: int) -> int:
    return min(2 * slots, n_objects)


@kernel
def init(st: State, s: Int) -> None:
    for number in range(3):
        list_clear(st, list_head(st, s, number))
    ghosts_init(st, s)
    st.store[s].weight = st.store[s].lru_weight
    st.store[s].history_cap = np.int64(st.store[s].history_share * st.store[s].cap)


@kernel
def on_hit(st: State, s: Int, i: Slot) -> None:
    st.store[s].now += 1
    st.store[s].chosen = np.uint32(0)
    st.node[i].rank += 1.0
    st.node[i].turn = np.float64(st.store[s].now)
    if not pinned(st, i):
        list_remove(st, i)
        list_insert(st, i, list_head(st, s, RECENCY))


@kernel
def on_miss(st: State, s: Int, obj: Int) -> None:
    st.store[s].now += 1
    st.store[s].chosen = np.uint32(0)
    st.store[s].known = 0.0
    ghost = ghost_find(st, s, obj)
    if ghost != np.uint32(0):
        by = st.node[ghost].by
        _regret(st, s, by, np.float64(st.store[s].now) - st.node[ghost].turn)
        if st.store[s].remember:
            st.store[s].known = st.node[ghost].rank
        ghost_drop(st, s, ghost, list_head(st, s, by))


@kernel
def choose_victim(st: State, s: Int) -> Slot:
    oldest = st.node[list_head(st, s, RECENCY)].next
    rarest = heap_least(st, s)
    if not st.store[s].blame_both and oldest == rarest:
        st.store[s].chosen = np.uint32(0)
        return oldest
    if np.float64(random_below(st, s, _UNIT)) < st.store[s].weight * _UNIT:
        st.store[s].chosen_by = LRU
        i = oldest
    else:
        st.store[s].chosen_by = LFU
        i = rarest
    st.store[s].chosen = i
    return i


@kernel
def on_insert(st: State, s: Int, i: Slot) -> None:
    st.node[i].rank = st.store[s].known + 1.0
    st.node[i].turn = np.float64(st.store[s].now)
    on_release(st, s, i)


@kernel
def on_evict(st: State, s: Int, i: Slot) -> None:
    on_pin(st, s, i)
    if st.store[s].chosen == i:  # otherwise it moves to another store, and nobody has erred
        st.store[s].chosen = np.uint32(0)
        _enter_history(st, s, i, st.store[s].chosen_by)


@kernel
def on_pin(st: State, s: Int, i: Slot) -> None:
    list_remove(st, i)
    heap_remove(st, s, i)


@kernel
def on_release(st: State, s: Int, i: Slot) -> None:
    list_insert(st, i, list_head(st, s, RECENCY))
    heap_add(st, s, i)


@kernel
def _regret(st: State, s: Int, by: Int, age: float) -> None:
    """An object that policy `by` evicted `age` accesses ago is asked for."""
    store = st.store[s]
    regret = math.exp(math.log(store.discount) * age / max(store.count, 1))
    gain = math.exp(store.learning_rate * regret)
    lru, lfu = store.weight, 1.0 - store.weight
    if by == LRU:
        lfu *= gain
    else:
        lru *= gain
    store.weight = min(max(lru / (lru + lfu), store.least_weight), 1.0 - store.least_weight)


@kernel
def _enter_history(st: State, s: Int, i: Slot, by: Int) -> None:
    history = list_head(st, s, by)
    most = st.store[s].history_cap - size_of(st, i)
    if most < 0:
        return
    while ghost_units(st, history) > most:
        ghost_drop(st, s, ghost_oldest(st, history), history)
    ghost = ghost_add(st, s, i, history)
    st.node[ghost].by = by
    st.node[ghost].rank = st.node[i].rank
    st.node[ghost].turn = np.float64(st.store[s].now)
