"""What a sequence holds, and how it leaves: private pages, pinned blocks, its place among the decoding ones; preemption.

A decoding sequence is not touched step by step: the replica counts its steps, the sum of contexts, and how many sequences are
at each page phase; a sequence that joined at step j with c tokens computed has c + step - j now.
"""

from __future__ import annotations

import numpy as np

from simcore.kernel import Int, kernel
from simcore.serving.state import DECODE, LAST_ADMITTED, LOADING, NONE, PREFILL, STUCK, WAITING, State

from .heap import heap_pop, heap_push, heap_remove
from .pool import covered_tokens, private_pages, sequence_pages
from .queues import queue_return, run_remove
from .rooms import give_room
from .stores import find, unpin
from .swapping import leave_source, swap_heap, swap_out
from .tokens import tick_at


@kernel
def loading_heap(st: State, r: Int) -> Int:
    """Base of the heap of replica r's loading requests; its decoding ones start at r * max_seqs, chained arrivals at 2R."""
    return (st.par.replicas + r) * st.par.max_seqs


@kernel
def packet_heap(st: State, r: Int) -> Int:
    """Base of the heap of replica r's decoding requests whose first packet is not full; behind the chained arrivals."""
    return (2 * st.par.replicas + r) * st.par.max_seqs + st.par.requests


@kernel
def page_phase(st: State, r: Int, q: Int) -> Int:
    """Index in st.phase of decoding request q: constant while it decodes."""
    private = st.request[q].computed - covered_tokens(st, q, st.request[q].held)
    return r * st.par.page + (private - st.request[q].joined) % st.par.page


@kernel
def first_packet(st: State, q: Int) -> Int:
    """Tokens of the first packet that the client of q gets."""
    return min(st.par.stream, np.int64(st.job[q].output))


@kernel
def join_decode(st: State, r: Int, q: Int) -> None:
    rep = st.replica[r]
    req = st.request[q]
    req.state = DECODE
    req.joined = rep.step
    rep.context += req.computed
    st.phase[page_phase(st, r, q)] += 1
    last_step = tick_at(st, rep.step + st.job[q].output - req.generated)
    heap_push(st.heap, r * st.par.max_seqs, rep.decoding, last_step, q)
    packet = first_packet(st, q)
    if req.generated < packet:
        heap_push(st.heap, packet_heap(st, r), rep.packet_n, tick_at(st, rep.step + packet - req.generated), q)
        rep.packet_n += 1
    rep.decoding += 1


@kernel
def leave_decode(st: State, r: Int, q: Int) -> None:
    """Take q (already out of the heap) off the books of decoding; its counters become those of this moment."""
    rep = st.replica[r]
    req = st.request[q]
    st.phase[page_phase(st, r, q)] -= 1
    steps = rep.step - req.joined
    req.computed += steps
    req.generated += steps
    req.pages = private_pages(st, q, req.computed, req.held)
    rep.context -= req.computed
    rep.decoding -= 1
    beyond = max(req.generated - st.job[q].output, 0)  # the last step yielded more than was asked for
    req.computed -= beyond
    req.generated -= beyond
    st.stat.decode_tokens -= beyond


@kernel
def release(st: State, r: Int, q: Int, blocks: Int) -> None:
    """Give back the private pages of q and the pins of its first `blocks` blocks, tail first."""
    rep = st.replica[r]
    req = st.request[q]
    st.stat.acting = q
    rep.private -= req.pages
    req.pages = 0
    first = st.job[q].block
    for i in range(blocks - 1, -1, -1):
        unpin(st, r, find(st, r, np.int64(st.blocks[first + i])))
    req.held = 0
    rep.blocked = NONE
    if st.par.contiguous:
        give_room(st, r, q)


@kernel
def least_worthy(st: State, r: Int) -> Int:
    """The request to preempt: of the admitted ones of the last class the one admitted last, or with the fewest tokens computed
    (admitted last among equals)."""
    rep = st.replica[r]
    chosen = rep.run_tail
    if chosen == NONE or (st.par.classes == 1 and st.par.victim == LAST_ADMITTED):
        return chosen
    q = st.request[chosen].run_prev
    while q != NONE:
        later = st.request[q].class_ - st.request[chosen].class_
        if later > 0 or (later == 0 and st.par.victim and computed_now(st, r, q) < computed_now(st, r, chosen)):
            chosen = q
        q = st.request[q].run_prev
    return chosen


@kernel
def computed_now(st: State, r: Int, q: Int) -> Int:
    req = st.request[q]
    return req.computed + st.replica[r].step - req.joined if req.state == DECODE else req.computed


@kernel
def preempt(st: State, r: Int) -> None:
    """Stop one request: its pages and pins go, what it generated stays (so does the rest, if it goes to swap space); it waits
    again."""
    rep = st.replica[r]
    q = least_worthy(st, r)
    if q == NONE:
        st.stat.fault = STUCK
        return
    req = st.request[q]
    if req.state == DECODE:
        heap_remove(st.heap, r * st.par.max_seqs, rep.decoding, q)
        if req.first == 0:
            heap_remove(st.heap, packet_heap(st, r), rep.packet_n, q)
            rep.packet_n -= 1
        leave_decode(st, r, q)
        swap_out(st, r, q)
    elif req.swapped > 0:
        heap_remove(st.heap, swap_heap(st, r), rep.swap_n, q)
        rep.swap_n -= 1
        if req.source == NONE:
            req.load_wait += min(req.ready, st.stat.now) - req.load_start
    else:
        if req.state == LOADING:
            heap_remove(st.heap, loading_heap(st, r), rep.load_n, q)
            end_load(st, r, q)
        else:
            rep.current = NONE
        end_prefill(st, q)
    req.since = st.stat.now
    req.peak = max(req.peak, req.computed)
    req.preemptions += 1
    st.stat.preemptions += 1
    run_remove(st, r, q)
    release(st, r, q, req.held)
    req.state = WAITING
    if req.swapped == 0:
        req.computed = 0
    queue_return(st, r, q)


@kernel
def resume(st: State, r: Int) -> None:
    """Sequences that are back from swap space, or have come from a prefill replica, decode."""
    rep = st.replica[r]
    heap = swap_heap(st, r)
    while rep.swap_n > 0 and st.heap[heap].key <= st.stat.now:
        q = st.heap[heap].value
        heap_pop(st.heap, heap, rep.swap_n)
        rep.swap_n -= 1
        req = st.request[q]
        if req.source != NONE:
            leave_source(st, q)
        else:
            req.load_wait += req.ready - req.load_start
            rep.swap_used -= req.swapped
        req.swapped = 0
        join_decode(st, r, q)


@kernel
def end_load(st: State, r: Int, q: Int) -> None:
    """Request q (already out of the heap) waits for its load no longer and may prefill."""
    rep = st.replica[r]
    req = st.request[q]
    req.state = PREFILL
    rep.load_n -= 1
    rep.promised -= sequence_pages(st, q, req.target) - st.par.unit_pages * req.held
    req.since = min(req.ready, st.stat.now)
    req.load_wait += req.since - req.load_start


@kernel
def end_prefill(st: State, q: Int) -> None:
    """Request q prefills no longer: count the time since it was admitted, or its load was ready."""
    req = st.request[q]
    if req.preemptions > 0:
        req.prefill_again += st.stat.now - req.since
    else:
        req.prefill += st.stat.now - req.since
