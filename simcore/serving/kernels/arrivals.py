"""When requests arrive: recorded times, chains, barriers, a closed loop, a backlog, the way through the network."""

from __future__ import annotations

import numpy as np

from simcore.kernel import Bool, Int, kernel
from simcore.kernel import prefetch as fetch
from simcore.serving.state import CLOSED, NEVER, NO_PREFETCH, NONE, OPEN, REJECTED, TRAVELLING, WAITING, State

from .decode import span, steps_to_reach
from .heap import heap_pop, heap_push
from .loading import prefetch
from .pool import sequence_pages
from .queues import queue_append, run_remove
from .routing import least_loaded, one_way, route

AHEAD = 4  # requests


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
def waits_for_another(st: State, q: Int) -> Bool:
    """Whether the chain of q brings it: any in an open loop, one within its wave in a closed one, none in a backlog."""
    return st.job[q].chained <= st.par.chains


@kernel
def next_recorded(st: State) -> Int:
    """Time at which request `stat.next_request`, the first one neither arrived nor chained, is due."""
    par = st.par
    stat = st.stat
    while stat.next_request < par.requests and waits_for_another(st, stat.next_request):
        stat.next_request += 1
    if stat.next_request == par.requests:
        return np.int64(NEVER)
    job = st.job[stat.next_request]
    if job.wave > stat.wave:
        return np.int64(NEVER)
    if par.arrivals == OPEN:
        return max(job.arrival, stat.wave_open)
    if par.arrivals == CLOSED:
        return max(free_place(st), stat.wave_open)
    return stat.now


@kernel
def free_place(st: State) -> Int:
    """When a client of the closed loop is free: now, when one starts, or when one sees the end of its request; else NEVER."""
    stat = st.stat
    if stat.places > 0:
        return stat.now
    free = np.int64(NEVER)
    if stat.leaving_head != NONE:
        free = st.request[stat.leaving_head].finish + st.par.response
    if stat.started < st.par.concurrency:
        free = min(free, stat.started * st.par.stagger)
    return free


@kernel
def take_place(st: State) -> None:
    stat = st.stat
    if stat.places > 0:
        stat.places -= 1
    elif stat.started < st.par.concurrency and stat.started * st.par.stagger <= stat.now:
        stat.started += 1
    else:
        stat.leaving_head = st.request[stat.leaving_head].behind


@kernel
def leave_place(st: State, q: Int) -> None:
    """Request q was its client's last; whoever comes next may have its place once the client sees that: at once if it was
    rejected, else in order of finishing."""
    stat = st.stat
    if st.request[q].state == REJECTED:
        stat.places += 1
        return
    st.request[q].behind = NONE
    if stat.leaving_head == NONE:
        stat.leaving_head = q
    else:
        st.request[stat.leaving_tail].behind = q
    stat.leaving_tail = q


@kernel
def take_arrival(st: State) -> None:
    """The request due now arrives."""
    stat = st.stat
    if next_recorded(st) <= stat.now:
        q = stat.next_request
        stat.next_request += 1
        coming = min(q + AHEAD, st.par.requests - 1)
        fetch(st.job, coming)
        fetch(st.request, coming)
    else:
        q = st.heap[chained_heap(st)].value
        heap_pop(st.heap, chained_heap(st), stat.chained_n)
        stat.chained_n -= 1
    if st.request[q].state == TRAVELLING:
        st.replica[st.request[q].replica].travelling -= 1
        st.replica[st.request[q].replica].work_waiting -= st.request[q].work
        enter(st, q)
    else:
        arrive(st, q)


