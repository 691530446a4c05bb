"""Links, and the moves of blocks between stores.

A link is a queue: one block after the other, each for `link.block` picoseconds. Row 0 of `st.tier` holds a replica's host link,
which everything between its GPU and a lower tier passes; row k the device link of tier k.
"""

from __future__ import annotations

import numpy as np

from simcore.kernel import Bool, Int, kernel
from simcore.serving.state import (
    BACKED_UP,
    CAPACITY,
    IN_FLIGHT,
    LATEST,
    LOAD_LEVELS,
    LOAD_WINDOW,
    NONE,
    NOT_WRITTEN,
    ON_EVICTION,
    REFUSED,
    State,
)

from .order import QUOTAS, on_miss
from .shares import own_victim, quota_reached
from .stores import fetch_next, find, insert, remove, victim

COVERED = 0  # a lower tier holds the block already


@kernel
def still_recent(busy: Int, time: Int) -> Int:
    """Of the time a link was busy in the last LOAD_WINDOW, what counts `time` later: the window forgets evenly."""
    return busy - busy * min(time, LOAD_WINDOW) // LOAD_WINDOW


@kernel
def loaded_latency(st: State, link_number: Int, busy: Int) -> Int:
    """Latency of a read that finds its link to have been busy for `busy` of the last LOAD_WINDOW."""
    return st.loaded[st.link[link_number].loaded + busy * LOAD_LEVELS // LOAD_WINDOW]


@kernel
def send(st: State, link_number: Int, at: Int) -> Int:
    """Queue one block, available at time `at`; returns when its last byte has passed (a clock that gets to LATEST stops).

    If the link's latency grows with its load, `latency` is this block's from then on.
    """
    link = st.link[link_number]
    start = max(at, link.free)
    if link.loaded > 0:
        recent = still_recent(link.recent, start - link.free)
        link.latency = loaded_latency(st, link_number, recent)
        link.recent = still_recent(recent, link.block) + min(link.block, LOAD_WINDOW)
    done = min(start + link.block, LATEST)
    link.free = done
    link.blocks += 1
    return done


@kernel
def write_wait(st: State, r: Int, j: Int, k: Int) -> Int:
    """How long a write from tier j to tier k would wait for its links."""
    wait = st.link[st.tier[k * st.par.replicas + r].write].free - st.stat.now
    if j == 0:
        wait = max(wait, st.link[st.tier[r].write].free - st.stat.now)
    return wait


@kernel
def write(st: State, r: Int, j: Int, k: Int, obj: Int, at: Int) -> tuple[Int, Int, Bool]:
    """Write block `obj` from tier j, available there at time `at`, to tier k, which lacks it.

    Returns the block it pushed out (or NONE), when that one is usable, and whether the write happened at all.
    """
    tier = st.tier[k * st.par.replicas + r]
    store = st.store[tier.store]
    pushed = np.int64(NONE)
    pushed_ready = np.int64(0)
    accepted = write_wait(st, r, j, k) <= st.par.write_backlog
    if st.par.note_misses:
        st.mark[obj] = CAPACITY if accepted else BACKED_UP
    if accepted:
        on_miss(st, tier.store, obj)
        own = quota_reached(st, tier.store, obj) if QUOTAS else False
        if own or store.count >= store.cap:
            i = own_victim(st, tier.store, obj) if own else victim(st, tier.store)
            if i == 0:
                accepted = False
            else:
                pushed = np.int64(st.node[i].obj)
                pushed_ready = st.node[i].ready
                fetch_next(st, tier.store, st.tier[min(k + 1, st.par.tiers) * st.par.replicas + r].store, i)
                remove(st, tier.store, i)
    if not accepted:
        if st.par.note_misses and st.mark[obj] == CAPACITY:
            st.mark[obj] = REFUSED
        store.writes_refused += 1
        return pushed, pushed_ready, False
    latency = st.link[tier.write].latency
    if j == 0:
        latency += st.link[st.tier[r].write].latency
        at = send(st, st.tier[r].write, at)
    insert(st, tier.store, obj, send(st, tier.write, at) + latency, np.int64(0))
    return pushed, pushed_ready, True


@kernel
def mark_lost(st: State, obj: Int) -> None:
    """Block `obj` leaves its store and nobody below takes it. What became of its last write to a lower tier says more."""
    if st.mark[obj] <= IN_FLIGHT:
        st.mark[obj] = NOT_WRITTEN if st.par.counts_uses else CAPACITY


@kernel
def home_below(st: State, r: Int, j: Int, obj: Int) -> Int:
    """The tier that takes a block leaving tier j: one that is written on eviction, COVERED if a copy is met first, or NONE."""
    for k in range(j + 1, st.par.tiers + 1):
        tier = st.tier[k * st.par.replicas + r]
        if find(st, tier.store, obj) != 0:
            return COVERED
        if tier.copy_after == ON_EVICTION:
            return k
    return NONE


@kernel
def demote(st: State, r: Int, j: Int, obj: Int, ready: Int) -> None:
    """Block `obj` has left tier j as a victim: it settles below or is lost, and so does the block it pushes out, and so on."""
    par = st.par
    while True:
        source = st.store[st.tier[j * par.replicas + r].store]
        k = home_below(st, r, j, obj)
        if k == COVERED:
            source.out_evicted += 1
            return
        if k == NONE:
            if st.par.note_misses:
                mark_lost(st, obj)
            source.out_dropped += 1
            return
        pushed, pushed_ready, accepted = write(st, r, j, k, obj, max(ready, st.stat.now))
        if not accepted:
            source.out_dropped += 1
            return
        source.out_evicted += 1
        st.store[st.tier[k * par.replicas + r].store].in_demoted += 1
        if pushed == NONE:
            return
        j = k
        obj = pushed
        ready = pushed_ready


@kernel
def copy_down(st: State, r: Int, obj: Int, uses: Int) -> None:
    """Copy block `obj`, which is in HBM, to every tier without it that is due one: just completed (`uses` 0), a tier written
    through; used so often, one written selectively. Each copy is made from the nearest tier above that has the block."""
    source: Int = np.int64(0)
    at = st.stat.now
    for k in range(1, st.par.tiers + 1):
        tier = st.tier[k * st.par.replicas + r]
        slot = find(st, tier.store, obj)
        if slot == 0 and tier.copy_after >= 0 and tier.copy_after <= uses and (tier.copy_after > 0) == (uses > 0):
            pushed, pushed_ready, accepted = write(st, r, source, k, obj, at)
            if accepted:
                st.store[tier.store].in_written += 1
                slot = find(st, tier.store, obj)
            if pushed != NONE:
                demote(st, r, k, pushed, pushed_ready)
        if slot != 0:
            source = k
            at = max(st.stat.now, st.node[slot].ready)
