"""Sequences that move whole: a preempted one's pages over the host link to swap space and back; a prefilled one's from its
prefill replica to the decode replica that goes on with it."""

from __future__ import annotations

import numpy as np

from simcore.kernel import Int, kernel
from simcore.serving.state import LATEST, LOADING, NONE, State

from .heap import heap_push
from .pool import add_block, private_pages, take_private
from .stores import find, unpin
from .transfer import copy_down


@kernel
def swap_heap(st: State, r: Int) -> Int:
    """Base of the heap of replica r's sequences on their way back, by the time they are there; behind the first packets."""
    return (3 * st.par.replicas + r) * st.par.max_seqs + st.par.requests


@kernel
def move_pages(st: State, link_number: Int, at: Int, time: Int) -> Int:
    """Queue pages, there at time `at`, that take `time` together; returns when they have arrived."""
    link = st.link[link_number]
    link.free = min(max(at, link.free) + time, LATEST)
    return link.free + link.latency


@kernel
def swap_out(st: State, r: Int, q: Int) -> None:
    """Request q, just off the books of decoding, goes to swap space whole if there is room; its memory is free at once."""
    par = st.par
    rep = st.replica[r]
    req = st.request[q]
    pages = par.unit_pages * req.held + req.pages
    if rep.swap_used + pages > par.swap_pages:
        return
    rep.swap_used += pages
    req.swapped = pages
    req.copied = move_pages(st, st.tier[r].write, st.stat.now, pages * par.swap_write)
    st.stat.swaps += 1
    st.stat.swapped_out += pages


@kernel
def look_up_swapped(st: State, r: Int, q: Int) -> None:
    """Fill st.plan with which of q's blocks are still in the pool; the others come from swap space."""
    first = st.job[q].block
    st.found.hits = np.int64(st.job[q].prompt_blocks)
    for i in range(st.found.hits):
        slot = find(st, r, np.int64(st.blocks[first + i]))
        st.plan[i].slot = slot
        st.plan[i].tier = 0 if slot != 0 else st.par.tiers + 1


@kernel
def fetch_pages(st: State, r: Int, q: Int, pages: Int) -> Int:
    """Queue pages of request q on their way to replica r, from where they are; returns when they have arrived."""
    par = st.par
    req = st.request[q]
    if req.source != NONE:
        st.stat.handed_over += pages
        return move_pages(st, sending_link(st, req.source), st.stat.now, pages * par.hand_over)
    st.stat.swapped_in += pages
    return move_pages(st, st.tier[r].read, max(st.stat.now, req.copied), pages * par.swap_read)


@kernel
def sending_link(st: State, r: Int) -> Int:
    """The link out of prefill replica r; behind those of the stores."""
    return 2 * len(st.store) + r


@kernel
def count_uses(st: State, r: Int, q: Int, blocks: Int) -> None:
    """Request q, which is through, has used its first `blocks` blocks; tiers written selectively may now get some of them."""
    first = st.job[q].block
    for i in range(blocks):
        obj = np.int64(st.blocks[first + i])
        slot = find(st, r, obj)
        st.uses[slot] += np.uint32(1)
        copy_down(st, r, obj, np.int64(st.uses[slot]))


@kernel
def leave_source(st: State, q: Int) -> None:
    """The KV of request q has arrived where it decodes; the prefill replica gives its memory back."""
    req = st.request[q]
    r = req.source
    rep = st.replica[r]
    blocks = np.int64(st.job[q].prompt_blocks)
    st.stat.acting = q
    rep.private -= private_pages(st, q, np.int64(st.job[q].prompt), blocks)
    if st.par.counts_uses:
        count_uses(st, r, q, blocks)
    first = st.job[q].block
    for i in range(blocks - 1, -1, -1):
        unpin(st, r, find(st, r, np.int64(st.blocks[first + i])))
    rep.sending -= 1
    rep.blocked = NONE
    if rep.busy == 0:
        st.next[r] = min(st.next[r], st.stat.now)
    req.transfer = req.ready - req.left
    req.source = NONE


@kernel
def swap_in(st: State, r: Int, q: Int) -> None:
    """Bring back what of request q is not in the pool; its blocks there are pinned already, usable from st.found.ready."""
    par = st.par
    rep = st.replica[r]
    req = st.request[q]
    found = st.found
    first = st.job[q].block
    private = private_pages(st, q, req.computed, found.hits)
    pages = par.unit_pages * (found.hits - found.resident) + private
    if pages > 0:
        arrived = fetch_pages(st, r, q, pages)
        found.ready = max(found.ready, arrived)
        for i in range(found.hits):
            if st.plan[i].tier > 0:
                add_block(st, r, np.int64(st.blocks[first + i]), arrived)
                st.store[r].in_loaded += 1
        take_private(st, r, private)
    req.held = found.hits
    req.pages = private
    req.ready = found.ready
    req.load_start = st.stat.now
    if req.source == NONE:
        req.queue_again += st.stat.now - req.since
    req.state = LOADING
    heap_push(st.heap, swap_heap(st, r), rep.swap_n, req.ready, q)
    rep.swap_n += 1
