"""What chains found: the longest leading run of objects that some tier held when the request arrived, by tier."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from simcore.kernel import kernel


class State(NamedTuple):
    """start i8 (n+1,), found u1 (m,), tokens i4 (m,) or empty, sizes i8 (m,) or empty, hits i8 (3, tiers+1)."""

    start: Any
    found: Any
    tokens: Any
    sizes: Any
    hits: Any


@kernel
def loop(st: State) -> int:
    """Adds to hits[0] objects, hits[1] tokens, hits[2] bytes; column t+1 for tier t."""
    base = st.start[0]
    for r in range(len(st.start) - 1):
        for k in range(st.start[r] - base, st.start[r + 1] - base):
            tier = np.int64(st.found[k])
            if tier == 0:
                break
            st.hits[0, tier] += 1
            if len(st.tokens):
                st.hits[1, tier] += st.tokens[k]
            if len(st.sizes):
                st.hits[2, tier] += st.sizes[k]
    return 0
