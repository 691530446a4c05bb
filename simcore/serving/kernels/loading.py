"""Blocks found below HBM: is loading them worth it, and the loading itself."""

from __future__ import annotations

import numpy as np

from simcore.kernel import Bool, Int, kernel
from simcore.serving.state import ALWAYS, LATEST, NEVER_LOAD, THRESHOLD, State

from .pool import add_block, covered_tokens
from .stores import reference, remove, unpin
from .transfer import send


@kernel
def worth_loading(st: State, r: Int, q: Int) -> Bool:
    """The load rule, for a run (st.plan, st.found) that has blocks below HBM."""
    par = st.par
    if par.load_rule == ALWAYS:
        return True
    if par.load_rule == NEVER_LOAD:
        return False
    if par.load_rule == THRESHOLD:
        tokens = np.int64(0)
        for i in range(st.found.hits):
            if st.plan[i].tier > 0:
                tokens += covered_tokens(st, q, i + 1) - covered_tokens(st, q, i)
        return tokens >= par.min_load and st.replica[r].queue_n <= par.max_waiting
    return load_end(st, r) - leading_ready(st) <= recompute_time(st, q)


@kernel
def leading_ready(st: State) -> Int:
    """When the run's leading blocks in HBM are usable: both alternatives wait for those still on their way."""
    ready: Int = st.stat.now
    for i in range(st.found.leading):
        ready = max(ready, st.node[st.plan[i].slot].ready)
    return ready


@kernel
def load_end(st: State, r: Int) -> Int:
    """When the last block of the run would arrive, without moving anything: the arithmetic of `load`."""
    replicas = st.par.replicas
    host = st.link[st.tier[r].read]
    host_free = host.free
    for tier in range(1, st.par.tiers + 1):
        st.plan_free[tier] = st.link[st.tier[tier * replicas + r].read].free
    end = st.stat.now
    for i in range(st.found.hits):
        tier = st.plan[i].tier
        if tier > 0:
            device = st.link[st.tier[tier * replicas + r].read]
            at = max(st.stat.now, st.node[st.plan[i].slot].ready)
            st.plan_free[tier] = min(max(at, st.plan_free[tier]) + device.block, LATEST)
            host_free = min(max(st.plan_free[tier], host_free) + host.block, LATEST)
            end = max(end, host_free + device.latency + host.latency)
        else:
            end = max(end, st.node[st.plan[i].slot].ready)
    return end


@kernel
def prefill_time(st: State, tokens: Int) -> Int:
    """Steps that hold `tokens` tokens of prefill and nothing else, without attention."""
    budget = st.par.budget
    time = (tokens // budget) * st.lin[budget]
    if tokens % budget > 0:
        time += st.lin[tokens % budget]
    return time


@kernel
def recompute_time(st: State, q: Int) -> Int:
    """What the prefill of q takes longer if only the leading blocks in HBM are used, not the whole run."""
    target = st.request[q].target
    short = min(covered_tokens(st, q, st.found.leading), target - 1)
    long = min(covered_tokens(st, q, st.found.hits), target - 1)
    pairs = (long - short) * (long + short + 1) // 2
    return prefill_time(st, target - short) - prefill_time(st, target - long) + np.int64(st.par.pair * pairs)


@kernel
def load(st: State, r: Int, q: Int) -> None:
    """Move the run's blocks that are below HBM into the pool, pinned; st.found.ready becomes the last arrival.

    They are taken out of (exclusive) or pinned in (inclusive) their tiers before anything is evicted to make room.
    """
    replicas = st.par.replicas
    for i in range(st.found.hits):
        plan = st.plan[i]
        if plan.tier > 0:
            tier = st.tier[plan.tier * replicas + r]
            plan.ready = st.node[plan.slot].ready
            if tier.inclusive:
                reference(st, tier.store, plan.slot)
            else:
                remove(st, tier.store, plan.slot)
                st.store[tier.store].out_promoted += 1
    host = st.tier[r].read
    first = st.job[q].block
    for i in range(st.found.hits):
        plan = st.plan[i]
        if plan.tier > 0:
            tier = st.tier[plan.tier * replicas + r]
            arrived = send(st, tier.read, max(st.stat.now, plan.ready))
            arrived = send(st, host, arrived) + st.link[tier.read].latency + st.link[host].latency
            add_block(st, r, np.int64(st.blocks[first + i]), arrived)
            st.store[r].in_loaded += 1
            st.found.ready = max(st.found.ready, arrived)
            if tier.inclusive:
                unpin(st, tier.store, plan.slot)
