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

libCacheSim 0.3.5 differs by up to 4.8 points of the miss ratio either way, and the paper is on this side each time. There the
window takes everything until the cache is full, and gives up objects only to make room (`lazy_window`); they fill the
protected segment while that has room (`fill`); what falls back to probation and overflows it leaves the cache (`bounded`);
counted are hits in the main part, entries and departures from the window (`count_moves`), and halved after 32 hits in the main
part an object (`sample_factor: 32`); the counters are a counting Bloom filter of 32 bits that raises all of an object's
(`counting_filter`), although named after the paper's minimal increment. Nothing larger than the window enters (the admission
filter size_threshold), and below 100 objects every access misses. With these settings, and a main part divisible by 5, medians
of seven runs are within 0.5 points on every public trace, by count and by bytes. Where the fifths are not whole, a hit in
probation evicts there and lets an object of the window pass without a duel. The defaults miss 4.8 points fewer on OLTP with
room for 5,606 objects and 4.6 more on cloudPhysics with room for 12,243.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from pydantic import Field, model_validator

from simcore.counting_filter import filter_add, filter_estimate, filter_halve, filter_open, filter_words
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
    pinned,
    size_of,
)
from simcore.sketch import SAMPLE_FACTOR, sketch_add, sketch_estimate, sketch_open, sketch_words
from simcore.specs.base import Spec

FIELDS = (("segment", np.uint8),)
STORE_FIELDS = (
    ("window_cap", np.int64),
    ("window_used", np.int64),
    ("probation_used", np.int64),
    ("protected_cap", np.int64),
    ("protected_used", np.int64),
    (
        "challenger",
        np.uint32,
    ),  # of the objects that the window gave up for this newcomer, the next to duel; or probation's head
    ("newcomer", np.uint32),
    ("newcomer_won", np.uint8),
    ("moving", np.uint32),  # won its duel and goes from the window to the main part once the loser has left
    ("spilled", np.uint8),  # objects fell from the protected segment to probation
    ("counted", np.int64),  # accesses since the counting filter was halved
)
NEEDS: frozenset[str] = frozenset()

WINDOW, PROBATION, PROTECTED = 0, 1, 2


class Params(Spec):
    """Parameters.

    Attributes:
        window_share: the window's share of the capacity.
        protected_share: the protected segment's share of the rest.
        sample_factor: accesses between two halvings of the counters, for each object the cache can hold.
        doorkeeper: the first access to an object in a sample goes to a Bloom filter, not to the counters.
        conservative: only the smallest counters of an object are raised.
        lazy_window: the window gives up nothing before room is needed.
        fill: what leaves the window goes to the protected segment if that has room and probation is at its share.
        bounded: with sizes, what objects that fall from the protected segment push out of probation's share leaves the cache.
        count_moves: hits in the main part, entries into the window and departures from it are counted, not accesses.
        counting_filter: counters are those of `simcore.counting_filter`, halved after the sample, of which with `count_moves`
            only hits in the main part are; otherwise those of `simcore.sketch`.
    """

    window_share: float = Field(0.01, gt=0, le=1)
    protected_share: float = Field(0.8, ge=0, le=1)
    sample_factor: int = Field(SAMPLE_FACTOR, ge=1, le=10_000)
    doorkeeper: bool = False
    conservative: bool = False
    lazy_window: bool = False
    fill: bool = False
    bounded: bool = False
    count_moves: bool = False
    counting_filter: bool = False

    @model_validator(mode="after")
    def _one_kind_of_counters(self) -> Self:
        if self.counting_filter and (self.doorkeeper or self.conservative):
            raise ValueError("doorkeeper and conservative are of the sketch, not of the counting filter")
        return self


def WORDS(slots: int, n_objects: int) -> int:
    return max(sketch_words(slots), filter_words(slots))


@kernel
def init(st: State, s: Int) -> None:
    store = st.store[s]
    for number in range(3):
        list_clear(st, list_head(st, s, number))
    store.challenger = list_head(st, s, PROBATION)
    store.window_cap = store.cap - np.int64((1.0 - store.window_share) * store.cap)
    store.protected_cap = np.int64(store.protected_share * (store.cap - store.window_cap))
    if store.counting_filter:
        filter_open(st, store.words, store.slots)
    else:
        sketch_open(st, store.words, store.slots, store.sample_factor, store.doorkeeper, store.conservative)


@kernel
def on_hit(st: State, s: Int, i: Slot) -> None:
    if not st.store[s].count_moves or st.node[i].segment != WINDOW:
        _count(st, s, st.node[i].obj, True)
    segment = st.node[i].segment
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
    if not st.store[s].count_moves:
        _count(st, s, obj, True)
    st.store[s].challenger = list_head(st, s, PROBATION)
    st.store[s].newcomer = obj
    st.store[s].newcomer_won = 0


