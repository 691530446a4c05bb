"""The serving engine once more: slow, plain, one step at a time, independent of `simcore.serving.kernels`. Both must give the
same picoseconds and the same counts. What follows specifies both; `replica` and `tiers` hold the code of a replica and its
stores.

UNITS. Times are whole picoseconds. A block is `unit_tokens` tokens and takes all its pages, even as a prompt's partly filled
last one. A request pins blocks from the start of its prompt on; its tokens behind them take private pages.

EVENTS, by time. At equal times arrivals come before replicas, replicas by number. A replica's turn: its step ends, what
arrives at this instant arrives, the next step starts. An idle replica has its turn when a request arrives or a load ends.

ARRIVALS. Open: in the trace's order, at the recorded times; a chained request comes `think_s` after the client saw the end of
the one before it (finish + `request_s`; a rejected one ends as it arrives), at equal times behind recorded ones, by number.
Closed: `concurrency` clients, who start `stagger_s` apart, the first at 0. A free one takes the next unchained request of the
trace, then what is chained to it (`think_s` after it saw the end of the one before, at equal times behind these), and
is free when it has seen the end of the last. A chain ends where the wave does: what is in a later wave is unchained here.
Backlog: all at 0, without chains and waves. A wave opens when the clients of all requests of earlier waves have seen the
end; nobody in it arrives before. A request whose tokens, except the last, exceed an empty pool is rejected; the others go to
a replica by the router (`router`) and wait in its queue.

A STEP WITH CHUNKED PREFILL secures the page each decoding request may need for its next token, preempting until there is
room, then fills what decoding leaves of the token budget with prefill. Without chunks: prefill fills the budget; only if
there is none, decoding goes on. Prompts then share a step only whole; one longer than the budget has steps of its own. Time:
lin[tokens] + seq * decoding requests + kv * their computed tokens + pair * attended pairs of prefill, rounded down. At its
end each decoding request has a token more, and those that have all leave, by number; then each ended prefill yields one.

PREFILL REPLICAS (`prefill_replicas`, the first ones) get all arrivals. After its first token a request waits on the least
loaded of the others, which admits it as a swapped one: what it lacks of the pages passes the one link out of the prefill
replica, where its memory is held until it decodes (from the first step that starts after they have come; by when they have,
then by number). No chunk that does not fit is preempted there while such memory is held.

PREFILL goes on with the request under way, else with the one whose load ended first (then by number), else the head of the
queue is admitted. What does not fit (a chunk, or the head) is not tried again until something is released. If a step would be
empty while a chunk does not fit, one request is preempted; after any preemption an empty step is composed once more. The
blocks a chunk completes enter the pool as the step starts, for all that this replica goes on to do; those that others have
completed meanwhile are shared.

PREEMPTION: of those of the highest priority number the request admitted last, or with the least computed, gives back all and
waits at the head of the queue; it will prefill prompt and output so far. With priorities the queue is always sorted by (number,
arrival).
With `reserve` "output" all tokens of all admitted requests fit from the start.

CLIENTS see the first token when `stream_interval` of them, or all, are there.

ADMISSION. The run of a prompt: its leading blocks, each in the pool or, topmost first, a tier. With `recompute_last` a
run of all there is to prefill loses its last block; in any case one token is computed. If some of the run is below and
not worth loading, only what precedes it counts. All pages of the request must be available (free, or in unpinned blocks)
besides those promised to requests still loading. The run's blocks in the pool are pinned, in order; then those below
leave an exclusive tier, as a hit there, or are pinned in an inclusive one; then one by one they pass the tier's link and
the host link, are unpinned in the tier, room is made, and they enter the pool pinned. Loading ends when the whole run is
usable. Each tier is asked for the blocks the tiers above do not contribute.

WORTH LOADING. "threshold": at least `min_load_tokens` are below and at most `max_waiting` requests wait or load, with this one.
"cheaper": waiting for the run, from when the blocks that precede those below are usable, takes no longer than the additional
prefill without it, in steps of its own.

MOVES. A link passes one block after the other; latencies follow behind the last link. Whatever is evicted goes to the nearest
tier below that is written back, unless a copy is met on the way, and so does what it pushes out. A block computed is copied to
each tier written through that lacks it, top to bottom: one of a prompt when the step that completes it has ended, before
anything else that its end brings; one of an output as its request ends. A request that is through has used each block it pins,
first to last; those used often enough while in the pool are copied to tiers written selectively. A copy comes from the lowest
tier above that has the block, once it is usable there. A write passes the link of its target and, coming out of the pool,
before that the host link. It is refused if one of them is taken for longer than `write_backlog_s` from now, or if nothing can
leave a full target.

STARTS. "cold": the stores are empty. "warm": the first `start_share` of the requests, rounded up, have been served before, from
time 0 on; the stores are as that left them, every block usable; nothing else of it counts. "restart": so in persistent tiers.

WHY TOKENS ARE MISSING (`note_misses`), at the first admission, block by block behind the run: NOT LOADED: the load rule gave
it up. ALIGNMENT: the last block, asked for before, of a prompt that ends with it, with `recompute_last`. FIRST USE: no
request admitted so far has it in its prompt, none that has ended in its output. It is in a store of this replica's: as the
block before it. OTHER REPLICA: it is in some store. Else what became of its last write to a lower tier: refused for the
BACKLOG, or REFUSED by the store; or CAPACITY: written; or lost and never written: NOT WRITTEN where a tier is written
selectively, else CAPACITY. IN FLIGHT: never lost, so it was not computed. The tokens behind the last block: as the last block
if that is of first use, else ALIGNMENT.

GIVING BACK: private pages, then blocks, tail first. A request that is through first turns the blocks its output completed
into blocks of the pool. Room is made by evicting one block at a time until the pages at hand suffice.
"""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np

