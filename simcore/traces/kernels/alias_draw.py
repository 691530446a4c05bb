"""Draws from alias tables, each from its own number of SplitMix64."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from simcore.kernel import kernel


class State(NamedTuple):
    """first u8 (2,): start of the generator, number of the first draw; share f8 (n,), alias u4 (n,), ids u4 (m,)."""

    first: Any
    share: Any
    alias: Any
    ids: Any


@kernel
def loop(st: State) -> int:
    """Writes ids: the objects of draws first[1], first[1] + 1, ..."""
    scale = len(st.share) / 2.0**53
    top = len(st.share) - 1.0
    for i in range(len(st.ids)):
        x = st.first[0] + (st.first[1] + np.uint64(i + 1)) * np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        x = x ^ (x >> np.uint64(31))
        where = np.float64(x >> np.uint64(11)) * scale
        column = np.uint32(min(where, top))
        st.ids[i] = column if where - column < st.share[column] else st.alias[column]
    return 0
