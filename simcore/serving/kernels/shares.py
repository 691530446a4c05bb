"""Quotas: how many blocks each tenant holds in a store, and which of its unpinned ones it has used least recently.

A block belongs to the tenant whose request is the first of the trace to name it. Nothing here is used without quotas.
"""

from __future__ import annotations

import numpy as np

from simcore.kernel import Bool, Int, Slot, kernel
from simcore.serving.state import State


@kernel
def share_of(st: State, s: Int, obj: Int) -> Int:
    """Index in st.share of the owner of block `obj` in store s."""
    return s * st.par.tenants + np.int64(st.owner[obj])


@kernel
def quota_reached(st: State, s: Int, obj: Int) -> Bool:
    """Whether the owner of block `obj` may hold no more in store s."""
    share = st.share[share_of(st, s, obj)]
    return share.held >= share.quota


@kernel
def own_victim(st: State, s: Int, obj: Int) -> Slot:
    """The unpinned block that the owner of `obj` has used least recently in store s; 0: there is none."""
    return st.share[share_of(st, s, obj)].head


@kernel
def own_append(st: State, s: Int, i: Slot) -> None:
    """The block in slot i is unpinned from now on."""
    share = st.share[share_of(st, s, np.int64(st.node[i].obj))]
    st.own[i].prev = share.tail
    st.own[i].next = 0
    if share.tail != 0:
        st.own[share.tail].next = i
    else:
        share.head = i
    share.tail = i


@kernel
def own_remove(st: State, s: Int, i: Slot) -> None:
    """The block in slot i is unpinned no longer, or leaves."""
    share = st.share[share_of(st, s, np.int64(st.node[i].obj))]
    before = st.own[i].prev
    after = st.own[i].next
    if before != 0:
        st.own[before].next = after
    else:
        share.head = after
    if after != 0:
        st.own[after].prev = before
    else:
        share.tail = before