from simcore.serving.result import LinkFlow, ServingResult, StoreFlow
from simcore.serving.setup import ServingSetup
from simcore.serving.state import REASONS
from simcore.traces.trace import Trace
from tests.reference.replica import NEVER, Replica, Request
from tests.reference.rooms import Rooms
from tests.reference.router import Router
from tests.reference.tiers import PICOSECONDS, build_tiers, picoseconds


class Serving:
    def __init__(self, trace: Trace, setup: ServingSetup, n: int) -> None:
        self.setup = setup
        self.requests = [Request(trace, setup, i) for i in range(n)]
        owner: dict[int, int] = {}  # of each block the tenant whose request names it first
        for q in [Request(trace, setup, i) for i in range(trace.n)]:
            for block in q.named:
                owner.setdefault(block, int(trace.tenant[q.number]))
        self.replicas = [Replica(setup, tiers, number) for number, tiers in enumerate(build_tiers(setup, owner))]
        self.open, self.closed = setup.arrivals == "open", setup.arrivals == "closed"
        self.coming = [q for q in self.requests if not self.chained(q)]
        self.places: list[float] = [k * picoseconds(setup.stagger_s) for k in range(setup.concurrency)]  # when clients are free
        self.triggered: list[Request] = []  # chained, the one before is over
        self.travelling: list[Request] = []  # on the way to a replica
        self.response = picoseconds(setup.costs.request_s)
        self.router = Router(trace, setup, self.requests, self.replicas)
        self.now = self.end = self.entered = self.wave_open = 0
        self.wave = self.requests[0].wave

    def chained(self, q: Request) -> bool:
        return q.after >= 0 and (self.open or (self.closed and q.wave == self.requests[q.after].wave))

    def run(self) -> None:
        while not all(q.over for q in self.requests):
            wake, number = min((r.wake, number) for number, r in enumerate(self.replicas))
            if self.arrive_by(wake):
                continue
            assert wake < NEVER, "nobody can run"
            self.now, r = int(wake), self.replicas[number]
            if r.start is not None:
                self.end = self.now
                for q in r.end_step(self.now):
                    self.count(q)
                for q in r.parting:
                    self.wait_at(self.router.decode_replica(), q)
                r.parting = []
                while self.arrive_by(self.now):
                    pass
            r.start_step(self.now)

    def arrive_by(self, latest: float) -> bool:
        """The next request arrives, if one is due by `latest`."""
        coming = [q for q in self.coming[:1] if q.wave <= self.wave or self.setup.arrivals == "backlog"]
        place = min(self.places, default=NEVER) if self.closed else self.now
        due = [(max(q.due if self.open else place, self.wave_open), 0, q.number) for q in coming]
        due += [(max(q.due, self.wave_open), 1, q.number) for q in self.triggered if q.wave <= self.wave]
        due += [(q.due, 1, q.number) for q in self.travelling]
        if not due or min(due)[0] > latest or min(due)[0] == NEVER:
            return False
        self.now, group, number = min(due)
        q = self.requests[number]
        if q in self.travelling:
            self.travelling.remove(q)
            self.enter(q)
        else:
            (self.triggered if group else self.coming).remove(q)
            self.arrive(q)
        return True

    def arrive(self, q: Request) -> None:
        q.arrival = self.now
        if self.closed and not self.chained(q):
            self.places.remove(min(self.places))
        too_large = q.all_pages(q.most + self.replicas[0].spare) > self.setup.pool_pages
        if self.setup.allocation != "paged":
            too_large = q.room_pages > Rooms(self.setup.pool_pages).largest(0, Rooms(self.setup.pool_pages).whole)
        if q.most + 1 > (self.setup.max_model_len or NEVER) or too_large:
            q.go("rejected", self.now)
            self.count(q)
            return
        self.router.send(q)
        if q.network:
            q.state, q.due = "on the way", self.now + q.network
            self.travelling.append(q)
        else:
            self.enter(q)

    def enter(self, q: Request) -> None:
        self.wait_at(self.replicas[q.replica], q)
        if self.setup.prefetch != "none":
            self.replicas[q.replica].prefetch(q, self.now)

    def wait_at(self, r: Replica, q: Request) -> None:
        q.go("waiting", self.now)
        q.order = self.entered = self.entered + 1
        r.queue.append(q)
        r.sort_queue()
        if r.start is None:
            r.wake = self.now

    def count(self, q: Request) -> None:
        """Request q is over."""
        seen = self.seen(q)
        following = [p for p in self.requests if p.after == q.number and self.chained(p)]
        for p in following:
            p.due = seen + p.think
            self.triggered.append(p)
        if not following:
            self.places.append(seen)
        wave = min((p.wave for p in self.requests if not p.over), default=self.wave)
        if wave > self.wave:
            self.wave, self.wave_open = wave, max(self.seen(p) for p in self.requests if p.over)

    def seen(self, q: Request) -> int:
        """When the client of q, which is over, sees the end."""
        return q.arrival or 0 if q.finish is None else q.finish + self.response + q.network

    def take_over(self, before: Serving) -> None:
        """Begin with the stores of an earlier run, or those of them that outlast a restart."""
        for new, old in zip(self.replicas, before.replicas, strict=True):
            for k, (store, left) in enumerate(zip(new.tiers.stores, old.tiers.stores, strict=True)):
                if self.setup.start == "warm" or (k > 0 and self.setup.tiers[k - 1].persistent):
                    store.take_over(left)
        tiers = [r.tiers for r in self.replicas]
        if self.setup.start == "restart" and not any(tier.persistent for tier in self.setup.tiers):
            return  # as cold as it gets
        tiers[0].misses.past = before.replicas[0].tiers.misses.past
        for block, past in tiers[0].misses.past.items():
            if past and not any(block in store.pins for view in tiers for store in view.stores):
                past.append("lost")


