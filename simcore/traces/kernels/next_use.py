"""When each object is accessed next."""

from __future__ import annotations

from typing import Any, NamedTuple

from simcore.kernel import kernel


class State(NamedTuple):
    """ids u4 (m,), last i8 (n_objects,): what stands for "never again"; result i8 (m,)."""

    ids: Any
    last: Any
    result: Any


@kernel
def loop(st: State) -> int:
    """Writes result[i], the index of the next access to the object of access i."""
    for i in range(len(st.ids) - 1, -1, -1):
        st.result[i] = st.last[st.ids[i]]
        st.last[st.ids[i]] = i
    return 0
