"""The order of Belady's policies: which unpinned object is asked for again last.

Objects that are asked for again are in a heap by that time, the last at the top; each time belongs to one object. Those that
are not asked for again are in a list by last use and are the last of all. A hit leads from the soonest time to a later one, a
short way up the heap for an object that soon comes again.
"""

from __future__ import annotations

import numpy as np

import simcore.heap as heap
from simcore.heap import heap_push, heap_remove, heap_top, heap_update
from simcore.kernel import Int, Slot, State, kernel, list_clear, list_head, list_insert, list_remove, pinned

NEEDS: frozenset[str] = frozenset({"next_use"})
FIELDS = (*heap.FIELDS, ("due", np.int64))
STORE_FIELDS = heap.STORE_FIELDS
WORDS, REALS = heap.words, heap.reals

NEVER = 1 << 62


@kernel
def clear(st: State, s: Int) -> None:
    list_clear(st, list_head(st, s, 0))


@kernel
def enter(st: State, s: Int, i: Slot) -> None:
    """Slot i comes into the order by its `due`."""
    due = st.node[i].due
    if due == NEVER:
        list_insert(st, i, list_head(st, s, 0))
    else:
        heap_push(st, s, i, -np.float64(due), 0.0)


@kernel
def use(st: State, s: Int, i: Slot) -> None:
    """The current access is to slot i."""
    due = st.event[0].next_use
    st.node[i].due = due
    if pinned(st, i):
        return
    if due != NEVER and st.node[i].place != np.uint32(0):
        heap_update(st, s, i, -np.float64(due), 0.0)
    else:
        leave(st, s, i)
        enter(st, s, i)


@kernel
def leave(st: State, s: Int, i: Slot) -> None:
    """Slot i goes out of the order."""
    list_remove(st, i)
    heap_remove(st, s, i)


@kernel
def last(st: State, s: Int) -> Slot:
    """The slot asked for again last; there is one."""
    head = list_head(st, s, 0)
    i = st.node[head].next
    return i if i != head else heap_top(st, s)
