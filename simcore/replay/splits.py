"""What the distances of a trace answer: hits of LRU at any capacity, and of any exclusive chain of LRU tiers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simcore.errors import InputError

Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Splits:
    """Of k exclusive chains of LRU tiers.

    Attributes:
        hits: i8 (k, tiers), accesses that each tier answers.
        demotions: i8 (k, tiers), objects that each tier evicts: into the tier below, out of the cache from the last.
        hit_tokens: i8 (k, tiers); None without chains of tokens.
    """

    hits: Counts
    demotions: Counts
    hit_tokens: Counts | None


@dataclass(frozen=True, eq=False, kw_only=True)
class LruCurve:
    """Hits of an LRU cache at every capacity, as `simcore.replay.run.replay` would count them one by one.

    Attributes:
        definition: in words, what counts as a hit.
        accesses, asked_bytes, tokens: what was asked for after the warm-up; bytes 0 without sizes, tokens 0 without chains of
            tokens.
        smallest: the least capacity that it speaks of: with sizes that of the largest object, because a smaller cache lets some
            objects never in, and what it holds is then no part of what a larger one holds; otherwise 0.
        steps: i8 (k,), the capacities in bytes at which hits rise; None without sizes, where each capacity may be one.
        hits, hit_bytes, hit_tokens: i8 (k+1,), at fewer than the first step and at each step (without sizes, at capacity 0, 1,
            ... and beyond); None where there are none.
        touched: i8 (k+1,), accesses that find their object when they touch it; without sizes only. Single accesses: `hits`.
        distinct: objects seen before the end of the warm-up, and in all.
        out_of_order: objects of chains used less long ago than one before them in the request. Where there are none, the
            hits of a tier are a range of distances; the order of touching decides.
    """

    definition: str
    accesses: int
    asked_bytes: int = 0
    tokens: int = 0
    smallest: int = 0
    steps: Counts | None = None
    hits: Counts
    hit_bytes: Counts | None = None
    hit_tokens: Counts | None = None
    touched: Counts | None = None
    distinct: tuple[int, int] = (0, 0)
    out_of_order: int = 0

    def hits_at(self, capacity: ArrayLike) -> Counts:
        """Hits at each capacity: an array of its shape.

        Raises:
            InputError: a capacity is below `smallest`.
        """
        return self.read(self.hits, capacity)

    def hit_ratio(self, capacity: ArrayLike) -> NDArray[np.float64]:
        """Of the accesses, the share that hits; raises as `hits_at`."""
        return self.hits_at(capacity) / self.accesses

    def byte_hit_ratio(self, capacity: ArrayLike) -> NDArray[np.float64] | None:
        """Of the bytes asked for, the share that hits; None without sizes. Raises as `hits_at`."""
        return None if self.hit_bytes is None else self.read(self.hit_bytes, capacity) / self.asked_bytes

    def token_hit_ratio(self, capacity: ArrayLike) -> NDArray[np.float64] | None:
        """Of the tokens, the share that hits; None without chains of tokens. Raises as `hits_at`."""
        return None if self.hit_tokens is None else self.read(self.hit_tokens, capacity) / self.tokens

    def splits(self, capacities: ArrayLike) -> Splits:
        """What each tier of an exclusive chain does, for any number of chains at once.

        An exclusive chain of LRU tiers orders its objects like one LRU cache (a tier's newest is what the tier above evicted
        last), so that a tier hits at the distances between the capacities above it and those with its own added (Mattson et
        al., "Evaluation techniques for storage hierarchies", IBM Systems Journal 9(2), 1970).

        Args:
            capacities: objects, (k, tiers), top to bottom. The tiers are fully associative, without filters.

        Raises:
            InputError: not of that shape, negative, objects have sizes (a tier that an object does not quite fit leaves room
                unused, so that tiers do not add up), or chains are touched in an order that lets an object outlive one before.
        """
        given = np.asarray(capacities)
        if given.ndim != 2 or given.shape[1] == 0 or given.dtype.kind not in "iu" or (given < 0).any():
            rule = "must be whole numbers of at least 0, one row a chain of tiers"
            raise InputError(rule, path="capacities", value=f"{given.dtype} of shape {given.shape}")
        if self.touched is None:
            rule = "tiers of objects of different sizes do not add up to one cache"
            raise InputError(rule, path="capacities", hint="replay the tiers, or leave the sizes out")
        if self.out_of_order and given.shape[1] > 1:
            rule = f"{self.out_of_order} objects are used less long ago than one before them, so that tiers do not add up"
            raise InputError(rule, path="capacities", hint="replay the tiers, or touch chains tail first")
        below = np.cumsum(given.astype(np.int64), axis=1)
        start, end = (np.minimum(below, seen) for seen in self.distinct)
        missed = self.touched[-1] + (self.distinct[1] - self.distinct[0]) - self.read(self.touched, below)
        return Splits(
            hits=_between(self.read(self.hits, below)),
            demotions=np.where(given > 0, missed - (end - start), 0),
            hit_tokens=None if self.hit_tokens is None else _between(self.read(self.hit_tokens, below)),
        )

    def read(self, counts: Counts, capacity: ArrayLike) -> Counts:
        """One of `hits`, `hit_bytes`, `hit_tokens` and `touched` at each capacity; raises as `hits_at`."""
        asked = np.asarray(capacity, np.int64)
        if asked.size and int(asked.min()) < self.smallest:
            rule = f"must be at least {self.smallest}" + (", the largest object" if self.smallest else "")
            hint = "replay smaller caches one by one" if self.smallest else None
            raise InputError(rule, path="capacity", value=int(asked.min()), hint=hint)
        if self.steps is not None:
            return counts[np.searchsorted(self.steps, asked, side="right")]
        return counts[np.minimum(asked, len(counts) - 1)]


def _between(counts: Counts) -> Counts:
    return np.diff(counts, axis=1, prepend=0)
