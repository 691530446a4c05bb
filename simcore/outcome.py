"""What one simulation produced, before it is reduced to metrics. The same shape for every family."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class TierOutcome:
    """One tier over the whole run, all replicas added up.

    Bytes are conserved: what was there at the start and `bytes_in` are `bytes_out` and `bytes_resident`.
    """

    name: str
    capacity_bytes: int
    bytes_in: int
    bytes_out: int
    bytes_resident: int
    refused_bytes: int = 0
    """Bytes that were to come in and did not: the links were backed up, or the policy kept what it had."""
    dropped_bytes: int = 0
    """Of `bytes_out`, what was evicted and held by no tier below; the rest moved up or down."""


@dataclass(frozen=True)
class LinkOutcome:
    """One link over the whole run, all replicas added up. `busy` is the share of the run its busier direction was in use."""

    name: str
    bytes_read: int
    bytes_written: int
    busy: float


@dataclass(frozen=True)
class Outcome:
    """Requests (m counted ones, in arrival order), tiers (T, top to bottom) and links of one simulated scenario."""

    family: str
    arrival_s: Floats
    first_token_s: Floats
    finish_s: Floats
    input_tokens: Ints
    output_tokens: Ints
    hit_tokens: Ints
    """(m, T) prompt tokens found in each tier when the request was first admitted."""
    queue_s: Floats
    load_s: Floats
    tiers: tuple[TierOutcome, ...]
    links: tuple[LinkOutcome, ...]
    duration_s: float
    """First arrival to last finish of the whole run, warm-up included, like the two totals."""
    total_requests: int
    """Requests served."""
    total_output_tokens: int
    busy_s: float
    """Seconds in which a replica was executing a step, added up over replicas."""
    rejected: int
    preemptions: int
    recomputed_tokens: int
    readmission_hit_blocks: int
    """Blocks found again by requests that had been preempted; never counted as reuse."""
    offered_rps: float | None
    """Arrival rate of an open-loop load; None for a closed loop."""
    sustainable_rps: float | None
    """Rate at which the same system drains the same requests when all of them are waiting; None where unknown."""
    hit_ceiling: float
    """Share of prompt tokens that a cache of unlimited size would have found."""
    transfer_s: Floats = field(default_factory=lambda: np.zeros(0))
    """(m,) from the end of prefill until the KV is on the decode replica; empty if replicas do both."""
    prefill_busy: float | None = None
    decode_busy: float | None = None
    """Share of the run that replicas of either role spent in steps; None if replicas do both."""
    tenant: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    """(m,) whose request it was; empty: all are one tenant's."""
    readmission_blocks: int = 0
    """Blocks that requests asked for again after a preemption (swapped ones ask for none)."""
    kv_token_share: float | None = None
    """Share of a pool that holds tokens of decoding requests while others wait."""
    swaps: int = 0
    swapped_bytes: int = 0
    """KV of preempted requests that moved to swap space and back."""
    hit_blocks: int = 0
    prompt_blocks: int = 0
    slo_ttft_s: float | None = None
    slo_tpot_s: float | None = None
    static: Mapping[str, float | None] = field(default_factory=dict)
    """Closed forms of the design by exported key (bytes, cost, fit)."""

    @property
    def tier_names(self) -> tuple[str, ...]:
        return tuple(t.name for t in self.tiers)
