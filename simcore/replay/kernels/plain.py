"""The top tier over accesses in order."""

from __future__ import annotations

from simcore.kernel import incoming_size, kernel, prefetch
from simcore.replay.state import State

from .access import access
from .columns import observe
from .residency import open_stores
from .verbs import AHEAD, SIZED

AWAY = 16  # accesses between the fetch of an object's slot and its use


@kernel
def loop(st: State) -> int:
    open_stores(st)
    hits = 0
    hit_bytes = 0
    k = 0  # counted by hand: of a range the compiler makes a longer loop here
    while k < len(st.ids):
        if AHEAD:
            prefetch(st.slot, st.ids[min(k + AWAY, len(st.ids) - 1)])
        observe(st, k)
        hit = access(st, k, k)
        hits += hit
        if SIZED:
            hit_bytes += hit * incoming_size(st)
        k += 1
    st.run[0].hits += hits  # kept out of memory on the way: a store a request would cost as much as the policy
    st.run[0].hit_bytes += hit_bytes if SIZED else hits
    return 0