@kernel
def choose_victim(st: State, s: Int) -> Slot:
    store = st.store[s]
    if store.lazy_window:
        return _victim_of_lazy_window(st, s)
    probation = list_head(st, s, PROBATION)
    newest = st.node[probation].prev
    _shrink_window(st, s, store.window_cap - incoming_size(st))
    challenger = store.challenger
    if challenger == probation:
        challenger = st.node[newest].next
    victim = _oldest(st, s)
    if challenger != probation:
        store.challenger = st.node[challenger].next
        if victim == challenger:
            return challenger
        return victim if _wins(st, s, st.node[challenger].obj, victim) else challenger
    if incoming_size(st) > store.window_cap and store.newcomer_won == 0:
        if not _wins(st, s, store.newcomer, victim):
            return np.uint32(0)
        store.newcomer_won = 1
    return victim


@kernel
def surplus(st: State, s: Int) -> Slot:
    store = st.store[s]
    i = st.node[list_head(st, s, PROBATION)].next
    over = store.probation_used > store.cap - store.window_cap - store.protected_cap and i != list_head(st, s, PROBATION)
    if store.bounded and store.spilled and over:
        return i
    store.spilled = 0
    return np.uint32(0)


@kernel
def on_insert(st: State, s: Int, i: Slot) -> None:
    if st.store[s].count_moves:
        _count(st, s, st.node[i].obj, False)
    if st.store[s].lazy_window:
        _move_winner(st, s)
        _join(st, s, i, WINDOW)
    else:
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
    _join(st, s, i, st.node[i].segment)


@kernel
def _count(st: State, s: Int, obj: Int, of_sample: Bool) -> None:
    store = st.store[s]
    if not store.counting_filter:
        sketch_add(st, store.words, obj)
        return
    filter_add(st, store.words, obj)
    if of_sample:
        store.counted += 1
        if store.counted >= np.int64(store.slots) * store.sample_factor:
            store.counted = 0
            filter_halve(st, store.words)


@kernel
def _wins(st: State, s: Int, challenger: Int, victim: Slot) -> Bool:
    """Whether an object is more frequent than the one in a slot."""
    at = st.store[s].words
    if st.store[s].counting_filter:
        return filter_estimate(st, at, challenger) > filter_estimate(st, at, st.node[victim].obj)
    return sketch_estimate(st, at, challenger) > sketch_estimate(st, at, st.node[victim].obj)


@kernel
def _victim_of_lazy_window(st: State, s: Int) -> Slot:
    """The window's oldest objects go to the main part while that has room; then the oldest of the window and the one that the
    main part would give up duel."""
    window = list_head(st, s, WINDOW)
    _move_winner(st, s)
    while st.node[window].next != window:
        i = st.node[window].next
        if _fits_main(st, s, i):
            _move(st, s, i)
            continue
        victim = _oldest(st, s)
        if victim == i or not _wins(st, s, st.node[i].obj, victim):
            if st.store[s].count_moves:
                _count(st, s, st.node[i].obj, False)
            return i
        st.store[s].moving = i
        return victim
    return _oldest(st, s)


@kernel
def _move_winner(st: State, s: Int) -> None:
    i = st.store[s].moving
    st.store[s].moving = np.uint32(0)
    if i != np.uint32(0) and _fits_main(st, s, i):
        _move(st, s, i)


@kernel
def _fits_main(st: State, s: Int, i: Slot) -> Bool:
    store = st.store[s]
    return store.probation_used + store.protected_used + size_of(st, i) <= store.cap - store.window_cap


@kernel
def _move(st: State, s: Int, i: Slot) -> None:
    """From the window to the main part."""
    store = st.store[s]
    _leave(st, s, i)
    if store.count_moves:
        _count(st, s, st.node[i].obj, False)
    rises = False
    if store.fill and _fits_main(st, s, i):
        size = size_of(st, i)
        full = store.probation_used + size > store.cap - store.window_cap - store.protected_cap
        rises = full and store.protected_used + size <= store.protected_cap
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
def _shrink_window(st: State, s: Int, most: Int) -> None:
    """The window's oldest objects go to probation until it holds `most` units or nothing."""
    window = list_head(st, s, WINDOW)
    while st.store[s].window_used > most and st.node[window].next != window:
        _move(st, s, st.node[window].next)


@kernel
def _leave(st: State, s: Int, i: Slot) -> None:
    """Out of its segment, whose number it keeps."""
    if st.store[s].challenger == i:
        st.store[s].challenger = st.node[i].next
    if st.store[s].moving == i:
        st.store[s].moving = np.uint32(0)
    list_remove(st, i)
    if st.node[i].segment == WINDOW:
        st.store[s].window_used -= size_of(st, i)
    elif st.node[i].segment == PROTECTED:
        st.store[s].protected_used -= size_of(st, i)
    else:
        st.store[s].probation_used -= size_of(st, i)


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
            st.store[s].probation_used += size_of(st, back)
            st.store[s].spilled = 1
    else:
        st.store[s].probation_used += size_of(st, i)
