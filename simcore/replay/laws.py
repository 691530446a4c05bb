"""What must hold at the end of every replay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from simcore.errors import InternalError
from simcore.replay.result import TierResult
from simcore.replay.state import EXCLUSIVE, State


@dataclass(frozen=True)
class Held:
    """What a tier holds at some time: objects, and units of its capacity."""

    objects: int
    units: int

    @classmethod
    def of(cls, st: State) -> Held:
        return cls(int(st.store["count"].sum()), int(st.store["used"].sum()))


def check(states: Sequence[State], before: Sequence[Held], tiers: Sequence[TierResult], *, chained: bool) -> None:
    """Conservation in every tier and between tiers.

    Args:
        before: what each tier held when counting began.
        chained: the trace has prefix chains, whose hits are not those of single objects.

    Raises:
        InternalError: a law is broken, which is a mistake of ours or of a policy outside the package.
    """
    for st, held, tier in zip(states, before, tiers, strict=True):
        _check_residents(st, tier)
        _check_flows(st, held, tier)
        if not chained:
            _check_misses(st, tier)
    for upper, lower in pairwise(tiers):
        _require(lower, lower.asked == upper.asked - upper.hits, "a tier is asked for what the tier above has not")
        _require(lower, lower.asked_bytes == upper.asked_bytes - upper.hit_bytes, "bytes asked for = bytes missed above")


def _check_residents(st: State, tier: TierResult) -> None:
    """The map from objects to slots, the slots and the counts agree; nothing is over its capacity."""
    objects = np.flatnonzero(st.slot)
    slots = st.slot[objects]
    taken = int(st.node["units"][slots].sum()) if "units" in st.node.dtype.names else len(objects)
    _require(tier, int(st.store["cap"].sum()) == tier.capacity, "the capacity is what it was")
    _require(tier, bool((st.store["used"] <= st.store["cap"]).all() and (st.store["count"] >= 0).all()), "used <= capacity")
    _require(tier, bool((st.node["obj"][slots] == objects).all()), "each resident object is in its own slot")
    _require(tier, len(objects) == tier.resident, "objects resident = objects counted")
    _require(tier, taken == tier.used, "units that the resident objects take = units counted")


def _check_flows(st: State, before: Held, tier: TierResult) -> None:
    """What was there and what entered, left or is still there."""
    left, left_units = tier.evictions + tier.promotions, tier.evicted_bytes + int(st.run[0].removed_bytes)
    _require(tier, before.objects + tier.insertions == left + tier.resident, "objects in = objects out + resident")
    _require(tier, before.units + tier.inserted_bytes == left_units + tier.used, "bytes in = bytes out + resident")
    _require(tier, 0 <= tier.hits <= tier.asked and 0 <= tier.hit_bytes <= tier.asked_bytes, "hits are among the accesses")
    for name in ("insertions", "evictions", "promotions", "refused"):
        _require(tier, getattr(tier, name) >= 0, f"{name} >= 0")


def _check_misses(st: State, tier: TierResult) -> None:
    """At the top what misses enters or is refused; an exclusive tier below gives up what it is asked for."""
    top = st.run[0].top == 1
    if top:
        _require(tier, tier.asked - tier.hits == tier.insertions + tier.refused, "misses = insertions + refusals")
    promoted = tier.hits if st.run[0].placement == EXCLUSIVE and not top else 0
    _require(tier, tier.promotions == promoted, "what moves up = hits of an exclusive lower tier")


def _require(tier: TierResult, holds: bool, law: str) -> None:
    if not holds:
        raise InternalError(f"tier {tier.name}, policy {tier.policy}: {law} does not hold: {tier}")
