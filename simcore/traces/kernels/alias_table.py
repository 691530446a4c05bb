"""The alias tables of a distribution: columns of less than 1 are filled from objects of more."""

from __future__ import annotations

from typing import Any, NamedTuple

from simcore.kernel import kernel


class State(NamedTuple):
    """share f8 (n,): weights of mean 1, then what a column keeps; alias u4 (n,), waiting u4 (n,) for scratch."""

    share: Any
    alias: Any
    waiting: Any


@kernel
def loop(st: State) -> int:
    few, many = 0, len(st.share)  # `waiting` is two stacks: columns to fill from its start, objects with too much from its end
    for k in range(len(st.share)):
        if st.share[k] < 1:
            st.waiting[few] = k
            few += 1
        else:
            many -= 1
            st.waiting[many] = k
    while few > 0 and many < len(st.share):
        few -= 1
        poor, rich = st.waiting[few], st.waiting[many]
        st.alias[poor] = rich
        st.share[rich] -= 1 - st.share[poor]
        if st.share[rich] < 1:
            st.waiting[few] = rich
            few += 1
            many += 1
    while few > 0:  # full, but for rounding
        few -= 1
        st.share[st.waiting[few]] = 1
    while many < len(st.share):
        st.share[st.waiting[many]] = 1
        many += 1
    return 0
