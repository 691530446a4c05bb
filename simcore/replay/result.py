"""What comes out of a replay."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simcore.traces.accesses import Accesses


@dataclass(frozen=True)
class TierResult:
    """Counts of one tier, after the warm-up.

    Attributes:
        capacity: objects, or bytes if the trace has sizes.
        asked, asked_bytes: accesses that reached it: those that no tier above answered (of chains: blocks not found above, or
            behind a block that no tier had).
        hits, hit_bytes, hit_tokens: those it answered; bytes 0 without sizes, tokens 0 without chains of tokens.
        insertions, inserted_bytes: objects that entered: at the top on a miss; below when evicted above (demotions), or as
            copies of an inclusive tier. Without sizes, bytes count objects.
        evictions, evicted_bytes: objects that had to leave.
        promotions: objects that left because they were asked for from above (exclusive tiers).
        refused: objects that wanted to enter and were refused by the filter, the policy, or for their size.
        trainings, training_cpu_s: of a policy that learns: how often it was trained, and what that cost, which depends on the
            machine and is no part of equality.
        resident: objects held at the end; `used` is what they take of the capacity.
    """

    name: str
    policy: str
    capacity: int
    asked: int
    asked_bytes: int
    hits: int
    hit_bytes: int
    hit_tokens: int
    insertions: int
    inserted_bytes: int
    evictions: int
    evicted_bytes: int
    promotions: int
    refused: int
    resident: int
    used: int
    trainings: int = 0
    training_cpu_s: float = field(default=0.0, compare=False)

    @property
    def hit_ratio(self) -> float:
        """Conditional: of the accesses that reached this tier, the share it answered."""
        return self.hits / self.asked if self.asked else 0.0


@dataclass(frozen=True)
class Replay:
    """Counts of one replay, after the warm-up.

    Attributes:
        definition: in words, what counts as a hit.
        requests, accesses, asked_bytes, tokens: what was asked for; bytes 0 without sizes, tokens 0 without chains of tokens.
        distinct: different objects among the counted accesses; `one_hit` of them were asked for once.
        tiers: top to bottom.
        duplicates: objects held by more than one tier at the end.
        found: u1 (accesses,), of each access 0 or 1 + the number of the tier that held the object; None unless asked for.
    """

    definition: str
    requests: int
    accesses: int
    asked_bytes: int
    tokens: int
    distinct: int
    one_hit: int
    tiers: tuple[TierResult, ...]
    duplicates: int
    found: NDArray[np.uint8] | None = None

    @property
    def hits(self) -> int:
        return sum(tier.hits for tier in self.tiers)

    @property
    def hit_ratio(self) -> float:
        """Accesses answered by any tier, of all."""
        return self.hits / self.accesses

    @property
    def byte_hit_ratio(self) -> float | None:
        """Bytes answered by any tier, of all asked for; None without sizes."""
        return sum(tier.hit_bytes for tier in self.tiers) / self.asked_bytes if self.asked_bytes else None

    @property
    def token_hit_ratio(self) -> float | None:
        """Tokens answered by any tier, of all; None without chains of tokens."""
        return sum(tier.hit_tokens for tier in self.tiers) / self.tokens if self.tokens else None

    @property
    def one_hit_share(self) -> float:
        """Share of the objects that were asked for only once."""
        return self.one_hit / self.distinct if self.distinct else 0.0


def definition_of(accesses: Accesses, tail_first: bool) -> str:
    """What counts as a hit, in words."""
    if not accesses.chain:
        return "a hit is an access to a resident object" + (
            ", each as large as its access says" if accesses.sizes is not None else ""
        )
    order = "tail first" if tail_first else "from its start"
    return (
        "a hit is a block of the longest run of leading blocks resident when the request arrives; "
        f"all its blocks are then touched, {order}, and absent ones enter"
    )
