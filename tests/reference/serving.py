"""The serving engine once more: slow, plain, one step at a time. It shares no code with `simcore.serving.kernels`; both must give
the same picoseconds and the same counts. What follows is the specification of both.

Units. Times are whole picoseconds. A block is `unit_tokens` tokens; it takes its full pages, even if it is a prompt's partly filled
last one. A request holds (pins) blocks from the start of its prompt on; all its tokens behind them take private pages.

Events. In order of time: an arrival first, then replicas by number. A replica whose step has ended takes the end, then what arrives
because of it, then starts its next step. An idle one starts when a request arrives or a load ends.

Arrivals. Open: request by request in the trace's order, once its wave is open; a chained request `think_s` after its client saw the
end of the one before (at once if that was rejected), at equal times behind the others, by number. Closed: the next of the trace
as soon as fewer than `concurrency` are in the system; closed and backlog ignore chains, backlog ignores waves. A wave opens when
all earlier requests are over. A request that, with one token less than prompt and output, exceeds an empty pool is rejected.

A step with chunked prefill: the pages of one more token for each decoding request, preempting until they are there; then prefill
with what is left of the token budget. Without: prefill with the whole budget; if there is none, decoding as above. Then prompts
share a step only whole; one longer than the budget has steps of its own. Time: lin[tokens] + seq * decoding + kv * their contexts +
pair * attended pairs of prefill (rounded down). At its end decoding requests get a token (those that are through leave, by number),
then each ended prefill gives one.

Prefill continues the request under way, else takes the one whose load ended first, else admits the head of the queue. What did
not fit (a chunk, or the head) is not tried again until something has been released. If nothing can run since a chunk does
not fit, or after a preemption, the step is composed again, in the first case after one more preemption. A chunk's blocks enter the
pool at the start of the step, usable at once; those somebody else computed meanwhile are shared.

Preemption: the request admitted last gives all back and waits at the head of its queue; later it computes prompt and generated
tokens again, as far as they are not found.

Admission: look for the prompt's leading blocks in the pool and the tiers, topmost first, until one is nowhere. `recompute_last`
leaves out the last block if nothing else were to compute; otherwise at least one token is computed. If some are below and the load
rule says no, only those before the first such block count. All pages of the prompt must be available (free, or in unpinned
blocks) besides those promised to requests still loading. Then all found blocks in the pool are pinned, then those below are
taken from their tiers (exclusive: they leave; inclusive: pinned), then one by one: send over the tier's link and the host link, make
room, enter the pool pinned. Loading lasts until all held blocks are usable, those in the pool included.

Load rules. Threshold: tokens in blocks below >= `min_load_tokens`, and at most `max_waiting` in the queue, this one counted. Cheaper:
the last found block would be usable no later than computing what is behind the leading pool blocks takes, in steps of its own.

Moves. A link passes one block after the other. A victim of any tier goes to the nearest exclusive tier below, unless a copy is met
on the way there; what that pushes out goes on in the same way. Blocks computed are copied to all inclusive tiers without them.
Only writes out of the pool pass the host link. A write is refused if one of its links is busy for more than `write_backlog_s`
from now, or nothing can leave the full store. Latencies are added once behind the last link.

Give back: private pages, then blocks tail first. A finished request first turns the blocks its output completed into pool blocks.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from simcore.serving.result import LinkFlow, ServingResult, StoreFlow
from simcore.serving.setup import ServingSetup
from simcore.traces.trace import Trace
from tests.reference.replica import Replica, Request
from tests.reference.tiers import PICOSECONDS, build_tiers, picoseconds


class Serving:
    def __init__(self, trace: Trace, setup: ServingSetup) -> None:
        self.setup = setup
        self.requests = [Request(trace, setup, i) for i in range(trace.n)]
        self.replicas = [Replica(setup, tiers) for tiers in build_tiers(setup)]
        self.chains = setup.arrivals == "open"
        self.coming = [q for q in self.requests if q.after < 0 or not self.chains]
        self.triggered: list[Request] = []  # chained, the one before is over
        self.now = self.routed = self.wave_open = 0
        self.wave = self.requests[0].wave

    def run(self) -> None:
        while not all(q.over for q in self.requests):
            awake = [r for r in self.replicas if r.wake is not None]
            r = min(awake, key=lambda r: r.wake, default=None)
            if self.arrive_by(None if r is None else r.wake):
                continue
            assert r is not None, "nobody can run"
            self.now = r.wake
            if r.start is not None:
                for q in r.end_step(self.now):
                    self.count(q)
                while self.arrive_by(self.now):
                    pass
            r.start_step(self.now)

    def arrive_by(self, latest: int | None) -> bool:
        """The next request arrives, if one is due by `latest`."""
        coming = self.coming[:1]
        if self.setup.arrivals != "backlog":
            inside = sum(q.state != "to come" and not q.over for q in self.requests)
            coming = [q for q in coming if q.wave <= self.wave and (self.chains or inside < self.setup.concurrency)]
        due = [(max(q.due, self.wave_open) if self.chains else self.now, 0, q.number) for q in coming]
        due += [(max(q.due, self.wave_open), 1, q.number) for q in self.triggered if q.wave <= self.wave]
        time, group, number = min(due, default=(0, 0, None))
        if number is None or (latest is not None and time > latest):
            return False
        self.now, q = time, self.requests[number]
        (self.triggered if group else self.coming).remove(q)
        self.arrive(q)
        return True

    def arrive(self, q: Request) -> None:
        q.arrival = self.now
        if q.all_pages(q.most) > self.setup.pool_pages:
            q.state = "rejected"
            self.count(q)
            return
        q.replica = self.routed % len(self.replicas)
        if self.setup.router == "least_loaded":
            load = [len(r.queue) + len(r.running) for r in self.replicas]
            q.replica = load.index(min(load))
        self.routed += 1
        q.state = "waiting"
        r = self.replicas[q.replica]
        r.queue.append(q)
        if r.start is None:
            r.wake = self.now

    def count(self, q: Request) -> None:
        """Request q is over."""
        response = picoseconds(self.setup.costs.request_s) if q.state == "done" else 0
        for p in self.requests:
            if p.after == q.number and self.chains:
                p.due = self.now + response + p.think
                self.triggered.append(p)
        wave = min((p.wave for p in self.requests if not p.over), default=self.wave)
        if wave > self.wave:
            self.wave, self.wave_open = wave, self.now


def serve_slowly(trace: Trace, setup: ServingSetup) -> ServingResult:
    """What `simcore.serving.serve.serve` returns, without `events`."""
    serving = Serving(trace, setup)
    serving.run()
    requests, replicas = serving.requests, serving.replicas
    response = picoseconds(setup.costs.request_s)
    total = sum((r.total for r in replicas), Counter())
    names = [tier.name for tier in setup.tiers]

    def seconds(times: list[int | None], later: int = 0) -> Any:
        return np.array([np.nan if time is None else float(time + later) / PICOSECONDS for time in times])

    return ServingResult(
        arrival_s=seconds([q.arrival for q in requests]),
        first_token_s=seconds([q.first for q in requests], response),
        finish_s=seconds([q.finish for q in requests], response),
        replica=np.array([q.replica for q in requests]),
        rejected=np.array([q.state == "rejected" for q in requests]),
        hit_tokens=np.array([q.hit_tokens for q in requests]),
        queue_s=seconds([None if q.admitted is None else q.admitted - q.arrival for q in requests]),
        load_s=seconds([q.load_wait for q in requests]),
        preemptions=np.array([q.preemptions for q in requests]),
        recomputed_tokens=np.array([q.recomputed for q in requests]),
        stores={name: _store_flow(name, k, replicas) for k, name in enumerate(["hbm", *names])},
        links={name: _link_flow(name, k, replicas) for k, name in enumerate(["host", *names])},
        busy_s=seconds([r.busy_time for r in replicas]),
        **{key: total[key] for key in ("steps", "prefill_steps", "prefill_tokens", "decode_tokens")},
        events=0,
        end_s=serving.now / PICOSECONDS,
    )


def _store_flow(name: str, k: int, replicas: list[Replica]) -> StoreFlow:
    stores = {id(r.tiers.stores[k]): r.tiers.stores[k] for r in replicas}.values()
    total: dict[str, Any] = {key: sum(s.flow[key] for s in stores) for key in StoreFlow.__dataclass_fields__}
    size = {"capacity_blocks": sum(s.capacity for s in stores), "resident_blocks": sum(len(s.pins) for s in stores)}
    return StoreFlow(**total | size | {"name": name, "misses": total["lookups"] - total["hits"]})


def _link_flow(name: str, k: int, replicas: list[Replica]) -> LinkFlow:
    stores = {id(r.tiers.stores[k]): r.tiers.stores[k] for r in replicas}.values()
    blocks = [sum(link.blocks for link in links) for links in ([s.read for s in stores], [s.write for s in stores])]
    times = [next(iter(stores)).read.block_time, next(iter(stores)).write.block_time]
    return LinkFlow(name, len(stores), *blocks, *(n * time / PICOSECONDS for n, time in zip(blocks, times, strict=True)))
