"""A bound on size: no larger object enters. One large object costs the places of many small ones.

The static threshold that Berger, Sitaraman and Harchol-Balter, "AdaptSize", NSDI 2017, section 3, start from and tune. Only
for traces with sizes.
"""

from __future__ import annotations

from pydantic import Field

from simcore.kernel import Bool, Int, Slot, State, incoming_size, kernel
from simcore.specs.base import Bytes, Spec

NEEDS = frozenset({"units"})


class Params(Spec):
    """Parameters.

    Attributes:
        size_threshold_bytes: the largest object that enters.
    """

    size_threshold_bytes: Bytes = Field(ge=1)


@kernel
def init(st: State, s: Int) -> None:
    pass


@kernel
def on_access(st: State, s: Int, obj: Int) -> None:
    pass


@kernel
def admit(st: State, s: Int, obj: Int) -> Bool:
    return incoming_size(st) <= st.store[s].size_threshold_bytes


@kernel
def prefer(st: State, s: Int, obj: Int, i: Slot) -> Bool:
    return True
