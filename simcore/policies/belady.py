"""Belady's offline policy where each miss enters: evict the object that is asked for again last.

Belady, "A study of replacement algorithms for a virtual-storage computer", IBM Systems Journal 5(2), 1966; Mattson et al.,
"Evaluation techniques for storage hierarchies", ibid. 9(2), 1970 (OPT). With objects of one size no policy that lets every
newcomer enter has more hits; one that may keep a newcomer out can (see `simcore.policies.min`). With sizes it is a heuristic:
the best choice is NP-hard, and a policy that weighs sizes can have more hits or more byte hits. A tier that does not see all
the accesses to its objects, as below another, knows when they are next asked for in the whole trace; there it is a heuristic,
too.

Ties are only between objects that are never asked for again; they leave first, in order of last use. Which of them leaves
first does not matter while an object keeps its size. libCacheSim has the same misses.

Pins: a pinned object is out of the order; released, it is back with its next use.
"""

from __future__ import annotations

import simcore.foresight as foresight
from simcore.foresight import clear, enter, last, leave, use
from simcore.kernel import Int, Slot, State, kernel

FIELDS = foresight.FIELDS
STORE_FIELDS = foresight.STORE_FIELDS
NEEDS = foresight.NEEDS
WORDS, REALS = foresight.WORDS, foresight.REALS


@kernel
def init(st: State, s: Int) -> None:
    clear(st, s)


@kernel
def on_hit(st: State, s: Int, i: Slot) -> None:
    use(st, s, i)


@kernel
def on_miss(st: State, s: Int, obj: Int) -> None:
    pass


@kernel
def choose_victim(st: State, s: Int) -> Slot:
    return last(st, s)


@kernel
def on_insert(st: State, s: Int, i: Slot) -> None:
    st.node[i].due = st.event[0].next_use
    enter(st, s, i)


@kernel
def on_evict(st: State, s: Int, i: Slot) -> None:
    leave(st, s, i)


@kernel
def on_pin(st: State, s: Int, i: Slot) -> None:
    leave(st, s, i)


@kernel
def on_release(st: State, s: Int, i: Slot) -> None:
    enter(st, s, i)
