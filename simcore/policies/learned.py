"""Learned eviction: of a few candidates, evict the one that a model, trained on the recent past, expects to be used last.

In the manner of LRB (Song et al., "Learning Relaxed Belady for Content Distribution Network Caching", NSDI 2020): features of
an object, a model trained again and again on a sliding window of the same trace, candidates drawn at random, the eviction of
the one whose next use is predicted furthest ahead, waits beyond twice Belady's boundary being all one. Features: age (touches
since the last use), the last gap between uses, the gap before it, how often it was used, its size, its depth in the request.
Model: `simcore.learning`, a forest of extremely randomised trees by scikit-learn, walked inside the kernel; it is trained as
soon as a quarter of WINDOW touches is new, on the last WINDOW of them.

Deviations from LRB: half of the candidates are the least recently used objects, the others random (one may be drawn twice); the
boundary comes from Little's law; two gaps and a count take the place of 32 gaps and ten decayed counters; trees are few and
shallow, and no gradient is boosted. What is remembered of an object is not forgotten outside the window. Until there is a
first forest the least recently used object is evicted. Of equal predictions the object used longest ago goes.

Pins: a pinned object is no candidate; released, it is the newest, with what is known of its uses.

On prefix chains it is no use: it does not know that a block is worth nothing without those before it, evicts heads before
tails, and falls below LRU in large caches (experiments/04_policies_on_real_traces).

Training costs time that a real cache would spend too: a replay reports it. It takes place between chunks of a replay, whose
ends are those of the warm-up and multiples of LEARN_EVERY accesses, in one thread, and draws nothing from the replay's seed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from pydantic import Field

from simcore.kernel import (
    Int,
    Slot,
    State,
    about,
    incoming_size,
    kernel,
    list_clear,
    list_head,
    list_insert,
    list_remove,
    pinned,
    random_below,
    size_of,
)
from simcore.learning import DEPTH, FOREST_NUMBERS, SPLITS, TREE_NUMBERS, TREES, Window, train
from simcore.specs.base import Spec

FIELDS = (("place", np.uint32), ("depth_seen", np.float64))
STORE_FIELDS = (("candidates_n", np.int64), ("logged", np.int64), ("learned_at", np.int64), ("trained", np.int64))
OBJECT_FIELDS = (("last_use", np.int64), ("uses", np.float64), ("gap", np.float64), ("gap_before", np.float64))
NEEDS = frozenset({"clock", "depth"})
ONE_STORE_ONLY = True  # a window for each of many sets would learn nothing

WINDOW = 1 << 17  # touches
LEARN_EVERY = 1 << 14
COLUMNS = 7  # of the log: object, clock, size, and the features of the touch: gap, gap before, uses, depth
UNKNOWN_GAP = 64.0  # of an object used too seldom, beyond every log2(1 + gap)
FEATURES = 6  # age, gap, gap before, uses, size, depth; all but depth as log2(1 + x)


class Params(Spec):
    """Parameters.

    Attributes:
        candidates: objects looked at for each eviction.
    """

    candidates: int = Field(32, ge=1, le=4096)


def WORDS(slots: int, n_objects: int) -> int:
    return slots  # the residents without gaps, to draw from


def REALS(slots: int, n_objects: int) -> int:
    return FOREST_NUMBERS + FEATURES + WINDOW * COLUMNS


def learn(st: Any) -> bool:
    """Train on the last WINDOW touches, or all there are, if a quarter of a window is new; whether that gave a forest."""
    store = st.store[0]
    if store.logged - store.learned_at < WINDOW // 4:
        return False
    store.learned_at = store.logged
    log = st.reals[FOREST_NUMBERS + FEATURES :].reshape(WINDOW, COLUMNS)
    log = np.roll(log, -int(store.logged % WINDOW), axis=0)[-int(store.logged) :]
    features = np.column_stack([log[:, 3:6], np.log2(1.0 + log[:, 2]), log[:, 6]])
    window = Window(log[:, 0].astype(np.int64), log[:, 1].astype(np.int64), log[:, 2], features)
    forest = train(window, float(store.cap), seed=int(store.logged) % 2**31)
    if forest is not None:
        st.reals[:FOREST_NUMBERS] = forest
        store.trained = 1
    return forest is not None


@kernel
def init(st: State, s: Int) -> None:
    list_clear(st, list_head(st, s, 0))


@kernel
def on_hit(st: State, s: Int, i: Slot) -> None:
    _used(st, s, st.node[i].obj, size_of(st, i))
    st.node[i].depth_seen = st.event[0].depth
    if not pinned(st, i):
        list_remove(st, i)
        list_insert(st, i, list_head(st, s, 0))


@kernel
def on_miss(st: State, s: Int, obj: Int) -> None:
    _used(st, s, obj, incoming_size(st))


@kernel
def _used(st: State, s: Int, obj: Int, size: Int) -> None:
    """Remember the use of an object and write it into the log."""
    known = st.object[about(st, s, obj)]
    now = st.event[0].clock
    known.gap_before = known.gap
    known.gap = np.log2(1.0 + (now - known.last_use)) if known.uses > 0 else UNKNOWN_GAP
    if known.uses == 0:
        known.gap_before = UNKNOWN_GAP
    known.uses += 1.0
    known.last_use = now
    row = st.store[s].reals + np.uint64(FOREST_NUMBERS + FEATURES + (st.store[s].logged % WINDOW) * COLUMNS)
    st.reals[row] = obj
    st.reals[row + np.uint64(1)] = now
    st.reals[row + np.uint64(2)] = size
    st.reals[row + np.uint64(3)] = known.gap
    st.reals[row + np.uint64(4)] = known.gap_before
    st.reals[row + np.uint64(5)] = np.log2(1.0 + known.uses)
    st.reals[row + np.uint64(6)] = st.event[0].depth
    st.store[s].logged += 1


@kernel
def choose_victim(st: State, s: Int) -> Slot:
    oldest = st.node[list_head(st, s, 0)].next
    if st.store[s].trained == 0:
        return oldest
    n = st.store[s].candidates_n
    best = oldest
    best_score = -1.0
    best_use = np.int64(0)
    tail = oldest
    for k in range(min(st.store[s].candidates, n)):
        i = tail
        if k % 2:
            i = st.words[st.store[s].words + np.uint64(random_below(st, s, n))]
        else:
            tail = st.node[tail].next
            if tail == list_head(st, s, 0):
                tail = oldest
        score = _prediction(st, s, i)
        use = st.object[about(st, s, st.node[i].obj)].last_use
        if score > best_score or (score == best_score and use < best_use):
            best, best_score, best_use = i, score, use
    return best


@kernel
def _prediction(st: State, s: Int, i: Slot) -> float:
    """The wait until the next use of the object in slot i, as log2(1 + touches), summed over the trees."""
    reals = st.store[s].reals
    x = reals + np.uint64(FOREST_NUMBERS)
    known = st.object[about(st, s, st.node[i].obj)]
    st.reals[x] = np.log2(1.0 + (st.event[0].clock - known.last_use))
    st.reals[x + np.uint64(1)] = known.gap
    st.reals[x + np.uint64(2)] = known.gap_before
    st.reals[x + np.uint64(3)] = np.log2(1.0 + known.uses)
    st.reals[x + np.uint64(4)] = np.log2(1.0 + size_of(st, i))
    st.reals[x + np.uint64(5)] = st.node[i].depth_seen
    total = 0.0
    for tree in range(TREES):
        base = reals + np.uint64(tree * TREE_NUMBERS)
        place = 0
        for _ in range(DEPTH):
            feature = np.uint64(st.reals[base + np.uint64(place)])
            place = 2 * place + (1 if st.reals[x + feature] <= st.reals[base + np.uint64(SPLITS + place)] else 2)
        total += st.reals[base + np.uint64(SPLITS + place)]
    return total


@kernel
def on_insert(st: State, s: Int, i: Slot) -> None:
    st.node[i].depth_seen = st.event[0].depth
    on_release(st, s, i)


@kernel
def on_evict(st: State, s: Int, i: Slot) -> None:
    on_pin(st, s, i)


@kernel
def on_pin(st: State, s: Int, i: Slot) -> None:
    list_remove(st, i)
    last = st.store[s].candidates_n - 1
    st.store[s].candidates_n = last
    words = st.store[s].words
    moved = st.words[words + np.uint64(last)]
    st.words[words + np.uint64(st.node[i].place)] = moved
    st.node[moved].place = st.node[i].place


@kernel
def on_release(st: State, s: Int, i: Slot) -> None:
    list_insert(st, i, list_head(st, s, 0))
    n = st.store[s].candidates_n
    st.node[i].place = np.uint32(n)
    st.words[st.store[s].words + np.uint64(n)] = i
    st.store[s].candidates_n = n + 1
