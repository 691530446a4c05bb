"""Prefill: chunks of prompts in a step, and the memory they complete."""

from __future__ import annotations

import numpy as np

from simcore.kernel import Bool, Int, kernel
from simcore.serving.state import NONE, State

from .admission import admit
from .heap import heap_pop
from .order import use
from .pool import available_pages, complete_block, defer_copies, private_pages, take_private
from .queues import ended_append
from .sequences import end_load, loading_heap
from .stores import fetch, find, reference

AHEAD = 8  # blocks


@kernel
def blocks_at(st: State, q: Int, tokens: Int) -> Int:
    """Blocks of q's prompt complete once `tokens` tokens are computed; a partly filled last one is with the prompt."""
    job = st.job[q]
    blocks = np.int64(job.prompt_blocks)
    return blocks if tokens >= job.prompt else min(tokens // st.par.unit, blocks)


@kernel
def fits(st: State, r: Int, q: Int, tokens: Int, blocks: Int) -> Bool:
    """Whether q, with `tokens` tokens in the first `blocks` blocks and private pages, fits without preempting anybody."""
    req = st.request[q]
    unit_pages = st.par.unit_pages
    room = available_pages(st, r) + req.pages - private_pages(st, q, tokens, blocks)
    if unit_pages * (blocks - req.held) <= room:
        return True
    first = st.job[q].block
    for i in range(req.held, blocks):  # only a block that others pin takes no room; an idle one will make none any more
        slot = find(st, r, np.int64(st.blocks[first + i]))
        if slot == 0 or st.node[slot].pins == 0:
            room -= unit_pages
    return room >= 0


@kernel
def chunk(st: State, r: Int, q: Int, left: Int) -> Int:
    """Put up to `left` tokens of q's prefill into the step; returns how many, 0 if they do not fit into memory."""
    rep = st.replica[r]
    req = st.request[q]
    start = req.computed
    stop = min(start + left, req.target)
    blocks = blocks_at(st, q, stop)
    if not fits(st, r, q, stop, blocks):
        return np.int64(0)
    st.stat.acting = q
    rep.private -= req.pages
    first = st.job[q].block
    for i in range(req.held, blocks):
        obj = np.int64(st.blocks[first + i])
        use(st, q, obj, i)
        fetch(st, r, np.int64(st.blocks[first + min(i + AHEAD, blocks - 1)]))
        slot = find(st, r, obj)
        if slot == 0:
            complete_block(st, r, obj)
            if st.par.copies:
                defer_copies(st, r, obj)
        else:
            reference(st, r, slot)
    req.held = blocks
    req.pages = private_pages(st, q, stop, blocks)
    take_private(st, r, req.pages)
    req.recomputed += max(min(stop, req.peak) - start, 0)
    if st.par.overlap > 0 and req.ready > st.stat.now:  # found behind what is still being loaded
        rep.load_until = max(rep.load_until, req.ready)
        req.load_start = st.stat.now
    req.computed = stop
    rep.pairs += (stop - start) * (start + stop + 1) // 2
    if stop == req.target:
        rep.current = NONE
        ended_append(st, r, q)
    return stop - start


@kernel
def next_prefill(st: State, r: Int) -> Int:
    """The admitted request whose prefill goes on now: the current one, else the first whose load has ended, else the queue's
    head, admitted here. NONE: there is none, or it is known not to fit."""
    rep = st.replica[r]
    while rep.current == NONE:
        heap = loading_heap(st, r)
        if rep.load_n > 0 and st.heap[heap].key <= st.stat.now:
            rep.current = st.heap[heap].value
            heap_pop(st.heap, heap, rep.load_n)
            end_load(st, r, rep.current)
        elif rep.queue_n == 0 or rep.blocked == rep.queue_head or rep.run_n >= st.par.max_seqs or not admit(st, r):
            return NONE
    return rep.current if rep.blocked != rep.current else NONE


@kernel
def prefills(st: State, r: Int) -> Int:
    """Fill what the decoding sequences leave of the step's budget with prefill; returns its tokens."""
    par = st.par
    rep = st.replica[r]
    budget = par.budget - rep.decoding * par.verified if par.chunked else par.budget
    tokens = np.int64(0)
    while tokens < budget:
        q = next_prefill(st, r)
        if q == NONE:
            break
        if par.chunked == 0 and tokens > 0 and st.request[q].target - st.request[q].computed > budget - tokens:
            break  # a whole prompt at a time; one longer than the budget has steps of its own
        taken = chunk(st, r, q, budget - tokens)
        if taken == 0:
            rep.blocked = q
            break
        tokens += taken
    return tokens