PHASES = ("transfer", "queue_again", "prefill", "prefill_again", "decode")


def spent(q: Request) -> Counter[str]:
    """Picoseconds in each of PHASES. A phase that begins later than the next one has no length."""
    times: Counter[str] = Counter()
    for (state, start, preemptions), (_, end, _) in pairwise(q.phases):
        names = {
            "waiting": "queue_again",
            "prefill": "prefill_again" if preemptions else "prefill",
            "decode": "decode",
            "transfer": "transfer",
        }
        if state in names and (state, preemptions) != ("waiting", 0):
            times[names[state]] += end - start
    return times


def serve_slowly(trace: Trace, setup: ServingSetup) -> ServingResult:
    """What `simcore.serving.serve.serve` returns, without `events`."""
    serving = Serving(trace, setup, trace.n)
    if setup.start != "cold":
        before = Serving(trace, setup, math.ceil(setup.start_share * trace.n))
        before.run()
        serving.take_over(before)
    serving.run()
    requests, replicas = serving.requests, serving.replicas
    response = picoseconds(setup.costs.request_s)
    total = sum((r.total for r in replicas), Counter())
    names = [tier.name for tier in setup.tiers]

    def seconds(times: list[int | None], later: int = 0) -> Any:
        return np.array([np.nan if time is None else float(time + later) / PICOSECONDS for time in times])

    return ServingResult(
        arrival_s=seconds([q.arrival for q in requests]),
        first_token_s=seconds([None if q.first is None else q.first + q.network for q in requests], response),
        finish_s=seconds([None if q.finish is None else q.finish + q.network for q in requests], response),
        network_s=seconds([2 * q.network for q in requests]),
        replica=np.array([q.replica for q in requests]),
        rejected=np.array([q.state == "rejected" for q in requests]),
        hit_tokens=np.array([q.hit_tokens for q in requests]),
        queue_s=seconds([None if q.admitted is None else q.admitted - (q.arrival or 0) - q.network for q in requests]),
        load_s=seconds([q.load_wait for q in requests]),
        **{f"{name}_s": seconds([spent(q)[name] if q.finish else None for q in requests]) for name in PHASES},
        missed_tokens=np.array([[q.missed[reason] for reason in REASONS * setup.note_misses] for q in requests], np.int64),
        preemptions=np.array([q.preemptions for q in requests]),
        recomputed_tokens=np.array([q.recomputed for q in requests]),
        full_steps=total["full_steps"],
        full_tokens=total["full_tokens"],
        handed_over_pages=total["handed_over"],
        swaps=total["swaps"],
        swapped_out_pages=total["swapped_out"],
        swapped_in_pages=total["swapped_in"],
        stores={name: _store_flow(name, k, replicas) for k, name in enumerate(["hbm", *names])},
        links={name: _link_flow(name, k, replicas) for k, name in enumerate(["host", *names])}
        | ({"hand_over": _out_flow(setup, replicas)} if setup.prefill_replicas else {}),
        busy_s=seconds([r.busy_time for r in replicas]),
        **{key: total[key] for key in ("steps", "prefill_steps", "prefill_tokens", "decode_tokens")},
        events=0,
        end_s=serving.end / PICOSECONDS,
    )


