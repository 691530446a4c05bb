"""LIRS: keep the objects whose last two uses lie close together (LIR); all others (HIR) pass through a short queue.

Jiang and Zhang, "LIRS: An Efficient Low Inter-reference Recency Set Replacement Policy", SIGMETRICS 2002, section 3.3. The
stack S holds LIR objects and HIR ones, resident or not, by recency down to the oldest LIR object; the queue Q holds the
resident HIR objects and its front is the victim. A HIR object asked for while in S becomes LIR, and if the LIR objects are too
many then, the oldest falls to the end of Q; S is pruned to end with a LIR object. While the LIR objects leave room, new ones
are LIR.

S is kept as two lists with time stamps, the LIR objects and the HIR entries; pruning drops the entries older than the oldest
LIR.

Deviations. The paper's S has no bound; here, as in libCacheSim, it forgets the HIR entry nearest its bottom when it holds more
than `history` capacities. Lengths are in bytes where objects have sizes; an object too large to be LIR stays HIR, and where Q
cannot make room, the oldest LIR object is the victim. A pinned object is in no list, still counts as LIR or HIR, and its
release is its latest use.

libCacheSim 0.3.5 moves a LIR object to Q when a resident HIR object outside S is hit; the paper moves none. With objects of one
size the miss ratios differ by less than 0.0005. With sizes it refuses an object larger than the room for HIR objects; with the
admission filter size_threshold at that size they differ by less than 0.003.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from simcore.ghosts import OBJECT_FIELDS as OBJECT_FIELDS
from simcore.ghosts import STORE_FIELDS as _GHOST_FIELDS
from simcore.ghosts import ghost_add, ghost_drop, ghost_find, ghost_units, ghosts_init
from simcore.kernel import Int, Slot, State, kernel, list_clear, list_head, list_insert, list_remove, pinned, size_of
from simcore.specs.base import Spec

FIELDS = (("cold", np.uint8), ("stamp", np.int64))  # cold: HIR; stamp: time of the latest use
STORE_FIELDS = (
    *_GHOST_FIELDS,
    ("hot_units", np.int64),  # length of the LIR objects
    ("most_hot", np.int64),
    ("most_history", np.int64),
    ("ticks", np.int64),
)
NEEDS: frozenset[str] = frozenset()

HOT, QUEUE, HISTORY = 0, 1, 2  # the LIR objects; Q; the HIR entries of S, as ghosts whether resident or not


class Params(Spec):
    """`cold_share`: share of the capacity for HIR objects, at least 1; `history`: most that S holds, as a multiple of it."""

    cold_share: float = Field(default=0.01, ge=0, le=1)
    history: float = Field(default=2.0, ge=1, le=4)


def SPARE_NODES(slots: int, n_objects: int) -> int:
    """The HIR entries of S, for a moment one more than it may hold."""
    return min(4 * slots + 5, n_objects)


@kernel
def init(st: State, s: Int) -> None:
    ghosts_init(st, s)
    for number in range(3):
        list_clear(st, list_head(st, s, number))
    cap = st.store[s].cap
    st.store[s].most_hot = cap - max(1, np.int64(st.store[s].cold_share * cap))
    st.store[s].most_history = np.int64(st.store[s].history * cap)


@kernel
def on_hit(st: State, s: Int, i: Slot) -> None:
    free = not pinned(st, i)
    oldest = st.node[list_head(st, s, HOT)].next
    if free:
        list_remove(st, i)
    if st.node[i].cold:
        _use(st, s, i, 0)
        return
    _stamp(st, s, i)
    if free:
        list_insert(st, i, list_head(st, s, HOT))
        if oldest == i:
            _prune(st, s)


@kernel
def _use(st: State, s: Int, i: Slot, room: Int) -> None:
    """The object in slot i, HIR or new and in no list, is used; it is LIR from now on if it was in S or fits into `room`."""
    size = size_of(st, i)
    hot = size <= room
    g = ghost_find(st, s, st.node[i].obj)
    if g != np.uint32(0):
        ghost_drop(st, s, g, list_head(st, s, HISTORY))
        hot = size <= st.store[s].most_hot
    _stamp(st, s, i)
    st.node[i].cold = not hot
    if not pinned(st, i):
        list_insert(st, i, list_head(st, s, HOT if hot else QUEUE))
    if hot:
        st.store[s].hot_units += size
        _shrink(st, s)
    else:
        _remember(st, s, i)
        _prune(st, s)


@kernel
def _stamp(st: State, s: Int, i: Slot) -> None:
    st.store[s].ticks += 1
    st.node[i].stamp = st.store[s].ticks


@kernel
def _remember(st: State, s: Int, i: Slot) -> None:
    """The HIR object in slot i is on top of S."""
    g = ghost_add(st, s, i, list_head(st, s, HISTORY))
    st.node[g].stamp = st.node[i].stamp


@kernel
def _shrink(st: State, s: Int) -> None:
    """The oldest LIR objects fall to the end of Q until the others fit."""
    hot = list_head(st, s, HOT)
    while st.store[s].hot_units > st.store[s].most_hot:
        i = st.node[hot].next
        if i == hot:
            break
        list_remove(st, i)
        st.node[i].cold = 1
        st.store[s].hot_units -= size_of(st, i)
        list_insert(st, i, list_head(st, s, QUEUE))
    _prune(st, s)


@kernel
def _prune(st: State, s: Int) -> None:
    """S ends with a LIR object, without any it is empty, and it is no longer than it may be."""
    hot, history = list_head(st, s, HOT), list_head(st, s, HISTORY)
    oldest = st.node[hot].next
    bottom = st.node[oldest].stamp
    if oldest == hot:  # unless there are LIR objects, all of them pinned
        bottom = st.store[s].ticks + 1 if st.store[s].hot_units == 0 else 0
    g = st.node[history].next
    while g != history and (
        st.node[g].stamp < bottom or st.store[s].hot_units + ghost_units(st, history) > st.store[s].most_history
    ):
        ghost_drop(st, s, g, history)
        g = st.node[history].next


@kernel
def on_miss(st: State, s: Int, obj: Int) -> None:
    pass


@kernel
def choose_victim(st: State, s: Int) -> Slot:
    queue = list_head(st, s, QUEUE)
    if st.node[queue].next != queue:
        return st.node[queue].next
    return st.node[list_head(st, s, HOT)].next


@kernel
def on_insert(st: State, s: Int, i: Slot) -> None:
    _use(st, s, i, st.store[s].most_hot - st.store[s].hot_units)


@kernel
def on_evict(st: State, s: Int, i: Slot) -> None:
    list_remove(st, i)
    if not st.node[i].cold:
        st.store[s].hot_units -= size_of(st, i)
        _prune(st, s)


@kernel
def on_pin(st: State, s: Int, i: Slot) -> None:
    list_remove(st, i)


@kernel
def on_release(st: State, s: Int, i: Slot) -> None:
    _stamp(st, s, i)
    if not st.node[i].cold:
        list_insert(st, i, list_head(st, s, HOT))
        _shrink(st, s)
        return
    list_insert(st, i, list_head(st, s, QUEUE))
    g = ghost_find(st, s, st.node[i].obj)
    if g != np.uint32(0):
        ghost_drop(st, s, g, list_head(st, s, HISTORY))
    _remember(st, s, i)
    _prune(st, s)
