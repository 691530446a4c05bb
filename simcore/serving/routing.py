"""What a serving run is told of routing: the rules' numbers, and the network between clients and replicas."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcore.errors import InputError

ROUTERS = ("round_robin", "least_loaded", "prefix_aware", "session", "gorgo")
GOLDEN = (math.sqrt(5) - 1) / 2


@dataclass(frozen=True, kw_only=True)
class RoutingRules:
    """Numbers of the routers.

    Args:
        min_match: of "prefix_aware": a prefix decides if it is more than this share of the prompt.
        max_load_gap, max_load_ratio: of "prefix_aware": the prefix decides unless the most loaded replica has over
            `max_load_gap` requests more than the least loaded one and over `max_load_ratio` times as many.
        running_weight: of "gorgo": weight of what running requests had to prefill.
    """

    min_match: float = 0.3
    max_load_gap: int = 64
    max_load_ratio: float = 1.5
    running_weight: float = 0.5

    def validate(self) -> None:
        """Raises:
        InputError: a field is out of its range; `path` names it.
        """
        limits = {"min_match": 1.0, "max_load_gap": 2.0**40, "max_load_ratio": 2.0**40, "running_weight": 1000.0}
        for name, most in limits.items():
            value = getattr(self, name)
            if not 0 <= value <= most:
                raise InputError(f"must be between 0 and {most:g}", path=name, value=value)


PUBLISHED_RULES = RoutingRules()
"""Defaults of vLLM's and SGLang's cache-aware routers (vllm-router 0.1.15, sglang gateway 0.3.1: cache-threshold 0.3,
balance-abs-threshold 64, balance-rel-threshold 1.5), and of GORGO's code (running cost factor 0.5)."""


@dataclass(frozen=True, kw_only=True)
class NetworkSetup:
    """G regions, each with replicas and clients. A request takes half a round trip to its replica, its tokens half one back.

    Args:
        replicas: of each region; the first ones are those of region 0, and so on.
        client_shares: of sessions, by region of their client; they need not sum to 1.
        round_trip_s: [client's region][replica's region].
    """

    replicas: tuple[int, ...]
    client_shares: tuple[float, ...]
    round_trip_s: tuple[tuple[float, ...], ...]

    def validate(self, replicas: int) -> None:
        """Raises:
        InputError: the regions do not have `replicas` replicas in all, or a field is out of its range; `path` names it.
        """
        regions = len(self.replicas)
        if sum(self.replicas) != replicas or min(self.replicas, default=0) < 0:
            raise InputError(f"must add up to the {replicas} replicas", path="replicas", value=list(self.replicas))
        shares = self.client_shares
        if len(shares) != regions or not all(0 <= s < math.inf for s in shares) or sum(shares) <= 0:
            raise InputError("must be a share of each region, together above 0", path="client_shares", value=list(shares))
        square = len(self.round_trip_s) == regions and all(len(row) == regions for row in self.round_trip_s)
        if not square or not all(0 <= s <= 1e6 for row in self.round_trip_s for s in row):
            raise InputError("must be a time of up to 1000000 s for each pair of regions", path="round_trip_s")

    def clients(self, session: NDArray[np.int64]) -> NDArray[np.int64]:
        """The region of each request's client, by the number of its session (0, 1, ...): the fractional parts of multiples of
        the golden ratio, which spread evenly, cut at the shares."""
        place = (session + 1) * GOLDEN
        cuts = np.cumsum(self.client_shares) / np.sum(self.client_shares)
        region: NDArray[np.int64] = np.searchsorted(cuts, place - np.floor(place), side="right")
        return np.minimum(region, len(cuts) - 1)
