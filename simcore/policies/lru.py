"""Least recently used: evict the object whose last use ended longest ago.

A pinned object is in use and therefore in no place of the order; it becomes the newest when its last pin goes. This is the free
queue of vLLM's block pool (Kwon et al., SOSP 2023, arXiv 2309.06180): a sequence that gives back its blocks tail first makes
the tail the first to go. Without pins it is textbook LRU.
"""

from __future__ import annotations

from simcore.kernel import Int, Slot, State, kernel, list_clear, list_head, list_insert, list_move, list_unlink, pinned

FIELDS = ()
NEEDS: frozenset[str] = frozenset()
INSERTION_ORDER_WITHOUT_HITS = True


@kernel
def init(st: State, s: Int) -> None:
    list_clear(st, list_head(st, s, 0))


@kernel
def on_hit(st: State, s: Int, i: Slot) -> None:
    if not pinned(st, i):
        list_move(st, i, list_head(st, s, 0))


@kernel
def on_miss(st: State, s: Int, obj: Int) -> None:
    pass


@kernel
def choose_victim(st: State, s: Int) -> Slot:
    return st.node[list_head(st, s, 0)].next


@kernel
def on_insert(st: State, s: Int, i: Slot) -> None:
    list_insert(st, i, list_head(st, s, 0))


@kernel
def on_evict(st: State, s: Int, i: Slot) -> None:
    list_unlink(st, i)
