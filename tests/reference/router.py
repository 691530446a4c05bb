"""Which replica a request goes to, and how long it is on the way. The rules are in docs/serving.md, section 2."""

from __future__ import annotations

from fractions import Fraction

from simcore.serving.setup import ServingSetup
from simcore.traces.trace import Trace
from tests.reference.replica import Replica, Request
from tests.reference.tiers import picoseconds


class Router:
    def __init__(self, trace: Trace, setup: ServingSetup, requests: list[Request], replicas: list[Replica]) -> None:
        self.setup, self.rules = setup, setup.routing
        entries = setup.prefill_replicas or len(replicas)
        self.requests, self.replicas, self.decoding = requests, replicas[:entries], replicas[entries:]
        self.sessions = [int(s) for s in trace.session]
        self.homes: dict[int, int] = {}
        self.routed = 0
        self.regions: list[int] = []  # of the replicas
        if setup.network:
            self.regions = [region for region, count in enumerate(setup.network.replicas) for _ in range(count)]

    def send(self, q: Request) -> None:
        q.replica = getattr(self, self.setup.router)(q)
        self.routed += 1
        if self.regions:
            q.network = self.one_way(q, q.replica)

    def round_robin(self, q: Request) -> int:
        return self.routed % len(self.replicas)

    def least_loaded(self, q: Request) -> int:
        return min(range(len(self.replicas)), key=self.load)

    def session(self, q: Request) -> int:
        return self.homes.setdefault(self.sessions[q.number], self.least_loaded(q))

    def decode_replica(self) -> Replica:
        return min(self.decoding, key=lambda r: len(r.queue) + len(r.running))

    def load(self, r: int) -> int:
        return len(self.here(r)) + len(self.replicas[r].running)

    def here(self, r: int) -> list[Request]:
        """Requests that wait for admission by replica r, or are on the way to it."""
        return self.replicas[r].queue + [q for q in self.requests if q.state == "on the way" and q.replica == r]

    def prefix(self, q: Request, r: int) -> int:
        """Tokens of q's prompt in the leading blocks that replica r has in HBM or in tiers of its own."""
        stores = self.replicas[r].tiers.stores
        own = [stores[0], *(store for store, tier in zip(stores[1:], self.setup.tiers, strict=True) if not tier.shared)]
        blocks = 0
        while blocks < len(q.blocks) and any(q.blocks[blocks] in store.pins for store in own):
            blocks += 1
        return q.covered(blocks)

    def prefix_aware(self, q: Request) -> int:
        loads = [self.load(r) for r in range(len(self.replicas))]
        if max(loads) - min(loads) > self.rules.max_load_gap and max(loads) > self.rules.max_load_ratio * min(loads):
            return self.least_loaded(q)
        prefixes = [self.prefix(q, r) for r in range(len(self.replicas))]
        best = min(range(len(self.replicas)), key=lambda r: (-prefixes[r], loads[r]))
        return best if prefixes[best] > self.rules.min_match * q.prompt else self.least_loaded(q)

    def gorgo(self, q: Request) -> int:
        works = [q.prompt - self.prefix(q, r) for r in range(len(self.replicas))]
        best = min(range(len(self.replicas)), key=lambda r: self.cost(q, r, works[r]))
        q.work = works[best]
        return best

    def cost(self, q: Request, r: int, work: int) -> int:
        replica = self.replicas[r]
        cost = replica.steps_time(0, sum(p.work for p in self.here(r)) + work)
        cost += int(self.rules.running_weight * replica.steps_time(0, sum(p.work for p in replica.running)))
        return cost + (2 * self.one_way(q, r) if self.regions else 0)

    def one_way(self, q: Request, r: int) -> int:
        assert self.setup.network
        client = self.client(q)
        return picoseconds(self.setup.network.round_trip_s[client][self.regions[r]] / 2)

    def client(self, q: Request) -> int:
        """The region of q's client."""
        assert self.setup.network
        shares = [Fraction(share) for share in self.setup.network.client_shares]
        number = sorted(set(self.sessions)).index(self.sessions[q.number])
        place = (number + 1) * 0.6180339887498949 % 1.0
        ends = [float(sum(shares[: k + 1]) / sum(shares)) for k in range(len(shares))]
        return min(sum(place >= end for end in ends), len(ends) - 1)
