"""Small cases with round numbers: prompts that grow out of each other, times that coincide."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np

from simcore.roofline.step_time import StepCosts
from simcore.serving.routing import ROUTERS, NetworkSetup, RoutingRules
from simcore.serving.setup import (
    ARRIVALS,
    LOAD_RULES,
    OVERLAPS,
    PLACEMENTS,
    PREFETCHES,
    RESERVES,
    SCHEDULING,
    STARTS,
    VICTIMS,
    WRITE_POLICIES,
    ServingSetup,
    StoreSetup,
)
from simcore.traces.trace import Trace

POLICIES = ("lru", "fifo", "sieve")


def small_trace(rng: Random, granule: int) -> Trace:
    """Up to 24 requests. Each is a row of tokens that may go on where an earlier one, or a part of it, ended."""
    n = rng.randint(1, 24)
    output_ids = rng.random() < 0.5
    longest = granule * rng.choice([1, 2, 4, 8])
    rows: list[tuple[int, ...]] = []
    inputs: list[int] = []
    outputs: list[int] = []
    after: list[int] = []
    arrival = [0.0]
    for i in range(n):
        row: tuple[int, ...] = ()
        after.append(-1)
        if i and rng.random() < 0.7:
            origin = rng.randrange(i)
            row = rows[origin][: rng.choice([len(rows[origin]), inputs[origin], rng.randint(0, len(rows[origin]))])]
            if origin not in after and rng.random() < 0.5:
                after[i] = origin
        fresh = rng.randint(0 if row else 1, longest)
        inputs.append(len(row) + fresh)
        outputs.append(rng.choice([1, 2, rng.randint(1, 3 * granule), rng.randint(1, 40)]))
        rows.append(row + tuple(1000 * i + k for k in range(fresh + outputs[i])))
        arrival.append(arrival[-1] + rng.choice([0, 0, 0, 0, 1, 2, 7]))
    prefixes: dict[tuple[int, ...], int] = {}
    blocks = []
    for row, tokens in zip(rows, inputs, strict=True):
        covered = row if output_ids else row[:tokens]
        ends = [min(end, len(covered)) for end in range(granule, len(covered) + granule, granule)]
        blocks.append([prefixes.setdefault(covered[:end], len(prefixes)) for end in ends])
    return Trace.of(
        arrival[:n],
        inputs,
        outputs,
        blocks,
        granule,
        after=after,
        think_s=[rng.choice([0, 0, 1, 3]) for _ in range(n)],
        wave=sorted(rng.choice([0, 0, 1, 3]) for _ in range(n)) if rng.random() < 0.3 else None,
        has_output_ids=output_ids,
        tenant=[rng.randrange(4) for _ in range(n)],
    )


def small_setup(rng: Random, trace: Trace, unit: int, page: int) -> ServingSetup:
    """A machine just large enough, or not quite, with costs in whole and half seconds."""
    budget = rng.choice([4, 8, 16, 64])
    most = max(trace.input_tokens + trace.output_tokens)
    lin = rng.choice([1.0, 0.5]) + rng.choice([0.0, 0.25, 0.0625]) * np.arange(budget + 1, dtype=np.float64)
    tiers = tuple(small_tier(rng, k) for k in range(rng.choice([0, 1, 2, 3])))
    return ServingSetup(
        pool_pages=max(1, int((most // page + unit // page + 1) * rng.choice([0.7, 1, 1, 1, 1.3, 2, 5]))),
        page_tokens=page,
        unit_tokens=unit,
        hbm_policy=rng.choice(POLICIES),
        tiers=tiers,
        host_link_read_s_per_block=rng.choice([0.0, 0.5, 1.0]),
        host_link_write_s_per_block=rng.choice([0.0, 0.5, 1.0]),
        host_link_latency_s=rng.choice([0.0, 0.5]),
        costs=StepCosts(lin, rng.choice([0.0, 0.125]), rng.choice([0.0, 0.5]), rng.choice([0.0, 0.01]), rng.choice([0.0, 1.0])),
        max_num_seqs=rng.choice([1, 3, 4, 4]),
        max_num_batched_tokens=budget,
        chunked_prefill=rng.random() < 0.6,
        load_rule=rng.choice([*LOAD_RULES, "always", "cheaper"]),
        min_load_tokens=rng.choice([0, unit, 2 * unit]),
        max_waiting=rng.choice([1, 2, 8]),
        recompute_last=rng.random() < 0.5,
        output_reuse=rng.random() < 0.7,
        partial_block=rng.random() < 0.5,
        concurrency=rng.choice([1, 2, 5]),
        stagger_s=rng.choice([0.0, 0.0, 1.0, 7.0]),
        **small_routing(rng),
        write_backlog_s=rng.choice([0.0, 1.0, 100.0]),
        overlap=rng.choice([*OVERLAPS, "none"]),
        start=rng.choice(["cold", "cold", *STARTS]),
        start_share=rng.choice([0.01, 0.5, 1.0]),
        layers=rng.choice([1, 2, 7]),
        prefetch=rng.choice([*PREFETCHES, "none"]) if len(tiers) > 1 else "none",
        prefetch_timeout_s=rng.choice([0.0, 1.0, 4.0]),
        note_misses=rng.random() < 0.7,
        max_model_len=rng.choice([None, None, int(most), int(0.8 * most) + 1]),
        stream_interval=rng.choice([1, 2, 7]),
        scheduling=rng.choice(SCHEDULING),
        tenant_priority=rng.choice([(1, 0, 2), (0, 0, 1), (-1, 1)]),
        preemption_victim=rng.choice(VICTIMS),
        reserve=rng.choice([*RESERVES, "none"]),
        preemption=rng.choice(["recompute", "recompute", "swap"]),
        swap_pages=rng.choice([10, 40, 1000]),
    )


def small_routing(rng: Random) -> dict[str, Any]:
    """Replicas, maybe in regions whole and half seconds apart, a router and how requests come about."""
    replicas, arrivals, network = rng.choice([1, 1, 2, 3]), rng.choice([*ARRIVALS, "open"]), None
    if arrivals != "closed" and rng.random() < 0.4:
        parts = tuple(part for part in (replicas - replicas // 2, replicas // 2) if part)
        trips = tuple(tuple(rng.choice([0.0, 1.0, 2.0, 5.0]) for _ in parts) for _ in parts)
        network = NetworkSetup(replicas=parts, client_shares=tuple(rng.choice([1.0, 2.0]) for _ in parts), round_trip_s=trips)
    rules = RoutingRules(
        min_match=rng.choice([0.0, 0.3, 0.5]),
        max_load_gap=rng.choice([0, 1, 64]),
        max_load_ratio=rng.choice([1.0, 1.5]),
        running_weight=rng.choice([0.0, 0.5, 1.0]),
    )
    router = rng.choice(ROUTERS)
    return {"replicas": replicas, "arrivals": arrivals, "network": network, "routing": rules, "router": router}


def small_tier(rng: Random, k: int) -> StoreSetup:
    placement = rng.choice(PLACEMENTS)
    return StoreSetup(
        name=f"tier{k}",
        capacity_blocks=rng.choice([1, 2, 4, 9, 30]),
        policy=rng.choice(POLICIES),
        placement=placement,
        write_policy=None if placement == "exclusive" else rng.choice(["write_through", *WRITE_POLICIES]),
        write_after_uses=rng.choice([1, 1, 2, 3]),
        shared=rng.random() < 0.5,
        persistent=rng.random() < 0.7,
        read_s_per_block=rng.choice([0.0, 0.5, 1.0]),
        write_s_per_block=rng.choice([0.0, 0.5, 1.0]),
        read_latency_s=rng.choice([0.0, 0.5]),
        write_latency_s=rng.choice([0.0, 0.5]),
        loaded_latency_s=rng.choice([(), (), ((1.0, 2.5),), ((0.25, 0.5), (0.75, 1.5))]),
    )


def small_case(rng: Random) -> tuple[Trace, ServingSetup]:
    page = rng.choice([1, 2, 4])
    unit = page * rng.choice([1, 2, 4])
    trace = small_trace(rng, rng.choice([g for g in (1, 2, 4, 8, 16) if unit % g == 0]))
    setup = small_setup(rng, trace, unit, page)
    setup = contiguous(setup, trace) if rng.random() < 0.1 else setup
    setup = speculative(setup, rng.random(), rng.random()) if rng.random() < 0.3 else setup
    setup = with_quotas(rng, setup) if setup.allocation == "paged" else setup
    return trace, disaggregated(setup, rng.random(), rng.choice([0.0, 0.25, 2.0])) if rng.random() < 0.3 else setup


def with_quotas(rng: Random, setup: ServingSetup) -> ServingSetup:
    """The same, with limits on what each tenant may hold in some of the stores."""
    limits: list[tuple[int, ...]] = [(), (), (), (1,), (0, 2), (3, 0, 9)]
    tiers = tuple(replace(tier, quota_blocks=rng.choice(limits)) for tier in setup.tiers)
    return replace(setup, hbm_quota_blocks=rng.choice(limits), tiers=tiers)


def disaggregated(setup: ServingSetup, more: float, page_s: float) -> ServingSetup:
    """The same with up to two prefill replicas, if its memory is paged; a number of [0, 1) says how many."""
    if setup.allocation != "paged":
        return setup
    return replace(
        setup,
        replicas=setup.replicas + 1,
        prefill_replicas=min(1 + int(2 * more), setup.replicas),
        hand_over_s_per_page=page_s,
        hand_over_latency_s=4 * page_s,
        reserve="none",
        network=None,
    )


def speculative(setup: ServingSetup, more: float, accepted: float) -> ServingSetup:
    """The same with as many drafted tokens as seats and budget allow, up to 4; two numbers of [0, 1) say how."""
    drafts = min(4, int(1 + 4 * more), setup.max_num_batched_tokens // setup.max_num_seqs - 1)
    return replace(setup, draft_tokens=drafts, acceptance_rate=accepted, draft_cost=0.125 if more < 0.5 else 0.0)


def contiguous(setup: ServingSetup, trace: Trace) -> ServingSetup:
    """The same with regions instead of pages, which do without what needs pages."""
    longest = int(max(trace.input_tokens + trace.output_tokens))
    allocation = ("max", "pow2", "oracle")[longest % 3]
    limit = setup.max_model_len or longest
    paged_only: dict[str, Any] = {"tiers": (), "prefetch": "none", "hbm_quota_blocks": ()}
    return replace(setup, allocation=allocation, max_model_len=limit, pool_pages=4 * setup.pool_pages, **paged_only)
