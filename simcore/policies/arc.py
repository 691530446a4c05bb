"""ARC, adaptive replacement cache: two LRU lists, of objects used once and used again, whose balance follows their ghosts.

Megiddo and Modha, "ARC: A Self-Tuning, Low Overhead Replacement Cache", FAST 2003, algorithm ARC(c) and its REPLACE: T1 and T2
hold the objects, B1 and B2 remember those that left them. A miss that finds its object in B1 raises the target size p of T1,
one that finds it in B2 lowers it, by the ratio of the two ghost lists but at least by 1. p is a real number.

Deviations. The paper has pages of one size. With sizes all lengths are in bytes, and a step of p is multiplied by the size of
the object, so that it means the same share of the cache as with pages; each victim makes case IV forget at most one ghost, so
that the lists together may pass 2c; ghosts never pass 64c. An object that moves to another tier was not evicted and leaves no
ghost. A pinned object is in neither list, still counts in |T1| or |T2|, and returns as the newest of its list. A miss takes
its ghost away even when an admission filter then keeps the object out.

libCacheSim 0.3.5 counts the same misses with objects of one size, and with sizes under `scaled_step: false`: there p moves by
bytes, not by objects, and hardly adapts, which is not the paper's sense of a step. Scaled steps miss from 0.9 points of the
miss ratio fewer to 0.4 more on the AdaptSize trace, and up to 2.9 more on cloudPhysics, where adapting does not pay. (With a
bound of 16c on the ghosts there were 15 misses of 66,987 more where the capacity is a fifteenth of the largest object; 64c is
as good as none there.)
"""

from __future__ import annotations

import numpy as np

from simcore.ghosts import OBJECT_FIELDS as OBJECT_FIELDS
from simcore.ghosts import STORE_FIELDS as _GHOST_FIELDS
from simcore.ghosts import ghost_add, ghost_drop, ghost_find, ghost_oldest, ghost_units, ghosts_init
from simcore.kernel import (
    Bool,
    Int,
    Slot,
    State,
    incoming_size,
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

FIELDS = (("again", np.uint8),)  # in T2; of a ghost: in B2
STORE_FIELDS = (
    *_GHOST_FIELDS,
    ("target", np.float64),  # p
    ("once_units", np.int64),  # |T1|
    ("again_units", np.int64),  # |T2|
    ("returns", np.uint8),  # the newcomer was a ghost: 1 of B1, 2 of B2
    ("chosen", np.uint32),  # the victim that leaves a ghost
)
NEEDS: frozenset[str] = frozenset()

T1, T2, B1, B2 = 0, 1, 2, 3
MOST_GHOSTS = 64  # capacities


class Params(Spec):
    """`scaled_step`: with object sizes, p moves by sizes of objects rather than by single bytes."""

    scaled_step: bool = True


def SPARE_NODES(slots: int, n_objects: int) -> int:
    """`slots` objects fill the capacity."""
    return min(MOST_GHOSTS * (slots + 1), n_objects)


@kernel
def init(st: State, s: Int) -> None:
    ghosts_init(st, s)
    for number in range(4):
        list_clear(st, list_head(st, s, number))


@kernel
def on_hit(st: State, s: Int, i: Slot) -> None:
    if not st.node[i].again:
        st.node[i].again = 1
        st.store[s].once_units -= size_of(st, i)
        st.store[s].again_units += size_of(st, i)
    if not pinned(st, i):
        list_move(st, i, list_head(st, s, T2))


@kernel
def on_miss(st: State, s: Int, obj: Int) -> None:
    st.store[s].returns = 0
    st.store[s].chosen = 0
    g = ghost_find(st, s, obj)
    if g == np.uint32(0):
        return
    again = st.node[g].again
    own, other = list_head(st, s, B2 if again else B1), list_head(st, s, B1 if again else B2)
    step = max(ghost_units(st, other) / ghost_units(st, own), 1.0)
    if st.store[s].scaled_step:
        step *= incoming_size(st)
    ghost_drop(st, s, g, own)
    if again:
        st.store[s].target = max(st.store[s].target - step, 0.0)
        st.store[s].returns = 2
    else:
        st.store[s].target = min(st.store[s].target + step, np.float64(st.store[s].cap))
        st.store[s].returns = 1


@kernel
def _forget_oldest(st: State, s: Int, head: Slot) -> Bool:
    """The oldest ghost of a list goes, if there is one."""
    g = ghost_oldest(st, head)
    if g == np.uint32(0):
        return False
    ghost_drop(st, s, g, head)
    return True


@kernel
def choose_victim(st: State, s: Int) -> Slot:
    oldest = st.node[list_head(st, s, T1)].next
    if st.store[s].returns == 0:
        list_1 = st.store[s].once_units + ghost_units(st, list_head(st, s, B1))
        if list_1 + incoming_size(st) > st.store[s].cap:  # case IV A
            if not _forget_oldest(st, s, list_head(st, s, B1)) and oldest != list_head(st, s, T1):
                st.store[s].chosen = 0
                return oldest
        elif list_1 + st.store[s].again_units + ghost_units(st, list_head(st, s, B2)) >= 2 * st.store[s].cap:  # case IV B
            _forget_oldest(st, s, list_head(st, s, B2))
    victim = _replace(st, s, oldest)
    st.store[s].chosen = victim
    return victim


@kernel
def _replace(st: State, s: Int, oldest: Slot) -> Slot:
    """REPLACE: the oldest of T1 or of T2."""
    oldest_again = st.node[list_head(st, s, T2)].next
    if oldest_again == list_head(st, s, T2):
        return oldest
    if oldest == list_head(st, s, T1):
        return oldest_again
    units = st.store[s].once_units
    if units > st.store[s].target or (units == st.store[s].target and st.store[s].returns == 2):
        return oldest
    return oldest_again


@kernel
def on_insert(st: State, s: Int, i: Slot) -> None:
    if st.store[s].returns:
        st.node[i].again = 1
        st.store[s].again_units += size_of(st, i)
        list_insert(st, i, list_head(st, s, T2))
    else:
        st.node[i].again = 0
        st.store[s].once_units += size_of(st, i)
        list_insert(st, i, list_head(st, s, T1))


@kernel
def on_evict(st: State, s: Int, i: Slot) -> None:
    list_unlink(st, i)
    again = st.node[i].again
    if again:
        st.store[s].again_units -= size_of(st, i)
    else:
        st.store[s].once_units -= size_of(st, i)
    if st.store[s].chosen == i:
        st.store[s].chosen = 0
        _make_room_for_ghost(st, s, size_of(st, i))
        g = ghost_add(st, s, i, list_head(st, s, B2 if again else B1))
        st.node[g].again = again


@kernel
def _make_room_for_ghost(st: State, s: Int, size: Int) -> None:
    """Of objects of one size there are never more than c ghosts; of several sizes, case IV alone may leave many."""
    once, again = list_head(st, s, B1), list_head(st, s, B2)
    while ghost_units(st, once) + ghost_units(st, again) + size > MOST_GHOSTS * st.store[s].cap:
        if not _forget_oldest(st, s, once):
            _forget_oldest(st, s, again)


@kernel
def on_pin(st: State, s: Int, i: Slot) -> None:
    list_remove(st, i)


@kernel
def on_release(st: State, s: Int, i: Slot) -> None:
    list_insert(st, i, list_head(st, s, T2 if st.node[i].again else T1))
