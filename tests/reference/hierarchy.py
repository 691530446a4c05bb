"""A naive replay of tiers: dicts of resident objects, twins of policies and filters, one access after the other, top to bottom.

What the engine does tier by tier over chunks of events, this does access by access through all tiers.
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from simcore.replay.setup import Tier
from tests.reference.replay import next_uses

WORD = (1 << 64) - 1
OF_OBJECT = ("size", "next_use", "depth")  # what an object takes along when it is evicted; the rest is of the moment

Event = dict[str, int]


def set_of(obj: int, sets: int) -> int:
    x = (obj + 0x9E3779B97F4A7C15) & WORD
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & WORD
    return ((x ^ (x >> 31)) >> 32) * sets >> 32


@dataclass(eq=False)
class Store:
    capacity: int
    policy: Any
    admission: Any
    held: dict[int, Event] = field(default_factory=dict)  # what is known of each resident object

    @property
    def used(self) -> int:
        return sum(event["size"] for event in self.held.values())


class Level:
    """One tier; `below` is the next, if any."""

    def __init__(self, number: int, tier: Tier, slots_of: Any, below: Level | None, sized: bool) -> None:
        self.number, self.below, self.sized = number, below, sized
        self.placement = tier.placement if tier.placement == "exclusive" else tier.write
        sets = tier.capacity // tier.ways if 0 < tier.ways < tier.capacity else 1
        self.stores = []
        for _ in range(sets):
            capacity = tier.capacity // sets
            policy = importlib.import_module(f"tests.reference.eviction.{tier.policy}").Twin(capacity, **tier.params)
            admission = importlib.import_module(f"tests.reference.admission.{tier.admission}").Twin(**tier.admission_params)
            for twin in (policy, admission):
                if hasattr(twin, "begin"):
                    twin.begin(slots_of(capacity))
            self.stores.append(Store(capacity, policy, admission))
        self.counts: Counter[str] = Counter()

    def store(self, obj: int) -> Store:
        return self.stores[set_of(obj, len(self.stores))]

    def holds(self, obj: int) -> bool:
        return obj in self.store(obj).held

    def get(self, event: Event, *, alone: bool = False) -> int:
        """The object is asked for here; returns 1 + the number of the tier that has it, 0 for none."""
        obj = event["obj"]
        store = self.store(obj)
        if not alone:
            store.admission.access(obj)
        keeps = self.number == 0 or self.placement == "through" or alone
        if obj in store.held:
            self.counts["hits"] += 1
            self.counts["hit_bytes"] += event["size"]
            store.held[obj] = {**event, "size": store.held[obj]["size"]}
            store.policy.hit(obj, event)
            if not keeps and self.placement == "exclusive":
                self.counts["promotions"] += 1
                store.policy.evict(obj)
                del store.held[obj]
            self.shed(store, event, None if alone else self.below)
            return self.number + 1
        found = self.below.get(event) if self.below and not alone else 0
        if keeps:
            self.enter(event, alone=alone)
        return found

    def offer(self, event: Event) -> None:
        """The tier above has no place for the object (any more)."""
        if self.placement != "through" and not self.holds(event["obj"]):
            self.enter(event)

    def enter(self, event: Event, *, alone: bool = False) -> None:
        below = None if alone else self.below
        if self.insert(event, below, filtered=not alone):
            self.counts["insertions"] += 1
            self.counts["inserted_bytes"] += event["size"]
            return
        self.counts["refused"] += 1
        if below:
            below.offer(event)

    def insert(self, event: Event, below: Level | None, *, filtered: bool) -> bool:
        obj, size = event["obj"], event["size"]
        store = self.store(obj)
        if size > store.capacity:
            return False
        store.policy.miss(obj, size, event)
        if filtered and not store.admission.admit(obj, size):
            return False
        while store.used + size > store.capacity:
            victim = store.policy.victim(event)
            if victim is None or (filtered and not store.admission.prefer(obj, victim)):
                return False
            self.evict(store, victim, event, below)
        store.held[obj] = dict(event)
        store.policy.insert(obj, size, event)
        self.shed(store, event, below)
        return True

    def shed(self, store: Store, event: Event, below: Level | None) -> None:
        asks = self.sized and hasattr(store.policy, "surplus")
        while (obj := store.policy.surplus() if asks else None) is not None:
            self.evict(store, obj, event, below)

    def evict(self, store: Store, victim: int, event: Event, below: Level | None) -> None:
        gone = store.held.pop(victim)
        self.counts["evictions"] += 1
        self.counts["evicted_bytes"] += gone["size"]
        store.policy.evict(victim)
        if below:
            below.offer({**event, "obj": victim, **{name: gone[name] for name in OF_OBJECT}})


@dataclass(eq=False)
class Expected:
    """What `simcore.replay.run.replay` should return."""

    found: list[int]
    tiers: list[dict[str, int]]
    duplicates: int


class Hierarchy:
    def __init__(self, ids: Sequence[int], sizes: Sequence[int] | None, tiers: Sequence[Tier]) -> None:
        self.ids, self.sizes = ids, sizes
        smallest = 1 if sizes is None else min(sizes)

        def slots_of(capacity: int) -> int:
            return max(1, min(capacity // smallest, max(ids) + 1))

        self.levels: list[Level] = []
        for number in range(len(tiers) - 1, -1, -1):
            below = self.levels[0] if self.levels else None
            self.levels.insert(0, Level(number, tiers[number], slots_of, below, sizes is not None))
        self.capacities = [tier.capacity for tier in tiers]

    def events(self, requests: Sequence[tuple[int, int]], touched: Sequence[int]) -> dict[int, Event]:
        """Of each access; `touched` is the order of touching."""
        future = dict(zip(touched, next_uses([self.ids[k] for k in touched]), strict=True))
        clock = {k: time for time, k in enumerate(touched)}
        return {
            k: {
                "obj": self.ids[k],
                "size": 1 if self.sizes is None else self.sizes[k],
                "next_use": future[k],
                "clock": clock[k],
                "request": r,
                "depth": k - first,
            }
            for r, (first, end) in enumerate(requests)
            for k in range(first, end)
        }

    def preload(self, events: Mapping[int, Event]) -> None:
        often = Counter(self.ids)
        first = {obj: self.ids.index(obj) for obj in often}
        ranked = sorted(often, key=lambda obj: (-often[obj], obj))
        for level, room in zip(self.levels, self.capacities, strict=True):
            chosen = []
            while ranked and events[first[ranked[0]]]["size"] <= room:
                room -= events[first[ranked[0]]]["size"]
                chosen.append(ranked.pop(0))
            for obj in reversed(chosen):
                event = events[first[obj]]
                level.get({**event, "next_use": event["clock"], "clock": 0, "request": 0}, alone=True)


def replay(
    ids: Sequence[int],
    sizes: Sequence[int] | None,
    tiers: Sequence[Tier],
    *,
    requests: Sequence[tuple[int, int]] | None = None,
    tail_first: bool = True,
    warmup: int = 0,
    preload: bool = False,
) -> Expected:
    """`requests`: spans of accesses that are prefix chains; without, every access is for itself."""
    chained = requests is not None
    spans = requests if requests is not None else [(k, k + 1) for k in range(len(ids))]
    orders = [range(end - 1, first - 1, -1) if chained and tail_first else range(first, end) for first, end in spans]
    cache = Hierarchy(ids, sizes, tiers)
    events = cache.events(spans, [k for order in orders for k in order])
    if preload:
        cache.preload(events)
    found = [0] * len(ids)
    runs: list[tuple[int, int]] = []  # of counted requests: tier and access
    for r, ((first, end), order) in enumerate(zip(spans, orders, strict=True)):
        if r == warmup:
            for level in cache.levels:
                level.counts.clear()
        if chained:
            for k in range(first, end):
                found[k] = next((level.number + 1 for level in cache.levels if level.holds(ids[k])), 0)
        for k in order:
            tier = cache.levels[0].get(events[k])
            if not chained:
                found[k] = tier
        if chained and r >= warmup:
            for k in range(first, end):
                if not found[k]:
                    break
                runs.append((found[k] - 1, k))
    start = spans[warmup][0]
    held = Counter(obj for level in cache.levels for store in level.stores for obj in store.held)
    counts = [_counts(level, chained, runs, sizes) for level in cache.levels]
    return Expected(found[start:], counts, sum(n > 1 for n in held.values()))


def _counts(level: Level, chained: bool, runs: Sequence[tuple[int, int]], sizes: Sequence[int] | None) -> dict[str, int]:
    counts = {name: level.counts[name] for name in ("hits", "hit_bytes", "insertions", "inserted_bytes", "evictions")}
    counts |= {name: level.counts[name] for name in ("evicted_bytes", "promotions", "refused")}
    if chained:
        mine = [k for tier, k in runs if tier == level.number]
        counts |= {"hits": len(mine), "hit_bytes": sum(sizes[k] for k in mine) if sizes else 0}
    if sizes is None:
        counts["hit_bytes"] = 0
    counts["resident"] = sum(len(store.held) for store in level.stores)
    counts["used"] = sum(store.used for store in level.stores)
    return counts
