"""Small traces that behave like a large one: spatial sampling.

Waldspurger, Park, Garthwaite and Ahmad, "Efficient MRC Construction with SHARDS", FAST 2015: keep all accesses to the objects
whose hash is below a threshold, a share R of all objects. A cache of R * C objects sees of the sample what one of C objects
sees of the trace. The sample has too many or too few accesses, depending on whether it caught the few objects in most demand;
these hit at every capacity that matters, so that the accesses missing from the expected number are counted as hits (the paper's
SHARDS-adj). In other words, misses are estimated, and divided by the accesses expected. The ratio is kept in [0, 1].

Prefix chains are sampled by object too: a request keeps, in order, those of its objects that are in the sample, and these stand
for all. (A chain sampled as a whole, by its root or its session, would be worthless where all chains share a root.) An object
of use at some capacity has all before it in the cache, in the sample as in the trace; that it has those in the sample says the
same as long as the policy keeps no object longer than the ones before it, as LRU touching tail first does not. Other policies
may look better than they are, since only a share R of the objects before each is checked; on the Mooncake conversation trace
FIFO, SIEVE, S3-FIFO, LFU and ARC did by at most 0.0012 of the hit ratio.

The error is estimated from the sample itself: its objects fall by other bits of the hash into GROUPS groups, each a sample at
rate R / GROUPS, each with a curve of its own. The spread of these estimates the error of their mean and so of the whole, here
given as half the width of the 95 % interval (Student's t). Over 100 seeds each on three public traces (Mooncake conversation,
Scarab recommendations, a DLRM table) at rates of 0.1 and 0.3, it held the true LRU ratio in 92 to 99 % of cases: hot objects
make the distribution skewed. Around ratios of tokens and bytes, each estimated alike, it did in 97 % (40 seeds each on the
Mooncake trace and on one with lognormal sizes). It does not see what is the same in all groups: that capacities are whole
numbers, and that a policy may not scale.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simcore.compiling.passes import run_pass, sealed
from simcore.errors import InputError
from simcore.replay.passes import sample as kernel
from simcore.replay.spans import check_seed, place
from simcore.traces.accesses import DTYPES, Accesses

LEAST_OBJECTS = 5_000  # of a sample; with fewer the error is larger than what policies differ by
GROUPS = 16
_T_95 = 2.1314  # two-sided 95 % quantile of Student's t with GROUPS - 1 degrees of freedom
_RATES = 1 << 32


@dataclass(frozen=True, eq=False)
class Sample:
    """The accesses to a share of the objects of a trace.

    Attributes:
        accesses: of the sample, its objects numbered by first appearance; in the requests of the trace, if there are any.
        rate: share of the objects; capacities are to be scaled by it.
        warmup: requests of the sample before the end of the warm-up.
        asked, asked_bytes, tokens: what the whole trace asks for after the warm-up; 0 where it has no such.
        groups: samples at a rate of 1 / GROUPS of this, together the same objects.
    """

    accesses: Accesses
    rate: float
    warmup: int
    asked: int
    asked_bytes: int
    tokens: int
    groups: tuple[Sample, ...] = ()

    def capacity(self, capacity: ArrayLike) -> NDArray[np.int64]:
        """Capacities for the sample that stand for those of the trace, rounded."""
        scaled: NDArray[np.int64] = np.rint(np.asarray(capacity, np.float64) * self.rate).astype(np.int64)
        return scaled

    def miss_ratio(self, misses: ArrayLike, asked: int) -> NDArray[np.float64]:
        """Estimate for the trace, not kept in [0, 1], from misses of the sample.

        Args:
            misses: accesses, bytes or tokens.
            asked: the same in all of the trace: `asked`, `asked_bytes` or `tokens`.
        """
        ratio: NDArray[np.float64] = np.asarray(misses, np.float64) / (self.rate * asked)
        return ratio


def half_width(ratios: NDArray[np.float64]) -> NDArray[np.float64]:
    """Half the width of the 95 % interval around the estimate of a sample, from those of its groups (GROUPS, k)."""
    width: NDArray[np.float64] = _T_95 * ratios.std(axis=0, ddof=1) / math.sqrt(GROUPS)
    return width


def sampled(accesses: Accesses, rate: float, seed: int = 0) -> Accesses:
    """The accesses to a share `rate` of the objects, chosen by a hash of their numbers and `seed`.

    A cache for them has `scaled_capacity` and is to be judged by the misses it has, not by its hit ratio: see `Sample`.

    Raises:
        InputError: as `sample`.
    """
    return sample(accesses, rate, seed=seed).accesses


def scaled_capacity(capacity: int, rate: float) -> int:
    """The capacity for a sample that stands for `capacity` of the trace."""
    return round(capacity * _exact(rate))


def least_capacity(largest: int, rate: float) -> int:
    """The smallest capacity in bytes of which the share of each group holds an object of `largest` bytes.

    Raises:
        InputError: the rate is not in (0, 1).
    """
    check_rate(rate)
    return math.ceil(largest * GROUPS / _exact(rate))


def sample(accesses: Accesses, rate: float, *, seed: int = 0, warmup: int = 0, groups: bool = False) -> Sample:
    """A sample, and with `groups` its parts.

    Raises:
        InputError: the rate is not in (0, 1), the seed is negative, or the sample would have fewer than LEAST_OBJECTS objects.
    """
    check_seed(seed)
    check_rate(rate)
    rate = _exact(rate)
    noise = _hash(accesses.n_objects, seed)
    kept = (noise >> np.uint64(32)) < np.uint64(rate * _RATES)
    n_kept = int(np.count_nonzero(kept))
    if n_kept < LEAST_OBJECTS:
        enough = 1.2 * LEAST_OBJECTS / accesses.n_objects
        hint = f"sample at {enough:.2g} or more" if enough < 1 else "it is small: use all of it"
        rule = f"must leave at least {LEAST_OBJECTS} of the {accesses.n_objects} objects, not {n_kept}"
        raise InputError(rule, path="rate", value=rate, hint=hint)
    after = slice(place(accesses, warmup), None)
    asked: dict[str, Any] = {
        "asked": len(accesses.ids[after]),
        "asked_bytes": 0 if accesses.sizes is None else int(accesses.sizes[after].sum()),
        "tokens": int(accesses.tokens[after].sum(dtype=np.int64)) if accesses.chain and accesses.tokens is not None else 0,
    }
    whole, begin = _taken(accesses, kept, warmup, f"sample of {rate:.3g}, seed {seed}")
    parts: list[Sample] = []
    if groups:
        part_of = (noise[kept] & np.uint64(GROUPS - 1)).astype(np.uint8)
        for number in range(GROUPS):
            part, part_begin = _taken(whole, part_of == number, begin, f"part {number}")
            parts.append(Sample(part, rate / GROUPS, part_begin, **asked))
    return Sample(whole, rate, begin, **asked, groups=tuple(parts))


def _exact(rate: float) -> float:
    """The nearest rate between 0 and 1 that a threshold of 32 bits gives."""
    return min(max(1, round(rate * _RATES)), _RATES - 1) / _RATES


def check_rate(rate: float) -> None:
    if not 0 < rate < 1:
        raise InputError("must be between 0 and 1", path="rate", value=rate)


def _hash(n_objects: int, seed: int) -> NDArray[np.uint64]:
    """SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) of each object's number, from a place that the seed chooses."""
    start = np.random.SeedSequence(seed).generate_state(1, np.uint64)
    x: NDArray[np.uint64] = start + np.arange(1, n_objects + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x = x ^ (x >> np.uint64(31))
    return x


def _taken(accesses: Accesses, kept: NDArray[np.bool_], warmup: int, name: str) -> tuple[Accesses, int]:
    """The accesses to the objects that are `kept` (n_objects,), and what becomes of the warm-up."""
    n_kept = int(np.count_nonzero(kept))
    number = np.full(accesses.n_objects, kernel.LEFT_OUT, np.uint32)
    number[kept] = np.arange(n_kept)
    ids, at = _filtered(accesses.ids, number)
    start, begin = accesses.request_start, warmup
    if start is None:
        begin = int(np.searchsorted(at, warmup))
    else:
        start = np.searchsorted(at, start).astype(np.int64)
    columns: dict[str, Any] = {}
    for column in DTYPES:
        values = getattr(accesses, column)
        if column not in ("ids", "request_start") and values is not None:
            columns[column] = values[at]
    key = hashlib.sha256(f"{accesses.key} {name}".encode()).hexdigest()
    source = f"{accesses.source}, {name}"
    taken = Accesses(ids=ids, n_objects=n_kept, request_start=start, chain=accesses.chain, source=source, key=key, **columns)
    return taken, begin


def _filtered(ids: NDArray[np.uint32], number: NDArray[np.uint32]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """New numbers of the accesses that stay, and their indices."""
    chunk = 1 << 20  # entries; what is left out is held no longer
    taken, at = np.empty(chunk + 1, np.uint32), np.empty(chunk + 1, np.int64)
    done = np.zeros(1, np.int64)
    parts, places = [], []
    for first in range(0, len(ids), chunk):
        st = kernel.State(sealed(ids[first : first + chunk]), sealed(number), taken, at, done)
        run_pass(kernel, st)
        parts.append(taken[: done[0]].copy())
        places.append(at[: done[0]] + first)
    return np.concatenate(parts), np.concatenate(places)
