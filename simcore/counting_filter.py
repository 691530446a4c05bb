"""A counting Bloom filter: how often an object was asked for, by several counters anywhere in one array.

Fan, Cao, Almeida and Broder, "Summary Cache", IEEE/ACM Transactions on Networking 8(3), 2000; Einziger, Friedman and Manes,
"TinyLFU", ACM Transactions on Storage 13(4), 2017, section 3.2, count accesses with one. An object has `HASHES` counters of 32
bits, all of them raised; the least is the estimate. As in libCacheSim there are `PER_OBJECT` counters for each object that the
cache can hold, what a Bloom filter of as many objects needs for one false answer in a thousand.

A filter lies in `st.words` from index `at` (u8): `filter_words` words, zero before `filter_open`.
"""

from __future__ import annotations

import numpy as np

from simcore.kernel import Int, State, kernel
from simcore.sketch import hash_of

HASHES = 10
PER_OBJECT = 14.378  # -ln(0.001) / ln(2)^2

_COUNTERS = 0  # of the header, how many there are
_HEADER = 1


def filter_words(slots: int) -> int:
    """Words that a filter for a cache of `slots` objects takes."""
    return _HEADER + 2 * HASHES + int(PER_OBJECT * slots)


@kernel
def filter_open(st: State, at: Int, slots: Int) -> None:
    """Make the words at `at` an empty filter for `slots` objects."""
    st.words[at + np.uint64(_COUNTERS)] = np.uint32(2 * HASHES) + np.uint32(PER_OBJECT * slots)


@kernel
def filter_add(st: State, at: Int, obj: Int) -> None:
    """Object `obj` is asked for."""
    key = hash_of(obj)
    for number in range(HASHES):
        st.words[_counter(st, at, key, number)] += np.uint32(1)


@kernel
def filter_estimate(st: State, at: Int, obj: Int) -> Int:
    """u4: accesses to `obj`, older ones counting less; never too few but by the halving."""
    key = hash_of(obj)
    least = st.words[_counter(st, at, key, 0)]
    for number in range(1, HASHES):
        least = min(least, st.words[_counter(st, at, key, number)])
    return least


@kernel
def filter_halve(st: State, at: Int) -> None:
    """Every counter loses half of its value, rounded down."""
    first = at + np.uint64(_HEADER)
    for k in range(np.uint64(st.words[at + np.uint64(_COUNTERS)])):
        st.words[first + k] >>= np.uint32(1)


@kernel
def _counter(st: State, at: Int, key: Int, number: Int) -> Int:
    """Index of one of an object's counters: the halves of its hash, the second times `number`, added up in 32 bits. Without the
    overflow an object's counters would stand at equal distances, and objects would share many of them or none."""
    place = (key + np.uint64(number) * (key >> np.uint64(32))) & np.uint64(0xFFFFFFFF)
    return at + np.uint64(_HEADER) + place % np.uint64(st.words[at + np.uint64(_COUNTERS)])
