"""SLRU, segmented LRU: LRU lists one above the other; a hit lifts an object one list up, what overflows a list falls one down.

Karedla, Love and Wherry, "Caching Strategies to Improve Disk System Performance", IEEE Computer 27(3), 1994: two segments. A
new object becomes the newest of the probationary segment, a hit makes an object the newest of the protected one, whose oldest,
if it is too long then, becomes the newest of the probationary one. The victim is the oldest of the probationary segment. Any
number of segments works the same way. The protected share is the user's to choose; the default of four fifths is that of
W-TinyLFU's main cache (Einziger et al., ACM TOS 13(4), 2017).

Deviations. Lengths are in bytes where objects have sizes, rounded down; an object larger than the next segment stays in its
own. A pinned object is in no list, still counts in the length of its segment, and returns as the newest of it.

libCacheSim 0.3.5 has four equal segments and lets a new object into the lowest segment with room, so that the first objects of
a trace start out protected. It also bounds the probationary segment: what falls into it at a hit pushes its oldest out of a
cache that is not full (`bounded`; the paper bounds the protected segment alone). And it refuses an object larger than a
segment. `segments: 4, probation: 0.25, fill: true, bounded: true` with the admission filter size_threshold at a quarter counts
the same misses at capacities divisible by 4. Without the bound, which matters only with sizes, they are up to 0.6 points of
the miss ratio fewer on the AdaptSize trace and 1.3 on cloudPhysics. The defaults, in the paper's sense, miss up to 2.1 points
more on web12 and from 3.7 fewer to 6.8 more on cloudPhysics.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from simcore.kernel import (
    Bool,
    Int,
    Slot,
    State,
    incoming_size,
    kernel,
    list_clear,
    list_insert,
    list_move,
    list_remove,
    list_unlink,
    pinned,
    size_of,
)
from simcore.specs.base import Spec

FIELDS = (("segment", np.uint8),)
STORE_FIELDS = (("spilled", np.uint8),)  # objects fell into the lowest segment
NEEDS: frozenset[str] = frozenset()

MOST_SEGMENTS = 16


class Params(Spec):
    """How the capacity is divided.

    Attributes:
        segments: how many lists.
        probation: share of the lowest; the others have equal shares of the rest.
        fill: a new object enters the lowest segment that has room, rather than always the lowest.
        bounded: with sizes, what objects that fall into the lowest segment push out of its share leaves the cache.
    """

    segments: int = Field(default=2, ge=1, le=MOST_SEGMENTS)
    probation: float = Field(default=0.2, gt=0, le=1)
    fill: bool = False
    bounded: bool = False


def SPARE_NODES(slots: int, n_objects: int) -> int:
    """The heads of the lists."""
    return MOST_SEGMENTS


def REALS(slots: int, n_objects: int) -> int:
    """Length of each segment now and at most; whole numbers."""
    return 2 * MOST_SEGMENTS


@kernel
def _head(st: State, s: Int, segment: Int) -> Slot:
    return np.uint32(st.store[s].spare + np.uint32(segment))


@kernel
def _length(st: State, s: Int, segment: Int) -> Int:
    """Index of the length of a segment in `st.reals`; the next entry is what it may be."""
    return st.store[s].reals + np.uint64(segment) * np.uint64(2)


@kernel
def init(st: State, s: Int) -> None:
    segments = st.store[s].segments
    for k in range(segments):
        share = st.store[s].probation if k == 0 else (1.0 - st.store[s].probation) / (segments - 1)
        list_clear(st, _head(st, s, k))
        st.reals[_length(st, s, k)] = 0.0
        st.reals[_length(st, s, k) + np.uint64(1)] = np.floor(share * st.store[s].cap)


@kernel
def on_hit(st: State, s: Int, i: Slot) -> None:
    segment = np.int64(st.node[i].segment)
    if segment + 1 < st.store[s].segments:
        size = size_of(st, i)
        above = _length(st, s, segment + 1)
        if size <= st.reals[above + np.uint64(1)]:
            st.reals[_length(st, s, segment)] -= size
            segment += 1
            st.reals[above] += size
            st.node[i].segment = segment
    if not pinned(st, i):
        list_move(st, i, _head(st, s, segment))
    _settle(st, s, segment)


@kernel
def _settle(st: State, s: Int, segment: Int) -> None:
    """What overflows a segment falls to the next lower one, down to the lowest, which has room for all."""
    for k in range(segment, 0, -1):
        length = _length(st, s, k)
        while st.reals[length] > st.reals[length + np.uint64(1)]:
            i = st.node[_head(st, s, k)].next
            if i == _head(st, s, k):
                break
            size = size_of(st, i)
            st.reals[length] -= size
            st.reals[_length(st, s, k - 1)] += size
            st.node[i].segment = k - 1
            list_move(st, i, _head(st, s, k - 1))
            st.store[s].spilled = k == 1


@kernel
def on_miss(st: State, s: Int, obj: Int) -> None:
    pass


@kernel
def choose_victim(st: State, s: Int) -> Slot:
    k = 0
    while st.node[_head(st, s, k)].next == _head(st, s, k):
        k += 1
    return st.node[_head(st, s, k)].next


@kernel
def surplus(st: State, s: Int) -> Slot:
    length = _length(st, s, 0)
    i = st.node[_head(st, s, 0)].next
    over = st.reals[length] > st.reals[length + np.uint64(1)] and i != _head(st, s, 0)
    if st.store[s].bounded and st.store[s].spilled and over:
        return i
    st.store[s].spilled = 0
    return np.uint32(0)


@kernel
def on_insert(st: State, s: Int, i: Slot) -> None:
    segment = 0
    if st.store[s].fill:
        while segment < st.store[s].segments and not _has_room(st, s, segment):
            segment += 1
        if segment == st.store[s].segments:
            segment = 0
    st.node[i].segment = segment
    st.reals[_length(st, s, segment)] += size_of(st, i)
    list_insert(st, i, _head(st, s, segment))


@kernel
def _has_room(st: State, s: Int, segment: Int) -> Bool:
    length = _length(st, s, segment)
    return st.reals[length] + incoming_size(st) <= st.reals[length + np.uint64(1)]


@kernel
def on_evict(st: State, s: Int, i: Slot) -> None:
    st.reals[_length(st, s, np.int64(st.node[i].segment))] -= size_of(st, i)
    list_unlink(st, i)


@kernel
def on_pin(st: State, s: Int, i: Slot) -> None:
    list_remove(st, i)


@kernel
def on_release(st: State, s: Int, i: Slot) -> None:
    segment = np.int64(st.node[i].segment)
    list_insert(st, i, _head(st, s, segment))
    _settle(st, s, segment)
