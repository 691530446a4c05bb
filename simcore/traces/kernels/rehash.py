"""Filling a larger hash table with the keys that are known."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from simcore.kernel import kernel

from .hashing import place


class State(NamedTuple):
    """known u8 (most,), table u4 (slots,), all 0; about u8 (2,): objects known, shift of a hash."""

    known: Any
    table: Any
    about: Any


@kernel
def loop(st: State) -> int:
    mask = np.uint64(len(st.table) - 1)
    for i in range(st.about[0]):
        at = place(st.known[i], st.about[1])
        while st.table[at] != 0:
            at = (at + np.uint64(1)) & mask
        st.table[at] = i + np.uint64(1)
    return 0
