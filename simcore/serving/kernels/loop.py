"""The event loop: arrivals, and for each replica the ends and starts of its steps, in order of time."""

from __future__ import annotations

import numpy as np

from simcore.kernel import Int, kernel
from simcore.serving.state import LATEST, NEVER, NONE, STUCK, TOO_LATE, TOO_MANY_EVENTS, State

from .arrivals import next_arrival, take_arrival
from .step import end_step, start_step
from .stores import open_stores


@kernel
def earliest_replica(st: State) -> Int:
    """The replica whose step ends, or may start, first; the lowest number among equals."""
    best: Int = np.int64(0)
    first = st.next[0]
    for r in range(1, st.par.replicas):
        if st.next[r] < first:
            best = r
            first = st.next[r]
    return best


@kernel
def loop(st: State) -> Int:
    """Run until every request is done; returns a fault code. At equal times arrivals come first, then replicas by number; what
    arrives because a step ends is there when the replica starts its next."""
    stat = st.stat
    open_stores(st)
    while True:
        r = earliest_replica(st)
        due = next_arrival(st)
        now = min(due, st.next[r])
        if now == NEVER:
            break
        stat.now = now
        stat.events += 1
        if now > LATEST:
            stat.fault = TOO_LATE
        elif stat.events > st.par.max_events:
            stat.fault = TOO_MANY_EVENTS
        elif due <= st.next[r]:
            take_arrival(st)
        else:
            stat.turn = r
            if st.replica[r].busy == 1:
                end_step(st, r)
                while next_arrival(st) == now:
                    take_arrival(st)
            start_step(st, r)
            stat.turn = NONE
        if stat.fault != 0:
            return stat.fault
    if stat.done + stat.rejected < st.par.requests:
        stat.fault = STUCK
    return stat.fault
