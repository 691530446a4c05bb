"""Many replays of one trace, by several threads: policies by capacities."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcore.errors import InputError, InternalError, SimcoreError
from simcore.replay import lower
from simcore.replay.distances import lru_curve, sizes_are_fixed
from simcore.replay.engine import Variant, engine
from simcore.replay.prepared import Prepared
from simcore.replay.run import policy_name, replay
from simcore.replay.setup import Tier
from simcore.traces.accesses import Accesses

UNITS = ("accesses", "bytes", "tokens")
Progress = Callable[[int, int], None]
Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Chosen:
    """A policy, its module and its parameters, checked."""

    policy: str | Path
    params: Mapping[str, Any]
    module: ModuleType

    @property
    def name(self) -> str:
        return policy_name(self.policy)

    def tier(self, capacity: int, options: Options) -> Tier:
        return Tier(
            capacity=capacity,
            policy=self.policy,
            params=self.params,
            admission=options.admission,
            admission_params=options.admission_params,
            ways=options.ways,
        )


@dataclass(frozen=True, eq=False)
class Part:
    """A trace to replay, whole or sampled.

    Attributes:
        capacity: (k,), at which.
        stands_for: (k,), the capacities for the whole trace; messages name these.
    """

    accesses: Accesses
    warmup: int
    capacity: Counts
    stands_for: Counts


@dataclass(frozen=True)
class Options:
    """Of every replay."""

    order: str
    seed: int
    admission: str | Path = "none"
    admission_params: Mapping[str, Any] = field(default_factory=dict)
    ways: int = 0

    @property
    def plain(self) -> bool:
        """Whether everything enters a fully associative cache."""
        return self.admission == "none" and not self.ways


@dataclass(frozen=True, eq=False)
class _Run:
    """One replay, or one pass for several capacities."""

    policy: int
    part: int
    at: Counts  # indices of the capacities
    one_pass: bool


class _Stopped(Exception):
    """Another run failed, or the user does not want to wait."""


def all_hits(
    parts: Sequence[Part],
    chosen: Sequence[Chosen],
    options: Options,
    *,
    threads: int | None,
    progress: Progress | None,
) -> Counts:
    """i8 (policies, parts, 3, k): hits in accesses, bytes and tokens. Stops soon, whatever comes in between.

    Raises:
        InputError: a policy cannot run on this trace; the message names policy and capacity, of the whole trace.
        SimcoreError: a policy failed; the same.
    """
    hits = np.zeros((len(chosen), len(parts), len(UNITS), len(parts[0].capacity)), np.int64)
    runs = [run for i, c in enumerate(chosen) for k, part in enumerate(parts) for run in _runs_of(i, k, c, part, options)]
    prepared = [Prepared(part.accesses) for part in parts]
    _compile([run for run in runs if not run.one_pass], parts, chosen, options)
    stop = Event()

    def look(done: int, of: int) -> None:
        if stop.is_set():
            raise _Stopped

    def work(run: _Run) -> None:
        look(0, 0)
        found = _answered(run, parts[run.part], prepared[run.part], chosen[run.policy], options, look)
        hits[run.policy, run.part][:, run.at] = found

    workers = ThreadPoolExecutor(min(threads or _processors(), max(1, len(runs))))
    try:
        waiting: dict[Future[None], _Run] = {workers.submit(work, run): run for run in runs}
        for done, future in enumerate(as_completed(waiting), 1):
            with _named(chosen[waiting[future].policy], parts[0], waiting[future]):
                future.result()
            if progress is not None:
                progress(done, len(runs))
    finally:
        stop.set()
        workers.shutdown(cancel_futures=True)
    return hits


def _compile(runs: Sequence[_Run], parts: Sequence[Part], chosen: Sequence[Chosen], options: Options) -> None:
    """Compile each loop that the runs need, once and for states as small as can be, before threads would wait for it."""
    compiled: set[Variant] = set()
    for run in runs:
        accesses = parts[run.part].accesses
        tier = chosen[run.policy].tier(int(parts[run.part].capacity[run.at[0]]), options)
        with _named(chosen[run.policy], parts[0], run):
            (variant,) = lower.variants([tier], accesses, tracked=False)
            if variant not in compiled:
                compiled.add(variant)
                small = replace(tier, capacity=2 * tier.ways if variant.sets else 1)
                engine(variant, lower.new_state(small, variant, accesses, number=0, tail_first=True, seed=0))


def _answered(run: _Run, part: Part, prepared: Prepared, chosen: Chosen, options: Options, look: Progress) -> Counts:
    """i8 (3, capacities of the run)."""
    asked = part.capacity[run.at]
    told: dict[str, Any] = {"order": options.order, "warmup": part.warmup, "progress": look}
    if run.one_pass:
        curve = lru_curve(part.accesses, **told)
        counts = (curve.hits, curve.hit_bytes, curve.hit_tokens)
        return np.array([np.zeros(len(asked), np.int64) if count is None else curve.read(count, asked) for count in counts])
    tier = chosen.tier(int(asked[0]), options)
    found = replay(part.accesses, [tier], seed=options.seed, prepared=prepared, **told).tiers[0]
    return np.array([[found.hits], [found.hit_bytes], [found.hit_tokens]])


def _runs_of(i: int, k: int, chosen: Chosen, part: Part, options: Options) -> list[_Run]:
    by_distance = chosen.policy == "lru" and options.plain
    at_once = np.full(len(part.capacity), by_distance)
    if by_distance and part.accesses.sizes is not None:
        at_once &= (part.capacity >= part.accesses.sizes.max()) & sizes_are_fixed(part.accesses)
    runs = [_Run(i, k, np.array([j]), False) for j in np.flatnonzero(~at_once)]
    return [*runs, _Run(i, k, np.flatnonzero(at_once), True)] if at_once.any() else runs


class _named:
    """What goes wrong inside names the policy and the capacity."""

    def __init__(self, chosen: Chosen, part: Part, run: _Run) -> None:
        capacity = part.stands_for[run.at]
        self._where = f"{chosen.name} at capacity {capacity[0]}" + (f" to {capacity[-1]}" if len(capacity) > 1 else "")

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, InputError):
            about = (error.path or "").removeprefix("tiers.0.").removeprefix("policy")
            path = ", ".join(word for word in (self._where, about) if word)
            raise InputError(
                error.rule, file=error.file, path=path, value=error.value, hint=error.hint, line=error.line
            ) from None
        if isinstance(error, Exception) and not isinstance(error, _Stopped):
            kind_of_ours = InternalError if isinstance(error, InternalError) else SimcoreError
            raise kind_of_ours(f"{self._where}: {type(error).__name__}: {error}") from error


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
