"""A priority queue of slots: which one is the least, in O(log n). For eviction policies that rank by a number.

A heap whose nodes have four children (Johnson, 1975), laid out so that four children are neighbours in memory: an entry is a
key and a turn in `st.reals`, its slot in `st.words`, and each slot knows its place, so any slot can leave. Entries compare by
key, then by turn, which a policy hands out so that no two entries are equal; both are f8, exact for whole numbers up to 2^53
and for 2^62 (never). A policy with a heap declares

    FIELDS = (*heap.FIELDS, ...)      STORE_FIELDS = (*heap.STORE_FIELDS, ...)
    WORDS, REALS = heap.words, heap.reals

and may keep more words or reals of its own behind those of the heap.

Ranks that only grow need no work in the heap at a hit: with GROWING_FIELDS instead of FIELDS, a policy writes key and turn to
st.node[i].rank and .turn, `heap_add` enters a slot with them, and `heap_least` puts an entry right when it comes to the top,
where it is no more than a lower bound. Each change needs a turn of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from simcore.kernel import Bool, Int, Slot, State, kernel

FIELDS = (("place", np.uint32),)  # in the heap, from 1; 0 = not in it, also in a slot that was never used
GROWING_FIELDS = (*FIELDS, ("rank", np.float64), ("turn", np.float64))
STORE_FIELDS = (("heap_size", np.uint32), ("heap_hollow", np.uint8))
# heap_size counts places; heap_hollow: the top has left and its place is free

Real = Any  # a 64-bit float


def words(slots: int, n_objects: int) -> int:
    """The slots at places 1 to `slots`; place 0 is not used."""
    return slots + 1


def reals(slots: int, n_objects: int) -> int:
    """Key and turn of the same."""
    return 2 * (slots + 1)


@kernel
def heap_top(st: State, s: Int) -> Slot:
    """The least slot; 0 if the heap is empty."""
    _close(st, s)
    if st.store[s].heap_size == np.uint32(0):
        return np.uint32(0)
    return st.words[st.store[s].words + np.uint64(1)]


@kernel
def heap_holds(st: State, i: Slot) -> Bool:
    return st.node[i].place != np.uint32(0)


@kernel
def heap_key(st: State, s: Int, i: Slot) -> Real:
    """The key of slot i, which is in the heap."""
    return st.reals[st.store[s].reals + np.uint64(2) * np.uint64(st.node[i].place)]


@kernel
def heap_turn(st: State, s: Int, i: Slot) -> Real:
    """The turn of slot i, which is in the heap."""
    return st.reals[st.store[s].reals + np.uint64(2) * np.uint64(st.node[i].place) + np.uint64(1)]


@kernel
def heap_push(st: State, s: Int, i: Slot, key: Real, turn: Real) -> None:
    """Slot i, which is not in the heap, enters it."""
    if st.store[s].heap_hollow:
        st.store[s].heap_hollow = 0
        _settle(st, s, np.uint64(1), i, np.float64(key), np.float64(turn))
        return
    place = st.store[s].heap_size + np.uint32(1)
    st.store[s].heap_size = place
    _rise(st, s, np.uint64(place), i, np.float64(key), np.float64(turn))


@kernel
def heap_remove(st: State, s: Int, i: Slot) -> None:
    """Slot i leaves the heap, if it is in it. The place of the top stays free until it is known whether a newcomer takes it."""
    place = st.node[i].place
    if place == np.uint32(0):
        return
    st.node[i].place = np.uint32(0)
    if place == np.uint32(1):
        st.store[s].heap_hollow = 1
    else:
        _drop(st, s, np.uint64(place))


@kernel
def heap_update(st: State, s: Int, i: Slot, key: Real, turn: Real) -> None:
    """Slot i, which is in the heap, has another key and turn."""
    _close(st, s)
    key, turn = np.float64(key), np.float64(turn)
    place = np.uint64(st.node[i].place)
    a = st.store[s].reals + np.uint64(2) * place
    if (key > st.reals[a]) | ((key == st.reals[a]) & (turn > st.reals[a + np.uint64(1)])):
        _settle(st, s, place, i, key, turn)
    else:
        _rise(st, s, place, i, key, turn)


@kernel
def heap_scale(st: State, s: Int, factor: Real) -> None:
    """Multiply every key by a positive factor. Keys that become equal are ordered by their turns, hence the new order."""
    _close(st, s)
    size = np.uint64(st.store[s].heap_size)
    st.store[s].heap_size = np.uint32(0)
    place = np.uint64(1)
    while place <= size:
        a = st.store[s].reals + np.uint64(2) * place
        heap_push(st, s, st.words[st.store[s].words + place], st.reals[a] * factor, st.reals[a + np.uint64(1)])
        place += np.uint64(1)


@kernel
def heap_add(st: State, s: Int, i: Slot) -> None:
    """Slot i, which is not in the heap, enters it with its rank and turn."""
    heap_push(st, s, i, st.node[i].rank, st.node[i].turn)


@kernel
def heap_least(st: State, s: Int) -> Slot:
    """The slot of least rank, where ranks only grow; 0 if the heap is empty."""
    _close(st, s)
    top = st.store[s].words + np.uint64(1)
    turn = st.store[s].reals + np.uint64(3)
    if st.store[s].heap_size == np.uint32(0):
        return np.uint32(0)
    while True:
        i = st.words[top]
        if st.reals[turn] == st.node[i].turn:
            return i
        _settle(st, s, np.uint64(1), i, st.node[i].rank, st.node[i].turn)


@kernel
def _close(st: State, s: Int) -> None:
    """Fill the free place at the top, if it is free."""
    if st.store[s].heap_hollow:
        st.store[s].heap_hollow = 0
        _drop(st, s, np.uint64(1))


@kernel
def _drop(st: State, s: Int, place: Int) -> None:
    """Fill the free `place` from the end."""
    last = np.uint64(st.store[s].heap_size)
    st.store[s].heap_size = np.uint32(last - np.uint64(1))
    if place == last:
        return
    a = st.store[s].reals + np.uint64(2) * last
    hole = _sink(st, s, place)
    _rise(st, s, hole, st.words[st.store[s].words + last], st.reals[a], st.reals[a + np.uint64(1)])


@kernel
def _put(st: State, s: Int, place: Int, i: Slot, key: Real, turn: Real) -> None:
    a = st.store[s].reals + np.uint64(2) * place
    st.reals[a] = key
    st.reals[a + np.uint64(1)] = turn
    st.words[st.store[s].words + place] = i
    st.node[i].place = np.uint32(place)


@kernel
def _move(st: State, s: Int, origin: Int, place: Int) -> None:
    a = st.store[s].reals + np.uint64(2) * origin
    _put(st, s, place, st.words[st.store[s].words + origin], st.reals[a], st.reals[a + np.uint64(1)])


@kernel
def _rise(st: State, s: Int, place: Int, i: Slot, key: Real, turn: Real) -> None:
    """Slot i goes to the free `place`, or to one above it."""
    while place > np.uint64(1):
        parent = (place + np.uint64(2)) >> np.uint64(2)
        a = st.store[s].reals + np.uint64(2) * parent
        if st.reals[a] < key or (st.reals[a] == key and st.reals[a + np.uint64(1)] <= turn):
            break
        _move(st, s, parent, place)
        place = parent
    _put(st, s, place, i, key, turn)


@kernel
def _less(st: State, a: Int, b: Int) -> Int:
    """1 if the entry at index a of `st.reals` is less than that at b, otherwise 0; no branch depends on it."""
    x, y = st.reals[a], st.reals[b]
    return np.uint64((x < y) | ((x == y) & (st.reals[a + np.uint64(1)] < st.reals[b + np.uint64(1)])))


@kernel
def _least_child(st: State, s: Int, place: Int) -> Int:
    """The least of the children of a place that has four."""
    first = np.uint64(4) * place - np.uint64(2)
    a = st.store[s].reals + np.uint64(2) * first
    left = _less(st, a + np.uint64(2), a)
    right = np.uint64(2) + _less(st, a + np.uint64(6), a + np.uint64(4))
    is_right = _less(st, a + np.uint64(2) * right, a + np.uint64(2) * left)
    return first + left + is_right * (right - left)


@kernel
def _least_of_few(st: State, s: Int, first: Int, last: Int) -> Int:
    """The least of the places `first` to `last`."""
    a = st.store[s].reals
    best = first
    place = first + np.uint64(1)
    while place <= last:
        b, c = a + np.uint64(2) * place, a + np.uint64(2) * best
        if st.reals[b] < st.reals[c] or (
            st.reals[b] == st.reals[c] and st.reals[b + np.uint64(1)] < st.reals[c + np.uint64(1)]
        ):
            best = place
        place += np.uint64(1)
    return best


@kernel
def _sink(st: State, s: Int, place: Int) -> Int:
    """Move least children up from the free `place` to a leaf; the place that is free then.

    What takes that place came from the end of the heap and seldom belongs higher, so it is not looked at on the way down.
    """
    last = np.uint64(st.store[s].heap_size)
    while np.uint64(4) * place + np.uint64(1) <= last:
        child = _least_child(st, s, place)
        _move(st, s, child, place)
        place = child
    first = np.uint64(4) * place - np.uint64(2)
    if first <= last:
        child = _least_of_few(st, s, first, last)
        _move(st, s, child, place)
        place = child
    return place


@kernel
def _settle(st: State, s: Int, place: Int, i: Slot, key: Real, turn: Real) -> None:
    """Slot i goes to the free `place`, or to one below it."""
    last = np.uint64(st.store[s].heap_size)
    while True:
        first = np.uint64(4) * place - np.uint64(2)
        if first > last:
            break
        child = _least_child(st, s, place) if first + np.uint64(3) <= last else _least_of_few(st, s, first, last)
        a = st.store[s].reals + np.uint64(2) * child
        if st.reals[a] > key or (st.reals[a] == key and st.reals[a + np.uint64(1)] > turn):
            break
        _move(st, s, child, place)
        place = child
    _put(st, s, place, i, key, turn)
