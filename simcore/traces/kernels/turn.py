"""The turn of each request in its conversation."""

from __future__ import annotations

from typing import Any, NamedTuple

from simcore.kernel import kernel


class State(NamedTuple):
    """ids u4 (m,), start i8 (n+1,), whole i8 (n,): granules that the prompt fills; previous i8 (n,): the request before it in
    its conversation or -1, empty if unknown; ended i4 (n_ids,): turn of the latest prompt that ends there, all 0; turn i4 (n,).
    """

    ids: Any
    start: Any
    whole: Any
    previous: Any
    ended: Any
    turn: Any


@kernel
def loop(st: State) -> int:
    """Writes turn, from 1."""
    for r in range(len(st.turn)):
        first = st.start[r]
        last = first + st.whole[r] - 1
        before = 0
        if len(st.previous):
            if st.previous[r] >= 0:
                before = st.turn[st.previous[r]]
        else:
            k = last
            while k > first and before == 0:
                before = st.ended[st.ids[k]]
                k -= 1
        st.turn[r] = before + 1
        if last >= first:
            st.ended[st.ids[last]] = before + 1
    return 0
