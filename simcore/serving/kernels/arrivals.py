"""When requests arrive and where they go: recorded times, chains, barriers, a closed loop, a backlog."""

from __future__ import annotations

import numpy as np

from simcore.kernel import Int, kernel
from simcore.serving.state import CLOSED, NEVER, NONE, OPEN, REJECTED, ROUND_ROBIN, State

from .decode import span, steps_to_reach
from .heap import heap_pop, heap_push
from .pool import sequence_pages
from .queues import queue_append


@kernel
def chained_heap(st: State) -> Int:
    return 2 * st.par.replicas * st.par.max_seqs


@kernel
def next_arrival(st: State) -> Int:
    """Time of the next arrival, NEVER if none is due. A recorded one comes before a chained one of the same time."""
    stat = st.stat
    recorded = next_recorded(st)
    if stat.chained_n > 0:
        return min(recorded, st.heap[chained_heap(st)].key)
    return recorded


@kernel
def next_recorded(st: State) -> Int:
    """Time at which request `stat.next_request`, the first one neither arrived nor chained, is due."""
    par = st.par
    stat = st.stat
    if par.arrivals == OPEN:
        while stat.next_request < par.requests and st.job[stat.next_request].chained:
            stat.next_request += 1
    if stat.next_request == par.requests:
        return np.int64(NEVER)
    job = st.job[stat.next_request]
    if job.wave > stat.wave:
        return np.int64(NEVER)
    if par.arrivals == OPEN:
        return max(job.arrival, stat.wave_open)
    if par.arrivals == CLOSED and stat.open >= par.concurrency:
        return np.int64(NEVER)
    return stat.now


@kernel
def take_arrival(st: State) -> None:
    """The request due now arrives."""
    stat = st.stat
    if next_recorded(st) <= stat.now:
        q = stat.next_request
        stat.next_request += 1
    else:
        q = st.heap[chained_heap(st)].value
        heap_pop(st.heap, chained_heap(st), stat.chained_n)
        stat.chained_n -= 1
    arrive(st, q)


@kernel
def arrive(st: State, q: Int) -> None:
    """Request q is sent to a replica, unless its prompt and output could never fit into a pool."""
    req = st.request[q]
    req.arrival = st.stat.now
    longest = np.int64(st.job[q].prompt) + st.job[q].output - 1  # the last token is never computed on
    if sequence_pages(st, q, longest) > st.par.pool_pages:
        req.state = REJECTED
        req.replica = NONE
        st.stat.rejected += 1
        trigger(st, q)
        count_done(st)
        return
    r = route(st)
    req.replica = r
    st.stat.open += 1
    queue_append(st, r, q)
    rep = st.replica[r]
    if rep.busy == 0:
        rep.next = min(rep.next, st.stat.now)
    elif rep.prefill == 0 and rep.steps > 1 and rep.queue_n == 1:
        cut_leap(st, r)


@kernel
def cut_leap(st: State, r: Int) -> None:
    """End the leap of replica r at its next step boundary, where the newcomer may be admitted. A boundary at this very moment
    counts unless the replica has had its turn: that of a higher number brings the newcomer."""
    rep = st.replica[r]
    passed = 1 if r < st.stat.turn else 0
    steps = steps_to_reach(st, r, st.stat.now - rep.start + passed)
    if steps < rep.steps:
        rep.steps = steps
        rep.next = rep.start + span(st, r, steps)


@kernel
def route(st: State) -> Int:
    stat = st.stat
    if st.par.router == ROUND_ROBIN:
        r = stat.routed % st.par.replicas
        stat.routed += 1
        return r
    best: Int = np.int64(0)
    for r in range(1, st.par.replicas):
        if st.replica[r].queue_n + st.replica[r].run_n < st.replica[best].queue_n + st.replica[best].run_n:
            best = r
    return best


@kernel
def trigger(st: State, q: Int) -> None:
    """Request q is over: the one chained to it will arrive. Its client sees the end `response` later than the engine."""
    follower = np.int64(st.job[q].follower)
    if st.par.arrivals != OPEN or follower == NONE:
        return
    seen = st.stat.now + st.par.response if st.request[q].state != REJECTED else st.stat.now
    due = seen + st.job[follower].think
    st.request[follower].arrival = due
    if st.job[follower].wave <= st.stat.wave:
        heap_push(st.heap, chained_heap(st), st.stat.chained_n, due, follower)
        st.stat.chained_n += 1


@kernel
def count_done(st: State) -> None:
    """One request fewer to wait for; a wave without any opens the next one."""
    stat = st.stat
    stat.wave_left -= 1
    while stat.wave_left == 0 and stat.wave + 1 < st.par.waves:
        stat.wave += 1
        stat.wave_open = stat.now
        first = st.wave_start[stat.wave]
        last = st.wave_start[stat.wave + 1]
        stat.wave_left = last - first
        if st.par.arrivals == OPEN:
            for q in range(first, last):
                if st.job[q].chained and st.request[q].arrival != NONE:  # its chain has reached it already
                    heap_push(st.heap, chained_heap(st), stat.chained_n, max(st.request[q].arrival, stat.now), q)
                    stat.chained_n += 1
