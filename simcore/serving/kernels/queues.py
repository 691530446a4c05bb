"""The lists of a replica: waiting requests (first come, first served, in each class of priority), admitted ones (by admission),
ended prefills."""

from __future__ import annotations

import numpy as np

from simcore.kernel import Int, kernel
from simcore.serving.state import NONE, State


@kernel
def queue_append(st: State, r: Int, q: Int) -> None:
    """Request q joins its class as the last."""
    queue_insert(st, r, q, last_up_to(st, r, st.request[q].class_))


@kernel
def queue_return(st: State, r: Int, q: Int) -> None:
    """Request q was preempted: it waits as the first of all or, with priorities, where its arrival puts it in its class."""
    before: Int = np.int64(NONE)
    if st.par.priority:
        own = st.request[q].class_
        before = last_up_to(st, r, own - 1)
        behind = st.replica[r].queue_head if before == NONE else st.request[before].behind
        while behind != NONE and st.request[behind].class_ == own and st.request[behind].order < st.request[q].order:
            before = behind
            behind = st.request[before].behind
    queue_insert(st, r, q, before)


@kernel
def last_up_to(st: State, r: Int, highest: Int) -> Int:
    """The last waiting request of the classes 0 to `highest`, NONE if there is none."""
    while highest >= 0 and st.queue_tail[r * st.par.classes + highest] == NONE:
        highest -= 1
    return st.queue_tail[r * st.par.classes + highest] if highest >= 0 else np.int64(NONE)


@kernel
def queue_insert(st: State, r: Int, q: Int, before: Int) -> None:
    """Request q waits right behind request `before`, or (NONE) at the head of the queue."""
    rep = st.replica[r]
    req = st.request[q]
    req.behind = rep.queue_head if before == NONE else st.request[before].behind
    if before == NONE:
        rep.queue_head = q
    else:
        st.request[before].behind = q
    if req.behind == NONE or st.request[req.behind].class_ != req.class_:
        st.queue_tail[r * st.par.classes + req.class_] = q
    rep.queue_n += 1
    rep.work_waiting += st.request[q].work


@kernel
def queue_pop(st: State, r: Int) -> None:
    rep = st.replica[r]
    q = rep.queue_head
    rep.queue_head = st.request[q].behind
    tail = r * st.par.classes + st.request[q].class_
    if st.queue_tail[tail] == q:
        st.queue_tail[tail] = NONE
    rep.work_waiting -= st.request[q].work
    rep.queue_n -= 1


@kernel
def run_append(st: State, r: Int, q: Int) -> None:
    rep = st.replica[r]
    last = rep.run_tail
    st.request[q].run_prev = last
    st.request[q].run_next = NONE
    if last != NONE:
        st.request[last].run_next = q
    rep.run_tail = q
    rep.run_n += 1
    rep.work_running += st.request[q].work


@kernel
def run_remove(st: State, r: Int, q: Int) -> None:
    rep = st.replica[r]
    before = st.request[q].run_prev
    after = st.request[q].run_next
    if before != NONE:
        st.request[before].run_next = after
    if after == NONE:
        rep.run_tail = before
    else:
        st.request[after].run_prev = before
    rep.run_n -= 1
    rep.work_running -= st.request[q].work


@kernel
def ended_append(st: State, r: Int, q: Int) -> None:
    """The prefill of q ends with the step being scheduled."""
    rep = st.replica[r]
    st.request[q].behind = NONE
    if rep.ended_head == NONE:
        rep.ended_head = q
    else:
        st.request[rep.ended_tail].behind = q
    rep.ended_tail = q
