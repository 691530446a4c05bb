"""Memory of a replica's HBM: pages held by blocks, by private tokens (prompt tails, outputs), and free.

A sequence holds `held` blocks of its prompt, from the first on; the tokens behind them are private, in pages of their own. A
block keeps all its pages even when it is a prompt's partly filled last one: private tokens start on a fresh page.
"""

from __future__ import annotations

import numpy as np

from simcore.kernel import Int, Slot, kernel
from simcore.serving.state import NO_VICTIM, State

from .order import QUOTAS, act_for_user, on_miss
from .shares import own_victim, quota_reached
from .stores import fetch_next, find, insert, remove, victim
from .transfer import copy_down, demote


@kernel
def free_pages(st: State, r: Int) -> Int:
    return st.par.pool_pages - st.replica[r].private - st.par.unit_pages * st.store[r].count


@kernel
def available_pages(st: State, r: Int) -> Int:
    """Free pages, and those of blocks that may be evicted."""
    return free_pages(st, r) + st.par.unit_pages * st.store[r].idle


@kernel
def covered_tokens(st: State, q: Int, blocks: Int) -> Int:
    """Tokens of the prompt of q that its first `blocks` blocks hold."""
    return min(blocks * st.par.unit, np.int64(st.job[q].prompt))


@kernel
def private_pages(st: State, q: Int, tokens: Int, blocks: Int) -> Int:
    """Pages that the tokens behind the first `blocks` blocks need."""
    return (tokens - covered_tokens(st, q, blocks) + st.par.page - 1) // st.par.page


@kernel
def sequence_pages(st: State, q: Int, tokens: Int) -> Int:
    """Pages of q with `tokens` tokens, its whole prompt among them."""
    blocks = np.int64(st.job[q].prompt_blocks)
    return st.par.unit_pages * blocks + private_pages(st, q, tokens, blocks)


@kernel
def evict(st: State, r: Int) -> None:
    """Evict one block of the pool; the caller knows that one is unpinned."""
    i = victim(st, r)
    if i == 0:
        st.stat.fault = NO_VICTIM
        return
    evict_block(st, r, i)


@kernel
def evict_block(st: State, r: Int, i: Slot) -> None:
    obj = np.int64(st.node[i].obj)
    ready = st.node[i].ready
    if st.par.tiers > 0:
        fetch_next(st, r, st.tier[st.par.replicas + r].store, i)
    remove(st, r, i)
    demote(st, r, np.int64(0), obj, ready)


@kernel
def make_room(st: State, r: Int, pages: Int) -> None:
    """Evict until `pages` pages are free; the caller knows that they are available."""
    short = pages - free_pages(st, r)
    while short > 0 and st.stat.fault == 0:
        evict(st, r)
        short -= st.par.unit_pages


@kernel
def take_private(st: State, r: Int, pages: Int) -> None:
    make_room(st, r, pages)
    st.replica[r].private += pages


@kernel
def add_block(st: State, r: Int, obj: Int, ready: Int) -> None:
    """Block `obj`, absent, enters the pool and is pinned; the caller knows that there is room."""
    on_miss(st, r, obj)
    if QUOTAS:
        while quota_reached(st, r, obj) and own_victim(st, r, obj) != 0:  # what runs may exceed it
            evict_block(st, r, own_victim(st, r, obj))
    make_room(st, r, st.par.unit_pages)
    insert(st, r, obj, ready, np.int64(1))
    if st.par.counts_uses:
        st.uses[find(st, r, obj)] = 0


@kernel
def complete_block(st: State, r: Int, obj: Int) -> None:
    """Block `obj`, absent, is or will be computed: it enters the pool, pinned. Copies of it are up to the caller."""
    add_block(st, r, obj, np.int64(0))
    st.store[r].in_computed += 1


@kernel
def defer_copies(st: State, r: Int, obj: Int) -> None:
    """Block `obj` is there when the step being composed has ended; then tiers written through get it. Until then the sequence
    that computes it keeps it pinned: nothing is preempted once a step has prefill in it."""
    rep = st.replica[r]
    st.completed[r * st.par.budget + rep.completed_n] = obj  # one block at most for each token of the step
    rep.completed_n += 1


@kernel
def copy_completed(st: State, r: Int) -> None:
    """The step has ended: copy the blocks that its prefill completed to the tiers written through, in order of completion."""
    rep = st.replica[r]
    for i in range(rep.completed_n):
        obj = np.int64(st.completed[r * st.par.budget + i])
        act_for_user(st, obj)
        copy_down(st, r, obj, np.int64(0))
    rep.completed_n = 0
