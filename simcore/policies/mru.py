"""Most recently used: evict the object used last, the right choice when objects are scanned over and over in the same order.

Chou and DeWitt, "An Evaluation of Buffer Management Strategies for Relational Database Systems" (VLDB 1985), for loops over
more pages than fit. A newcomer pushes out the last object used before it. A pinned object is in use and therefore in no place
of the order; it becomes the newest when its last pin goes. There is no deviation.
"""

from __future__ import annotations

from simcore.kernel import Int, Slot, State, kernel, list_clear, list_head, list_insert, list_remove, pinned

FIELDS = ()
NEEDS: frozenset[str] = frozenset()


@kernel
def init(st: State, s: Int) -> None:
    list_clear(st, list_head(st, s, 0))


@kernel
def on_hit(st: State, s: Int, i: Slot) -> None:
    if not pinned(st, i):
        list_remove(st, i)
        list_insert(st, i, list_head(st, s, 0))


@kernel
def on_miss(st: State, s: Int, obj: Int) -> None:
    pass


@kernel
def choose_victim(st: State, s: Int) -> Slot:
    return st.node[list_head(st, s, 0)].prev


@kernel
def on_insert(st: State, s: Int, i: Slot) -> None:
    list_insert(st, i, list_head(st, s, 0))


@kernel
def on_evict(st: State, s: Int, i: Slot) -> None:
    list_remove(st, i)