def _store_flow(name: str, k: int, replicas: list[Replica]) -> StoreFlow:
    stores = {id(r.tiers.stores[k]): r.tiers.stores[k] for r in replicas}.values()
    total: dict[str, Any] = {key: sum(s.flow[key] for s in stores) for key in StoreFlow.__dataclass_fields__}
    size = {"capacity_blocks": sum(s.capacity for s in stores), "resident_blocks": sum(len(s.pins) for s in stores)}
    return StoreFlow(**total | size | {"name": name, "misses": total["lookups"] - total["hits"]})


def _out_flow(setup: ServingSetup, replicas: list[Replica]) -> LinkFlow:
    busy = sum(r.out.pages_time for r in replicas)
    return LinkFlow("hand_over", setup.prefill_replicas, 0, 0, busy / PICOSECONDS, 0.0)


def _link_flow(name: str, k: int, replicas: list[Replica]) -> LinkFlow:
    stores = {id(r.tiers.stores[k]): r.tiers.stores[k] for r in replicas}.values()
    directions = [s.read for s in stores], [s.write for s in stores]
    blocks = [sum(link.blocks for link in links) for links in directions]
    busy = [sum(link.blocks * link.block_time + link.pages_time for link in links) for links in directions]
    return LinkFlow(name, len(stores), *blocks, *(time / PICOSECONDS for time in busy))
