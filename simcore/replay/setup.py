"""What one replay is told of each tier. Plain numbers and names; no hardware."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simcore.errors import InputError

PLACEMENTS = ("exclusive", "inclusive")
WRITES = ("through", "back")
ORDERS = ("tail_first", "chain")


@dataclass(frozen=True, kw_only=True)
class Tier:
    """One tier of a replay.

    Args:
        name: for the result.
        capacity: objects it holds, or bytes if the trace has sizes. An object larger than that never enters.
        policy: eviction policy, by name or the file of one.
        params: parameters of the policy that are not at their defaults.
        admission: admission filter, by name or the file of one.
        admission_params: its parameters.
        placement: of a lower tier. "exclusive": it takes what is evicted above and gives an object up when it is found here.
            "inclusive": it keeps its copy. Evicting a copy here does not touch the tiers above.
        write: of an inclusive tier. "through": it gets a copy of every object that is asked for and that no tier above has;
            "back": only when the object is evicted above, unless it still has one.
        ways: objects in a set; 0 means fully associative. The set of an object is a hash of its number.
    """

    capacity: int
    name: str = "cache"
    policy: str | Path = "lru"
    params: Mapping[str, Any] = field(default_factory=dict)
    admission: str | Path = "none"
    admission_params: Mapping[str, Any] = field(default_factory=dict)
    placement: str = "exclusive"
    write: str = "through"
    ways: int = 0

    def validate(self, sized: bool) -> None:
        """Raises:
        InputError: a field is out of range, or it does not go with object sizes.
        """
        if not 0 <= self.capacity < 2**62:
            raise InputError("must be at least 0 and below 2^62", path="capacity", value=self.capacity)
        _one_of("placement", self.placement, PLACEMENTS)
        _one_of("write", self.write, WRITES)
        if self.write == "back" and self.placement == "exclusive":
            hint = "an exclusive tier takes an object when it is evicted above; for copies: placement: inclusive"
            raise InputError("is of inclusive tiers only", path="write", value=self.write, hint=hint)
        if self.ways < 0 or (self.ways and self.capacity % self.ways):
            raise InputError(f"must divide the capacity of {self.capacity} objects", path="ways", value=self.ways)
        if self.ways and sized:
            rule = "sets hold objects of one size, this trace has sizes"
            raise InputError(rule, path="ways", value=self.ways, hint="replay without sizes, or with ways: 0")


def validate(tiers: Sequence[Tier], sized: bool) -> None:
    """Raises:
    InputError: there is no tier, or one is wrong; `path` says which.
    """
    if not tiers:
        raise InputError("a replay needs at least one tier", path="tiers")
    for number, tier in enumerate(tiers):
        try:
            tier.validate(sized)
            if number == 0 and tier.placement == "inclusive":
                raise InputError("is of lower tiers only", path="placement", value=tier.placement)
            if tier.name in [other.name for other in tiers[:number]]:
                raise InputError("names must differ", path="name", value=tier.name)
        except InputError as error:
            raise error.within(prefix=f"tiers.{number}") from None


def _one_of(path: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise InputError(f"must be one of {', '.join(allowed)}", path=path, value=value)
