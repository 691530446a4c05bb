"""The first access to each object within each request."""

from __future__ import annotations

from typing import Any, NamedTuple

from simcore.kernel import kernel


class State(NamedTuple):
    """ids u4 (m,), start i8 (n+1,), seen i8 (n_objects,), all -1; kept b1 (m,), new_start i8 (n+1,), all 0."""

    ids: Any
    start: Any
    seen: Any
    kept: Any
    new_start: Any


@kernel
def loop(st: State) -> int:
    """Marks the accesses to keep and writes where requests start among them."""
    n = 0
    for r in range(len(st.start) - 1):
        for i in range(st.start[r], st.start[r + 1]):
            first = st.seen[st.ids[i]] != r
            st.kept[i] = first
            if first:
                st.seen[st.ids[i]] = r
                n += 1
        st.new_start[r + 1] = n
    return 0
