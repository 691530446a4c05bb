"""The top tier over accesses in order."""

from __future__ import annotations

from simcore.kernel import incoming_size, kernel
from simcore.replay.state import State

from .access import access
from .columns import observe
from .residency import open_stores


@kernel
def loop(st: State) -> int:
    open_stores(st)
    hits = 0
    hit_bytes = 0
    for k in range(len(st.ids)):
        observe(st, k)
        hit = access(st, k, k)
        hits += hit
        hit_bytes += hit * incoming_size(st)
    st.run[0].hits += hits  # kept out of memory on the way: a store a request would cost as much as the policy
    st.run[0].hit_bytes += hit_bytes
    return 0
