"""Numbering keys by first appearance with an open-addressing hash table."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from simcore.kernel import kernel

from .hashing import place


class State(NamedTuple):
    """keys u8 (m,), table u4 (slots,), known u8 (most,), ids u4 (m,), about u8 (2,): objects known, shift of a hash.

    `known[id]` is a key; `table` holds id + 1, 0 where free, at the top bits of the key's hash, else in the next free place.
    The keys lie apart from the table because those in use most are known first: they stay together in the processor's cache.
    """

    keys: Any
    table: Any
    known: Any
    ids: Any
    about: Any


@kernel
def loop(st: State) -> int:
    """Writes ids and about[0] until `known` is full; returns how many keys were done."""
    n_known = st.about[0]
    mask = np.uint64(len(st.table) - 1)
    for i in range(len(st.keys)):
        key = st.keys[i]
        at = place(key, st.about[1])
        while True:
            found = st.table[at]
            if found == 0:
                if n_known == np.uint64(len(st.known)):
                    st.about[0] = n_known
                    return i
                st.known[n_known] = key
                st.ids[i] = n_known
                n_known += np.uint64(1)
                st.table[at] = n_known
                break
            if st.known[found - np.uint32(1)] == key:
                st.ids[i] = found - np.uint32(1)
                break
            at = (at + np.uint64(1)) & mask
    st.about[0] = n_known
    return len(st.keys)
