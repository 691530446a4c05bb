"""S3-FIFO: a small FIFO queue for newcomers, a main queue for what is used again, and ghosts of what the small one threw out.

Yang et al., "FIFO queues are all you need for cache eviction", SOSP 2023, algorithm 1. A hit counts, up to 3. A newcomer with
a ghost enters the main queue, any other the small one. When there is no room and the small queue has its share or more, its
oldest object goes to the main queue, with its count cleared, if it was hit `threshold` times, and this goes on until one was
not: that one is evicted and leaves a ghost. Otherwise the main queue gives each object a round for each hit it counted and
evicts the first without. Ghosts are forgotten first in, first out. The main queue is a ring with a hand: a round moves nothing.

Deviations. (1) The ghost of a newcomer is looked up before room is made, not after (line 10 follows line 9), so that the
object that makes room for it cannot push its ghost out. (2) Where line 26 evicts from an overfull main queue beside the victim
of the small one, this waits until the room is needed. (3) Shares are of the capacity, in bytes where objects have sizes,
rounded down; the paper gives the ghosts as many entries as the main queue. (4) The small queue has its share if the main one
has no more than the rest: of objects of one size that is the same, of others it is not while the room for one is still short.
(5) Whatever leaves the small queue leaves a ghost, also an object that moves to another tier. (6) A pinned object that is the
next to go is parked outside its queue and becomes its oldest again when the last pin goes.

(1) to (4) are as in libCacheSim, the authors' own simulator; misses are those that its tests expected when the paper was new.
Its version 0.3.5 differs in two ways for which the paper gives no reason: until the first eviction, newcomers that find the
small queue at its share enter the main queue (`fill_main`; algorithm 1 sends them all to the small one), and an object as
large as the share of the small queue never enters (here it does). With `fill_main` and the admission filter size_threshold one
byte below that share the misses are the same. By algorithm 1 they are within 0.6 points of the miss ratio by count on web12 and
AdaptSize, and up to 14 points more on cloudPhysics with room for half of its objects, a trace that first scans what it then
uses: the main queue takes 90 % of the first scan there, where algorithm 1 lets it all pass.
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
    list_remove,
    list_unlink,
    pinned,
    size_of,
)
from simcore.specs.base import Spec

FIELDS = (("freq", np.uint8), ("main", np.uint8), ("parked", np.uint8))
STORE_FIELDS = (
    *_GHOST_FIELDS,
    ("hand", np.uint32),
    ("known", np.uint8),  # the newcomer had a ghost
    ("filling", np.uint8),  # nothing has been evicted, and that matters
    ("small_used", np.int64),
    ("small_cap", np.int64),
    ("ghost_cap", np.int64),
)
NEEDS: frozenset[str] = frozenset()

SMALL = 0
MAIN = 1
GHOSTS = 2
MOST = np.uint8(3)  # hits that are counted


class Params(Spec):
    """Parameters.

    Attributes:
        small_share: share of the capacity that is the small queue's.
        ghost_share: units of capacity that ghosts are remembered of, as a share of the capacity.
        threshold: hits in the small queue from which an object goes to the main one.
        fill_main: until the first eviction, newcomers enter the main queue once the small one is at its share.
    """

    small_share: float = Field(0.1, gt=0, lt=1)
    ghost_share: float = Field(0.9, ge=0, le=2)
    threshold: int = Field(2, ge=1, le=3)
    fill_main: bool = False


def SPARE_NODES(slots: int, n_objects: int) -> int:
    return min(2 * slots + 1, n_objects)


@kernel
def init(st: State, s: Int) -> None:
    for number in range(3):
        list_clear(st, list_head(st, s, number))
    ghosts_init(st, s)
    st.store[s].hand = list_head(st, s, MAIN)
    st.store[s].known = 0
    st.store[s].filling = st.store[s].fill_main
    st.store[s].small_used = 0
    st.store[s].small_cap = np.int64(st.store[s].small_share * st.store[s].cap)
    st.store[s].ghost_cap = np.int64(st.store[s].ghost_share * st.store[s].cap)


@kernel
def on_hit(st: State, s: Int, i: Slot) -> None:
    freq = st.node[i].freq
    st.node[i].freq = freq + np.uint8(freq < MOST)


@kernel
def on_miss(st: State, s: Int, obj: Int) -> None:
    g = ghost_find(st, s, obj)
    known = g != np.uint32(0)
    if known:
        ghost_drop(st, s, g, list_head(st, s, GHOSTS))
    st.store[s].known = known


@kernel
def choose_victim(st: State, s: Int) -> Slot:
    st.store[s].filling = 0
    small = st.store[s].used - st.store[s].small_used <= st.store[s].cap - st.store[s].small_cap
    while True:
        i = _small_victim(st, s) if small else _main_victim(st, s)
        if i != np.uint32(0):
            return i
        small = not small


@kernel
def _small_victim(st: State, s: Int) -> Slot:
    """The oldest of the small queue that was not hit often enough; those before it go to the main queue. 0 if all did."""
    small = list_head(st, s, SMALL)
    while True:
        i = st.node[small].next
        if i == small:
            return np.uint32(0)
        if pinned(st, i):
            list_remove(st, i)
            st.node[i].parked = 1
        elif st.node[i].freq >= st.store[s].threshold:
            list_unlink(st, i)
            st.store[s].small_used -= size_of(st, i)
            st.node[i].freq = 0
            st.node[i].main = 1
            list_insert(st, i, st.store[s].hand)
        else:
            return i


@kernel
def _main_victim(st: State, s: Int) -> Slot:
    """The first object of the main queue, from the hand on, without a hit left; 0 if it is empty."""
    main = list_head(st, s, MAIN)
    i = st.store[s].hand
    while True:
        after = st.node[i].next
        if i == main:
            if after == main:
                st.store[s].hand = main
                return np.uint32(0)
        elif pinned(st, i):
            list_remove(st, i)
            st.node[i].parked = 1
        elif st.node[i].freq > 0:
            st.node[i].freq -= np.uint8(1)
        else:
            st.store[s].hand = i
            return i
        i = after


@kernel
def on_insert(st: State, s: Int, i: Slot) -> None:
    st.node[i].freq = 0
    if st.store[s].known or (st.store[s].filling and st.store[s].small_used >= st.store[s].small_cap):
        st.node[i].main = 1
        list_insert(st, i, st.store[s].hand)
    else:
        st.node[i].main = 0
        st.store[s].small_used += size_of(st, i)
        list_insert(st, i, list_head(st, s, SMALL))


@kernel
def on_evict(st: State, s: Int, i: Slot) -> None:
    if st.store[s].hand == i:
        st.store[s].hand = st.node[i].next
    list_unlink(st, i)
    if not st.node[i].main:
        size = size_of(st, i)
        st.store[s].small_used -= size
        if size <= st.store[s].ghost_cap:
            ghosts = list_head(st, s, GHOSTS)
            ghosts_trim(st, s, ghosts, st.store[s].ghost_cap - size)
            ghost_add(st, s, i, ghosts)


@kernel
def on_pin(st: State, s: Int, i: Slot) -> None:
    pass


@kernel
def on_release(st: State, s: Int, i: Slot) -> None:
    if st.node[i].parked:
        st.node[i].parked = 0
        list_insert(st, i, st.store[s].hand if st.node[i].main else st.node[list_head(st, s, SMALL)].next)
