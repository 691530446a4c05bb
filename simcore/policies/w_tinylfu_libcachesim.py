"""W-TinyLFU as libCacheSim 0.3.5 has it, beside the paper's in `simcore.policies.w_tinylfu`: for comparing the two.

A window of LRU before a main part of two segments, as there (Einziger, Friedman and Manes, ACM TOS 13(4), 2017, section 4), and
a duel by frequency. Differences, each with the paper on the other side:

- The window takes everything until the cache is full, and gives up objects only to make room: while the main part has room for
  its oldest that goes there, then it duels with what the main part would give up; at a tie it leaves.
- What leaves the window goes to the protected segment while probation is at its share and the protected segment has room.
- With sizes, what falls from the protected segment to probation and overflows probation's share leaves the cache.
- Counted are hits in the main part, entries into the window and departures from it, not accesses; the counters are halved after
  `sample_factor` hits in the main part for each object the cache can hold.
- The counters are those of `simcore.counting_filter`, all of an object's raised, although it is named after the paper's minimal
  increment.

Nothing larger than the window enters there (the admission filter size_threshold does that here), below 100 objects every access
misses, and where the fifths of the main part are not whole, a hit in probation evicts and lets an object of the window pass
without a duel. Measured at eight capacities of each trace, their main parts divisible by 5: the medians of seven runs
differ by at most 0.5 points by count on web12, AdaptSize, cloudPhysics and the CacheLib block trace, and are 0.6
points apart on OLTP with room for 186 objects, fewer here. Not measured: the whole ORM trace, and by bytes.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from simcore.counting_filter import filter_add, filter_estimate, filter_halve, filter_open, filter_words
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
    pinned,
    size_of,
)
from simcore.specs.base import Spec

FIELDS = (("segment", np.uint8),)
STORE_FIELDS = (
    ("main_cap", np.int64),
    ("main_used", np.int64),
    ("probation_used", np.int64),
    ("protected_cap", np.int64),
    ("moving", np.uint32),  # won its duel and goes from the window to the main part once the loser has left
    ("spilled", np.uint8),  # objects fell from the protected segment to probation
    ("counted", np.int64),  # hits in the main part since the counters were halved
)
NEEDS: frozenset[str] = frozenset()

# Not literals: of each type that a kernel is called with another copy is compiled.
WINDOW: Int = np.int64(0)
PROBATION: Int = np.int64(1)
PROTECTED: Int = np.int64(2)


class Params(Spec):
    """Parameters.

    Attributes:
        window_share: the window's share of the capacity.
        protected_share: the protected segment's share of the rest.
        sample_factor: hits in the main part between two halvings of the counters, for each object the cache can hold.
    """

    window_share: float = Field(0.01, gt=0, le=1)
    protected_share: float = Field(0.8, ge=0, le=1)
    sample_factor: int = Field(32, ge=1, le=10_000)


def WORDS(slots: int, n_objects: int) -> int:
    return filter_words(slots)


@kernel
def init(st: State, s: Int) -> None:
    store = st.store[s]
    for number in range(3):
        list_clear(st, list_head(st, s, number))
    store.main_cap = np.int64((1.0 - store.window_share) * store.cap)
    store.protected_cap = np.int64(store.protected_share * store.main_cap)
    filter_open(st, store.words, store.slots)


@kernel
def on_hit(st: State, s: Int, i: Slot) -> None:
    store = st.store[s]
    segment: Int = np.int64(st.node[i].segment)
    if segment != WINDOW:
        _count_hit(st, s, st.node[i].obj)
    if segment == PROBATION and size_of(st, i) <= store.protected_cap:
        segment = PROTECTED
    if pinned(st, i):
        st.node[i].segment = segment
    elif segment == st.node[i].segment:
        list_move(st, i, list_head(st, s, segment))
    else:
        _leave(st, s, i)
        _join(st, s, i, segment)


@kernel
def on_miss(st: State, s: Int, obj: Int) -> None:
    pass


@kernel
def choose_victim(st: State, s: Int) -> Slot:
    """The window's oldest objects go to the main part while that has room; then the oldest of the window and the one that the
    main part would give up duel."""
    store = st.store[s]
    window = list_head(st, s, WINDOW)
    _move_winner(st, s)
    while st.node[window].next != window:
        i = st.node[window].next
        if store.main_used + size_of(st, i) <= store.main_cap:
            _move(st, s, i)
            continue
        challenger = st.node[i].obj
        victim = _oldest(st, s)
        if victim != i and filter_estimate(st, store.words, challenger) > filter_estimate(st, store.words, st.node[victim].obj):
            store.moving = i
            return victim
        filter_add(st, store.words, challenger)
        return i
    return _oldest(st, s)


@kernel
def surplus(st: State, s: Int) -> Slot:
    store = st.store[s]
    i = st.node[list_head(st, s, PROBATION)].next
    over = store.probation_used > store.main_cap - store.protected_cap and i != list_head(st, s, PROBATION)
    if store.spilled and over:
        return i
    store.spilled = 0
    return np.uint32(0)


@kernel
def on_insert(st: State, s: Int, i: Slot) -> None:
    filter_add(st, st.store[s].words, st.node[i].obj)
    _move_winner(st, s)
    _join(st, s, i, WINDOW)


@kernel
def on_evict(st: State, s: Int, i: Slot) -> None:
    _leave(st, s, i)


@kernel
def on_pin(st: State, s: Int, i: Slot) -> None:
    _leave(st, s, i)


@kernel
def on_release(st: State, s: Int, i: Slot) -> None:
    _join(st, s, i, np.int64(st.node[i].segment))


@kernel
def _count_hit(st: State, s: Int, obj: Int) -> None:
    store = st.store[s]
    filter_add(st, store.words, obj)
    store.counted += 1
    if store.counted >= np.int64(store.slots) * store.sample_factor:
        store.counted = 0
        filter_halve(st, store.words)


@kernel
def _move_winner(st: State, s: Int) -> None:
    store = st.store[s]
    i = store.moving
    store.moving = np.uint32(0)
    if i != np.uint32(0) and store.main_used + size_of(st, i) <= store.main_cap:
        _move(st, s, i)


@kernel
def _move(st: State, s: Int, i: Slot) -> None:
    """From the window to the main part, which has room."""
    store = st.store[s]
    _leave(st, s, i)
    filter_add(st, store.words, st.node[i].obj)
    size = size_of(st, i)
    full = store.probation_used + size > store.main_cap - store.protected_cap
    rises = full and store.main_used - store.probation_used + size <= store.protected_cap
    _join(st, s, i, PROTECTED if rises else PROBATION)


@kernel
def _oldest(st: State, s: Int) -> Slot:
    """Of probation, else of the protected segment, else of the window."""
    for segment in (PROBATION, PROTECTED, WINDOW):
        head = list_head(st, s, segment)
        if st.node[head].next != head:
            return st.node[head].next
    return np.uint32(0)


@kernel
def _leave(st: State, s: Int, i: Slot) -> None:
    """Out of its segment, whose number it keeps."""
    store = st.store[s]
    if store.moving == i:
        store.moving = np.uint32(0)
    list_remove(st, i)
    if st.node[i].segment != WINDOW:
        store.main_used -= size_of(st, i)
    if st.node[i].segment == PROBATION:
        store.probation_used -= size_of(st, i)


@kernel
def _join(st: State, s: Int, i: Slot, segment: Int) -> None:
    """Into a segment, as its newest. What the protected segment has no room for goes back to probation."""
    store = st.store[s]
    st.node[i].segment = segment
    list_insert(st, i, list_head(st, s, segment))
    if segment != WINDOW:
        store.main_used += size_of(st, i)
    if segment == PROBATION:
        store.probation_used += size_of(st, i)
    while store.main_used - store.probation_used > store.protected_cap:
        back = st.node[list_head(st, s, PROTECTED)].next
        list_move(st, back, list_head(st, s, PROBATION))
        st.node[back].segment = PROBATION
        store.probation_used += size_of(st, back)
        store.spilled = 1
