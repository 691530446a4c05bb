"""Length-aware LFU: evict the least frequently used block; among equals the one that lies earliest in its request.

Qin et al., "Mooncake: A KVCache-centric Disaggregated Architecture for LLM Serving", arXiv 2407.00079, section 4.2 and table
1: LengthAwareCache is "similar to LFU but prioritizing cache blocks occurring later in requests". The paper says no more.
Read here as: the place in the request decides where frequencies are equal, and to be prioritised is to be kept. In table 1 it
hits as often as LFU or up to a point less, and LFU no more often than LRU; on Mooncake's published trace of conversations the
order is the same with either reading, the distances are larger. `keep_late: false` is the other reading, and better for
prefix chains, where a block is worth nothing once an earlier one is gone. Blocks of equal frequency and place leave least
recently used first. Frequency counts from entry; a block that leaves is forgotten.

Where objects have no place in a request this is LFU. A place of 2^20 or more counts as 2^20 - 1.

Pins: a pinned block is in no place of the order; released, it is the most recently used of its equals.
"""

from __future__ import annotations

import numpy as np

import simcore.heap as heap
from simcore.heap import heap_key, heap_push, heap_remove, heap_top, heap_update
from simcore.kernel import Int, Slot, State, kernel
from simcore.specs.base import Spec

FIELDS = (*heap.FIELDS, ("offset", np.uint32), ("frequency", np.int64), ("used", np.int64))
STORE_FIELDS = (*heap.STORE_FIELDS, ("uses", np.int64))
NEEDS = frozenset({"depth"})
WORDS, REALS = heap.words, heap.reals

PLACES = 1 << 20


class Params(Spec):
    """Parameters.

    Attributes:
        keep_late: of blocks used equally often, keep those late in their request; otherwise keep the early ones.
    """

    keep_late: bool = True


@kernel
def init(st: State, s: Int) -> None:
    pass


@kernel
def on_hit(st: State, s: Int, i: Slot) -> None:
    # The entry in the heap stays a lower bound of the key and is put right when it comes to the top.
    st.node[i].frequency += 1
    _use(st, s, i)


@kernel
def on_miss(st: State, s: Int, obj: Int) -> None:
    pass


@kernel
def choose_victim(st: State, s: Int) -> Slot:
    while True:
        i = heap_top(st, s)
        if heap_key(st, s, i) == _key(st, s, i):
            return i
        heap_update(st, s, i, _key(st, s, i), st.node[i].used)


@kernel
def on_insert(st: State, s: Int, i: Slot) -> None:
    st.node[i].frequency = 1
    st.node[i].place = 0
    _use(st, s, i)
    heap_push(st, s, i, _key(st, s, i), st.node[i].used)


@kernel
def on_evict(st: State, s: Int, i: Slot) -> None:
    heap_remove(st, s, i)


@kernel
def on_pin(st: State, s: Int, i: Slot) -> None:
    heap_remove(st, s, i)


@kernel
def on_release(st: State, s: Int, i: Slot) -> None:
    st.node[i].used = st.store[s].uses
    st.store[s].uses += 1
    heap_push(st, s, i, _key(st, s, i), st.node[i].used)


@kernel
def _use(st: State, s: Int, i: Slot) -> None:
    place = np.uint32(min(st.event[0].depth, PLACES - 1))
    st.node[i].offset = place if st.store[s].keep_late else np.uint32(PLACES - 1) - place
    st.node[i].used = st.store[s].uses
    st.store[s].uses += 1


@kernel
def _key(st: State, s: Int, i: Slot) -> Int:
    """Frequency, then place: one whole number, exact as f8. It grows with every hit."""
    return st.node[i].frequency * PLACES + np.int64(st.node[i].offset)
