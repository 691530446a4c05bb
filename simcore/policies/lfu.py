"""Least frequently used: evict the object asked for least often since it entered; of equals the least recently used.

A hit moves an object from the bucket of its frequency to the next, so every verb costs O(1) (Matani, Shah and Mitra, "An O(1)
algorithm for implementing the LFU cache eviction scheme", 2010, arXiv 2110.11602). A bucket is a list in order of use, so the
tie falls on the object that has been in it longest, which is the one used longest ago: the ties of libCacheSim, whose misses
are the same. An object that leaves is forgotten, as there (in-cache LFU; "perfect" LFU would remember all).

Pins: a pinned object counts in its bucket but is not in the list; released, it is the most recently used of its frequency. A
choice looks past buckets that hold pinned objects only.
"""

from __future__ import annotations

import numpy as np

from simcore.kernel import Int, Slot, State, kernel, list_clear, list_insert, list_move, list_remove, pinned

FIELDS = (("bucket", np.uint32),)
STORE_FIELDS = (("free_bucket", np.uint32), ("fresh_bucket", np.uint32))
NEEDS: frozenset[str] = frozenset()
INSERTION_ORDER_WITHOUT_HITS = True

# Bucket k: the list headed by spare node k, and four words. Bucket 0 has frequency 0 and no member; the others follow it.
FREQUENCY = 0
ABOVE = 1  # bucket of the next higher frequency; of a free bucket: the next free one
BELOW = 2
PINNED = 3  # members that are not in the list


def SPARE_NODES(slots: int, n_objects: int) -> int:
    return slots + 2  # a bucket for each object, bucket 0, and one more while an object changes buckets


def WORDS(slots: int, n_objects: int) -> int:
    return 4 * (slots + 2)


@kernel
def _at(st: State, s: Int, bucket: Slot, field: int) -> Int:
    """Index into `st.words` of a field of a bucket."""
    return st.store[s].words + np.uint64(4) * np.uint64(bucket) + np.uint64(field)


@kernel
def _members(st: State, s: Int, bucket: Slot) -> Slot:
    return np.uint32(st.store[s].spare + bucket)


@kernel
def init(st: State, s: Int) -> None:
    st.store[s].fresh_bucket = np.uint32(1)


@kernel
def on_hit(st: State, s: Int, i: Slot) -> None:
    old = st.node[i].bucket
    head = _members(st, s, old)
    at = _at(st, s, old, 0)
    frequency = st.words[at] + np.uint32(1)
    above = st.words[at + np.uint64(ABOVE)]
    fits = above != np.uint32(0) and st.words[_at(st, s, above, FREQUENCY)] == frequency
    held = pinned(st, i)
    alone = st.node[head].next == st.node[head].prev and st.words[at + np.uint64(PINNED)] == np.uint32(0)
    if not fits and alone and not held:
        st.words[at] = frequency
        return
    new = above if fits else _open(st, s, old, frequency)
    st.node[i].bucket = new
    if held:
        st.words[at + np.uint64(PINNED)] -= np.uint32(1)
        st.words[_at(st, s, new, PINNED)] += np.uint32(1)
    else:
        list_move(st, i, _members(st, s, new))
    _close_if_empty(st, s, old)


@kernel
def on_miss(st: State, s: Int, obj: Int) -> None:
    pass


@kernel
def choose_victim(st: State, s: Int) -> Slot:
    bucket = st.words[_at(st, s, np.uint32(0), ABOVE)]
    while True:
        head = _members(st, s, bucket)
        i = st.node[head].next
        if i != head:
            return i
        bucket = st.words[_at(st, s, bucket, ABOVE)]


@kernel
def on_insert(st: State, s: Int, i: Slot) -> None:
    bucket = st.words[_at(st, s, np.uint32(0), ABOVE)]
    if bucket == np.uint32(0) or st.words[_at(st, s, bucket, FREQUENCY)] != np.uint32(1):
        bucket = _open(st, s, np.uint32(0), np.uint32(1))
    st.node[i].bucket = bucket
    list_insert(st, i, _members(st, s, bucket))


@kernel
def on_evict(st: State, s: Int, i: Slot) -> None:
    list_remove(st, i)
    _close_if_empty(st, s, st.node[i].bucket)


@kernel
def on_pin(st: State, s: Int, i: Slot) -> None:
    list_remove(st, i)
    st.words[_at(st, s, st.node[i].bucket, PINNED)] += np.uint32(1)


@kernel
def on_release(st: State, s: Int, i: Slot) -> None:
    bucket = st.node[i].bucket
    st.words[_at(st, s, bucket, PINNED)] -= np.uint32(1)
    list_insert(st, i, _members(st, s, bucket))


@kernel
def _open(st: State, s: Int, below: Slot, frequency: Slot) -> Slot:
    """A new bucket right above `below`."""
    bucket = st.store[s].free_bucket
    if bucket != np.uint32(0):
        st.store[s].free_bucket = st.words[_at(st, s, bucket, ABOVE)]
    else:
        bucket = st.store[s].fresh_bucket
        st.store[s].fresh_bucket = bucket + np.uint32(1)
    above = st.words[_at(st, s, below, ABOVE)]
    st.words[_at(st, s, below, ABOVE)] = bucket
    st.words[_at(st, s, above, BELOW)] = bucket  # of bucket 0: the highest, which nobody reads
    at = _at(st, s, bucket, 0)
    st.words[at] = frequency
    st.words[at + np.uint64(ABOVE)] = above
    st.words[at + np.uint64(BELOW)] = below
    st.words[at + np.uint64(PINNED)] = np.uint32(0)
    list_clear(st, _members(st, s, bucket))
    return bucket


@kernel
def _close_if_empty(st: State, s: Int, bucket: Slot) -> None:
    head = _members(st, s, bucket)
    at = _at(st, s, bucket, 0)
    if st.node[head].next != head or st.words[at + np.uint64(PINNED)] != np.uint32(0):
        return
    above, below = st.words[at + np.uint64(ABOVE)], st.words[at + np.uint64(BELOW)]
    st.words[_at(st, s, below, ABOVE)] = above
    st.words[_at(st, s, above, BELOW)] = below
    st.words[at + np.uint64(ABOVE)] = st.store[s].free_bucket
    st.store[s].free_bucket = bucket
