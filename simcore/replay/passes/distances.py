"""LRU stack distances of single accesses, counted: how many other objects were used since the last access to the same."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from simcore.kernel import kernel

from .distances_order import NEVER, touch


class State(NamedTuple):
    """ids u4 (m,), hits i8 (n_objects,) and the fields of `distances_order`."""

    ids: Any
    hits: Any
    order: Any
    last: Any
    bits: Any
    near: Any
    far: Any
    top: Any


@kernel
def loop(st: State) -> int:
    """Adds to hits[d] the accesses at distance d; first accesses have none."""
    for k in range(np.uint64(len(st.ids))):
        d = touch(st, st.ids[k])
        if d != np.uint64(NEVER):
            st.hits[d] += 1
    return 0
