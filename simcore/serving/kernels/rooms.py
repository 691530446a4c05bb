"""Contiguous memory for each sequence, as engines had it before paging: a buddy allocator in front of the pool.

Knuth, The Art of Computer Programming 1, 2.5. Of each replica `st.room` holds a binary tree: entry 1 stands for the whole pool,
entries 2i and 2i + 1 for the halves of entry i; an entry is the order (pages = 2^order) of the largest free region inside, or
-1.
"""

from __future__ import annotations

import numpy as np

from simcore.kernel import Bool, Int, kernel
from simcore.serving.state import State


@kernel
def take_room(st: State, r: Int, q: Int) -> Bool:
    """Give request q its region, in the half that has the least to spare, the lower one of equals; False if there is none."""
    size = np.int64(len(st.room) // st.par.replicas)
    base = r * size
    order = st.request[q].order_pages
    if st.room[base + 1] < order:
        return False
    entry = np.int64(1)
    level = st.par.pool_order
    while level > order:
        low = st.room[base + 2 * entry]
        high = st.room[base + 2 * entry + 1]
        entry = 2 * entry + (0 if low >= order and (high < order or low <= high) else 1)
        level -= 1
    st.request[q].room = entry
    set_room(st, base, entry, level, np.int64(-1))
    return True


@kernel
def give_room(st: State, r: Int, q: Int) -> None:
    size = np.int64(len(st.room) // st.par.replicas)
    order = st.request[q].order_pages
    set_room(st, r * size, st.request[q].room, order, order)


@kernel
def set_room(st: State, base: Int, entry: Int, level: Int, free: Int) -> None:
    """Entry `entry`, of order `level`, has now `free`; two free halves become one region."""
    st.room[base + entry] = free
    while entry > 1:
        entry //= 2
        low = st.room[base + 2 * entry]
        high = st.room[base + 2 * entry + 1]
        st.room[base + entry] = level + 1 if low == level and high == level else max(low, high)
        level += 1
