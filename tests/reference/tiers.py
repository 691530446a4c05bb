"""Stores of blocks and the links between them. The rules of their moves are in `tests.reference.serving`."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from simcore.serving.setup import ServingSetup, StoreSetup
from tests.reference.misses import Misses
from tests.reference.policies import POLICIES

PICOSECONDS = 10**12
WINDOW, LEVELS = 10**9, 1024  # of the utilisation of a link


def picoseconds(seconds: float) -> int:
    return round(float(seconds) * PICOSECONDS)


@dataclass(eq=False)
class Link:
    """One direction of a host or device link."""

    block_time: int
    latency: int
    block_s: float
    free: int = 0
    blocks: int = 0
    pages_time: int = 0  # of sequences swapped
    curve: tuple[tuple[float, float], ...] = ()  # latency in seconds by utilisation
    recent: int = 0  # picoseconds of the last window in which it was busy, at `free`

    def send(self, at: int) -> int:
        """Queue a block that is there at time `at`; returns when its last byte has passed, and sets its latency."""
        start = max(self.free, at)
        self.forget(start - self.free)
        if self.curve:
            shares, latencies = zip(*self.curve, strict=True)
            self.latency = picoseconds(np.interp(LEVELS * self.recent // WINDOW / LEVELS, shares, latencies))
        self.forget(self.block_time)
        self.recent += min(self.block_time, WINDOW)
        self.free = start + self.block_time
        self.blocks += 1
        return self.free

    def forget(self, time: int) -> None:
        self.recent -= self.recent * min(time, WINDOW) // WINDOW

    def move(self, at: int, pages: int, pages_per_block: int) -> int:
        """Queue pages of a sequence; returns when they have arrived."""
        time = pages * picoseconds(self.block_s / pages_per_block)
        self.free, self.pages_time = max(self.free, at) + time, self.pages_time + time
        return self.free + self.latency


class Store:
    """An HBM pool with its replica's host link, or a lower tier with its device link. Blocks are ids."""

    def __init__(self, tier: StoreSetup, read: Link, write: Link, owner: dict[int, int]) -> None:
        self.capacity, self.inclusive, self.read, self.write = tier.capacity_blocks, tier.placement == "inclusive", read, write
        self.written = tier.write_policy or ("write_through" if self.inclusive else "write_back")
        self.after_uses = tier.write_after_uses
        self.uses: Counter[int] = Counter()  # of each block in a pool, by requests that are through
        self.policy = POLICIES[tier.policy]()
        self.pins: dict[int, int] = {}  # of each block in it
        self.ready: dict[int, int] = {}  # from when on it is usable
        self.unpinned: list[int] = []  # by when the last pin went, or the block came
        self.quotas, self.owner = tier.quota_blocks, owner
        self.flow: Counter[str] = Counter()

    def take_over(self, left: Store) -> None:
        self.policy, self.pins, self.uses, self.unpinned = left.policy, left.pins, left.uses, left.unpinned
        self.ready = dict.fromkeys(left.ready, 0)
        self.flow["at_start"] = len(left.pins)

    def enter(self, block: int, ready: int) -> None:
        assert block not in self.pins and len(self.pins) < self.capacity
        self.pins[block], self.ready[block], self.uses[block] = 0, ready, 0
        self.policy.enter(block)
        self.unpinned.append(block)

    def leave(self, block: int) -> int:
        assert not self.pins.pop(block)
        self.unpinned.remove(block)
        self.policy.leave(block)
        return self.ready.pop(block)

    def pin(self, block: int) -> None:
        if not self.pinned(block):
            self.policy.pin(block)
            self.unpinned.remove(block)
        self.pins[block] += 1

    def unpin(self, block: int) -> None:
        self.pins[block] -= 1
        if not self.pinned(block):
            self.policy.unpin(block)
            self.unpinned.append(block)

    def use(self, block: int) -> None:
        self.pin(block)
        self.policy.hit(block)

    def pinned(self, block: int) -> bool:
        return self.pins.get(block, 0) > 0

    def idle(self) -> int:
        return sum(pins == 0 for pins in self.pins.values())

    def at_quota(self, block: int) -> bool:
        """Whether the owner of `block` may hold no more here."""
        tenant = self.owner[block]
        held = sum(self.owner[other] == tenant for other in self.pins)
        return bool(self.quotas) and held >= self.quotas[min(tenant, len(self.quotas) - 1)]

    def own_victim(self, block: int) -> int | None:
        return next((other for other in self.unpinned if self.owner[other] == self.owner[block]), None)

    def victim(self) -> int | None:
        return self.policy.victim(self.pinned) if self.idle() else None