@kernel
def arrive(st: State, q: Int) -> None:
    """The client of q sends it to a replica, unless it is too long for the engine or could never fit into a pool."""
    req = st.request[q]
    req.arrival = st.stat.now
    if st.par.arrivals == CLOSED and not waits_for_another(st, q):
        take_place(st)
    longest = np.int64(st.job[q].prompt) + st.job[q].output - 1  # the last token is never computed on
    too_long = longest >= st.par.max_length or sequence_pages(st, q, longest + st.par.spare_tokens) > st.par.pool_pages
    if too_long or (st.par.contiguous and req.order_pages > st.par.largest_order):
        req.state = REJECTED
        req.replica = NONE
        st.stat.rejected += 1
        over(st, q, st.stat.now)
        return
    r = route(st, q)
    req.replica = r
    rep = st.replica[r]
    if st.par.regions > 0:
        req.network = one_way(st, r, q)
        if req.network > 0:
            req.state = TRAVELLING
            rep.travelling += 1
            rep.work_waiting += req.work
            heap_push(st.heap, chained_heap(st), st.stat.chained_n, st.stat.now + req.network, q)
            st.stat.chained_n += 1
            return
    enter(st, q)


@kernel
def enter(st: State, q: Int) -> None:
    """Request q has reached its replica."""
    r = st.request[q].replica
    wait_at(st, r, q)
    if st.par.prefetch != NO_PREFETCH:
        prefetch(st, r, q)


@kernel
def hand_over(st: State, r: Int, q: Int) -> None:
    """Request q has its first token and will have the others from a decode replica. Until that has its KV, prefill replica r
    holds it."""
    req = st.request[q]
    run_remove(st, r, q)
    st.replica[r].sending += 1
    req.swapped = st.par.unit_pages * req.held + req.pages
    req.held = 0
    req.pages = 0
    req.source = r
    req.left = st.stat.now
    wait_at(st, least_loaded(st, st.par.entries, st.par.replicas), q)


@kernel
def wait_at(st: State, r: Int, q: Int) -> None:
    """Request q joins the queue of replica r, which may admit it as soon as it starts a step."""
    st.request[q].state = WAITING
    st.request[q].order = st.stat.arrived
    st.stat.arrived += 1
    queue_append(st, r, q)
    rep = st.replica[r]
    if rep.busy == 0:
        st.next[r] = min(st.next[r], st.stat.now)
    elif rep.prefill == 0 and rep.steps > 1 and rep.queue_head == q:
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
        st.next[r] = rep.start + span(st, r, steps)


@kernel
def over(st: State, q: Int, seen: Int) -> None:
    """Request q is over, which its client sees at time `seen`. That is when all that waits for it may arrive: the request
    chained to it, or else the next of a closed loop; the next wave."""
    follower = np.int64(st.job[q].follower)
    if follower != NONE and waits_for_another(st, follower):
        trigger(st, follower, seen)
    elif st.par.arrivals == CLOSED:
        leave_place(st, q)
    count_over(st, seen)


@kernel
def trigger(st: State, follower: Int, seen: Int) -> None:
    """Request `follower`, chained to one whose end is seen at time `seen`, will arrive."""
    due = seen + st.job[follower].think
    st.request[follower].arrival = due
    if st.job[follower].wave <= st.stat.wave:
        heap_push(st.heap, chained_heap(st), st.stat.chained_n, due, follower)
        st.stat.chained_n += 1


@kernel
def count_over(st: State, seen: Int) -> None:
    """One request fewer to wait for; a wave without any lets the next one in, once all clients have seen their ends."""
    stat = st.stat
    stat.seen = max(stat.seen, seen)
    stat.wave_left -= 1
    while stat.wave_left == 0 and stat.wave + 1 < st.par.waves:
        stat.wave += 1
        stat.wave_open = stat.seen
        first = st.wave_start[stat.wave]
        last = st.wave_start[stat.wave + 1]
        stat.wave_left = last - first
        if st.par.arrivals == OPEN:
            for q in range(first, last):
                if waits_for_another(st, q) and st.request[q].arrival != NONE:  # its chain has reached it already
                    heap_push(st.heap, chained_heap(st), stat.chained_n, max(st.request[q].arrival, stat.wave_open), q)
                    stat.chained_n += 1
