"""2Q: a FIFO queue for new objects, an LRU list for those asked for again after they left the queue.

Johnson and Shasha, "2Q: A Low Overhead High Performance Buffer Management Replacement Algorithm", VLDB 1994, the full version:
A1in holds new objects in order of entry, hits there change nothing; A1out remembers what A1in evicted; an object found in
A1out enters Am. A victim is the oldest of A1in while A1in is longer than Kin, otherwise the oldest of Am. The defaults are the
paper's: Kin a quarter of the capacity, Kout half of it.

Deviations. Lengths are in bytes where objects have sizes, rounded down. An object found in A1out leaves it before room is
made, not after. Where only A1in holds an unpinned object, that is the victim even if A1in is short.

Pins: a pinned object of Am is out of the list and returns as the newest. One of A1in keeps its place; if its turn to be evicted
comes meanwhile, it is set aside and returns as the oldest. Set aside or not it counts in the length of A1in.

libCacheSim 0.3.5 counts the same misses with objects of one size. With sizes it refuses an object larger than Kin, a case that
the paper does not have; here it enters: up to 0.9 points of the miss ratio more on the AdaptSize trace. It also holds Am to the
capacity less Kin and, when an object comes back that does not fit, evicts from a cache that is not full (`bounded`); the paper
takes a free slot where there is one. That is 3 misses of 66,987 with room for 278,854 bytes. With `bounded` and the admission
filter size_threshold at Kin the misses are the same.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from simcore.ghosts import OBJECT_FIELDS as OBJECT_FIELDS
from simcore.ghosts import STORE_FIELDS as _GHOST_FIELDS
from simcore.ghosts import ghost_add, ghost_drop, ghost_find, ghosts_init, ghosts_trim
from simcore.kernel import (
    Int,
    Slot,
    State,
    kernel,
    list_clear,
    list_head,
    list_insert,
    list_move,
    list_remove,
    list_unlink,
    pinned,
    size_of,
)
from simcore.specs.base import Spec

FIELDS = (("main", np.uint8), ("parked", np.uint8))  # in Am; in neither list, its turn came while it was pinned
STORE_FIELDS = (
    *_GHOST_FIELDS,
    ("queued", np.int64),  # |A1in|
    ("most_queued", np.int64),  # Kin
    ("most_remembered", np.int64),  # Kout
    ("returns", np.uint8),  # the newcomer was in A1out
)
NEEDS: frozenset[str] = frozenset()

A1IN, AM, A1OUT = 0, 1, 2


class Params(Spec):
    """Lengths of A1in (`in_share`) and A1out (`out_share`) as shares of the capacity. `bounded`: with sizes, Am keeps no more
    than the rest beside A1in's share, except for one larger object."""

    in_share: float = Field(default=0.25, ge=0, le=1)
    out_share: float = Field(default=0.5, ge=0, le=2)
    bounded: bool = False


def SPARE_NODES(slots: int, n_objects: int) -> int:
    """`slots` objects fill the capacity; A1out is at most twice as long."""
    return min(2 * slots + 1, n_objects)


@kernel
def init(st: State, s: Int) -> None:
    ghosts_init(st, s)
    for number in range(3):
        list_clear(st, list_head(st, s, number))
    st.store[s].most_queued = np.int64(st.store[s].in_share * st.store[s].cap)
    st.store[s].most_remembered = np.int64(st.store[s].out_share * st.store[s].cap)


@kernel
def on_hit(st: State, s: Int, i: Slot) -> None:
    if st.node[i].main and not pinned(st, i):
        list_move(st, i, list_head(st, s, AM))


@kernel
def on_miss(st: State, s: Int, obj: Int) -> None:
    g = ghost_find(st, s, obj)
    st.store[s].returns = g != np.uint32(0)
    if g != np.uint32(0):
        ghost_drop(st, s, g, list_head(st, s, A1OUT))


@kernel
def choose_victim(st: State, s: Int) -> Slot:
    queue = list_head(st, s, A1IN)
    main = list_head(st, s, AM)
    first = st.node[queue].next
    oldest = st.node[main].next
    if st.store[s].queued > st.store[s].most_queued or oldest == main:
        while first != queue and pinned(st, first):
            after = st.node[first].next
            list_remove(st, first)
            st.node[first].parked = 1
            first = after
        if first != queue:
            return first
    return oldest


@kernel
def surplus(st: State, s: Int) -> Slot:
    i = st.node[list_head(st, s, AM)].next
    several = i != st.node[list_head(st, s, AM)].prev
    most = st.store[s].cap - st.store[s].most_queued
    over = st.store[s].used - st.store[s].queued > most
    return i if st.store[s].bounded and several and over else np.uint32(0)


@kernel
def on_insert(st: State, s: Int, i: Slot) -> None:
    st.node[i].main = st.store[s].returns
    st.node[i].parked = 0
    if st.store[s].returns:
        list_insert(st, i, list_head(st, s, AM))
    else:
        st.store[s].queued += size_of(st, i)
        list_insert(st, i, list_head(st, s, A1IN))


@kernel
def on_evict(st: State, s: Int, i: Slot) -> None:
    list_unlink(st, i)
    if not st.node[i].main:
        st.store[s].queued -= size_of(st, i)
        _remember(st, s, i)


@kernel
def _remember(st: State, s: Int, i: Slot) -> None:
    """The object becomes the newest of A1out, unless it is larger than all of it."""
    remembered = list_head(st, s, A1OUT)
    left = st.store[s].most_remembered - size_of(st, i)
    if left < 0:
        return
    ghosts_trim(st, s, remembered, left)
    ghost_add(st, s, i, remembered)


@kernel
def on_pin(st: State, s: Int, i: Slot) -> None:
    if st.node[i].main:
        list_remove(st, i)


@kernel
def on_release(st: State, s: Int, i: Slot) -> None:
    if st.node[i].main:
        list_insert(st, i, list_head(st, s, AM))
    elif st.node[i].parked:
        st.node[i].parked = 0
        list_insert(st, i, st.node[list_head(st, s, A1IN)].next)
