"""How often an object was asked for lately, in four bits a counter: the frequency sketch of TinyLFU.

Einziger, Friedman and Manes, "TinyLFU: A Highly Efficient Cache Admission Policy", ACM Transactions on Storage 13(4), 2017,
section 3: a count-min sketch of small counters; after a sample of accesses every counter is halved and so is the count of
accesses (the reset); with a doorkeeper the first access of a period only enters a Bloom filter that a reset empties, and an
object found there counts as one more.

As in Caffeine's FrequencySketch, there are four rows, sixteen counters of four bits for each object the cache can hold, and
the four counters of an object lie in one block of 64 bytes. The doorkeeper has 32 bits an object; three of one word are an
object's. `conservative`: only the smallest counters of an object are raised (the paper's "minimal increment"); otherwise all
four are, as in Caffeine. Every access counts towards the sample, as in the paper; Caffeine leaves out those that raise no
counter.

A sketch lies in `st.words` from index `at` (u8): `sketch_words` words, zero before `sketch_open`.
"""

from __future__ import annotations

import numpy as np

from simcore.kernel import Bool, Int, State, kernel

ROWS = 4
MOST = np.uint32(15)  # of a counter
SAMPLE_FACTOR = 10  # accesses between two resets for each object the cache can hold, as the paper and Caffeine have it

_BLOCK = 16  # words: four for each row, eight counters in each
_HEADER = 8
_COUNTED, _SAMPLE, _BLOCKS, _DOORS, _CONSERVATIVE = range(5)  # words of the header; _DOORS is 0 without a doorkeeper


def sketch_words(slots: int) -> int:
    """Words that a sketch for a cache of `slots` objects takes."""
    return _HEADER + _BLOCK * _power_of_two(slots // 8 + 1) + _power_of_two(slots)


def _power_of_two(n: int) -> int:
    return 1 << (n - 1).bit_length()


@kernel
def sketch_open(st: State, at: Int, slots: Int, factor: Int, doorkeeper: Bool, conservative: Bool) -> None:
    """Make the words at `at` an empty sketch for `slots` objects, reset after each `factor` accesses for each of them."""
    blocks = np.uint32(1)
    while blocks < np.uint32(slots) // np.uint32(8) + np.uint32(1):
        blocks *= np.uint32(2)
    doors = np.uint32(doorkeeper)
    while doors != np.uint32(0) and doors < np.uint32(slots):
        doors *= np.uint32(2)
    sample = np.uint64(slots) * np.uint64(factor)
    st.words[at + np.uint64(_COUNTED)] = 0
    st.words[at + np.uint64(_SAMPLE)] = sample if sample < np.uint64(0xFFFFFFFF) else np.uint64(0xFFFFFFFF)
    st.words[at + np.uint64(_BLOCKS)] = blocks
    st.words[at + np.uint64(_DOORS)] = doors
    st.words[at + np.uint64(_CONSERVATIVE)] = conservative


@kernel
def sketch_add(st: State, at: Int, obj: Int) -> None:
    """Object `obj` is asked for."""
    hashed = hash_of(obj)
    first = False
    if st.words[at + np.uint64(_DOORS)]:
        first = _knock(st, at, hashed)
    if not first:
        _raise(st, at, hashed)
    counted = st.words[at + np.uint64(_COUNTED)] + np.uint32(1)
    st.words[at + np.uint64(_COUNTED)] = counted
    if counted >= st.words[at + np.uint64(_SAMPLE)]:
        _reset(st, at)


@kernel
def sketch_estimate(st: State, at: Int, obj: Int) -> Int:
    """u4: accesses to `obj` in the current sample, older ones counting less; never too few but by the halving, at most 16."""
    hashed = hash_of(obj)
    block = _block(st, at, hashed)
    least = MOST
    for row in range(ROWS):
        counter = (st.words[_word(block, hashed, row)] >> _shift(hashed, row)) & MOST
        least = counter if counter < least else least
    if st.words[at + np.uint64(_DOORS)]:
        bits = _door_bits(hashed)
        least += np.uint32((st.words[_door(st, at, hashed)] & bits) == bits)
    return least


@kernel
def _raise(st: State, at: Int, hashed: Int) -> None:
    block = _block(st, at, hashed)
    ceiling = MOST - np.uint32(1)  # counters up to here are raised
    if st.words[at + np.uint64(_CONSERVATIVE)]:
        for row in range(ROWS):
            counter = (st.words[_word(block, hashed, row)] >> _shift(hashed, row)) & MOST
            ceiling = counter if counter < ceiling else ceiling
    for row in range(ROWS):
        k = _word(block, hashed, row)
        shift = _shift(hashed, row)
        word = st.words[k]
        st.words[k] = word + (np.uint32(((word >> shift) & MOST) <= ceiling) << shift)


@kernel
def _reset(st: State, at: Int) -> None:
    blocks = np.uint64(st.words[at + np.uint64(_BLOCKS)]) * np.uint64(_BLOCK)
    first = at + np.uint64(_HEADER)
    for k in range(blocks):
        st.words[first + k] = (st.words[first + k] >> np.uint32(1)) & np.uint32(0x77777777)
    for k in range(np.uint64(st.words[at + np.uint64(_DOORS)])):
        st.words[first + blocks + k] = 0
    st.words[at + np.uint64(_COUNTED)] >>= np.uint32(1)


@kernel
def _knock(st: State, at: Int, hashed: Int) -> Bool:
    """Whether the doorkeeper does not know the object; from now on it does."""
    k = _door(st, at, hashed)
    bits = _door_bits(hashed)
    word = st.words[k]
    st.words[k] = word | bits
    return (word & bits) != bits


@kernel
def hash_of(obj: Int) -> Int:
    """64 bits: the finaliser of MurmurHash3 after an odd step, so that sets and sketches see different numbers."""
    x = np.uint64(obj) * np.uint64(0xD6E8FEB86659FD93) + np.uint64(0xA0761D6478BD642F)
    x = (x ^ (x >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    x = (x ^ (x >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return x ^ (x >> np.uint64(33))


@kernel
def _block(st: State, at: Int, hashed: Int) -> Int:
    """Index of the first word of the object's block."""
    block = (hashed >> np.uint64(32)) & np.uint64(st.words[at + np.uint64(_BLOCKS)] - np.uint32(1))
    return at + np.uint64(_HEADER) + block * np.uint64(_BLOCK)


@kernel
def _word(block: Int, hashed: Int, row: Int) -> Int:
    """Index of the word that holds the counter of a row."""
    return block + np.uint64(4 * row) + ((hashed >> np.uint64(5 * row + 3)) & np.uint64(3))


@kernel
def _shift(hashed: Int, row: Int) -> Int:
    """Place of the counter in its word."""
    return np.uint32((hashed >> np.uint64(5 * row)) & np.uint64(7)) << np.uint32(2)


@kernel
def _door(st: State, at: Int, hashed: Int) -> Int:
    """Index of the doorkeeper's word."""
    blocks = np.uint64(st.words[at + np.uint64(_BLOCKS)]) * np.uint64(_BLOCK)
    door = (hashed >> np.uint64(32)) & np.uint64(st.words[at + np.uint64(_DOORS)] - np.uint32(1))
    return at + np.uint64(_HEADER) + blocks + door


@kernel
def _door_bits(hashed: Int) -> Int:
    one = np.uint32(1)
    a = np.uint32((hashed >> np.uint64(5)) & np.uint64(31))
    b = np.uint32((hashed >> np.uint64(15)) & np.uint64(31))
    c = np.uint32((hashed >> np.uint64(25)) & np.uint64(31))
    return (one << a) | (one << b) | (one << c)
