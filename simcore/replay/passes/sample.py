"""Taking the accesses to some objects out of a trace."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from simcore.kernel import kernel

LEFT_OUT = 0xFFFFFFFF


class State(NamedTuple):
    """ids u4 (m,), number u4 (n_objects,): new number of an object, or LEFT_OUT; taken u4 and at i8 (m+1,), done i8 (1,)."""

    ids: Any
    number: Any
    taken: Any
    at: Any
    done: Any


@kernel
def loop(st: State) -> int:
    """Writes the new numbers of the accesses that stay, and where they were; done[0] is how many. The last entry is scratch."""
    n = np.uint64(0)
    for k in range(np.uint64(len(st.ids))):
        number = st.number[st.ids[k]]
        st.taken[n] = number
        st.at[n] = k
        n += np.uint64(number != np.uint32(LEFT_OUT))  # no branch: which objects stay is random
    st.done[0] = n
    return 0
