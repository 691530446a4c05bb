"""Why a simulated scenario is as fast as it is: where the time goes, why prompt tokens were computed, what limits it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from simcore.outcome import Floats

PHASES = ("queue", "queue_again", "load", "prefill", "prefill_again", "transfer", "decode", "response")
"""Of a request, from arrival to its last token; `response` is the time outside the engine."""


@dataclass(frozen=True)
class Reuse:
    """What an LRU cache finds of the prompts, requests taken one by one: no queue, nothing held by running requests.

    Each replica counts for itself, with the requests that the run sent to it.

    Attributes:
        tokens: prompt tokens of the counted requests; the warm-up has filled the caches.
        ceiling: share of them that a cache of unlimited size finds on each replica, or on all together if they share a tier.
        ceiling_pooled: the same if all replicas shared one cache.
        levels: (name, tokens of capacity per replica, share found): HBM, HBM and the tier below, and so on.
        half_tokens, most_tokens: capacity per replica that finds half, and 95 %, of the ceiling.
        running_tokens: tokens of the requests being served, per replica, on average over the run: what they take of HBM.
        token_bytes: of the KV cache of a token, in a tier.
    """

    tokens: int
    ceiling: float
    ceiling_pooled: float
    levels: tuple[tuple[str, int, float], ...]
    half_tokens: int
    most_tokens: int
    running_tokens: float
    token_bytes: float

    @property
    def regime(self) -> str:
        """ "no reuse"; "fits" (in the tiers down to `holding`); "exceeds": all tiers find a part of the ceiling; "thrash": they
        find a tenth of it or less, as LRU does with what is used in a cycle longer than the cache."""
        if self.ceiling < LEAST_REUSE:
            return "no reuse"
        if self.holding is not None:
            return "fits"
        return "thrash" if self.levels[-1][2] <= THRASH * self.ceiling else "exceeds"

    @property
    def holding(self) -> str | None:
        """The level, from the top, that finds 95 % of the ceiling; None: not even all tiers do."""
        return next((name for name, _, found in self.levels if found >= MOST * self.ceiling), None)


LEAST_REUSE = 0.005
MOST = 0.95
THRASH = 0.1


@dataclass(frozen=True)
class Errors:
    """How far the latencies of a scenario are expected to be off: median relative errors; None where nobody measured.

    Attributes:
        kind: what the step times rest on: "calibrated" (this model, GPU and engine), "another model", "similar hardware",
            "uncalibrated", or "own" (a file of constants that names no GPU).
    """

    kind: str
    ttft: float | None
    tpot: float | None

    def e2e(self, ttft_s: float | None, e2e_s: float | None) -> float | None:
        """Of a request with this time to first token and in all: the two errors by the time they act on, both one way."""
        if self.ttft is None or self.tpot is None or ttft_s is None or not e2e_s:
            return None
        return (self.ttft * ttft_s + self.tpot * (e2e_s - ttft_s)) / e2e_s


@dataclass(frozen=True)
class WhatIf:
    """The same workload with one thing twice as large or as fast; ratios to the run as it is (1: no change).

    One "<TIER> holding the reuse" has the last tier (or HBM) just large enough for 95 % of the ceiling instead.
    """

    name: str
    e2e_mean: float
    ttft_p99: float
    tpot_mean: float | None
    sustainable_rate: float | None


@dataclass(frozen=True)
class Round:
    """The counted requests of one round of a workload with barriers.

    Attributes:
        number: of the round, from 0.
        prompt_tokens, ceiling_tokens: of their prompts; and of those, what an unlimited cache finds (docs: hit_ceiling).
        found: prompt tokens found, by tier.
        ttft_mean_s: mean time to first token.
    """

    number: int
    prompt_tokens: int
    ceiling_tokens: int
    found: Mapping[str, int]
    ttft_mean_s: float


@dataclass(frozen=True)
class Account:
    """Exact sums over the m counted requests of a run, and what-ifs.

    Attributes:
        phases: seconds by phase of PHASES, each (m,); they add up to each request's time from arrival to last token.
        prompt_tokens: of all m prompts.
        found: prompt tokens found, by tier; `missed`: not found, by reason. Together they add up to `prompt_tokens`.
        recomputed_tokens, preemptions: of the whole run; recomputed tokens are in no prompt's count.
        reuse: what can be found at all, and where it fits.
        what_if: the largest gain in mean E2E first.
        rounds: of a workload with barriers; empty without.
    """

    phases: Mapping[str, Floats]
    prompt_tokens: int
    found: Mapping[str, int]
    missed: Mapping[str, int]
    recomputed_tokens: int
    preemptions: int
    reuse: Reuse
    what_if: tuple[WhatIf, ...]
    rounds: tuple[Round, ...] = ()

    @property
    def e2e_s(self) -> Floats:
        """(m,) seconds from arrival to the last token: the phases added up."""
        total = np.zeros(len(self.phases["queue"]))
        for name in PHASES:
            total = total + self.phases[name]
        return total
