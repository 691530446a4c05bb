"""Hyperbolic caching: of some objects drawn at random, evict that of least n / t, uses by time since it entered.

Blankstein, Sen and Freedman, "Hyperbolic Caching: Flexible Caching for Web Applications", USENIX ATC 2017: 64 are drawn for
each eviction, so that priorities need no order and may fall at a different rate for each object. Time counts the references
to the store. Draws are with replacement and come from the store's own generator: a seed gives the same victims. Of equal
objects the one drawn first goes. A store that holds no more unpinned objects than the sample has looks at each, in no order
of meaning.

Left out: the extensions of the paper (costs, classes of cost, windows, a first priority for newcomers). Sizes play no part,
as in libCacheSim, whose miss ratios are within half a point; it draws with another generator.

Pins: a pinned object cannot be drawn; it keeps its uses and the time it entered.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from simcore.kernel import Int, Slot, State, kernel, random_below
from simcore.specs.base import Spec

FIELDS = (("uses", np.float64), ("entered", np.float64), ("seat", np.uint32))
STORE_FIELDS = (("references", np.float64), ("seats", np.uint32))
NEEDS: frozenset[str] = frozenset()


class Params(Spec):
    """Parameters.

    Attributes:
        samples: objects drawn for each eviction.
    """

    samples: Annotated[int, Field(ge=1, le=65_536)] = 64


def WORDS(slots: int, n_objects: int) -> int:
    """The unpinned slots, in no order: seat k is word k."""
    return slots


@kernel
def init(st: State, s: Int) -> None:
    pass


@kernel
def on_hit(st: State, s: Int, i: Slot) -> None:
    st.store[s].references += 1.0
    st.node[i].uses += 1.0


@kernel
def on_miss(st: State, s: Int, obj: Int) -> None:
    st.store[s].references += 1.0


@kernel
def choose_victim(st: State, s: Int) -> Slot:
    seats = np.int64(st.store[s].seats)
    draws = st.store[s].samples
    every = seats <= draws
    if every:
        draws = seats
    base = st.store[s].words
    references = st.store[s].references
    best = np.uint32(0)
    uses, time = 1.0, 0.0
    for n in range(draws):
        seat = np.uint64(n) if every else np.uint64(random_below(st, s, seats))
        i = st.words[base + seat]
        i_uses, i_time = st.node[i].uses, references - st.node[i].entered
        if best == np.uint32(0) or i_uses * time < uses * i_time:  # times are 0 if room is made where nothing is missed
            best, uses, time = i, i_uses, i_time
    return best


@kernel
def on_insert(st: State, s: Int, i: Slot) -> None:
    st.node[i].uses = 1.0
    st.node[i].entered = st.store[s].references
    _sit(st, s, i)


@kernel
def on_evict(st: State, s: Int, i: Slot) -> None:
    _stand_up(st, s, i)


@kernel
def on_pin(st: State, s: Int, i: Slot) -> None:
    _stand_up(st, s, i)


@kernel
def on_release(st: State, s: Int, i: Slot) -> None:
    _sit(st, s, i)


@kernel
def _sit(st: State, s: Int, i: Slot) -> None:
    seat = st.store[s].seats
    st.store[s].seats = seat + np.uint32(1)
    st.words[st.store[s].words + np.uint64(seat)] = i
    st.node[i].seat = seat


@kernel
def _stand_up(st: State, s: Int, i: Slot) -> None:
    """The last takes the free seat."""
    seat = st.node[i].seat
    end = st.store[s].seats - np.uint32(1)
    st.store[s].seats = end
    last = st.words[st.store[s].words + np.uint64(end)]
    st.words[st.store[s].words + np.uint64(seat)] = last
    st.node[last].seat = seat
