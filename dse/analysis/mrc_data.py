"""Hit ratio against capacity of one trace: what is computed, and what every form of it (text, JSON, figures) is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

LRU, BELADY = "lru", "belady"


@dataclass(frozen=True, kw_only=True)
class Line:
    """One policy over the capacities.

    Args:
        policy: its name.
        params: those that are not at their defaults.
        offline: it knows when each object is next asked for.
        order: in which blocks of a prefix chain are touched.
        hit_ratio: of the accesses.
        byte_hit_ratio: of the bytes; None without sizes.
        token_hit_ratio: of the tokens; None without chains.
        error, byte_error, token_error: half the width of the 95 % interval around each; None when it is exact.
    """

    policy: str
    params: Mapping[str, Any]
    offline: bool
    order: str
    hit_ratio: Sequence[float]
    byte_hit_ratio: Sequence[float] | None = None
    token_hit_ratio: Sequence[float] | None = None
    error: Sequence[float] | None = None
    byte_error: Sequence[float] | None = None
    token_error: Sequence[float] | None = None

    @property
    def title(self) -> str:
        """The name, starred if it knows the future, so that nothing like it can be built."""
        return self.policy + ("*" if self.offline else "")


@dataclass(frozen=True, kw_only=True)
class Chain:
    """An exclusive chain of LRU tiers, top to bottom; all shares are of the accesses (of the tokens, if those count).

    Args:
        capacity: of each tier.
        hits: share that each tier answers.
        demotions: objects that each tier evicts, of the accesses: into the tier below, out of the cache from the last.
    """

    capacity: Sequence[int]
    hits: Sequence[float]
    demotions: Sequence[float]


@dataclass(frozen=True, kw_only=True)
class Ceiling:
    """Of a cache that never evicts."""

    hit_ratio: float
    byte_hit_ratio: float | None = None
    token_hit_ratio: float | None = None


@dataclass(frozen=True, kw_only=True)
class Curves:
    """Everything there is to say about a trace.

    Args:
        trace: its name.
        requests, warmup: in all, and of these those that are not counted.
        accesses, distinct: in all.
        unit: what a capacity counts: "blocks", "objects" or "bytes".
        count: what a hit ratio is of: "blocks", "accesses" or "tokens".
        block_tokens: tokens of a block, of traces of prompts.
        block_bytes: KV bytes of a block, if a model is given; `model` and `kv_format` say of which.
        footprint: bytes of all objects; of traces with sizes.
        definition: what counts as a hit, in words, with everything that numbers of others may differ by.
        capacity: rising.
        lines: at least one.
        chains: exclusive chains of tiers that were asked for.
        pair_capacity: of the tiers in `alone` and `pairs`.
        alone: of LRU tiers of each capacity, the share that they answer; `pairs`: for each of them on top of each, what the
            lower one answers. None: not asked for.
        rate: share of the objects that was sampled.
        filtered: name of the admission filter, if there is one.
        ways: objects in a set; 0: fully associative.
    """

    trace: str
    requests: int
    warmup: int
    accesses: int
    distinct: int
    unit: str
    count: str
    block_tokens: int | None
    block_bytes: float | None
    model: str | None
    kv_format: str | None
    footprint: int | None
    definition: str
    capacity: Sequence[int]
    ceiling: Ceiling
    lines: Sequence[Line]
    chains: Sequence[Chain] = ()
    pair_capacity: Sequence[int] = ()
    alone: Sequence[float] | None = None
    pairs: Sequence[Sequence[float]] | None = None
    rate: float | None = None
    seed: int = 0
    filtered: str | None = None
    ways: int = 0

    @property
    def top(self) -> float:
        """The ceiling in what is counted."""
        ceiling = self.ceiling.token_hit_ratio if self.count == "tokens" else self.ceiling.hit_ratio
        assert ceiling is not None
        return ceiling

    @property
    def capacity_bytes(self) -> Sequence[int] | None:
        """The capacities in bytes, where that is known."""
        return self.bytes_of(self.capacity)

    def bytes_of(self, capacity: Sequence[int]) -> Sequence[int] | None:
        """Capacities in bytes; None where that is not known."""
        if self.unit == "bytes":
            return capacity
        return None if self.block_bytes is None else [round(c * self.block_bytes) for c in capacity]

    def ratio(self, line: Line) -> Sequence[float]:
        """A line's hit ratio in what is counted."""
        found = line.token_hit_ratio if self.count == "tokens" else line.hit_ratio
        assert found is not None
        return found

    def error(self, line: Line) -> Sequence[float] | None:
        """Half the width of the 95 % interval around `ratio`; None when it is exact."""
        return line.token_error if self.count == "tokens" else line.error

    def line(self, policy: str) -> Line | None:
        """The line of a policy, if it was asked for."""
        return next((line for line in self.lines if line.policy == policy), None)

    @property
    def gap(self) -> list[float] | None:
        """What Belady's policy hits and LRU does not, at each capacity; None unless both were asked for."""
        lru, belady = self.line(LRU), self.line(BELADY)
        if lru is None or belady is None:
            return None
        return [b - a for a, b in zip(self.ratio(lru), self.ratio(belady), strict=True)]

    def as_dict(self) -> dict[str, Any]:
        """The `--json` shape."""
        data: dict[str, Any] = {
            "trace": self.trace,
            "definition": self.definition,
            "count": self.count,
            "unit": self.unit,
            "requests": self.requests,
            "warmup_requests": self.warmup,
            "accesses": self.accesses,
            "distinct": self.distinct,
            "ceiling": self.top,
        }
        optional = {
            "byte_ceiling": self.ceiling.byte_hit_ratio,
            "token_ceiling": self.ceiling.token_hit_ratio,
            "footprint_bytes": self.footprint,
            "block_tokens": self.block_tokens,
            "block_bytes": self.block_bytes,
            "model": self.model,
            "kv_format": self.kv_format,
            "sample_rate": self.rate,
            "admission": self.filtered,
            "ways": self.ways or None,
            "lru_to_belady": self.gap,
        }
        data |= {key: value for key, value in optional.items() if value is not None}
        data["curves"] = [self._curve(line) for line in self.lines]
        if self.chains:
            data["tiers"] = [self._chain(chain) for chain in self.chains]
        if self.pairs is not None:
            data["splits"] = {"capacity": self.pair_capacity, "top": self.alone, "below": self.pairs}
        return data

    def _curve(self, line: Line) -> dict[str, Any]:
        optional = {
            "capacity_bytes": self.capacity_bytes,
            "byte_hit_ratio": line.byte_hit_ratio,
            "token_hit_ratio": line.token_hit_ratio,
            "error": self.error(line),
            "byte_error": line.byte_error,
            "token_error": line.token_error,
            "params": line.params or None,
        }
        return {
            "policy": line.policy,
            "offline": line.offline,
            **({"order": line.order} if line.token_hit_ratio is not None else {}),
            "capacity": self.capacity,
            "hit_ratio": self.ratio(line),
            **{key: value for key, value in optional.items() if value is not None},
        }

    def _chain(self, chain: Chain) -> dict[str, Any]:
        amount = self.bytes_of(chain.capacity)
        return {
            "capacity": chain.capacity,
            **({} if amount is None else {"capacity_bytes": amount}),
            "hit_ratio": chain.hits,
            "demotions_per_access": chain.demotions,
        }
