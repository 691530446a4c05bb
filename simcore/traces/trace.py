"""`Trace`: requests as recorded or generated, in flat read-only arrays."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simcore.errors import InputError

_DTYPES: dict[str, type[np.generic]] = {
    "arrival_s": np.float64,
    "input_tokens": np.int32,
    "output_tokens": np.int32,
    "block_start": np.int64,
    "block_ids": np.uint32,
    "after": np.int32,
    "think_s": np.float64,
    "session": np.int32,
    "tenant": np.int32,
    "wave": np.int32,
}
_PER_REQUEST = tuple(name for name in _DTYPES if name not in ("block_start", "block_ids"))


@dataclass(frozen=True, eq=False)
class Trace:
    """n requests in order of arrival. Arrays are copied, converted and made read-only; invariants are checked here, once.

    A request may start when its arrival time is reached, every request of an earlier wave has finished, and, if it is
    chained, `think_s` has passed since the request it follows finished.

    Attributes:
        arrival_s: f8 (n,), seconds, sorted, >= 0. Of a chained request: the earliest it may arrive, for order only.
        input_tokens, output_tokens: i4 (n,), >= 1.
        block_start: i8 (n+1,), request i owns `block_ids[block_start[i]:block_start[i+1]]`.
        block_ids: u4 (m,), every number of [0, n_ids) occurs. One id per granule of `granule_tokens` tokens, first to
            last, over the prompt, or over prompt and output if `has_output_ids`; the last granule may be partly filled.
            An id stands for the whole prefix up to the end of its granule: equal id, equal prefix.
        after: i4 (n,), the request whose finish triggers this one, or -1. A request triggers at most one.
        think_s: f8 (n,), seconds between that finish and the arrival.
        session, tenant: i4 (n,), >= 0.
        wave: i4 (n,), non-decreasing barrier round; 0 everywhere means no barrier.
        source: where it came from, in words.
        sha256: hash of everything above except `source`.

    Raises:
        InputError: an invariant does not hold; `path` names the array and the first offending index.
    """

    arrival_s: NDArray[np.float64]
    input_tokens: NDArray[np.int32]
    output_tokens: NDArray[np.int32]
    block_start: NDArray[np.int64]
    block_ids: NDArray[np.uint32]
    n_ids: int
    granule_tokens: int
    after: NDArray[np.int32]
    think_s: NDArray[np.float64]
    session: NDArray[np.int32]
    tenant: NDArray[np.int32]
    wave: NDArray[np.int32]
    has_output_ids: bool
    source: str
    sha256: str = ""

    def __post_init__(self) -> None:
        for name, dtype in _DTYPES.items():
            object.__setattr__(self, name, _sealed(name, getattr(self, name), dtype))
        self.validate()
        object.__setattr__(self, "sha256", self._digest())

    @classmethod
    def of(
        cls,
        arrival_s: ArrayLike,
        input_tokens: ArrayLike,
        output_tokens: ArrayLike,
        blocks: Sequence[Sequence[int]] | tuple[NDArray[Any], NDArray[Any]],
        granule_tokens: int,
        *,
        after: ArrayLike | None = None,
        think_s: ArrayLike | None = None,
        session: ArrayLike | None = None,
        tenant: ArrayLike | None = None,
        wave: ArrayLike | None = None,
        has_output_ids: bool = False,
        source: str = "given",
    ) -> Trace:
        """A trace from any integer ids: one list per request, or the pair (block_start, ids).

        Ids are renumbered by first appearance. Left out: unchained, no think time, every request its own session, one
        tenant, no barrier.
        """
        start, raw = _flat(blocks)
        ids, n_ids = densify(raw)
        n = len(start) - 1
        return cls(
            arrival_s=np.asarray(arrival_s, np.float64),
            input_tokens=int32("input_tokens", input_tokens),
            output_tokens=int32("output_tokens", output_tokens),
            block_start=start,
            block_ids=ids,
            n_ids=n_ids,
            granule_tokens=granule_tokens,
            after=int32("after", np.full(n, -1) if after is None else after),
            think_s=np.zeros(n) if think_s is None else np.asarray(think_s, np.float64),
            session=int32("session", np.arange(n) if session is None else session),
            tenant=int32("tenant", np.zeros(n, np.int32) if tenant is None else tenant),
            wave=int32("wave", np.zeros(n, np.int32) if wave is None else wave),
            has_output_ids=has_output_ids,
            source=source,
        )

    @property
    def n(self) -> int:
        """Number of requests."""
        return len(self.arrival_s)

    @property
    def total_prompt_tokens(self) -> int:
        return int(self.input_tokens.sum(dtype=np.int64))

    @property
    def total_output_tokens(self) -> int:
        return int(self.output_tokens.sum(dtype=np.int64))

    @property
    def span_s(self) -> float:
        """Seconds from the first to the last unchained arrival: the time during which load is offered."""
        roots = self.arrival_s[self.after < 0]
        return float(roots[-1] - roots[0])

    @property
    def mean_rate_per_s(self) -> float:
        """Requests per second of offered load: n / `span_s`; infinite when everything arrives at one instant.

        Chained requests count: in a steady state each unchained arrival brings all that follow it. Before the first
        chains have grown and after the last one has started, fewer arrive.
        """
        return self.n / self.span_s if self.span_s > 0 else math.inf

    def prompt_blocks(self, i: int) -> NDArray[np.uint32]:
        """The ids of request i's prompt, the partly filled last one included."""
        start = int(self.block_start[i])
        return self.block_ids[start : start + -(-int(self.input_tokens[i]) // self.granule_tokens)]

    def scaled_to_rate(self, rate_per_s: float) -> Trace:
        """The same requests with unchained arrivals scaled, from zero, so that `mean_rate_per_s` equals `rate_per_s`.

        Think times stay. The earliest time of a chained request is recomputed (that of the request before it plus the
        think time) and requests are put in order of arrival again; their numbers may change, their contents do not.

        Raises:
            InputError: the rate is not positive, or the trace has no duration to scale.
        """
        if not (math.isfinite(rate_per_s) and rate_per_s > 0):
            raise InputError("must be positive", path="request_rate", value=rate_per_s)
        if self.span_s <= 0:
            raise InputError(
                "all requests arrive at one instant, there is no rate to scale", path="request_rate", value=rate_per_s
            )
        scaled = self.arrival_s * (self.n / (rate_per_s * self.span_s))
        return self._arriving(earliest_arrival(scaled, self.after, self.think_s))

    def rescheduled(self, start_s: NDArray[np.float64], think_s: NDArray[np.float64] | None = None) -> Trace:
        """The same requests at other times.

        The earliest times of chained requests are recomputed, and requests put in order of arrival again.

        Args:
            start_s: f8, arrivals of the unchained requests, in their order, to the microsecond.
            think_s: f8 (n,), of each request (those that are not chained have none); None: as they are.
        """
        roots = self.after < 0
        arrival_s = np.zeros(self.n)
        arrival_s[roots] = np.round(start_s, 6)  # libraries of other CPUs differ in the last bit
        think_s = self.think_s if think_s is None else np.where(roots, 0.0, np.round(think_s, 6))
        trace = self if think_s is self.think_s else replace(self, think_s=think_s)
        return trace._arriving(earliest_arrival(arrival_s, self.after, think_s))

    def in_waves(self, size: int) -> Trace:
        """The same requests in rounds of `size` sessions, in order of their first requests, with a barrier after each round.

        A session here is an unchained request and all that is chained to it.

        Raises:
            InputError: the trace has barriers already.
        """
        if self.wave.any():
            raise InputError("the workload has a barrier of its own", path="client_pattern.waves", value=True)
        root = np.where(self.after < 0, np.arange(self.n), self.after)
        while (further := root[root]).tobytes() != root.tobytes():
            root = further
        wave = (np.cumsum(self.after < 0) - 1)[root] // size
        order = np.argsort(wave, kind="stable")
        return replace(self._in_order(order, self.arrival_s), wave=int32("wave", wave[order]))

    def first(self, n: int) -> Trace:
        """The first n requests.

        Raises:
            InputError: the trace is shorter.
        """
        if not 1 <= n <= self.n:
            raise InputError(f"must be between 1 and the {self.n} requests of {self.source}", path="requests", value=n)
        return self if n == self.n else self._taken(np.arange(n), self.arrival_s)

    def validate(self) -> None:
        """Check every invariant; the constructor calls this.

        Raises:
            InputError: the first one that does not hold.
        """
        if self.n == 0:
            raise InputError("a trace needs at least one request", path="arrival_s")
        for name in _PER_REQUEST:
            if len(getattr(self, name)) != self.n:
                raise InputError(f"must have one entry per request ({self.n})", path=name, value=len(getattr(self, name)))
        self._check_times()
        _refuse("input_tokens", self.input_tokens, self.input_tokens < 1, "must be at least 1")
        _refuse("output_tokens", self.output_tokens, self.output_tokens < 1, "must be at least 1")
        _refuse("session", self.session, self.session < 0, "must not be negative")
        _refuse("tenant", self.tenant, self.tenant < 0, "must not be negative")
        _refuse("wave", self.wave, self.wave < 0, "must not be negative")
        _refuse("wave", self.wave[1:], np.diff(self.wave) < 0, "must not decrease", shift=1)
        self._check_chains()
        self._check_blocks()

    def _check_times(self) -> None:
        _refuse("arrival_s", self.arrival_s, ~np.isfinite(self.arrival_s), "must be finite")
        _refuse("arrival_s", self.arrival_s, self.arrival_s < 0, "must not be negative")
        _refuse("arrival_s", self.arrival_s[1:], np.diff(self.arrival_s) < 0, "times must be sorted", shift=1)
        _refuse("think_s", self.think_s, ~(np.isfinite(self.think_s) & (self.think_s >= 0)), "must be finite, not negative")

    def _check_chains(self) -> None:
        _refuse("after", self.after, (self.after < -1) | (self.after >= np.arange(self.n)), "must be -1 or an earlier request")
        chained = np.flatnonzero(self.after >= 0)
        before = self.after[chained]
        times = np.bincount(before, minlength=self.n)[before]
        _refuse("after", before, times > 1, "a request may trigger only one other", index=chained)

    def _check_blocks(self) -> None:
        if self.granule_tokens < 1:
            raise InputError("must be at least 1", path="granule_tokens", value=self.granule_tokens)
        start, ids, granule = self.block_start, self.block_ids, self.granule_tokens
        if len(start) != self.n + 1 or start[0] != 0 or start[-1] != len(ids):
            raise InputError(f"must have n+1 entries from 0 to {len(ids)}", path="block_start", value=len(start))
        covered = self.covered_tokens()
        count = -(-covered // granule)
        wrong = np.diff(start) != count
        if wrong.any():
            i = int(np.argmax(wrong))
            rule = f"must hold one id per {granule} tokens: {count[i]} for {covered[i]} tokens"
            raise InputError(rule, path=f"block_ids[{i}]", value=int(start[i + 1] - start[i]))
        seen = np.bincount(ids, minlength=self.n_ids) if int(ids.max()) < self.n_ids else np.zeros(1, np.int64)
        if len(seen) != self.n_ids or not seen.all():
            raise InputError("ids must be exactly 0 to n_ids-1", path="n_ids", value=self.n_ids)
        # Each id must always follow the same id and be filled alike: then, by induction, equal id means equal prefix.
        before = np.empty(len(ids), np.int64)
        before[1:] = ids[:-1]
        before[start[:-1]] = -1
        fill = np.full(len(ids), granule, np.int64)
        fill[start[1:] - 1] = covered - (count - 1) * granule
        place = before * (granule + 1) + fill
        usual = np.empty(self.n_ids, np.int64)
        usual[ids] = place
        odd = usual[ids] != place
        if odd.any():
            i = int(np.searchsorted(start, np.argmax(odd), side="right")) - 1
            rule = "equal ids must stand for equal prefixes (same ids before them, same number of tokens)"
            raise InputError(rule, path=f"block_ids[{i}]", value=int(ids[int(np.argmax(odd))]))

    def covered_tokens(self) -> NDArray[np.int64]:
        """i8 (n,): tokens that the ids of each request cover: its prompt, and its output if `has_output_ids`."""
        tokens = self.input_tokens.astype(np.int64)
        return tokens + self.output_tokens if self.has_output_ids else tokens

    def _arriving(self, arrival_s: NDArray[np.float64]) -> Trace:
        """This trace with other arrival times, put in order; requests of earlier waves stay ahead."""
        return self._in_order(np.lexsort((arrival_s, self.wave)), arrival_s)

    def _in_order(self, order: NDArray[np.intp], arrival_s: NDArray[np.float64]) -> Trace:
        """All requests in another order, none arriving before the one ahead of it."""
        earliest = arrival_s.copy()
        earliest[order] = np.maximum.accumulate(arrival_s[order])  # a wave cannot start before the one ahead of it
        return self._taken(order, earliest)

    def _taken(self, order: NDArray[np.intp], arrival_s: NDArray[np.float64]) -> Trace:
        """Requests `order` (a permutation, or a prefix closed under `after`), with ids renumbered if some are gone."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        values["arrival_s"] = arrival_s
        if len(order) < self.n or (order[1:] < order[:-1]).any():
            for name in _PER_REQUEST:
                values[name] = values[name][order]
            place = np.full(self.n + 1, -1, np.int32)  # the extra entry, read by index -1, keeps "unchained"
            place[order] = np.arange(len(order), dtype=np.int32)
            values["after"] = place[values["after"]]
            values["block_start"], values["block_ids"] = gather(self.block_start, self.block_ids, order)
        if len(order) < self.n:
            values["block_ids"], values["n_ids"] = renumber(values["block_ids"], self.n_ids)
        return Trace(**values)

    def _digest(self) -> str:
        digest = hashlib.sha256(f"{self.n_ids} {self.granule_tokens} {self.has_output_ids}".encode())
        for name in _DTYPES:
            digest.update(memoryview(getattr(self, name)).cast("B"))
        return digest.hexdigest()


def int32(name: str, values: ArrayLike) -> NDArray[np.int32]:
    """Whole numbers as a read-only i4 array.

    Raises:
        InputError: not whole numbers, or one does not fit; `path` is `name` with the index.
    """
    return _sealed(name, np.asarray(values), np.int32)


def _sealed(name: str, given: NDArray[Any], dtype: type[np.generic]) -> NDArray[Any]:
    """A read-only, contiguous copy of `given` as `dtype`, refusing to round or wrap; `given` itself if it is one."""
    if given.ndim != 1:
        raise InputError("must have one dimension", path=name, value=given.ndim)
    if given.dtype == dtype and given.base is None and given.flags.c_contiguous and not given.flags.writeable:
        return given
    if given.size and given.dtype != dtype and issubclass(dtype, np.integer):
        if given.dtype.kind not in "iu":
            raise InputError("must be whole numbers", path=name, value=str(given.dtype))
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        _refuse(name, given, (given < low) | (given > high), f"must be between {low} and {high}")
    sealed = np.array(given, dtype=dtype, order="C", copy=True)
    sealed.flags.writeable = False
    return sealed


def _refuse(
    name: str, values: NDArray[Any], bad: NDArray[np.bool_], rule: str, *, shift: int = 0, index: NDArray[Any] | None = None
) -> None:
    if bad.any():
        i = int(np.argmax(bad))
        at = int(index[i]) if index is not None else i + shift
        raise InputError(rule, path=f"{name}[{at}]", value=values[i].item())


def _flat(blocks: Sequence[Sequence[int]] | tuple[NDArray[Any], NDArray[Any]]) -> tuple[NDArray[np.int64], NDArray[Any]]:
    if isinstance(blocks, tuple) and len(blocks) == 2 and isinstance(blocks[0], np.ndarray):
        return np.asarray(blocks[0], np.int64), np.asarray(blocks[1])
    lists: Iterable[Sequence[int]] = blocks
    parts = [np.asarray(ids, np.int64) for ids in lists]
    start = np.concatenate(([0], np.cumsum([len(p) for p in parts], dtype=np.int64)))
    return start, np.concatenate(parts) if parts else np.zeros(0, np.int64)


def densify(raw: NDArray[Any]) -> tuple[NDArray[np.uint32], int]:
    """Ids renumbered 0, 1, ... in order of first appearance, and how many there are."""
    if raw.size and int(raw.min()) >= 0 and int(raw.max()) < 8 * raw.size:
        return _first_appearance(raw, int(raw.max()) + 1)
    _, inverse = np.unique(raw, return_inverse=True)
    return _first_appearance(inverse, raw.size)


def _first_appearance(ids: NDArray[Any], limit: int) -> tuple[NDArray[np.uint32], int]:
    first = np.full(limit, -1, np.int64)
    first[ids[::-1]] = np.arange(len(ids) - 1, -1, -1)  # of repeated indices the last one written stays
    is_first = first[ids] == np.arange(len(ids))
    number = np.empty(limit, np.uint32)
    number[ids[is_first]] = np.arange(int(is_first.sum()), dtype=np.uint32)
    return number[ids], int(is_first.sum())


def renumber(ids: NDArray[np.uint32], n_ids: int) -> tuple[NDArray[np.uint32], int]:
    """The ids that occur, renumbered densely in their old order, and how many there are."""
    used = np.zeros(n_ids, np.bool_)
    used[ids] = True
    number = np.cumsum(used, dtype=np.uint32) - np.uint32(1)
    return number[ids], int(used.sum())


def gather(
    start: NDArray[np.int64], values: NDArray[np.uint32], order: NDArray[np.intp]
) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """Rows `order` of a ragged array (start, values), as a ragged array."""
    length = np.diff(start)[order]
    new_start = np.zeros(len(order) + 1, np.int64)
    np.cumsum(length, out=new_start[1:])
    at = np.arange(new_start[-1]) + np.repeat(start[:-1][order] - new_start[:-1], length)
    return new_start, values[at]


def earliest_arrival(
    arrival_s: NDArray[np.float64], after: NDArray[np.signedinteger[Any]], think_s: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Arrival times in which each chained request comes `think_s` after the one it follows, as if serving took no time.

    The longest chain sets the number of passes.
    """
    earliest = arrival_s.copy()
    follower = np.full(len(after), -1, np.int64)
    chained = np.flatnonzero(after >= 0)
    follower[after[chained]] = chained
    now = follower[after < 0]
    while (now := now[now >= 0]).size:
        earliest[now] = earliest[after[now]] + think_s[now]
        now = follower[now]
    return earliest
