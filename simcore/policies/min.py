"""Belady's offline policy with bypass (MIN): of those present and the newcomer, the one asked for again last stays out.

Belady, "A study of replacement algorithms for a virtual-storage computer", IBM Systems Journal 5(2), 1966. There a page must
enter memory to be used (`simcore.policies.belady`); a cache need not keep what it hands out. With objects of one size no
policy at all has more hits. With sizes it is a heuristic, as Belady's is; objects evicted before the newcomer turns out to be
the one asked for last stay evicted. A tier that does not see all the accesses to its objects, as below another, knows when
they are next asked for in the whole trace; there it is a heuristic, too. Where a store cannot refuse a newcomer, take belady.

Ties are only between objects that are never asked for again: the newcomer stays out; then those used longest ago leave first.

Pins: a pinned object is out of the order; released, it is back with its next use.
"""

from __future__ import annotations

import numpy as np

import simcore.foresight as foresight
from simcore.foresight import clear, enter, last, leave, use
from simcore.kernel import Int, Slot, State, kernel

FIELDS = foresight.FIELDS
STORE_FIELDS = foresight.STORE_FIELDS
NEEDS = foresight.NEEDS
MAY_REFUSE = True
WORDS, REALS = foresight.WORDS, foresight.REALS

REJECT = np.uint32(0)


@kernel
def init(st: State, s: Int) -> None:
    clear(st, s)


@kernel
def on_hit(st: State, s: Int, i: Slot) -> None:
    use(st, s, i)


@kernel
def on_miss(st: State, s: Int, obj: Int) -> None:
    pass


@kernel
def choose_victim(st: State, s: Int) -> Slot:
    i = last(st, s)
    return i if st.event[0].next_use < st.node[i].due else REJECT


@kernel
def on_insert(st: State, s: Int, i: Slot) -> None:
    st.node[i].due = st.event[0].next_use
    enter(st, s, i)


@kernel
def on_evict(st: State, s: Int, i: Slot) -> None:
    leave(st, s, i)


@kernel
def on_pin(st: State, s: Int, i: Slot) -> None:
    leave(st, s, i)


@kernel
def on_release(st: State, s: Int, i: Slot) -> None:
    enter(st, s, i)
