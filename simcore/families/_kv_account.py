"""The account of a kv scenario: phases, misses and reuse of the very run that is reported, and what-ifs on it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from simcore.accounting import MOST, PHASES, Account, Reuse, Round, WhatIf
from simcore.families._kv_outcome import ceiling_tokens, counted_requests, known_requests
from simcore.families._kv_run import served, serving_setup, trace_of
from simcore.families._kv_scenario import Scenario
from simcore.metrics import metric_values
from simcore.replay.distances import lru_curve
from simcore.roofline.paging import tier_block_bytes
from simcore.serving.result import ServingResult
from simcore.serving.serve import serve
from simcore.serving.setup import ServingSetup, StoreSetup
from simcore.serving.state import ALIGNMENT, FIRST_USE, REASONS
from simcore.traces.accesses import Accesses
from simcore.traces.reuse import Units, ideal_hit, units
from simcore.traces.trace import Trace, densify

Ints = NDArray[np.int64]


def account(scenario: Scenario, *, seed: int | None = None) -> Account:
    """Serve the workload once more with every missed token noted, and with one thing doubled at a time.

    Raises:
        InputError: as `simulate`.
    """
    trace = trace_of(scenario, seed)
    setup = replace(serving_setup(scenario, trace), note_misses=True)
    result = serve(trace, setup)
    counted = counted_requests(scenario, result)
    block_bytes = tier_block_bytes(scenario.model, scenario.kv_format, scenario.engine)
    missed = _aligned(trace, setup, result)[counted].sum(axis=0)
    found = result.hit_tokens[counted].sum(axis=0)
    reuse = _reuse(trace, setup, result, counted, block_bytes / setup.page_tokens)
    return Account(
        phases=_phases(setup, result, counted),
        prompt_tokens=int(trace.input_tokens.astype(np.int64)[counted].sum()),
        found={name: int(n) for name, n in zip(result.stores, found, strict=True)},
        missed={name: int(n) for name, n in zip(REASONS, missed, strict=True)},
        recomputed_tokens=int(result.recomputed_tokens.sum()),
        preemptions=int(result.preemptions.sum()),
        reuse=reuse,
        what_if=_what_ifs(scenario, trace, replace(setup, note_misses=False), reuse),
        rounds=_rounds(trace, setup, result, counted),
    )


def _rounds(trace: Trace, setup: ServingSetup, result: ServingResult, counted: NDArray[np.bool_]) -> tuple[Round, ...]:
    if trace.wave.max() == trace.wave.min():
        return ()
    ideal = ceiling_tokens(trace, setup)
    found = []
    for number, wave in enumerate(np.unique(trace.wave)):
        those = counted & (trace.wave == wave)
        if those.any():
            hits = result.hit_tokens[those].sum(axis=0)
            found.append(
                Round(
                    number,
                    prompt_tokens=int(trace.input_tokens.astype(np.int64)[those].sum()),
                    ceiling_tokens=int(ideal[those].sum()),
                    found={name: int(n) for name, n in zip(result.stores, hits, strict=True)},
                    ttft_mean_s=float((result.first_token_s - result.arrival_s)[those].mean()),
                )
            )
    return tuple(found)


def _phases(setup: ServingSetup, result: ServingResult, counted: NDArray[np.bool_]) -> dict[str, NDArray[np.float64]]:
    whole = {name: getattr(result, f"{name}_s")[counted] for name in PHASES if name != "response"}
    return whole | {"response": result.network_s[counted] + round(setup.costs.request_s * 1e12) / 1e12}


def _aligned(trace: Trace, setup: ServingSetup, result: ServingResult) -> Ints:
    """(n, reasons) missed tokens, where what smaller blocks would have found is no first use but a matter of alignment.

    The trace names granules; blocks of several granules are reused as a whole or not at all. What an unlimited cache of
    granules finds of a prompt, beyond all that was asked for before in blocks of this size, is lost to the block size alone.
    """
    missed = result.missed_tokens.copy()
    known = trace.input_tokens - missed[:, FIRST_USE]
    output = setup.output_reuse
    partial = not (output and trace.has_output_ids)
    earlier = known_requests(trace, setup)
    finer = ideal_hit(trace, partial_block=partial, output=output, recompute_last=False, known=earlier).hit_tokens
    moved = np.where(result.rejected, 0, np.clip(finer - known, 0, missed[:, FIRST_USE]))
    missed[:, FIRST_USE] -= moved
    missed[:, ALIGNMENT] += moved
    return missed


def _reuse(trace: Trace, setup: ServingSetup, result: ServingResult, counted: NDArray[np.bool_], token_bytes: float) -> Reuse:
    view = units(
        trace, setup.unit_tokens, partial_block=setup.partial_block, output=setup.output_reuse and trace.has_output_ids
    )
    # by admission, the warm-up first: it fills the caches and counts for nothing
    order = np.lexsort((np.arange(trace.n), result.arrival_s + np.nan_to_num(result.queue_s), counted))
    order = order[~result.rejected[order]]
    earlier = np.arange(known_requests(trace, setup))
    groups = [order[result.replica[order] == r] for r in range(setup.entry_replicas)]
    hits = sum_curves(
        [_curve(trace, setup, view, earlier[result.replica[earlier] == r], group, counted) for r, group in enumerate(groups)]
    )
    pooled = sum_curves([_curve(trace, setup, view, earlier, order, counted)])
    tokens = max(int(trace.input_tokens.astype(np.int64)[counted].sum()), 1)
    together = setup.entry_replicas > 1 and any(tier.shared for tier in setup.tiers)
    curve, copies = (pooled, setup.entry_replicas) if together else (hits, 1)  # where replicas share a tier, their reuse is one
    most = int(curve[-1])
    held = trace.input_tokens.astype(np.int64) + trace.output_tokens
    spent = result.load_s + result.prefill_s + result.prefill_again_s
    spent += result.transfer_s if setup.prefill_replicas else result.decode_s  # where prompts are looked up
    span = max(result.end_s - float(result.arrival_s[order].min()), 1e-12) if len(order) else 1.0
    return Reuse(
        tokens=tokens,
        ceiling=most / tokens,
        ceiling_pooled=int(pooled[-1]) / tokens,
        levels=tuple(_levels(setup, hits, pooled, tokens)),
        half_tokens=_needed(curve, most / 2, copies) * setup.unit_tokens,
        most_tokens=_needed(curve, MOST * most, copies) * setup.unit_tokens,
        running_tokens=float((held * spent)[order].sum()) / span / setup.entry_replicas,
        token_bytes=token_bytes,
    )


def _needed(curve: Ints, hits: float, copies: int) -> int:
    """Blocks per replica at which a curve reaches so many hits."""
    return -(-int(np.searchsorted(curve, hits)) // copies) if hits else 0


def _levels(setup: ServingSetup, own: Ints, pooled: Ints, tokens: int) -> Iterator[tuple[str, int, float]]:
    """Of each tier with all above it: tokens of capacity per replica (of a shared one, an equal part), and the share that LRU
    finds: for each replica by itself down to the first shared tier, for all together from there."""
    blocks, curve, copies = setup.pool_pages // (setup.unit_tokens // setup.page_tokens), own, 1
    yield "hbm", blocks * setup.unit_tokens, float(own[min(blocks, len(own) - 1)]) / tokens
    for tier in setup.tiers:
        capacity = tier.capacity_blocks // (setup.entry_replicas if tier.shared else 1)
        blocks = max(blocks, capacity) if tier.placement == "inclusive" else blocks + capacity
        if tier.shared:
            curve, copies = pooled, setup.entry_replicas
        yield tier.name, blocks * setup.unit_tokens, float(curve[min(blocks * copies, len(curve) - 1)]) / tokens


def sum_curves(curves: list[Ints]) -> Ints:
    """Curves added up; each goes on as it ends."""
    total = np.zeros(max((len(curve) for curve in curves), default=1), np.int64)
    for curve in curves:
        total += np.concatenate((curve, np.full(len(total) - len(curve), curve[-1])))
    return total


def _curve(
    trace: Trace,
    setup: ServingSetup,
    view: Units,
    earlier: NDArray[np.intp],
    requests: NDArray[np.intp],
    counted: NDArray[np.bool_],
) -> Ints:
    """Prompt tokens of `requests` that an LRU cache of 0, 1, ... blocks finds; `earlier` ones came before and do not count."""
    warmup = len(earlier) + int((~counted[requests]).sum())
    group = np.concatenate((earlier, requests))
    count = np.diff(view.start)[group]
    start = np.concatenate(([0], np.cumsum(count)))
    within = np.arange(start[-1]) - np.repeat(start[:-1], count)
    at = np.repeat(view.start[:-1][group], count) + within
    if len(at) == 0 or warmup == len(group):
        return np.zeros(1, np.int64)
    ids, n_objects = densify(view.ids[at])
    prompt = np.repeat(trace.input_tokens.astype(np.int64)[group], count)
    tokens = np.clip(prompt - within * setup.unit_tokens, 1, setup.unit_tokens)  # blocks of outputs: as good as none
    tokens[setup.recompute_last & ((within + 1) * setup.unit_tokens == prompt)] = 1
    columns = {"request_start": start, "chain": True, "tokens": tokens.astype(np.int32)}
    curve = lru_curve(Accesses(ids=ids, n_objects=n_objects, **columns), warmup=warmup)
    assert curve.hit_tokens is not None
    return curve.hit_tokens


def _what_ifs(scenario: Scenario, trace: Trace, setup: ServingSetup, reuse: Reuse) -> tuple[WhatIf, ...]:
    """Two engine runs each, so that the figures are those of a scenario that says so."""
    variants = {**dict(doubled(scenario, trace, setup)), **_holding(setup, reuse)}

    def run(variant: ServingSetup) -> dict[str, float | None]:
        return metric_values(served(scenario, trace, variant))

    base = run(setup)  # by itself: it may compile the engine
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        others = list(pool.map(run, variants.values()))
    found = []
    for name, values in zip(variants, others, strict=True):
        e2e, ttft, tpot, rate = (
            _ratio(values[key], base[key]) for key in ("e2e_mean_s", "ttft_p99_s", "tpot_mean_s", "sustainable_rate_rps")
        )
        if e2e is not None and ttft is not None:
            found.append(WhatIf(name, e2e, ttft, tpot, rate))
    return tuple(sorted(found, key=lambda w: w.e2e_mean))


def _holding(setup: ServingSetup, reuse: Reuse) -> dict[str, ServingSetup]:
    """Where not all that is reused fits: the last tier (or HBM) just large enough. Twice may be too little to see anything."""
    if reuse.regime not in ("exceeds", "thrash"):
        return {}
    blocks = -(-reuse.most_tokens // setup.unit_tokens) + 1
    if not setup.tiers:
        unit_pages = setup.unit_tokens // setup.page_tokens
        running = int(reuse.running_tokens) // setup.page_tokens
        return {"HBM pool holding the reuse": replace(setup, pool_pages=max(blocks * unit_pages + running, setup.pool_pages))}
    last = setup.tiers[-1]
    above = reuse.levels[-2][1] // setup.unit_tokens if last.placement == "exclusive" else 0
    needed = max(blocks - above, 1) * (setup.entry_replicas if last.shared else 1)
    tier = replace(last, capacity_blocks=max(needed, last.capacity_blocks))
    return {f"{last.name.upper()} holding the reuse": replace(setup, tiers=_with(setup, len(setup.tiers) - 1, tier))}


def _ratio(value: float | None, base: float | None) -> float | None:
    return value / base if value is not None and base else None


def doubled(scenario: Scenario, trace: Trace, setup: ServingSetup) -> Iterator[tuple[str, ServingSetup]]:
    """The run with one thing twice as large or as fast, whether or not it could be bought or would fit."""
    gpu, engine = scenario.gpu, scenario.engine

    def costs(**fields: object) -> ServingSetup:
        changed = scenario.model_copy(update={"gpu": gpu.model_copy(update=fields)})
        return replace(setup, costs=serving_setup(changed, trace).costs)

    yield "GPU matrix rate", costs(flops=2 * gpu.flops)
    yield "GPU memory bandwidth", costs(bandwidth_bytes_per_s=2 * gpu.bandwidth_bytes_per_s)
    if gpu.count > 1:
        link = gpu.nvlink_bytes_per_s or 2 * gpu.host_link_bytes_per_s
        yield "GPU-to-GPU link", costs(nvlink_bytes_per_s=2 * link)
    yield "HBM pool", replace(setup, pool_pages=2 * setup.pool_pages)
    for k, tier in enumerate(setup.tiers):
        larger = replace(tier, capacity_blocks=2 * tier.capacity_blocks)
        faster = replace(tier, read_s_per_block=tier.read_s_per_block / 2, write_s_per_block=tier.write_s_per_block / 2)
        yield f"{tier.name.upper()} capacity", replace(setup, tiers=_with(setup, k, larger))
        yield f"{tier.name.upper()} bandwidth", replace(setup, tiers=_with(setup, k, faster))
    if setup.tiers:
        read_s, write_s = setup.host_link_read_s_per_block / 2, setup.host_link_write_s_per_block / 2
        yield "host link", replace(setup, host_link_read_s_per_block=read_s, host_link_write_s_per_block=write_s)
    if 2 * engine.max_num_seqs <= engine.max_num_batched_tokens:
        yield "max_num_seqs", replace(setup, max_num_seqs=2 * setup.max_num_seqs)
    budget = 2 * engine.max_num_batched_tokens
    larger_steps = scenario.model_copy(update={"engine": engine.model_copy(update={"max_num_batched_tokens": budget})})
    step_times = serving_setup(larger_steps, trace).costs
    yield "max_num_batched_tokens", replace(setup, costs=step_times, max_num_batched_tokens=budget)
    if setup.prefill_replicas:
        prefill, decode = setup.prefill_replicas, setup.replicas - setup.prefill_replicas
        yield "hand-over link", replace(setup, hand_over_s_per_page=setup.hand_over_s_per_page / 2)
        yield "prefill replicas", replace(setup, replicas=2 * prefill + decode, prefill_replicas=2 * prefill)
        yield "decode replicas", replace(setup, replicas=prefill + 2 * decode)
    else:
        yield "replicas", replace(setup, replicas=2 * setup.replicas)


def _with(setup: ServingSetup, k: int, tier: StoreSetup) -> tuple[StoreSetup, ...]:
    return (*setup.tiers[:k], tier, *setup.tiers[k + 1 :])
