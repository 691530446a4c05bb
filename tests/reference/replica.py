"""One replica: its queue, its steps, its memory. The rules are in `tests.reference.serving`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from simcore.serving.setup import ServingSetup
from simcore.traces.trace import Trace
from tests.reference.rooms import Rooms, room_pages
from tests.reference.tiers import PICOSECONDS, Link, Tiers, picoseconds

NEVER = float("inf")


class Request:
    def __init__(self, trace: Trace, setup: ServingSetup, i: int) -> None:
        self.number, self.unit, self.page = i, setup.unit_tokens, setup.page_tokens
        self.due, self.think = picoseconds(trace.arrival_s[i]), picoseconds(trace.think_s[i])
        self.after, self.wave = int(trace.after[i]), int(trace.wave[i])
        given = setup.tenant_priority if setup.scheduling == "priority" else ()
        self.priority = given[trace.tenant[i]] if trace.tenant[i] < len(given) else 0
        self.order = 0  # of arrival
        self.prompt, self.output = int(trace.input_tokens[i]), int(trace.output_tokens[i])
        self.most = self.prompt + self.output - 1  # tokens it ever has keys and values of; the last one is not computed on
        # A block is named by its last granule, whose id stands for all before it.
        ids = [int(granule) for granule in trace.block_ids[trace.block_start[i] : trace.block_start[i + 1]]]
        granules = self.unit // trace.granule_tokens
        whole, in_prompt = ids[granules - 1 :: granules], self.prompt // self.unit
        partial = ids[-1:] if setup.partial_block and not trace.has_output_ids and self.prompt % self.unit else []
        self.blocks = whole[:in_prompt] + partial  # of its prompt
        self.output_blocks = whole[in_prompt : self.most // self.unit] if setup.output_reuse and trace.has_output_ids else []
        reused = setup.output_reuse and trace.has_output_ids
        self.named = self.blocks + (whole[in_prompt:] if reused else [])  # and those that its output does not complete
        self.room: tuple[int, int] | None = None
        self.room_pages = 0
        if setup.allocation != "paged":
            self.room_pages = room_pages(setup, self.prompt, self.output)
            self.blocks, self.output_blocks = [], []
        self.state = "to come"  # waiting, loading, prefill, decode, done, rejected
        self.phases: list[tuple[str, int, int]] = []  # state, when it began, preemptions until then
        self.replica = -1
        self.arrival: int | None = None
        self.admitted: int | None = None
        self.first: int | None = None
        self.finish: int | None = None
        self.target = self.computed = self.generated = 0  # tokens: to prefill, with keys and values, of output
        self.held: list[int] = []  # blocks it pins
        self.pages = 0  # private ones
        self.load_start = self.ready = self.load_wait = 0
        self.source: Replica | None = None  # that prefilled it, and holds its memory until it is where it decodes
        self.left_there: tuple[list[int], int] = ([], 0)  # blocks and private pages
        self.swapped = 0  # pages in swap space, or on the source
        self.copied = 0  # when they are there
        self.preemptions = self.peak = self.recomputed = 0
        self.network = self.work = 0  # time from the client to the replica; tokens to prefill, as the router saw it
        self.hit_tokens = [0] * (len(setup.tiers) + 1)
        self.missed: Counter[str] = Counter()

    def go(self, state: str, now: int) -> None:
        self.state = state
        self.phases.append(("transfer" if self.source else state, now, self.preemptions))

    @property
    def over(self) -> bool:
        return self.state in ("done", "rejected")

    def covered(self, blocks: int) -> int:
        """Tokens of the prompt in its first `blocks` blocks."""
        return min(blocks * self.unit, self.prompt)

    def in_tiers(self, where: list[int], tiers: set[int]) -> int:
        """Tokens in those of the blocks found at `where` that are in `tiers`."""
        return sum(self.covered(i + 1) - self.covered(i) for i, tier in enumerate(where) if tier in tiers)

    def private(self, tokens: int, blocks: int) -> int:
        """Pages for what of `tokens` tokens is behind the first `blocks` blocks."""
        return -(-(tokens - self.covered(blocks)) // self.page)

    def all_pages(self, tokens: int) -> int:
        return len(self.blocks) * (self.unit // self.page) + self.private(tokens, len(self.blocks))


class Replica:
    def __init__(self, setup: ServingSetup, tiers: Tiers, number: int) -> None:
        self.prefills_only = number < setup.prefill_replicas
        self.out = Link(0, picoseconds(setup.hand_over_latency_s), setup.hand_over_s_per_page)
        self.sent: list[Request] = []  # prefilled, not yet on their decode replica
        self.parting: list[Request] = []  # with the step that has just ended
        self.setup, self.tiers, self.pool, self.misses = setup, tiers, tiers.stores[0], tiers.misses
        self.lin = [picoseconds(seconds) for seconds in setup.costs.lin_s]
        self.unit_pages = setup.unit_tokens // setup.page_tokens
        self.queue: list[Request] = []
        self.running: list[Request] = []  # by admission
        self.current: Request | None = None  # prefill under way
        self.stuck: Request | None = None  # did not fit, and nothing was released since
        self.prefill = self.pairs = 0  # tokens and attended pairs of the step
        self.decoding: list[Request] = []  # in the step
        self.late: list[Request] = []  # in the step, while their blocks are being loaded
        self.ended: list[Request] = []  # prefills that end with the step
        self.new: list[int] = []  # blocks that its prefill completes
        self.start: int | None = None  # of the step under way
        self.wake: float = NEVER  # when it ends, or the next may start
        self.busy_time = 0
        self.swapped = 0  # pages in swap space
        self.ticks = 0  # decode steps so far
        self.tokens = 1  # that the step yields each decoding request
        self.rooms = Rooms(setup.pool_pages)
        self.total: Counter[str] = Counter()

    def those(self, state: str) -> list[Request]:
        return [q for q in self.running if q.state == state]

    # Memory

    def available(self) -> int:
        return self.free() + self.unit_pages * self.pool.idle()

    def free(self) -> int:
        if self.setup.allocation != "paged":
            return 1 << 40
        return self.setup.pool_pages - self.unit_pages * len(self.pool.pins) - self.private()

    def private(self) -> int:
        return sum(q.pages for q in self.running) + sum(q.left_there[1] for q in self.sent)

    def make_room(self, pages: int, now: int) -> None:
        while self.free() < pages:
            block = self.pool.victim()
            assert block is not None
            self.tiers.demote(0, block, self.pool.leave(block), now)

    def add(self, block: int, ready: int, now: int) -> None:
        while self.pool.at_quota(block) and (own := self.pool.own_victim(block)) is not None:
            self.tiers.demote(0, own, self.pool.leave(own), now)
        self.make_room(self.unit_pages, now)
        self.pool.enter(block, ready)
        self.pool.pin(block)

    def complete(self, q: Request, blocks: list[int], now: int) -> Iterator[int]:
        """Blocks of q are computed. Yields those that had not been."""
        for block in blocks:
            q.held.append(block)
            if block in self.pool.pins:
                self.pool.use(block)
            else:
                self.add(block, 0, now)
                self.pool.flow["in_computed"] += 1
                yield block

    def give_back(self, q: Request) -> None:
        q.pages = 0
        while q.held:
            self.pool.unpin(q.held.pop())
        self.running.remove(q)
        self.stuck = None
        if q.room:
            self.rooms.taken.remove(q.room)

    def sort_queue(self) -> None:
        if self.setup.scheduling == "priority":
            self.queue.sort(key=lambda q: (q.priority, q.order))

    def preempt(self, now: int) -> None:
        last = [q for q in self.running if q.priority == max(q.priority for q in self.running)]
        if self.setup.preemption_victim == "least_computed":
            last = [q for q in last if q.computed == min(q.computed for q in last)]
        q = last[-1]
        if q.state == "loading":
            self.end_load(q, now)
        if q.state == "returning" and not q.source:
            q.load_wait += min(q.ready, now) - q.load_start
        if q.state == "decode" and self.setup.preemption == "swap":
            self.swap_out(q, now)
        if self.current is q:
            self.current = None
        self.give_back(q)
        self.queue.insert(0, q)
        self.sort_queue()
        q.peak = max(q.peak, q.computed)
        if not q.swapped:
            q.computed = 0
        q.preemptions += 1
        q.go("waiting", now)
        self.total["preemptions"] += 1

    def swap_out(self, q: Request, now: int) -> None:
        pages = q.pages + self.unit_pages * len(q.held)
        if self.swapped + pages <= self.setup.swap_pages:
            q.swapped, q.copied = pages, self.pool.write.move(now, pages, self.unit_pages)
            self.swapped += pages
            self.total.update(swaps=1, swapped_out=pages)

    def swap_in(self, q: Request, now: int) -> bool:
        """Bring the head of the queue back. False: no room."""
        here = {block for block in q.blocks if block in self.pool.pins}
        pinned = sum(self.pool.pinned(block) for block in here)
        if q.all_pages(q.target + self.spare) - self.unit_pages * pinned > self.available() - self.promised():
            return False
        self.running.append(self.queue.pop(0))
        for block in q.blocks:
            if block in here:
                self.pool.use(block)
        pages = self.unit_pages * (len(q.blocks) - len(here)) + q.private(q.computed, len(q.blocks))
        arrived = self.fetch(q, pages, now) if pages else now
        for block in q.blocks:
            if block not in here:
                self.add(block, arrived, now)
                self.pool.flow["in_loaded"] += 1
        q.held = list(q.blocks)
        self.make_room(q.private(q.computed, len(q.blocks)), now)
        q.pages = q.private(q.computed, len(q.blocks))
        q.load_start, q.ready = now, max([now, arrived, *(self.pool.ready[block] for block in here)])
        q.go("returning", now)
        return True

    def fetch(self, q: Request, pages: int, now: int) -> int:
        self.total["handed_over" if q.source else "swapped_in"] += pages
        if q.source:
            return q.source.out.move(now, pages, 1)
        return self.pool.read.move(max(now, q.copied), pages, self.unit_pages)

    def part(self, q: Request, now: int) -> None:
        """Request q is to decode elsewhere; its memory stays here until it is there."""
        self.running.remove(q)
        self.sent.append(q)
        q.swapped, q.left_there = q.pages + self.unit_pages * len(q.held), (q.held, q.pages)
        q.pages, q.held, q.source = 0, [], self
        self.parting.append(q)

    def is_rid_of(self, q: Request, now: int) -> None:
        self.sent.remove(q)
        for block in q.left_there[0]:
            self.tiers.use(block, now)
        for block in reversed(q.left_there[0]):
            self.pool.unpin(block)
        self.stuck = None
        self.wake = now if self.start is None else self.wake

    def resume(self, now: int) -> None:
        for q in sorted(self.those("returning"), key=lambda q: (q.ready, q.number)):
            if q.ready <= now:
                if q.source:
                    q.source.is_rid_of(q, now)
                else:
                    q.load_wait += q.ready - q.load_start
                    self.swapped -= q.swapped
                q.swapped, q.source = 0, None
                q.go("decode", q.ready)

    # A step

    def start_step(self, now: int) -> None:
        self.compose(now)
        n = len(self.decoding)
        if self.prefill or n:
            costs = self.setup.costs
            drafts = self.setup.draft_tokens
            time = self.lin[self.prefill + n * (1 + drafts)] + picoseconds(costs.seq_s) * n
            time += int(drafts * self.setup.draft_cost * self.lin[n])
            self.tokens = self.clock(self.ticks + 1) - self.clock(self.ticks)
            time += picoseconds(costs.kv_s_per_token) * sum(q.computed for q in self.decoding)
            time += int(costs.pair_s * PICOSECONDS * self.pairs)
            if self.late:
                longer = self.overlapped(time, max(q.ready for q in self.late) - now)
                for q in self.late:
                    q.load_wait += longer - time
                    q.go("loading", now)
                    q.go("prefill", now + longer - time)
                time = longer
            self.start, self.wake = now, now + time
            if self.queue and n:
                self.total.update(full_steps=1, full_tokens=sum(q.computed for q in self.decoding))
            self.total.update(steps=1, prefill_steps=self.prefill > 0, prefill_tokens=self.prefill)
        else:
            coming = self.those("returning") + (self.those("loading") if self.current is None else [])
            self.wake = min((q.ready for q in coming), default=NEVER)

    def compose(self, now: int) -> None:
        preemptions, self.prefill, self.pairs, self.late = self.total["preemptions"], 0, 0, []
        self.resume(now)
        if self.setup.chunked_prefill:
            self.secure_pages(now)
            verified = len(self.those("decode")) * (1 + self.setup.draft_tokens)
            self.fill(self.setup.max_num_batched_tokens - verified, now)
        else:
            self.fill(self.setup.max_num_batched_tokens, now)
            if not self.prefill:
                self.secure_pages(now)
        self.decoding = self.those("decode") if self.setup.chunked_prefill or not self.prefill else []
        if not self.prefill and not self.decoding:
            if self.current is not None and self.stuck is self.current and not self.sent:
                self.preempt(now)
            if self.total["preemptions"] > preemptions:
                self.compose(now)

    def secure_pages(self, now: int) -> None:
        tokens = self.clock(self.ticks + 1) - self.clock(self.ticks)
        while short := {q: q.private(q.computed + tokens, len(q.held)) - q.pages for q in self.those("decode")}:
            if sum(short.values()) <= self.available():
                self.make_room(sum(short.values()), now)
                for q, pages in short.items():
                    q.pages += pages
                return
            self.preempt(now)

    def fill(self, budget: int, now: int) -> None:
        while (left := budget - self.prefill) and (q := self.next_prefill(now)):
            if self.prefill and not self.setup.chunked_prefill and q.target - q.computed > left:
                return
            if not self.chunk(q, min(q.computed + left, q.target), now):
                self.stuck = q
                return

    def next_prefill(self, now: int) -> Request | None:
        while self.current is None:
            if loaded := [q for q in self.those("loading") if q.ready <= now]:
                self.current = min(loaded, key=lambda q: (q.ready, q.number))
                self.end_load(self.current, now)
            elif not self.queue or self.stuck is self.queue[0] or len(self.running) >= self.setup.max_num_seqs:
                return None
            elif not self.admit(self.queue[0], now):
                self.stuck = self.queue[0]
                return None
        return None if self.stuck is self.current else self.current

    def chunk(self, q: Request, stop: int, now: int) -> bool:
        """Compute q's tokens up to `stop`. False: no room."""
        blocks = len(q.blocks) if stop >= q.prompt else stop // q.unit
        new, pages = q.blocks[len(q.held) : blocks], q.private(stop, blocks)
        if self.unit_pages * sum(not self.pool.pinned(block) for block in new) + pages > self.available() + q.pages:
            return False
        q.pages = 0
        self.new += self.complete(q, new, now)
        self.make_room(pages, now)
        q.pages = pages
        self.prefill += stop - q.computed
        if q.ready > now:
            self.late.append(q)
        self.pairs += sum(range(q.computed + 1, stop + 1))
        q.recomputed += max(min(stop, q.peak) - q.computed, 0)
        q.computed = stop
        if stop == q.target:
            self.ended.append(q)
            self.current = None
        return True

    def end_step(self, now: int) -> list[Request]:
        """Returns the requests that finished."""
        assert self.start is not None
        self.busy_time += now - self.start
        for block in self.new:
            assert self.pool.pinned(block)
            self.tiers.write_through(block, now)
        for q in self.decoding:
            q.computed += self.tokens
        self.ticks += 1 if self.decoding else 0
        step_tokens = {q.number: self.tokens for q in self.decoding}
        through = sorted(self.decoding, key=lambda q: q.number) + self.ended
        self.start, self.ended, self.new = None, [], []
        for q in through:
            if q.state != "decode":
                q.go("decode", now)
            before = q.generated
            q.generated = min(before + step_tokens.get(q.number, 1), q.output)
            self.total["decode_tokens"] += q.generated - before if q.number in step_tokens else 0
            if before < min(self.setup.stream_interval, q.output) <= q.generated:
                q.first = now
            if q.generated == q.output:
                q.finish, q.pages = now, 0
                q.go("done", now)
                for block in self.complete(q, q.output_blocks, now):
                    self.tiers.write_through(block, now)
                for block in q.held:
                    self.tiers.use(block, now)
                self.misses.finished(q)
                self.give_back(q)
            elif self.prefills_only:
                self.part(q, now)
        return [q for q in through if q.state == "done"]

    # Admission

    def admit(self, q: Request, now: int) -> bool:
        q.target = q.prompt + q.generated
        if q.swapped:
            return self.swap_in(q, now)
        run = self.look_up(q)
        where = self.there_in_time(q, run, now)
        if any(where) and not self.worth_loading(q, where, now):
            where = where[: self.leading(where)]
        found = list(zip(q.blocks, where, strict=False))
        pinned = sum(tier == 0 and self.pool.pinned(block) for block, tier in found)
        promised = self.promised()
        needed = q.all_pages(q.target)
        if self.setup.reserve == "output":
            needed = q.all_pages(q.most + self.spare)
            promised = sum(p.all_pages(p.most + self.spare) - self.unit_pages * len(p.held) - p.pages for p in self.running)
        if needed - self.unit_pages * pinned > self.available() - promised or not self.has_room(q):
            return False
        self.count_hits(q, where)
        if self.setup.note_misses and not q.preemptions:
            q.missed = self.misses.reasons(q, len(where), len(run), self.tiers)
        self.running.append(self.queue.pop(0))
        self.take(found, now)
        q.held = [block for block, _ in found]
        q.computed = min(q.covered(len(where)), q.target - 1)
        q.admitted = now if q.admitted is None else q.admitted
        q.load_start, q.ready = now, max((self.pool.ready[block] for block in q.held), default=now)
        q.go("loading" if q.ready > now and self.setup.overlap == "none" else "prefill", now)
        if q.state == "prefill":
            self.current = q
        return True

    def clock(self, ticks: int) -> int:
        """Tokens of a sequence in the first `ticks` decode steps of this replica."""
        return ticks * self.setup.yielded // (2**20 if self.setup.draft_tokens else 1)

    @property
    def spare(self) -> int:
        """Tokens that the last step of a request may yield beyond those asked for."""
        return -(-self.setup.yielded // 2**20) - 1 if self.setup.draft_tokens else 0

    def promised(self) -> int:
        return sum(p.all_pages(p.target) - self.unit_pages * len(p.held) for p in self.those("loading"))

    def has_room(self, q: Request) -> bool:
        if self.setup.allocation != "paged":
            q.room = self.rooms.take(q.room_pages)
        return self.setup.allocation == "paged" or q.room is not None

    def end_load(self, q: Request, now: int) -> None:
        q.go("prefill", min(q.ready, now))
        q.load_wait += min(q.ready, now) - q.load_start

    def look_up(self, q: Request) -> list[int]:
        """Of the leading blocks that are found anywhere, the tier of each (0: the pool)."""
        where: list[int] = []
        for block in q.blocks:
            tiers = [k for k, store in enumerate(self.tiers.stores) if block in store.pins]
            if not tiers:
                break
            where.append(tiers[0])
        return where[:-1] if self.setup.recompute_last and q.covered(len(where)) >= q.target else where

    def there_in_time(self, q: Request, where: list[int], now: int) -> list[int]:
        """Of the run, what precedes the first block below that will come too late."""
        rule, late = self.setup.prefetch, picoseconds(self.setup.prefetch_timeout_s)
        assert q.arrival is not None
        latest = {"none": NEVER, "wait": NEVER, "best_effort": now, "timeout": max(now, q.arrival + late)}[rule]
        below = [k > 0 and self.tiers.stores[k].ready[block] > latest for block, k in zip(q.blocks, where, strict=False)]
        return where[: below.index(True)] if True in below else where

    def prefetch(self, q: Request, now: int) -> None:
        """Bring what of q's prompt is found below tier 1 up into it."""
        for block in q.blocks:
            tiers = [k for k, store in enumerate(self.tiers.stores) if block in store.pins]
            if not tiers or (tiers[0] > 1 and not self.tiers.bring_up(block, tiers[0], now)):
                return

    def leading(self, where: list[int]) -> int:
        return next(i for i, tier in enumerate(where) if tier > 0)

    def worth_loading(self, q: Request, where: list[int], now: int) -> bool:
        setup = self.setup
        if setup.load_rule == "threshold":
            tokens = q.in_tiers(where, set(where) - {0})
            waiting = len(self.queue) + len(self.those("loading"))
            return tokens >= setup.min_load_tokens and waiting <= setup.max_waiting
        if setup.load_rule == "cheaper":
            both = max([now, *(self.pool.ready[block] for block in q.blocks[: self.leading(where)])])
            wait = self.load_end(q, where, now) - both
            if setup.overlap != "none":
                done = min(q.covered(len(where)), q.target - 1)
                rest = self.steps_time(done, q.target) + self.pairs_time(done, q.target)
                wait = self.overlapped(rest, wait) - rest
            return wait <= self.recompute_time(q, where)
        return setup.load_rule == "always"

    def load_end(self, q: Request, where: list[int], now: int) -> int:
        """When the last found block would be usable: `take` without moving anything."""
        stores = self.tiers.stores
        links = [replace(store.read) for store in stores]
        end = now
        for block, k in zip(q.blocks, where, strict=False):
            at = stores[k].ready[block]
            if k > 0:
                at = links[0].send(links[k].send(max(at, now))) + links[k].latency + links[0].latency
            end = max(end, at)
        return end

    def recompute_time(self, q: Request, where: list[int]) -> int:
        """What prefill takes longer without the blocks from the first one below on."""
        less, more = (min(q.covered(blocks), q.target - 1) for blocks in (self.leading(where), len(where)))
        return self.steps_time(less, q.target) - self.steps_time(more, q.target) + self.pairs_time(less, more)

    def steps_time(self, start: int, stop: int) -> int:
        """Steps of nothing but prefill of the tokens from `start` on, without attention."""
        budget = self.setup.max_num_batched_tokens
        return sum(self.lin[min(budget, stop - done)] for done in range(start, stop, budget))

    def pairs_time(self, start: int, stop: int) -> int:
        return int(self.setup.costs.pair_s * PICOSECONDS * sum(range(start + 1, stop + 1)))

    def overlapped(self, compute: int, load: int) -> int:
        """Both together, if of each layer the load comes before the computing."""
        if self.setup.overlap == "full":
            return max(compute, load)
        return max(compute + load // self.setup.layers, load + compute // self.setup.layers)

    def take(self, found: list[tuple[int, int]], now: int) -> None:
        """Pin all found blocks in the pool, after loading those below."""
        for block, k in found:
            if k == 0:
                self.pool.use(block)
        below = [(block, self.tiers.stores[k], self.tiers.stores[k].ready[block]) for block, k in found if k > 0]
        for block, store, _ in below:
            if store.inclusive:
                store.use(block)
            else:
                store.policy.hit(block)
                store.leave(block)
                store.flow["out_promoted"] += 1
        for block, store, ready in below:
            end = self.pool.read.send(store.read.send(max(ready, now)))
            if store.inclusive:
                store.unpin(block)
            self.add(block, end + store.read.latency + self.pool.read.latency, now)
            self.pool.flow["in_loaded"] += 1

    def count_hits(self, q: Request, where: list[int]) -> None:
        """Each tier is asked for what those above did not have."""
        asked, kind = len(q.blocks), "readmission_" if q.preemptions else ""
        for k, store in enumerate(self.tiers.stores):
            store.flow[kind + "lookups"] += asked
            store.flow[kind + "hits"] += where.count(k)
            asked -= where.count(k)
            if not q.preemptions:
                q.hit_tokens[k] = q.in_tiers(where, {k})
