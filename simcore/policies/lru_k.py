"""LRU-K: evict the object whose K-th last use is furthest back; what is known of objects that left is kept.

O'Neil, O'Neil and Weikum, "The LRU-K Page Replacement Algorithm for Database Disk Buffering", SIGMOD 1993, figure 2.1. Time
counts the references to the store. Uses within `correlated_period` of the one before count as one: they move neither the
history nor, while that period lasts, can the object be evicted; when it is over, the earlier times of the history move up by
its length. An object used fewer than K times goes first; among those, as for any tie, the one used longest ago (the paper's
subsidiary LRU). The history of an absent object counts at its next miss, unless `retained_period` has passed since its last
use.

Deviations: uses not yet known stay unknown when a correlated period ends (the paper's loop would add its length to their
zeros); where all objects are within their correlated period, of which the paper says nothing, the one used longest ago goes.
With `k` = 1 and no correlated period it is LRU.

Pins: a pinned object is out of the order and keeps its history; its use lasts until it is released, from where the correlated
period counts.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

import simcore.heap as heap
from simcore.heap import Real, heap_push, heap_remove, heap_top
from simcore.kernel import Int, Slot, State, about, kernel, list_clear, list_head, list_insert, list_remove, pinned
from simcore.specs.base import Spec

FIELDS = heap.FIELDS
STORE_FIELDS = (*heap.STORE_FIELDS, ("now", np.int64), ("turns", np.float64))
OBJECT_FIELDS = (*((f"use_{n}", np.int64) for n in range(1, 5)), ("last_use", np.int64))  # from the last back; 0 = unknown
NEEDS: frozenset[str] = frozenset()
WORDS, REALS = heap.words, heap.reals

RECENT = 0  # list, by last use, of those whose correlated period may not be over; the others are in the heap


class Params(Spec):
    """Parameters.

    Attributes:
        k: uses looked back, 1 to 4.
        correlated_period: references to the store within which uses of an object count as one.
        retained_period: references to the store after its last use for which an absent object is remembered; 0: for ever.
    """

    k: Annotated[int, Field(ge=1, le=4)] = 2
    correlated_period: Annotated[int, Field(ge=0)] = 0
    retained_period: Annotated[int, Field(ge=0)] = 0


@kernel
def init(st: State, s: Int) -> None:
    list_clear(st, list_head(st, s, RECENT))


@kernel
def on_hit(st: State, s: Int, i: Slot) -> None:
    now = st.store[s].now + 1
    st.store[s].now = now
    o = about(st, s, st.node[i].obj)
    last = st.object[o].last_use
    if now - last > st.store[s].correlated_period:
        _shift(st, o, now, last - st.object[o].use_1)
    st.object[o].last_use = now
    if not pinned(st, i):
        heap_remove(st, s, i)
        list_remove(st, i)
        list_insert(st, i, list_head(st, s, RECENT))


@kernel
def on_miss(st: State, s: Int, obj: Int) -> None:
    now = st.store[s].now + 1
    st.store[s].now = now
    o = about(st, s, obj)
    kept = st.store[s].retained_period
    if kept > 0 and now - st.object[o].last_use > kept:
        st.object[o].use_1 = 0
        st.object[o].use_2 = 0
        st.object[o].use_3 = 0
    _shift(st, o, now, 0)
    st.object[o].last_use = now


@kernel
def choose_victim(st: State, s: Int) -> Slot:
    head = list_head(st, s, RECENT)
    over = st.store[s].now - st.store[s].correlated_period
    while True:
        i = st.node[head].next
        if i == head:
            break
        o = about(st, s, st.node[i].obj)
        if st.object[o].last_use >= over:
            break
        list_remove(st, i)
        st.store[s].turns += 1.0  # objects leave this list in order of last use, so these turns are in that order
        heap_push(st, s, i, _kth_use(st, s, o), st.store[s].turns)
    top = heap_top(st, s)
    return top if top != np.uint32(0) else st.node[head].next


@kernel
def on_insert(st: State, s: Int, i: Slot) -> None:
    list_insert(st, i, list_head(st, s, RECENT))


@kernel
def on_evict(st: State, s: Int, i: Slot) -> None:
    heap_remove(st, s, i)
    list_remove(st, i)


@kernel
def on_pin(st: State, s: Int, i: Slot) -> None:
    heap_remove(st, s, i)
    list_remove(st, i)


@kernel
def on_release(st: State, s: Int, i: Slot) -> None:
    st.object[about(st, s, st.node[i].obj)].last_use = st.store[s].now
    list_insert(st, i, list_head(st, s, RECENT))


@kernel
def _shift(st: State, o: Int, now: Int, length: Int) -> None:
    """A new use at `now`; the earlier ones move back, and up by the length of the correlated period that is over."""
    older, old, last = st.object[o].use_3, st.object[o].use_2, st.object[o].use_1
    st.object[o].use_4 = older + length if older > 0 else 0
    st.object[o].use_3 = old + length if old > 0 else 0
    st.object[o].use_2 = last + length if last > 0 else 0
    st.object[o].use_1 = now


@kernel
def _kth_use(st: State, s: Int, o: Int) -> Real:
    k = st.store[s].k
    if k == 2:
        return np.float64(st.object[o].use_2)
    if k == 1:
        return np.float64(st.object[o].use_1)
    return np.float64(st.object[o].use_3) if k == 3 else np.float64(st.object[o].use_4)
