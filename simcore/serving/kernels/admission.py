"""Admission of the head of a queue: what of its prompt is found where, load or recompute, does it fit, take it."""

from __future__ import annotations

import numpy as np

from simcore.kernel import Bool, Int, kernel
from simcore.serving.state import LOADING, NO_PREFETCH, NONE, PREFILL, TIMEOUT, WAIT, State

from .heap import heap_push
from .loading import load, worth_loading
from .misses import note_missed
from .order import use
from .pool import available_pages, covered_tokens, sequence_pages
from .queues import queue_pop, run_append
from .rooms import take_room
from .sequences import loading_heap
from .stores import find, reference
from .swapping import look_up_swapped, swap_in


@kernel
def look_up(st: State, r: Int, q: Int) -> None:
    """Fill st.plan with where the leading run of q's blocks is, and st.found with the run's length.

    With `recompute_last`, a run that covers all the tokens to compute ends one block earlier.
    """
    par = st.par
    limit = np.int64(st.job[q].prompt_blocks)
    if par.recompute_last and covered_tokens(st, q, limit) >= st.request[q].target:
        limit -= 1
    first = st.job[q].block
    hits = np.int64(0)
    while hits < limit:
        obj = np.int64(st.blocks[first + hits])
        tier = np.int64(0)
        slot = find(st, r, obj)
        while slot == 0 and tier < par.tiers:
            tier += 1
            slot = find(st, st.tier[tier * par.replicas + r].store, obj)
        if slot == 0:
            break
        st.plan[hits].tier = tier
        st.plan[hits].slot = slot
        hits += 1
    st.found.hits = hits
    st.found.run = hits
    count_resident(st)


@kernel
def leave_behind(st: State, q: Int) -> None:
    """The run ends before the first block below HBM that is not there by the time that the prefetch rule allows."""
    latest = st.stat.now
    if st.par.prefetch == WAIT:
        return
    if st.par.prefetch == TIMEOUT:
        latest = max(latest, st.request[q].arrival + st.par.prefetch_timeout)
    for i in range(st.found.hits):
        if st.plan[i].tier > 0 and st.node[st.plan[i].slot].ready > latest:
            st.found.hits = i
            count_resident(st)
            return


@kernel
def count_resident(st: State) -> None:
    """Of the run in st.plan: blocks in HBM before the first that is not, blocks in HBM, and those nobody pins."""
    found = st.found
    found.leading = 0
    found.resident = 0
    found.idle = 0
    for i in range(found.hits):
        if st.plan[i].tier == 0:
            if found.resident == i:
                found.leading += 1
            found.resident += 1
            if st.node[st.plan[i].slot].pins == 0:
                found.idle += 1


@kernel
def admit(st: State, r: Int) -> Bool:
    """Admit the head of the queue if its whole prompt fits; it is then current or loading. False: it is marked blocked."""
    par = st.par
    rep = st.replica[r]
    found = st.found
    q = rep.queue_head
    req = st.request[q]
    req.target = st.job[q].prompt + req.generated
    if req.swapped > 0:
        look_up_swapped(st, r, q)
        count_resident(st)
    else:
        find_run(st, r, q)
    tokens = st.job[q].prompt + st.job[q].output - 1 if par.reserve else req.target
    if par.reserve or req.swapped > 0:
        tokens += par.spare_tokens  # that what comes back has room for its next step
    needed = sequence_pages(st, q, tokens) - par.unit_pages * found.resident
    promised = reserved_pages(st, r) if par.reserve else rep.promised
    fits = needed <= available_pages(st, r) - par.unit_pages * found.idle - promised
    if not fits or (par.contiguous and not take_room(st, r, q)):
        rep.blocked = q
        return False
    queue_pop(st, r)
    run_append(st, r, q)
    if req.swapped == 0:
        count_hits(st, r, q)
    st.stat.acting = q
    take_blocks(st, r, q)
    return True


@kernel
def find_run(st: State, r: Int, q: Int) -> None:
    """What of q's prompt will be used: what is found, as far as prefetch and the load rule go."""
    found = st.found
    look_up(st, r, q)
    if st.par.prefetch != NO_PREFETCH:
        leave_behind(st, q)
    if found.resident < found.hits and not worth_loading(st, r, q):
        found.hits = found.leading
        count_resident(st)


@kernel
def reserved_pages(st: State, r: Int) -> Int:
    """Pages that the admitted requests will still take until they have all their tokens."""
    pages = -st.replica[r].private
    q = st.replica[r].run_tail
    while q != NONE:
        job = st.job[q]
        pages += (
            sequence_pages(st, q, job.prompt + job.output - 1 + st.par.spare_tokens) - st.par.unit_pages * st.request[q].held
        )
        q = st.request[q].run_prev
    return pages


@kernel
def take_blocks(st: State, r: Int, q: Int) -> None:
    """Pin the found blocks, loading those below HBM."""
    found = st.found
    req = st.request[q]
    found.ready = st.stat.now
    first = st.job[q].block
    for i in range(found.hits):
        use(st, q, np.int64(st.blocks[first + i]), i)
        if st.plan[i].tier == 0:
            slot = st.plan[i].slot
            reference(st, r, slot)
            found.ready = max(found.ready, st.node[slot].ready)
    if req.swapped > 0:
        swap_in(st, r, q)
        return
    if found.resident < found.hits:
        load(st, r, q)
    req.held = found.hits
    req.computed = min(covered_tokens(st, q, found.hits), req.target - 1)
    rep = st.replica[r]
    req.ready = found.ready
    if found.ready <= st.stat.now or st.par.overlap > 0:
        req.state = PREFILL
        rep.current = q
    else:
        req.state = LOADING
        req.load_start = st.stat.now
        rep.promised += sequence_pages(st, q, req.target) - st.par.unit_pages * req.held
        heap_push(st.heap, loading_heap(st, r), rep.load_n, req.ready, q)
        rep.load_n += 1


@kernel
def count_hits(st: State, r: Int, q: Int) -> None:
    """Each tier is asked for the blocks that the tiers above it did not have. First admissions are counted apart."""
    par = st.par
    req = st.request[q]
    again = req.preemptions > 0
    asked = np.int64(st.job[q].prompt_blocks)
    for tier in range(par.tiers + 1):
        hits = np.int64(0)
        tokens = np.int64(0)
        for i in range(st.found.hits):
            if st.plan[i].tier == tier:
                hits += 1
                tokens += covered_tokens(st, q, i + 1) - covered_tokens(st, q, i)
        store = st.store[st.tier[tier * par.replicas + r].store]
        if again:
            store.readmission_lookups += asked
            store.readmission_hits += hits
        else:
            store.lookups += asked
            store.hits += hits
            st.hit_tokens[q * (par.tiers + 1) + tier] = tokens
        asked -= hits
    if again:
        req.queue_again += st.stat.now - req.since
    else:
        req.admitted = st.stat.now
        if par.note_misses:
            note_missed(st, r, q)
    req.since = st.stat.now
