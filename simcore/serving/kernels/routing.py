"""Which replica gets a request."""

from __future__ import annotations

import numpy as np

from simcore.kernel import Bool, Int, kernel
from simcore.serving.state import GORGO, LEAST_LOADED, NEVER, NONE, PREFIX_AWARE, ROUND_ROBIN, State

from .loading import prefill_time
from .pool import covered_tokens
from .stores import fetch, find


@kernel
def route(st: State, q: Int) -> Int:
    stat = st.stat
    router = st.par.router
    if router == ROUND_ROBIN:
        r = stat.routed % st.par.entries
        stat.routed += 1
        return r
    if router == LEAST_LOADED:
        return least_loaded(st, np.int64(0), st.par.entries)
    if router == PREFIX_AWARE:
        return longest_prefix(st, q)
    if router == GORGO:
        return least_cost(st, q)
    session = np.int64(st.job[q].session)
    if st.home[session] == NONE:
        st.home[session] = least_loaded(st, np.int64(0), st.par.entries)
    return st.home[session]


@kernel
def load_of(st: State, r: Int) -> Int:
    """Requests waiting on replica r, admitted, or on the way to it."""
    return st.replica[r].queue_n + st.replica[r].run_n + st.replica[r].travelling


@kernel
def least_loaded(st: State, first: Int, end: Int) -> Int:
    """Of replicas first .. end-1 the one with the lowest load, of equals the lowest number."""
    best: Int = first
    for r in range(first + 1, end):
        if load_of(st, r) < load_of(st, best):
            best = r
    return best


@kernel
def holds(st: State, r: Int, obj: Int) -> Bool:
    """Whether replica r has block `obj` in HBM or in a tier of its own."""
    if find(st, r, obj) != 0:
        return True
    for k in range(1, st.par.tiers + 1):
        tier = st.tier[k * st.par.replicas + r]
        if tier.shared == 0 and find(st, tier.store, obj) != 0:
            return True
    return False


@kernel
def prefix_on(st: State, r: Int, q: Int, least: Int) -> Int:
    """How many leading blocks of q's prompt replica r holds; any lower number if they are fewer than `least`."""
    first = st.job[q].block
    if least > 0 and not holds(st, r, np.int64(st.blocks[first + least - 1])):
        return np.int64(0)
    blocks = np.int64(0)
    while blocks < st.job[q].prompt_blocks and holds(st, r, np.int64(st.blocks[first + blocks])):
        blocks += 1
    return blocks


@kernel
def fetch_prefix(st: State, q: Int) -> None:
    """All stores are soon to be asked for the block at which most prompts part: the second."""
    if st.job[q].prompt_blocks > 1:
        for s in range(len(st.store)):
            fetch(st, s, np.int64(st.blocks[st.job[q].block + 1]))


@kernel
def longest_prefix(st: State, q: Int) -> Int:
    """The replica with the longest prefix, of equals the least loaded; the least loaded one if loads are out of balance or the
    prefix is too short."""
    idle = least_loaded(st, np.int64(0), st.par.entries)
    low = load_of(st, idle)
    high: Int = low
    for r in range(st.par.entries):
        high = max(high, load_of(st, r))
    if high - low > st.par.max_load_gap and high > st.par.max_load_ratio * low:
        return idle
    fetch_prefix(st, q)
    best: Int = np.int64(0)
    most = np.int64(-1)
    for r in range(st.par.entries):
        blocks = prefix_on(st, r, q, most)
        if blocks > most or (blocks == most and load_of(st, r) < load_of(st, best)):
            best = r
            most = blocks
    if covered_tokens(st, q, most) > st.par.min_match * st.job[q].prompt:
        return best
    return idle


@kernel
def least_cost(st: State, q: Int) -> Int:
    """The replica with the lowest sum of round trip, prefill of all that waits there and of q's tokens that it does not hold,
    and a share of the prefill of what runs there."""
    fetch_prefix(st, q)
    best: Int = np.int64(0)
    least = np.int64(NEVER)
    for r in range(st.par.entries):
        rep = st.replica[r]
        work = st.job[q].prompt - covered_tokens(st, q, prefix_on(st, r, q, np.int64(0)))
        cost = prefill_time(st, rep.work_waiting + work)
        cost += np.int64(st.par.running_weight * prefill_time(st, rep.work_running))
        if st.par.regions > 0:
            cost += 2 * one_way(st, r, q)
        if cost < least:
            least = cost
            best = r
            st.request[q].work = work
    return best


@kernel
def one_way(st: State, r: Int, q: Int) -> Int:
    """From the client of q to replica r, or back."""
    return st.one_way[st.client[q] * st.par.regions + st.replica[r].region]
