"""LRU stack distances in bytes: for each access the bytes of its object and of all used since the last access to it.

As `distances_order`, with sums of bytes in place of bits: runs of FAN slots, groups of FAN runs, sectors of FAN groups.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from simcore.kernel import Int, kernel

from .distances_bits import FAN, subtract_behind

NEVER = 0xFFFFFFFF
SECTOR = FAN * FAN * FAN  # slots
ORDER = np.dtype([("pos", np.uint64), ("slots", np.uint64), ("live", np.int64)])  # live: bytes


class State(NamedTuple):
    """ids u4 (m,), start i8 (n+1,) or empty (single accesses), tail_first u1 (1,), size i8 (n_objects,), distance i8 (m,);
    order (1,) ORDER, last u4 (n_objects,), owner u4 and near i8 (slots,), run i8 (runs,), far i8 (groups,), top i8 (sectors,).
    """

    ids: Any
    start: Any
    tail_first: Any
    size: Any
    distance: Any
    order: Any
    last: Any
    owner: Any
    near: Any
    run: Any
    far: Any
    top: Any


@kernel
def loop(st: State) -> int:
    """Writes distance[k]; of chains the largest of the request so far, as of its arrival; 0: a first access, or behind one."""
    if len(st.start) == 0:
        for k in range(np.uint64(len(st.ids))):
            st.distance[k] = _since(st, st.ids[k])
            _touch(st, st.ids[k])
        return 0
    base = st.start[0]
    for r in range(len(st.start) - 1):
        first = st.start[r] - base
        end = st.start[r + 1] - base
        largest = 1
        for k in range(first, end):
            d = _since(st, st.ids[k])
            largest = 0 if d == 0 or largest == 0 else max(largest, d)
            st.distance[k] = largest
        for k in range(first, end):
            _touch(st, st.ids[first + end - 1 - k if st.tail_first[0] else k])
    return 0


@kernel
def _before(st: State, p: Int) -> Int:
    return st.top[p >> np.uint64(15)] + st.far[p >> np.uint64(10)] + st.run[p >> np.uint64(5)] + st.near[p]


@kernel
def _since(st: State, obj: Int) -> Int:
    p = st.last[obj]
    return 0 if p == np.uint32(NEVER) else st.order[0].live - _before(st, np.uint64(p))


@kernel
def _touch(st: State, obj: Int) -> None:
    if st.order[0].pos == st.order[0].slots:
        _compact(st)
    last = st.last[obj]
    if last != np.uint32(NEVER):
        _take_out(st, np.uint64(last), st.size[obj])
    _append(st, obj)


@kernel
def _take_out(st: State, p: Int, size: Int) -> None:
    g = p >> np.uint64(10)
    s = p >> np.uint64(15)
    r = p >> np.uint64(5)
    subtract_behind(st.near, r << np.uint64(5), p & np.uint64(31), size)
    subtract_behind(st.run, g << np.uint64(5), r & np.uint64(31), size)
    subtract_behind(st.far, s << np.uint64(5), g & np.uint64(31), size)
    end = st.order[0].pos >> np.uint64(15)
    while s < end:
        s += np.uint64(1)
        st.top[s] -= size
    st.order[0].live -= size


@kernel
def _append(st: State, obj: Int) -> None:
    p = st.order[0].pos
    live = st.order[0].live
    s = p >> np.uint64(15)
    g = p >> np.uint64(10)
    r = p >> np.uint64(5)
    if p & np.uint64(31) == np.uint64(0):
        if r & np.uint64(31) == np.uint64(0):
            if g & np.uint64(31) == np.uint64(0):
                st.top[s] = live
            st.far[g] = live - st.top[s]
        st.run[r] = live - st.top[s] - st.far[g]
    st.near[p] = live - st.top[s] - st.far[g] - st.run[r]
    st.owner[p] = obj
    st.last[obj] = p
    st.order[0].pos = p + np.uint64(1)
    st.order[0].live = live + st.size[obj]


@kernel
def _compact(st: State) -> None:
    end = st.order[0].pos
    st.order[0].pos = 0
    st.order[0].live = 0
    for p in range(end):
        obj = st.owner[p]
        if st.last[obj] == np.uint32(p):
            _append(st, obj)
