"""What one serving run is told: replicas, pools, the tiers below, costs and rules. Plain numbers, no model, no hardware."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from simcore.errors import InputError
from simcore.roofline.step_time import StepCosts
from simcore.serving.routing import PUBLISHED_RULES, ROUTERS, NetworkSetup, RoutingRules
from simcore.serving.state import ON_EVICTION
from simcore.specs.tier import check_loaded_latency

PLACEMENTS = ("exclusive", "inclusive")
WRITE_POLICIES = ("write_back", "write_through", "write_through_selective")
LOAD_RULES = ("always", "never", "cheaper", "threshold")
ARRIVALS = ("open", "closed", "backlog")
STARTS = ("cold", "warm", "restart")
OVERLAPS = ("none", "layer", "full")
PREFETCHES = ("none", "best_effort", "wait", "timeout")
SCHEDULING = ("fcfs", "priority")
VICTIMS = ("last_admitted", "least_computed")
RESERVES = ("none", "output")
PREEMPTIONS = ("recompute", "swap")
HAND_OVER = "hand_over"  # name of the links from prefill to decode replicas
YIELD_SHIFT = 20  # tokens of speculative steps are counted in 2^-20
ALLOCATIONS = ("paged", "max", "pow2", "oracle")


@dataclass(frozen=True, kw_only=True)
class StoreSetup:
    """A tier below HBM, with its own link: one queue for reads and one for writes, shared by all replicas if the tier is.

    Args:
        capacity_blocks: reuse blocks it holds, at least 1; of each replica, or in all when `shared`.
        policy: eviction policy, by name.
        placement: "exclusive" gives a block up on a hit; "inclusive" keeps it.
        write_policy: "write_back" takes what is evicted above it (all that "exclusive" allows, and its default);
            "write_through" (default of "inclusive") gets a copy of each block completed in HBM; "write_through_selective" of
            each that `write_after_uses` requests were through with since it entered HBM.
        write_after_uses: see there.
        shared: one store and one link for all replicas.
        quota_blocks: blocks that each tenant may hold, by its number, the last one for all beyond; empty: no limit. At its
            quota it gives up its own least recently used block for a new one.
        persistent: its blocks outlast a restart.
        read_s_per_block, write_s_per_block: time of a block on its link.
        read_latency_s, write_latency_s: from the last byte on its link to the block being usable.
        loaded_latency_s: points (utilisation, latency) of reads from a link that was busy for that share of the last
            millisecond, both growing from (0, `read_latency_s`) on, linear in between; empty: it is always `read_latency_s`.
    """

    name: str
    capacity_blocks: int
    policy: str = "lru"
    placement: str = "exclusive"
    write_policy: str | None = None
    write_after_uses: int = 2
    shared: bool = False
    quota_blocks: tuple[int, ...] = ()
    persistent: bool = False
    read_s_per_block: float = 0.0
    write_s_per_block: float = 0.0
    read_latency_s: float = 0.0
    write_latency_s: float = 0.0
    loaded_latency_s: tuple[tuple[float, float], ...] = ()

    @property
    def copy_after(self) -> int:
        """Uses in HBM after which it gets a copy of a block; ON_EVICTION: it gets what is evicted above."""
        policy = self.write_policy or default_write_policy(self.placement)
        return {"write_back": ON_EVICTION, "write_through": 0}.get(policy, self.write_after_uses)

    def validate(self) -> None:
        """Raises:
        InputError: a field is out of its range; `path` names it.
        """
        _at_least(1, self, ("capacity_blocks", "write_after_uses"))
        _check_quotas("quota_blocks", self.quota_blocks)
        _seconds(self, ("read_s_per_block", "write_s_per_block", "read_latency_s", "write_latency_s"))
        check_loaded_latency("loaded_latency_s", self.read_latency_s, self.loaded_latency_s)
        _one_of("placement", self.placement, PLACEMENTS)
        if self.write_policy is not None:
            _one_of("write_policy", self.write_policy, WRITE_POLICIES)
            check_write_policy(self.placement, self.write_policy)


@dataclass(frozen=True, kw_only=True)
class ServingSetup:
    """R identical replicas and all they are told.

    Args:
        replicas: R.
        prefill_replicas: P; the first P replicas prefill all requests and hand them over, after the first token, to the others,
            which decode them (the least loaded one each); 0: every replica does both.
        hand_over_s_per_page, hand_over_latency_s: of the link out of each prefill replica, one queue, by which a decode replica
            that has room fetches a request's pages.
        pool_pages: pages of a replica's HBM pool; never exceeded.
        page_tokens: tokens of a page, the unit of allocation.
        unit_tokens: tokens of a reuse block, a multiple of `page_tokens` and of the trace's granule.
        hbm_policy: eviction policy of the pools, by name.
        hbm_quota_blocks: as `quota_blocks` of a tier, of each replica's pool; running requests may exceed them.
        tiers: the tiers below, top to bottom.
        host_link_read_s_per_block, host_link_write_s_per_block: time of a block on a replica's host link, which all traffic
            between its GPU and any lower tier passes, one queue a direction.
        host_link_latency_s: added to the arrival of a block that passed it.
        costs: step times; `lin_s` must reach to `max_num_batched_tokens`.
        max_num_seqs: admitted requests at a time (loading, prefilling, decoding), at most `max_num_batched_tokens`.
        max_num_batched_tokens: the token budget of a step.
        chunked_prefill: prompts share steps with decoding and are cut to the budget; otherwise steps of whole prompts go first.
        max_model_len: requests of more tokens, prompt and output together, are rejected; None: the pool alone is the limit.
        stream_interval: tokens of a packet; the client has its first token when the first packet is full or the output ends.
        scheduling: "fcfs", or "priority": the queue is in order of priority (the lowest number first), then of arrival, and
            preemption strikes the last class first. Nothing is preempted to let a request of higher priority in.
        tenant_priority: of "priority": entry t is that of tenant t; tenants beyond it have 0.
        preemption_victim: which admitted request (of the last class) is preempted when memory runs out: "last_admitted", or
            "least_computed", the one with the fewest tokens computed.
        preemption: "recompute" gives a preempted request's memory up; "swap" moves a decoding one's pages over the host link to
            swap space and back, if there is room for all of them, else it is as "recompute".
        swap_pages: of "swap": the swap space of a replica.
        reserve: "none" admits a request when what it has to prefill fits, and preempts when outputs outgrow the memory;
            "output" when all its tokens fit besides those of all admitted requests, so that nothing is ever preempted.
        allocation: "paged", or a contiguous region for each sequence, taken on admission from a buddy allocator and shared with
            nobody: for `max_model_len` tokens ("max"), for its prompt and its output rounded up to a power of two ("pow2"), or
            for exactly its tokens ("oracle"). Nothing is reused or preempted then, and there are no tiers.
        draft_tokens: k tokens that a draft proposes to each decoding sequence for a step, all verified in it; 0: none.
        acceptance_rate: a, with which each is accepted if those before it are; a step yields (1 - a^(k+1)) / (1 - a) tokens on
            average, and everybody the average (Leviathan et al., arXiv 2211.17192, equation 1).
        draft_cost: time of one of the k passes of the draft, as a share of a step of the target (c of that paper).
        load_rule: what to do with blocks found below HBM: "always", "never", "cheaper" (than computing them) or "threshold".
        min_load_tokens, max_waiting: of "threshold": load if at least so many tokens can be loaded while at most so many
            requests wait or load on the replica (the one in question included).
        recompute_last: a prompt found whole computes its last block again; otherwise only what the first token needs.
        output_reuse: finished outputs leave reusable blocks, if the trace names them.
        partial_block: a prompt's partly filled last block is a reuse block too.
        arrivals: "open" (the trace's times and chains), "closed" (`concurrency` clients, who take the trace's requests in
            order, each with all that is chained to it) or "backlog" (everything at time 0).
        concurrency: of "closed".
        stagger_s: of "closed": time from the start of a client to that of the next; 0: all start at once.
        router: "round_robin" in order of arrival, "least_loaded" (fewest requests waiting, admitted or on the way, first of
            equals), "prefix_aware" (longest prefix in HBM and in tiers of its own, while loads are in balance), "session"
            (where its session went) or "gorgo" (least sum of network, queue and prefill; arXiv 2602.11688).
        routing: numbers of the routers.
        network: regions of clients and replicas; None: no time passes between them.
        write_backlog_s: a write that would wait longer for its links is dropped.
        overlap: of a load and the request's own prefill. "none": it prefills when all is there, others run till then; "layer":
            it joins the next step, in which each of `layers` equal layers waits for its part of the load; "full": as with
            very many layers.
        layers: of "layer".
        prefetch: when a request joins a queue, what of its run is below the first lower tier is brought up into that. Admitted,
            it uses of blocks on their way "best_effort": none, "wait": all, "timeout": those there `prefetch_timeout_s` after
            its arrival.
        prefetch_timeout_s: of "timeout".
        start: "cold": all stores are empty; "warm": as a run of the first `start_share` of the requests (rounded up) left them,
            every block usable; "restart": so in persistent tiers, the others empty.
        start_share: see there.
        note_misses: find out of every prompt token that was not found why; no time depends on it.
    """

    replicas: int = 1
    prefill_replicas: int = 0
    hand_over_s_per_page: float = 0.0
    hand_over_latency_s: float = 0.0
    pool_pages: int
    page_tokens: int
    unit_tokens: int
    hbm_policy: str = "lru"
    hbm_quota_blocks: tuple[int, ...] = ()
    tiers: tuple[StoreSetup, ...] = ()
    host_link_read_s_per_block: float = 0.0
    host_link_write_s_per_block: float = 0.0
    host_link_latency_s: float = 0.0
    costs: StepCosts
    max_num_seqs: int = 256
    max_num_batched_tokens: int = 2048
    chunked_prefill: bool = True
    max_model_len: int | None = None
    stream_interval: int = 1
    scheduling: str = "fcfs"
    tenant_priority: tuple[int, ...] = ()
    preemption_victim: str = "last_admitted"
    preemption: str = "recompute"
    swap_pages: int = 0
    reserve: str = "none"
    allocation: str = "paged"
    draft_tokens: int = 0
    acceptance_rate: float = 0.0
    draft_cost: float = 0.0
    load_rule: str = "cheaper"
    min_load_tokens: int = 0
    max_waiting: int = 0
    recompute_last: bool = True
    output_reuse: bool = True
    partial_block: bool = False
    arrivals: str = "open"
    concurrency: int = 1
    stagger_s: float = 0.0
    router: str = "round_robin"
    routing: RoutingRules = PUBLISHED_RULES
    network: NetworkSetup | None = None
    write_backlog_s: float = 1.0
    overlap: str = "none"
    layers: int = 1
    prefetch: str = "none"
    prefetch_timeout_s: float = 1.0
    start: str = "cold"
    start_share: float = 1.0
    note_misses: bool = False

    def validate(self) -> None:
        """Raises:
        InputError: a field is out of its range, or two contradict each other; `path` names it.
        """
        _at_least(1, self, ("replicas", "pool_pages", "page_tokens", "unit_tokens", "concurrency", "layers"))
        _at_least(1, self, ("max_num_seqs", "max_num_batched_tokens", "stream_interval"))
        if self.max_model_len is not None:
            _at_least(1, self, ("max_model_len",))
        _at_least(0, self, ("min_load_tokens", "max_waiting"))
        links = ("host_link_read_s_per_block", "host_link_write_s_per_block", "host_link_latency_s")
        _seconds(self, (*links, "write_backlog_s", "prefetch_timeout_s", "stagger_s"))
        _one_of("load_rule", self.load_rule, LOAD_RULES)
        _one_of("arrivals", self.arrivals, ARRIVALS)
        _one_of("router", self.router, ROUTERS)
        _check_quotas("hbm_quota_blocks", self.hbm_quota_blocks)
        self._validate_routing()
        _one_of("start", self.start, STARTS)
        if not 0 < self.start_share <= 1:
            raise InputError("must be above 0 and at most 1", path="start_share", value=self.start_share)
        _one_of("overlap", self.overlap, OVERLAPS)
        _one_of("prefetch", self.prefetch, PREFETCHES)
        if self.prefetch != "none" and len(self.tiers) < 2:
            raise InputError(
                "needs two tiers below HBM, to bring blocks up from the lower one", path="prefetch", value=self.prefetch
            )
        _one_of("scheduling", self.scheduling, SCHEDULING)
        _one_of("preemption_victim", self.preemption_victim, VICTIMS)
        self._validate_speculation()
        self._validate_disaggregation()
        _one_of("allocation", self.allocation, ALLOCATIONS)
        if self.allocation == "max" and self.max_model_len is None:
            raise InputError("must be given with allocation max", path="max_model_len", value=None)
        if self.allocation != "paged" and self.tiers:
            raise InputError(
                "needs a pool without tiers below: a region is one sequence's", path="allocation", value=self.allocation
            )
        if self.allocation != "paged" and self.hbm_quota_blocks:
            raise InputError(
                "needs allocation paged: a region has no blocks to count", path="hbm_quota_blocks", value=self.hbm_quota_blocks
            )
        _one_of("preemption", self.preemption, PREEMPTIONS)
        _at_least(1 if self.preemption == "swap" else 0, self, ("swap_pages",))
        _one_of("reserve", self.reserve, RESERVES)
        if self.unit_tokens % self.page_tokens:
            rule = f"must be a multiple of page_tokens ({self.page_tokens})"
            raise InputError(rule, path="unit_tokens", value=self.unit_tokens)
        if self.max_num_seqs * (1 + self.draft_tokens) > self.max_num_batched_tokens:
            rule = f"must not exceed max_num_batched_tokens ({self.max_num_batched_tokens})"
            hint = "each decoding sequence takes a token of the step"
            if self.draft_tokens:
                rule += f" over 1 + draft_tokens ({1 + self.draft_tokens})"
            raise InputError(rule, path="max_num_seqs", value=self.max_num_seqs, hint=hint)
        names = [tier.name for tier in self.tiers]
        for number, tier in enumerate(self.tiers):
            if tier.name in ("hbm", "host", HAND_OVER, *names[:number]):
                raise InputError("is used twice, or for the pool or a link", path=f"tiers.{number}.name", value=tier.name)
            try:
                tier.validate()
            except InputError as error:
                raise error.within(prefix=f"tiers.{number}") from None
        self._validate_costs()

    @property
    def entry_replicas(self) -> int:
        """Replicas that requests are routed to, and where their prompts' prefixes are reused."""
        return self.prefill_replicas or self.replicas

    @property
    def has_quotas(self) -> bool:
        """Whether any store limits what a tenant may hold."""
        return bool(self.hbm_quota_blocks) or any(tier.quota_blocks for tier in self.tiers)

    def _validate_routing(self) -> None:
        try:
            self.routing.validate()
        except InputError as error:
            raise error.within(prefix="routing") from None
        if self.network is None:
            return
        if self.arrivals == "closed":
            raise InputError("needs an open loop", path="network", hint="clients of a closed loop are nowhere")
        try:
            self.network.validate(self.replicas)
        except InputError as error:
            raise error.within(prefix="network") from None

    def _validate_disaggregation(self) -> None:
        _seconds(self, ("hand_over_s_per_page", "hand_over_latency_s"))
        if not 0 <= self.prefill_replicas < self.replicas:
            rule = f"must be at least 0 and below the {self.replicas} replicas, so that some decode"
            raise InputError(rule, path="prefill_replicas", value=self.prefill_replicas)
        if not self.prefill_replicas:
            return
        refused = {"allocation": self.allocation != "paged", "reserve": self.reserve != "none", "network": bool(self.network)}
        for path, asked in refused.items():
            if asked:
                raise InputError("cannot be combined with prefill_replicas", path=path, value=getattr(self, path))

    def _validate_speculation(self) -> None:
        if not 0 <= self.draft_tokens <= 64:
            raise InputError("must be between 0 and 64", path="draft_tokens", value=self.draft_tokens)
        for path, high in (("acceptance_rate", 1.0), ("draft_cost", 100.0)):
            value = getattr(self, path)
            if not 0 <= value <= high:
                raise InputError(f"must be between 0 and {high:g}", path=path, value=value)

    @property
    def yielded(self) -> int:
        """Tokens that a decode step yields each sequence on average, in units of 2^-YIELD_SHIFT; 1 without speculation."""
        if self.draft_tokens == 0:
            return 1
        expected: float = sum(self.acceptance_rate**i for i in range(self.draft_tokens + 1))
        return round(expected * (1 << YIELD_SHIFT))

    def _validate_costs(self) -> None:
        costs = self.costs
        if len(costs.lin_s) <= self.max_num_batched_tokens:
            rule = f"must have an entry for each of 0 to {self.max_num_batched_tokens} tokens"
            raise InputError(rule, path="costs.lin_s", value=len(costs.lin_s))
        lin = costs.lin_s[1 : self.max_num_batched_tokens + 1]
        if not (lin > 0).all() or not (lin < 1e6).all():
            raise InputError("a step must take a positive time, below a million seconds", path="costs.lin_s")
        try:
            _seconds(costs, ("kv_s_per_token", "seq_s", "pair_s", "request_s"))
        except InputError as error:
            raise error.within(prefix="costs") from None


