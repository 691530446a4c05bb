"""One step of a replica (or a leap of decode steps): how it is composed and timed, and what its end brings."""

from __future__ import annotations

import numpy as np

from simcore.kernel import Int, kernel
from simcore.serving.state import DONE, NEVER, NONE, State

from .arrivals import hand_over, over
from .decode import leap, pages_needed, secure_pages, span
from .heap import heap_pop
from .loading import overlapped
from .misses import note_output
from .order import use
from .pool import available_pages, complete_block, copy_completed, take_private
from .prefill import prefills
from .queues import run_remove
from .sequences import end_prefill, first_packet, join_decode, leave_decode, loading_heap, packet_heap, preempt, release, resume
from .stores import find, reference
from .swapping import count_uses, swap_heap
from .tokens import contexts, tokens_in
from .transfer import copy_down


@kernel
def compose(st: State, r: Int) -> Int:
    """Choose the work of the next step; returns its prefill tokens. With chunked prefill, decoding comes first and prefill
    fills up the budget; otherwise a step is all prefill while there is any."""
    rep = st.replica[r]
    chunked = st.par.chunked
    while st.stat.fault == 0:
        preemptions = st.stat.preemptions
        if rep.swap_n > 0:
            resume(st, r)
        if chunked:
            secure_pages(st, r)
        tokens = prefills(st, r)
        if tokens == 0 and not chunked:
            secure_pages(st, r)
        if tokens > 0 or rep.decoding > 0:
            return tokens
        if rep.current != NONE and rep.blocked == rep.current and rep.sending == 0:
            preempt(st, r)  # nothing can run: sequences still loading hold the memory
        elif st.stat.preemptions == preemptions:
            break
    return np.int64(0)


@kernel
def start_step(st: State, r: Int) -> None:
    """Compose the next step now and set when it ends; with nothing to do, sleep until a load ends or a request arrives."""
    par = st.par
    rep = st.replica[r]
    now = st.stat.now
    preemptions = st.stat.preemptions
    rep.pairs = 0
    rep.load_until = 0
    rep.prefill = compose(st, r)
    decoding = rep.decoding if par.chunked or rep.prefill == 0 else np.int64(0)
    rep.start = now
    rep.waiting = min(rep.queue_n, 1)
    rep.busy = 1
    rep.step_base = st.lin[decoding * par.verified + rep.prefill] + par.seq * decoding
    if par.draft > 0:
        rep.step_base += np.int64(par.draft * st.lin[decoding])
    if rep.prefill > 0:
        rep.steps = 1 if decoding > 0 else 0
        kv = par.kv * rep.context if decoding > 0 else np.int64(0)
        st.next[r] = now + rep.step_base + kv + np.int64(par.pair * rep.pairs)
        if rep.load_until > now:
            wait_for_layers(st, r)
    elif decoding > 0:
        # what a preemption has just released may admit somebody at the next step
        rep.steps = leap(st, r) if st.stat.preemptions == preemptions else np.int64(1)
        st.next[r] = now + span(st, r, rep.steps)
    else:
        rep.busy = 0
        st.next[r] = st.heap[loading_heap(st, r)].key if rep.load_n > 0 and rep.current == NONE else NEVER
        if rep.swap_n > 0:
            st.next[r] = min(st.next[r], st.heap[swap_heap(st, r)].key)


@kernel
def wait_for_layers(st: State, r: Int) -> None:
    """Blocks of some requests of the step are still being loaded: each layer waits for its part, for all of these requests."""
    rep = st.replica[r]
    now = st.stat.now
    end = now + overlapped(st, st.next[r] - now, rep.load_until - now)
    q = rep.ended_head if rep.ended_head != NONE else rep.current
    while q != NONE:
        req = st.request[q]
        if req.ready > now and req.load_start == now:
            req.load_wait += end - st.next[r]
            req.since += end - st.next[r]
        if q == rep.current:
            break
        q = req.behind if req.behind != NONE else rep.current
    st.next[r] = end


