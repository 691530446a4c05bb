"""Ghosts against a list of (object, size), with and without sizes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

from simcore.ghosts import (
    OBJECT_FIELDS,
    STORE_FIELDS,
    ghost_add,
    ghost_count,
    ghost_drop,
    ghost_find,
    ghost_oldest,
    ghost_units,
    ghosts_init,
    ghosts_trim,
)
from simcore.kernel import OPTIONS, by_reference, list_clear

HEAD, SLOT, SPARE = np.uint32(1), np.uint32(5), 6
OBJECTS = 40
ADD, DROP, TRIM = range(3)


class Books(NamedTuple):
    node: Any
    store: Any
    object: Any


@numba.njit(**OPTIONS)
def run(books: Books, operations: Any, seen: Any) -> None:
    st = by_reference(books)
    ghosts_init(st, 0)
    list_clear(st, HEAD)
    for n in range(len(operations)):
        code, x = operations[n, 0], operations[n, 1]
        if code == ADD:
            st.node[SLOT].obj = x
            ghost_add(st, 0, SLOT, HEAD)
        elif code == DROP:
            ghost_drop(st, 0, ghost_find(st, 0, x), HEAD)
        else:
            ghosts_trim(st, 0, HEAD, x)
        oldest = ghost_oldest(st, HEAD)
        seen[n, 0] = -1 if oldest == 0 else np.int64(st.node[oldest].obj)
        seen[n, 1] = ghost_count(st, HEAD)
        seen[n, 2] = ghost_units(st, HEAD)
        for obj in range(OBJECTS):
            seen[n, 3] += ghost_find(st, 0, obj) != 0


@pytest.mark.parametrize("size", [None, 7])
def test_ghosts_are_found_counted_and_forgotten_oldest_first(size: int | None) -> None:
    rng = np.random.default_rng(0)
    unit = size or 1
    known: list[int] = []
    operations, expected = [], []
    for _ in range(2000):
        code, x = int(rng.choice(3, p=[0.6, 0.3, 0.1])), int(rng.integers(OBJECTS))
        if code == TRIM:
            x = unit * int(rng.integers(len(known) + 2)) + int(rng.integers(unit))
            known = known[max(0, len(known) - x // unit) :]
        elif (code == ADD) == (x in known):
            continue
        elif code == ADD:
            known.append(x)
        else:
            known.remove(x)
        operations.append((code, x))
        expected.append([known[0] if known else -1, len(known), unit * len(known), len(known)])
    fields: list[Any] = [("prev", np.uint32), ("next", np.uint32), ("obj", np.uint32)]
    node = np.zeros(SPARE + OBJECTS, np.dtype(fields + ([] if size is None else [("units", np.int64)]), align=True))
    if size is not None:
        node["units"][SLOT] = size
    store = np.zeros(1, np.dtype([("spare", np.uint32), ("objects", np.uint64), *STORE_FIELDS], align=True))
    store["spare"] = SPARE
    remembered = np.zeros(OBJECTS, np.dtype(list(OBJECT_FIELDS)))
    seen = np.zeros((len(operations), 4), np.int64)
    run(Books(*(array.view(np.recarray) for array in (node, store, remembered))), np.array(operations), seen)
    assert seen.tolist() == expected
    assert max(row[1] for row in expected) > OBJECTS // 2