def default_write_policy(placement: str) -> str:
    return "write_back" if placement == "exclusive" else "write_through"


def check_write_policy(placement: str, write_policy: str) -> None:
    """Raises:
    InputError: an exclusive tier is to hold copies.
    """
    if placement == "exclusive" and write_policy != "write_back":
        hint = "set placement: inclusive, or leave write_policy out"
        raise InputError("must be write_back where placement is exclusive", path="write_policy", value=write_policy, hint=hint)


def _check_quotas(path: str, quotas: tuple[int, ...]) -> None:
    if not all(0 <= quota < 2**48 for quota in quotas):
        raise InputError("must be at least 0 and below 2^48", path=path, value=list(quotas))


def _at_least(low: int, owner: object, names: Iterable[str]) -> None:
    for name in names:
        value = getattr(owner, name)
        if not low <= value < 2**48:
            raise InputError(f"must be at least {low} and below 2^48", path=name, value=value)


def _seconds(owner: object, names: Iterable[str]) -> None:
    for name in names:
        value = getattr(owner, name)
        if not (math.isfinite(value) and 0 <= value <= 1e6):
            raise InputError("must be between 0 and 1000000 s", path=name, value=value)


def _one_of(path: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise InputError(f"must be one of {', '.join(allowed)}", path=path, value=value)
