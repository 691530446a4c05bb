"""Blocks found below HBM: is loading them worth it, and the loading itself."""

from __future__ import annotations

import numpy as np

from simcore.kernel import Bool, Int, Slot, kernel
from simcore.serving.state import ALWAYS, LATEST, LOAD_WINDOW, NEVER_LOAD, NONE, THRESHOLD, State

from .order import on_hit
from .pool import add_block, covered_tokens
from .stores import find, reference, remove, unpin
from .transfer import demote, loaded_latency, send, still_recent, write, write_wait


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
        return tokens >= par.min_load and st.replica[r].queue_n + st.replica[r].load_n <= par.max_waiting
    wait = load_end(st, r) - leading_ready(st)
    if par.overlap > 0:
        rest = time_to_compute(st, q)
        wait = overlapped(st, rest, wait) - rest
    return wait <= recompute_time(st, q)


@kernel
def overlapped(st: State, compute: Int, load: Int) -> Int:
    """How long computing takes if each layer's part of the load must be there before that layer, and starts with it: a pipeline
    of `par.overlap` equal layers."""
    layers = st.par.overlap
    return max(compute + load // layers, load + compute // layers)


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
        device = st.link[st.tier[tier * replicas + r].read]
        st.plan_free[tier] = device.free
        st.plan_free[st.par.tiers + 1 + tier] = device.recent
    end = st.stat.now
    for i in range(st.found.hits):
        tier = st.plan[i].tier
        if tier > 0:
            number = st.tier[tier * replicas + r].read
            device = st.link[number]
            start = max(st.stat.now, st.node[st.plan[i].slot].ready, st.plan_free[tier])
            latency = device.latency
            if device.loaded > 0:
                k = st.par.tiers + 1 + tier
                recent = still_recent(st.plan_free[k], start - st.plan_free[tier])
                latency = loaded_latency(st, number, recent)
                st.plan_free[k] = still_recent(recent, device.block) + min(device.block, LOAD_WINDOW)
            st.plan_free[tier] = min(start + device.block, LATEST)
            host_free = min(max(st.plan_free[tier], host_free) + host.block, LATEST)
            end = max(end, host_free + latency + host.latency)
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
def time_to_compute(st: State, q: Int) -> Int:
    """The prefill of q behind its whole run, in steps of its own."""
    target = st.request[q].target
    done = min(covered_tokens(st, q, st.found.hits), target - 1)
    pairs = (target - done) * (target + done + 1) // 2
    return prefill_time(st, target - done) + np.int64(st.par.pair * pairs)


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
                on_hit(st, tier.store, plan.slot)
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
            if tier.inclusive:
                unpin(st, tier.store, plan.slot)
            add_block(st, r, np.int64(st.blocks[first + i]), arrived)
            st.store[r].in_loaded += 1
            st.found.ready = max(st.found.ready, arrived)


@kernel
def prefetch(st: State, r: Int, q: Int) -> None:
    """Request q has joined the queue: what of its prompt's run is below tier 1 is brought up into that."""
    st.stat.acting = q
    replicas = st.par.replicas
    first = st.job[q].block
    upper = st.store[st.tier[replicas + r].store]
    for i in range(st.job[q].prompt_blocks):
        obj = np.int64(st.blocks[first + i])
        k: Int = np.int64(0)
        slot = find(st, r, obj)
        while slot == 0 and k < st.par.tiers:
            k += 1
            slot = find(st, st.tier[k * replicas + r].store, obj)
        if slot == 0:
            return
        if k >= 2:
            if write_wait(st, r, k, np.int64(1)) > st.par.write_backlog or (upper.count >= upper.cap and upper.idle == 0):
                upper.writes_refused += 1
                return
            if not bring_up(st, r, k, obj, slot):
                return


@kernel
def bring_up(st: State, r: Int, k: Int, obj: Int, slot: Slot) -> Bool:
    """Block `obj` goes from tier k, where it is in `slot`, to tier 1, if that takes it."""
    tier = st.tier[k * st.par.replicas + r]
    upper: Int = np.int64(1)
    reference(st, tier.store, slot)
    at = send(st, tier.read, max(st.stat.now, st.node[slot].ready)) + st.link[tier.read].latency
    pushed, pushed_ready, accepted = write(st, r, k, upper, obj, at)
    unpin(st, tier.store, slot)
    if accepted:
        st.store[st.tier[st.par.replicas + r].store].in_loaded += 1
        if tier.inclusive == 0:
            remove(st, tier.store, slot)
            st.store[tier.store].out_promoted += 1
    if pushed != NONE:
        demote(st, r, upper, pushed, pushed_ready)
    return accepted
