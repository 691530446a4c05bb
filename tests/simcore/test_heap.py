"""The heap against a sorted table: random operations, with many equal keys."""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

from simcore import heap
from simcore.heap import (
    heap_add,
    heap_holds,
    heap_key,
    heap_least,
    heap_push,
    heap_remove,
    heap_scale,
    heap_top,
    heap_turn,
    heap_update,
)
from simcore.kernel import OPTIONS, by_reference

PUSH, REMOVE, POP, UPDATE, SCALE, GROW = range(6)
SLOTS = 40


class Books(NamedTuple):
    node: Any
    store: Any
    words: Any
    reals: Any


@numba.njit(**OPTIONS)
def drive(books: Books, codes: Any, slots: Any, keys: Any, tops: Any) -> None:
    st = by_reference(books)
    for n in range(len(codes)):
        code, i = codes[n], np.uint32(slots[n])
        if code == PUSH:
            heap_push(st, 0, i, keys[n], np.float64(n))
        elif code == REMOVE:
            heap_remove(st, 0, i)
        elif code == POP:
            heap_remove(st, 0, heap_top(st, 0))
        elif code == UPDATE:
            heap_update(st, 0, i, keys[n], np.float64(n))
        else:
            heap_scale(st, 0, keys[n])
        if n % 3 == 0:
            tops[n] = heap_top(st, 0)


@numba.njit(**OPTIONS)
def drive_growing(books: Books, codes: Any, slots: Any, keys: Any, tops: Any) -> None:
    st = by_reference(books)
    for n in range(len(codes)):
        code, i = codes[n], np.uint32(slots[n])
        if code in (PUSH, GROW):
            st.node[i].rank = keys[n]
            st.node[i].turn = np.float64(n)
            if code == PUSH:
                heap_add(st, 0, i)
        elif code == REMOVE:
            heap_remove(st, 0, i)
        else:
            heap_remove(st, 0, heap_least(st, 0))
        if n % 3 == 0:
            tops[n] = heap_least(st, 0)


@numba.njit(**OPTIONS)
def look(books: Books, i: int, out: Any) -> None:
    st = by_reference(books)
    slot = np.uint32(i)
    out[0] = 1.0 if heap_holds(st, slot) else 0.0
    if out[0] > 0.0:
        out[1] = heap_key(st, 0, slot)
        out[2] = heap_turn(st, 0, slot)


def empty() -> Books:
    """A heap whose words and reals do not begin at 0."""
    store = np.zeros(1, [*heap.STORE_FIELDS, ("words", np.uint64), ("reals", np.uint64)]).view(np.recarray)
    store.words, store.reals = 3, 5
    node = np.zeros(1 + SLOTS, np.dtype(list(heap.GROWING_FIELDS), align=True)).view(np.recarray)
    return Books(node, store, np.zeros(3 + heap.words(SLOTS, 0), np.uint32), np.zeros(5 + heap.reals(SLOTS, 0)))


def sequence(seed: int, choices: list[int], odds: list[float]) -> tuple[Any, Any, Any, list[int], dict[int, tuple[float, int]]]:
    """Legal operations, the top after each third of them, and what is in the heap at the end."""
    rng = np.random.default_rng(seed)
    held: dict[int, tuple[float, int]] = {}
    codes, slots, keys, tops = [], [], [], []
    for n in range(600):
        code, key, i = int(rng.choice(choices, p=odds)), float(rng.integers(0, 12)), 0
        absent = sorted(set(range(1, SLOTS + 1)) - set(held))
        if (code == PUSH and not absent) or (code != PUSH and not held):
            code = POP if held else PUSH
        if code == PUSH:
            i = int(rng.choice(absent))
        elif code != POP:
            i = int(rng.choice(sorted(held)))
        if code == SCALE:
            key = 0.5
            held = {slot: (0.5 * old, turn) for slot, (old, turn) in held.items()}
        elif code == GROW:
            key += held[i][0]
            held[i] = (key, n)
        elif code in (PUSH, UPDATE):
            held[i] = (key, n)
        else:
            del held[i if code == REMOVE else min(held, key=lambda slot: held[slot])]
        codes.append(code)
        slots.append(i)
        keys.append(key)
        tops.append(min(held, key=lambda slot: held[slot]) if held and n % 3 == 0 else 0)
    return np.array(codes), np.array(slots), np.array(keys), tops, held


@pytest.mark.parametrize("seed", range(40))
def test_the_top_is_the_least(seed: int) -> None:
    codes, slots, keys, expected, held = sequence(seed, [PUSH, REMOVE, POP, UPDATE, SCALE], [0.4, 0.1, 0.24, 0.25, 0.01])
    books, tops = empty(), np.zeros(len(codes), np.int64)
    drive(books, codes, slots, keys, tops)
    assert tops.tolist() == expected
    for i in range(1, SLOTS + 1):
        out = np.zeros(3)
        look(books, i, out)
        assert out.tolist() == ([1.0, *held[i]] if i in held else [0.0, 0.0, 0.0])


@pytest.mark.parametrize("seed", range(20))
def test_ranks_that_grow_may_be_put_right_late(seed: int) -> None:
    codes, slots, keys, expected, _ = sequence(seed, [PUSH, REMOVE, POP, GROW], [0.3, 0.05, 0.15, 0.5])
    books, tops = empty(), np.zeros(len(codes), np.int64)
    drive_growing(books, codes, slots, keys, tops)
    assert tops.tolist() == expected