@dataclass(eq=False)
class Tiers:
    """The stores one replica sees, its pool first."""

    stores: list[Store]
    backlog: int
    misses: Misses

    def write(self, j: int, k: int, block: int, at: int, now: int, out: list[tuple[int, int]] | None = None) -> bool:
        """Copy a block that tier j has at time `at` into tier k. False: refused. What it pushes out is demoted, or put on
        `out`."""
        store = self.stores[k]
        links = [self.stores[0].write, store.write] if j == 0 else [store.write]
        refused = max(link.free for link in links) - now > self.backlog
        own = not refused and store.at_quota(block)
        pushed, full = None, own or len(store.pins) == store.capacity
        if refused or (full and (pushed := store.own_victim(block) if own else store.victim()) is None):
            self.misses.past[block].append("write_backlog" if refused else "write_refused")
            store.flow["writes_refused"] += 1
            return False
        self.misses.past[block].append("written")
        pushed_ready = 0 if pushed is None else store.leave(pushed)
        for link in links:
            at = link.send(at)
        store.enter(block, at + sum(link.latency for link in links))
        if pushed is not None and out is not None:
            out.append((pushed, pushed_ready))
        elif pushed is not None:
            self.demote(k, pushed, pushed_ready, now)
        return True

    def bring_up(self, block: int, k: int, now: int) -> bool:
        """Move `block` (inclusive: copy it) from tier k up to tier 1. False: that does not take it."""
        source, target = self.stores[k], self.stores[1]
        full = len(target.pins) == target.capacity
        if target.write.free - now > self.backlog or (full and not target.idle()):
            target.flow["writes_refused"] += 1
            return False
        source.use(block)
        at = source.read.send(max(now, source.ready[block])) + source.read.latency
        pushed: list[tuple[int, int]] = []
        came = self.write(k, 1, block, at, now, pushed)
        source.unpin(block)
        if came:
            target.flow["in_loaded"] += 1
            if not source.inclusive:
                source.leave(block)
                source.flow["out_promoted"] += 1
        for other, ready in pushed:
            self.demote(1, other, ready, now)
        return came

    def demote(self, j: int, block: int, ready: int, now: int) -> None:
        """`block` was evicted from tier j."""
        for k in range(j + 1, len(self.stores)):
            held = block in self.stores[k].pins
            if held or self.stores[k].written == "write_back":
                came = not held and self.write(j, k, block, max(ready, now), now)
                self.stores[k].flow["in_demoted"] += came
                self.stores[j].flow["out_evicted" if held or came else "out_dropped"] += 1
                return
        self.misses.past[block].append("lost")
        self.stores[j].flow["out_dropped"] += 1

    def write_through(self, block: int, now: int) -> None:
        """`block` was completed in the pool."""
        self._copy(block, now, [k for k, store in enumerate(self.stores) if store.written == "write_through"])

    def use(self, block: int, now: int) -> None:
        """A request that is through has used `block` in the pool."""
        uses = self.stores[0].uses
        uses[block] += 1
        selective = [k for k, store in enumerate(self.stores) if store.written == "write_through_selective"]
        self._copy(block, now, [k for k in selective if uses[block] >= self.stores[k].after_uses])

    def _copy(self, block: int, now: int, to: list[int]) -> None:
        """Copy `block` to those of these tiers that lack it, each time from the lowest tier above that has it."""
        for k in to:
            if k > 0 and block not in self.stores[k].pins:
                source = max(j for j in range(k) if block in self.stores[j].pins)
                at = now if source == 0 else max(now, self.stores[source].ready[block])
                self.stores[k].flow["in_written"] += self.write(source, k, block, at, now)


def build_tiers(setup: ServingSetup, owner: dict[int, int]) -> list[Tiers]:
    """Of each replica its pool, its own stores and the shared ones. `owner`: the tenant of each block."""

    def store(tier: StoreSetup) -> Store:
        read = Link(picoseconds(tier.read_s_per_block), picoseconds(tier.read_latency_s), tier.read_s_per_block)
        if tier.loaded_latency_s:
            read.curve = ((0.0, tier.read_latency_s), *tier.loaded_latency_s)
        write = Link(picoseconds(tier.write_s_per_block), picoseconds(tier.write_latency_s), tier.write_s_per_block)
        return Store(tier, read, write, owner)

    pool = StoreSetup(
        name="hbm",
        capacity_blocks=setup.pool_pages * setup.page_tokens // setup.unit_tokens,
        policy=setup.hbm_policy,
        quota_blocks=setup.hbm_quota_blocks,
        read_s_per_block=setup.host_link_read_s_per_block,
        write_s_per_block=setup.host_link_write_s_per_block,
        read_latency_s=setup.host_link_latency_s,
        write_latency_s=setup.host_link_latency_s,
    )
    shared = {k: store(tier) for k, tier in enumerate(setup.tiers) if tier.shared}
    below = [[shared.get(k) or store(tier) for k, tier in enumerate(setup.tiers)] for _ in range(setup.replicas)]
    misses = Misses(setup)
    tiers = [Tiers([store(pool), *stores], picoseconds(setup.write_backlog_s), misses) for stores in below]
    misses.stores = {store for view in tiers for store in view.stores}
    return tiers