@kernel
def end_step(st: State, r: Int) -> None:
    """The step (or leap) of replica r is over: copies of new blocks, completions, ended prefills in order of scheduling."""
    par = st.par
    rep = st.replica[r]
    stat = st.stat
    rep.busy = 0
    rep.busy_time += stat.now - rep.start
    stat.end = stat.now
    stat.steps += 1 if rep.prefill > 0 else rep.steps
    stat.prefill_steps += 1 if rep.prefill > 0 else 0
    stat.prefill_tokens += rep.prefill
    copy_completed(st, r)
    if rep.steps > 0:
        end_decode(st, r)
    q = rep.ended_head
    rep.ended_head = NONE
    while q != NONE:
        behind = st.request[q].behind
        req = st.request[q]
        end_prefill(st, q)
        req.generated += 1
        if req.generated == first_packet(st, q):
            req.first = stat.now
        stat.ended += 1
        if req.generated >= st.job[q].output:
            finish(st, r, q)
        elif r < par.entries < par.replicas:
            hand_over(st, r, q)
        else:
            join_decode(st, r, q)
        q = behind


@kernel
def end_decode(st: State, r: Int) -> None:
    rep = st.replica[r]
    stat = st.stat
    first, tokens = tokens_in(st, r, np.int64(1)), tokens_in(st, r, rep.steps)
    if rep.steps > 1:
        stat.acting = st.par.requests
        take_private(st, r, pages_needed(st, r, first, tokens))
    if rep.packet_n > 0:
        send_packets(st, r)
    if rep.waiting:
        stat.full_steps += rep.steps
        stat.full_tokens += contexts(st, r, rep.steps)
    rep.tick += rep.steps
    rep.step += tokens
    rep.context += rep.decoding * tokens
    stat.decode_tokens += rep.decoding * tokens
    heap = r * st.par.max_seqs
    while rep.decoding > 0 and st.heap[heap].key <= rep.tick:
        q = st.heap[heap].value
        heap_pop(st.heap, heap, rep.decoding)
        leave_decode(st, r, q)
        finish(st, r, q)


@kernel
def send_packets(st: State, r: Int) -> None:
    """First packets that became full during the step or leap which ends now (its steps are not yet counted)."""
    rep = st.replica[r]
    heap = packet_heap(st, r)
    while rep.packet_n > 0 and st.heap[heap].key <= rep.tick + rep.steps:
        steps = st.heap[heap].key - rep.tick
        st.request[st.heap[heap].value].first = st.stat.now if steps == rep.steps else rep.start + span(st, r, steps)
        heap_pop(st.heap, heap, rep.packet_n)
        rep.packet_n -= 1


@kernel
def finish(st: State, r: Int, q: Int) -> None:
    """Request q has its last token. Its output leaves reusable blocks if the trace names them; everything is given back."""
    rep = st.replica[r]
    req = st.request[q]
    st.stat.acting = q
    run_remove(st, r, q)
    rep.private -= req.pages
    req.pages = 0
    blocks = req.held + keep_output(st, r, q) if st.par.output_reuse else req.held
    if st.par.counts_uses:
        count_uses(st, r, q, blocks)
    if st.par.note_misses:
        note_output(st, q)
    release(st, r, q, blocks)
    req.state = DONE
    req.finish = st.stat.now
    st.stat.done += 1
    over(st, q, st.stat.now + st.par.response + req.network)


@kernel
def keep_output(st: State, r: Int, q: Int) -> Int:
    """Turn the whole blocks that the output of q completed into blocks of the pool, pinned; returns how many fit."""
    job = st.job[q]
    first = job.block + job.prompt_blocks
    for i in range(job.output_blocks):
        obj = np.int64(st.blocks[first + i])
        use(st, q, obj, job.prompt_blocks + i)
        slot = find(st, r, obj)
        if slot != 0:
            reference(st, r, slot)
        elif available_pages(st, r) >= st.par.unit_pages:
            complete_block(st, r, obj)
            if st.par.copies:
                copy_down(st, r, obj, np.int64(0))
        else:
            return i
    return np.int64(job.output_blocks)
