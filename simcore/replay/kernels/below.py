"""A lower tier over what the tier above lets through."""

from __future__ import annotations

import numpy as np

from simcore.kernel import Int, incoming_size, kernel
from simcore.replay.state import EXCLUSIVE, GET, INCLUSIVE_THROUGH, LOOKUP, State

from .access import access, enter, mark_found, store_of
from .columns import carry_again, observe, send
from .residency import open_stores, shed, take
from .verbs import FEEDS, TRACKED, on_access, on_hit


@kernel
def loop(st: State) -> int:
    open_stores(st)
    for k in range(len(st.ids)):
        _event(st, k)
    return 0


@kernel
def _event(st: State, k: Int) -> None:
    """What the tier above lets through."""
    obj = st.ids[k]
    kind = st.kind[k]
    place = np.int64(st.place[k])
    s = store_of(st, obj)
    i = st.slot[obj]
    observe(st, k)
    if kind == LOOKUP:
        if i != np.uint32(0):
            st.found[place] = st.run[0].top
        elif FEEDS:
            send(st, obj, LOOKUP, place)
    elif kind == GET:
        _get(st, k, place)
    elif st.run[0].placement != INCLUSIVE_THROUGH and i == np.uint32(0):
        enter(st, s, obj)


@kernel
def _get(st: State, k: Int, place: Int) -> None:
    obj = st.ids[k]
    placement = st.run[0].placement
    if placement == INCLUSIVE_THROUGH:
        _count(st, access(st, k, place))
        return
    s = store_of(st, obj)
    on_access(st, s, obj)
    i = st.slot[obj]
    if i == np.uint32(0):
        if FEEDS:
            send(st, obj, GET, place)
        return
    if TRACKED:
        mark_found(st, place)
    _count(st, 1)
    carry_again(st, i)
    on_hit(st, s, i)
    if placement == EXCLUSIVE:
        take(st, s, i)
    shed(st, s)


@kernel
def _count(st: State, hit: Int) -> None:
    st.run[0].hits += hit
    st.run[0].hit_bytes += hit * incoming_size(st)
