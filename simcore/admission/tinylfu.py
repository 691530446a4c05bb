"""TinyLFU: a newcomer enters only if it was asked for more often lately than each object that would have to leave for it.

Einziger, Friedman and Manes, "TinyLFU: A Highly Efficient Cache Admission Policy", ACM Transactions on Storage 13(4), 2017,
section 3; the frequencies are those of `simcore.sketch`. At a tie the object in the cache stays. With sizes, which the paper
does not have, the newcomer meets its victims one by one; those it has beaten are gone when it loses. Where there is room, it
enters.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from simcore.kernel import Bool, Int, Slot, State, kernel
from simcore.sketch import SAMPLE_FACTOR, sketch_add, sketch_estimate, sketch_open, sketch_words
from simcore.specs.base import Spec

STORE_FIELDS = (("filter_words", np.uint64),)
NEEDS: frozenset[str] = frozenset()


class Params(Spec):
    """Parameters.

    Attributes:
        tinylfu_sample_factor: accesses between two halvings of the counters, for each object the cache can hold.
        tinylfu_doorkeeper: the first access to an object in a sample goes to a Bloom filter, not to the counters.
        tinylfu_conservative: only the smallest counters of an object are raised.
    """

    tinylfu_sample_factor: int = Field(SAMPLE_FACTOR, ge=1, le=10_000)
    tinylfu_doorkeeper: bool = False
    tinylfu_conservative: bool = False


def WORDS(slots: int, n_objects: int) -> int:
    return sketch_words(slots)


@kernel
def init(st: State, s: Int) -> None:
    store = st.store[s]
    at = store.filter_words
    sketch_open(st, at, store.slots, store.tinylfu_sample_factor, store.tinylfu_doorkeeper, store.tinylfu_conservative)


@kernel
def on_access(st: State, s: Int, obj: Int) -> None:
    sketch_add(st, st.store[s].filter_words, obj)


@kernel
def admit(st: State, s: Int, obj: Int) -> Bool:
    return True


@kernel
def prefer(st: State, s: Int, obj: Int, i: Slot) -> Bool:
    at = st.store[s].filter_words
    return sketch_estimate(st, at, obj) > sketch_estimate(st, at, st.node[i].obj)
