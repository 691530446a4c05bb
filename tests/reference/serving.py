"""The serving engine a second time: slow, plain, one step after the other. (draft)"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from simcore.serving.result import LinkFlow, ServingResult, StoreFlow
from simcore.serving.setup import ServingSetup
from simcore.traces.trace import Trace
from tests.reference.policies import POLICIES

PER_SECOND = 10**12


def picoseconds(seconds: float) -> int:
    return round(float(seconds) * PER_SECOND)


@dataclass(eq=False)
class Link:
    """One direction of a device or host link: blocks pass one after the other."""

    block_time: int
    latency: int
    free: int = 0
    blocks: int = 0

    def passed(self, at: int) -> int:
        self.free = max(self.free, at) + self.block_time
        self.blocks += 1
        return self.free


@dataclass(eq=False)
class Block:
    ready: int
    pins: int = 0


class Store:
    """Which blocks are where, and who needs them. The eviction policy owns their order."""

    def __init__(self, capacity: int, policy: str, inclusive: bool, read: Link, write: Link) -> None:
        self.capacity = capacity
        self.inclusive = inclusive
        self.read = read
        self.write = write
        self.policy = POLICIES[policy]()
        self.blocks: dict[int, Block] = {}
        self.flow: Counter[str] = Counter()

    def enter(self, name: int, ready: int) -> None:
        assert name not in self.blocks and len(self.blocks) < self.capacity
        self.blocks[name] = Block(ready)
        self.policy.insert(name)

    def leave(self, name: int) -> Block:
        assert not self.pinned(name)
        self.policy.remove(name)
        return self.blocks.pop(name)

    def pinned(self, name: int) -> bool:
        return self.blocks[name].pins > 0

    def pin(self, name: int) -> None:
        self.blocks[name].pins += 1
        if self.blocks[name].pins == 1:
            self.policy.pin(name)

    def unpin(self, name: int) -> None:
        self.blocks[name].pins -= 1
        if self.blocks[name].pins == 0:
            self.policy.release(name)

    def use(self, name: int) -> None:
        self.policy.hit(name)
        self.pin(name)

    def idle(self) -> int:
        return sum(block.pins == 0 for block in self.blocks.values())

    def victim(self) -> int | None:
        return self.policy.victim(self.pinned) if self.idle() else None


@dataclass(eq=False)
class Request:
    number: int
    due: int
    think: int
    prompt: int
    output: int
    names: list[int]
    prompt_blocks: int
    output_blocks: int
    after: int
    wave: int
    arrival: int | None = None
    replica: Replica | None = None
    state: str = "to come"
    admitted: int | None = None
    first: int | None = None
    finish: int | None = None
    generated: int = 0
    computed: int = 0  # tokens whose keys and values it has
    target: int = 0  # what prefill has to compute
    held: int = 0  # leading prompt blocks pinned
    pages: int = 0  # private
    peak: int = 0
    ready: int = 0
    load_start: int = 0
    load_wait: int = 0
    preemptions: int = 0
    recomputed: int = 0
    hit_tokens: list[int] = field(default_factory=list)


@dataclass(eq=False)
class Replica:
    number: int
    pool: Store
    tiers: list[Store]  # the pool, then those below
    queue: list[Request] = field(default_factory=list)
    running: list[Request] = field(default_factory=list)
    current: Request | None = None
    blocked: Request | None = None
    ended: list[Request] = field(default_factory=list)
    wake: int | None = None
    started: int = 0
    busy: bool = False
    busy_time: int = 0
    decodes: bool = False
    prefill: int = 0
    pairs: int = 0

    def those(self, state: str) -> list[Request]:
        return [q for q in self.running if q.state == state]


class Twin:
    def __init__(self, trace: Trace, setup: ServingSetup) -> None:
        self.setup = setup
        self.unit = setup.unit_tokens
        self.page = setup.page_tokens
        self.unit_pages = self.unit // self.page
        self.requests = [self._request(trace, i) for i in range(trace.n)]
        self.follower = {q.after: q for q in self.requests if q.after >= 0}
        self.response = picoseconds(setup.costs.request_s)
        self.lin = [picoseconds(s) for s in setup.costs.lin_s]
        self.replicas: list[Replica] = []
        self._build()
        self.now = 0
        self.routed = 0
        self.total: Counter[str] = Counter()
        self.wave_open = 0
        self.chained: list[tuple[int, int]] = []  # (time, number)
        self.coming = list(self.requests)
        if setup.arrivals == "open":
            self.coming = [q for q in self.requests if q.after < 0]

    def _request(self, trace: Trace, i: int) -> Request:
        setup = self.setup
        ids = [int(b) for b in trace.block_ids[trace.block_start[i] : trace.block_start[i + 1]]]
        prompt, output = int(trace.input_tokens[i]), int(trace.output_tokens[i])
        with_output = setup.output_reuse and trace.has_output_ids
        whole = (prompt + output if with_output else prompt) // self.unit
        granules = self.unit // trace.granule_tokens
        names = [ids[(k + 1) * granules - 1] for k in range(whole)]
        prompt_blocks = prompt // self.unit
        if setup.partial_block and not trace.has_output_ids and prompt % self.unit:
            names.append(ids[-1])
            prompt_blocks += 1
        computed = (prompt + output - 1) // self.unit
        return Request(
            number=i,
            due=picoseconds(trace.arrival_s[i]),
            think=picoseconds(trace.think_s[i]),
            prompt=prompt,
            output=output,
            names=names,
            prompt_blocks=prompt_blocks,
            output_blocks=max(min(len(names), computed) - prompt_blocks, 0) if with_output else 0,
            after=int(trace.after[i]),
            wave=int(trace.wave[i]),
        )

    def _build(self) -> None:
        setup = self.setup

        def store(tier: Any) -> Store:
            read = Link(picoseconds(tier.read_s_per_block), picoseconds(tier.read_latency_s))
            write = Link(picoseconds(tier.write_s_per_block), picoseconds(tier.write_latency_s))
            return Store(tier.capacity_blocks, tier.policy, tier.placement == "inclusive", read, write)

        shared = {k: store(tier) for k, tier in enumerate(setup.tiers) if tier.shared}
        latency = picoseconds(setup.host_link_latency_s)
        for r in range(setup.replicas):
            read = Link(picoseconds(setup.host_link_read_s_per_block), latency)
            write = Link(picoseconds(setup.host_link_write_s_per_block), latency)
            pool = Store(setup.pool_pages // self.unit_pages, setup.hbm_policy, False, read, write)
            below = [shared.get(k) or store(tier) for k, tier in enumerate(setup.tiers)]
            self.replicas.append(Replica(r, pool, [pool, *below]))

    # ---- arrivals

    def run(self) -> ServingResult:
        while any(q.state not in ("done", "rejected") for q in self.requests):
            arrival = self.next_arrival()
            awake = [r for r in self.replicas if r.wake is not None]
            r = min(awake, key=lambda r: (r.wake, r.number)) if awake else None
            if arrival is not None and (r is None or arrival[0] <= r.wake):
                self.now = arrival[0]
                self.arrive(arrival[1])
            elif r is None:
                raise AssertionError("stuck")
            else:
                self.now = r.wake
                if r.busy:
                    self.end_step(r)
                    while (arrival := self.next_arrival()) is not None and arrival[0] == self.now:
                        self.arrive(arrival[1])
                self.start_step(r)
        return self.result()

    def open_wave(self) -> int | None:
        left = [q.wave for q in self.requests if q.state not in ("done", "rejected")]
        return min(left) if left else None

    def next_arrival(self) -> tuple[int, Request] | None:
        options = []
        wave = self.open_wave()
        if self.coming:
            q = self.coming[0]
            if self.setup.arrivals == "backlog":
                options.append((0, 0, q.number))
            elif q.wave == wave:
                if self.setup.arrivals == "open":
                    options.append((max(q.due, self.wave_open), 0, q.number))
                else:
                    open_now = sum(q.state not in ("to come", "done", "rejected") for q in self.requests)
                    if open_now < self.setup.concurrency:
                        options.append((self.now, 0, q.number))
        for time, number in self.chained:
            if self.requests[number].wave == wave:
                options.append((max(time, self.wave_open), 1, number))
        if not options:
            return None
        time, _, number = min(options)
        return time, self.requests[number]

    def arrive(self, q: Request) -> None:
        if q in self.coming:
            self.coming.remove(q)
        self.chained = [c for c in self.chained if c[1] != q.number]
        q.arrival = self.now
        if self.sequence_pages(q, q.prompt + q.output - 1) > self.setup.pool_pages:
            q.state = "rejected"
            self.over(q)
            return
        if self.setup.router == "round_robin":
            r = self.replicas[self.routed % len(self.replicas)]
        else:
            r = min(self.replicas, key=lambda r: (len(r.queue) + len(r.running), r.number))
        self.routed += 1
        q.replica = r
        q.state = "waiting"
        r.queue.append(q)
        if not r.busy:
            r.wake = self.now

    def over(self, q: Request) -> None:
        follower = self.follower.get(q.number)
        if follower is not None and self.setup.arrivals == "open":
            seen = self.now + (self.response if q.state == "done" else 0)
            self.chained.append((seen + follower.think, follower.number))
        if self.open_wave() not in (None, q.wave):
            self.wave_open = self.now

    # ---- memory

    def free(self, r: Replica) -> int:
        return self.setup.pool_pages - len(r.pool.blocks) * self.unit_pages - sum(q.pages for q in r.running)

    def available(self, r: Replica) -> int:
        return self.free(r) + r.pool.idle() * self.unit_pages

    def promised(self, r: Replica) -> int:
        return sum(
            self.sequence_pages(q, q.target) - q.held * self.unit_pages - q.pages for q in r.running if q.state in ("loading", "prefill")
        )

    def covered(self, q: Request, blocks: int) -> int:
        return min(blocks * self.unit, q.prompt) if blocks <= q.prompt_blocks else blocks * self.unit

    def private_pages(self, q: Request, tokens: int, blocks: int) -> int:
        return -(-max(tokens - self.covered(q, blocks), 0) // self.page)

    def sequence_pages(self, q: Request, tokens: int) -> int:
        return q.prompt_blocks * self.unit_pages + self.private_pages(q, tokens, q.prompt_blocks)

    def make_room(self, r: Replica, pages: int) -> None:
        while self.free(r) < pages:
            name = r.pool.victim()
            assert name is not None
            ready = r.pool.leave(name).ready
            self.demote(r, 0, name, max(ready, self.now))

    # ---- moves between tiers

    def write(self, r: Replica, j: int, k: int, name: int, at: int) -> tuple[bool, int | None, int]:
        """Returns whether the block came in, whom it pushed out, when that one is usable."""
        links = ([r.pool.write] if j == 0 else []) + [r.tiers[k].write]
        store = r.tiers[k]
        if max(link.free - self.now for link in links) > picoseconds(self.setup.write_backlog_s):
            store.flow["writes_refused"] += 1
            return False, None, 0
        out, out_ready = None, 0
        if len(store.blocks) == store.capacity:
            out = store.victim()
            if out is None:
                store.flow["writes_refused"] += 1
                return False, None, 0
            out_ready = store.leave(out).ready
        for link in links:
            at = link.passed(at)
        store.enter(name, at + sum(link.latency for link in links))
        return True, out, out_ready

    def demote(self, r: Replica, j: int, name: int, ready: int) -> None:
        flow = r.tiers[j].flow
        for k in range(j + 1, len(r.tiers)):
            store = r.tiers[k]
            if name in store.blocks:
                flow["out_evicted"] += 1
                return
            if not store.inclusive:
                came, out, out_ready = self.write(r, j, k, name, ready)
                flow["out_evicted" if came else "out_dropped"] += 1
                store.flow["in_demoted"] += came
                if out is not None:
                    self.demote(r, k, out, max(out_ready, self.now))
                return
        flow["out_dropped"] += 1

    def write_through(self, r: Replica, name: int) -> None:
        for k in range(1, len(r.tiers)):
            store = r.tiers[k]
            if store.inclusive and name not in store.blocks:
                came, out, out_ready = self.write(r, 0, k, name, self.now)
                store.flow["in_written"] += came
                if out is not None:
                    self.demote(r, k, out, max(out_ready, self.now))

    # ---- steps

    def start_step(self, r: Replica) -> None:
        self.compose(r)
        r.decodes = bool(r.those("decode")) and (self.setup.chunked_prefill or not r.prefill)
        if not r.prefill and not r.decodes:
            loads = [q.ready for q in r.those("loading")]
            r.wake = min(loads) if loads else None
            return
        costs = self.setup.costs
        decoding = r.those("decode") if r.decodes else []
        n = len(decoding)
        time = self.lin[n + r.prefill] + picoseconds(costs.seq_s) * n
        time += picoseconds(costs.kv_s_per_token) * sum(q.computed for q in decoding)
        time += int(costs.pair_s * PER_SECOND * r.pairs)
        self.total["steps"] += 1
        self.total["prefill_steps"] += r.prefill > 0
        self.total["prefill_tokens"] += r.prefill
        self.total["decode_tokens"] += n
        r.busy = True
        r.started = self.now
        r.wake = self.now + time

    def compose(self, r: Replica) -> None:
        chunked = self.setup.chunked_prefill
        while True:
            before = self.total["preemptions"]
            r.pairs = 0
            if chunked:
                self.secure_pages(r)
            r.prefill = self.prefills(r, self.setup.max_num_batched_tokens - chunked * len(r.those("decode")))
            if not r.prefill and not chunked:
                self.secure_pages(r)
            if r.prefill or r.those("decode"):
                return
            if r.current is not None and r.blocked is r.current:
                self.preempt(r)
            elif self.total["preemptions"] == before:
                return

    def secure_pages(self, r: Replica) -> None:
        while True:
            need = [q for q in r.those("decode") if self.private_pages(q, q.computed + 1, q.held) > q.pages]
            if not r.those("decode"):
                return
            if len(need) <= self.available(r):
                break
            self.preempt(r)
        self.make_room(r, len(need))
        for q in need:
            q.pages += 1

    def preempt(self, r: Replica) -> None:
        q = r.running[-1]
        if q.state == "loading":
            q.load_wait += min(q.ready, self.now) - q.load_start
        self.total["preemptions"] += 1
        self.give_back(r, q)
        q.state = "waiting"
        q.peak = max(q.peak, q.computed)
        q.computed = 0
        q.preemptions += 1
        r.queue.insert(0, q)
        if r.current is q:
            r.current = None

    def give_back(self, r: Replica, q: Request) -> None:
        q.pages = 0
        for k in reversed(range(q.held)):
            r.pool.unpin(q.names[k])
        q.held = 0
        r.running.remove(q)
        r.blocked = None

    def prefills(self, r: Replica, budget: int) -> int:
        left = budget
        while left > 0:
            q = self.next_prefill(r)
            if q is None:
                break
            if not self.setup.chunked_prefill and left < budget and q.target - q.computed > left:
                break
            done = self.chunk(r, q, left)
            if not done:
                r.blocked = q
                break
            left -= done
        return budget - left

    def next_prefill(self, r: Replica) -> Request | None:
        while True:
            if r.current is not None:
                return r.current if r.blocked is not r.current else None
            loaded = [q for q in r.those("loading") if q.ready <= self.now]
            if loaded:
                q = min(loaded, key=lambda q: (q.ready, q.number))
                q.load_wait += q.ready - q.load_start
                q.state = "prefill"
                r.current = q
            elif not r.queue or len(r.running) >= self.setup.max_num_seqs or not self.admit(r):
                return None

    def chunk(self, r: Replica, q: Request, left: int) -> int:
        tokens = min(left, q.target - q.computed)
        end = q.computed + tokens
        blocks = min(end // self.unit, q.prompt_blocks) if end < q.prompt else q.prompt_blocks
        new = [name for name in q.names[q.held : blocks]]
        absent = [name for name in new if name not in r.pool.blocks]
        idle = [name for name in new if name in r.pool.blocks and not r.pool.pinned(name)]
        private = self.private_pages(q, end, blocks)
        if len(absent) * self.unit_pages + private - q.pages > self.available(r) - len(idle) * self.unit_pages:
            return 0
        if blocks > q.held:
            q.pages = 0
        for name in new:
            if name in r.pool.blocks:
                r.pool.use(name)
            else:
                self.make_room(r, self.unit_pages)
                r.pool.enter(name, self.now)
                r.pool.pin(name)
                r.pool.flow["in_computed"] += 1
                self.write_through(r, name)
        q.held = blocks
        if private > q.pages:
            self.make_room(r, private - q.pages)
        q.pages = private
        r.pairs += sum(range(q.computed + 1, end + 1))
        q.recomputed += max(min(end, q.peak) - q.computed, 0)
        q.computed = end
        if end == q.target:
            r.ended.append(q)
            r.current = None
            q.state = "ended"
        return tokens

    # ---- admission

    def admit(self, r: Replica) -> bool:
        q = r.queue[0]
        if r.blocked is q:
            return False
        q.target = q.prompt + q.generated
        where = self.look_up(r, q)
        if any(k > 0 for k in where) and not self.worth_loading(r, q, where):
            where = where[: next(i for i, k in enumerate(where) if k > 0)]
        resident = [name for name, k in zip(q.names, where, strict=False) if k == 0]
        idle = [name for name in resident if not r.pool.pinned(name)]
        need = self.sequence_pages(q, q.target) - len(resident) * self.unit_pages
        if need > self.available(r) - len(idle) * self.unit_pages - self.promised(r):
            r.blocked = q
            return False
        r.queue.pop(0)
        r.running.append(q)
        self.count_hits(r, q, where)
        ready = self.take(r, q, where)
        q.held = len(where)
        q.computed = min(self.covered(q, q.held), q.target - 1)
        if q.admitted is None:
            q.admitted = self.now
        q.load_start = self.now
        q.ready = ready
        q.state = "loading" if ready > self.now else "prefill"
        if q.state == "prefill":
            r.current = q
        return True

    def look_up(self, r: Replica, q: Request) -> list[int]:
        where = []
        for name in q.names[: q.prompt_blocks]:
            tier = next((k for k, store in enumerate(r.tiers) if name in store.blocks), None)
            if tier is None:
                break
            where.append(tier)
        if self.setup.recompute_last and where and self.covered(q, len(where)) >= q.target:
            where.pop()
        return where

    def worth_loading(self, r: Replica, q: Request, where: list[int]) -> bool:
        setup = self.setup
        leading = next(i for i, k in enumerate(where) if k > 0)
        if setup.load_rule in ("always", "never"):
            return setup.load_rule == "always"
        if setup.load_rule == "threshold":
            tokens = sum(self.covered(q, i + 1) - self.covered(q, i) for i, k in enumerate(where) if k > 0)
            return tokens >= setup.min_load_tokens and len(r.queue) <= setup.max_waiting
        return self.load_end(r, q, where) - self.now <= self.recompute_time(q, leading, len(where))

    def load_end(self, r: Replica, q: Request, where: list[int]) -> int:
        links = {id(link): link.free for store in r.tiers for link in [store.read]}
        last = self.now
        for name, k in zip(q.names, where, strict=False):
            block = r.tiers[k].blocks[name]
            end = block.ready
            if k > 0:
                end = max(end, self.now)
                for link in (r.tiers[k].read, r.pool.read):
                    end = links[id(link)] = max(end, links[id(link)]) + link.block_time
                end += r.tiers[k].read.latency + r.pool.read.latency
            last = max(last, end)
        return last

    def recompute_time(self, q: Request, few: int, many: int) -> int:
        budget = self.setup.max_num_batched_tokens

        def time(tokens: int) -> int:
            return tokens // budget * self.lin[budget] + (self.lin[tokens % budget] if tokens % budget else 0)

        less, more = (min(self.covered(q, blocks), q.target - 1) for blocks in (few, many))
        pairs = sum(range(less + 1, more + 1))
        return time(q.target - less) - time(q.target - more) + int(self.setup.costs.pair_s * PER_SECOND * pairs)

    def take(self, r: Replica, q: Request, where: list[int]) -> int:
        ready = self.now
        for name, k in zip(q.names, where, strict=False):
            if k == 0:
                ready = max(ready, r.pool.blocks[name].ready)
                r.pool.use(name)
        below = [(name, k) for name, k in zip(q.names, where, strict=False) if k > 0]
        at = {}
        for name, k in below:
            store = r.tiers[k]
            at[name] = max(store.blocks[name].ready, self.now)
            if store.inclusive:
                store.use(name)
            else:
                store.leave(name)
                store.flow["out_promoted"] += 1
        for name, k in below:
            self.make_room(r, self.unit_pages)
            end = r.pool.read.passed(r.tiers[k].read.passed(at[name]))
            end += r.tiers[k].read.latency + r.pool.read.latency
            r.pool.enter(name, end)
            r.pool.pin(name)
            r.pool.flow["in_loaded"] += 1
            ready = max(ready, end)
        for name, k in below:
            if r.tiers[k].inclusive:
                r.tiers[k].unpin(name)
        return ready

    def count_hits(self, r: Replica, q: Request, where: list[int]) -> None:
        prefix = "" if q.admitted is None else "readmission_"
        asked = q.prompt_blocks
        tokens = []
        for k, store in enumerate(r.tiers):
            hits = [i for i, tier in enumerate(where) if tier == k]
            store.flow[prefix + "lookups"] += asked
            store.flow[prefix + "hits"] += len(hits)
            asked -= len(hits)
            tokens.append(sum(self.covered(q, i + 1) - self.covered(q, i) for i in hits))
        if q.admitted is None:
            q.hit_tokens = tokens

    # ---- ends

    def end_step(self, r: Replica) -> None:
        r.busy = False
        r.busy_time += self.now - r.started
        if r.decodes:
            decoding = r.those("decode")
            for q in decoding:
                q.computed += 1
                q.generated += 1
            for q in sorted(decoding, key=lambda q: q.number):
                if q.generated == q.output:
                    self.finish(r, q)
        for q in r.ended:
            q.generated += 1
            if q.first is None:
                q.first = self.now
            q.state = "decode"
            if q.generated == q.output:
                self.finish(r, q)
        r.ended = []

    def finish(self, r: Replica, q: Request) -> None:
        q.finish = self.now
        for name in q.names[q.prompt_blocks : q.prompt_blocks + q.output_blocks]:
            if q.held < q.prompt_blocks:
                break
            if name in r.pool.blocks:
                r.pool.use(name)
            else:
                q.pages -= self.unit_pages
                r.pool.enter(name, self.now)
                r.pool.pin(name)
                r.pool.flow["in_computed"] += 1
                self.write_through(r, name)
            q.held += 1
        self.give_back(r, q)
        q.state = "done"
        self.over(q)

    # ---- result

    def result(self) -> ServingResult:
        rs = self.requests

        def seconds(values: list[int | None], more: int = 0) -> Any:
            return np.array([np.nan if v is None else float(v + more) / PER_SECOND for v in values])

        tiers = len(self.setup.tiers)
        return ServingResult(
            arrival_s=seconds([q.arrival for q in rs]),
            first_token_s=seconds([q.first for q in rs], self.response),
            finish_s=seconds([q.finish for q in rs], self.response),
            replica=np.array([-1 if q.replica is None else q.replica.number for q in rs]),
            rejected=np.array([q.state == "rejected" for q in rs]),
            hit_tokens=np.array([q.hit_tokens or [0] * (tiers + 1) for q in rs]),
            queue_s=seconds([None if q.admitted is None else q.admitted - q.arrival for q in rs]),
            load_s=seconds([q.load_wait for q in rs]),
            preemptions=np.array([q.preemptions for q in rs]),
            recomputed_tokens=np.array([q.recomputed for q in rs]),
            stores={f.name: f for f in self._stores()},
            links={f.name: f for f in self._links()},
            busy_s=seconds([r.busy_time for r in self.replicas]),
            steps=self.total["steps"],
            prefill_steps=self.total["prefill_steps"],
            prefill_tokens=self.total["prefill_tokens"],
            decode_tokens=self.total["decode_tokens"],
            events=0,
            end_s=self.now / PER_SECOND,
        )

    def _members(self, k: int) -> list[Store]:
        return list({id(r.tiers[k]): r.tiers[k] for r in self.replicas}.values())

    def _stores(self) -> list[StoreFlow]:
        flows = []
        for k, name in enumerate(["hbm", *(t.name for t in self.setup.tiers)]):
            members = self._members(k)
            total = {f: sum(s.flow[f] for s in members) for f in StoreFlow.__dataclass_fields__}
            total.update(
                name=name,
                capacity_blocks=sum(s.capacity for s in members),
                resident_blocks=sum(len(s.blocks) for s in members),
                misses=total["lookups"] - total["hits"],
            )
            flows.append(StoreFlow(**total))
        return flows

    def _links(self) -> list[LinkFlow]:
        flows = []
        for k, name in enumerate(["host", *(t.name for t in self.setup.tiers)]):
            reads, writes = ([getattr(s, d) for s in self._members(k)] for d in ("read", "write"))
            flows.append(
                LinkFlow(
                    name=name,
                    links=len(reads),
                    read_blocks=sum(x.blocks for x in reads),
                    written_blocks=sum(x.blocks for x in writes),
                    read_busy_s=sum(x.blocks * x.block_time for x in reads) / PER_SECOND,
                    write_busy_s=sum(x.blocks * x.block_time for x in writes) / PER_SECOND,
                )
            )
        return flows


def serve_slowly(trace: Trace, setup: ServingSetup) -> ServingResult:
    return Twin(trace, setup).run()
