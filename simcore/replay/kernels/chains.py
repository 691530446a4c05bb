"""The top tier over requests that are prefix chains."""

from __future__ import annotations

import numpy as np

from simcore.kernel import Int, inlined, kernel
from simcore.replay.state import LOOKUP, State

from .access import access
from .columns import observe, send
from .residency import open_stores
from .verbs import FEEDS


@kernel
def loop(st: State) -> int:
    open_stores(st)
    for r in range(len(st.start) - 1):
        _request(st, st.start[r], st.start[r + 1])
    return 0


@inlined
def _request(st: State, first: Int, end: Int) -> None:
    """See what is there when the request arrives, then touch its objects in the order asked for."""
    for k in range(first, end):
        if st.slot[st.ids[k]] != np.uint32(0):
            st.found[k] = st.run[0].top
        elif FEEDS:
            observe(st, k)
            send(st, st.ids[k], LOOKUP, k)
    tail_first = st.run[0].tail_first
    for touch in range(first, end):
        k = first + end - 1 - touch if tail_first else touch
        observe(st, k)
        access(st, k, k)
