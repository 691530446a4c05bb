"""LRU stack distances of prefix chains, counted: as of the arrival of a request, and again as its objects are touched."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from simcore.kernel import Int, kernel

from .distances_order import NEVER, since, touch


class State(NamedTuple):
    """ids u4 (m,), start i8 (n+1,), tokens i4 (m,) or empty, run i8 (2,): tail first (0 or 1), objects found out of order;
    hits, hit_tokens and touched i8 (n_objects,), hit_tokens empty without tokens; and the fields of `distances_order`."""

    ids: Any
    start: Any
    tokens: Any
    run: Any
    hits: Any
    hit_tokens: Any
    touched: Any
    order: Any
    last: Any
    bits: Any
    near: Any
    far: Any
    top: Any


@kernel
def loop(st: State) -> int:
    """An object is of use at a capacity above its own distance and those of all before it in the request: hits[d] counts those
    for which the largest of these is d, touched[d] the accesses at distance d when they are made."""
    base = st.start[0]
    for r in range(len(st.start) - 1):
        first = st.start[r] - base
        end = st.start[r + 1] - base
        _look_up(st, first, end)
        for k in range(first, end):
            at = first + end - 1 - k if st.run[0] else k
            d = touch(st, st.ids[at])
            if d != np.uint64(NEVER):
                st.touched[d] += 1
    return 0


@kernel
def _look_up(st: State, first: Int, end: Int) -> None:
    largest = np.uint64(0)
    for k in range(first, end):
        d = since(st, st.ids[k])
        if d == np.uint64(NEVER):
            break
        if d < largest:
            st.run[1] += 1
        largest = max(largest, d)
        st.hits[largest] += 1
        if len(st.tokens):
            st.hit_tokens[largest] += st.tokens[k]
