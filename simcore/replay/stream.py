"""Replaying a trace that is longer than memory, a chunk at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcore.compiling.passes import run_pass, sealed
from simcore.errors import InputError
from simcore.replay.passes import seen
from simcore.replay.prepared import Asked, Prepared
from simcore.replay.result import Replay
from simcore.replay.run import Hierarchy
from simcore.replay.setup import ORDERS, Tier, validate
from simcore.replay.spans import check_seed, place, spans
from simcore.traces.accesses import DTYPES, Accesses

Chunk = Accesses | NDArray[Any]
_FROM_START = ("request", "clock")  # columns that count from the start of the trace
_UNKNOWN = ("next_use",)  # columns that need what comes later


def replay_stream(
    chunks: Iterable[Chunk],
    n_objects: int,
    tiers: Sequence[Tier],
    *,
    order: str = "tail_first",
    warmup: int = 0,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> Replay:
    """As `simcore.replay.run.replay`, holding one chunk in memory, and what is known of each object. A policy that learns from
    what it has seen also does so at the end of each chunk.

    Args:
        chunks: the trace in pieces of whole requests: `Accesses`, all with the same columns, or arrays of object numbers.
        n_objects: every object number is below it.
        tiers: top to bottom.
        order: of chains.
        warmup: requests at the start that change the cache but are not counted.
        seed: of policies and filters that draw random numbers.
        progress: called after each chunk with the accesses done.

    Raises:
        InputError: a tier is wrong; a policy needs what comes later (next_use) or what the chunks do not have; a chunk refers
            to an object of `n_objects` or more, or its columns are others; nothing is left after the warm-up.
    """
    if order not in ORDERS:
        raise InputError(f"must be one of {', '.join(ORDERS)}", path="order", value=order)
    check_seed(seed)
    if warmup < 0:
        raise InputError("must not be negative", path="warmup", value=warmup)
    stream: _Stream | None = None
    for number, chunk in enumerate(chunks):
        if len(chunk) == 0:
            continue
        piece = _checked(chunk, n_objects, number)
        if stream is None:
            validate(tiers, piece.sizes is not None)
            stream = _Stream(piece, n_objects, tiers, tail_first=order == "tail_first", warmup=warmup, seed=seed)
        stream.feed(piece, number)
        if progress is not None:
            progress(stream.done)
    if stream is None or stream.asked.requests == 0:
        read = 0 if stream is None else stream.requests
        raise InputError(f"must be below the {read} requests of the trace", path="warmup", value=warmup)
    if stream.asked.accesses == 0:
        raise InputError("must leave an access: the requests after it have none", path="warmup", value=warmup)
    return stream.result()


class _Stream:
    """Tiers part of the way through the chunks."""

    def __init__(
        self, first: Accesses, n_objects: int, tiers: Sequence[Tier], *, tail_first: bool, warmup: int, seed: int
    ) -> None:
        self.done = 0  # accesses
        self.requests = 0
        self.asked = Asked(requests=0, accesses=0, asked_bytes=0, tokens=0, distinct=0, one_hit=0)
        self._counting = False  # the warm-up is over
        self._columns = _columns_of(first)
        self._tail_first, self._warmup = tail_first, warmup
        self._times = np.zeros(n_objects, np.uint8)
        self._cache = Hierarchy(_Moment(_stand_in(first, n_objects)), tiers, tail_first=tail_first, seed=seed)

    def feed(self, piece: Accesses, number: int) -> None:
        if _columns_of(piece) != self._columns:
            rule = f"must have the columns of the first, {', '.join(self._columns)}"
            raise InputError(rule, path=f"chunks[{number}]", value=", ".join(_columns_of(piece)))
        cold = min(max(self._warmup - self.requests, 0), piece.n_requests)
        self._cache.turn_to(_Moment(piece, self.requests, self.done))
        for first, end in spans(piece, cold, self._cache.step, self.done):
            if not self._counting and first == cold:
                self._cache.forget_counts()
                self._counting = True
            self._cache.feed(first, end)
        if cold < piece.n_requests:
            self._count(piece, cold)
        self.requests += piece.n_requests
        self.done += len(piece)

    def _count(self, piece: Accesses, first: int) -> None:
        after = slice(place(piece, first), None)
        tokens = piece.tokens if piece.chain else None
        run_pass(seen, seen.State(sealed(piece.ids[after]), self._times))
        asked = self.asked
        self.asked = replace(
            asked,
            requests=asked.requests + piece.n_requests - first,
            accesses=asked.accesses + len(piece.ids[after]),
            asked_bytes=asked.asked_bytes + (0 if piece.sizes is None else int(piece.sizes[after].sum())),
            tokens=asked.tokens + (0 if tokens is None else int(tokens[after].sum(dtype=np.int64))),
        )

    def result(self) -> Replay:
        distinct, one_hit = int(np.count_nonzero(self._times)), int(np.count_nonzero(self._times == 1))
        return self._cache.result(replace(self.asked, distinct=distinct, one_hit=one_hit))


class _Moment(Prepared):
    """A chunk, and how far into the trace it begins."""

    def __init__(self, accesses: Accesses, requests: int = 0, done: int = 0) -> None:
        super().__init__(accesses)
        self._before = {"request": requests, "clock": done}

    def columns(self, names: Iterable[str], *, tail_first: bool) -> dict[str, NDArray[Any]]:
        """Those of the chunk, as of the whole trace.

        Raises:
            InputError: one needs what comes later.
        """
        names = tuple(names)
        for name in names:
            if name in _UNKNOWN:
                rule = f"the policy needs {name}, which a stream does not know"
                raise InputError(rule, path="policy", hint="replay the trace as a whole")
        made = super().columns(names, tail_first=tail_first)
        return {name: column + self._before[name] if name in _FROM_START else column for name, column in made.items()}


def _columns_of(piece: Accesses) -> tuple[str, ...]:
    return (*(name for name in DTYPES if getattr(piece, name) is not None), *(("chain",) if piece.chain else ()))


def _stand_in(first: Accesses, n_objects: int) -> Accesses:
    """One access of the kind that is to come, the smallest there can be: what the tiers are made for."""
    ones: dict[str, Any] = {
        name: np.ones(1, DTYPES[name]) for name in ("sizes", "tokens", "category", "time_s") if name in _columns_of(first)
    }
    start = None if first.request_start is None else np.array([0, 1])
    about: dict[str, Any] = {"request_start": start, "chain": first.chain, "source": first.source, "key": "stream"}
    return Accesses(ids=np.zeros(1, np.uint32), n_objects=n_objects, **about, **ones)


def _checked(chunk: Chunk, n_objects: int, number: int) -> Accesses:
    if not isinstance(chunk, Accesses):
        ids = np.asarray(chunk)
        if ids.dtype.kind not in "iu" or ids.ndim != 1:
            raise InputError("must be whole numbers", path=f"chunks[{number}]", value=f"{ids.dtype} of shape {ids.shape}")
        if ids.dtype != np.uint32 and len(ids) and not 0 <= int(ids.min()) <= int(ids.max()) < n_objects:
            rule = f"must be between 0 and {n_objects - 1}"
            raise InputError(rule, path=f"chunks[{number}]", value=f"{ids.min()} to {ids.max()}")
        try:
            return Accesses(ids=ids, n_objects=n_objects, source="stream", key="stream")
        except InputError as error:
            raise error.within(prefix=f"chunks[{number}]") from None
    if chunk.n_objects > n_objects:
        raise InputError(f"must be at most {n_objects}", path=f"chunks[{number}].n_objects", value=chunk.n_objects)
    return chunk
