"""Replaying a trace through tiers, untimed: each tier filters the events of the one above."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcore.compiling.passes import run_pass, sealed
from simcore.errors import InputError
from simcore.replay import laws, lower
from simcore.replay.contract import blamed
from simcore.replay.engine import engine
from simcore.replay.passes import runs
from simcore.replay.prepared import Asked, Prepared
from simcore.replay.result import Replay, TierResult, definition_of
from simcore.replay.setup import Tier, validate
from simcore.replay.spans import CHUNK, check_options, place, spans
from simcore.replay.state import COLUMNS, NO_VICTIM, OVERFULL, State
from simcore.traces.accesses import Accesses

Progress = Callable[[int, int], None]
_COUNTERS = (
    *("hits", "hit_bytes", "insertions", "inserted_bytes", "evictions", "evicted_bytes"),
    *("refused", "refused_bytes", "removed", "removed_bytes"),
)


def replay(
    accesses: Accesses,
    tiers: Sequence[Tier],
    *,
    order: str = "tail_first",
    warmup: int = 0,
    preload: bool = False,
    seed: int = 0,
    keep_found: bool = False,
    progress: Progress | None = None,
    prepared: Prepared | None = None,
) -> Replay:
    """Hits of a trace in a cache of one or more tiers.

    Args:
        accesses: the trace. With `chain`, a request hits the longest run of its leading objects that are resident when it
            arrives; all its objects are touched then, and absent ones enter.
        tiers: top to bottom.
        order: of chains: objects are touched "tail_first", as serving engines free them, so that the tail leaves first, or in
            the order of the "chain".
        warmup: requests at the start that change the cache but are not counted.
        preload: fill the tiers, top to bottom, with the most frequent objects of the trace before it starts.
        seed: of policies and filters that draw random numbers.
        keep_found: also say of each access which tier held the object (of chains: when the request arrived).
        progress: called with (accesses done, accesses in all).
        prepared: of these accesses, for several replays that share it.

    Raises:
        InputError: a tier is wrong, a policy needs what the trace does not have, or nothing is left after the warm-up.
    """
    validate(tiers, accesses.sizes is not None)
    check_options(accesses, order, warmup, seed)
    if prepared is None or prepared.accesses is not accesses:
        prepared = Prepared(accesses)
    cache = Hierarchy(prepared, tiers, tail_first=order == "tail_first", seed=seed, keep_found=keep_found)
    if preload:
        cache.preload()
    for first, end in spans(accesses, warmup, cache.step):
        if first == warmup:
            cache.forget_counts()
        cache.feed(first, end)
        if progress is not None:
            progress(place(accesses, end), len(accesses))
    return cache.result(prepared.asked(warmup))


class Hierarchy:
    """The tiers of a replay, part of the way through a trace."""

    def __init__(
        self, prepared: Prepared, tiers: Sequence[Tier], *, tail_first: bool, seed: int, keep_found: bool = False
    ) -> None:
        self._accesses = accesses = prepared.accesses
        self._tiers = tiers
        self._variants = lower.variants(tiers, accesses, tracked=keep_found)
        self._columns = prepared.columns(self._variants[0].observed, tail_first=tail_first)
        self._states = [
            lower.new_state(tier, variant, accesses, number=number, tail_first=tail_first, seed=seed)
            for number, (tier, variant) in enumerate(zip(tiers, self._variants, strict=True))
        ]
        self._loops = [engine(v, st) for v, st in zip(self._variants, self._states, strict=True)]
        self._tail_first = tail_first
        self._kept: list[NDArray[np.uint8]] | None = [] if keep_found else None
        self._count_from([laws.Held(0, 0)] * len(tiers))

    @property
    def step(self) -> int:
        """Accesses to feed at a time: as many as may pass before a policy wants to learn from them."""
        return min(getattr(variant.policy, "LEARN_EVERY", CHUNK) for variant in self._variants)

    def turn_to(self, prepared: Prepared) -> None:
        """Go on with other accesses of the same kind, with objects below the same number."""
        self._accesses = prepared.accesses
        self._columns = prepared.columns(self._variants[0].observed, tail_first=self._tail_first)

    def forget_counts(self) -> None:
        """The warm-up is over."""
        for st in self._states:
            for name in _COUNTERS:
                st.run[name] = 0
        self._count_from([laws.Held.of(st) for st in self._states])

    def _count_from(self, before: list[laws.Held]) -> None:
        self._before = before
        self._found = np.zeros((3, len(self._tiers) + 1), np.int64)
        self._trainings = [0] * len(self._tiers)
        self._training_s = [0.0] * len(self._tiers)

    def preload(self) -> None:
        """Fill each tier with the most frequent objects that the tiers above it have no room for; none of it is counted."""
        accesses = self._accesses
        frequency = np.bincount(accesses.ids, minlength=accesses.n_objects)
        first = np.empty(accesses.n_objects, np.int64)
        first[accesses.ids[::-1]] = np.arange(len(accesses) - 1, -1, -1)
        ranked = np.argsort(-frequency, kind="stable")[: np.count_nonzero(frequency)]
        takes = np.ones(len(ranked), np.int64) if accesses.sizes is None else accesses.sizes[first[ranked]]
        done = 0
        for number, tier in enumerate(self._tiers):
            room = done + int(np.searchsorted(np.cumsum(takes[done:]), tier.capacity, side="right"))
            chosen = ranked[done:room][::-1]  # the most frequent last, as if it had been used last
            done = room
            self._fill(number, first[chosen])

    def _fill(self, number: int, at: NDArray[np.int64]) -> None:
        """Put the objects of accesses `at` into one tier alone, past its filter, at time 0: all their uses are to come."""
        variant = replace(self._variants[number], chain=False, below=False, unfiltered=True)
        st = self._states[number]
        told = {name: column[at] for name, column in self._columns.items()}
        if "next_use" in told:
            told["next_use"] = lower.columns(self._accesses, ["clock"], tail_first=self._tail_first)["clock"][at]
        told |= {name: np.zeros_like(told[name]) for name in ("clock", "request") if name in told}
        if "time_s" in told:
            told["time_s"] = np.full(len(at), self._columns["time_s"][0])
        events = {"ids": self._accesses.ids[at], **told}
        most = 3 * len(at) if variant.feeds else 0
        out = {name: np.empty(most, getattr(st, name).dtype) for name in State._fields if name.startswith("out_")}
        given = {name: sealed(array) for name, array in events.items()}
        st = st._replace(**given, **out)
        engine(variant, st)(st)

    def feed(self, first: int, end: int) -> None:
        """Requests [first, end) of the trace."""
        accesses = self._accesses
        a, b = place(accesses, first), place(accesses, end)
        chained = accesses.chain
        found = np.zeros(b - a if chained or self._kept is not None else 0, np.uint8)
        events: dict[str, NDArray[Any]] = {"ids": accesses.ids[a:b], "found": found}
        if chained:
            assert accesses.request_start is not None
            events["start"] = accesses.request_start[first : end + 1] - a
        events |= {name: column[a:b] for name, column in self._columns.items()}
        for number in range(len(self._tiers)):
            events = self._pass(number, events)
        if chained:
            self._count_runs(events["start"], found, a, b)
        if self._kept is not None:
            self._kept.append(found)
        for number, variant in enumerate(self._variants):
            self._learn(number, getattr(variant.policy, "learn", None))

    def _learn(self, number: int, learn: Callable[[State], bool] | None) -> None:
        if learn is not None:
            started_s = time.thread_time()
            with self._blaming(number, "learn fails"):
                self._trainings[number] += bool(learn(self._states[number]))
            self._training_s[number] += time.thread_time() - started_s

    def _blaming(self, number: int, what: str) -> AbstractContextManager[None]:
        variant = self._variants[number]
        return blamed((variant.policy, variant.admission), what)

    def _pass(self, number: int, events: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """One tier over its events; returns those for the tier below."""
        variant, st = self._variants[number], self._states[number]
        out: dict[str, NDArray[Any]] = {}
        if variant.feeds:
            most = 3 * len(events["ids"]) + int(np.count_nonzero(st.slot))
            out = {"ids": np.empty(most, np.uint32), "kind": np.empty(most, np.uint8), "place": np.empty(most, np.uint32)}
            out |= {name: np.empty(most, COLUMNS[name]) for name in variant.sent}
        given = {name: array if name == "found" else sealed(array) for name, array in events.items()}
        st = st._replace(**given, **{f"out_{name}": array for name, array in out.items()})
        with self._blaming(number, "fails in a replay"):
            self._loops[number](st)
        if st.run[0].fault:
            rules = {NO_VICTIM: "chose a victim that is no resident object"}
            rules[OVERFULL] = "breaks a law of the engine: more objects than the capacity"
            rule = rules[int(st.run[0].fault)]
            raise InputError(rule, file=str(variant.policy.__file__), path=f"tiers.{number}.policy")
        done = int(st.run[0].out)
        below = {name: array[:done] for name, array in out.items()}
        return {**below, "found": events["found"], **({"start": events["start"]} if "start" in events else {})}

    def _count_runs(self, start: NDArray[np.int64], found: NDArray[np.uint8], a: int, b: int) -> None:
        accesses = self._accesses
        tokens = np.zeros(0, np.int32) if accesses.tokens is None else accesses.tokens[a:b]
        sizes = np.zeros(0, np.int64) if accesses.sizes is None else accesses.sizes[a:b]
        run_pass(runs, runs.State(sealed(start), sealed(found), sealed(tokens), sealed(sizes), self._found))

    def result(self, asked: Asked) -> Replay:
        """Counts since the warm-up, of what was `asked` since.

        Raises:
            InternalError: they contradict each other.
            InputError: the same, where a policy or filter is outside the package.
        """
        accesses, chained = self._accesses, self._accesses.chain
        tiers: list[TierResult] = []
        left, left_bytes = asked.accesses, asked.asked_bytes
        for number, tier in enumerate(self._tiers):
            run = self._states[number].run[0]
            hits = [int(x) for x in self._found[:, number + 1]] if chained else [int(run.hits), 0, int(run.hit_bytes)]
            if accesses.sizes is None:
                hits[2] = 0
            tiers.append(self._tier_result(number, tier, left, left_bytes, hits))
            left, left_bytes = left - hits[0], left_bytes - hits[2]
        held = sum((st.slot != 0).astype(np.int64) for st in self._states)
        with blamed(self._modules(), "breaks a law of the engine"):
            laws.check(self._states, self._before, tiers, chained=chained)
        return Replay(
            definition=definition_of(accesses, self._tail_first),
            **asdict(asked),
            tiers=tuple(tiers),
            duplicates=int((held > 1).sum()),
            found=None if self._kept is None else np.concatenate(self._kept)[len(accesses) - asked.accesses :],
        )

    def _modules(self) -> Iterator[ModuleType]:
        return (module for variant in self._variants for module in (variant.policy, variant.admission))

    def _tier_result(self, number: int, tier: Tier, asked: int, asked_bytes: int, hits: list[int]) -> TierResult:
        st = self._states[number]
        run = st.run[0]
        resident = int(st.store["count"].sum())
        if not self._variants[number].counted:
            before, units = self._before[number], int(st.store["used"].sum())
            run.insertions = asked - run.hits - run.refused
            run.inserted_bytes = (asked_bytes or asked) - run.hit_bytes - run.refused_bytes
            run.evictions = run.insertions + before.objects - resident
            run.evicted_bytes = run.inserted_bytes + before.units - units
        return TierResult(
            name=tier.name,
            policy=policy_name(tier.policy),
            capacity=tier.capacity,
            asked=asked,
            asked_bytes=asked_bytes,
            hits=hits[0],
            hit_tokens=hits[1],
            hit_bytes=hits[2],
            insertions=int(run.insertions),
            inserted_bytes=int(run.inserted_bytes),
            evictions=int(run.evictions),
            evicted_bytes=int(run.evicted_bytes),
            promotions=int(run.removed),
            refused=int(run.refused),
            trainings=self._trainings[number],
            training_cpu_s=self._training_s[number],
            resident=resident,
            used=int(st.store["used"].sum()),
        )


def policy_name(policy: str | Path) -> str:
    """A policy as results name it."""
    return policy.stem if isinstance(policy, Path) else policy
