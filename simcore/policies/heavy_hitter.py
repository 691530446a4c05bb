"""Heavy hitters: half of the budget for what entered last, half for what was used most.

Zhang et al., "H2O: Heavy-Hitter Oracle for Efficient Generative Inference of Large Language Models", NeurIPS 2023, arXiv
2306.14048, section 4 and algorithm 1: a token collects the attention it is given while it is kept; when a new token enters,
the one that collected least is evicted, and the most recent tokens, half of the budget, are exempt. Here a token is a whole
object (a KV block, an embedding row) and each access to it, the one with which it enters included, weighs 1.

As in the paper, "recent" goes by order of entry and an evicted object's weight is forgotten; the newcomer counts as recent,
so room for it is made in the recent share before the least weight is looked for. Among equal weights the object that entered
first leaves, where the paper leaves the choice to the sort.

Deviations: `half_life` lets old accesses count less; 0, the default, is the paper's sum, which favours what has been kept
long (AhaKV, arXiv 2506.03762). A newcomer always enters; with no recent share the paper would drop one that has least weight
at once. Where objects have sizes the shares are of bytes; weights are not.

Pins: a pinned object keeps its place in the recent share; one whose turn to be evicted comes is set aside until its release.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

import simcore.heap as heap
from simcore.heap import heap_holds, heap_key, heap_push, heap_remove, heap_scale, heap_top, heap_turn, heap_update
from simcore.kernel import (
    Int,
    Slot,
    State,
    incoming_size,
    kernel,
    list_clear,
    list_head,
    list_insert,
    list_remove,
    pinned,
    size_of,
)
from simcore.specs.base import Spec

FIELDS = (*heap.FIELDS, ("recent", np.uint8), ("weight", np.float64))
STORE_FIELDS = (
    *heap.STORE_FIELDS,
    ("recent_units", np.int64),
    ("turn", np.int64),
    ("access_weight", np.float64),  # of the next access: grows where older accesses should count less
    ("growth", np.float64),
)
NEEDS: frozenset[str] = frozenset()
INSERTION_ORDER_WITHOUT_HITS = True
WORDS, REALS = heap.words, heap.reals

RECENT = 0
MOST = 2.0**500  # an access weighs no more; before that all weights are scaled down


class Params(Spec):
    """Parameters.

    Attributes:
        recent_share: of the capacity, for the objects that entered last.
        half_life: accesses (that hit or entered) after which an access counts half; 0: it counts for ever.
    """

    recent_share: float = Field(default=0.5, ge=0, le=1)
    half_life: float = Field(default=0.0, ge=0, allow_inf_nan=False)


@kernel
def init(st: State, s: Int) -> None:
    list_clear(st, list_head(st, s, RECENT))
    st.store[s].access_weight = 1.0
    st.store[s].growth = 1.0
    if st.store[s].half_life > 0:
        # 64 half-lives a step are as good as more
        st.store[s].growth = 2.0 ** min(1.0 / st.store[s].half_life, 64.0)


@kernel
def on_hit(st: State, s: Int, i: Slot) -> None:
    st.node[i].weight += st.store[s].access_weight
    _pass_time(st, s)


@kernel
def on_miss(st: State, s: Int, obj: Int) -> None:
    pass


@kernel
def choose_victim(st: State, s: Int) -> Slot:
    head = list_head(st, s, RECENT)
    most = np.int64(st.store[s].recent_share * np.float64(st.store[s].cap)) - incoming_size(st)
    while True:
        i = heap_top(st, s)
        oldest = st.node[head].next
        if oldest != head and (st.store[s].recent_units > most or i == np.uint32(0)):
            _grow_old(st, s, oldest)
        elif pinned(st, i):
            heap_remove(st, s, i)
        elif heap_key(st, s, i) != st.node[i].weight:
            heap_update(st, s, i, st.node[i].weight, heap_turn(st, s, i))
        else:
            return i


@kernel
def on_insert(st: State, s: Int, i: Slot) -> None:
    st.node[i].weight = st.store[s].access_weight
    st.node[i].recent = 1
    st.node[i].place = 0
    st.store[s].recent_units += size_of(st, i)
    list_insert(st, i, list_head(st, s, RECENT))
    _pass_time(st, s)


@kernel
def on_evict(st: State, s: Int, i: Slot) -> None:
    if st.node[i].recent:
        list_remove(st, i)
        st.store[s].recent_units -= size_of(st, i)
    else:
        heap_remove(st, s, i)


@kernel
def on_pin(st: State, s: Int, i: Slot) -> None:
    pass


@kernel
def on_release(st: State, s: Int, i: Slot) -> None:
    if not st.node[i].recent and not heap_holds(st, i):
        _compete(st, s, i)


@kernel
def _grow_old(st: State, s: Int, i: Slot) -> None:
    """A recent object loses its exemption."""
    list_remove(st, i)
    st.node[i].recent = 0
    st.store[s].recent_units -= size_of(st, i)
    if not pinned(st, i):
        _compete(st, s, i)


@kernel
def _compete(st: State, s: Int, i: Slot) -> None:
    heap_push(st, s, i, st.node[i].weight, np.float64(st.store[s].turn))
    st.store[s].turn += 1


@kernel
def _pass_time(st: State, s: Int) -> None:
    st.store[s].access_weight *= st.store[s].growth
    if st.store[s].access_weight > MOST:
        _scale_down(st, s)


@kernel
def _scale_down(st: State, s: Int) -> None:
    """Weights compare as before; those too small for a number become equal."""
    st.store[s].access_weight /= MOST
    first = np.uint64(st.store[s].first)
    for k in range(np.uint64(st.store[s].slots)):
        st.node[first + k].weight /= MOST
    heap_scale(st, s, 1.0 / MOST)
