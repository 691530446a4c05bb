"""The lists of a replica: waiting requests (first come, first served), admitted ones (by admission), ended prefills."""

from __future__ import annotations

from simcore.kernel import Int, kernel
from simcore.serving.state import NONE, State


@kernel
def queue_append(st: State, r: Int, q: Int) -> None:
    rep = st.replica[r]
    st.request[q].behind = NONE
    if rep.queue_n == 0:
        rep.queue_head = q
    else:
        st.request[rep.queue_tail].behind = q
    rep.queue_tail = q
    rep.queue_n += 1


@kernel
def queue_push_front(st: State, r: Int, q: Int) -> None:
    rep = st.replica[r]
    st.request[q].behind = rep.queue_head if rep.queue_n > 0 else NONE
    if rep.queue_n == 0:
        rep.queue_tail = q
    rep.queue_head = q
    rep.queue_n += 1


@kernel
def queue_pop(st: State, r: Int) -> None:
    rep = st.replica[r]
    rep.queue_head = st.request[rep.queue_head].behind
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
