"""Cache on second hit: an object enters only if it was asked for again within a while; most objects are asked for once.

Maggs and Sitaraman, "Algorithmic Nuggets in Content Delivery", ACM SIGCOMM Computer Communication Review 45(3), 2015, there
with Bloom filters; here what was asked for is known exactly. An object that the tier above offers is judged by the last access
to it that came down here.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from simcore.kernel import Bool, Int, Slot, State, about, kernel
from simcore.specs.base import Spec

STORE_FIELDS = (("second_hit_now", np.int64),)  # accesses so far
OBJECT_FIELDS = (("second_hit_last", np.int64), ("second_hit_known", np.uint8))
NEEDS: frozenset[str] = frozenset()


class Params(Spec):
    """Parameters.

    Attributes:
        second_hit_within: accesses to this store within which the second access must follow the first; 0: any number.
    """

    second_hit_within: int = Field(0, ge=0, le=2**62)


@kernel
def init(st: State, s: Int) -> None:
    pass


@kernel
def on_access(st: State, s: Int, obj: Int) -> None:
    now = st.store[s].second_hit_now + 1
    st.store[s].second_hit_now = now
    k = about(st, s, obj)
    last = st.object[k].second_hit_last
    within = st.store[s].second_hit_within
    st.object[k].second_hit_known = last != 0 and (within == 0 or now - last <= within)
    st.object[k].second_hit_last = now


@kernel
def admit(st: State, s: Int, obj: Int) -> Bool:
    return st.object[about(st, s, obj)].second_hit_known != 0


@kernel
def prefer(st: State, s: Int, obj: Int, i: Slot) -> Bool:
    return True
