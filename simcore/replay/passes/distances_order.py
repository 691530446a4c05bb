"""The order of recency as a bitmap: each access takes the next slot of time, and one bit an object marks the slot of its last.

How many objects were used since slot p is a rank in the bitmap. Words of 64 slots are summed in groups of 32, groups in sectors
of 32; each word, group and sector knows how many bits lie before it among its siblings, so that a rank takes four reads. Taking
a bit out costs two runs of fixed length, a few vector instructions, and setting the newest one costs nothing, because nothing
lies behind it. (Counting distinct objects since the last use goes back to Bennett and Kruskal, "LRU stack processing", IBM J.
Res. Dev. 19(4), 1975, who summed blocks of such a bitmap.)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from simcore.kernel import Int, kernel

from .distances_bits import FAN, one_bits, subtract_behind

NEVER = 0xFFFFFFFF  # `last` of an object not accessed yet, and the distance of a first access
WORD = 64  # slots in a word; FAN words in a group, FAN groups in a sector
SECTOR = WORD * FAN * FAN
ORDER = np.dtype([("pos", np.uint64), ("live", np.uint64), ("slots", np.uint64)])

State = Any  # order (1,) ORDER; last u4 (n_objects,); bits u8 and near u2 (words,), far u2 (groups,), top u4 (sectors,)


@kernel
def before(st: State, p: Int) -> Int:
    """Number of objects last used before slot p."""
    w = p >> np.uint64(6)
    below = (np.uint64(1) << (p & np.uint64(63))) - np.uint64(1)
    return (
        np.uint64(st.top[p >> np.uint64(16)])
        + np.uint64(st.far[p >> np.uint64(11)])
        + np.uint64(st.near[w])
        + one_bits(st.bits[w] & below)
    )


@kernel
def since(st: State, obj: Int) -> Int:
    """Number of other objects used since object `obj` was; `NEVER` if it was not used yet."""
    p = st.last[obj]
    if p == np.uint32(NEVER):
        return np.uint64(NEVER)
    return st.order[0].live - before(st, np.uint64(p)) - np.uint64(1)


@kernel
def touch(st: State, obj: Int) -> Int:
    """Object `obj` is used now. Returns what `since` would have."""
    order = st.order[0]
    if order.pos == order.slots:
        _compact(st)
    live = order.live
    pos = order.pos
    last = st.last[obj]
    distance = np.uint64(NEVER)
    if last != np.uint32(NEVER):
        p = np.uint64(last)
        live -= np.uint64(1)
        distance = live - before(st, p)
        _take_out(st, p, pos)
    w = pos >> np.uint64(6)
    if pos & np.uint64(63) == np.uint64(0):
        _open_word(st, w, live)
    st.bits[w] |= np.uint64(1) << (pos & np.uint64(63))
    st.last[obj] = pos
    order.live = live + np.uint64(1)
    order.pos = pos + np.uint64(1)
    return distance


@kernel
def _take_out(st: State, p: Int, pos: Int) -> None:
    w = p >> np.uint64(6)
    g = p >> np.uint64(11)
    s = p >> np.uint64(16)
    st.bits[w] &= ~(np.uint64(1) << (p & np.uint64(63)))
    subtract_behind(st.near, g << np.uint64(5), w & np.uint64(31), np.uint16(1))
    subtract_behind(st.far, s << np.uint64(5), g & np.uint64(31), np.uint16(1))
    end = pos >> np.uint64(16)
    while s < end:
        s += np.uint64(1)
        st.top[s] -= np.uint32(1)


@kernel
def _open_word(st: State, w: Int, live: Int) -> None:
    """The next access is the first of word w; all live bits lie before it."""
    g = w >> np.uint64(5)
    s = g >> np.uint64(5)
    if w & np.uint64(31) == np.uint64(0):
        if g & np.uint64(31) == np.uint64(0):
            st.top[s] = live
        st.far[g] = live - np.uint64(st.top[s])
    st.near[w] = live - np.uint64(st.top[s]) - np.uint64(st.far[g])


@kernel
def _compact(st: State) -> None:
    """Close the gaps that used objects left, so that there are free slots again."""
    for obj in range(np.uint64(len(st.last))):
        p = st.last[obj]
        if p != np.uint32(NEVER):
            st.last[obj] = before(st, np.uint64(p))
    live = st.order[0].live
    st.order[0].pos = live
    for w in range(np.uint64(len(st.bits))):
        st.bits[w] = 0
    word: Int = np.uint64(0)
    done: Int = np.uint64(0)
    while done < live:
        _open_word(st, word, done)
        take = min(live - done, np.uint64(WORD))
        st.bits[word] = np.uint64(0xFFFFFFFFFFFFFFFF) >> (np.uint64(WORD) - take)
        done += take
        word += np.uint64(1)
