"""W-TinyLFU: a small LRU window; what leaves it must be more frequent than what the main part would give up for it.

Einziger, Friedman and Manes, "TinyLFU: A Highly Efficient Cache Admission Policy", ACM Transactions on Storage 13(4), 2017,
section 4: the main part is a segmented LRU (a hit moves an object from probation to the protected segment, whose oldest go
back to probation), and the frequencies are those of `simcore.sketch`. Defaults are the paper's: the window has 1 %, and 80 %
of the rest is protected.

A newcomer enters the window. What the window gives up for it joins probation, and if the cache is full duels with probation's
oldest: the less frequent leaves, at a tie the one from the window. With sizes, the paper leaves open who meets whom; this is
Caffeine's order: each object from the window duels once, in order of leaving the window; more room is taken from probation's
oldest, then from the protected, then from the window. A newcomer larger than the window duels itself, and may be refused. The
window has at least one unit, so that without sizes nothing is refused. An object larger than the protected segment stays in
probation. Caffeine now and then admits a loser (against crafted collisions) and tunes the window as it runs; neither is in the
paper's evaluation or here. A pinned object is in no segment and comes back as the newest of its own.

libCacheSim 0.3.5 differs by up to 4.8 points of the miss ratio either way, and the paper is on this side each time;
`simcore.policies.w_tinylfu_libcachesim` says in what. The defaults here miss 4.8 points fewer on OLTP with room for 5,606
objects and 4.6 more on cloudPhysics with room for 12,243.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from simcore.kernel import (
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
    pinned,
    size_of,
)
from simcore.sketch import SAMPLE_FACTOR, sketch_add, sketch_estimate, sketch_open, sketch_words
from simcore.specs.base import Spec

FIELDS = (("segment", np.uint8),)
STORE_FIELDS = (
    ("window_cap", np.int64),
    ("window_used", np.int64),
    ("protected_cap", np.int64),
    ("protected_used", np.int64),
    # Of the objects that the window gave up for this newcomer, the next to duel; or probation's head.
    ("challenger", np.uint32),
    ("newcomer", np.uint32),
    ("newcomer_won", np.uint8),
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
        sample_factor: accesses between two halvings of the counters, for each object the cache can hold.
        doorkeeper: the first access to an object in a sample goes to a Bloom filter, not to the counters.
        conservative: only the smallest counters of an object are raised.
    """

    window_share: float = Field(0.01, gt=0, le=1)
    protected_share: float = Field(0.8, ge=0, le=1)
    sample_factor: int = Field(SAMPLE_FACTOR, ge=1, le=10_000)
    doorkeeper: bool = False
    conservative: bool = False


def WORDS(slots: int, n_objects: int) -> int:
    return sketch_words(slots)


@kernel
def init(st: State, s: Int) -> None:
    store = st.store[s]
    for number in range(3):
        list_clear(st, list_head(st, s, number))
    store.challenger = list_head(st, s, PROBATION)
    store.window_cap = store.cap - np.int64((1.0 - store.window_share) * store.cap)
    store.protected_cap = np.int64(store.protected_share * (store.cap - store.window_cap))
    sketch_open(st, store.words, store.slots, store.sample_factor, store.doorkeeper, store.conservative)


@kernel
def on_hit(st: State, s: Int, i: Slot) -> None:
    sketch_add(st, st.store[s].words, st.node[i].obj)
    segment: Int = np.int64(st.node[i].segment)
    if segment == PROBATION:
        rises = size_of(st, i) <= st.store[s].protected_cap
        segment = PROTECTED if rises else PROBATION
        if pinned(st, i):
            st.node[i].segment = segment
        else:
            _leave(st, s, i)
            _join(st, s, i, segment)
    elif not pinned(st, i):
        list_move(st, i, list_head(st, s, segment))


@kernel
def on_miss(st: State, s: Int, obj: Int) -> None:
    sketch_add(st, st.store[s].words, obj)
    st.store[s].challenger = list_head(st, s, PROBATION)
    st.store[s].newcomer = obj
    st.store[s].newcomer_won = 0


@kernel
def choose_victim(st: State, s: Int) -> Slot:
    store = st.store[s]
    probation = list_head(st, s, PROBATION)
    newest = st.node[probation].prev
    _shrink_window(st, s, store.window_cap - incoming_size(st))
    challenger = store.challenger
    if challenger == probation:
        challenger = st.node[newest].next
    victim = _oldest(st, s)
    if challenger == probation and (incoming_size(st) <= store.window_cap or store.newcomer_won != 0):
        return victim
    if victim == challenger:
        store.challenger = st.node[challenger].next
        return challenger
    duellist = store.newcomer if challenger == probation else st.node[challenger].obj
    wins = sketch_estimate(st, store.words, duellist) > sketch_estimate(st, store.words, st.node[victim].obj)
    if challenger == probation:
        store.newcomer_won = wins
        return victim if wins else np.uint32(0)
    store.challenger = st.node[challenger].next
    return victim if wins else challenger


@kernel
def on_insert(st: State, s: Int, i: Slot) -> None:
    _join(st, s, i, WINDOW)
    _shrink_window(st, s, st.store[s].window_cap)


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
def _oldest(st: State, s: Int) -> Slot:
    """Of probation, else of the protected segment, else of the window."""
    for segment in (PROBATION, PROTECTED, WINDOW):
        head = list_head(st, s, segment)
        if st.node[head].next != head:
            return st.node[head].next
    return np.uint32(0)


@kernel
def _shrink_window(st: State, s: Int, most: Int) -> None:
    """The window's oldest objects go to probation until it holds `most` units or nothing."""
    window = list_head(st, s, WINDOW)
    while st.store[s].window_used > most and st.node[window].next != window:
        i = st.node[window].next
        _leave(st, s, i)
        _join(st, s, i, PROBATION)


@kernel
def _leave(st: State, s: Int, i: Slot) -> None:
    """Out of its segment, whose number it keeps."""
    if st.store[s].challenger == i:
        st.store[s].challenger = st.node[i].next
    list_remove(st, i)
    if st.node[i].segment == WINDOW:
        st.store[s].window_used -= size_of(st, i)
    elif st.node[i].segment == PROTECTED:
        st.store[s].protected_used -= size_of(st, i)


@kernel
def _join(st: State, s: Int, i: Slot, segment: Int) -> None:
    """Into a segment, as its newest. What the protected segment has no room for goes back to probation."""
    st.node[i].segment = segment
    list_insert(st, i, list_head(st, s, segment))
    if segment == WINDOW:
        st.store[s].window_used += size_of(st, i)
    elif segment == PROTECTED:
        st.store[s].protected_used += size_of(st, i)
        while st.store[s].protected_used > st.store[s].protected_cap:
            back = st.node[list_head(st, s, PROTECTED)].next
            st.store[s].protected_used -= size_of(st, back)
            list_move(st, back, list_head(st, s, PROBATION))
            st.node[back].segment = PROBATION
