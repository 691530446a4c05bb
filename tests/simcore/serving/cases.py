"""Hand-made and random inputs for the serving engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from simcore.roofline.step_time import StepCosts
from simcore.serving.result import ServingResult
from simcore.serving.routing import ROUTERS, NetworkSetup, RoutingRules
from simcore.serving.serve import serve
from simcore.serving.setup import OVERLAPS, PREFETCHES, STARTS, WRITE_POLICIES, ServingSetup, StoreSetup
from simcore.traces.trace import Trace
from tests.simcore.serving.small import contiguous, disaggregated, speculative

UNIT = 4  # tokens of a reuse block in hand-made cases


def costs(budget: int = 64, *, lin_s: float = 0.01, per_token_s: float = 0.001, **terms: float) -> StepCosts:
    """Step times linear in tokens; the other terms are 0 unless given."""
    lin = lin_s + per_token_s * np.arange(budget + 1)
    return StepCosts(lin, **{"kv_s_per_token": 0.0, "seq_s": 0.0, "pair_s": 0.0, "request_s": 0.0, **terms})


def trace_of(requests: Sequence[tuple[float, str, int]], **columns: Any) -> Trace:
    """Requests (arrival, blocks, output): each letter of `blocks` is a block of UNIT tokens, with the prefix before it. With
    `has_output_ids` the letters go on over the output, which takes the last tokens of them."""
    ids: dict[str, int] = {}
    rows = [[ids.setdefault(blocks[: i + 1], len(ids)) for i in range(len(blocks))] for _, blocks, _ in requests]
    covered = [output if columns.get("has_output_ids") else 0 for _, _, output in requests]
    inputs = [UNIT * len(blocks) - tokens for (_, blocks, _), tokens in zip(requests, covered, strict=True)]
    return Trace.of([r[0] for r in requests], inputs, [r[2] for r in requests], rows, UNIT, source="by hand", **columns)


def setup_of(pool_blocks: int = 100, *, tiers: Sequence[StoreSetup] = (), **knobs: Any) -> ServingSetup:
    """One replica with pages of a token, 1 ms a token plus 10 ms a step, no reuse of outputs, full matches counting."""
    given: dict[str, Any] = {
        "pool_pages": pool_blocks * UNIT,
        "page_tokens": 1,
        "unit_tokens": UNIT,
        "tiers": tuple(tiers),
        "costs": costs(),
        "max_num_seqs": 16,
        "max_num_batched_tokens": 64,
        "load_rule": "always",
        "recompute_last": False,
        "output_reuse": False,
        **knobs,
    }
    return ServingSetup(**given)


def one_by_one(trace: Trace, setup: ServingSetup) -> ServingResult:
    """Serve request after request."""
    return serve(trace, ServingSetup(**{**vars(setup), "arrivals": "closed", "concurrency": 1}))


def differences(a: ServingResult, b: ServingResult) -> list[str]:
    """Fields in which two results differ, apart from the number of events."""
    names = (f.name for f in fields(ServingResult) if f.name != "events")
    return [name for name in names if not _same(getattr(a, name), getattr(b, name))]


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray):
        return a.tobytes() == b.tobytes()
    return bool(a == b)


def random_case(seed: int) -> tuple[Trace, ServingSetup]:
    """A small trace of prompts that share heads, and a setup under memory pressure, with every knob drawn."""
    rng = np.random.default_rng(seed)
    page = int(_pick(rng, [1, 4, 16]))
    unit = page * int(_pick(rng, [1, 4, 8]))
    trace = _random_trace(rng, unit)
    budget = int(_pick(rng, [64, 256, 2048]))
    even = rng.random() < 0.3  # all steps take equally long: replicas are often due at one moment
    terms = {} if even else {"per_token_s": 2e-5, "kv_s_per_token": 1e-7, "seq_s": 1e-5, "pair_s": 1e-9, "request_s": 0.02}
    longest = int((trace.input_tokens + trace.output_tokens).max())
    tiers = tuple(_random_tier(rng, k) for k in range(int(_pick(rng, [0, 1, 2, 3]))))
    setup = ServingSetup(
        pool_pages=int((longest // page + 3) * _pick(rng, [0.8, 1, 1.5, 3, 10])) + 1,
        page_tokens=page,
        unit_tokens=unit,
        hbm_policy=str(_pick(rng, ["lru", "fifo", "sieve"])),
        tiers=tiers,
        host_link_read_s_per_block=float(_pick(rng, [0.0, 1e-4, 5e-3])),
        host_link_write_s_per_block=float(_pick(rng, [0.0, 1e-4, 5e-3])),
        host_link_latency_s=float(_pick(rng, [0.0, 1e-5])),
        costs=costs(budget, **{"lin_s": 4e-3, "per_token_s": 0.0, **terms}),
        max_num_seqs=int(_pick(rng, [2, 4, 16, 48])),
        max_num_batched_tokens=budget,
        chunked_prefill=rng.random() < 0.6,
        load_rule=str(_pick(rng, ["always", "always", "never", "cheaper", "threshold"])),
        min_load_tokens=int(_pick(rng, [0, 64])),
        max_waiting=int(_pick(rng, [1, 4])),
        recompute_last=rng.random() < 0.5,
        output_reuse=rng.random() < 0.5,
        partial_block=rng.random() < 0.5,
        concurrency=1 + int(rng.random() * 30),
        stagger_s=float(_pick(rng, [0.0, 0.0, 0.03])),
        **_random_routing(rng),
        write_backlog_s=float(_pick(rng, [0.0, 0.01, 10.0])),
        overlap=str(_pick(rng, ["none", *OVERLAPS])),
        start=str(_pick(rng, ["cold", "cold", *STARTS])),
        start_share=float(_pick(rng, [0.01, 0.5, 1.0])),
        layers=int(_pick(rng, [1, 3, 32])),
        prefetch=str(_pick(rng, ["none", *PREFETCHES])) if len(tiers) > 1 else "none",
        prefetch_timeout_s=float(_pick(rng, [0.0, 0.05, 1.0])),
        note_misses=rng.random() < 0.7,
        max_model_len=_pick(rng, [None, None, None, longest - 1]),
        stream_interval=int(_pick(rng, [1, 1, 8, 20])),
        scheduling=str(_pick(rng, ["fcfs", "priority"])),
        hbm_quota_blocks=_pick(rng, [(), (), (), (4,), (0, 30, 7)]),
        tenant_priority=_pick(rng, [(), (2, 1), (0, 1, 0, 5)]),
        preemption_victim=str(_pick(rng, ["last_admitted", "least_computed"])),
        reserve=str(_pick(rng, ["none", "none", "none", "output"])),
        preemption=str(_pick(rng, ["recompute", "swap"])),
        swap_pages=int(_pick(rng, [20, 400])),
    )
    setup = contiguous(setup, trace) if rng.random() < 0.1 else setup
    setup = speculative(setup, rng.random(), rng.random()) if rng.random() < 0.3 else setup
    return trace, disaggregated(setup, rng.random(), float(_pick(rng, [0.0, 1e-4, 3e-3]))) if rng.random() < 0.3 else setup


def _random_routing(rng: np.random.Generator) -> dict[str, Any]:
    """Replicas, maybe in regions, a router and how requests come about."""
    replicas = int(_pick(rng, [1, 1, 2, 3]))
    arrivals = str(_pick(rng, ["open", "open", "closed", "backlog"]))
    network = None
    if replicas > 1 and arrivals != "closed" and rng.random() < 0.4:
        parts = (1, replicas - 1)
        trips = tuple(tuple(float(_pick(rng, [0.0, 0.01, 0.1])) for _ in parts) for _ in parts)
        network = NetworkSetup(replicas=parts, client_shares=(float(_pick(rng, [0.0, 1.0, 3.0])), 1.0), round_trip_s=trips)
    rules = RoutingRules(
        min_match=float(_pick(rng, [0.0, 0.3])),
        max_load_gap=int(_pick(rng, [0, 3, 64])),
        max_load_ratio=float(_pick(rng, [1.0, 1.5])),
        running_weight=float(_pick(rng, [0.0, 0.5, 1.0])),
    )
    router = str(_pick(rng, list(ROUTERS)))
    return {"replicas": replicas, "arrivals": arrivals, "network": network, "routing": rules, "router": router}


def _random_tier(rng: np.random.Generator, k: int) -> StoreSetup:
    placement = str(_pick(rng, ["exclusive", "inclusive"]))
    return StoreSetup(
        name=f"tier{k}",
        capacity_blocks=1 + int(rng.random() * 80),
        policy=str(_pick(rng, ["lru", "fifo", "sieve"])),
        placement=placement,
        write_policy=None if placement == "exclusive" else str(_pick(rng, ["write_through", *WRITE_POLICIES])),
        write_after_uses=int(_pick(rng, [1, 2, 3])),
        shared=rng.random() < 0.5,
        quota_blocks=_pick(rng, [(), (), (5,), (0, 20, 7)]),
        persistent=rng.random() < 0.7,
        read_s_per_block=float(_pick(rng, [1e-5, 1e-3, 2e-2])),
        write_s_per_block=float(_pick(rng, [1e-5, 1e-3, 2e-2])),
        read_latency_s=float(_pick(rng, [0.0, 1e-4])),
        write_latency_s=float(_pick(rng, [0.0, 1e-3])),
        loaded_latency_s=_pick(rng, [(), ((0.5, 1e-3), (1.0, 2e-2))]),
    )


def _random_trace(rng: np.random.Generator, granule: int) -> Trace:
    n = 10 + int(rng.random() * 80)
    output_ids = bool(rng.random() < 0.5)
    inputs = 1 + (rng.random(n) * granule * _pick(rng, [3, 12])).astype(np.int64)
    outputs = 1 + (rng.random(n) * _pick(rng, [1, 20, 200])).astype(np.int64)
    after = np.full(n, -1)
    blocks: list[list[Any]] = []
    for i in range(n):
        head: list[Any] = []
        if i and rng.random() < 0.6:
            origin = int(rng.random() * i)
            head = blocks[origin][: int(rng.random() * (len(blocks[origin]) + 1))]
            if rng.random() < 0.5 and origin not in after:
                after[i] = origin
        covered = inputs[i] + (outputs[i] if output_ids else 0)
        whole, rest = divmod(int(covered), granule)
        chain = [b for b in head if b[2] == granule][:whole]
        chain += [(i, k, granule) for k in range(len(chain), whole)]
        blocks.append(chain + ([(i, whole, rest)] if rest else []))
    numbers: dict[Any, int] = {}
    ids = [[numbers.setdefault(block, len(numbers)) for block in chain] for chain in blocks]
    arrival = np.cumsum(-np.log1p(-rng.random(n)) * _pick(rng, [0.002, 0.02, 0.2]))
    if rng.random() < 0.3:
        arrival = np.floor(arrival * 10) / 10  # many at one instant
    wave = np.sort((rng.random(n) * _pick(rng, [1, 1, 4])).astype(np.int64))
    think = rng.random(n) * _pick(rng, [0.0, 0.3])
    extra = {"after": after, "think_s": think, "wave": wave, "has_output_ids": output_ids, "source": "random"}
    extra["tenant"] = (rng.random(n) * 5).astype(np.int64)
    return Trace.of(arrival, inputs, outputs, ids, granule, **extra)


def _pick(rng: np.random.Generator, options: list[Any]) -> Any:
    return options[int(rng.random() * len(options))]
