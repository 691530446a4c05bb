"""What must hold at the end of every replay."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simcore.errors import InternalError
from simcore.replay.result import TierResult
from simcore.replay.state import State


def check(states: Sequence[State], tiers: Sequence[TierResult], asked: int) -> None:
    """Conservation in every tier.

    Raises:
        InternalError: a law is broken, which is a mistake of ours or of a policy outside the package.
    """
    for st, tier in zip(states, tiers, strict=True):
        store = st.store
        resident = int(np.count_nonzero(st.slot))
        _require(tier, bool((store["used"] <= store["cap"]).all() and (store["used"] >= 0).all()), "used <= capacity")
        _require(tier, resident == tier.resident, "the map holds what the count says")
        _require(tier, 0 <= tier.hits <= tier.asked <= asked, "hits and misses add up to accesses")


def check_balance(before: tuple[int, int], tier: TierResult) -> None:
    """What entered since `before` (resident, used), left or stayed."""
    gone = tier.evictions + tier.promotions
    _require(tier, before[0] + tier.insertions == gone + tier.resident, "objects in = out + resident")


def _require(tier: TierResult, holds: bool, law: str) -> None:
    if not holds:
        raise InternalError(f"tier {tier.name}, policy {tier.policy}: {law} does not hold: {tier}")
