"""Workload-aware eviction: evict what is least likely to be used again in a lifespan, given the kind of request that used it.

Wang et al., "KVCache Cache in the Wild: Characterizing and Optimizing KVCache Cache at a Large Cloud Provider", USENIX ATC
2025, arXiv 2506.02634, section 4.2: evict the least of

    Priority = (ReuseProb_w(t, life), -offset)        ReuseProb_w(t, life) = F_w(t + life) - F_w(t)

compared in this order, where t is the time since the block was last used, w the category of the request that used it, offset
its place in that request, and F_w the exponential distribution fitted to the reuse times seen in that category. How often a
block was used does not count. Within a category the least priority is that of the block used longest ago, so each category
has a queue and a choice compares their heads (figure 24 and "Performance optimization").

The fit, which the paper makes in the background from a sample of an hour, is made here from the accesses, to objects present
or absent, of the current and the previous `sample_s` seconds, before each 1,000th access (at first the 2nd, 3rd, 5th, 9th
...); after `learn_all` accesses, about a million, one object in eight is learnt from, chosen by a hash. F_w(x) = p_w (1 -
exp(-x / m_w)): p_w is the share of the category's uses that were followed by another, since the paper's curves count reuses
over all blocks of a category (figure 15), and m_w the mean time to it. One use with the averages over all categories is added
to each, for categories of which little is known. `life_s` is the paper's expected lifespan; 0: the mean time from the first
to the last use, so far, of the objects used more than once.

Where the paper is silent: blocks of one category used by different requests at the same instant are in order of use; between
heads of equal priority and offset the category seen first loses; a later block of a chain stays out if the least is an
earlier block that the same request has just used. Categories are taken modulo 64; the paper has "tens": request type and
turn. KV blocks of a request trace have tenant and turn, up to the eighth (`simcore.traces.blocks`). A trace without categories
is refused, as the authors' engine stays with LRU then; with one category it is LRU. Sizes do not enter the priority.

Pins: a pinned block is in no queue; released, it is the newest in that of its category, with the time of its last use.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from pydantic import Field

import simcore.chains as chains
from simcore.chains import chain_append, chain_clear, chain_needs, chain_oldest, chain_remove, chain_use
from simcore.kernel import Bool, Int, Slot, State, about, kernel, pinned
from simcore.specs.base import Spec

Real = Any
CATEGORIES = 64
REFIT = 1000  # accesses

# The last use of an object: its time, 1 + its category (0: there was none), and whether it was not the first.
FIELDS = (*chains.FIELDS, ("user", np.uint8), ("again", np.uint8), ("used_s", np.float64))
OBJECT_FIELDS = (("left_s", np.float64), ("left_user", np.uint8), ("left_again", np.uint8))  # of one that is absent
STORE_FIELDS = (
    ("categories", np.int64),  # seen so far
    ("sample_end_s", np.float64),
    ("seen", np.int64),  # accesses
    ("fit_at", np.int64),
    ("lived_s", np.float64),  # first to last use, summed over objects
    ("lives", np.int64),  # objects used again
)
NEEDS = chains.NEEDS | {"category", "time_s"}
MAY_REFUSE = True
INSERTION_ORDER_WITHOUT_HITS = False

# Numbers of a category: in the current sample and, three further, in the one before; then the fit.
USES, REUSES, WAITED_S = 0, 1, 2
BEFORE = 3
RATE, LEVEL = 6, 7  # log ReuseProb = LEVEL - RATE * t
NUMBERS = 8


class Params(Spec):
    """Parameters.

    Attributes:
        life_s: expected lifespan of an object, seconds; 0: as observed.
        sample_s: seconds of a sample; the fit uses the current one and the one before.
        learn_all: accesses after which only one object in eight is learnt from.
    """

    life_s: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    sample_s: float = Field(default=3600.0, gt=0, allow_inf_nan=False)
    learn_all: int = Field(default=1 << 20, ge=1)


def SPARE_NODES(slots: int, n_objects: int) -> int:
    return CATEGORIES  # heads of the queues


def WORDS(slots: int, n_objects: int) -> int:
    return 2 * CATEGORIES  # the categories as they were seen; then, of each, 1 if it was


def REALS(slots: int, n_objects: int) -> int:
    return NUMBERS * (CATEGORIES + 1)  # of each; before them, reuses of what was never used


@kernel
def init(st: State, s: Int) -> None:
    for c in range(CATEGORIES):
        chain_clear(st, _queue(st, s, c))
        st.reals[_number(st, s, c, RATE)] = 1.0  # least recently used, until there is something to fit
    st.store[s].fit_at = 1


@kernel
def on_hit(st: State, s: Int, i: Slot) -> None:
    _see(st, s)
    if _sampled(st, s, st.node[i].obj):
        _learn(st, s, st.node[i].user, st.node[i].used_s, st.node[i].again)
    if not pinned(st, i):
        chain_remove(st, i, _queue_of(st, s, i))
    _note_use(st, i)
    st.node[i].again = 1
    if not pinned(st, i):
        chain_use(st, i, _queue_of(st, s, i))


@kernel
def on_miss(st: State, s: Int, obj: Int) -> None:
    _see(st, s)
    if _sampled(st, s, obj):
        o = about(st, s, obj)
        _learn(st, s, st.object[o].left_user, st.object[o].left_s, st.object[o].left_again)
        st.object[o].left_again = st.object[o].left_user != np.uint8(0)
        st.object[o].left_user = np.uint8(_category(st) + np.uint32(1))
        st.object[o].left_s = st.event[0].time_s


@kernel
def choose_victim(st: State, s: Int) -> Slot:
    victim = np.uint32(0)
    least = math.inf
    for n in range(st.store[s].categories):
        c = st.words[st.store[s].words + np.uint64(n)]
        head = _queue(st, s, c)
        i = chain_oldest(st, head)
        if i == head:
            continue
        waited_s = max(0.0, st.event[0].time_s - st.node[i].used_s)
        log_prob = st.reals[_number(st, s, c, LEVEL)] - st.reals[_number(st, s, c, RATE)] * waited_s
        if victim == np.uint32(0) or log_prob < least or (log_prob == least and st.node[i].offset > st.node[victim].offset):
            victim = i
            least = log_prob
    head = _queue_of(st, s, victim)
    return np.uint32(0) if chain_needs(st, victim, head) else victim


@kernel
def on_insert(st: State, s: Int, i: Slot) -> None:
    _note_use(st, i)
    st.node[i].again = 0
    if _sampled(st, s, st.node[i].obj):
        st.node[i].again = st.object[about(st, s, st.node[i].obj)].left_again
    chain_use(st, i, _queue_of(st, s, i))


@kernel
def on_evict(st: State, s: Int, i: Slot) -> None:
    if _sampled(st, s, st.node[i].obj):
        o = about(st, s, st.node[i].obj)
        st.object[o].left_user = st.node[i].user
        st.object[o].left_s = st.node[i].used_s
        st.object[o].left_again = st.node[i].again
    chain_remove(st, i, _queue_of(st, s, i))


@kernel
def on_pin(st: State, s: Int, i: Slot) -> None:
    chain_remove(st, i, _queue_of(st, s, i))


@kernel
def on_release(st: State, s: Int, i: Slot) -> None:
    chain_append(st, i, _queue_of(st, s, i))


@kernel
def _category(st: State) -> Int:
    return np.uint32(st.event[0].category) % np.uint32(CATEGORIES)


@kernel
def _queue(st: State, s: Int, c: Int) -> Slot:
    return np.uint32(st.store[s].spare + np.uint32(c))


@kernel
def _queue_of(st: State, s: Int, i: Slot) -> Slot:
    return _queue(st, s, np.uint32(st.node[i].user) - np.uint32(1))


@kernel
def _note_use(st: State, i: Slot) -> None:
    st.node[i].user = np.uint8(_category(st) + np.uint32(1))
    st.node[i].used_s = st.event[0].time_s


@kernel
def _number(st: State, s: Int, c: Int, which: int) -> Int:
    """Index into `st.reals` of a number of category c."""
    return st.store[s].reals + np.uint64(NUMBERS) * (np.uint64(c) + np.uint64(1)) + np.uint64(which)


@kernel
def _see(st: State, s: Int) -> None:
    """An object is asked for, by whatever category; now and then, that is when the fit is made."""
    if st.store[s].seen == st.store[s].fit_at:
        st.store[s].fit_at += min(st.store[s].seen, REFIT)
        _fit(st, s)
    st.store[s].seen += 1
    c = _category(st)
    known = st.store[s].words + np.uint64(CATEGORIES) + np.uint64(c)
    if st.words[known] == np.uint32(0):
        st.words[known] = np.uint32(1)
        st.words[st.store[s].words + np.uint64(st.store[s].categories)] = c
        st.store[s].categories += 1


@kernel
def _sampled(st: State, s: Int, obj: Int) -> Bool:
    """Whether uses of the object are learnt from. An object no longer in the sample never comes back into it."""
    if st.store[s].seen <= st.store[s].learn_all:
        return True
    return np.uint32(np.uint32(obj) * np.uint32(0x9E3779B1)) >> np.uint32(29) == np.uint32(0)


@kernel
def _learn(st: State, s: Int, user: Int, used_s: float, again: Int) -> None:
    """A use by this category and, if the object was used before, a reuse for the category that used it."""
    now_s = st.event[0].time_s
    if now_s >= st.store[s].sample_end_s or st.store[s].seen == 1:
        _next_sample(st, s, now_s)
    known = user != np.uint8(0)  # without a branch, which would be hard to foresee
    waited_s = max(0.0, now_s - used_s) if known else 0.0
    a = _number(st, s, np.uint32(user), 0)  # of category user - 1; of a first use, where nobody looks
    st.reals[a - np.uint64(NUMBERS - REUSES)] += 1.0
    st.reals[a - np.uint64(NUMBERS - WAITED_S)] += waited_s
    st.store[s].lived_s += waited_s
    st.store[s].lives += np.int64(known) - np.int64(again)
    st.reals[_number(st, s, _category(st), USES)] += 1.0


@kernel
def _next_sample(st: State, s: Int, now_s: float) -> None:
    st.store[s].sample_end_s = now_s + st.store[s].sample_s
    for c in range(CATEGORIES):
        for which in range(BEFORE):
            a = _number(st, s, c, which)
            st.reals[a + np.uint64(BEFORE)] = st.reals[a]
            st.reals[a] = 0.0


@kernel
def _both(st: State, s: Int, c: Int, which: int) -> Real:
    a = _number(st, s, c, which)
    return st.reals[a] + st.reals[a + np.uint64(BEFORE)]


@kernel
def _fit(st: State, s: Int) -> None:
    uses, reuses, all_waited_s = 0.0, 0.0, 0.0
    for n in range(st.store[s].categories):
        c = st.words[st.store[s].words + np.uint64(n)]
        uses += _both(st, s, c, USES)
        reuses += _both(st, s, c, REUSES)
        all_waited_s += _both(st, s, c, WAITED_S)
    known = all_waited_s > 0.0
    life_s = st.store[s].life_s
    if life_s == 0.0 and known:
        life_s = st.store[s].lived_s / np.float64(st.store[s].lives)
    for n in range(st.store[s].categories):
        c = st.words[st.store[s].words + np.uint64(n)]
        rate, level = 1.0, 0.0
        if known:
            rate = (_both(st, s, c, REUSES) + 1.0) / (_both(st, s, c, WAITED_S) + all_waited_s / reuses)
            share = (_both(st, s, c, REUSES) + reuses / uses) / (_both(st, s, c, USES) + 1.0)
            level = math.log(share) + math.log(-math.expm1(-rate * life_s))
        st.reals[_number(st, s, c, RATE)] = rate
        st.reals[_number(st, s, c, LEVEL)] = level
